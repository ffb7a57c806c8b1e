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

from fitting.noise import chi2_quantile

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FLOOR = 1e-7
"""Smallest standard deviation of a residual (m or rad): keeps noise-free data solvable."""
_GATE = 0.9995
"""Share of good samples that the outlier gate lets through."""
_ROUNDS = 8
"""Times that the description of the noise is renewed."""
_SLOWEST = 0.99
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
    covariance, slow = _honest_covariance(model, scatter, inliers)
    return Estimate(model, inliers, covariance, scatter, slow)


def trend(estimate: Estimate[M]) -> Array:
    """Difference (k,) between the mean residuals of the last and the first quarter: play comes back, a slip
    does not."""
    residuals = estimate.model.residuals()[estimate.inliers]
    quarter = max(len(residuals) // 4, 1)
    return np.asarray(residuals[-quarter:].mean(axis=0) - residuals[:quarter].mean(axis=0))


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
        scatter = scatter * max(middle / chi2_quantile(k, 0.5), 1e-6)
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
    """Covariance of the parameters, and the slow part of the residuals, under noise that is correlated in
    time.

    The fit swallows part of the noise, most of all its slow part, so that the residuals look smaller and
    whiter than the noise is. What it swallows on average follows from the model of the noise; it is added
    back, and the model renewed, until both agree.
    """
    whitener = _whitener(scatter)
    jacobian = (whitener @ model.jacobian()) * inliers[:, None, None]
    channels = (model.residuals() @ whitener.T) * inliers[:, None]
    n, k, p = jacobian.shape
    inverse = np.linalg.pinv(np.einsum("nkp,nkq->pq", jacobian, jacobian), rcond=1e-14, hermitian=True)
    lags = max(n // 3, 2)
    pairs = np.maximum(_products(inliers[:, None].astype(float), inliers[:, None].astype(float), lags), 1.0)
    found = np.stack([_products(channels[:, [c]], channels[:, [c]], lags) for c in range(k)])
    noises = _describe(found / pairs, n)
    covariance = inverse
    for _ in range(_ROUNDS):
        spread = [noise.applied(jacobian[:, c]) * inliers[:, None] for c, noise in enumerate(noises)]
        middle = sum((jacobian[:, c].T @ spread[c] for c in range(k)), np.zeros((p, p)))
        covariance = inverse @ middle @ inverse
        swallowed = np.zeros_like(found)
        for c in range(k):
            rows = jacobian[:, c]
            swallowed[c] = (
                _products(rows @ inverse, spread[c], lags)
                + _products(spread[c] @ inverse, rows, lags)
                - _products(rows @ covariance, rows, lags)
            )
        renewed = _describe((found + swallowed) / pairs, n)
        settled = all(new.near(old) for new, old in zip(renewed, noises, strict=True))
        noises = renewed
        if settled:
            break
    count = int(np.count_nonzero(inliers))
    independent = min(noise.independent(count) for noise in noises) - p / k
    # The (k, k) scatter is itself known from so many samples only (the same factor as in Hotelling's test);
    # the
    # slowest channel is the one that matters for the parameters.
    widening = 1.0 + (k + 1.0) / max(independent - k - 1.0, 4.0)
    unwhitener = np.linalg.inv(whitener)
    slow = np.diag([noise.variance * noise.share for noise in noises])
    return covariance * widening, unwhitener @ slow @ unwhitener.T


@dataclass(frozen=True)
class Noise:
    """A white part and one whose correlation decays exponentially from sample to sample."""

    variance: float
    share: float
    """Part of the variance that is correlated, 0 to 1."""
    decay: float
    """Correlation between neighbours of that part, 0 to 0.99."""

    def applied(self, rows: Array) -> Array:
        """Multiply the covariance of the series with rows (n, p)."""
        past, future = _decaying(rows, self.decay), _decaying(rows[::-1], self.decay)[::-1]
        return np.asarray(self.variance * (rows + self.share * (past + future)))

    def near(self, other: "Noise") -> bool:
        """Whether both say the same to a percent."""
        longer, shorter = (1.0 + 2.0 * n.share * n.decay / (1.0 - n.decay) for n in (self, other))
        return abs(self.variance / other.variance - 1.0) < 0.01 and abs(longer / shorter - 1.0) < 0.01

    def independent(self, n: int) -> float:
        """As many independent samples would know the variance as well as ``n`` of these."""
        squared = self.decay**2
        return n / (1.0 + 2.0 * self.share**2 * squared / (1.0 - squared))


def _decaying(rows: Array, decay: float) -> Array:
    """Sums (n, p) over all earlier rows, each weighted by the decay to the power of its distance."""
    sums = np.zeros_like(rows)
    sums[1:] = decay * rows[:-1]
    # Each round doubles how far the sums reach back, until what is further away has decayed below rounding.
    reach, weight = 1, decay
    while reach < len(rows) and abs(weight) > 1e-18:
        sums[reach:] += weight * sums[:-reach]
        reach, weight = 2 * reach, weight * weight
    return sums


def _describe(autocovariances: Array, n: int) -> list[Noise]:
    """Describe series by their autocovariances (k, lags); the slow parts of all share one decay, that of the
    hand."""
    variances = np.maximum(autocovariances[:, 0], _FLOOR)
    rho = autocovariances[:, 1:] / variances[:, None]
    significance = 2.0 / np.sqrt(n)
    # Channels count by how correlated they are: white ones say nothing about the decay.
    weights = np.clip(rho[:, :3].mean(axis=1), 0.0, 1.0) ** 2
    if weights.max() < significance**2:
        return [Noise(float(v), 0.0, 0.0) for v in variances]
    common = weights @ rho / weights.sum()
    insignificant = np.flatnonzero(common < significance)
    length = int(insignificant[0]) if insignificant.size else len(common)
    if length < 2:
        decay = float(np.clip(common[0], 0.0, 0.5))
    else:
        head, tail = common[: length - 1], common[1:length]
        decay = float(np.clip(head @ tail / (head @ head), 0.05, _SLOWEST))
    powers = decay ** np.arange(1, max(length, 1) + 1)
    shares = rho[:, : len(powers)] @ powers / (powers @ powers)
    shares = np.where(shares > significance / np.sqrt(powers @ powers), np.clip(shares, 0.0, 1.0), 0.0)
    return [Noise(float(v), float(share), decay) for v, share in zip(variances, shares, strict=True)]


def _products(first: Array, second: Array, lags: int) -> Array:
    """Sum over i and columns of ``first[i] · second[i + lag]`` for each lag, from two series (n, p)."""
    size = 1 << int(len(first) + lags - 1).bit_length()  # room for the lags, so that the ends do not meet
    spectra = np.conj(np.fft.rfft(first, size, axis=0)) * np.fft.rfft(second, size, axis=0)
    return np.asarray(np.fft.irfft(spectra.sum(axis=1), size)[:lags])
