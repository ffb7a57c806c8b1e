"""What is best possible: the Cramér–Rao limit of an axis, from the same equations that make the data."""

import numpy as np

from fitting.result import Mask
from fitting.se3 import Array, complete_axis, rotation_exp, rotation_log


def circle_limit(angles: Array, radius: float, noise: float) -> tuple[float, float]:
    """Axis (rad) and centre (m) rms that no unbiased fit of a circle to positions can beat.

    angles: (n,) rad; radius, noise: metres. In the plane: centre and radius; across it: tilt and height.
    """
    c, s, one = np.cos(angles), np.sin(angles), np.ones_like(angles)
    plane = np.linalg.inv(_square(np.stack([c, s, one], axis=1))) * noise**2
    tilt = np.linalg.inv(_square(np.stack([radius * c, radius * s, one], axis=1))) * noise**2
    return float(np.sqrt(tilt[0, 0] + tilt[1, 1])), float(np.sqrt(plane[0, 0] + plane[1, 1]))


def line_limit(coordinates: Array, noise: float) -> float:
    """Axis (rad) rms that no unbiased fit of a line can beat; coordinates (n,) and noise in metres."""
    return float(noise * np.sqrt(2.0 / ((coordinates - coordinates.mean()) ** 2).sum()))


def rotary_limit(
    angles: Array,
    radius: float,
    noise: float,
    turn_noise: float,
    *,
    positions: Mask | None = None,
    orientations: Mask | None = None,
) -> tuple[float, float]:
    """Axis (rad) and position (m) rms that no unbiased fit of a rotary joint to poses can beat.

    By numerical derivatives of the poses after tilt, shift and start, with each sample's own angle eliminated.
    positions, orientations: (n,) which of them are good; None means all.
    """
    axis, start = np.array([0.0, 0.0, 1.0]), np.array([radius, 0.0, 0.0])
    basis = complete_axis(axis)

    def poses(x: Array) -> tuple[Array, Array]:
        tilted = rotation_exp(np.cross(axis, basis[:, :2] @ x[:2])) @ axis
        center = basis[:, :2] @ x[2:4]
        A = rotation_exp(angles[:, None] * tilted)
        return A @ rotation_exp(x[4:7]), center + A @ (start + x[7:10] - center)

    n, step = len(angles), 1e-5
    J = np.zeros((n, 6, 10))
    for k in range(10):
        x = np.zeros(10)
        x[k] = step
        (R1, p1), (R0, p0) = poses(x), poses(-x)
        J[:, :3, k] = (p1 - p0) / (2.0 * step * noise)
        J[:, 3:, k] = rotation_log(R1 @ np.swapaxes(R0, 1, 2)) / (2.0 * step * turn_noise)
    _, p = poses(np.zeros(10))
    own = np.concatenate([np.cross(axis, p) / noise, np.broadcast_to(axis / turn_noise, (n, 3))], axis=1)
    if positions is not None:
        J[~positions, :3], own[~positions, :3] = 0.0, 0.0
    if orientations is not None:
        J[~orientations, 3:], own[~orientations, 3:] = 0.0, 0.0
    own /= np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
    J -= own[:, :, None] * np.einsum("nr,nrk->nk", own, J)[:, None]
    # The start's turn about the axis is the zero of the angles: leave it out.
    J = np.delete(J, 6, axis=2)
    H = np.einsum("nrk,nrl->kl", J, J)
    covariance = np.linalg.inv(H)
    return float(np.sqrt(covariance[0, 0] + covariance[1, 1])), float(np.sqrt(covariance[2, 2] + covariance[3, 3]))


def _square(design: Array) -> Array:
    return np.asarray(design.T @ design)
