"""Small symmetric systems whose rows have very different units, for use inside compiled loops."""

import math

import numpy as np

from fitting.compiled import compiled, summed
from fitting.se3 import Array

_LEAST_PIVOT = 1e-7
_NOTHING = 1e-100
"""Information that says nothing, in any unit; the square of its inverse would overflow."""
_EIGHTH = math.tan(math.pi / 8.0)


def _arctangent() -> tuple[float, ...]:
    """Coefficients, the highest first, of arctan(x)/x as a polynomial of x² up to tan 22.5°: exact to rounding."""
    half = 0.5 * _EIGHTH**2
    nodes = half * (1.0 + np.cos(np.pi * (np.arange(13) + 0.5) / 13))
    fitted = np.polynomial.Chebyshev.fit(nodes, np.arctan(np.sqrt(nodes)) / np.sqrt(nodes), 12, [0.0, 2.0 * half])
    return tuple(fitted.convert(kind=np.polynomial.Polynomial).coef[::-1].tolist())


_ARCTANGENT = _arctangent()
_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(8, -1, -1))
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(7, -1, -1))
"""Coefficients, the highest first, of cos x and sin(x)/x as polynomials of x²: exact to rounding up to 45°."""


@compiled
def cosine_and_sine(angle: float) -> tuple[float, float]:
    """``math.cos`` and ``math.sin`` without branches, so that a loop over samples takes several at once."""
    quarter = np.floor(angle * (2.0 / math.pi) + 0.5)
    rest = angle - quarter * (0.5 * math.pi)
    square, cosine, sine = rest * rest, 0.0, 0.0
    for coefficient in _COSINE:
        cosine = cosine * square + coefficient
    for coefficient in _SINE:
        sine = sine * square + coefficient
    sine *= rest
    # Quarters of a turn: 0, 1, 2, 3.
    quarter -= 4.0 * np.floor(0.25 * quarter)
    swapped = (quarter == 1.0) | (quarter == 3.0)
    x, y = sine if swapped else cosine, cosine if swapped else sine
    x = -x if (quarter == 1.0) | (quarter == 2.0) else x
    return x, -y if quarter >= 2.0 else y


@compiled
def factor(matrix: Array, damping: float) -> tuple[Array, Array]:
    """Cholesky factor of (H + damping·diag H), scaled to a unit diagonal, and the scales (zero: no information)."""
    n = matrix.shape[0]
    scale = np.empty(n)
    for i in range(n):
        scale[i] = 1.0 / math.sqrt(matrix[i, i]) if matrix[i, i] > _NOTHING else 0.0
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 1.0 + damping if i == j else matrix[i, j] * scale[i] * scale[j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = math.sqrt(total) if total > _LEAST_PIVOT**2 else _LEAST_PIVOT
            else:
                # Where rounding alone is left, nothing follows for the others: each such row would multiply the last.
                lower[i, j] = total / lower[j, j] if lower[j, j] > _LEAST_PIVOT else 0.0
    return lower, scale


@compiled
def solved(lower: Array, scale: Array, right: Array, out: Array) -> None:
    """Solution into ``out`` (n,) for a right side (n,) and the factor of its matrix."""
    n = len(right)
    for i in range(n):
        total = right[i] * scale[i]
        for k in range(i):
            total -= lower[i, k] * out[k]
        out[i] = total / lower[i, i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, n):
            total -= lower[k, i] * out[k]
        out[i] = total / lower[i, i]
    for i in range(n):
        out[i] *= scale[i]


@compiled
def inverted(matrix: Array, damping: float) -> Array:
    """Inverse (n, n); rows without information are zero."""
    n = matrix.shape[0]
    lower, scale = factor(matrix, damping)
    out = np.empty((n, n))
    unit = np.zeros(n)
    for i in range(n):
        unit[i] = 1.0
        solved(lower, scale, unit, out[i])
        unit[i] = 0.0
    return out


@compiled
def sandwiched(outer: Array, inner: Array) -> Array:
    """A·B·Aᵀ (m, m) for A (m, n) and B (n, n)."""
    m, n = outer.shape
    half, out = np.zeros((m, n)), np.zeros((m, m))
    for i in range(m):
        for j in range(n):
            for k in range(n):
                half[i, k] += outer[i, j] * inner[j, k]
    for i in range(m):
        for j in range(m):
            for k in range(n):
                out[i, j] += half[i, k] * outer[j, k]
    return out


@compiled
def cross_into(a: Array, b: Array, out: Array) -> None:
    """a × b into ``out`` (3,)."""
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues (3,), the smallest first, and unit eigenvectors, in columns, of a symmetric matrix (3, 3)."""
    a, v = matrix.copy(), np.eye(3)
    for _ in range(12):
        off = abs(a[0, 1]) + abs(a[0, 2]) + abs(a[1, 2])
        if off <= 1e-18 * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2])):
            break
        for p in range(2):
            for q in range(p + 1, 3):
                if a[p, q] == 0.0:
                    continue
                # Jacobi: the turn in the plane of p and q after which they no longer mix.
                half = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
                t = (1.0 if half >= 0.0 else -1.0) / (abs(half) + math.sqrt(1.0 + half * half))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for k in range(3):
                    a[k, p], a[k, q] = c * a[k, p] - s * a[k, q], s * a[k, p] + c * a[k, q]
                for k in range(3):
                    a[p, k], a[q, k] = c * a[p, k] - s * a[q, k], s * a[p, k] + c * a[q, k]
                    v[k, p], v[k, q] = c * v[k, p] - s * v[k, q], s * v[k, p] + c * v[k, q]
    values = np.array([a[0, 0], a[1, 1], a[2, 2]])
    for i in range(2):
        for j in range(2 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
                for k in range(3):
                    v[k, j], v[k, j + 1] = v[k, j + 1], v[k, j]
    return values, v


@compiled
def turned(w0: float, w1: float, w2: float, v: Array, out: Array) -> None:
    """Rotate ``v`` (3,) by the rotation vector (w0, w1, w2) into ``out``."""
    angle = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    if angle < 1e-12:
        a, b = 1.0, 0.5
    else:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / (angle * angle)
    c0, c1, c2 = w1 * v[2] - w2 * v[1], w2 * v[0] - w0 * v[2], w0 * v[1] - w1 * v[0]
    x = v[0] + a * c0 + b * (w1 * c2 - w2 * c1)
    y = v[1] + a * c1 + b * (w2 * c0 - w0 * c2)
    z = v[2] + a * c2 + b * (w0 * c1 - w1 * c0)
    out[0], out[1], out[2] = x, y, z


@compiled
def completed(axis: Array) -> Array:
    """Rotation (3, 3) with the columns basis[0], basis[1], axis: as ``se3.complete_axis`` without a hint."""
    least = 0
    for k in range(1, 3):
        if abs(axis[k]) < abs(axis[least]):
            least = k
    out = np.empty((3, 3))
    length = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    z0, z1, z2 = axis[0] / length, axis[1] / length, axis[2] / length
    z = (z0, z1, z2)
    x = np.empty(3)
    for k in range(3):
        x[k] = (1.0 if k == least else 0.0) - z[least] * z[k]
    size = math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    for k in range(3):
        x[k] /= size
        out[k, 0], out[k, 2] = x[k], z[k]
    out[0, 1] = z1 * x[2] - z2 * x[1]
    out[1, 1] = z2 * x[0] - z0 * x[2]
    out[2, 1] = z0 * x[1] - z1 * x[0]
    return out


@summed
def direction(y: float, x: float) -> float:
    """``math.atan2`` without branches, so that a loop over samples takes several at once."""
    small, large = min(abs(x), abs(y)), max(abs(x), abs(y))
    beyond = small > _EIGHTH * large
    ratio = (small - large if beyond else small) / max(small + large if beyond else large, 1e-300)
    square, value = ratio * ratio, 0.0
    for coefficient in _ARCTANGENT:
        value = value * square + coefficient
    value = value * ratio + (0.25 * math.pi if beyond else 0.0)
    value = 0.5 * math.pi - value if abs(y) > abs(x) else value
    value = math.pi - value if x < 0.0 else value
    return -value if y < 0.0 else value
