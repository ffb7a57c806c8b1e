"""Robust generalised least squares over a time series of small residual vectors, with an honest covariance.

Every tip calibration has the same form: per pose a residual of a few components that is zero for a perfect
grip and whose covariance is the same for every pose, because it is expressed in the tracked body's own frame
(there the lever from the markers to the tip stands still). So the covariance is taken from the residuals
themselves. It needs no knowledge of how marker noise, orientation noise and play of the grip mix.

Neighbouring residuals are correlated (play is slow, cameras filter). The autocorrelation of each independent
channel is described by a white part and an exponential one, and widens the stated covariance accordingly.
"""

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import chi2

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FLOOR = 1e-7
"""Smallest standard deviation of a residual (m or rad): keeps noise-free data solvable."""
_GATE = 0.9995
"""Share of good samples that the outlier gate lets through."""
_SLOWEST = 0.995
"""Largest correlation between neighbouring samples that is believed; beyond it a take cannot tell drift from
play."""


class Model(Protocol):
    """A parametric description of a take that can be refined."""

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
    """A refined model, which samples it explains, and how well it is known."""

    model: M
    inliers: Mask
    """(n,) samples that agree with the model."""
    covariance: Array
    """(p, p) of the model's local parameters."""
    residual_covariance: Array
    """(k, k) of a single sample's residual."""
    slow_share: Array
    """(k, k) part of ``residual_covariance`` that is correlated in time: play and slip instead of marker
    noise."""


def refine(model: M, start: Mask | None = None) -> Estimate[M]:
    """Fit ``model`` to its samples, leaving out those that contradict the majority.

    Up to nearly half of the samples may be outliers. ``start`` marks samples that are known to be bad with
    False.
    """
    usable = np.ones(len(model.residuals()), dtype=bool) if start is None else start
    model, scatter = _concentrate(model, usable)
    k = scatter.shape[0]
    gate = float(chi2.ppf(_GATE, k))
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
    covariance, slow = _honest_covariance(model, scatter, inliers)
    return Estimate(model, inliers, covariance, scatter, slow)


def _concentrate(model: M, usable: Mask) -> tuple[M, Array]:
    """Fit the better half again and again; its spread, scaled up by its median, is a robust start."""
    k = model.residuals().shape[1]
    half = max(int(0.5 * np.count_nonzero(usable)) + 1, k + 2)
    scatter = np.diag(np.maximum(np.median(np.abs(model.residuals()[usable]), axis=0) * 1.4826, _FLOOR) ** 2)
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
        scatter = scatter * max(middle / float(chi2.ppf(0.5, k)), 1e-6)
        if float(np.max(np.abs(step))) < 1e-7:
            break
    return model, scatter


def _scatter(residuals: Array, parameters: int) -> Array:
    n, k = residuals.shape
    scatter = residuals.T @ residuals / max(n - parameters / k, 1.0)
    return np.asarray(scatter + _FLOOR**2 * np.eye(k))


def _whitener(scatter: Array) -> Array:
    """Matrix whose rows turn a residual into independent channels of unit variance."""
    values, vectors = np.linalg.eigh(scatter)
    return np.asarray((vectors / np.sqrt(np.maximum(values, _FLOOR**2))).T)


def _distances(residuals: Array, scatter: Array) -> Array:
    return np.asarray(np.sum((residuals @ _whitener(scatter).T) ** 2, axis=1))


def _solve(model: Model, scatter: Array, inliers: Mask) -> tuple[Array, Array]:
    whitener = _whitener(scatter)
    jacobian = whitener @ model.jacobian()[inliers]
    residuals = model.residuals()[inliers] @ whitener.T
    information = np.einsum("nkp,nkq->pq", jacobian, jacobian)
    gradient = np.einsum("nkp,nk->p", jacobian, residuals)
    return -np.linalg.lstsq(information, gradient, rcond=1e-14)[0], information


def _honest_covariance(model: Model, scatter: Array, inliers: Mask) -> tuple[Array, Array]:
    whitener = _whitener(scatter)
    channels = model.residuals() @ whitener.T
    jacobian = (whitener @ model.jacobian()) * inliers[:, None, None]
    information = np.einsum("nkp,nkq->pq", jacobian, jacobian)
    p = information.shape[0]
    middle = np.zeros((p, p))
    slow = np.zeros(len(scatter))
    for c in range(len(scatter)):
        share, decay = correlation(channels[:, c], inliers)
        rows = jacobian[:, c]
        past = lfilter([0.0, decay], [1.0, -decay], rows, axis=0)
        cross = share * rows.T @ past
        # The fit swallows part of what varies as slowly as the take itself; give that part back.
        lost = p / len(scatter) * (1.0 + 2.0 * share * decay / (1.0 - decay)) / np.count_nonzero(inliers)
        middle += (rows.T @ rows + cross + cross.T) / max(1.0 - lost, 0.2)
        slow[c] = share
    inverse = np.linalg.pinv(information, rcond=1e-14, hermitian=True)
    unwhitener = np.linalg.inv(whitener)
    return inverse @ middle @ inverse, unwhitener @ np.diag(slow) @ unwhitener.T


def correlation(channel: Array, inliers: Mask) -> tuple[float, float]:
    """Describe the autocorrelation of a series by ``share · decay^lag``; (0, 0) where it looks white.

    Returns
    -------
    share
        Part of the variance that is correlated, 0 to 1.
    decay
        Correlation between neighbours of that part, 0 to 0.995.
    """
    values = np.where(inliers, channel, 0.0)
    size = 1 << int(2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(values, size)
    weights = np.fft.rfft(inliers.astype(float), size)
    last = max(len(values) // 2, 2)
    pairs = np.fft.irfft(np.abs(weights) ** 2, size)[:last]
    rho = np.fft.irfft(np.abs(spectrum) ** 2, size)[:last] / np.maximum(pairs, 1.0)
    if rho[0] <= 0.0:
        return 0.0, 0.0
    rho = rho[1:] / rho[0]
    insignificant = np.flatnonzero(rho < 2.0 / np.sqrt(np.count_nonzero(inliers) + 1))
    length = int(insignificant[0]) if insignificant.size else len(rho)
    if length == 0:
        return 0.0, 0.0
    if length == 1:
        return float(np.clip(rho[0], 0.0, 1.0)), float(np.clip(rho[0], 0.0, _SLOWEST))
    head, tail = rho[: length - 1], rho[1:length]
    decay = float(np.clip(head @ tail / (head @ head), 0.05, _SLOWEST))
    powers = decay ** np.arange(1, length + 1)
    share = float(np.clip(powers @ rho[:length] / (powers @ powers), 0.0, 1.0))
    return share, decay
