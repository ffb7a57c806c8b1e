"""Several circles about one axis: takes of one hinge held at different places, from positions alone."""

import math

import numpy as np

from fitting.circle import CircleFit
from fitting.result import FitFailure, frozen
from fitting.se3 import Array, complete_axis

_DAMPING = 1e-12
_STEEPEST = 0.35
"""Radians. An axis less certain than this says nothing."""


def fit_coaxial(fits: "list[CircleFit | FitFailure]", takes: list[Array]) -> CircleFit | FitFailure:
    """Join circles fitted take by take into one axis; each keeps its own radius and height.

    Gauss–Newton on the shared axis from the most certain take, weighted by each take's effective noise.
    """
    good = [(fit, take) for fit, take in zip(fits, takes, strict=True) if isinstance(fit, CircleFit)]
    if not good:
        return fits[0]
    from fitting.dense import inverted

    best = min((fit for fit, _ in good), key=lambda fit: fit.axis_std)
    axis, center = best.axis, best.center
    covariance = np.eye(4)
    for _ in range(8):
        frame = complete_axis(axis)
        matrix, right = np.zeros((4, 4)), np.zeros(4)
        for fit, take in good:
            J, e = _reduced(frame, center, take[fit.inliers])
            weight = 1.0 / _effective_variance(fit)
            matrix += weight * J.T @ J
            right += weight * J.T @ e
        covariance = inverted(matrix, _DAMPING)
        step = covariance @ right
        axis = axis + frame[:, :2] @ step[:2]
        axis = axis / np.linalg.norm(axis)
        center = center + frame[:, :2] @ step[2:]
        if np.abs(step).max() < 1e-12:
            break
    if not math.sqrt(max(covariance[0, 0] + covariance[1, 1], 0.0)) < _STEEPEST:
        return FitFailure("The takes together do not show one axis. Turn the joint further in each of them.")
    frame = complete_axis(axis)
    most, most_take = max(good, key=lambda pair: int(pair[0].inliers.sum()))
    height = float(((most_take[most.inliers] - center) @ axis).mean())
    moved = np.eye(4)
    moved[2, 0] = moved[3, 1] = height
    center = center + height * axis
    arms = most_take[most.inliers] - center
    radius = float(np.linalg.norm(arms - (arms @ axis)[:, None] * axis, axis=1).mean())
    total = sum(int(fit.inliers.sum()) for fit, _ in good)
    used = [
        fit.inliers if isinstance(fit, CircleFit) else np.zeros(len(take), dtype=bool)
        for fit, take in zip(fits, takes, strict=True)
    ]
    return CircleFit(
        inliers=frozen(np.concatenate(used), bool),
        rms=float(np.sqrt(sum(fit.rms**2 * fit.inliers.sum() for fit, _ in good) / total)),
        noise=most.noise,
        basis=frozen(frame[:, :2].T),
        covariance=frozen(moved @ covariance @ moved.T),
        center=frozen(center),
        axis=frozen(axis),
        radius=radius,
        radius_std=most.radius_std,
        correlation=most.correlation,
        angles=frozen(np.concatenate([_angles(frame, center, take) for take in takes])),
    )


def _effective_variance(fit: CircleFit) -> float:
    return fit.noise**2 * fit.correlation


def _reduced(frame: Array, center: Array, points: Array) -> tuple[Array, Array]:
    """Jacobian (2n, 4) of tilt and shift and residuals (2n,), with the take's own radius and height eliminated."""
    arms = (points - center) @ frame
    radii = np.hypot(arms[:, 0], arms[:, 1])
    unit = arms[:, :2] / np.maximum(radii, 1e-12)[:, None]
    radial = np.concatenate([-unit * arms[:, 2:3], -unit], axis=1)
    axial = np.concatenate([arms[:, :2], np.zeros((len(points), 2))], axis=1)
    J = np.concatenate([radial - radial.mean(axis=0), axial - axial.mean(axis=0)])
    e = np.concatenate([radii - radii.mean(), arms[:, 2] - arms[:, 2].mean()])
    return J, -e


def _angles(frame: Array, center: Array, points: Array) -> Array:
    arms = (points - center) @ frame
    angles = np.unwrap(np.arctan2(arms[:, 1], arms[:, 0]))
    return np.asarray(angles - angles[0])
