"""A session while it is played: datagrams through the real decoders and buffers, events through the workflow."""

from collections import deque
from collections.abc import Callable, Iterable

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.netft import SensorCalibration
from ident.config import RigConfig
from ident.drivers import natnet_config, netft_config
from ident.resume import recorded_rig
from ident.retelling import Workflow
from ident.takes import take_data
from ident.workflow.events import Event, TakeEnded
from ident.workflow.state import State
from sessions import Session
from sessions.datagrams import Datagrams
from sessions.decode import Decoders


class Playback(Workflow):
    """A session while it is played: the decoders' buffers, and the workflow as far as it has come.

    Each event takes effect when the datagrams of its time have been fed, as it did in the measurement: so the buffers
    need to hold no more than then, and whoever watches sees everything at its time.
    """

    def __init__(self, session: Session, log: Iterable[Event], on_state: Callable[[State], None]) -> None:
        self._config = recorded_rig(session)
        super().__init__(self._config.limits(), on_state)
        self._decoders = _decoders(session, self._config)
        self._waiting = deque(log)

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
        """Take in datagrams, and the events up to the last of them."""
        self._decoders.feed(batch)
        self._advance(int(batch.t_ns[-1]))

    def finish(self) -> None:
        """Take in what came after the last datagram."""
        self._decoders.finish()
        self._advance(None)

    def _advance(self, until_ns: int | None) -> None:
        while self._waiting and (until_ns is None or self._waiting[0].t_ns <= until_ns):
            recorded = self._waiting.popleft()
            if isinstance(recorded, TakeEnded):
                self._take_in(recorded)
            self.fold(recorded)

    def _take_in(self, ended: TakeEnded) -> None:
        # What came only after the take was closed, late by a busy computer, was not fitted then either.
        window = self.body.window(ended.t0_ns, ended.t1_ns).first(ended.samples)
        if ended.loads and self.wrenches is not None:
            loads = self.wrenches.window(ended.t0_ns, ended.t1_ns)
            data = take_data(window, ended.t0_ns, ended.t1_ns, None, loads)
        else:
            reference = None if self.reference is None else self.reference.window(ended.t0_ns, ended.t1_ns)
            data = take_data(window, ended.t0_ns, ended.t1_ns, reference)
        if data.samples != ended.samples:
            self.differences.append(
                f"take {ended.take + 1}: it had {ended.samples} samples when it was closed, now it has "
                f"{data.samples}; the session is damaged, or of an older version of ident"
            )
        self.data[ended.take] = data


def recorded_calibration(session: Session) -> SensorCalibration | None:
    """Counts and units of the force/torque sensor that a session was recorded with."""
    told = session.documents().get("rig", {}).get("ft_calibration")
    return None if told is None else SensorCalibration(**{**told, "bias_counts": tuple(told["bias_counts"])})


def _decoders(session: Session, config: RigConfig) -> Decoders:
    return Decoders(
        natnet_config(config.mocap),
        netft_config(config.ft) if config.ft is not None else None,
        recorded_calibration(session),
        speed=float(session.documents()["rig"].get("speed", 1.0)),
        begins_ns=session.begins_ns,
    )
