"""One host clock, and maps from the devices' own clocks onto it. All times are integer nanoseconds."""

import math
import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from devices.hull import LowerHull, Point

MAX_STAMP_AGE_NS = 10_000_000_000
"""Datagrams do not wait longer in a socket that is being read; an older stamp means a stepped clock."""
_FAR_NS = 1 << 62


class HostClock:
    """The application's clock: wall time when it was made, monotonic from then on.

    A stepped wall clock does it no harm. With a speed of 10 the application lives ten times faster than the
    wall clock; simulated devices that run at the same speed then still show their true rates.
    """

    def __init__(self, speed: float = 1.0, not_before_ns: int = 0) -> None:
        """Start at the wall clock, but not before ``not_before_ns``: it may have been set back, or time ran faster."""
        if not 0.0 < speed < float("inf"):
            raise ValueError(f"the speed of a clock is a positive number, not {speed}")
        self.speed = speed
        wall_ns, self._monotonic_start_ns = _both_clocks()
        self._start_ns = max(wall_ns, not_before_ns)

    def now_ns(self) -> int:
        """Return the host time."""
        return self.at_monotonic(time.monotonic_ns())

    def at_monotonic(self, monotonic_ns: int) -> int:
        """Return the host time at a reading of ``time.monotonic_ns``."""
        elapsed_ns = monotonic_ns - self._monotonic_start_ns
        return self._start_ns + (elapsed_ns if self.speed == 1.0 else round(elapsed_ns * self.speed))

    def from_kernel_stamp(self, realtime_ns: int) -> int:
        """Return the host time of a kernel receive stamp, which is on the wall clock.

        Call it at once after reading the stamp: it is converted by its age, so that only a step of the wall
        clock during that age could disturb it. The age would then be negative or long, and counts as none.
        """
        wall_ns, monotonic_ns = _both_clocks()
        age_ns = wall_ns - realtime_ns
        if not 0 <= age_ns <= MAX_STAMP_AGE_NS:
            age_ns = 0
        return self.at_monotonic(monotonic_ns - age_ns)

    def real_s(self, host_s: float) -> float:
        """Return how many seconds of real time a span of host time takes."""
        return host_s / self.speed


def _both_clocks() -> tuple[int, int]:
    """Return wall and monotonic time of one moment.

    Read again if another thread came in between, which happens in a busy process and cost 16 ms when it did.
    """
    for _ in range(5):
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if after_ns - before_ns < 20_000:
            break
    return wall_ns, (before_ns + after_ns) // 2


class EchoSync:
    """Maps a device's ticks to host time from echo exchanges.

    An exchange brackets one reading of the device clock between the host times of asking and answering. Its
    midpoint is off by at most half of what the round trip exceeds the shortest one, so quick exchanges weigh
    most. Offset and drift come from a weighted fit over minutes; a prior on the drift keeps the first seconds
    calm.
    """

    DRIFT_PRIOR = 100e-6
    """Standard deviation of a quartz clock's rate error."""
    STEP_NS = 5_000_000
    """An exchange off the map by this much more than both can be wrong means that the clock was stepped."""

    def __init__(self, clock_hz: int, exchanges: int = 600) -> None:
        if clock_hz <= 0:
            raise ValueError(f"a clock has a positive frequency, not {clock_hz} Hz")
        self.clock_hz = clock_hz
        self.steps = 0
        """How often the device clock jumped, so that the map had to start anew."""
        self._exchanges: deque[tuple[int, int, int]] = deque(maxlen=exchanges)
        self._map: tuple[int, int, float] | None = None
        self._drift = 0.0
        self._best_ns = 0

    @property
    def ready(self) -> bool:
        """Whether ticks can be mapped."""
        return self._map is not None

    @property
    def exchanges(self) -> int:
        """Exchanges that the map rests on."""
        return len(self._exchanges)

    @property
    def drift_ppm(self) -> float:
        """How much faster the device clock runs than its stated frequency, parts per million."""
        return -self._drift * 1e6

    @property
    def round_trip_ns(self) -> int:
        """Shortest round trip, nanoseconds."""
        return self._best_ns

    @property
    def offset_ns(self) -> int:
        """Host time at the device's tick 0; 0 while unknown."""
        return self.to_host(0) if self.ready else 0

    def add(self, sent_ns: int, ticks: int, received_ns: int) -> None:
        """Take in one exchange: asked at a host time, the device clock's answer, received at a host time."""
        round_trip_ns = received_ns - sent_ns
        if round_trip_ns < 0:
            return
        middle_ns = sent_ns + round_trip_ns // 2
        if self._map is not None:
            doubt_ns = (round_trip_ns + self._best_ns) // 2 + self.STEP_NS
            if abs(self.to_host(ticks) - middle_ns) > doubt_ns:
                self._exchanges.clear()
                self.steps += 1
        self._exchanges.append((ticks, middle_ns, round_trip_ns))
        self._fit()

    def to_host(self, ticks: int) -> int:
        """Return the host time, nanoseconds, of a reading of the device clock."""
        if self._map is None:
            raise ValueError("no echo exchange has been made yet")
        ticks_ref, host_ref_ns, ns_per_tick = self._map
        return host_ref_ns + round((ticks - ticks_ref) * ns_per_tick)

    def to_host_all(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the host times (n,) of readings, each as :meth:`to_host` does; those beyond 64 bits lie far off."""
        if self._map is None:
            raise ValueError("no echo exchange has been made yet")
        ticks_ref, host_ref_ns, ns_per_tick = self._map
        if max(abs(ticks_ref), abs(host_ref_ns)) > _FAR_NS:
            return np.full(len(ticks), -_FAR_NS)
        since_ns = np.rint((ticks - ticks_ref) * ns_per_tick)
        times_ns: NDArray[np.int64] = host_ref_ns + np.clip(since_ns, -_FAR_NS, _FAR_NS).astype(np.int64)
        return times_ns

    def _fit(self) -> None:
        """Weighted least squares for offset and drift, about the newest exchange."""
        ticks_ref, host_ref_ns, _ = self._exchanges[-1]
        nominal = 1e9 / self.clock_hz
        device_ns = np.array([(ticks - ticks_ref) * nominal for ticks, _, _ in self._exchanges])
        host_ns = np.array([float(middle - host_ref_ns) for _, middle, _ in self._exchanges])
        trips_ns = np.array([float(trip) for _, _, trip in self._exchanges])
        best = float(trips_ns.min())
        sigma = np.maximum(1_000.0, 0.05 * best) + (trips_ns - best) / 2.0
        weight = sigma**-2
        x_mean = np.average(device_ns, weights=weight)
        y_mean = np.average(host_ns - device_ns, weights=weight)
        x, y = device_ns - x_mean, host_ns - device_ns - y_mean
        drift = float((weight * x * y).sum() / ((weight * x * x).sum() + self.DRIFT_PRIOR**-2))
        offset = float(y_mean - drift * x_mean)
        self._drift = drift
        self._best_ns = round(best)
        self._map = (ticks_ref, host_ref_ns + round(offset), nominal * (1.0 + drift))


class SequenceClock:
    """Maps a device's sample counter to host time by the lower envelope of the receive times.

    A datagram is never early, so the line that lies below all receive times and as close to them as possible
    is the counter's time plus the shortest delay. It rests on the quickest datagram of each quarter second of
    the last minute. A counter that restarts or stands still begins a new line; one that runs on during an
    outage keeps the old one.
    """

    BLOCK_NS = 250_000_000
    BLOCKS = 240
    WARM_UP = 8
    """Samples, at least, for the first guess of the rate."""
    MOST_FIRST = 1024
    """Samples, at most; of more, as from a counter that never counts, every second is forgotten."""
    JUMP_NS = 50_000_000
    """A single step of the count may contradict the receive times by this much, else the counter jumped."""
    LATE_NS = 100_000_000
    LATE_BLOCKS = 8
    """Two seconds in which every datagram is later than this mean that the counter stood still."""
    TRUST = 200e-6
    """How far, as a share, a device's rate tends to be from the one that it states."""
    CALM_NS = 20_000
    """Jitter of the quickest datagrams on a quiet network, at least."""
    DISTRUST = 0.08
    """Further off than this after a second, the statement is wrong."""
    LOST_NS = 10_000_000_000
    """A datagram later than this cannot belong to the line. All of these are real time."""
    FEW, MANY = 16, 512
    """Fewer samples are quicker taken in one by one; more are not looked at together."""

    def __init__(self, modulus: int = 1 << 32, speed: float = 1.0) -> None:
        """``speed`` is that of the host clock: delays of the real network look longer by it."""
        self._speed = speed
        self.splits = 0
        """How often a new line was begun."""
        self._modulus = modulus
        self._last = 0
        self._count = 0
        self._last_since_ns = 0
        self._origin_ns: int | None = None
        self._period_ns = 0.0
        self._offset_ns = 0.0
        self._stated_hz = 0.0
        self._stated_period_ns = 0.0
        self._first: list[Point] = []
        self._supports = LowerHull(self.BLOCKS)
        self._quickest: tuple[float, Point] = (0.0, (0, 0))
        self._block_end_ns = 0
        self._late_blocks = 0

    @property
    def rate_hz(self) -> float:
        """Counts per second of host time; 0 while unknown."""
        return 1e9 / self._period_ns if self._period_ns > 0.0 else 0.0

    def expect(self, samples_hz: float) -> None:
        """Take the device's word for how many samples it sends per second; the count may step by more than one.

        Times are then good from the first second on, even where datagrams come in bursts.
        """
        self._stated_hz = samples_hz

    def stamp(self, sequence: NDArray[np.int64], received_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take in samples in order and return their host times (n,), none later than its receipt."""
        out = np.empty(len(sequence), dtype=np.int64)
        at, singly = 0, self.FEW
        while at < len(out):
            ahead = slice(at, at + self.MANY)
            together = self._follow_line(sequence[ahead], received_ns[ahead], out[ahead])
            at += together
            # Where the line moves with nearly every sample it is no use to look ahead.
            singly = 1 if together >= self.FEW else min(max(2 * singly, self.FEW), self.MANY)
            pairs = zip(sequence[at : at + singly].tolist(), received_ns[at : at + singly].tolist(), strict=True)
            for s, r in pairs:
                out[at] = self.add(s, r)
                at += 1
        return out

    def _follow_line(self, sequence: NDArray[np.int64], received_ns: NDArray[np.int64], out: NDArray[np.int64]) -> int:
        """Take in the samples, from the first on, that do not move the line; return how many they are.

        They get the times that :meth:`add` gives, to the last bit.
        """
        settled = self._origin_ns is not None and self._period_ns > 0.0 and self._late_blocks < self.LATE_BLOCKS
        if not settled or len(sequence) < self.FEW:
            return 0
        steps = _steps(sequence, self._last)
        steps = (steps + self._modulus // 2) % self._modulus - self._modulus // 2
        counts = self._count + np.cumsum(steps)
        since_ns = received_ns - (self._origin_ns or 0)
        late_ns = since_ns - self._offset_ns - counts * self._period_ns
        steps_ns = steps * self._period_ns
        jump_ns = self.JUMP_NS * self._speed
        moves = (steps_ns < -jump_ns) | (steps_ns - _steps(since_ns, self._last_since_ns) > jump_ns)
        moves |= (late_ns < 0.0) | (late_ns > self.LOST_NS * self._speed) | (since_ns >= self._block_end_ns)
        n = int(np.argmax(moves)) if moves.any() else len(moves)
        if n:
            last = n - 1
            self._last, self._count, self._last_since_ns = int(sequence[last]), int(counts[last]), int(since_ns[last])
            least = int(np.argmin(late_ns[:n]))
            if late_ns[least] < self._quickest[0]:
                self._quickest = float(late_ns[least]), (int(counts[least]), int(since_ns[least]))
            out[:n] = received_ns[:n] - np.rint(late_ns[:n]).astype(np.int64)
        return n

    def add(self, sequence: int, received_ns: int) -> int:
        """Take in one sample and return its host time, never later than its receipt."""
        if self._origin_ns is None:
            return self._begin(sequence, received_ns)
        step = (sequence - self._last + self._modulus // 2) % self._modulus - self._modulus // 2
        count = self._count + step
        since_ns = received_ns - self._origin_ns
        if self._period_ns == 0.0 and self._stated_hz > 0.0 and 0 < step <= 100:
            self._period_ns = self._stated_period_ns = 1e9 / (self._stated_hz * step)
        if self._period_ns == 0.0:
            return self._warm_up(sequence, count, received_ns)
        late_ns = since_ns - self._offset_ns - count * self._period_ns
        step_ns = step * self._period_ns
        jump_ns = self.JUMP_NS * self._speed
        jumped = step_ns < -jump_ns or step_ns - (since_ns - self._last_since_ns) > jump_ns
        if jumped or late_ns > self.LOST_NS * self._speed or self._late_blocks >= self.LATE_BLOCKS:
            self.splits += 1
            if self._late_blocks >= self.LATE_BLOCKS:
                self._stated_period_ns = 0.0
            return self._begin(sequence, received_ns)
        self._last, self._count, self._last_since_ns = sequence, count, since_ns
        if late_ns < 0.0:
            self._offset_ns += late_ns
            late_ns = 0.0
            self._quickest = 0.0, (count, since_ns)
        elif late_ns < self._quickest[0]:
            self._quickest = late_ns, (count, since_ns)
        if since_ns >= self._block_end_ns:
            self._end_block(since_ns)
        return received_ns - round(late_ns)

    def _begin(self, sequence: int, received_ns: int) -> int:
        """Start a new line; a rate found before stays as the first guess."""
        self._origin_ns = received_ns
        self._last, self._count, self._last_since_ns = sequence, 0, 0
        self._offset_ns = 0.0
        self._first = [(0, 0)]
        self._supports.clear()
        self._late_blocks = 0
        self._next_block(0)
        return received_ns

    def _next_block(self, since_ns: int) -> None:
        self._quickest = math.inf, (0, 0)
        self._block_end_ns = since_ns + round(self.BLOCK_NS * self._speed)

    def _warm_up(self, sequence: int, count: int, received_ns: int) -> int:
        """Gather the first quarter second; until the rate is known the receive time must do."""
        since_ns = received_ns - (self._origin_ns or 0)
        self._last, self._count, self._last_since_ns = sequence, count, since_ns
        self._first.append((count, since_ns))
        if len(self._first) > self.MOST_FIRST:
            self._first = self._first[::2]
        if since_ns >= self._block_end_ns and len(self._first) >= self.WARM_UP and count > 0:
            for point in _quickest_of_first_and_last_third(self._first):
                self._supports.append(point)
            self._first = []
            self._period_ns = since_ns / count
            self._follow()
            self._next_block(since_ns)
        return received_ns

    def _end_block(self, since_ns: int) -> None:
        late_ns, point = self._quickest
        self._late_blocks = self._late_blocks + 1 if late_ns > self.LATE_NS * self._speed else 0
        if math.isfinite(late_ns):
            self._supports.append(point)
            self._follow()
        self._next_block(since_ns)

    def _follow(self) -> None:
        """Lay the line through the edge of the lower hull under the middle of the supporting points."""
        (count, since_ns), (count_2, since_2_ns) = self._supports.edge()
        if count_2 > count and since_2_ns > since_ns:
            self._period_ns = (since_2_ns - since_ns) / (count_2 - count)
        self._offset_ns = since_ns - count * self._period_ns
        if self._stated_period_ns > 0.0:
            self._heed_statement()

    def _heed_statement(self) -> None:
        """Pull the rate towards the stated one, the more the less is seen of it."""
        stated_ns, supports = self._stated_period_ns, self._supports.points
        off = self._period_ns / stated_ns - 1.0
        if len(supports) >= 4 and abs(off) > self.DISTRUST:
            self._stated_period_ns = 0.0
            return
        gaps_ns = [since - count * self._period_ns - self._offset_ns for count, since in supports]
        jitter_ns = sum(gaps_ns) / len(gaps_ns) + self.CALM_NS * self._speed
        doubt = jitter_ns / max(supports[-1][1] - supports[0][1], 1)
        self._period_ns = stated_ns * (1.0 + off * self.TRUST**2 / (self.TRUST**2 + doubt**2))
        self._offset_ns = min(since - count * self._period_ns for count, since in supports)


def _quickest_of_first_and_last_third(points: list[Point]) -> list[Point]:
    """Return two points far apart, each the quickest of its third by the mean rate."""
    (count_0, since_0_ns), (count_1, since_1_ns) = points[0], points[-1]
    period_ns = (since_1_ns - since_0_ns) / (count_1 - count_0)
    third = max(1, len(points) // 3)
    return [min(part, key=lambda p: p[1] - p[0] * period_ns) for part in (points[:third], points[-third:])]


def _steps(values: NDArray[np.int64], before: int) -> NDArray[np.int64]:
    """Return how much each value (n,) is above that before it."""
    steps = values.copy()
    steps[0] -= before
    steps[1:] -= values[:-1]
    return steps
