"""The streams of a recorded session while its datagrams go through the drivers' own decoders and buffers again."""

from typing import NamedTuple

from devices.buffer import PoseBuffer, PoseWindow, WrenchBuffer, WrenchWindow
from devices.clock import HostClock
from ident.drivers import natnet_config, netft_config
from ident.recorded import recorded_calibration, recorded_rig
from ident.workflow.events import TakeEnded
from sessions import Session
from sessions.datagrams import Datagrams
from sessions.decode import Decoders


class Windows(NamedTuple):
    """What the streams hold of a take."""

    body: PoseWindow
    reference: PoseWindow | None
    loads: WrenchWindow | None


class Streams:
    """Clock and buffers of the rig that a session was recorded with, as far as its datagrams have been fed."""

    def __init__(self, session: Session) -> None:
        self._config = recorded_rig(session)
        self.limits = self._config.limits()
        """What counted as a good take."""
        self._decoders = Decoders(
            natnet_config(self._config.mocap),
            netft_config(self._config.ft) if self._config.ft is not None else None,
            recorded_calibration(session),
            speed=float(session.documents()["rig"].get("speed", 1.0)),
            begins_ns=session.begins_ns,
        )

    @property
    def clock(self) -> HostClock:
        """The session's time."""
        return self._decoders.clock

    @property
    def body(self) -> PoseBuffer:
        """Poses of the gripper, as far as they were played."""
        return self._decoders.buffers[self._config.mocap.body]

    @property
    def reference(self) -> PoseBuffer | None:
        """Poses of the body that is fixed to the object, where one was tracked."""
        name = self._config.mocap.reference
        return None if name is None else self._decoders.buffers[name]

    @property
    def wrenches(self) -> WrenchBuffer | None:
        """Loads, where there was a sensor."""
        return None if self._config.ft is None else self._decoders.wrenches

    def feed(self, batch: Datagrams) -> None:
        """Take in datagrams."""
        self._decoders.feed(batch)

    def finish(self) -> None:
        """Take in what waited for more datagrams."""
        self._decoders.finish()

    def windows(self, ended: TakeEnded) -> Windows:
        """What the buffers hold of a take."""
        # What came only after the take was closed, late by a busy computer, was not fitted then either.
        body = self.body.window(ended.t0_ns, ended.t1_ns).first(ended.samples)
        if ended.loads and self.wrenches is not None:
            return Windows(body, None, self.wrenches.window(ended.t0_ns, ended.t1_ns))
        reference = None if self.reference is None else self.reference.window(ended.t0_ns, ended.t1_ns)
        return Windows(body, reference, None)
