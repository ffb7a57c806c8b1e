"""Inner loops of the position models. Squared distances in m², weights without unit."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled, summed
from fitting.dense import factor, solved, turned
from fitting.order import median, median_where, select
from fitting.result import Mask
from fitting.se3 import Array


@summed
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


@summed
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


@summed
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
    h0 = h1 = h2 = h3 = h4 = h5 = h6 = h7 = h8 = h9 = 0.0
    h10 = h11 = h12 = h13 = h14 = h15 = h16 = h17 = 0.0
    for i in range(points.shape[0]):
        weight = weights[i]
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
        h0 += w0 * j0
        h1 += w0 * j2
        h2 += w0 * j3
        h3 += w0 * j4
        h4 += w0 * j5
        h5 += weight
        h6 += weight * y
        h7 -= weight * x
        h8 += w2 * j2 + weight * y * y
        h9 += w2 * j3 - weight * x * y
        h10 += w2 * j4
        h11 += w2 * j5
        h12 += w3 * j3 + weight * x * x
        h13 += w3 * j4
        h14 += w3 * j5
        h15 += w4 * j4
        h16 += w4 * j5
        h17 += w5 * j5
    gradient[0], gradient[1], gradient[2], gradient[3], gradient[4], gradient[5] = a0, a1, a2, a3, a4, a5
    matrix[0, 0], matrix[0, 2], matrix[0, 3], matrix[0, 4], matrix[0, 5] = h0, h1, h2, h3, h4
    matrix[1, 1], matrix[1, 2], matrix[1, 3] = h5, h6, h7
    matrix[2, 2], matrix[2, 3], matrix[2, 4], matrix[2, 5] = h8, h9, h10, h11
    matrix[3, 3], matrix[3, 4], matrix[3, 5] = h12, h13, h14
    matrix[4, 4], matrix[4, 5], matrix[5, 5] = h15, h16, h17
    for row in range(1, 6):
        for column in range(row):
            matrix[row, column] = matrix[column, row]
    return cost, matrix, gradient


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
def _centred(parameters: Array, points: Array, weights: Array) -> Array:
    """The same circle with its point moved next to the mean of the data: far from it the parameters entangle."""
    out = parameters.copy()
    t, m, k = parameters[3:6], parameters[6:9], parameters[9]
    x = y = total = 0.0
    for i in range(points.shape[0]):
        if weights[i] == 0.0:
            continue
        total += weights[i]
        for r in range(3):
            offset = weights[i] * (points[i, r] - parameters[r])
            x += offset * t[r]
            y += offset * m[r]
    if total == 0.0:
        return out
    x, y = x / total, y / total
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
def circle_refined(parameters: Array, points: Array, weights: Array, steps: int) -> Array:
    """Levenberg–Marquardt on the orthogonal distances of weighted points from a circle (10,)."""
    current = _centred(parameters, points, weights)
    cost, matrix, gradient = circle_normal_equations(current, points, weights)
    damping = 0.0
    step = np.empty(6)
    for _ in range(steps):
        lower, scale = factor(matrix, damping)
        for k in range(6):
            gradient[k] = -gradient[k]
        solved(lower, scale, gradient, step)
        for k in range(6):
            gradient[k] = -gradient[k]
        trial = circle_moved(current, step)
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
    spare = np.empty(squares.shape[1])
    for j in range(squares.shape[0]):
        limit = values[keep - 1]
        count = 0
        for i in range(squares.shape[1]):
            count += squares[j, i] < limit
        if count <= rank:
            continue
        for i in range(squares.shape[1]):
            spare[i] = squares[j, i]
        value = select(spare, rank)
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
    out = np.zeros(angles.shape[0], dtype=np.bool_)
    places = np.empty(angles.shape[0], dtype=np.int64)
    n = 0
    for i in range(angles.shape[0]):
        if used[i]:
            places[n] = i
            n += 1
    if n < 12:
        return out
    steps = np.empty(n - 1)
    for i in range(n - 1):
        difference = abs(angles[places[i + 1]] - angles[places[i]])
        steps[i] = min(difference, 2.0 * math.pi - difference)
    tolerance = max(10.0 * median(steps), least)
    for i in range(n):
        agree = 0
        for j in range(max(i - 4, 0), min(i + 5, n)):
            difference = abs(angles[places[j]] - angles[places[i]])
            difference = min(difference, 2.0 * math.pi - difference)
            agree += difference < tolerance
        out[places[i]] = agree < 3
    return out


@compiled
def circles_through(points: Array, chosen: NDArray[np.int64]) -> Array:
    """Circles (m, 10) through the points (n, 3) of triples (m, 3); collinear triples give straight lines."""
    out = np.empty((chosen.shape[0], 10))
    u, v, w, c = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(chosen.shape[0]):
        a, b, d = chosen[j, 0], chosen[j, 1], chosen[j, 2]
        uu = vv = 0.0
        for r in range(3):
            u[r], v[r] = points[a, r] - points[b, r], points[d, r] - points[b, r]
            uu += u[r] * u[r]
            vv += v[r] * v[r]
        _cross(u, v, w)
        ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        # The centre seen from the middle point is (|u|²·v×w + |v|²·w×u)/2|w|².
        for r in range(3):
            s, t = (r + 1) % 3, (r + 2) % 3
            c[r] = uu * (v[s] * w[t] - v[t] * w[s]) + vv * (w[s] * u[t] - w[t] * u[s])
        length = math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
        bent = length > 0.0
        for r in range(3):
            out[j, r] = points[b, r]
            if bent:
                out[j, 6 + r] = c[r] / length
                w[r] /= math.sqrt(ww)
            else:
                out[j, 6 + r] = 1.0 if r == 2 else 0.0
                w[r] = 1.0 if r == 0 else 0.0
        _cross(out[j, 6:9], w, out[j, 3:6])
        out[j, 9] = 2.0 * ww / length if bent else 0.0
    return out


@compiled
def _cross(a: Array, b: Array, out: Array) -> None:
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def circle_offsets(parameters: Array, points: Array) -> tuple[Array, Array]:
    """Radial and axial residuals (n, 2) in metres of a circle (10,), and angles (n,) from the arc's point."""
    n = points.shape[0]
    residuals, angles = np.empty((n, 2)), np.empty(n)
    t, m = parameters[3:6], parameters[6:9]
    a = np.empty(3)
    _cross(t, m, a)
    k = parameters[9]
    for i in range(n):
        x = y = z = 0.0
        for r in range(3):
            offset = points[i, r] - parameters[r]
            x += offset * t[r]
            y += offset * m[r]
            z += offset * a[r]
        d = k * (x * x + y * y) - 2.0 * y
        residuals[i, 0] = d / (1.0 + math.sqrt(max(1.0 + k * d, 0.0)))
        residuals[i, 1] = z
        angles[i] = math.atan2(k * x, 1.0 - k * y)
    return residuals, angles


@compiled
def gated_noise(squares: Array, noise: float, gate: float, usual: float, floor: float) -> float:
    """Noise (m) from the median square inside the gate, repeated until both agree.

    gate: largest good square in variances; usual: median square in variances.
    """
    spare = np.empty(len(squares))
    for _ in range(20):
        middle, count = median_where(squares, gate * noise * noise, spare)
        if count == 0:
            break
        updated = max(math.sqrt(middle / usual), floor)
        steady = abs(updated - noise) < 0.01 * noise
        noise = updated
        if steady:
            break
    return noise


@compiled
def circle_blocks(curvature: float, angles: Array, residuals: Array, used: Mask, blocks: int) -> tuple[Array, Array]:
    """Derivatives of radial and axial residuals (n, 2) at points on a circle, and the residuals, in blocks of time.

    Gives the sums (blocks, 2, 8), residuals and their squares in the last columns, and the sums of products (2, 6, 6)
    of derivatives.
    Local parameters as in ``circle_normal_equations``; angles (n,) are counted from the arc's point.
    """
    n = len(angles)
    sums, information = np.zeros((blocks, 2, 8)), np.zeros((2, 6, 6))
    for i in range(n):
        if not used[i]:
            continue
        x, y = math.sin(angles[i]) / curvature, (1.0 - math.cos(angles[i])) / curvature
        rows = ((1.0 - curvature * y, 0.0, 0.0, 0.0, x, y / curvature), (0.0, -1.0, -y, x, 0.0, 0.0))
        block = sums[(i * blocks) // n]
        for c in range(2):
            for k in range(6):
                block[c, k] += rows[c][k]
                for m in range(6):
                    information[c, k, m] += rows[c][k] * rows[c][m]
            block[c, 6] += residuals[i, c]
            block[c, 7] += residuals[i, c] * residuals[i, c]
    return sums, information


@compiled
def extent(points: Array, used: Mask) -> float:
    """Longest side (m) of the box around the used points (n, 3)."""
    widest = 0.0
    for k in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(points.shape[0]):
            if used[i]:
                low, high = min(low, points[i, k]), max(high, points[i, k])
        widest = max(widest, high - low)
    return widest


@compiled
def unwrapped(angles: Array, used: Mask) -> Array:
    """Angles (n,) made continuous along the used samples; each other goes to the turn next to its last used one."""
    out = np.empty(len(angles))
    last, known = 0.0, False
    for i in range(len(angles)):
        value = angles[i]
        if known:
            value += 2.0 * math.pi * math.floor((last - value) / (2.0 * math.pi) + 0.5)
        out[i] = value
        if used[i]:
            last, known = value, True
    return out
