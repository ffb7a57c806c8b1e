"""The best that any estimator of a rotary joint can reach (Cramér–Rao), for white noise of known size."""

import math

import numpy as np

from fitting.se3 import Array, rotation_exp

ANGLES = 40
"""Measured angles in the calculation, spread evenly over the arc; the result is scaled to the true number."""
STEP = 1e-6


def rotary_limit(
    arc: float, radius: float, samples: int, position_noise: float, orientation_noise: float | None = None
) -> tuple[float, float]:
    """Smallest rms error of axis direction (rad) and of axis position (m), as roots of the covariances' traces.

    arc in radians, radius in metres, noises per axis in metres and radians. Without an orientation noise only
    positions are measured; with it whole poses of a body that is gripped rigidly.
    """
    angles = np.linspace(0.0, arc, ANGLES)
    with_poses = orientation_noise is not None
    weights = np.full((ANGLES, 6 if with_poses else 3), 1.0 / position_noise)
    if orientation_noise is not None:
        weights[:, 3:] = 1.0 / orientation_noise
    # Axis tilt (2) and shift (2), place (3) and orientation (3) of the body at the start, all angles but the first,
    # whose change the body's start already contains.
    unknown = 7 + (3 if with_poses else 0) + ANGLES - 1
    columns = [
        (_measured(angles, radius, with_poses, step) - _measured(angles, radius, with_poses, -step)) / (2.0 * STEP)
        for step in STEP * np.eye(unknown)
    ]
    jacobian = np.stack([(weights * column).ravel() for column in columns], axis=-1)
    # Scaled, since radians at a small radius and metres differ by orders of magnitude.
    scale = 1.0 / np.linalg.norm(jacobian, axis=0)
    covariance = np.linalg.pinv((jacobian * scale).T @ (jacobian * scale), hermitian=True) * np.outer(scale, scale)
    share = ANGLES / samples
    tilt, shift = covariance[0, 0] + covariance[1, 1], covariance[2, 2] + covariance[3, 3]
    return math.sqrt(share * tilt), math.sqrt(share * shift)


def _measured(angles: Array, radius: float, with_poses: bool, change: Array) -> Array:
    """Positions (and turns from the undisturbed orientation) that changed parameters lead to; the axis is z."""
    tilt = rotation_exp(np.array([-change[1], change[0], 0.0]))
    turns = angles + np.concatenate([[0.0], change[-(ANGLES - 1) :]])
    about_z = rotation_exp(np.outer(turns, [0.0, 0.0, 1.0]))
    rotations = tilt @ about_z
    place = rotations @ (np.array([radius, 0.0, 0.0]) + change[4:7]) + [change[2], change[3], 0.0]
    if not with_poses:
        return np.asarray(place)
    before = rotation_exp(np.outer(angles, [0.0, 0.0, 1.0]))
    difference = rotations @ rotation_exp(change[7:10]) @ np.swapaxes(before, -1, -2)
    # Changes are tiny: the antisymmetric part is the rotation vector.
    vector = 0.5 * np.stack(
        [
            difference[:, 2, 1] - difference[:, 1, 2],
            difference[:, 0, 2] - difference[:, 2, 0],
            difference[:, 1, 0] - difference[:, 0, 1],
        ],
        axis=-1,
    )
    return np.concatenate([place, vector], axis=-1)
