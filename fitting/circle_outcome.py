"""What a fitted circle says, and how well: where its samples are, its axis and its uncertainty, in one call."""

import math

import numpy as np

from fitting.compiled import compiled, summed
from fitting.dense import cross_into, direction, inverted, sandwiched
from fitting.kernels import extent, largest
from fitting.ransac import ROUNDING
from fitting.result import Mask
from fitting.se3 import Array
from fitting.spectrum import BLOCKS
from fitting.spectrum_kernels import in_blocks, spread_by


@compiled
def circle_outcome(
    parameters: Array,
    points: Array,
    used: Mask,
    noise: float,
    pooled: Array,
    cosines: Array,
    spectra: Array,
    members: Array,
    tremors: Array,
) -> tuple[int, float, float, float, float, float, float, Array, Array, Array, Array]:
    """What the used points (3, n) on a circle (10,) say about it.

    noise: standard deviation (m), or zero where it is not known; pooled … tremors: as in ``spread_by``. Gives how many
    are used, how far they extend (m), the noise (m), the least that there can be, the rms (m) of a residual,
    the standard deviation of the curvature (1/m), the variance of the parameters over that from white noise; centre
    (3,), frame (3, 3) with the rows basis[0], basis[1], axis, covariance (4, 4) of tilt and shift, and angles (n,).
    """
    floor = ROUNDING * max(largest(points), 1e-3)
    sums, information, shown, square, count = _scores(parameters, points, used, floor)
    sigma = noise if noise > 0.0 else shown
    inverse = inverted(information[0] + information[1], 1e-12)
    both = in_blocks(used, len(sums), 2)
    spreads, _, _ = spread_by(
        sums, information, both, points.shape[1], inverse, pooled, cosines, spectra, members, tremors
    )
    spreading = spreads[0] + spreads[1]
    slowness = 0.0
    for i in range(6):
        for j in range(6):
            slowness += inverse[i, j] * spreading[i, j] / 6.0
    covariance = sigma * sigma * sandwiched(inverse, spreading)
    angles, sign = _angles(parameters, points, used)
    center, frame, moved = _axis(parameters, covariance, sign)
    rms, bend = math.sqrt(square / max(2 * count, 1)), math.sqrt(max(covariance[5, 5], 0.0))
    return count, extent(points, used), sigma, floor, rms, bend, slowness, center, frame, moved, angles


@summed
def _turned_to(parameters: Array, points: Array) -> Array:
    """Angles (n,), −π to π, of points (3, n) from the circle's own point."""
    n = points.shape[1]
    out = np.empty(n)
    x0, y0, z0 = parameters[0], parameters[1], parameters[2]
    tx, ty, tz = parameters[3], parameters[4], parameters[5]
    mx, my, mz = parameters[6], parameters[7], parameters[8]
    k = parameters[9]
    for i in range(n):
        u, v, w = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
        out[i] = direction(k * (u * tx + v * ty + w * tz), 1.0 - k * (u * mx + v * my + w * mz))
    return out


@compiled
def _angles(parameters: Array, points: Array, used: Mask) -> tuple[Array, float]:
    """Angles (n,) of points (3, n) that increase along the used samples, and the sign that makes them so.

    Continuous along the used samples, zero at the first of these; each other sample goes to the turn next to its last
    used one.
    """
    out = _turned_to(parameters, points)
    last = first = way = total = rank = 0.0
    count = 0
    for i in range(len(out)):
        if count > 0 and abs(last - out[i]) > math.pi:
            out[i] += 2.0 * math.pi * math.floor((last - out[i]) / (2.0 * math.pi) + 0.5)
        if used[i]:
            last = out[i]
            first = last if count == 0 else first
            way += count * (last - first)
            total += last - first
            rank += count
            count += 1
    sign = -1.0 if way * count < total * rank else 1.0
    for i in range(len(out)):
        out[i] = sign * (out[i] - first)
    return out, sign


@summed
def _scores(parameters: Array, points: Array, used: Mask, floor: float) -> tuple[Array, Array, float, float, int]:
    """Residuals of points (3, n) and their derivatives at points on the circle, in blocks of time.

    Gives the sums (blocks, 2, 8) over used samples of derivatives of radial and axial residuals, of the residuals in
    units of their noise and of their squares; the sums of products (2, 6, 6) of derivatives; the noise (m), at
    least ``floor``; the sum of squares (m²); how many samples are used. Local parameters as in
    ``circle_kernels._normal_equations``.
    """
    n = points.shape[1]
    blocks = min(BLOCKS, n)
    sums, information = np.zeros((blocks, 2, 8)), np.zeros((2, 6, 6))
    x0, y0, z0 = parameters[0], parameters[1], parameters[2]
    tx, ty, tz = parameters[3], parameters[4], parameters[5]
    mx, my, mz = parameters[6], parameters[7], parameters[8]
    ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
    k = parameters[9]
    number = cc = cx = cy = xx = xy = yy = gx = gy = 0.0
    radial, axial = sums[:, 0], sums[:, 1]
    for block in range(blocks):
        count = c = sx = sy = d = dd = z = zz = 0.0
        for i in range(-((-block * n) // blocks), -((-(block + 1) * n) // blocks)):
            weight = 1.0 if used[i] else 0.0
            u, v, w = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
            x = u * tx + v * ty + w * tz
            y = u * mx + v * my + w * mz
            away = u * ax + v * ay + w * az
            off = k * (x * x + y * y) - 2.0 * y
            off /= 1.0 + math.sqrt(max(1.0 + k * off, 0.0))
            # Onto the circle: where the points are, not where the noise has put them.
            size = 1.0 / max(math.sqrt((k * x) ** 2 + (1.0 - k * y) ** 2), 1e-12)
            x *= size
            cosine = (1.0 - k * y) * size
            y = k * x * x / (1.0 + cosine) if cosine > 0.0 else (1.0 - cosine) / k
            count += weight
            c += weight * cosine
            sx += weight * x
            sy += weight * y
            d += weight * off
            dd += weight * off * off
            z += weight * away
            zz += weight * away * away
            cc += weight * cosine * cosine
            cx += weight * cosine * x
            cy += weight * cosine * y
            xx += weight * x * x
            xy += weight * x * y
            yy += weight * y * y
        radial[block, 0], radial[block, 4], radial[block, 5] = c, sx, sy / k
        radial[block, 6], radial[block, 7] = d, dd
        axial[block, 1], axial[block, 2], axial[block, 3] = -count, -sy, sx
        axial[block, 6], axial[block, 7] = z, zz
        number += count
        gx += sx
        gy += sy
    square = 0.0
    for block in range(blocks):
        square += radial[block, 7] + axial[block, 7]
    noise = max(math.sqrt(square / max(2.0 * number - 6.0, 1.0)), floor)
    for block in range(blocks):
        for side in range(2):
            sums[block, side, 6] /= noise
            sums[block, side, 7] /= noise * noise
    first, second = information[0], information[1]
    first[0, 0], first[4, 4], first[5, 5] = cc, xx, yy / (k * k)
    first[0, 4] = first[4, 0] = cx
    first[0, 5] = first[5, 0] = cy / k
    first[4, 5] = first[5, 4] = xy / k
    second[1, 1], second[2, 2], second[3, 3] = number, yy, xx
    second[1, 2] = second[2, 1] = gy
    second[1, 3] = second[3, 1] = -gx
    second[2, 3] = second[3, 2] = -xy
    return sums, information, noise, square, int(number)


@compiled
def _axis(parameters: Array, covariance: Array, sign: float) -> tuple[Array, Array, Array]:
    """Centre (3,), frame (3, 3) with the rows basis[0], basis[1], axis, and the covariance (4, 4) of tilt and shift.

    covariance: (6, 6) of the local parameters; sign: of the axis about which the movement turns positively.
    """
    radius = 1.0 / parameters[9]
    center, frame = np.empty(3), np.empty((3, 3))
    cross_into(parameters[3:6], parameters[6:9], frame[2])
    for r in range(3):
        center[r] = parameters[r] + radius * parameters[6 + r]
        frame[0, r], frame[1, r] = parameters[3 + r], sign * parameters[6 + r]
        frame[2, r] *= sign
    # Tilt along t and m, shift of the centre along t and m; flipped with the axis, and with m to stay right-handed.
    jacobian = np.zeros((4, 6))
    jacobian[0, 3], jacobian[1, 2] = sign, -1.0
    jacobian[2, 4] = -radius
    jacobian[3, 0], jacobian[3, 5] = sign, -sign * radius * radius
    return center, frame, sandwiched(jacobian, covariance)
