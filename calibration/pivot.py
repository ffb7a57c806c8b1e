"""A tip that rests in a dimple while the body is moved around it: one point that stands still in both
frames."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibration.estimate import Estimate, refine

Array = NDArray[np.float64]

_TRIALS = 150
_SCORED = 160


@dataclass(frozen=True)
class Pivot:
    """The resting point in world and body (3,), metres, beside the poses (n, 4, 4) that it explains."""

    poses: Array
    world: Array
    body: Array

    @property
    def groups(self) -> tuple[slice, ...]:
        """The three directions in which the tip may shift."""
        return (slice(0, 3),)

    def residuals(self) -> Array:
        """(n, 3): how far the resting point is from the tip, in the body frame."""
        lever = np.einsum("nji,nj->ni", self.poses[:, :3, :3], self.world - self.poses[:, :3, 3])
        return np.asarray(lever - self.body)

    def jacobian(self) -> Array:
        """(n, 3, 6): by the point in the world, then in the body."""
        j = np.zeros((len(self.poses), 3, 6))
        j[:, :, :3] = np.swapaxes(self.poses[:, :3, :3], 1, 2)
        j[:, :, 3:] = -np.eye(3)
        return j

    def moved(self, step: Array) -> Self:
        """Move both points."""
        return type(self)(self.poses, self.world + step[:3], self.body + step[3:])


def fit_pivot_point(poses: Array, rng: np.random.Generator) -> Estimate[Pivot]:
    """Find the resting point; the caller has made sure that the poses turn in all directions."""
    return refine(_hypothesis(poses, rng))


def turning(poses: Array) -> tuple[float, Array]:
    """How much the body turned about the direction that it turned least across.

    Returns
    -------
    spread
        Root mean square distance that a unit vector along ``direction`` moves from its mean; 0 when every
        turn was about ``direction`` itself, so that the tip's place along it cannot be known.
    direction
        (3,) in the body frame.
    """
    rotations = poses[:, :3, :3]
    deviation = rotations - rotations.mean(axis=0)
    values, vectors = np.linalg.eigh(np.einsum("nji,njk->ik", deviation, deviation) / len(poses))
    return float(np.sqrt(max(values[0], 0.0))), vectors[:, 0]


def _hypothesis(poses: Array, rng: np.random.Generator) -> Pivot:
    """Best of many points, each from four poses, by the median residual over the take."""
    n = len(poses)
    middle = np.median(poses[:, :3, 3], axis=0)
    chosen = rng.integers(n, size=(_TRIALS, 4))
    design = np.zeros((_TRIALS, 4, 3, 6))
    design[..., :3] = np.eye(3)
    design[..., 3:] = -poses[chosen][..., :3, :3]
    rows = design.reshape(_TRIALS, 12, 6)
    values = (poses[chosen][..., :3, 3] - middle).reshape(_TRIALS, 12)
    normal = np.einsum("trp,trq->tpq", rows, rows) + 1e-9 * np.eye(6)
    points = np.linalg.solve(normal, np.einsum("trp,tr->tp", rows, values)[..., None])[..., 0]
    scored = poses[np.linspace(0, n - 1, min(n, _SCORED)).astype(int)]
    ends = np.einsum("nij,tj->tni", scored[:, :3, :3], points[:, 3:]) + scored[:, :3, 3] - middle
    distance = np.linalg.norm(ends - points[:, None, :3], axis=2)
    best = int(np.argmin(np.median(distance, axis=1)))
    return Pivot(poses, points[best, :3] + middle, points[best, 3:])
