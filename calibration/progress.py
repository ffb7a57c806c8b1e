"""How far a tip calibration has come while the operator is still moving: what is seen, what is missing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.hinge import fit_hinge, turned
from calibration.pivot import turning
from calibration.pivoting import tip_by_pivoting
from calibration.result import CalibrationFailure
from calibration.tip import LIMITS, Tip, TipLimits, measured_poses
from calibration.two_rotations import tip_by_two_rotations

Array = NDArray[np.float64]

_ENOUGH = 600
"""Samples that are looked at: more would not change what the operator is told, only delay it."""


@dataclass(frozen=True)
class TipProgress:
    """What a take in progress is worth by now."""

    done: bool
    """Good enough: the take can be stopped."""
    std: float | None
    """Standard deviation of the tip by now, metres; None while nothing can be said."""
    covered: tuple[float, ...]
    """Share of the needed turn, 0 to 1: about the screws and about the handle, or of the least moved
    direction."""
    seen: Array
    """(n, 3) unit vectors from the tip towards the body's origin in the world, for a picture; empty until
    known."""
    advice: str
    """What to do next, with the precision so far."""


def two_rotations_progress(
    about_screws: ArrayLike,
    about_handle: ArrayLike | None = None,
    *,
    goal: float = LIMITS.good_std,
    limits: TipLimits = LIMITS,
) -> TipProgress:
    """Judge the turns so far: poses (n, 4, 4) body-to-world; the second turn may not have begun."""
    takes = [_thinned(about_screws), _thinned(np.zeros((0, 4, 4)) if about_handle is None else about_handle)]
    arcs = [_arc(take, limits) for take in takes]
    covered = tuple(min(arc / limits.min_turn, 1.0) for arc in arcs)
    names = ("about the clamping screws", "about the handle")
    for share, arc, name, take in zip(covered, arcs, names, takes, strict=True):
        if share < 1.0:
            so_far = f"{np.degrees(arc):.0f}° so far, {np.degrees(limits.min_turn):.0f}° and more are needed"
            words = f"Turn the gripper {name}, there and back" + (f": {so_far}." if len(take) else ".")
            return TipProgress(False, None, covered, np.zeros((0, 3)), words)
    tip = tip_by_two_rotations(takes[0], takes[1], limits=limits)
    return _judged(tip, np.concatenate(takes), covered, goal, "turn further about both axes")


def pivoting_progress(poses: ArrayLike, *, goal: float = LIMITS.good_std, limits: TipLimits = LIMITS) -> TipProgress:
    """Judge the pivoting so far: poses (n, 4, 4) body-to-world."""
    take = _thinned(poses)
    spread = turning(take)[0] if len(take) >= limits.min_samples else 0.0
    covered = (min(spread / limits.min_spread, 1.0),)
    if covered[0] < 1.0:
        words = f"Tilt the gripper to all four sides and turn it, the tip at rest: {100 * covered[0]:.0f} % so far."
        return TipProgress(False, None, covered, np.zeros((0, 3)), words)
    return _judged(tip_by_pivoting(take, limits=limits), take, covered, goal, "tilt further to all sides")


def _judged(
    tip: Tip | CalibrationFailure, poses: Array, covered: tuple[float, ...], goal: float, further: str
) -> TipProgress:
    if isinstance(tip, CalibrationFailure):
        return TipProgress(False, None, covered, np.zeros((0, 3)), tip.reason)
    lever = -np.einsum("nij,j->ni", poses[:, :3, :3], tip.offset)
    seen = lever / max(float(np.linalg.norm(tip.offset)), 1e-9)
    std = tip.position_std
    words = f"Tip ± {1e3 * std:.2f} mm"
    if std <= goal:
        return TipProgress(True, std, covered, seen, f"{words}: good enough, stop here.")
    return TipProgress(False, std, covered, seen, f"{words}; {further} to reach ± {1e3 * goal:.2f} mm.")


def _arc(poses: Array, limits: TipLimits) -> float:
    if len(poses) < limits.min_samples:
        return 0.0
    estimate = fit_hinge(poses, np.random.default_rng(0))
    return 0.0 if estimate is None else turned(estimate)


def _thinned(poses: ArrayLike) -> Array:
    taken = measured_poses(poses)
    return taken[:: max(-(-len(taken) // _ENOUGH), 1)]
