"""Inner loops of the straight line; its parameters (6,) are a point and a unit direction. Points are columns (3, n)."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled, summed
from fitting.dense import completed, eigen
from fitting.following import following
from fitting.result import Mask
from fitting.se3 import Array


@compiled
def lines_through(points: Array, chosen: NDArray[np.int64]) -> Array:
    """Lines (m, 6) through the points (3, n) of pairs (m, 2); a pair in one place gives a line along x."""
    out = np.empty((chosen.shape[0], 6))
    for j in range(chosen.shape[0]):
        a, b = chosen[j, 0], chosen[j, 1]
        square = 0.0
        for r in range(3):
            out[j, r], out[j, 3 + r] = points[r, a], points[r, b] - points[r, a]
            square += out[j, 3 + r] ** 2
        length = math.sqrt(square)
        for r in range(3):
            out[j, 3 + r] = out[j, 3 + r] / length if length > 0.0 else (1.0 if r == 0 else 0.0)
    return out


@summed
def line_distances(parameters: Array, points: Array) -> Array:
    """Squared distances (m, n) of points (3, n) from lines (m, 6)."""
    m, n = parameters.shape[0], points.shape[1]
    out = np.empty((m, n))
    for j in range(m):
        x0, y0, z0 = parameters[j, 0], parameters[j, 1], parameters[j, 2]
        dx, dy, dz = parameters[j, 3], parameters[j, 4], parameters[j, 5]
        for i in range(n):
            x, y, z = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
            u, v, w = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
            out[j, i] = u * u + v * v + w * w
    return out


@summed
def scatter(points: Array, used: Mask) -> tuple[Array, Array]:
    """Mean (3,) of the used points (3, n), and the sum of products (3, 3) of their offsets from it."""
    n, count = points.shape[1], 0
    mean, products = np.zeros(3), np.zeros((3, 3))
    for i in range(n):
        count += 1 if used[i] else 0
    for r in range(3):
        total, first = 0.0, points[r, 0]
        for i in range(n):
            total += points[r, i] - first if used[i] else 0.0
        mean[r] = first + total / max(count, 1)
    x0, y0, z0 = mean[0], mean[1], mean[2]
    xx = xy = xz = yy = yz = zz = 0.0
    for i in range(n):
        weight = 1.0 if used[i] else 0.0
        x, y, z = points[0, i] - x0, points[1, i] - y0, points[2, i] - z0
        wx, wy = weight * x, weight * y
        xx += wx * x
        xy += wx * y
        xz += wx * z
        yy += wy * y
        yz += wy * z
        zz += weight * z * z
    products[0, 0], products[1, 1], products[2, 2] = xx, yy, zz
    products[0, 1] = products[1, 0] = xy
    products[0, 2] = products[2, 0] = xz
    products[1, 2] = products[2, 1] = yz
    return mean, products


@compiled
def line_refined(parameters: Array, points: Array, used: Mask, steps: int) -> Array:  # noqa: ARG001
    """The line (6,) along the principal direction of the used points (3, n): the likeliest one, in one step."""
    mean, products = scatter(points, used)
    if products[0, 0] + products[1, 1] + products[2, 2] == 0.0:
        return parameters
    _, vectors = eigen(products)
    out = np.empty(6)
    for r in range(3):
        out[r], out[3 + r] = mean[r], vectors[r, 2]
    return out


@summed
def line_offsets(point: Array, frame: Array, points: Array) -> Array:
    """Offsets (3, n) in metres of points (3, n) from a point, along the columns of a frame (3, 3)."""
    n = points.shape[1]
    out = np.empty((3, n))
    x0, y0, z0 = point[0], point[1], point[2]
    for k in range(3):
        a, b, c = frame[0, k], frame[1, k], frame[2, k]
        for i in range(n):
            out[k, i] = a * (points[0, i] - x0) + b * (points[1, i] - y0) + c * (points[2, i] - z0)
    return out


@compiled
def _across(parameters: Array, points: Array) -> Array:
    """Offsets (2, n) in metres of points (3, n) across a line (6,)."""
    return line_offsets(parameters[:3], completed(parameters[3:]), points)[:2]


line_followed = following(
    "line", from_sample=lines_through, residuals=line_distances, refine=line_refined, offsets=_across
)
