"""A rigid relation: the mean frame on SE(3), robustly. What a gripper on a fixed handle holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting import checks
from fitting.agreement import SMALLEST_TURN, Noise, weighed
from fitting.noise import chi2_median, chi2_quantile, correlation_time
from fitting.ransac import GATE, QUANTILE, smallest_noise
from fitting.result import Fit, FitFailure, frozen
from fitting.se3 import Array, frame, rotation_exp, rotation_log

_LEAST = 3
_SUBSET = 64


@dataclass(frozen=True)
class RigidFit(Fit):
    """A mean frame (4, 4), body to world."""

    frame: Array
    orientation_noise: float
    """Standard deviation (rad) per axis of one orientation."""
    covariance: Array
    """(6, 6) of the frame: translation (m), then rotation vector in the world (rad)."""

    @property
    def point(self) -> Array:
        """Origin of the mean frame (m)."""
        return self.frame[:3, 3]

    @property
    def axis_std(self) -> float:
        """Standard deviation (rad) of the orientation: root of the trace of its covariance."""
        return float(np.sqrt(np.trace(self.covariance[3:, 3:])))

    @property
    def position_std(self) -> float:
        """Standard deviation (m) of the position, likewise."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3])))


def mean_rotation(rotations: Array) -> Array:
    """The rotation (3, 3) nearest to all of (n, 3, 3): least squares on SO(3) to within the noise, then exactly."""
    u, _, vt = np.linalg.svd(rotations.mean(axis=0))
    mean = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt)) or 1.0]) @ vt
    for _ in range(3):
        mean = rotation_exp(rotation_log(rotations @ mean.T).mean(axis=0)) @ mean
    return np.asarray(mean)


def fit_rigid(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> RigidFit | FitFailure:
    """Fit one frame to poses (n, 4, 4), body to world, metres; a list of takes is taken as one.

    ``rng`` is not needed (the fit has no chance in it) and stands here so that all fitters are called alike.
    """
    takes = checks.as_pose_takes(poses)
    if isinstance(takes, FitFailure):
        return takes
    noise, _ = checks.as_noise(noise), checks.generator(rng)
    samples = np.concatenate(takes)
    n = len(samples)
    if n < _LEAST:
        return checks.too_few(n, _LEAST, "a mean frame")
    R, p = samples[:, :3, :3], samples[:, :3, 3]
    floor = Noise(smallest_noise(p), SMALLEST_TURN)
    mean_p, mean_R, scale = _medoid(R, p, floor)
    inliers = np.ones(n, dtype=bool)
    residuals = np.zeros((n, 6))
    for _ in range(10):
        residuals = np.concatenate([p - mean_p, rotation_log(R @ mean_R.T)], axis=1)
        before = inliers
        inliers = weighed(residuals, scale) <= chi2_quantile(6, GATE)
        if inliers.sum() < _LEAST:
            return FitFailure(f"Only {int(inliers.sum())} of {n} poses agree with one frame.")
        mean_p = p[inliers].mean(axis=0)
        mean_R = rotation_exp(residuals[inliers, 3:].mean(axis=0)) @ mean_R
        scale = _scale(residuals, inliers, noise, floor)
        if np.array_equal(before, inliers):
            break
    residuals = np.concatenate([p - mean_p, rotation_log(R @ mean_R.T)], axis=1)
    inliers = weighed(residuals, scale) <= chi2_quantile(6, GATE)
    count = int(inliers.sum())
    if count < max(_LEAST, 0.3 * n):
        return FitFailure(f"Only {count} of {n} poses agree with one frame. Hold still and record again.")
    covariance = np.zeros((6, 6))
    for block, sigma in ((slice(0, 3), scale.position), (slice(3, 6), scale.orientation)):
        tau = correlation_time(residuals[:, block], inliers, 1)
        covariance[block, block] = np.eye(3) * sigma**2 * tau / count
    return RigidFit(
        inliers=frozen(inliers, bool),
        rms=float(np.sqrt((residuals[inliers, :3] ** 2).mean())),
        noise=scale.position,
        frame=frozen(frame(mean_R, mean_p)),
        orientation_noise=scale.orientation,
        covariance=frozen(covariance),
    )


def _medoid(R: Array, p: Array, floor: Noise) -> tuple[Array, Array, Noise]:
    """The sample nearest to most others, and the noise seen from it."""
    chosen = np.linspace(0, len(p) - 1, min(len(p), _SUBSET)).astype(int)
    p_squares = ((p[chosen, None] - p[None, chosen]) ** 2).sum(axis=2)
    o_squares = ((R[chosen, None] - R[None, chosen]) ** 2).sum(axis=(2, 3)) / 2.0
    rank = int(QUANTILE * len(chosen))
    # A difference of two samples has twice the variance of one.
    usual = 2.0 * chi2_quantile(3, QUANTILE)
    p_value = np.maximum(np.partition(p_squares, rank, axis=1)[:, rank] / usual, floor.position**2)
    o_value = np.maximum(np.partition(o_squares, rank, axis=1)[:, rank] / usual, floor.orientation**2)
    best = int(np.argmin(np.log(p_value) + np.log(o_value)))
    k = chosen[best]
    wide = 2.0
    return p[k], R[k], Noise(wide * float(np.sqrt(p_value[best])), wide * float(np.sqrt(o_value[best])))


def _scale(residuals: Array, inliers: Any, noise: float | None, floor: Noise) -> Noise:
    usual = chi2_median(3)
    p = float(np.sqrt(np.median((residuals[inliers, :3] ** 2).sum(axis=1)) / usual))
    o = float(np.sqrt(np.median((residuals[inliers, 3:] ** 2).sum(axis=1)) / usual))
    return Noise(noise or max(p, floor.position), max(o, floor.orientation))
