"""Held orientations in one free movement: where the gripper stood still, and which directions are missing.

The operator turns the gripper over and pauses now and then. Wherever body and forces stood still for half a
second, a hold is found, with the mean orientation and the mean wrench.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.gravity import STANDARD_GRAVITY, weight_in_sensor
from calibration.result import CalibrationFailure
from fitting import se3

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HoldSettings:
    """When a gripper counts as held still; seconds and SI units."""

    window: float = 0.3
    """Time over which speeds are taken."""
    min_duration: float = 0.5
    max_turning: float = float(np.radians(5.0))
    """rad/s: a hand drifts slower than that while it tries to hold still."""
    max_speed: float = 0.04
    """m/s"""
    max_force_rate: float = 2.0
    """N/s"""
    max_turn: float = float(np.radians(6.0))
    """Turn over a whole hold, beyond which its mean orientation means nothing."""
    max_invalid: float = 0.02
    """Share of samples that the sensor may report as saturated or faulty."""


HOLD_SETTINGS = HoldSettings()


@dataclass(frozen=True)
class Hold:
    """One held orientation."""

    start_ns: int
    stop_ns: int
    samples: int
    rotation: Array
    """(3, 3) body-to-world, mean."""
    wrench: Array
    """(6,) mean force (N) and torque (Nm) in the sensor's frame."""
    valid: bool
    """False where the sensor was saturated or faulty."""


@dataclass(frozen=True)
class Coverage:
    """Which sides of the gripper have pointed down."""

    directions: Array
    """(n, 3) gravity's direction in each hold, unit vectors in the held frame."""
    seen: tuple[str, ...]
    """Sides that pointed down: ``+x``, ``-x``, ``+y``, …"""
    missing: tuple[str, ...]
    complete: bool
    """At least six holds, and every side seen."""
    advice: str


def find_holds(
    t_ns: ArrayLike,
    poses: ArrayLike,
    wrenches: ArrayLike,
    *,
    valid: ArrayLike | None = None,
    settings: HoldSettings = HOLD_SETTINGS,
) -> tuple[Hold, ...]:
    """Find the holds in one movement.

    Parameters
    ----------
    t_ns
        (n,) host time of each pose.
    poses
        (n, 4, 4) body-to-world.
    wrenches
        (n, 6) in the sensor's frame, interpolated to the times of the poses; NaN where the sensor had a gap.
    valid
        (n,) False where the sensor reported saturation or an error.
    """
    stream = _Stream.read(t_ns, poses, wrenches, valid)
    if len(stream.times) < 8:
        return ()
    still = _still(stream, settings)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
    holds = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stream.times[stop - 1] - stream.times[start] < settings.min_duration:
            continue
        part = stream.part(slice(start, stop))
        if part.turn() <= settings.max_turn:
            holds.append(part.hold(settings))
    return tuple(holds)


def hold_still(
    t_ns: ArrayLike,
    poses: ArrayLike,
    wrenches: ArrayLike,
    *,
    valid: ArrayLike | None = None,
    settings: HoldSettings = HOLD_SETTINGS,
) -> Hold | CalibrationFailure:
    """Take a whole record as one hold, refused when the gripper moved or the sensor was saturated
    meanwhile."""
    stream = _Stream.read(t_ns, poses, wrenches, valid)
    if len(stream.times) < 8 or stream.times[-1] - stream.times[0] < settings.min_duration:
        return CalibrationFailure(
            "too-few",
            f"The hold has {len(stream.times)} measured poses and is shorter than "
            f"{settings.min_duration:.1f} s. "
            "Hold still until told otherwise, with the markers in view.",
        )
    invalid = float(np.mean(~stream.valid))
    if invalid > settings.max_invalid:
        return CalibrationFailure(
            "saturated",
            f"The sensor was saturated or faulty in {100 * invalid:.0f} % of the hold. Take the load off "
            "the sensor, "
            "check its status with `ident check`, and hold again.",
        )
    share, turn = float(np.mean(_still(stream, settings))), stream.turn()
    if share < 0.8 or turn > settings.max_turn:
        return CalibrationFailure(
            "moved",
            f"The gripper moved while it should be held still: it turned by {np.degrees(turn):.0f}° and "
            "was still for "
            f"{100 * share:.0f} % of the time. Rest your arm on something and hold again.",
        )
    return stream.hold(settings)


def coverage(
    rotations: ArrayLike | Sequence[Array],
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    min_holds: int = 6,
    within: float = float(np.radians(40.0)),
) -> Coverage:
    """Say which of the six sides have pointed down in the holds so far.

    ``rotations`` are (n, 3, 3) to the world; the sides are named in the frame that they come from, so pass
    gripper-to-world rotations where the gripper's axes are known to the operator.
    """
    turns = np.asarray(rotations, dtype=float).reshape(-1, 3, 3)
    down = np.asarray(gravity, dtype=float)
    directions = weight_in_sensor(turns, down / np.linalg.norm(down))
    seen: list[str] = []
    missing: list[str] = []
    for name, side in zip(("+x", "-x", "+y", "-y", "+z", "-z"), np.repeat(np.eye(3), 2, axis=0) * _SIGNS, strict=True):
        hit = len(directions) > 0 and float(np.max(directions @ side)) > np.cos(within)
        (seen if hit else missing).append(name)
    complete = not missing and len(turns) >= min_holds
    if complete:
        advice = f"All sides seen in {len(turns)} holds."
    elif missing:
        advice = f"Turn the gripper so that its {' or '.join(missing)} side points down, and hold still for a second."
    else:
        advice = f"{len(turns)} of {min_holds} holds; hold {min_holds - len(turns)} more orientations."
    return Coverage(directions, tuple(seen), tuple(missing), complete, advice)


_SIGNS = np.array([1.0, -1.0] * 3)[:, None]


@dataclass(frozen=True)
class _Stream:
    """Measured poses and wrenches at common times (s)."""

    start_ns: int
    times: Array
    quaternions: Array
    positions: Array
    wrenches: Array
    valid: Mask

    @classmethod
    def read(cls, t_ns: ArrayLike, poses: ArrayLike, wrenches: ArrayLike, valid: ArrayLike | None) -> "_Stream":
        times, frames = np.asarray(t_ns, dtype=np.int64), np.asarray(poses, dtype=float)
        loads = np.asarray(wrenches, dtype=float)
        n = len(times)
        if frames.shape != (n, 4, 4) or loads.shape != (n, 6):
            raise ValueError(
                f"{n} times need poses ({n}, 4, 4) and wrenches ({n}, 6), not {frames.shape} and {loads.shape}."
            )
        good = np.ones(n, dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
        kept = np.isfinite(frames).all(axis=(1, 2)) & (np.isfinite(loads).all(axis=1) | ~good)
        start = int(times[0]) if n else 0
        quaternions = se3.quaternion_from_rotation(frames[kept][:, :3, :3])
        if len(quaternions):
            flips = np.sign(np.sum(quaternions[1:] * quaternions[:-1], axis=1))
            quaternions[1:] *= np.cumprod(np.where(flips == 0.0, 1.0, flips))[:, None]
        seconds = (times[kept] - start) * 1e-9
        return cls(start, seconds, quaternions, frames[kept][:, :3, 3], loads[kept], good[kept])

    def part(self, where: slice) -> "_Stream":
        return _Stream(
            self.start_ns,
            self.times[where],
            self.quaternions[where],
            self.positions[where],
            self.wrenches[where],
            self.valid[where],
        )

    def turn(self) -> float:
        """Angle in radians between the mean orientations of the first and the last tenth."""
        tenth = max(len(self.times) // 10, 1)
        return float(_angle(self.quaternions[:tenth].mean(axis=0), self.quaternions[-tenth:].mean(axis=0)))

    def hold(self, settings: HoldSettings) -> Hold:
        mean = np.median(self.quaternions, axis=0)
        near = _angle(self.quaternions, mean) < settings.max_turn
        good = self.valid & np.isfinite(self.wrenches).all(axis=1)
        quaternion = self.quaternions[near].mean(axis=0) if near.any() else mean
        wrench = self.wrenches[good].mean(axis=0) if good.any() else np.full(6, np.nan)
        return Hold(
            self.start_ns + round(self.times[0] * 1e9),
            self.start_ns + round(self.times[-1] * 1e9),
            len(self.times),
            se3.rotation_from_quaternion(quaternion / np.linalg.norm(quaternion)),
            wrench,
            bool(np.mean(~good) <= settings.max_invalid),
        )


def _angle(first: Array, second: Array) -> Array:
    """Angle in radians between quaternions that need not be normalised."""
    length = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    cosine = np.abs(np.sum(first * second, axis=-1)) / np.maximum(length, 1e-12)
    return np.asarray(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)))


def _still(stream: _Stream, settings: HoldSettings) -> Mask:
    """Samples around which, within the window, nothing moved beyond noise: means of its halves are
    compared."""
    from scipy.ndimage import median_filter  # here, since every command would wait for it

    n = len(stream.times)
    interval = float(np.median(np.diff(stream.times)))
    half = int(np.clip(round(settings.window / max(interval, 1e-6) / 2), 2, max(n // 4, 2)))
    smooth = [median_filter(a, size=(5, 1), mode="nearest") for a in (stream.quaternions, stream.positions)]
    loads = np.where(np.isfinite(stream.wrenches), stream.wrenches, 0.0)
    halves = [_halves(a, half) for a in (*smooth, median_filter(loads[:, :3], size=(5, 1), mode="nearest"))]
    elapsed = np.maximum(np.subtract(*_halves(stream.times[:, None], half)[::-1])[:, 0], 1e-6)
    (q0, q1), (p0, p1), (f0, f1) = halves
    inner = (
        (_angle(q0, q1) / elapsed < settings.max_turning)
        & (np.linalg.norm(p1 - p0, axis=1) / elapsed < settings.max_speed)
        & (np.linalg.norm(f1 - f0, axis=1) / elapsed < settings.max_force_rate)
        & (elapsed < 3.0 * half * interval)
    )
    return np.pad(inner, (half, n - half - len(inner)), mode="edge")


def _halves(values: Array, half: int) -> tuple[Array, Array]:
    """Means over ``half`` samples before and after each inner sample."""
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    means = (total[half:] - total[:-half]) / half
    return means[:-half], means[half:]
