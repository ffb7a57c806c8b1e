"""Rigid frames and rotations, vectorised over leading axes.

A frame named ``child2parent`` is a 4×4 homogeneous matrix that takes coordinates in the child's frame to the
parent's. A twist is ``[v, ω]``: translation first, metres and radians. Quaternions are xyzw.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_TINY_ANGLE = 1e-7
"""Below this angle (rad) the series of sin and cos are exact to double precision."""

_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def frame(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Array:
    """Build a frame (..., 4, 4) from a rotation (..., 3, 3) and a translation (..., 3) in metres."""
    r = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    t = np.zeros(3) if translation is None else np.asarray(translation, dtype=float)
    shape = np.broadcast_shapes(r.shape[:-2], t.shape[:-1])
    result = np.zeros((*shape, 4, 4))
    result[..., :3, :3] = r
    result[..., :3, 3] = t
    result[..., 3, 3] = 1.0
    return result


def inverse(child2parent: ArrayLike) -> Array:
    """Invert frames: ``parent2child``."""
    f = np.asarray(child2parent, dtype=float)
    rt = np.swapaxes(f[..., :3, :3], -1, -2)
    return frame(rt, -(rt @ f[..., :3, 3:4])[..., 0])


def transform(child2parent: ArrayLike, points: ArrayLike) -> Array:
    """Take points (..., 3) from the child's frame to the parent's."""
    f = np.asarray(child2parent, dtype=float)
    p = np.asarray(points, dtype=float)
    return np.asarray(np.einsum("...ij,...j->...i", f[..., :3, :3], p) + f[..., :3, 3])


def cross(a: Array, b: Array) -> Array:
    """Vector product of vectors (…, 3); for few of them several times as fast as NumPy's."""
    product: Array = a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT]
    return product


def skew(v: ArrayLike) -> Array:
    """Cross-product matrix (..., 3, 3) of vectors (..., 3)."""
    w = np.asarray(v, dtype=float)
    result = np.zeros((*w.shape[:-1], 3, 3))
    result[..., 0, 1], result[..., 0, 2] = -w[..., 2], w[..., 1]
    result[..., 1, 0], result[..., 1, 2] = w[..., 2], -w[..., 0]
    result[..., 2, 0], result[..., 2, 1] = -w[..., 1], w[..., 0]
    return result


def rotation_exp(rotation_vector: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) in radians."""
    w = np.asarray(rotation_vector, dtype=float)
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    small = angle < _TINY_ANGLE
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    b = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    k = skew(w)
    return np.asarray(np.eye(3) + a * k + b * (k @ k))


def rotation_log(rotation: ArrayLike) -> Array:
    """Rotation vectors (..., 3) of rotation matrices (..., 3, 3); the angle lies in [0, π]."""
    q = quaternion_from_rotation(rotation)
    q = np.where(q[..., 3:4] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    half = np.arctan2(sine, q[..., 3:4])
    small = sine < _TINY_ANGLE
    scale = np.where(small, 2.0, 2.0 * half / np.where(small, 1.0, sine))
    return scale * q[..., :3]


def turns_from_middle(rotation: Array) -> Array:
    """Rotation vectors (n, 3) of rotations (n, 3, 3), at least one, from the middle one of them to each."""
    return rotation_log(rotation @ rotation[len(rotation) // 2].T)


def exp(twist: ArrayLike) -> Array:
    """Frames (..., 4, 4) of twists (..., 6) ``[v, ω]``."""
    xi = np.asarray(twist, dtype=float)
    v, w = xi[..., :3], xi[..., 3:]
    return frame(rotation_exp(w), (_left_jacobian(w) @ v[..., None])[..., 0])


def log(child2parent: ArrayLike) -> Array:
    """Twists (..., 6) ``[v, ω]`` of frames (..., 4, 4)."""
    f = np.asarray(child2parent, dtype=float)
    w = rotation_log(f[..., :3, :3])
    v = np.linalg.solve(_left_jacobian(w), f[..., :3, 3:4])[..., 0]
    return np.concatenate([v, w], axis=-1)


def adjoint(child2parent: ArrayLike) -> Array:
    """Matrix (..., 6, 6) that takes twists ``[v, ω]`` from the child's frame to the parent's."""
    f = np.asarray(child2parent, dtype=float)
    r = f[..., :3, :3]
    result = np.zeros((*f.shape[:-2], 6, 6))
    result[..., :3, :3] = r
    result[..., 3:, 3:] = r
    result[..., :3, 3:] = skew(f[..., :3, 3]) @ r
    return result


def rotation_z(angle: ArrayLike) -> Array:
    """Rotations (..., 3, 3) about z by angles (...) in radians."""
    a = np.asarray(angle, dtype=float)
    c, s, zero, one = np.cos(a), np.sin(a), np.zeros_like(a), np.ones_like(a)
    rows = [np.stack(row, axis=-1) for row in ((c, -s, zero), (s, c, zero), (zero, zero, one))]
    return np.stack(rows, axis=-2)


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """Rotations (..., 3, 3) of unit quaternions (..., 4) xyzw."""
    q = np.asarray(xyzw, dtype=float)
    x, y, z, w = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    rows = [
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=-1),
        np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=-1),
        np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=-1),
    ]
    return np.stack(rows, axis=-2)


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """Unit quaternions (..., 4) xyzw of rotations (..., 3, 3), the largest component positive."""
    r = np.asarray(rotation, dtype=float)
    m00, m11, m22 = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    # Four ways to write 4·q_i·q; the row with the largest diagonal is the accurate one (Shepperd).
    x = [
        1 + m00 - m11 - m22,
        r[..., 0, 1] + r[..., 1, 0],
        r[..., 0, 2] + r[..., 2, 0],
        r[..., 2, 1] - r[..., 1, 2],
    ]
    y = [x[1], 1 - m00 + m11 - m22, r[..., 1, 2] + r[..., 2, 1], r[..., 0, 2] - r[..., 2, 0]]
    z = [x[2], y[2], 1 - m00 - m11 + m22, r[..., 1, 0] - r[..., 0, 1]]
    w = [x[3], y[3], z[3], 1 + m00 + m11 + m22]
    table = np.stack([np.stack(row, axis=-1) for row in (x, y, z, w)], axis=-2)
    best = np.argmax(np.stack([x[0], y[1], z[2], w[3]], axis=-1), axis=-1)
    q = np.take_along_axis(table, best[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def complete_axis(axis: ArrayLike, x_hint: ArrayLike | None = None) -> Array:
    """Rotation (3, 3) whose z-axis is ``axis`` and whose x-axis is as near to ``x_hint`` as that allows."""
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    hint = np.eye(3)[np.argmin(np.abs(z))] if x_hint is None else np.asarray(x_hint, dtype=float)
    x = hint - (hint @ z) * z
    length = np.linalg.norm(x)
    if length < 1e-9 * max(1.0, float(np.linalg.norm(hint))):
        return complete_axis(z)
    x = x / length
    return np.stack([x, cross(z, x), z], axis=-1)


def _left_jacobian(w: NDArray[Any]) -> Array:
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    b = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    c = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    k = skew(w)
    return np.asarray(np.eye(3) + b * k + c * (k @ k))
