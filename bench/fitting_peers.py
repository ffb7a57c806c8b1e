"""Public fitters and the source's method, each called as its documentation says, behind one signature."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from fitting import fit_circle, fit_line
from fitting.se3 import Array
from ident.study import source_method as source

Axis = tuple[Array, Array] | None
"""A point and a unit direction, or nothing."""
Peer = Callable[[Array, int], Axis]


def circle_peers() -> dict[str, Peer]:
    """Fitters of a circle in space: points (n, 3) and a seed to centre and axis."""
    return {
        "fitting.fit_circle": _ours,
        "source's method (3.2.5)": _source,
        "scikit-image ransac, 3-D circle": _skimage,
        "scikit-learn RANSACRegressor, plane then circle": _sklearn,
        "scikit-learn RANSACRegressor, 3-D circle, 100 trials": partial(_sklearn_circle, stop=1.0),
        "scikit-learn RANSACRegressor, 3-D circle, stops early": _sklearn_circle,
        "pyransac3d Circle, with a refit": _pyransac,
        **({"Open3D segment_plane, then a circle in it": _open3d} if _importable("open3d") else {}),
        "least squares: PCA + Kåsa": _plain,
    }


def line_peers() -> dict[str, Peer]:
    """Fitters of a line in space: points (n, 3) and a seed to point and direction."""
    return {
        "fitting.fit_line": _ours_line,
        "source's method (3.2.5)": _source_line,
        "scikit-image ransac, LineModelND": _skimage_line,
        "pyransac3d Line, with a refit": _pyransac_line,
        "least squares: SVD": _plain_line,
    }


THRESHOLD = 2e-3
"""Metres: what the peers are told to take for an inlier."""


def _ours(points: Array, seed: int) -> Axis:
    fit = fit_circle(points, rng=seed)
    return (fit.center, fit.axis) if fit else None


def _source(points: Array, seed: int) -> Axis:
    fit = source.fit_circle(points, np.random.default_rng(seed))
    return fit.point, fit.direction


def _plain(points: Array, seed: int) -> Axis:
    fit = source.fit_circle(points, np.random.default_rng(seed), robust=False)
    return fit.point, fit.direction


def _importable(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


class Circle3D:
    """The 3-D circle that a user of scikit-image writes for ``ransac``."""

    def __init__(self, center: Array, axis: Array, radius: float) -> None:
        self.center, self.axis, self.radius = center, axis, radius

    @classmethod
    def from_estimate(cls, data: Array) -> "Circle3D | None":
        mean = data.mean(axis=0)
        u, v, axis = np.linalg.svd(data - mean, full_matrices=False)[2]
        x, y = (data - mean) @ u, (data - mean) @ v
        solution, *_ = np.linalg.lstsq(np.stack([x, y, np.ones_like(x)], axis=1), x * x + y * y, rcond=None)
        center = 0.5 * solution[:2]
        return cls(mean + center[0] * u + center[1] * v, axis, float(np.sqrt(solution[2] + center @ center)))

    def residuals(self, data: Array) -> Array:
        arms = data - self.center
        heights = arms @ self.axis
        radii = np.linalg.norm(arms - heights[:, None] * self.axis, axis=1)
        return np.hypot(radii - self.radius, heights)


def _skimage(points: Array, seed: int) -> Axis:
    from skimage.measure import ransac

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = ransac(points, Circle3D, 3, THRESHOLD, max_trials=100, rng=seed)
    return (model.center, model.axis) if model else None


def _sklearn(points: Array, seed: int) -> Axis:
    """A plane by RANSACRegressor in principal coordinates, then a circle by RANSACRegressor in the plane."""
    from sklearn.linear_model import LinearRegression, RANSACRegressor

    def robust(design: Array, target: Array, threshold: float) -> Any:
        return RANSACRegressor(
            LinearRegression(), min_samples=design.shape[1] + 1, residual_threshold=threshold, random_state=seed
        ).fit(design, target)

    try:
        mean = np.median(points, axis=0)
        frame = np.linalg.svd(points - mean, full_matrices=False)[2]
        x, y, z = ((points - mean) @ frame.T).T
        plane = robust(np.stack([x, y], axis=1), z, THRESHOLD)
        a, b = plane.estimator_.coef_
        axis = np.array([-a, -b, 1.0]) / np.sqrt(a * a + b * b + 1.0)
        u = np.cross([0.0, 1.0, 0.0], axis)
        u /= np.linalg.norm(u)
        v = np.cross(axis, u)
        origin = np.array([0.0, 0.0, float(plane.estimator_.intercept_)])
        flat = (np.stack([x, y, z], axis=1) - origin)[plane.inlier_mask_]
        s, t = flat @ u, flat @ v
        size = float(np.median(np.hypot(s - np.median(s), t - np.median(t)))) or 1.0
        circle = robust(np.stack([s, t], axis=1), s * s + t * t, 2.0 * size * THRESHOLD)
        c0, c1 = 0.5 * circle.estimator_.coef_
        return mean + frame.T @ (origin + c0 * u + c1 * v), frame.T @ axis
    except ValueError:
        return None


def _sklearn_circle(points: Array, seed: int, stop: float = 0.99) -> Axis:
    """RANSACRegressor around the 3-D circle, which as an estimator says how far each point is from it.

    stop: probability of a good trial at which it stops; 0.99 is its default and means a dozen trials.
    """
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.linear_model import RANSACRegressor

    class Estimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Array, y: Array) -> "Estimator":  # noqa: ARG002
            self.circle_ = Circle3D.from_estimate(X)
            return self

        def predict(self, X: Array) -> Array:
            return np.asarray(self.circle_.residuals(X)) if self.circle_ else np.full(len(X), np.inf)

        def score(self, X: Array, y: Array) -> float:
            return -float(np.mean((self.predict(X) - y) ** 2))

    ransac = RANSACRegressor(
        Estimator(), min_samples=3, residual_threshold=THRESHOLD, stop_probability=stop, random_state=seed
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            circle = ransac.fit(points, np.zeros(len(points))).estimator_.circle_
    except ValueError:
        return None
    return (circle.center, circle.axis) if circle else None


def _pyransac(points: Array, seed: int) -> Axis:
    import random

    import pyransac3d

    random.seed(seed)
    # Three of a thousand points in one row or column of its own frame divide by zero there.
    with np.errstate(all="ignore"):
        *_, inliers = pyransac3d.Circle().fit(points, thresh=THRESHOLD, maxIteration=200)
    return _refitted(points[inliers])


def _open3d(points: Array, seed: int) -> Axis:
    import open3d

    open3d.utility.random.seed(seed)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    _, inliers = cloud.segment_plane(THRESHOLD, 3, 200)
    return _refitted(points[inliers])


def _refitted(points: Array) -> Axis:
    circle = Circle3D.from_estimate(points) if len(points) > 2 else None
    return (circle.center, circle.axis) if circle else None


def _ours_line(points: Array, seed: int) -> Axis:
    fit = fit_line(points, rng=seed)
    return (fit.point, fit.direction) if fit else None


def _source_line(points: Array, seed: int) -> Axis:
    fit = source.fit_line(points, np.random.default_rng(seed))
    return fit.point, fit.direction


def _plain_line(points: Array, seed: int) -> Axis:  # noqa: ARG001
    mean = points.mean(axis=0)
    return mean, np.linalg.svd(points - mean, full_matrices=False)[2][0]


def _skimage_line(points: Array, seed: int) -> Axis:
    from skimage.measure import LineModelND, ransac

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, inliers = ransac(points, LineModelND, 2, THRESHOLD, max_trials=100, rng=seed)
    return _plain_line(points[inliers], seed) if model else None


def _pyransac_line(points: Array, seed: int) -> Axis:
    import random

    import pyransac3d

    random.seed(seed)
    _, _, inliers = pyransac3d.Line().fit(points, thresh=THRESHOLD, maxIteration=200)
    return _plain_line(points[inliers], seed) if len(inliers) > 2 else None
