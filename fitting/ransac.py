"""One robust engine for all position models: hypotheses, scale, local optimisation, re-scoring after the refit.

A geometric model is one file with the three parts of ``Model``. The engine (``fitting.engine``) finds the samples that
agree with one set of parameters, and the noise level if it is not given. It takes any model; circles and lines, whose
parts are compiled, are compiled into it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fitting import checks
from fitting.noise import chi2_median, chi2_quantile, truncated_mean
from fitting.result import FitFailure, Mask
from fitting.se3 import Array

HYPOTHESES = 160
SUBSET = 180
"""Samples on which hypotheses are compared: enough to rank them, and independent of the take's length."""
FEW = 3
"""All hypotheses are compared on one in so many of these, the promising ones on all."""
PROMISING = 24
KEPT, OTHERS = 3, 0.02
"""Hypotheses that are refitted; share of samples that one must explain besides another one's."""
QUANTILE = 0.36
"""Share of samples that a hypothesis must explain tightly: a little below the smallest share of inliers accepted."""
LEAST, LOOSE = 0.3, 0.22
"""Shares of samples below which a hypothesis explains too little: of all, and of the few, where chance is larger."""
COVERED = 0.97
"""Share of its good samples within the distance up to which a hypothesis explains the samples."""
CROWD = 0.5
WIDER = 1.5
GATE = 0.999
"""Probability with which a good sample stays inside the gate."""
ASTRAY = 6.0
"""Distance from the neighbours, in noises, from which a single sample may be a stray."""
STEADY = 500
"""Who is in counts as settled when not more than one sample in so many changes."""
ROUNDING = 1e-9
"""Share of the largest coordinate below which there is only rounding."""
_LARGEST_SEED = 2**63 - 1
WEIGHTY = 1.1
"""Extent of the samples used over that of the good ones, from which single samples may turn the fit."""


class Model(Protocol):
    """A geometric model for the engine; data are columns (k, n) in metres, parameters any row vector."""

    sample_size: int
    """Samples that a hypothesis needs."""
    freedom: int
    """Residual components of a sample: 3 minus the model's own dimension."""

    def from_sample(self, data: Array, chosen: NDArray[np.int64]) -> Array:
        """Parameters (m, p) through the samples ``data[:, chosen]``, chosen (m, sample_size)."""
        ...

    def residuals(self, parameters: Array, data: Array) -> Array:
        """Squared distances (m, n) in m² for parameters (m, p)."""
        ...

    def refine(self, parameters: Array, data: Array, used: Mask, steps: int) -> Array:
        """Parameters (p,) that minimise the squared distances of the used samples (n,), from ``parameters`` on."""
        ...


Found = tuple[Array, Array, float, Mask, Mask]
"""What the engine finds: the fields of ``Consensus``."""
Path = Callable[[Array, NDArray[np.int64], Array, Array, int, float, int, int], Found]
"""Follows samples with one model: ``fitting.following.follow``."""
Limits = tuple[float, float, float]
"""Largest good square, median and almost largest of the squares, in variances."""


@dataclass(frozen=True)
class Consensus:
    """Parameters, the squared distances (n,) of all samples from them, the noise (m) and who is inside the gate."""

    parameters: Array
    squares: Array
    noise: float
    inliers: Mask
    fitted: Mask
    """Samples (n,) to which the parameters were fitted: the inliers of the round before."""


def consensus(model: Model, data: Array, *, noise: float | None, rng: np.random.Generator) -> Consensus | FitFailure:
    """Find the parameters with which the most samples agree."""
    from fitting.engine import searching

    count = data.shape[1]
    judges = spread(rng, count, SUBSET)
    chosen = _stratified(rng, count, model.sample_size)
    limits = limits_of(model.freedom)
    found = searching(model)(data, judges, chosen, noise or 0.0, smallest_noise(data), limits)
    return agreed(found, model.sample_size + 1)


def follow(
    path: Path,
    data: Array,
    times: NDArray[np.int64],
    size: int,
    noise: float | None,
    rng: np.random.Generator | int | None,
    least: int,
    freedoms: int,
) -> Consensus | FitFailure:
    """Find the path (``fitting.following.following``) that samples, columns (3, n), follow, bursts and pauses left out.

    times: their numbers in the take; size: samples in a hypothesis; least: samples to keep; freedoms: of the model.
    """
    judges, wanted = SUBSET if data.shape[1] > SUBSET else 0, HYPOTHESES * size
    shares = _shares(rng, judges + wanted)
    return agreed(path(data, times, shares[:judges], shares[judges:], size, noise or 0.0, least, freedoms), size + 1)


def agreed(found: Found, least: int) -> Consensus | FitFailure:
    """What was found, if at least so many samples agree."""
    result = Consensus(*found)
    agreeing = int(np.count_nonzero(result.inliers))
    if result.noise == 0.0:
        return FitFailure("No hypothesis fits: the samples are all alike, or not numbers that can be fitted.")
    if agreeing < least:
        return FitFailure(f"Only {agreeing} of {len(result.inliers)} samples agree with one another.")
    return result


def limits_of(freedom: int) -> Limits:
    """Limits of squares with so many components."""
    return chi2_quantile(freedom, GATE), chi2_median(freedom), chi2_quantile(freedom, COVERED)


def shoulder(squares: Array, limit: float) -> bool:
    """Whether so many samples lie just outside the gate that it is the gate which is too narrow."""
    from fitting.kernels import crowded

    return crowded(squares, limit, CROWD)


def gate(noise: float, freedom: int) -> float:
    """Largest squared distance (m²) of a good sample."""
    return noise**2 * chi2_quantile(freedom, GATE)


def rms_noise(squares: Array, inliers: Mask, freedom: int, parameters: int, floor: float) -> float:
    """Noise (m) from the mean square of the inliers: more precise than the median, corrected for the gate."""
    from fitting.kernels import mean_square

    total, count = mean_square(squares, inliers)
    freedoms = max(freedom * count - parameters, 1)
    return max(math.sqrt(total / freedoms / (truncated_mean(freedom, GATE) / freedom)), floor)


def smallest_noise(data: Array) -> float:
    """Noise (m) below which rounding takes over: exact data have no other scale."""
    return ROUNDING * max(float(np.abs(data).max(initial=0.0)), 1e-3)


def spread(rng: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    """At most so many samples, one at random from each of equal parts: a fixed step could beat with the movement."""
    if count <= most:
        return np.arange(count)
    return ((np.arange(most) + rng.random(most)) / most * count).astype(np.int64)


def _stratified(rng: np.random.Generator, count: int, size: int) -> NDArray[np.int64]:
    """One sample from each of ``size`` equal parts of the take: neighbours in time say nothing about the shape."""
    return ((rng.random((HYPOTHESES, size)) + np.arange(size)) / size * count).astype(np.int64)


def _shares(rng: np.random.Generator | int | None, count: int) -> Array:
    """Random numbers (count,), 0 to 1: to make a generator of a seed takes longer than half of a fit."""
    if rng is None or (isinstance(rng, int | np.integer) and 0 <= rng <= _LARGEST_SEED):
        from fitting.kernels import shares

        return shares(int(rng or 0), count)
    return checks.generator(rng).random(count)
