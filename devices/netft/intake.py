"""From datagrams to samples: decoding, order, time, units and validity, a batch at a time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from devices.buffer import WrenchBuffer
from devices.clock import HostClock, SequenceClock
from devices.netft.api import SensorCalibration
from devices.netft.rdt import RECORD, RECORD_SIZE, Malformed, check_size
from devices.netft.receiver import Arrivals
from devices.netft.sequencer import Batch, Sequencer
from devices.netft.status import NETBOX, StatusTable

STREAM = "netft/rdt"
"""Name under which raw datagrams go to the tap."""

Tap = Callable[[str, int, bytes], None]
"""Takes the stream's name, the host time of receipt in ns, and the datagram."""
Columns = Callable[
    [
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.bool_],
        NDArray[np.int64],
    ],
    None,
]
"""Takes t_ns, sequence, wrench (n, 6), status, valid and received_ns, as `WrenchBuffer.extend` does."""


class Intake:
    """Turns what a sensor sends into samples in a buffer, and counts what it could not use."""

    def __init__(
        self,
        buffer: WrenchBuffer,
        clock: HostClock,
        hold_ns: int,
        *,
        late_ns: int = 0,
        tap: Tap | None = None,
        on_wrenches: Columns | None = None,
        on_trouble: Callable[[int], None] | None = None,
    ) -> None:
        self.sequencer = Sequencer(hold_ns)
        self.malformed = self.invalid = self.saturated = 0
        self.status = 0
        """The latest status word."""
        self.sequence = 0
        """The sensor's internal counter at the latest sample."""
        self.table: StatusTable = NETBOX
        self._scale = np.ones(6)
        self._buffer = buffer
        self._clock = clock
        self._times = SequenceClock(speed=clock.speed)
        self._late_ns = late_ns
        self._newest_ns = 0
        self._tap = tap
        self._on_wrenches = on_wrenches
        self._on_trouble = on_trouble

    def use(self, calibration: SensorCalibration, table: StatusTable) -> None:
        """Convert by this calibration and judge by this table from now on."""
        self._scale, self.table = calibration.scale, table
        if calibration.rdt_rate_hz is not None:
            self._times.expect(calibration.rdt_rate_hz)

    def restart(self) -> None:
        """Expect a new sequence, after a request for one."""
        self._deliver(self.sequencer.restart())

    def take(self, arrivals: Arrivals) -> int:
        """Take datagrams as they came in; how many records were in them."""
        if not arrivals.datagrams:
            return 0
        received_ns = self._host_times(arrivals.realtime_ns)
        if self._tap is not None:
            for t_ns, datagram in zip(received_ns.tolist(), arrivals.datagrams, strict=True):
                self._tap(STREAM, t_ns, datagram)
        return self.feed(arrivals.datagrams, received_ns)

    def feed(self, datagrams: list[bytes], received_ns: NDArray[np.int64]) -> int:
        """Take datagrams whose host times (n,) of receipt are known, as in a replay; how many records they held."""
        batch = self._decode(datagrams, received_ns)
        self.feed_records(batch)
        return len(batch)

    def feed_records(self, batch: Batch) -> None:
        """Take the records of datagrams, in the order in which they came in."""
        self._deliver(self.sequencer.feed(batch))

    def flush(self, now_ns: int) -> None:
        """Deliver the records that waited long enough for earlier ones."""
        self._deliver(self.sequencer.flush(now_ns))

    def _host_times(self, realtime_ns: list[int]) -> NDArray[np.int64]:
        """Host times of kernel stamps: the newest by the clock, the others by their distance from it."""
        stamps = np.array(realtime_ns, dtype=np.int64)
        newest_ns = int(stamps.max())
        host_ns = self._clock.from_kernel_stamp(newest_ns) if newest_ns else self._clock.now_ns()
        stamps[stamps == 0] = newest_ns
        # The first datagrams of a socket may bear the time of reading. None came later than those queued behind it;
        # so stamps never go back within one reading, by which a replay tells where one ends.
        stamps = np.minimum.accumulate(stamps[::-1])[::-1]
        ages_ns: NDArray[np.int64] = np.rint((newest_ns - stamps) * self._clock.speed).astype(np.int64)
        return host_ns - ages_ns

    def _sample_times(self, sequence: NDArray[np.int64], received_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Host times (n,) at which samples were made, in their order and always increasing."""
        # A sample that was overtaken is still older than the one that overtook it.
        known_by_ns = np.minimum.accumulate(received_ns[::-1])[::-1]
        places = np.arange(len(sequence))
        made_ns = np.maximum(self._times.stamp(sequence, known_by_ns) - places, self._newest_ns + 1)
        t_ns: NDArray[np.int64] = np.maximum.accumulate(made_ns) + places
        self._newest_ns = int(t_ns[-1])
        return t_ns

    def _decode(self, datagrams: list[bytes], received_ns: NDArray[np.int64]) -> Batch:
        if set(map(len, datagrams)) != {RECORD_SIZE}:
            sizes = np.array([len(datagram) for datagram in datagrams])
            good = np.array([_is_records(size) for size in sizes.tolist()])
            self.malformed += int((~good).sum())
            datagrams = [datagram for datagram, use in zip(datagrams, good, strict=True) if use]
            received_ns = np.repeat(received_ns[good], sizes[good] // RECORD_SIZE)
        return Batch(np.frombuffer(b"".join(datagrams), dtype=RECORD), received_ns)

    def _deliver(self, batch: Batch) -> None:
        if not len(batch):
            return
        records = batch.records
        status = records["status"].astype(np.uint32)
        valid = self.table.valid(status)
        sequence = records["ft_sequence"].astype(np.int64)
        t_ns = self._sample_times(sequence, batch.received_ns) - self._late_ns
        wrench = records["counts"] * self._scale
        words = status.astype(np.int64)
        self._buffer.extend(t_ns, sequence, wrench, words, valid, batch.received_ns)
        self.status, self.sequence = int(status[-1]), int(sequence[-1])
        if self._on_wrenches is not None:
            self._on_wrenches(t_ns, sequence, wrench, words, valid, batch.received_ns)
        if not valid.all():
            bad = status[~valid]
            self.invalid += len(bad)
            self.saturated += int(self.table.saturated(bad).sum())
            if self._on_trouble is not None:
                self._on_trouble(int(bad[-1]))


def _is_records(size: int) -> bool:
    try:
        check_size(size)
    except Malformed:
        return False
    return True
