"""Where the gripper's tip is, and how the gripper is turned, in the frame of the tracked body.

A tracked body's origin lies somewhere between its markers, and its axes are those of the world at the moment
it was defined. Three ways lead to the tip: two turns on a gripped cylinder, a tip that rests in a dimple, or
a known pose.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.estimate import Mask
from calibration.result import CalibrationFailure
from fitting import se3

Array = NDArray[np.float64]
Method = Literal["two-rotations", "pivoting", "known-pose"]


@dataclass(frozen=True)
class TipLimits:
    """What a tip calibration must reach; metres and radians."""

    min_samples: int = 30
    min_turn: float = float(np.radians(15.0))
    """Arc about each axis, below which play of the grip decides about the axis."""
    min_spread: float = 0.08
    """Pivoting: rms movement of the least moved direction (a unit vector), about ±8° of tilt."""
    min_axes_angle: float = float(np.radians(60.0))
    """Screws and handle are perpendicular on a gripper; far from it, one movement was about the wrong
    axis."""
    max_play: float = 0.003
    """Slow sideways movement of the axis (rms), above which the grip slipped."""
    max_tilt: float = float(np.radians(2.0))
    """Slow tilt of the axis (rms), above which the grip slipped."""
    max_wander: float = 0.002
    """Pivoting: slow movement of the tip (rms along its worst direction), above which it left its place."""
    max_trend: float = 0.002
    """Movement over a whole take: play comes back, a slip does not."""
    max_trend_turn: float = float(np.radians(1.5))
    """Likewise the tilt of the axis."""
    max_hold_shift: float = 0.002
    """Known pose: largest slow movement of the tip while held still."""
    max_hold_turn: float = float(np.radians(2.0))
    """Known pose: largest slow turn while held still."""
    max_lost_run: float = 0.2
    """Longest share of the take that may disagree with the rest at a stretch."""
    min_inliers: float = 0.55
    max_std: float = 0.002
    """Standard deviation of the tip, above which nothing can be built on it."""
    good_std: float = 0.0005
    """Standard deviation of the tip that the wizard aims at."""


LIMITS = TipLimits()


@dataclass(frozen=True)
class Tip:
    """The gripper's tip in the frame of the tracked body."""

    method: Method
    offset: Array
    """(3,) tip in the body frame, metres."""
    rotation: Array | None
    """(3, 3) gripper axes in the body frame as columns: x the screws, y the approach, z the handle. None by
    pivoting."""
    covariance: Array
    """Of the offset (m²), or 6×6 of the offset and a small rotation of the axes, both in body coordinates:
    true offset = offset + d, true rotation = exp(r) · rotation."""
    verdict: str
    """How good it is, in plain words."""
    inliers: tuple[Mask, ...]
    """For each movement, the samples that agree."""
    details: dict[str, float] = field(default_factory=dict)
    """Measured quantities behind the verdict: arcs, gap between the axes, play; SI units and radians."""

    @property
    def position_std(self) -> float:
        """Standard deviation of the offset in metres, root of the trace."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3])))

    @property
    def rotation_std(self) -> float | None:
        """Standard deviation of the axes in radians, root of the trace; None where the method gives no
        axes."""
        return None if self.rotation is None else float(np.sqrt(np.trace(self.covariance[3:, 3:])))

    def tip2body(self) -> Array:
        """Frame (4, 4) of the tip in the body; the body's own axes where the method gives none."""
        return se3.frame(self.rotation, self.offset)


def measured_poses(poses: ArrayLike) -> Array:
    """Poses (n, 4, 4) without dropouts (rows with NaN or inf); ValueError for a wrong shape or a non-
    rotation."""
    taken = np.asarray(poses, dtype=float)
    if taken.ndim != 3 or taken.shape[1:] != (4, 4):
        raise ValueError(f"Poses have shape {taken.shape} instead of (n, 4, 4).")
    taken = taken[np.isfinite(taken).all(axis=(1, 2))]
    skewed = np.abs(np.swapaxes(taken[:, :3, :3], 1, 2) @ taken[:, :3, :3] - np.eye(3)).max(axis=(1, 2))
    bad = np.flatnonzero((skewed > 1e-3) | (np.linalg.det(taken[:, :3, :3]) < 0.0))
    if bad.size:
        raise ValueError(f"Pose {bad[0]} holds no rotation: its axes miss orthonormality by {skewed[bad[0]]:.3g}.")
    return np.asarray(taken)


def longest_run(flags: Mask) -> int:
    """Length of the longest stretch in which at least three of any four neighbours are set."""
    if len(flags) < 4:
        return int(np.count_nonzero(flags))
    dense = np.convolve(flags, np.ones(4), mode="same") >= 3.0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dense.astype(int), [0]])))
    return int(np.max(edges[1::2] - edges[::2])) if edges.size else 0


def judged(tip: Tip, limits: TipLimits, advice: str) -> Tip | CalibrationFailure:
    """Put the precision into words, or refuse a tip on which nothing can be built."""
    std = tip.position_std
    if std > limits.max_std:
        return CalibrationFailure(
            "imprecise", f"The tip is known only to ± {1e3 * std:.1f} mm. {advice}, and record again."
        )
    words = f"Tip ± {1e3 * std:.2f} mm"
    if tip.rotation_std is not None:
        words += f", axes ± {np.degrees(tip.rotation_std):.2f}°"
    words += (
        "."
        if std <= limits.good_std
        else f"; {advice[0].lower()}{advice[1:]} to reach ± {1e3 * limits.good_std:.1f} mm."
    )
    return Tip(tip.method, tip.offset, tip.rotation, tip.covariance, words, tip.inliers, tip.details)


def too_few(n: int, name: str, limits: TipLimits) -> CalibrationFailure:
    """Refusal of a take with fewer than the needed poses."""
    return CalibrationFailure(
        "too-few",
        f"Only {n} measured poses in the turn {name}, {limits.min_samples} are needed. "
        "Check with `ident check` that the body is tracked, and record again.",
    )
