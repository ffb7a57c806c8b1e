"""Robust generalised least squares over a time series of small residual vectors.

Every tip calibration has the same form: per pose a residual of a few components that is zero for a perfect
grip and whose covariance is the same for every pose, because it is expressed in the tracked body's own frame
(there the lever from the markers to the tip stands still). So the covariance is taken from the residuals
themselves. It needs no knowledge of how marker noise, orientation noise and play of the grip mix.
"""

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fitting.noise import chi2_quantile

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FLOOR = 1e-7
"""Smallest standard deviation of a residual (m or rad): keeps noise-free data solvable."""
_GATE = 0.9995
"""Share of good samples that the outlier gate lets through."""

_HIDDEN = 0.15
"""Share of a slip's course that the fit must leave for it to be told."""


class Model(Protocol):
    """A parametric description of a take that can be refined."""

    @property
    def groups(self) -> tuple[slice, ...]:
        """Channels of the residual in which the grip plays alike."""
        ...

    def residuals(self) -> Array:
        """Residuals (n, k), zero for a perfect take."""
        ...

    def jacobian(self) -> Array:
        """Derivative (n, k, p) of the residuals by the local parameters."""
        ...

    def moved(self, step: Array) -> Self:
        """Return the model with the local parameters moved by ``step`` (p,)."""
        ...


M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Estimate(Generic[M]):
    """A refined model, and which samples it explains."""

    model: M
    inliers: Mask
    """(n,) samples that agree with the model."""
    residual_covariance: Array
    """(k, k) of a single sample's residual."""

    @property
    def slow_share(self) -> Array:
        """(k, k) part of ``residual_covariance`` that neighbours have in common: play and slip instead of marker
        noise."""
        changes = np.diff(self.model.residuals()[self.inliers], axis=0)
        fast = changes.T @ changes / (2.0 * max(len(changes), 1))
        values, vectors = np.linalg.eigh(self.residual_covariance - fast)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def refine(model: M, start: Mask | None = None) -> Estimate[M]:
    """Fit ``model`` to its samples, leaving out those that contradict the majority.

    Up to nearly half of the samples may be outliers. ``start`` marks samples that are known to be bad with
    False.
    """
    usable = np.ones(len(model.residuals()), dtype=bool) if start is None else start
    model, scatter = _concentrate(model, usable)
    k = scatter.shape[0]
    gate = chi2_quantile(k, _GATE)
    inliers = usable & (_distances(model.residuals(), scatter) < gate)
    for _ in range(25):
        step, _ = _solve(model, scatter, inliers)
        model = model.moved(step)
        residuals = model.residuals()
        scatter = _scatter(residuals[inliers], model.jacobian().shape[2])
        agreeing = usable & (_distances(residuals, scatter) < gate)
        if np.array_equal(agreeing, inliers) and float(np.max(np.abs(step))) < 1e-9:
            break
        inliers = agreeing
    return Estimate(model, inliers, scatter)


def trend(estimate: Estimate[M]) -> Array:
    """How far (f, k) the residuals slid or jumped over the take, by several courses: play comes back, a slip does not.

    The fit bends towards a slip and hides part of it: what is missing is made good, as far as the course can be told
    from another model.
    """
    used = estimate.inliers
    whitener = _whitener(estimate.residual_covariance)
    rows, residuals = whitener @ estimate.model.jacobian()[used], estimate.model.residuals()[used] @ whitener.T
    inverse = np.linalg.pinv(np.einsum("nkp,nkq->pq", rows, rows), rcond=1e-14, hermitian=True)
    gradient = inverse @ np.einsum("nkp,nk->p", rows, residuals)
    found = []
    for course in _courses(len(residuals)):
        across = np.einsum("n,nkp->kp", course, rows)
        size = float(course @ course)
        left = size * (1.0 + _HIDDEN) * np.eye(len(whitener)) - across @ inverse @ across.T
        value = course @ residuals - across @ gradient
        found.append(np.linalg.solve(whitener, np.linalg.solve(left, value)))
    return np.array(found)


def _courses(n: int) -> Array:
    """Slides and jumps (f, n) by one, about their mean."""
    time = np.linspace(0.0, 1.0, n)
    courses = np.array([time, *[time > when for when in (0.35, 0.5, 0.65)]], dtype=float)
    return np.asarray(courses - courses.mean(axis=1, keepdims=True))


def _concentrate(model: M, usable: Mask) -> tuple[M, Array]:
    """Fit the better half again and again; its spread, scaled up by its median, is a robust start."""
    k = model.residuals().shape[1]
    half = max(int(0.5 * np.count_nonzero(usable)) + 1, k + 2)
    scatter = np.diag(np.maximum(np.median(np.abs(model.residuals()[usable]), axis=0) * 1.4826, FLOOR) ** 2)
    for _ in range(12):
        distances = np.where(usable, _distances(model.residuals(), scatter), np.inf)
        best = np.zeros_like(usable)
        best[np.argsort(distances, kind="stable")[:half]] = True
        best &= usable
        step, _ = _solve(model, scatter, best)
        model = model.moved(step)
        residuals = model.residuals()
        scatter = _scatter(residuals[best], 0)
        middle = float(np.median(_distances(residuals[usable], scatter)))
        scatter = scatter * max(middle / chi2_quantile(k, 0.5), 1e-6)
        if float(np.max(np.abs(step))) < 1e-7:
            break
    return model, scatter


def _scatter(residuals: Array, parameters: int) -> Array:
    n, k = residuals.shape
    scatter = residuals.T @ residuals / max(n - parameters / k, 1.0)
    return np.asarray(scatter + FLOOR**2 * np.eye(k))


def _whitener(scatter: Array) -> Array:
    """Matrix whose rows turn a residual into independent channels of unit variance."""
    values, vectors = np.linalg.eigh(scatter)
    return np.asarray((vectors / np.sqrt(np.maximum(values, FLOOR**2))).T)


def _distances(residuals: Array, scatter: Array) -> Array:
    return np.asarray(np.sum((residuals @ _whitener(scatter).T) ** 2, axis=1))


def _solve(model: Model, scatter: Array, inliers: Mask) -> tuple[Array, Array]:
    whitener = _whitener(scatter)
    jacobian = whitener @ model.jacobian()[inliers]
    residuals = model.residuals()[inliers] @ whitener.T
    information = np.einsum("nkp,nkq->pq", jacobian, jacobian)
    gradient = np.einsum("nkp,nk->p", jacobian, residuals)
    return -np.linalg.lstsq(information, gradient, rcond=1e-14)[0], information
