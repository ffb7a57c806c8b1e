"""A one-dimensional joint without a formula: a smooth path of frames, for what no other joint explains."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fitting import checks
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.repeats import told_once
from fitting.result import Fit, FitFailure, Mask, frozen
from fitting.rigid import mean_rotation
from fitting.se3 import Array, exp, inverse, log

_LEAST = 20
_SUPPORT, _TOGETHER = 120, 3
"""Medians that the Gaussian process sees at most, since its cost grows with their cube; samples in each at least."""
_GRID = 65
_ALIKE = 1e-5
"""Share of a logarithm of likelihood that does not matter."""
_FEW = 0.05
"""Share of the samples that may come or go without another look at how smooth the path is."""
_LEVER = 0.1
"""Metres: turns are compared with moves as if seen at the end of such a lever."""


@dataclass(frozen=True)
class FreeFit(Fit):
    """A path of frames over one coordinate (m along the principal direction; a radian counts as 0.1 m)."""

    mean: Array
    """Mean frame (4, 4), body to world, at which the twists are taken."""
    grid: Array
    """Coordinates (k,) at which the path is given, ascending."""
    twists: Array
    """(k, 6) twists ``[v, ω]`` in the mean frame, metres and radians."""
    deviation: Array
    """(k,) standard deviation (m) of the path at the grid."""
    coordinates: Array
    """The coordinate of each sample (n,)."""

    def pose(self, coordinate: float) -> Array:
        """The frame (4, 4), body to world, at a coordinate; beyond the ends it stays there."""
        twist = [np.interp(coordinate, self.grid, column) for column in self.twists.T]
        return np.asarray(self.mean @ exp(np.array(twist)))


@told_once
def fit_free(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> FreeFit | FitFailure:
    """Fit a smooth one-dimensional path to poses (n, 4, 4), body to world, metres; a list of takes is taken as one.

    A Gaussian process over the principal coordinate of the poses, from which outliers are taken out step by step.
    """
    takes = checks.as_pose_takes(poses)
    if isinstance(takes, FitFailure):
        return takes
    noise, _ = checks.as_noise(noise), checks.generator(rng)
    samples = np.concatenate(takes)
    if len(samples) < _LEAST:
        return checks.too_few(len(samples), _LEAST, "a free joint")
    mean = np.eye(4)
    mean[:3, :3] = mean_rotation(samples[:, :3, :3])
    mean[:3, 3] = np.median(samples[:, :3, 3], axis=0)
    scale = np.array([1.0, 1.0, 1.0, _LEVER, _LEVER, _LEVER])
    features = log(inverse(mean) @ samples) * scale
    inliers = _near(features)
    coordinate, kernel = np.zeros(len(samples)), None
    for _ in range(3):
        if inliers.sum() < _LEAST // 2:
            return _scattered(inliers)
        coordinate = _principal(features, inliers)
        if np.ptp(coordinate[inliers]) <= 1e-9:
            return FitFailure("The poses do not move. Move the joint further.")
        path = _path(coordinate, features, inliers, kernel)
        residuals = features - path.at(coordinate)
        sigma = noise or max(float(np.sqrt(np.median((residuals[inliers] ** 2).sum(axis=1)) / 4.35)), 1e-9)
        before, inliers = inliers, (residuals**2).sum(axis=1) <= sigma**2 * chi2_quantile(5, GATE)
        changed = np.count_nonzero(before != inliers)
        if changed == 0:
            break
        # A few samples do not change how smooth the path is, which takes longest to find out.
        kernel = path.process.kernel_ if changed < _FEW * len(inliers) else None
    if inliers.sum() < _LEAST // 2:
        return _scattered(inliers)
    return FreeFit(
        inliers=frozen(inliers, bool),
        rms=float(np.sqrt((residuals[inliers, :3] ** 2).mean())),
        noise=sigma,
        mean=frozen(mean),
        grid=frozen(path.grid),
        twists=frozen(path.features / scale),
        deviation=frozen(path.deviation),
        coordinates=frozen(coordinate),
    )


def _scattered(inliers: Mask) -> FitFailure:
    return FitFailure(f"Only {int(inliers.sum())} of {len(inliers)} poses lie on one smooth path.")


@dataclass(frozen=True)
class _Path:
    grid: Array
    features: Array
    process: Any
    """The Gaussian process, over the ``scaled`` grid, in units of ``size`` metres."""
    scaled: Array
    size: float

    @property
    def deviation(self) -> Array:
        with _one_thread():
            _, deviation = self.process.predict(self.scaled, return_std=True)
        return np.asarray(deviation).reshape(_GRID, -1)[:, 0] * self.size

    def at(self, coordinate: Array) -> Array:
        return np.stack([np.interp(coordinate, self.grid, column) for column in self.features.T], axis=1)


def _near(features: Array) -> Mask:
    """Samples within a few spreads of the median in every component: a start without the gross outliers."""
    offset = np.abs(features - np.median(features, axis=0))
    spread = np.maximum(np.median(offset, axis=0), 0.2 * np.median(offset, axis=0).max())
    return np.asarray((offset <= 6.0 * np.maximum(spread, 1e-9)).all(axis=1))


def _principal(features: Array, inliers: Mask) -> Array:
    center = features[inliers].mean(axis=0)
    offset = features[inliers] - center
    direction = np.linalg.eigh(offset.T @ offset)[1][:, -1]
    coordinate = (features - center) @ direction
    inner = coordinate[inliers]
    return np.asarray(coordinate if inner[-1] >= inner[0] else -coordinate)


@cache
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _one_thread() -> Any:
    """Linear algebra in one thread: with matrices as small as these, several wait for each other."""
    return _threads().limit(limits=1, user_api="blas")


def _likeliest(objective: Callable[..., Any], start: Array, bounds: Array) -> tuple[Array, float]:
    """The kernel's parameters with the least ``objective``, as well as such a likelihood can tell them."""
    from scipy.optimize import minimize

    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"ftol": _ALIKE})
    return found.x, found.fun


def _path(coordinate: Array, features: Array, inliers: Mask, kernel: Any) -> _Path:
    """Gaussian process through medians of samples that are neighbours along the coordinate.

    kernel: how smooth it is; None: to be found.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    order = np.flatnonzero(inliers)[np.argsort(coordinate[inliers], kind="stable")]
    together = max(-(-len(order) // _SUPPORT), min(_TOGETHER, len(order) // _LEAST), 1)
    count = len(order) // together
    groups = order[(np.arange(count) * len(order) // count)[:, None] + np.arange(together)]
    u, y = np.median(coordinate[groups], axis=1), np.median(features[groups], axis=1)
    middle, length = u.mean(), max(float(np.ptp(u)), 1e-9)
    offset = y.mean(axis=0)
    size = max(float(np.abs(y - offset).max()), 1e-9)
    process = (
        GaussianProcessRegressor(kernel, optimizer=None)
        if kernel
        else GaussianProcessRegressor(RBF(0.5, (0.05, 10.0)) + WhiteKernel(1e-4, (1e-10, 1.0)), optimizer=_likeliest)
    )
    grid = np.linspace(u[0], u[-1], _GRID)
    scaled = (grid - middle)[:, None] / length
    with warnings.catch_warnings(), _one_thread():
        # A length scale or noise at its bound is a straight or an exact path: both are fine.
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit((u - middle)[:, None] / length, (y - offset) / size)
        value = np.asarray(process.predict(scaled))
    return _Path(grid, value * size + offset, process, scaled, size)
