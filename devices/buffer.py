"""The latest samples of a device in columns: one writer, many readers, gaps reported and never bridged."""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from devices.errors import Stale
from devices.ring import Bools, Floats, Gap, Ints, Ring, find_gaps, gap_places
from devices.samples import PoseSample, PoseState, WrenchSample

__all__ = ["Gap", "PoseBuffer", "PoseWindow", "WrenchBuffer", "WrenchWindow"]


def _stale(what: str, age_ns: int | None, max_age_ns: int) -> NoReturn:
    if age_ns is None:
        raise Stale(f"No {what} has been received yet. Check that the device is streaming, then run `ident check`.")
    raise Stale(
        f"The latest {what} is {age_ns / 1e9:.2f} s old, more than the {max_age_ns / 1e9:.2f} s allowed. "
        "Check that the device is streaming, then run `ident check`."
    )


def _rotations(quaternions: Floats) -> Floats:
    """Return the rotations (n, 3, 3) of unit quaternions (n, 4) xyzw."""
    x, y, z, w = quaternions.T
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.moveaxis(np.array(rows), -1, 0)


@dataclass(frozen=True, slots=True)
class PoseWindow:
    """Poses of one body, body-to-world, as columns in order of time."""

    body: str
    t_ns: Ints
    positions: Floats
    """(n, 3), metres."""
    quaternions: Floats
    """(n, 4), xyzw."""
    states: Ints
    """(n,), values of :class:`PoseState`."""
    sequence: Ints
    mean_error: Floats
    """(n,), metres."""
    received_ns: Ints
    ticks: Ints

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def measured(self) -> Bools:
        """(n,), whether a row is a measurement; the others must not be fitted to."""
        return np.equal(self.states, PoseState.MEASURED)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Where frames are missing."""
        return find_gaps(self.t_ns, self.sequence)

    def first(self, samples: int) -> "PoseWindow":
        """Return those samples that came first, at most so many, in order of time."""
        if samples >= len(self):
            return self
        rows = np.sort(np.argsort(self.received_ns, kind="stable")[:samples])
        return PoseWindow(
            self.body, self.t_ns[rows], self.positions[rows], self.quaternions[rows], self.states[rows],
            self.sequence[rows], self.mean_error[rows], self.received_ns[rows], self.ticks[rows],
        )  # fmt: skip

    def poses(self) -> Floats:
        """Return (n, 4, 4) frames, body-to-world; NaN where the device sent no rotation at all."""
        frames = np.full((len(self), 4, 4), np.nan)
        norms = np.linalg.norm(self.quaternions, axis=1)
        usable = np.isfinite(norms) & (norms > 1e-6)
        frames[usable] = np.eye(4)
        frames[usable, :3, 3] = self.positions[usable]
        if usable.any():
            frames[usable, :3, :3] = _rotations(self.quaternions[usable] / norms[usable, None])
        return frames


class PoseBuffer:
    """The latest poses of one body."""

    def __init__(self, body: str, capacity: int, *, reserved: bool = True) -> None:
        self.body = body
        self._ring = Ring(capacity, ints=5, floats=8, reserved=reserved)

    def __len__(self) -> int:
        return min(self._ring.written, self._ring.capacity)

    @property
    def total(self) -> int:
        """Samples ever appended."""
        return self._ring.written

    def append(self, sample: PoseSample) -> None:
        """Add a sample, which may be somewhat older than the one before it."""
        self._ring.append(
            (sample.t_ns, sample.sequence, sample.state, sample.received_ns, sample.ticks),
            (*sample.position, *sample.quaternion, sample.mean_error),
        )

    def extend(self, ints: Ints, floats: Floats) -> None:
        """Add n > 0 samples at once.

        ``ints`` (n, 5) are t_ns, sequence, state, received_ns and ticks, ``floats`` (n, 8) position, quaternion and
        mean error.
        """
        self._ring.extend(ints, floats)

    def window(self, t0_ns: int, t1_ns: int) -> PoseWindow:
        """Return the samples with t0 ≤ t ≤ t1 (host time)."""
        ints, floats = self._ring.window(t0_ns, t1_ns)
        return PoseWindow(
            self.body, ints[:, 0], floats[:, :3], floats[:, 3:7], ints[:, 2], ints[:, 1], floats[:, 7],
            ints[:, 3], ints[:, 4],
        )  # fmt: skip

    def latest(self, now_ns: int, max_age_ns: int) -> PoseSample:
        """Return the newest sample, measured or not; raise :class:`Stale` if it is older than allowed."""
        row = self._ring.newest()
        if row is None or now_ns - int(row[0][0]) > max_age_ns:
            _stale(f"pose of '{self.body}'", None if row is None else now_ns - int(row[0][0]), max_age_ns)
        t_ns, sequence, state, received_ns, ticks = row[0].tolist()
        x, y, z, a, b, c, w, error = row[1].tolist()
        return PoseSample(
            t_ns, self.body, sequence, (x, y, z), (a, b, c, w), error, PoseState(state), received_ns, ticks
        )

    def rate(self, now_ns: int) -> float:
        """Return frames per second over the last second of host time."""
        return self._ring.rate(now_ns)


@dataclass(frozen=True, slots=True)
class WrenchWindow:
    """Wrenches in the sensor's frame, as columns in order of time."""

    t_ns: Ints
    wrench: Floats
    """(n, 6): force in newtons, torque in newton metres."""
    valid: Bools
    status: Ints
    sequence: Ints
    received_ns: Ints

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Where samples are missing, by the device's 32-bit counter."""
        return find_gaps(self.t_ns, self.sequence, 1 << 32)

    def interpolate(self, t_ns: Ints) -> tuple[Floats, Bools]:
        """Return wrenches (n, 6) at the given host times, and where they are known (n,).

        Linear between neighbours. Outside the window, across a gap and beside an invalid sample the values
        are NaN.
        """
        t_ns = np.asarray(t_ns, dtype=np.int64)
        values = np.full((len(t_ns), 6), np.nan)
        if len(self) < 2:
            return values, np.zeros(len(t_ns), dtype=bool)
        after = np.clip(np.searchsorted(self.t_ns, t_ns, side="right"), 1, len(self) - 1)
        broken = np.zeros(len(self), dtype=bool)
        broken[gap_places(self.t_ns, self.sequence, 1 << 32)[0]] = True
        known = (t_ns >= self.t_ns[0]) & (t_ns <= self.t_ns[-1])
        known &= ~broken[after] & self.valid[after - 1] & self.valid[after]
        i = after[known]
        spans = np.maximum(self.t_ns[i] - self.t_ns[i - 1], 1)
        share = ((t_ns[known] - self.t_ns[i - 1]) / spans)[:, None]
        values[known] = (1.0 - share) * self.wrench[i - 1] + share * self.wrench[i]
        return values, known


class WrenchBuffer:
    """The latest wrenches of one sensor."""

    def __init__(self, capacity: int, *, reserved: bool = True) -> None:
        self._ring = Ring(capacity, ints=5, floats=6, reserved=reserved)

    def __len__(self) -> int:
        return min(self._ring.written, self._ring.capacity)

    @property
    def total(self) -> int:
        """Samples ever appended."""
        return self._ring.written

    def append(self, sample: WrenchSample) -> None:
        """Add a sample."""
        self._ring.append(
            (sample.t_ns, sample.sequence, sample.status, sample.valid, sample.received_ns),
            (*sample.force, *sample.torque),
        )

    def extend(self, t_ns: Ints, sequence: Ints, wrench: Floats, status: Ints, valid: Bools, received_ns: Ints) -> None:
        """Add n samples at once; ``wrench`` is (n, 6), the others (n,)."""
        if len(t_ns):
            self._ring.extend(
                np.column_stack((t_ns, sequence, status, valid, received_ns)).astype(np.int64),
                np.asarray(wrench, dtype=np.float64).reshape(len(t_ns), 6),
            )

    def window(self, t0_ns: int, t1_ns: int) -> WrenchWindow:
        """Return the samples with t0 ≤ t ≤ t1 (host time)."""
        ints, floats = self._ring.window(t0_ns, t1_ns)
        return WrenchWindow(ints[:, 0], floats, ints[:, 3] != 0, ints[:, 2], ints[:, 1], ints[:, 4])

    def interpolate(self, t_ns: Ints) -> tuple[Floats, Bools]:
        """Return wrenches (n, 6) at host times and where they are known, as the window's method does."""
        t_ns = np.asarray(t_ns, dtype=np.int64)
        if not len(t_ns):
            return np.zeros((0, 6)), np.zeros(0, dtype=bool)
        margin_ns = 1_000_000_000
        return self.window(int(t_ns.min()) - margin_ns, int(t_ns.max()) + margin_ns).interpolate(t_ns)

    def latest(self, now_ns: int, max_age_ns: int) -> WrenchSample:
        """Return the newest sample, valid or not; raise :class:`Stale` if it is older than allowed."""
        row = self._ring.newest()
        if row is None or now_ns - int(row[0][0]) > max_age_ns:
            _stale("force/torque sample", None if row is None else now_ns - int(row[0][0]), max_age_ns)
        t_ns, sequence, status, valid, received_ns = row[0].tolist()
        fx, fy, fz, tx, ty, tz = row[1].tolist()
        return WrenchSample(t_ns, sequence, (fx, fy, fz), (tx, ty, tz), status, bool(valid), received_ns)

    def rate(self, now_ns: int) -> float:
        """Return samples per second over the last second of host time."""
        return self._ring.rate(now_ns)
