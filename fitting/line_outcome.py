"""What fitted lines say, and how well: their direction, where samples are on them, their uncertainty.

Points are columns (3, n).
"""

import numpy as np

from fitting.compiled import compiled, summed
from fitting.dense import completed, eigen, sandwiched
from fitting.line_kernels import line_offsets
from fitting.result import Mask
from fitting.se3 import Array
from fitting.spectrum_kernels import in_blocks, spread_by


@compiled
def line_direction(products: Array, mean: Array, points: Array, used: Mask) -> tuple[Array, Array, float]:
    """The lines' direction, with the movement of the used points.

    products: (3, 3) of the offsets of all takes from their own means; mean: (3,) of the used points. Gives the
    eigenvalues (3,), a frame (3, 3) with the direction as its last column, and zero where the points do not move.
    """
    values, vectors = eigen(products)
    frame = completed(vectors[:, 2].copy())
    way = total = rank = 0.0
    count = 0
    for i in range(points.shape[1]):
        along = 0.0
        for r in range(3):
            along += frame[r, 2] * (points[r, i] - mean[r])
        along = along if used[i] else 0.0
        way += count * along
        total += along
        rank += count if used[i] else 0
        count += 1 if used[i] else 0
    way -= rank / max(count, 1) * total
    if way < 0.0:
        for r in range(3):
            frame[r, 1], frame[r, 2] = -frame[r, 1], -frame[r, 2]
    return values, frame, way


@compiled
def line_outcome(
    mean: Array,
    frame: Array,
    points: Array,
    used: Mask,
    noise: float,
    moment: float,
    takes: int,
    pooled: Array,
    cosines: Array,
    spectra: Array,
    members: Array,
    tremors: Array,
) -> tuple[Array, float, float, Array]:
    """Coordinates (n,) of points, the least and largest of the used ones, and the covariance (4, 4) of tilt and shift.

    That is in units of the noise (m), and the share of this one of so many takes; the point is the mean of their own.
    moment: sum of squares of all coordinates, less the noise; pooled … tremors: as in ``spread_by``.
    """
    n = points.shape[1]
    offsets = line_offsets(mean, frame, points)
    sums, information = _scores(offsets, used, noise, cosines.shape[0])
    count = information[0, 2, 2]
    inverse = np.zeros((4, 4))
    inverse[0, 0] = inverse[1, 1] = 1.0 / moment
    inverse[2, 2] = inverse[3, 3] = 1.0 / count
    both = in_blocks(used, len(sums), 2)
    spreads, _, _ = spread_by(sums, information, both, n, inverse, pooled, cosines, spectra, members, tremors)
    inverse[2, 2] = inverse[3, 3] = 1.0 / (count * takes)
    covariance = sandwiched(inverse, spreads[0] + spreads[1])
    coordinates = offsets[2].copy()
    low, high = np.inf, -np.inf
    for i in range(n):
        if used[i]:
            low, high = min(low, coordinates[i]), max(high, coordinates[i])
    return coordinates, low, high, covariance


@summed
def _scores(offsets: Array, used: Mask, noise: float, blocks: int) -> tuple[Array, Array]:
    """Derivatives of the two offsets across a line after tilt and shift, and the offsets, in blocks of time.

    offsets: (3, n) of ``line_offsets``. Gives the sums (blocks, 2, 6), offsets in units of the noise (m) and their
    squares in the last columns, and the sums of products (2, 4, 4) of derivatives by tilt along, and shift along, each
    side.
    """
    n = offsets.shape[1]
    sums, information = np.zeros((blocks, 2, 6)), np.zeros((2, 4, 4))
    count = first = second = 0.0
    for block in range(blocks):
        inside = along = square = x = y = xx = yy = 0.0
        for i in range(-((-block * n) // blocks), -((-(block + 1) * n) // blocks)):
            weight = 1.0 if used[i] else 0.0
            a, b, c = weight * offsets[0, i] / noise, weight * offsets[1, i] / noise, weight * offsets[2, i]
            inside += weight
            along += c
            square += c * c
            x += a
            y += b
            xx += a * a
            yy += b * b
        one, other = sums[block, 0], sums[block, 1]
        one[0], one[2], one[4], one[5] = along, inside, x, xx
        other[1], other[3], other[4], other[5] = along, inside, y, yy
        count += inside
        first += along
        second += square
    for k in range(2):
        information[k, k, k], information[k, k + 2, k + 2] = second, count
        information[k, k, k + 2] = information[k, k + 2, k] = first
    return sums, information
