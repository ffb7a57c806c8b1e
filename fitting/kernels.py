"""Inner loops of the position models. Squared distances in m², weights without unit."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.result import Mask
from fitting.se3 import Array


@compiled
def line_distances(parameters: Array, points: Array) -> Array:
    """Squared distances (m, n) of points (n, 3) from lines (m, 6): point and unit direction."""
    m, n = parameters.shape[0], points.shape[0]
    out = np.empty((m, n))
    for j in range(m):
        x0, y0, z0 = parameters[j, 0], parameters[j, 1], parameters[j, 2]
        dx, dy, dz = parameters[j, 3], parameters[j, 4], parameters[j, 5]
        for i in range(n):
            x, y, z = points[i, 0] - x0, points[i, 1] - y0, points[i, 2] - z0
            u, v, w = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
            out[j, i] = u * u + v * v + w * w
    return out


@compiled
def circle_distances(parameters: Array, points: Array) -> Array:
    """Squared distances (m, n) of points (n, 3) from circles (m, 10): see ``fitting.circle``."""
    m, n = parameters.shape[0], points.shape[0]
    out = np.empty((m, n))
    for j in range(m):
        x0, y0, z0 = parameters[j, 0], parameters[j, 1], parameters[j, 2]
        tx, ty, tz = parameters[j, 3], parameters[j, 4], parameters[j, 5]
        mx, my, mz = parameters[j, 6], parameters[j, 7], parameters[j, 8]
        ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
        k = parameters[j, 9]
        for i in range(n):
            u, v, w = points[i, 0] - x0, points[i, 1] - y0, points[i, 2] - z0
            x = u * tx + v * ty + w * tz
            y = u * mx + v * my + w * mz
            z = u * ax + v * ay + w * az
            d = k * (x * x + y * y) - 2.0 * y
            d /= 1.0 + math.sqrt(max(1.0 + k * d, 0.0))
            out[j, i] = d * d + z * z
    return out


@compiled
def circle_normal_equations(parameters: Array, points: Array, weights: Array) -> tuple[float, Array, Array]:
    """Cost, Gauss–Newton matrix (6, 6) and gradient (6,) of a circle (10,) for weighted points.

    Local parameters: shift along the inward normal and along the axis, turn about tangent, normal and axis,
    curvature.
    """
    x0, y0, z0 = parameters[0], parameters[1], parameters[2]
    tx, ty, tz = parameters[3], parameters[4], parameters[5]
    mx, my, mz = parameters[6], parameters[7], parameters[8]
    ax, ay, az = ty * mz - tz * my, tz * mx - tx * mz, tx * my - ty * mx
    k = parameters[9]
    matrix = np.zeros((6, 6))
    gradient = np.zeros(6)
    cost = 0.0
    a0 = a1 = a2 = a3 = a4 = a5 = 0.0
    h = np.zeros(21)
    for i in range(points.shape[0]):
        weight = weights[i]
        if weight == 0.0:
            continue
        u, v, w = points[i, 0] - x0, points[i, 1] - y0, points[i, 2] - z0
        x = u * tx + v * ty + w * tz
        y = u * mx + v * my + w * mz
        z = u * ax + v * ay + w * az
        square = x * x + y * y
        d = k * square - 2.0 * y
        s = math.sqrt(max(1.0 + k * d, 1e-18))
        d /= 1.0 + s
        # Unit radial direction, and its change with the curvature in a form that stays exact for a straight line.
        rx, ry = k * x / s, (k * y - 1.0) / s
        # Radial residual d: shift along the normal, turns, curvature. Axial residual z: shift along the axis, turns.
        j0, j2, j3, j4 = -ry, ry * z, -rx * z, rx * y - ry * x
        j5 = (square + y * d) / (s * (1.0 + s))
        cost += weight * (d * d + z * z)
        wd, wz = weight * d, weight * z
        a0 += wd * j0
        a1 -= wz
        a2 += wd * j2 - wz * y
        a3 += wd * j3 + wz * x
        a4 += wd * j4
        a5 += wd * j5
        w0, w2, w3, w4, w5 = weight * j0, weight * j2, weight * j3, weight * j4, weight * j5
        h[0] += w0 * j0
        h[1] += w0 * j2
        h[2] += w0 * j3
        h[3] += w0 * j4
        h[4] += w0 * j5
        h[5] += weight
        h[6] += weight * y
        h[7] -= weight * x
        h[8] += w2 * j2 + weight * y * y
        h[9] += w2 * j3 - weight * x * y
        h[10] += w2 * j4
        h[11] += w2 * j5
        h[12] += w3 * j3 + weight * x * x
        h[13] += w3 * j4
        h[14] += w3 * j5
        h[15] += w4 * j4
        h[16] += w4 * j5
        h[17] += w5 * j5
    gradient[0], gradient[1], gradient[2], gradient[3], gradient[4], gradient[5] = a0, a1, a2, a3, a4, a5
    matrix[0, 0], matrix[0, 2], matrix[0, 3], matrix[0, 4], matrix[0, 5] = h[0], h[1], h[2], h[3], h[4]
    matrix[1, 1], matrix[1, 2], matrix[1, 3] = h[5], h[6], h[7]
    matrix[2, 2], matrix[2, 3], matrix[2, 4], matrix[2, 5] = h[8], h[9], h[10], h[11]
    matrix[3, 3], matrix[3, 4], matrix[3, 5] = h[12], h[13], h[14]
    matrix[4, 4], matrix[4, 5], matrix[5, 5] = h[15], h[16], h[17]
    for row in range(1, 6):
        for column in range(row):
            matrix[row, column] = matrix[column, row]
    return cost, matrix, gradient


@compiled
def solve_damped(matrix: Array, gradient: Array, damping: float) -> Array:
    """Solve (H + damping·diag H) δ = −g by Cholesky, scaled by the diagonal; zeros where H carries nothing."""
    n = matrix.shape[0]
    scale = np.empty(n)
    for i in range(n):
        scale[i] = 1.0 / math.sqrt(matrix[i, i]) if matrix[i, i] > 0.0 else 0.0
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j] * scale[i] * scale[j]
            if i == j:
                total = 1.0 + damping
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = math.sqrt(max(total, 1e-14))
            else:
                lower[i, j] = total / lower[j, j]
    step = np.empty(n)
    for i in range(n):
        total = -gradient[i] * scale[i]
        for k in range(i):
            total -= lower[i, k] * step[k]
        step[i] = total / lower[i, i]
    for i in range(n - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, n):
            total -= lower[k, i] * step[k]
        step[i] = total / lower[i, i]
    for i in range(n):
        step[i] *= scale[i]
    return step


@compiled
def turn_vector(w0: float, w1: float, w2: float, v: Array) -> Array:
    """Rotate ``v`` by the rotation vector (w0, w1, w2)."""
    angle = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    if angle < 1e-12:
        a, b = 1.0, 0.5
    else:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / (angle * angle)
    c0, c1, c2 = w1 * v[2] - w2 * v[1], w2 * v[0] - w0 * v[2], w0 * v[1] - w1 * v[0]
    out = np.empty(3)
    out[0] = v[0] + a * c0 + b * (w1 * c2 - w2 * c1)
    out[1] = v[1] + a * c1 + b * (w2 * c0 - w0 * c2)
    out[2] = v[2] + a * c2 + b * (w0 * c1 - w1 * c0)
    return out


@compiled
def circle_moved(parameters: Array, step: Array) -> Array:
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
    tangent, normal = turn_vector(w0, w1, w2, t), turn_vector(w0, w1, w2, m)
    tangent /= math.sqrt((tangent * tangent).sum())
    normal -= (normal * tangent).sum() * tangent
    normal /= math.sqrt((normal * normal).sum())
    k = parameters[9] + step[5]
    if k < 0.0:
        k, normal = -k, -normal
    out[3:6] = tangent
    out[6:9] = normal
    out[9] = k
    return out


@compiled
def circle_refined(parameters: Array, points: Array, weights: Array, steps: int) -> Array:
    """Levenberg–Marquardt on the orthogonal distances of weighted points from a circle (10,)."""
    current = parameters
    cost, matrix, gradient = circle_normal_equations(current, points, weights)
    damping = 0.0
    for _ in range(steps):
        trial = circle_moved(current, solve_damped(matrix, gradient, damping))
        trial_cost, trial_matrix, trial_gradient = circle_normal_equations(trial, points, weights)
        if trial_cost < cost:
            settled = cost - trial_cost < 1e-7 * cost
            current, cost, matrix, gradient = trial, trial_cost, trial_matrix, trial_gradient
            damping *= 0.1
            if settled:
                break
        elif damping > 1e4 or trial_cost <= cost * (1.0 + 1e-12):
            break
        else:
            damping = max(10.0 * damping, 1e-3)
    return current


@compiled
def best_quantiles(squares: Array, rank: int, keep: int) -> tuple[NDArray[np.int64], Array]:
    """Rows of ``squares`` (m, n) whose value of the given rank is smallest: their numbers (keep,) and values (keep,).

    Counting how many values beat the current worst of the kept decides most rows without sorting them.
    """
    numbers = np.full(keep, -1, dtype=np.int64)
    values = np.full(keep, np.inf)
    for j in range(squares.shape[0]):
        limit = values[keep - 1]
        count = 0
        for i in range(squares.shape[1]):
            count += squares[j, i] < limit
        if count <= rank:
            continue
        value = np.partition(squares[j], rank)[rank]
        place = keep - 1
        while place > 0 and values[place - 1] > value:
            values[place], numbers[place] = values[place - 1], numbers[place - 1]
            place -= 1
        values[place], numbers[place] = value, j
    return numbers, values


@compiled
def isolated(angles: Array, used: Mask, least: float) -> Mask:
    """Samples (n,) whose angle (rad) agrees with none of their used neighbours in time: strays on the full circle.

    An outlier may fall on the circle by chance, but hardly where the movement was at that moment. The tolerance
    comes from the steps between neighbours, and is at least ``least``.
    """
    places = np.flatnonzero(used)
    n = places.shape[0]
    out = np.zeros(angles.shape[0], dtype=np.bool_)
    if n < 12:
        return out
    steps = np.empty(n - 1)
    for i in range(n - 1):
        difference = abs(angles[places[i + 1]] - angles[places[i]])
        steps[i] = min(difference, 2.0 * math.pi - difference)
    tolerance = max(10.0 * np.median(steps), least)
    for i in range(n):
        agree = 0
        for j in range(max(i - 4, 0), min(i + 5, n)):
            difference = abs(angles[places[j]] - angles[places[i]])
            difference = min(difference, 2.0 * math.pi - difference)
            agree += difference < tolerance
        out[places[i]] = agree < 3
    return out
