"""The point of a gripped body that stays on a circle while a rotary joint turns and the hand turns on the grip.

The tip of a gripper is that point: it stays on the handle, and with the handle on a circle about the joint's axis, even
while the gripper turns about it. So a take in which the grip turned tells where the tip is in the body's frame, without
a calibration; one in which it did not leaves the tip open, and there any point of the body serves as well.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting import checks
from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis

_LEAST = 12
_MOST = 150
"""Poses of a take that are looked at, evenly spread over it."""
_REACH_M = 0.3
"""How far the point tends to be from the body's origin: settles what the takes leave open."""
_FIRST, _KEPT, _ROUNDS = 6, 1, 30
"""Rounds from each start, how many of the ends are followed, and rounds with those."""
_SETTLED = 1e-7
_LEAST_SCALE_M = 1e-5
_ANNEALED = 0.7
"""The scale of what counts as far off comes down by this factor per round, to that of the residuals."""
_START_SCALES = 6.0
_USUAL_M = 1e-3
"""What a hand and the cameras leave: the scale at which ends from different starts are compared."""
_TILT, _PLACE, _OFFSET, _OWN = slice(0, 2), slice(2, 4), slice(4, 7), 7


@dataclass(frozen=True)
class _Circles:
    """Circles about one axis, one for each take, and the point of the body that is on them."""

    axis: Array
    center: Array
    heights: Array
    """(takes,) metres along the axis from ``center``."""
    radii: Array
    offset: Array


@dataclass(frozen=True)
class _Poses:
    rotations: Array
    places: Array
    take: NDArray[np.intp]
    """(n,) number of the take that each belongs to."""


def circling_point(poses: Any) -> Array | FitFailure:
    """Return the point (3,), metres, in the body's frame, that stays nearest to circles about one axis.

    poses: (n, 4, 4) body to world, in time order, or a list of takes of one joint, each gripped where it was. Robust
    against stretches in which the body left its path.
    """
    checked = checks.as_pose_takes(poses)
    if isinstance(checked, FitFailure):
        return checked
    thinned = [take[:: max(1, len(take) // _MOST)] for take in checked if len(take) >= _LEAST]
    if not thinned:
        return checks.too_few(max(map(len, checked)), _LEAST, "a circling point")
    every = np.concatenate(thinned)
    number = np.repeat(np.arange(len(thinned)), [len(take) for take in thinned])
    seen = _Poses(every[:, :3, :3], every[:, :3, 3], number)
    starts = [_plain_circles(seen, offset) for offset in _offsets()]
    tried = [_settled(seen, start, _FIRST) for start in starts if start is not None]
    if not tried:
        return FitFailure("The poses show no circle. Turn the joint further.")
    best = sorted(tried, key=lambda circles: _cost(seen, circles))[:_KEPT]
    return min((_settled(seen, start, _ROUNDS) for start in best), key=lambda circles: _cost(seen, circles)).offset


def _offsets() -> list[Array]:
    """Where to begin: at the body's origin, and well off it to each side."""
    return [np.zeros(3), *(sign * 0.5 * _REACH_M * np.eye(3)[k] for k in range(3) for sign in (1.0, -1.0))]


def _plain_circles(seen: _Poses, offset: Array) -> _Circles | None:
    """Least squares, to begin with: plane by principal components, circle algebraically."""
    points = seen.places + seen.rotations @ offset
    first = points[seen.take == 0]
    middle = first.mean(axis=0)
    size, rows = np.linalg.svd(first - middle, full_matrices=False)[1:]
    if size[1] < 1e-6 * max(size[0], 1e-12):
        return None
    flat = (first - middle) @ rows[:2].T
    design = np.column_stack([flat, np.ones(len(flat))])
    x, y, _ = np.linalg.lstsq(design, (flat**2).sum(axis=1), rcond=None)[0]
    center = middle + 0.5 * (x * rows[0] + y * rows[1])
    heights = (points - center) @ rows[2]
    radii = np.linalg.norm(points - center - heights[:, None] * rows[2], axis=1)
    takes = range(int(seen.take[-1]) + 1)
    height, radius = (np.array([np.median(far[seen.take == k]) for k in takes]) for far in (heights, radii))
    return _Circles(rows[2], center, height, radius, offset)


def _settled(seen: _Poses, circles: _Circles, rounds: int) -> _Circles:
    """Minimise a redescending cost of the distances, its scale brought down to that of the residuals."""
    scale, damping = np.inf, 1e-3
    for _ in range(rounds):
        residuals, jacobian, basis = _linearised(seen, circles)
        own = max(1.4826 * float(np.median(np.abs(residuals))), _LEAST_SCALE_M)
        scale = max(min(_START_SCALES * own, _ANNEALED * scale), own)
        weights = np.repeat((1.0 + (residuals**2).sum(axis=1) / (3.0 * scale) ** 2) ** -2, 2)
        A = jacobian.reshape(len(weights), -1)
        H = A.T @ (A * weights[:, None])
        g = A.T @ (weights * residuals.ravel())
        open_by = (scale / _REACH_M) ** 2
        H[_OFFSET, _OFFSET] += open_by * np.eye(3)
        g[_OFFSET] += open_by * circles.offset
        step = -np.linalg.solve(H + np.diag(damping * np.diag(H) + 1e-12), g)
        circles = _moved(circles, step, basis)
        damping = max(0.3 * damping, 1e-9)
        if scale == own and float(np.abs(step).max()) < _SETTLED:
            break
    return circles


def _cost(seen: _Poses, circles: _Circles) -> float:
    far = (_linearised(seen, circles)[0] ** 2).sum(axis=1)
    return float((far / (far + _USUAL_M**2)).sum())


def _linearised(seen: _Poses, circles: _Circles) -> tuple[Array, Array, Array]:
    """Residuals (n, 2) along axis and radius, in metres, their derivatives (n, 2, m), and the basis of the tilt."""
    basis = complete_axis(circles.axis)
    across, d = basis[:, :2], basis[:, 2]
    arms = seen.places + seen.rotations @ circles.offset - circles.center
    heights = arms @ d
    flat = arms - heights[:, None] * d
    radii = np.maximum(np.linalg.norm(flat, axis=1), 1e-9)
    outward = flat / radii[:, None]
    rows = np.arange(len(arms))
    J = np.zeros((len(arms), 2, _OWN + 2 * len(circles.radii)))
    J[:, 0, _TILT] = arms @ across
    J[:, 1, _TILT] = -heights[:, None] * (outward @ across)
    J[:, 1, _PLACE] = -outward @ across
    J[:, 0, _OFFSET] = np.einsum("nji,j->ni", seen.rotations, d)
    J[:, 1, _OFFSET] = np.einsum("nji,nj->ni", seen.rotations, outward)
    J[rows, 0, _OWN + 2 * seen.take] = -1.0
    J[rows, 1, _OWN + 2 * seen.take + 1] = -1.0
    residuals = np.stack([heights - circles.heights[seen.take], radii - circles.radii[seen.take]], axis=1)
    return residuals, J, basis


def _moved(circles: _Circles, step: Array, basis: Array) -> _Circles:
    axis = circles.axis + basis[:, :2] @ step[_TILT]
    own = step[_OWN:].reshape(-1, 2)
    return _Circles(
        axis / np.linalg.norm(axis),
        circles.center + basis[:, :2] @ step[_PLACE],
        circles.heights + own[:, 0],
        np.maximum(circles.radii + own[:, 1], 1e-6),
        circles.offset + step[_OFFSET],
    )
