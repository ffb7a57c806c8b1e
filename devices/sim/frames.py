"""Frames as 4×4 matrices over a leading time axis; ``child2parent`` takes the child's coordinates to the parent's."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def frames(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Array:
    """Frames (..., 4, 4) from rotations (..., 3, 3) and translations (..., 3) in metres."""
    r = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    t = np.zeros(3) if translation is None else np.asarray(translation, dtype=float)
    shape = np.broadcast_shapes(r.shape[:-2], t.shape[:-1])
    result = np.zeros((*shape, 4, 4))
    result[..., :3, :3] = r
    result[..., :3, 3] = t
    result[..., 3, 3] = 1.0
    return result


def inverse(child2parent: Array) -> Array:
    """``parent2child`` of frames (..., 4, 4)."""
    rt = np.swapaxes(child2parent[..., :3, :3], -1, -2)
    return frames(rt, -(rt @ child2parent[..., :3, 3:4])[..., 0])


def rotations(rotation_vectors: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) in radians."""
    v = np.asarray(rotation_vectors, dtype=float)
    return np.asarray(Rotation.from_rotvec(v.reshape(-1, 3)).as_matrix()).reshape(*v.shape[:-1], 3, 3)


def about(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) about one unit axis (3,) by angles (...) in radians."""
    return rotations(np.asarray(angle, dtype=float)[..., None] * np.asarray(axis, dtype=float))


def quaternions(rotation: Array) -> Array:
    """Unit quaternions (n, 4) xyzw of rotation matrices (n, 3, 3)."""
    return np.asarray(Rotation.from_matrix(rotation).as_quat())


def rotation_vector(rotation: Array) -> Array:
    """Rotation vector (3,) in radians of one rotation matrix (3, 3)."""
    return np.asarray(Rotation.from_matrix(rotation).as_rotvec())


def gripping(axis: ArrayLike, approach: ArrayLike) -> Array:
    """Rotation (3, 3) of a tip frame that grips a bar: z along the bar, y as near to ``approach`` as that allows."""
    z = unit(axis)
    y = np.asarray(approach, dtype=float)
    y = unit(y - (y @ z) * z)
    return np.stack([np.cross(y, z), y, z], axis=-1)


def unit(vector: ArrayLike) -> Array:
    """The vector (3,) at length one."""
    v = np.asarray(vector, dtype=float)
    return np.asarray(v / np.linalg.norm(v))
