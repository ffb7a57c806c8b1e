"""One robust engine for all position models: hypotheses, scale, local optimisation, re-scoring after the refit.

A geometric model is one file with the three methods of ``Model``. The engine finds the samples that agree with
one set of parameters, and the noise level if it is not given.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fitting.noise import chi2_median, chi2_quantile, truncated_mean
from fitting.result import FitFailure, Mask
from fitting.se3 import Array
from fitting.segments import Pace, suspects

HYPOTHESES = 160
SUBSET = 180
"""Samples on which hypotheses are compared: enough to rank them, and independent of the take's length."""
_FEW = 3
"""All hypotheses are compared on one in so many of these, the promising ones on all."""
_PROMISING = 24
KEPT = 3
QUANTILE = 0.36
"""Share of samples that a hypothesis must explain tightly: a little below the smallest share of inliers accepted."""
_LEAST, _LOOSE = 0.3, 0.22
"""Shares of samples below which a hypothesis explains too little: of all, and of the few, where chance is larger."""
_COVERED = 0.97
"""Share of its good samples within the distance up to which a hypothesis explains the samples."""
_CROWD = 0.5
WIDER = 1.5
GATE = 0.999
"""Probability with which a good sample stays inside the gate."""
_ASTRAY = 6.0
"""Distance from the neighbours, in noises, from which a single sample may be a stray."""
_STEADY = 500
"""Who is in counts as settled when not more than one sample in so many changes."""
_WEIGHTY = 1.1
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


@dataclass(frozen=True)
class Consensus:
    """Parameters, the squared distances (n,) of all samples from them, the noise (m) and who is inside the gate."""

    parameters: Array
    squares: Array
    noise: float
    inliers: Mask
    fitted: Mask
    """Samples (n,) to which the parameters were fitted: the inliers of the round before."""


def consensus(
    model: Model,
    data: Array,
    *,
    noise: float | None,
    rng: np.random.Generator,
    pace: Pace | None = None,
) -> Consensus | FitFailure:
    """Find the parameters with which the most samples agree.

    pace: over whose way hypotheses and their judges spread evenly; None is time.
    """
    count = data.shape[1]
    judges, chosen = spread(rng, count, SUBSET, pace), _stratified(rng, count, model.sample_size, pace)
    subset = np.take(data, judges, axis=1)
    floor = smallest_noise(data)
    starts = _starts(model, data, subset, chosen, noise, floor)
    if not starts:
        return FitFailure("No hypothesis fits: the samples are all alike, or not numbers that can be fitted.")
    best = starts[0] if len(starts) == 1 else _best(starts, floor)
    found = _optimised(model, best.parameters, data, best.noise, noise, floor, rounds=2, steps=12)
    while noise is None and shoulder(found.squares / found.noise**2, chi2_quantile(model.freedom, GATE)):
        floor = WIDER * found.noise
        found = _optimised(model, found.parameters, data, floor, noise, floor, rounds=2, steps=12)
    agreeing = int(np.count_nonzero(found.inliers))
    if agreeing < model.sample_size + 1:
        return FitFailure(f"Only {agreeing} of {count} samples agree with one another.")
    return found


def _starts(
    model: Model, data: Array, subset: Array, chosen: NDArray[np.int64], noise: float | None, floor: float
) -> list[Consensus]:
    """The likeliest hypotheses, each improved on the subset (k, m): first all on a few samples, then some on all."""
    from fitting.kernels import likeliest

    parameters = model.from_sample(data, chosen)
    if subset.shape[1] >= SUBSET:
        few = np.ascontiguousarray(subset[:, ::_FEW])
        numbers, _ = likeliest(model.residuals(parameters, few), _PROMISING, _LOOSE, floor**2)
        parameters = parameters[numbers[numbers >= 0]]
    numbers, ends = likeliest(model.residuals(parameters, subset), KEPT, _LEAST, floor**2)
    usual = chi2_quantile(model.freedom, _COVERED)
    return [
        _optimised(
            model,
            parameters[number],
            subset,
            noise or max(math.sqrt(end / usual), floor),
            noise,
            floor,
            rounds=1,
            steps=2,
        )
        for number, end in zip(numbers.tolist(), ends.tolist(), strict=True)
        if number >= 0
    ]


def _best(starts: list[Consensus], floor: float) -> Consensus:
    from fitting.kernels import likeliest

    numbers, _ = likeliest(np.array([start.squares for start in starts]), 1, _LEAST, floor**2)
    return starts[max(int(numbers[0]), 0)]


def shoulder(squares: Array, limit: float) -> bool:
    """Whether so many samples lie just outside the gate that it is the gate which is too narrow.

    Part of a take may be much quieter than the rest (a pause); gross outliers do not crowd around the gate.
    """
    inside = np.count_nonzero(squares <= limit)
    return bool(np.count_nonzero(squares <= 9.0 * limit) > (1.0 + _CROWD) * inside)


def gate(noise: float, freedom: int) -> float:
    """Largest squared distance (m²) of a good sample."""
    return noise**2 * chi2_quantile(freedom, GATE)


def steady(data: Array, keep: Mask, used: Mask) -> bool:
    """Whether a fit of data (k, n) to the used samples (n,) is as good as one to those to keep.

    Hardly any sample is in one of them only, and none far from the others: few of those weigh much.
    """
    from fitting.kernels import changes, extent

    return changes(keep, used) <= len(keep) // _STEADY and extent(data, used) <= _WEIGHTY * extent(data, keep)


def without_bursts(data: Array, offsets: Array, inliers: Mask, scale: float, least: int) -> Mask:
    """Inliers (n,) that are neither in a burst of slow excursions nor strays; all of them where too few were left.

    data: columns (3, n) in metres; offsets: (k, n) from the model, metres; scale: noise (m); least: samples to keep.
    """
    from fitting.kernels import strays

    keep = inliers & ~suspects(offsets, inliers, scale)
    keep &= ~strays(data, keep, _ASTRAY * scale)
    return keep if np.count_nonzero(keep) >= least else inliers


def rms_noise(squares: Array, inliers: Mask, freedom: int, parameters: int, floor: float) -> float:
    """Noise (m) from the mean square of the inliers: more precise than the median, corrected for the gate."""
    from fitting.kernels import mean_square

    total, count = mean_square(squares, inliers)
    freedoms = max(freedom * count - parameters, 1)
    return max(math.sqrt(total / freedoms / (truncated_mean(freedom, GATE) / freedom)), floor)


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
    from fitting.kernels import gated

    limit, usual = chi2_quantile(model.freedom, GATE), chi2_median(model.freedom)
    squares = model.residuals(parameters[None], data)[0]
    inliers = squares <= limit * scale**2
    fitted = inliers
    for _ in range(rounds):
        fitted = inliers.copy()
        parameters = model.refine(parameters, data, fitted, steps)
        squares = model.residuals(parameters[None], data)[0]
        scale, changed = gated(squares, scale, noise is not None, limit, usual, floor, inliers)
        if changed <= len(inliers) // _STEADY:
            break
    return Consensus(parameters, squares, scale, inliers, fitted)


def spread(rng: np.random.Generator, count: int, most: int, pace: Pace | None = None) -> NDArray[np.int64]:
    """At most so many samples, one at random from each of equal parts: a fixed step could beat with the movement."""
    if count <= most:
        return np.arange(count)
    return _places((np.arange(most) + rng.random(most)) / most, count, pace)


def _stratified(rng: np.random.Generator, count: int, size: int, pace: Pace | None) -> NDArray[np.int64]:
    """One sample from each of ``size`` equal parts of the take: neighbours in time say nothing about the shape."""
    return _places((rng.random((HYPOTHESES, size)) + np.arange(size)) / size, count, pace)


def _places(shares: Array, count: int, pace: Pace | None) -> NDArray[np.int64]:
    """Samples at these shares of the way, or of the time."""
    return (shares * count).astype(np.int64) if pace is None else pace.along(shares)
