"""Inner loops of the question which poses agree with a movement."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.order import median, select
from fitting.result import Mask
from fitting.se3 import Array

_TURNS = 4
_STEADY = 0.01
"""Relative change of the noise below which it has settled."""
_FEWEST, _SHARE = 5, 0.4
"""Where fewer agree, this share of the samples that do best."""


@compiled
def shared_freedoms(
    latents: int, turns: bool, square: float, position: float, orientation: float
) -> tuple[float, float]:
    """Residual components of a sample that are left for the position and for the orientation.

    What θ explains is shared between the two by how much each knows about it. square: of what a position moves (m)
    for a radian.
    """
    if not turns:
        return 3.0 - latents, 3.0
    from_orientation = 1.0 / (1.0 + square * orientation**2 / position**2)
    return 3.0 - latents + from_orientation, 3.0 - from_orientation


@compiled
def noise_of_agreeing(
    residuals: Array,
    noise: tuple[float, float],
    given: tuple[float, float],
    floor: tuple[float, float],
    limit: float,
    movement: tuple[int, bool, float],
    inliers: Mask,
) -> tuple[float, float]:
    """Noise of positions (m) and orientations (rad) from the medians of those who agree at it; they are filled in.

    residuals: (n, 6); given: noise that is known, zero where it is not; limit: largest square of who agrees, in
    variances; movement: the first arguments of ``shared_freedoms``.
    """
    n = len(residuals)
    p_squares, o_squares, squares, spare = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        e = residuals[i]
        p_squares[i] = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
        o_squares[i] = e[3] * e[3] + e[4] * e[4] + e[5] * e[5]
    position, orientation = noise
    for _ in range(_TURNS):
        count = 0
        for i in range(n):
            squares[i] = p_squares[i] / position**2 + o_squares[i] / orientation**2
            count += squares[i] <= limit
        within = limit
        if count < _FEWEST:
            spare[:] = squares
            within = select(spare, int(_SHARE * n))
        for i in range(n):
            inliers[i] = squares[i] <= within
        p_free, o_free = shared_freedoms(movement[0], movement[1], movement[2], position, orientation)
        last_position, last_orientation = position, orientation
        position = _scale(p_squares, inliers, spare, p_free, given[0], floor[0])
        orientation = _scale(o_squares, inliers, spare, o_free, given[1], floor[1])
        if (
            abs(position - last_position) < _STEADY * last_position
            and abs(orientation - last_orientation) < _STEADY * last_orientation
        ):
            break
    return position, orientation


@compiled
def _scale(squares: Array, inliers: Mask, spare: Array, freedom: float, given: float, floor: float) -> float:
    """Noise that is given, or for which the inliers' squares have the median that they have."""
    if given > 0.0:
        return given
    count = 0
    for i in range(len(squares)):
        spare[count] = squares[i]
        count += inliers[i]
    # Median of χ² with a broken number of components (Wilson and Hilferty).
    expected = freedom * (1.0 - 2.0 / (9.0 * freedom)) ** 3
    return max(math.sqrt(median(spare[:count]) / expected), floor)


@compiled
def hypothesis_scores(
    axes: Array,
    centers: Array,
    chosen: NDArray[np.int64],
    R: Array,
    p: Array,
    subset: NDArray[np.int64],
    slides: bool,
) -> tuple[Array, Array]:
    """Squared residuals of samples that no angle or slide can explain, for each hypothesis: position and orientation.

    axes, centers: (m, 3); chosen: (m,) the sample that each hypothesis starts from; subset: (k,) samples to score.
    Gives (m, k) in m² (radial, and axial unless it slides) and rad² (swing out of the axis).
    """
    m, count = axes.shape[0], subset.shape[0]
    positions, swings = np.empty((m, count)), np.empty((m, count))
    b, arm = np.empty(3), np.empty(3)
    for j in range(m):
        a, c, start = axes[j], centers[j], chosen[j]
        for s in range(3):
            arm[s] = p[start, s] - c[s]
        height = arm[0] * a[0] + arm[1] * a[1] + arm[2] * a[2]
        radius = math.sqrt(max(arm[0] ** 2 + arm[1] ** 2 + arm[2] ** 2 - height * height, 0.0))
        # The axis as the body at the start sees it; afterwards it should look the same to the body.
        for s in range(3):
            b[s] = R[start, 0, s] * a[0] + R[start, 1, s] * a[1] + R[start, 2, s] * a[2]
        for i in range(count):
            k = subset[i]
            x, y, z = p[k, 0] - c[0], p[k, 1] - c[1], p[k, 2] - c[2]
            h = x * a[0] + y * a[1] + z * a[2]
            r = math.sqrt(max(x * x + y * y + z * z - h * h, 0.0)) - radius
            positions[j, i] = r * r if slides else r * r + (h - height) ** 2
            swing = 0.0
            for s in range(3):
                d = R[k, s, 0] * b[0] + R[k, s, 1] * b[1] + R[k, s, 2] * b[2] - a[s]
                swing += d * d
            swings[j, i] = swing
    return positions, swings
