"""Inner loops of the question which poses agree with a movement."""

import math

import numpy as np

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
