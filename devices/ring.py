"""A bounded, thread-safe ring of time-stamped rows, and the gaps in a stretch of them."""

import threading
from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_RATE_SPAN_NS = 1_000_000_000
_QUIET_NS = 100_000_000
_SILENCE_NS = 100_000_000


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without samples, between the last sample before it and the first after it."""

    start_ns: int
    stop_ns: int
    missing: int
    """Samples lost, by the device's own count; 0 where the count restarted or the device was silent."""

    @property
    def seconds(self) -> float:
        """Length in seconds of host time."""
        return (self.stop_ns - self.start_ns) / 1e9


class Ring:
    """Rows of integers (host time first) and floats; the oldest rows make room for new ones.

    Rows come nearly in order of time: a late datagram may be older than its forerunner. The running maximum
    of time, kept in a column of its own, is sorted all the same and finds the first row of a window.
    """

    def __init__(self, capacity: int, ints: int, floats: int, *, reserved: bool = True) -> None:
        """Rows of so many integers and floats; memory that is not reserved is asked for when it is needed."""
        if capacity < 2:
            raise ValueError(f"a buffer holds at least 2 samples, not {capacity}")
        self.capacity = capacity
        self.lock = threading.Lock()
        self.written = 0
        self._ints = np.zeros((capacity, ints), dtype=np.int64)
        self._floats = np.zeros((capacity, floats))
        self._reached = np.zeros(capacity, dtype=np.int64)
        if reserved:
            # The system gives memory at the first write, and a measurement that has what it needs when it starts cannot
            # run out of it later.
            for column in (self._ints, self._floats, self._reached):
                column.fill(0)
        # One row is written four times faster as bytes than as an array.
        self._int_row, self._float_row = Struct(f"={ints}q"), Struct(f"={floats}d")
        self._int_bytes, self._float_bytes = self._ints.data.cast("B"), self._floats.data.cast("B")
        self._newest_ns = -(1 << 62)

    def append(self, ints: tuple[int, ...], floats: tuple[float, ...]) -> None:
        """Write one row."""
        with self.lock:
            at = self.written % self.capacity
            self._int_row.pack_into(self._int_bytes, at * self._int_row.size, *ints)
            self._float_row.pack_into(self._float_bytes, at * self._float_row.size, *floats)
            self._newest_ns = max(self._newest_ns, ints[0])
            self._reached[at] = self._newest_ns
            self.written += 1

    def extend(self, ints: Ints, floats: Floats) -> None:
        """Write n > 0 rows."""
        with self.lock:
            skipped = max(0, len(ints) - self.capacity)
            self.written += skipped
            ints, floats = ints[skipped:], floats[skipped:]
            at = (self.written + np.arange(len(ints))) % self.capacity
            self._ints[at] = ints
            self._floats[at] = floats
            reached = np.maximum(np.maximum.accumulate(ints[:, 0]), self._newest_ns)
            self._reached[at] = reached
            self._newest_ns = int(reached[-1])
            self.written += len(ints)

    def newest(self) -> tuple[Ints, Floats] | None:
        """Return a copy of the row that was written last."""
        with self.lock:
            if not self.written:
                return None
            at = (self.written - 1) % self.capacity
            return self._ints[at].copy(), self._floats[at].copy()

    def window(self, t0_ns: int, t1_ns: int) -> tuple[Ints, Floats]:
        """Return copies of the rows with t0 ≤ t ≤ t1, in order of time."""
        with self.lock:
            head = self.written % self.capacity
            wrapped = self.written > self.capacity
            parts = [(head, self.capacity), (0, head)] if wrapped else [(0, self.written)]
            ints, floats = [], []
            for start, stop in parts:
                first = start + int(np.searchsorted(self._reached[start:stop], t0_ns))
                t_ns = self._ints[first:stop, 0]
                inside = np.flatnonzero((t_ns >= t0_ns) & (t_ns <= t1_ns)) + first
                ints.append(self._ints[inside])
                floats.append(self._floats[inside])
        all_ints, all_floats = np.concatenate(ints), np.concatenate(floats)
        order = np.argsort(all_ints[:, 0], kind="stable")
        return all_ints[order], all_floats[order]

    def rate(self, now_ns: int) -> float:
        """Return samples per second over the last second of host time; it falls when samples stay away."""
        t_ns = self.window(now_ns - _RATE_SPAN_NS, now_ns)[0][:, 0]
        if len(t_ns) < 2:
            return 0.0
        quiet = now_ns - int(t_ns[-1]) > _QUIET_NS
        span_ns = (now_ns if quiet else int(t_ns[-1])) - int(t_ns[0])
        return float((len(t_ns) - 1) / max(span_ns, 1) * 1e9)


def gap_places(t_ns: Ints, sequence: Ints, modulus: int) -> tuple[NDArray[np.intp], Ints, int]:
    """Return before which rows a gap lies, all sequence steps, and the usual step."""
    steps = np.diff(sequence)
    if modulus:
        steps = (steps + modulus // 2) % modulus - modulus // 2
    spans = np.diff(t_ns)
    if not len(steps):
        return np.zeros(0, dtype=np.intp), steps, 1
    usual = max(1, int(np.median(steps)))
    # The count tells of losses; a silence without any is a device that stopped, not one that hesitated.
    silent = spans > max(10 * float(np.median(spans)), _SILENCE_NS)
    return np.flatnonzero((steps > 1.5 * usual) | (steps <= 0) | silent) + 1, steps, usual


def find_gaps(t_ns: Ints, sequence: Ints, modulus: int = 0) -> tuple[Gap, ...]:
    """Return where samples are missing: the counter jumped or restarted, or the device was silent."""
    places, steps, usual = gap_places(t_ns, sequence, modulus)
    return tuple(Gap(int(t_ns[i - 1]), int(t_ns[i]), max(0, round(int(steps[i - 1]) / usual) - 1)) for i in places)
