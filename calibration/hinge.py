"""A turn about an axis that stands still in the world and in the turning body, found in both frames at once.

Each pose is ``axis2world · Rz(angle) · Tz(slide) · axis2body⁻¹``. Angle and slide are free for every sample,
so that sliding along a handle, or the pitch of a screw, costs nothing. Four residuals remain per pose: the
tilt of the axis and its sideways shift, as seen from the body.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibration.estimate import Estimate, refine
from fitting import se3

Array = NDArray[np.float64]

_LEVER = 0.3
"""Metres by which a tilt (rad) is compared with a shift (m) before the noise is known: 0.5 mm against
0.1°."""
_TRIALS = 80
_SCORED = 120
_LONE = 50
"""One in so many samples may lie anywhere: outliers agree with any axis while nothing turns."""
_MIN_PAIR_ANGLE = np.radians(3.0)


@dataclass(frozen=True)
class Hinge:
    """Axis frames (z along the axis) in world and body, beside the poses that they explain."""

    world2body: Array
    """(n, 4, 4), the poses' inverses."""
    axis2world: Array
    axis2body: Array

    @cached_property
    def world_in_body(self) -> Array:
        """Axis frame of the world as seen from the one of the body, (n, 4, 4): ``Rz(-angle) ·
        Tz(-slide)``."""
        return np.asarray(se3.inverse(self.axis2body) @ self.world2body @ self.axis2world)

    def angles(self) -> Array:
        """Joint angle of each pose in radians, within ±π."""
        e = self.world_in_body
        return np.asarray(-np.arctan2(e[:, 1, 0] - e[:, 0, 1], e[:, 0, 0] + e[:, 1, 1]))

    @property
    def groups(self) -> tuple[slice, ...]:
        """Tilt and shift: the grip plays alike in both directions across the axis."""
        return slice(0, 2), slice(2, 4)

    def near(self, point: Array) -> Self:
        """The same axis with the origins of its frames where it passes a point (3,) of the body."""
        along = np.eye(4)
        along[2, 3] = (point - self.axis2body[:3, 3]) @ self.axis2body[:3, 2]
        return type(self)(self.world2body, self.axis2world @ along, self.axis2body @ along)

    def residuals(self) -> Array:
        """(n, 4): tilt x, y (rad) and shift x, y (m) of the axis in its body frame."""
        e = self.world_in_body
        return np.concatenate([e[:, :2, 2], e[:, :2, 3]], axis=1)

    def jacobian(self) -> Array:
        """(n, 4, 8): by tilt x, y and shift x, y of the world's axis frame, then of the body's."""
        e = self.world_in_body
        j = np.zeros((len(e), 4, 8))
        j[:, :2, 0], j[:, :2, 1] = -e[:, :2, 1], e[:, :2, 0]
        j[:, 2:, 2:4] = e[:, :2, :2]
        j[:, 1, 4], j[:, 0, 5] = e[:, 2, 2], -e[:, 2, 2]
        j[:, 3, 4], j[:, 2, 5] = e[:, 2, 3], -e[:, 2, 3]
        j[:, 2, 6] = j[:, 3, 7] = -1.0
        return j

    def moved(self, step: Array) -> Self:
        """Tilt and shift both axis frames in their own coordinates."""
        return type(self)(self.world2body, move_axis(self.axis2world, step[:4]), move_axis(self.axis2body, step[4:]))


def move_axis(axis_frame: Array, step: Array) -> Array:
    """Tilt (x, y; rad) and shift (x, y; m) an axis frame in its own coordinates."""
    return np.asarray(axis_frame @ se3.exp(np.array([step[2], step[3], 0.0, step[0], step[1], 0.0])))


def fit_hinge(poses: Array, rng: np.random.Generator) -> Estimate[Hinge] | None:
    """Find the axis of one movement; None where no two poses differ by a usable turn."""
    start = _hypothesis(poses, rng)
    return None if start is None else refine(start)


def turned(estimate: Estimate[Hinge]) -> float:
    """Arc in radians that the good samples cover, up to 2π; a few lone ones count for nothing."""
    angles = np.sort(estimate.model.angles()[estimate.inliers])
    lone = len(angles) // _LONE + 1
    gaps = np.roll(angles, -lone) - angles
    gaps[-lone:] += 2.0 * np.pi
    return float(2.0 * np.pi - gaps.max())


def _hypothesis(poses: Array, rng: np.random.Generator) -> Hinge | None:
    """Best of many axes, each the screw axis between two poses, by the median residual over the take."""
    n = len(poses)
    first, second = rng.integers(n, size=8 * _TRIALS), rng.integers(n, size=8 * _TRIALS)
    relative = poses[second] @ se3.inverse(poses[first])
    rotation = se3.rotation_log(relative[:, :3, :3])
    angle = np.linalg.norm(rotation, axis=1)
    good = np.flatnonzero((angle > _MIN_PAIR_ANGLE) & (angle < np.pi - 0.05))
    if good.size == 0:
        return None
    # Large angles give precise axes; half of the trials go there, the other half stays random against
    # outliers.
    large = good[np.argsort(-np.sin(angle[good] / 2.0), kind="stable")[: max(len(good) // 3, 1)]]
    chosen = np.concatenate([large[: _TRIALS // 2], good[: _TRIALS // 2]])
    direction = rotation[chosen] / angle[chosen, None]
    translation = relative[chosen, :3, 3]
    across = translation - np.sum(translation * direction, axis=1, keepdims=True) * direction
    point = 0.5 * (across + np.cross(direction, across) / np.tan(angle[chosen, None] / 2.0))
    middle = np.median(poses[:, :3, 3], axis=0)
    point = point + np.sum((middle - point) * direction, axis=1, keepdims=True) * direction

    best = int(np.argmin(_median_costs(direction, point, poses[first[chosen]], poses)))
    axis2world = se3.frame(se3.complete_axis(direction[best]), point[best])
    world2body = se3.inverse(poses)
    return Hinge(world2body, axis2world, np.asarray(world2body[first[chosen][best]] @ axis2world))


def _median_costs(directions: Array, points: Array, own: Array, poses: Array) -> Array:
    """Median square (trials,) of tilt and shift over the take, for axes (trials, 3) fixed to the body in poses ``own``.

    Both are compared in the body, where they should stand still; along the axis anything may move.
    """
    scored = poses[np.linspace(0, len(poses) - 1, min(len(poses), _SCORED)).astype(int)]
    axis = np.einsum("tji,tj->ti", own[:, :3, :3], directions)
    place = np.einsum("tji,tj->ti", own[:, :3, :3], points - own[:, :3, 3])
    tilt = np.einsum("nji,tj->tni", scored[:, :3, :3], directions)
    shift = np.einsum("nji,tnj->tni", scored[:, :3, :3], points[:, None] - scored[:, :3, 3]) - place[:, None]
    across = [v - np.einsum("tni,ti->tn", v, axis)[..., None] * axis[:, None] for v in (tilt, shift)]
    return np.asarray(np.median(np.sum((_LEVER * across[0]) ** 2 + across[1] ** 2, axis=-1), axis=1))
