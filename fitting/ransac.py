"""One robust engine for all position models: hypotheses, scale, local optimisation, re-scoring after the refit.

A geometric model is one file with the three methods of ``Model``. The engine finds the samples that agree with
one set of parameters, and the noise level if it is not given.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fitting.noise import chi2_median, chi2_quantile, truncated_mean
from fitting.result import FitFailure, Mask
from fitting.se3 import Array

HYPOTHESES = 120
SUBSET = 180
"""Samples on which hypotheses are compared: enough to rank them, and independent of the take's length."""
QUANTILE = 0.36
"""Share of samples that a hypothesis must explain tightly: a little below the smallest share of inliers accepted."""
KEPT = 3
_CROWD = 0.5
WIDER = 1.5
GATE = 0.999
"""Probability with which a good sample stays inside the gate."""


class Model(Protocol):
    """A geometric model for the engine; data (n, 3) in metres, parameters any row vector."""

    sample_size: int
    """Samples that a hypothesis needs."""
    freedom: int
    """Residual components of a sample: 3 minus the model's own dimension."""

    def from_sample(self, data: Array, chosen: NDArray[np.int64]) -> Array:
        """Parameters (m, p) through the samples ``data[chosen]``, chosen (m, sample_size)."""
        ...

    def residuals(self, parameters: Array, data: Array) -> Array:
        """Squared distances (m, n) in m² for parameters (m, p)."""
        ...

    def refine(self, parameters: Array, data: Array, weights: Array, steps: int) -> Array:
        """Parameters (p,) that minimise the weighted sum of squared distances, starting from ``parameters``."""
        ...


@dataclass(frozen=True)
class Consensus:
    """Parameters, the squared distances (n,) of all samples from them, the noise (m) and who is inside the gate."""

    parameters: Array
    squares: Array
    noise: float
    inliers: Mask


def consensus(
    model: Model,
    data: Array,
    *,
    noise: float | None,
    rng: np.random.Generator,
    moving: Mask | None = None,
    pace: Array | None = None,
) -> Consensus | FitFailure:
    """Find the parameters with which the most samples agree; hypotheses come from the ``moving`` samples only.

    pace: (n + 1,) way up to each sample, 0 to 1, over which hypotheses and their judges spread evenly; None is time.
    """
    from fitting.kernels import best_quantiles

    pool = np.arange(len(data)) if moving is None else np.flatnonzero(moving)
    judges, chosen = spread(rng, len(pool), SUBSET), _stratified(rng, len(pool), model.sample_size)
    if pace is not None:
        way, evenly = pace[pool], np.linspace(pace[pool[0]], pace[pool[-1]], len(pool))
        judges, chosen = (np.searchsorted(way, evenly[places]) for places in (judges, chosen))
    subset = data[pool[judges]]
    parameters = model.from_sample(data, pool[chosen])
    squares = model.residuals(parameters, subset)
    rank = int(QUANTILE * len(subset))
    numbers, values = best_quantiles(squares, rank, KEPT)
    floor = smallest_noise(data)
    starts = []
    for number, value in zip(numbers, values, strict=True):
        if number < 0:
            continue
        start = noise or max(float(np.sqrt(value / chi2_quantile(model.freedom, QUANTILE))), floor)
        starts.append(_optimised(model, parameters[number], subset, start, noise, floor, rounds=1, steps=3))
    if not starts:
        return FitFailure("No hypothesis fits: the samples are all alike, or not numbers that can be fitted.")
    best = _best(starts, model.freedom)
    full = subset if len(subset) == len(data) else data
    found = _optimised(model, best.parameters, full, best.noise, noise, floor, rounds=2, steps=3)
    while noise is None and shoulder(found.squares / found.noise**2, chi2_quantile(model.freedom, GATE)):
        floor = WIDER * found.noise
        found = _optimised(model, found.parameters, full, floor, noise, floor, rounds=2, steps=3)
    if found.inliers.sum() < model.sample_size + 1:
        return FitFailure(f"Only {int(found.inliers.sum())} of {len(data)} samples agree with one another.")
    return found


def shoulder(squares: Array, limit: float) -> bool:
    """Whether so many samples lie just outside the gate that it is the gate which is too narrow.

    Part of a take may be much quieter than the rest (a pause); gross outliers do not crowd around the gate.
    """
    inside = np.count_nonzero(squares <= limit)
    return bool(np.count_nonzero(squares <= 9.0 * limit) > (1.0 + _CROWD) * inside)


def gate(noise: float, freedom: int) -> float:
    """Largest squared distance (m²) of a good sample."""
    return noise**2 * chi2_quantile(freedom, GATE)


def rms_noise(squares: Array, inliers: Mask, freedom: int, parameters: int, floor: float) -> float:
    """Noise (m) from the mean square of the inliers: more precise than the median, corrected for the gate."""
    freedoms = max(freedom * int(inliers.sum()) - parameters, 1)
    mean = float(squares[inliers].sum()) / freedoms / (truncated_mean(freedom, GATE) / freedom)
    return max(float(np.sqrt(mean)), floor)


def smallest_noise(data: Array) -> float:
    """Noise (m) below which rounding takes over: exact data have no other scale."""
    return 1e-9 * max(float(np.abs(data).max(initial=0.0)), 1e-3)


def _optimised(
    model: Model,
    parameters: Array,
    data: Array,
    scale: float,
    noise: float | None,
    floor: float,
    *,
    rounds: int,
    steps: int,
) -> Consensus:
    from fitting.kernels import gated_noise

    limit, usual = chi2_quantile(model.freedom, GATE), chi2_median(model.freedom)
    squares = model.residuals(parameters[None], data)[0]
    inliers = squares <= limit * scale**2
    for _ in range(rounds):
        before = inliers
        parameters = model.refine(parameters, data, inliers.astype(float), steps)
        squares = model.residuals(parameters[None], data)[0]
        if noise is None:
            scale = gated_noise(squares, scale, limit, usual, floor)
        inliers = squares <= limit * scale**2
        if np.count_nonzero(before ^ inliers) <= len(data) // 500:
            break
    return Consensus(parameters, squares, scale, inliers)


def _best(found: list[Consensus], freedom: int) -> Consensus:
    """The smallest truncated cost at one common noise level: the smallest that a well-supported one has."""
    most = max(int(f.inliers.sum()) for f in found)
    common = min(f.noise for f in found if f.inliers.sum() >= 0.7 * most)
    return min(found, key=lambda f: float(np.minimum(f.squares, gate(common, freedom)).sum()))


def spread(rng: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    """At most so many indices, one at random from each of equal parts: a fixed step could beat with the movement."""
    if count <= most:
        return np.arange(count)
    return ((np.arange(most) + rng.random(most)) * (count / most)).astype(np.int64)


def _stratified(rng: np.random.Generator, count: int, size: int) -> NDArray[np.int64]:
    """One index from each of ``size`` equal parts of the take: neighbours in time say nothing about the shape."""
    return ((rng.random((HYPOTHESES, size)) + np.arange(size)) * (count / size)).astype(np.int64)
