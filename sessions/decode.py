"""Recorded datagrams through the drivers' own decoders, as if they came in now."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.natnet import NatNetConfig, packets
from devices.natnet.connection import Connection
from devices.natnet.messages import EchoResponse
from devices.natnet.reader import Malformed
from devices.natnet.stream import PoseStream
from devices.natnet.types import OLDEST
from devices.netft import NetFTConfig, SensorCalibration
from devices.netft.intake import Columns, Intake
from devices.netft.rdt import RECORD, RECORD_SIZE
from devices.netft.sequencer import Batch
from devices.netft.status import TABLES
from devices.samples import DeviceEvent, PoseSample
from sessions.datagrams import Datagrams

NATNET, NETFT = "natnet/", "netft/rdt"
_ECHO_RESPONSE = (13).to_bytes(2, "little")
_FEW, _MANY = 8, 512
"""Fewer frames are quicker taken in one by one; more are not looked at together."""


class RecordedClock(HostClock):
    """A host clock that shows the time of the datagram being played."""

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__(speed)
        self.t_ns = 0

    def now_ns(self) -> int:
        """Return the session's time."""
        return self.t_ns


class Decoders:
    """The NatNet and RDT decoders of the drivers, without sockets; feed them in the order of recording.

    ``natnet`` and ``netft`` are the drivers' settings at the time of recording, ``speed`` that of the host clock.
    Without ``calibration`` of the force/torque sensor its datagrams are passed over. ``begins_ns`` are the times at
    which the session was taken up again, by drivers that knew nothing of what had been before.
    """

    def __init__(
        self,
        natnet: NatNetConfig,
        netft: NetFTConfig | None = None,
        calibration: SensorCalibration | None = None,
        *,
        speed: float = 1.0,
        begins_ns: Sequence[int] = (),
        on_poses: Callable[[Sequence[PoseSample]], None] | None = None,
        on_wrenches: Columns | None = None,
        on_event: Callable[[DeviceEvent], None] | None = None,
    ) -> None:
        self._speed = speed
        self.clock = RecordedClock(speed)
        """Shows the time of the datagram being played."""
        self._on_poses, self._on_event = on_poses, on_event
        # Nothing is lost if memory runs out in a replay, and most sessions need little of it.
        self._stream = PoseStream(natnet.bodies, natnet.capacity, natnet.max_mean_error_m, speed, reserved=False)
        self._natnet, self._netft = natnet, netft or NetFTConfig()
        self.wrenches = WrenchBuffer(self._netft.capacity, reserved=False)
        self._calibration, self._on_wrenches = calibration, on_wrenches
        self._begins_ns = deque(begins_ns)
        self._malformed_before = 0
        self._echoes: deque[int] = deque(maxlen=64)
        self._connection, self._intake = self._begun()

    @property
    def buffers(self) -> Mapping[str, PoseBuffer]:
        """Poses by body, as the driver's own property of this name."""
        return self._stream.buffers

    @property
    def malformed(self) -> int:
        """Datagrams that could not be decoded."""
        return self._malformed_before + self._connection.malformed + self._intake.malformed

    def feed(self, batch: Datagrams) -> None:
        """Decode datagrams; the streams are independent of each other, and each keeps its order."""
        while self._begins_ns and len(batch) and self._begins_ns[0] <= batch.t_ns[-1]:
            before = int(np.searchsorted(batch.t_ns, self._begins_ns.popleft()))
            self._feed(batch[:before])
            self.finish()
            self._malformed_before = self.malformed
            self._stream.begin(None)
            self._connection, self._intake = self._begun()
            batch = batch[before:]
        self._feed(batch)

    def finish(self) -> None:
        """Deliver what waits for datagrams that do not come any more."""
        if self._calibration is not None:
            self._intake.restart()

    def _begun(self) -> tuple[Connection, Intake]:
        """Drivers that know nothing yet, with the buffers that there are."""
        settings = self._netft
        intake = Intake(
            self.wrenches,
            self.clock,
            round(settings.reorder_s * 1e9),
            late_ns=round(settings.latency_s * 1e9),
            on_wrenches=self._on_wrenches,
        )
        if self._calibration is not None:
            intake.use(self._calibration, TABLES[settings.product or self._calibration.product])
        return Connection(self._natnet, self.clock, self._tell, self._stream), intake

    def _feed(self, batch: Datagrams) -> None:
        self._feed_natnet(batch, batch.rows(NATNET))
        if self._calibration is not None:
            self._feed_netft(batch, batch.rows(NETFT))

    def _feed_netft(self, batch: Datagrams, rows: NDArray[np.intp]) -> None:
        """Feed what the driver may have received at once: its stamps only go back from one reading to the next."""
        received_ns = batch.t_ns[rows]
        cuts = [0, *(np.flatnonzero(np.diff(received_ns) < 0) + 1).tolist(), len(rows)]
        for start, stop in pairwise(cuts):
            at = slice(start, stop)
            if (batch.size[rows[at]] != RECORD_SIZE).any():
                self._intake.feed(batch.data(rows[at]), received_ns[at])
            elif stop > start:
                self._intake.feed_records(Batch(batch.packed(rows[at]).view(RECORD), received_ns[at]))

    def _feed_natnet(self, batch: Datagrams, rows: NDArray[np.intp]) -> None:
        """Feed datagrams one by one, except for frames that follow each other and bring nothing but poses."""
        t_ns = batch.t_ns[rows]
        ends = np.append(np.flatnonzero(np.diff(batch.size[rows])) + 1, len(rows))
        at, singly = 0, 1
        while at < len(rows):
            run = slice(at, min(int(ends[np.searchsorted(ends, at, side="right")]), at + _MANY))
            together = 0
            if run.stop - at >= _FEW and self._on_poses is None:
                together = self._connection.receive_run(batch.packed(rows[run]), t_ns[run], self._seconds(t_ns[run]))
            at += together
            # Where something is the matter with nearly every frame it is no use to look ahead.
            singly = 1 if together >= _FEW else min(2 * singly, _MANY)
            one_by_one = slice(at, at + singly)
            for data, at_ns in zip(batch.data(rows[one_by_one]), t_ns[one_by_one].tolist(), strict=True):
                self._feed_message(data, at_ns)
                at += 1

    def _feed_message(self, data: bytes, t_ns: int) -> None:
        self.clock.t_ns = t_ns
        if data[:2] == _ECHO_RESPONSE:
            self._expect_echo(data)
        samples = self._connection.receive(data, t_ns, self._seconds(t_ns))
        if samples and self._on_poses is not None:
            self._on_poses(samples)

    def _seconds(self, t_ns: Any) -> Any:
        """Real time of the host's time, or of several, for time-outs."""
        return t_ns / 1e9 / self._speed

    def _expect_echo(self, data: bytes) -> None:
        """The request that this answers was sent in the recorded session, not by this connection.

        Of an answer that came twice only the first was expected.
        """
        try:
            message = packets.decode(data, OLDEST)
        except Malformed:
            return
        if isinstance(message, EchoResponse) and message.stamp not in self._echoes:
            self._echoes.append(message.stamp)
            self._connection.expect_echo(message.stamp)

    def _tell(self, kind: str, message: str) -> None:
        if self._on_event is not None:
            self._on_event(DeviceEvent(self.clock.t_ns, "mocap", kind, message))
