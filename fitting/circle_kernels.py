"""Inner loops of the search for a circle; its parameters (10,) are explained in ``fitting.circle``.

Points are columns (3, n).
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled, summed
from fitting.dense import cross_into, eigen, factor, solved, turned
from fitting.following import following
from fitting.kernels import compacted, extent
from fitting.result import Mask
from fitting.se3 import Array

_BRIEF = 2
_FLAT = 4.0
"""Height of an arc over its chord, in standard deviations of noise, below which triples say little about its plane."""
_NEGLIGIBLE = 1e-6
"""Expected share of the cost that a last step takes off, below which it is taken without looking back."""


@summed
def circle_distances(parameters: Array, points: Array) -> Array:
    """Squared distances (m, n) of points (3, n) from circles (m, 10)."""
    m, n = parameters.shape[0], points.shape[1]
    out = np.empty((m, n))
    for j in range(m):
        x0, y0, z0 = parameters[j, 0], parameters[j, 1], parameters[j, 2]
        tx, ty, tz = parameters[j, 3], parameters[j, 4], parameters[j, 5]
        mx, my, mz = parameters[j, 6], parameters[j, 7], parameters[j, 8]
        ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
        k = parameters[j, 9]
        for i in range(n):
            u, v, w = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
            x = u * tx + v * ty + w * tz
            y = u * mx + v * my + w * mz
            z = u * ax + v * ay + w * az
            d = k * (x * x + y * y) - 2.0 * y
            d /= 1.0 + math.sqrt(max(1.0 + k * d, 0.0))
            out[j, i] = d * d + z * z
    return out


@summed
def _normal_equations(parameters: Array, points: Array, matrix: Array, gradient: Array) -> float:
    """Cost of a circle (10,) for points (3, n); its Gauss–Newton matrix (6, 6) and gradient (6,) are filled in.

    Local parameters: shift along the inward normal and along the axis, turn about tangent, normal and axis,
    curvature.
    """
    x0, y0, z0 = parameters[0], parameters[1], parameters[2]
    tx, ty, tz = parameters[3], parameters[4], parameters[5]
    mx, my, mz = parameters[6], parameters[7], parameters[8]
    ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
    k = parameters[9]
    cost = 0.0
    a0 = a1 = a2 = a3 = a4 = a5 = 0.0
    h0 = h1 = h2 = h3 = h4 = h6 = h7 = h8 = h9 = 0.0
    h10 = h11 = h12 = h13 = h14 = h15 = h16 = h17 = 0.0
    for i in range(points.shape[1]):
        u, v, w = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
        x = u * tx + v * ty + w * tz
        y = u * mx + v * my + w * mz
        z = u * ax + v * ay + w * az
        square = x * x + y * y
        d = k * square - 2.0 * y
        s = math.sqrt(max(1.0 + k * d, 1e-18))
        both = 1.0 / (s * (1.0 + s))
        d *= s * both
        # Unit radial direction, and its change with the curvature in a form that stays exact for a straight line.
        inverse = (1.0 + s) * both
        rx, ry = k * x * inverse, (k * y - 1.0) * inverse
        # Radial residual d: shift along the normal, turns, curvature. Axial residual z: shift along the axis, turns.
        j0, j2, j3, j4 = -ry, ry * z, -rx * z, rx * y - ry * x
        j5 = (square + y * d) * both
        cost += d * d + z * z
        a0 += d * j0
        a1 -= z
        a2 += d * j2 - z * y
        a3 += d * j3 + z * x
        a4 += d * j4
        a5 += d * j5
        h0 += j0 * j0
        h1 += j0 * j2
        h2 += j0 * j3
        h3 += j0 * j4
        h4 += j0 * j5
        h6 += y
        h7 -= x
        h8 += j2 * j2 + y * y
        h9 += j2 * j3 - x * y
        h10 += j2 * j4
        h11 += j2 * j5
        h12 += j3 * j3 + x * x
        h13 += j3 * j4
        h14 += j3 * j5
        h15 += j4 * j4
        h16 += j4 * j5
        h17 += j5 * j5
    gradient[0], gradient[1], gradient[2], gradient[3], gradient[4], gradient[5] = a0, a1, a2, a3, a4, a5
    matrix[0, 0], matrix[0, 1], matrix[0, 2], matrix[0, 3], matrix[0, 4], matrix[0, 5] = h0, 0.0, h1, h2, h3, h4
    matrix[1, 1], matrix[1, 2], matrix[1, 3], matrix[1, 4], matrix[1, 5] = points.shape[1], h6, h7, 0.0, 0.0
    matrix[2, 2], matrix[2, 3], matrix[2, 4], matrix[2, 5] = h8, h9, h10, h11
    matrix[3, 3], matrix[3, 4], matrix[3, 5] = h12, h13, h14
    matrix[4, 4], matrix[4, 5], matrix[5, 5] = h15, h16, h17
    for row in range(1, 6):
        for column in range(row):
            matrix[row, column] = matrix[column, row]
    return cost


@compiled
def _moved(parameters: Array, step: Array) -> Array:
    """Apply a local step (6,) to a circle (10,); the curvature stays positive, the frame orthonormal."""
    t, m = parameters[3:6], parameters[6:9]
    ax, ay, az = t[1] * m[2] - t[2] * m[1], t[2] * m[0] - t[0] * m[2], t[0] * m[1] - t[1] * m[0]
    w0 = step[2] * t[0] + step[3] * m[0] + step[4] * ax
    w1 = step[2] * t[1] + step[3] * m[1] + step[4] * ay
    w2 = step[2] * t[2] + step[3] * m[2] + step[4] * az
    out = np.empty(10)
    out[0] = parameters[0] + step[0] * m[0] + step[1] * ax
    out[1] = parameters[1] + step[0] * m[1] + step[1] * ay
    out[2] = parameters[2] + step[0] * m[2] + step[1] * az
    tangent, normal = out[3:6], out[6:9]
    turned(w0, w1, w2, t, tangent)
    turned(w0, w1, w2, m, normal)
    size = math.sqrt(tangent[0] ** 2 + tangent[1] ** 2 + tangent[2] ** 2)
    dot = 0.0
    for r in range(3):
        tangent[r] /= size
        dot += tangent[r] * normal[r]
    size = 0.0
    for r in range(3):
        normal[r] -= dot * tangent[r]
        size += normal[r] * normal[r]
    sign = -1.0 if parameters[9] + step[5] < 0.0 else 1.0
    for r in range(3):
        normal[r] *= sign / math.sqrt(size)
    out[9] = sign * (parameters[9] + step[5])
    return out


@compiled
def _mean(points: Array, out: Array) -> None:
    for r in range(3):
        total = 0.0
        for i in range(points.shape[1]):
            total += points[r, i]
        out[r] = total / points.shape[1]


@compiled
def _centred(parameters: Array, points: Array) -> Array:
    """The same circle with its point moved next to the mean of the data: far from it the parameters entangle."""
    out = parameters.copy()
    if points.shape[1] == 0:
        return out
    t, m, k = parameters[3:6], parameters[6:9], parameters[9]
    mean = np.empty(3)
    _mean(points, mean)
    x = y = 0.0
    for r in range(3):
        x += (mean[r] - parameters[r]) * t[r]
        y += (mean[r] - parameters[r]) * m[r]
    size = math.hypot(k * x, 1.0 - k * y)
    if size < 1e-6:
        return out
    sine, cosine = k * x / size, (1.0 - k * y) / size
    # Chord in the tangent's frame, written so that it stays exact for a straight line.
    along = x / size
    inward = k * along * along / (1.0 + cosine) if cosine > -0.999 else 2.0 / k
    for r in range(3):
        out[r] = parameters[r] + along * t[r] + inward * m[r]
        out[3 + r] = cosine * t[r] + sine * m[r]
        out[6 + r] = cosine * m[r] - sine * t[r]
    return out


@compiled
def _optimised(start: Array, points: Array, steps: int) -> tuple[Array, float]:
    """Levenberg–Marquardt on the orthogonal distances of points (3, n) from a circle (10,); and about its cost."""
    current = _centred(start, points)
    matrix, gradient = np.empty((6, 6)), np.empty(6)
    trial_matrix, trial_gradient = np.empty((6, 6)), np.empty(6)
    cost = _normal_equations(current, points, matrix, gradient)
    damping = 0.0
    step = np.empty(6)
    for _ in range(steps):
        lower, scale = factor(matrix, damping)
        gain = 0.0
        solved(lower, scale, gradient, step)
        for k in range(6):
            gain += step[k] * gradient[k]
            step[k] = -step[k]
        trial = _moved(current, step)
        if damping < 1e-6 and gain < _NEGLIGIBLE * cost:
            return trial, cost - gain
        trial_cost = _normal_equations(trial, points, trial_matrix, trial_gradient)
        if trial_cost < cost:
            current, cost = trial, trial_cost
            matrix, trial_matrix = trial_matrix, matrix
            gradient, trial_gradient = trial_gradient, gradient
            damping *= 0.1
        elif damping > 1e4 or trial_cost <= cost * (1.0 + 1e-12):
            break
        else:
            damping = max(10.0 * damping, 1e-3)
    return current, cost


@compiled
def circle_refined(parameters: Array, points: Array, used: Mask, steps: int) -> Array:
    """The circle (10,) next to ``parameters`` with the least squared distances of the used points (3, n).

    On short arcs triples say little about the plane: with more than a few steps a second start is tried there, from the
    parabola through all used points. The bend across the chord is linear in its two components, so that its
    direction is found without a guess.
    """
    near = compacted(points, used)
    first, cost = _optimised(parameters, near, steps)
    count = near.shape[1]
    height = 0.125 * first[9] * extent(points, used) ** 2
    if steps <= _BRIEF or count < 7 or height**2 * (2 * count - 6) >= _FLAT**2 * cost:
        return first
    second, other = _optimised(_parabola(near), near, steps)
    return second if other < cost else first


@compiled
def _parabola(points: Array) -> Array:  # noqa: C901
    n = points.shape[1]
    mean = np.empty(3)
    _mean(points, mean)
    scatter = np.zeros((3, 3))
    for i in range(n):
        for r in range(3):
            for c in range(r + 1):
                scatter[r, c] += (points[r, i] - mean[r]) * (points[c, i] - mean[c])
    for r in range(3):
        for c in range(r):
            scatter[c, r] = scatter[r, c]
    _, vectors = eigen(scatter)
    length = math.sqrt(max(scatter[0, 0] + scatter[1, 1] + scatter[2, 2], 1e-24) / n)
    chord = vectors[:, 2].copy()
    # Level, slope and bend across the chord against its coordinate.
    normal, right = np.zeros((3, 3)), np.zeros((3, 3))
    row, across = np.empty(3), np.empty(3)
    for i in range(n):
        x = 0.0
        for r in range(3):
            x += (points[r, i] - mean[r]) * chord[r]
        row[0], row[1], row[2] = 1.0, x / length, 0.5 * (x / length) ** 2
        for r in range(3):
            across[r] = points[r, i] - mean[r] - x * chord[r]
        for a in range(3):
            for b in range(3):
                normal[a, b] += row[a] * row[b]
                right[b, a] += row[a] * across[b]
    lower, scale = factor(normal, 0.0)
    level, tangent, bend, solution = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for r in range(3):
        solved(lower, scale, right[r], solution)
        level[r], tangent[r], bend[r] = solution[0], chord[r] + solution[1] / length, solution[2] / length**2
    out = np.empty(10)
    size = math.sqrt(tangent[0] ** 2 + tangent[1] ** 2 + tangent[2] ** 2)
    dot = 0.0
    for r in range(3):
        out[r], out[3 + r] = mean[r] + level[r], tangent[r] / size
        dot += bend[r] * out[3 + r]
    size = 0.0
    for r in range(3):
        out[6 + r] = bend[r] - dot * out[3 + r]
        size += out[6 + r] ** 2
    out[9] = math.sqrt(bend[0] ** 2 + bend[1] ** 2 + bend[2] ** 2)
    if size > 0.0:
        for r in range(3):
            out[6 + r] /= math.sqrt(size)
    else:
        for r in range(3):
            out[6 + r] = vectors[r, 1]
    return out


@compiled
def circles_through(points: Array, chosen: NDArray[np.int64]) -> Array:
    """Circles (m, 10) through the points (3, n) of triples (m, 3); collinear triples give straight lines."""
    out = np.empty((chosen.shape[0], 10))
    u, v, w, c = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(chosen.shape[0]):
        a, b, d = chosen[j, 0], chosen[j, 1], chosen[j, 2]
        uu = vv = 0.0
        for r in range(3):
            u[r], v[r] = points[r, a] - points[r, b], points[r, d] - points[r, b]
            uu += u[r] * u[r]
            vv += v[r] * v[r]
        cross_into(u, v, w)
        ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        # The centre seen from the middle point is (|u|²·v×w + |v|²·w×u)/2|w|².
        for r in range(3):
            s, t = (r + 1) % 3, (r + 2) % 3
            c[r] = uu * (v[s] * w[t] - v[t] * w[s]) + vv * (w[s] * u[t] - w[t] * u[s])
        length = math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
        bent = length > 0.0
        for r in range(3):
            out[j, r] = points[r, b]
            if bent:
                out[j, 6 + r] = c[r] / length
                w[r] /= math.sqrt(ww)
            else:
                out[j, 6 + r] = 1.0 if r == 2 else 0.0
                w[r] = 1.0 if r == 0 else 0.0
        cross_into(out[j, 6:9], w, out[j, 3:6])
        out[j, 9] = 2.0 * ww / length if bent else 0.0
    return out


@summed
def circle_offsets(parameters: Array, points: Array) -> Array:
    """Radial and axial residuals (2, n) in metres of points (3, n) from a circle (10,)."""
    n = points.shape[1]
    out = np.empty((2, n))
    x0, y0, z0 = parameters[0], parameters[1], parameters[2]
    tx, ty, tz = parameters[3], parameters[4], parameters[5]
    mx, my, mz = parameters[6], parameters[7], parameters[8]
    ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
    k = parameters[9]
    for i in range(n):
        u, v, w = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
        x = u * tx + v * ty + w * tz
        y = u * mx + v * my + w * mz
        d = k * (x * x + y * y) - 2.0 * y
        out[0, i] = d / (1.0 + math.sqrt(max(1.0 + k * d, 0.0)))
        out[1, i] = u * ax + v * ay + w * az
    return out


circle_followed = following(
    "circle", from_sample=circles_through, residuals=circle_distances, refine=circle_refined, offsets=circle_offsets
)
