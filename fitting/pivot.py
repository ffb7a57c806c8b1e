"""A fixed point about which a body turns freely: where it is in the world and in the body."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting import checks, ransac
from fitting.noise import chi2_median, correlation_time
from fitting.ransac import consensus
from fitting.repeats import told_once
from fitting.result import Fit, FitFailure, Mask, frozen
from fitting.se3 import Array

_LEAST = 4
_UNCERTAIN, _VAGUE = 0.5, 0.5
"""Metres, and share of its distance from the tracked origin: a point less certain than this says nothing."""
_NEAR = 0.02
"""Metres: a tracked origin so near to its point says where that is without any turn."""


@dataclass(frozen=True)
class PivotFit(Fit):
    """A pivot: ``point`` in the world and ``body_point`` in the tracked body's frame, both in metres."""

    point: Array
    body_point: Array
    covariance: Array
    """(6, 6) in m²: of ``point``, then of ``body_point``."""

    @property
    def position_std(self) -> float:
        """Standard deviation (m) of ``point``: root of the trace of its covariance."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3])))

    @property
    def body_position_std(self) -> float:
        """Standard deviation (m) of ``body_point``, likewise."""
        return float(np.sqrt(np.trace(self.covariance[3:, 3:])))


class Pivot:
    """Geometric model: data are columns of 12 numbers, R by rows and p; parameters are point and body point (6,)."""

    sample_size = 3
    freedom = 3

    def from_sample(self, data: Array, chosen: NDArray[np.int64]) -> Array:
        """Pivots of triples of poses, damped towards the tracked origin where the triple says little."""
        rows = data.T[chosen]
        R, p = rows[..., :9].reshape(*chosen.shape, 3, 3), rows[..., 9:]
        matrix, right = _equations(R, p, np.ones(chosen.shape))
        matrix += 1e-9 * np.eye(6)
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])

    def residuals(self, parameters: Array, data: Array) -> Array:
        """Squared distances (m, n) between the pivot in the world and where each pose puts it."""
        return np.asarray((pivot_residuals(parameters, data) ** 2).sum(axis=-1))

    def refine(self, parameters: Array, data: Array, used: Mask, steps: int) -> Array:  # noqa: ARG002
        """Linear least squares, in one step."""
        if np.count_nonzero(used) < self.sample_size:
            return parameters
        matrix, right = _equations(*_poses(data), used.astype(float))
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0])


def pivot_residuals(parameters: Array, data: Array) -> Array:
    """Vectors (m, n, 3) in metres from the pivot to where each pose puts it."""
    R, p = _poses(data)
    return np.asarray(np.einsum("nij,mj->mni", R, parameters[:, 3:]) + p - parameters[:, None, :3])


def _poses(data: Array) -> tuple[Array, Array]:
    """Rotations (n, 3, 3) and positions (n, 3) in data (12, n)."""
    rows = np.ascontiguousarray(data.T)
    return rows[:, :9].reshape(-1, 3, 3), rows[:, 9:]


@told_once
def fit_pivot(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> PivotFit | FitFailure:
    """Fit the fixed point of poses (n, 4, 4), body to world, metres; a list of takes is taken as one."""
    takes = checks.as_pose_takes(poses)
    if isinstance(takes, FitFailure):
        return takes
    noise = checks.as_noise(noise)
    samples = np.concatenate(takes)
    if len(samples) < _LEAST:
        return checks.too_few(len(samples), _LEAST, "a pivot")
    data = np.ascontiguousarray(np.concatenate([samples[:, :3, :3].reshape(-1, 9), samples[:, :3, 3]], axis=1).T)
    model = Pivot()
    found = consensus(model, data, noise=noise, rng=checks.generator(rng))
    if isinstance(found, FitFailure):
        return found
    inliers, parameters, sigma = found.inliers, found.parameters, found.noise
    floor = ransac.smallest_noise(samples[:, :3, 3])
    for _ in range(3):
        parameters = model.refine(parameters, data, inliers, 1)
        squares = model.residuals(parameters[None], data)[0]
        sigma = noise or ransac.rms_noise(squares, inliers, 3, 6, floor)
        before, inliers = inliers, squares <= ransac.gate(sigma, 3)
        if np.array_equal(before, inliers):
            break
    return _described(data, parameters, inliers, sigma)


def _described(data: Array, parameters: Array, inliers: Mask, sigma: float) -> PivotFit | FitFailure:
    count = int(inliers.sum())
    if count < max(_LEAST, 0.3 * len(inliers)):
        return FitFailure(f"Only {count} of {len(inliers)} poses agree with one fixed point. Record again.")
    residuals = pivot_residuals(parameters[None], data)[0]
    matrix, right = _equations(*_poses(data), inliers.astype(float))
    tau = correlation_time(residuals, inliers, 2)
    shrunk = _shrunk(matrix, right, parameters, _turn_noise(data, inliers, parameters, sigma))
    values = np.linalg.eigvalsh(matrix)
    # A body that turned about one axis only leaves the point free along it.
    reach = max(float(np.linalg.norm(parameters[3:])), _NEAR)
    loose = sigma * float(np.sqrt(tau / max(values[0], 1e-300)))
    loose = float(np.hypot(loose, np.linalg.norm(shrunk[3:])))
    if values[0] <= 1e-12 * values[-1] or loose > min(_UNCERTAIN, _VAGUE * reach):
        return FitFailure(
            "The body turned about one axis only, or hardly at all: the fixed point could be anywhere along it. "
            "Turn it about two directions."
        )
    return PivotFit(
        inliers=frozen(inliers, bool),
        rms=float(np.sqrt((residuals[inliers] ** 2).mean())),
        noise=sigma,
        point=frozen(parameters[:3]),
        body_point=frozen(parameters[3:]),
        covariance=frozen(sigma**2 * tau * np.linalg.inv(matrix) + np.outer(shrunk, shrunk)),
    )


def _turn_noise(data: Array, inliers: Mask, parameters: Array, sigma: float) -> float:
    """Noise (rad) of the orientations: no more than neighbours differ by, or than the residuals leave room for."""
    R = _poses(data)[0][inliers]
    steps = float(np.median(((R[1:] - R[:-1]) ** 2).sum(axis=(1, 2)))) / (4.0 * chi2_median(3)) if len(R) > 1 else 0.0
    reach = float(np.linalg.norm(parameters[3:]))
    return float(np.sqrt(min(steps, 1.5 * (sigma / max(reach, 1e-9)) ** 2)))


def _shrunk(matrix: Array, right: Array, parameters: Array, turn_noise: float) -> Array:
    """How far (6,) noise of the orientations has drawn the points together: mean rotations are shorter for it.

    Infinite where the noise explains all of the turn.
    """
    longer = np.ones((6, 6))
    longer[:3, 3:] = longer[3:, :3] = 1.0 / max(1.0 - turn_noise**2, 0.5)
    if np.linalg.eigvalsh(matrix * longer)[0] <= 1e-12 * np.trace(matrix):
        return np.full(6, np.inf)
    return np.asarray(np.linalg.solve(matrix * longer, right * longer[:, 0]) - parameters)


def _equations(R: Array, p: Array, weights: Array) -> tuple[Array, Array]:
    """Normal equations of w = p + R·b over the last sample axis, for (w, b)."""
    wR = (weights[..., None, None] * R).sum(axis=-3)
    total = weights.sum(axis=-1)
    shape = total.shape
    matrix = np.zeros((*shape, 6, 6))
    matrix[..., :3, :3] = total[..., None, None] * np.eye(3)
    matrix[..., 3:, 3:] = matrix[..., :3, :3]
    matrix[..., :3, 3:] = -wR
    matrix[..., 3:, :3] = -np.swapaxes(wR, -1, -2)
    wp = weights[..., None] * p
    right = np.concatenate([wp.sum(axis=-2), -np.einsum("...nij,...ni->...j", R, wp)], axis=-1)
    return matrix, right
