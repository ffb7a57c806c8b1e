"""Frames of joints: exact ones, and directions and turns read against their z-axis."""

import numpy as np
from numpy.typing import ArrayLike

from fitting.se3 import Array, frame, inverse

UNIT_TOLERANCE = 1e-6
"""How far a rotation may be from orthonormal before it is a problem."""


def is_frame(value: Array) -> bool:
    """Tell whether a matrix is a rotation and a translation."""
    r = value[:3, :3]
    orthonormal = np.abs(r.T @ r - np.eye(3)).max() < UNIT_TOLERANCE
    right_handed = r[:, 1] @ cross(r[:, 2], r[:, 0]) > 0.0
    return bool(orthonormal and right_handed and value[3].tolist() == [0.0, 0.0, 0.0, 1.0])


def cross(a: Array, b: Array) -> Array:
    """Cross product of two vectors (3,), ten times as fast as NumPy's, which is made for many."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def exact_frame(value: ArrayLike) -> Array:
    """Return a read-only frame whose y-axis is exactly z × x, so that a file needs only the other two."""
    result = np.array(value, dtype=float)
    if result.shape != (4, 4):
        raise ValueError(f"a frame is 4×4, got the shape {result.shape}")
    if np.isfinite(result).all() and is_frame(result):
        z, x = result[:3, 2], result[:3, 0]
        # Idempotent: a frame that is exact to rounding already keeps its digits.
        if abs(z @ z - 1.0) > 1e-14:
            z = z / np.linalg.norm(z)
        if abs(x @ x - 1.0) > 1e-14 or abs(x @ z) > 1e-14:
            x = x - (x @ z) * z
            x = x / np.linalg.norm(x)
        result = frame(np.stack([x, cross(z, x), z], axis=-1), result[:3, 3])
    result.setflags(write=False)
    return result


def azimuth(joint2parent: Array, directions: ArrayLike) -> Array:
    """Angles (...) in radians of directions (..., 3), in the parent's frame, about the joint's z-axis."""
    d = np.asarray(directions, dtype=float)
    return np.arctan2(d @ joint2parent[:3, 1], d @ joint2parent[:3, 0])


def heading(joint2parent: Array, rotations: ArrayLike) -> Array:
    """Turn (...) in radians about the joint's z-axis that is nearest to rotations (..., 3, 3) in the parent."""
    local = joint2parent[:3, :3].T @ np.asarray(rotations, dtype=float)
    # The nearest turn is undefined for a frame upside down: such frames are turned over first, all or none of them.
    flip = -1.0 if float(np.mean(local[..., 2, 2])) < -0.5 else 1.0
    sine, cosine = local[..., 1, 0] - flip * local[..., 0, 1], local[..., 0, 0] + flip * local[..., 1, 1]
    return np.asarray(np.arctan2(sine, cosine))


def near(angle: Array, limits: tuple[float, float]) -> Array:
    """Take angles to the turn that is nearest to the middle of the limits."""
    lo, hi = limits
    middle = 0.5 * (lo + hi) if np.isfinite(lo) and np.isfinite(hi) else 0.0
    return np.asarray(middle + (angle - middle + np.pi) % (2.0 * np.pi) - np.pi)


def in_joint(joint2parent: Array, pose_in_parent: ArrayLike) -> Array:
    """Express poses (..., 4, 4) in the joint's frame."""
    return np.asarray(inverse(joint2parent) @ np.asarray(pose_in_parent, dtype=float))
