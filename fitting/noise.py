"""Noise: quantiles of χ², and how many independent samples correlated residuals are worth."""

import math
from functools import lru_cache

import numpy as np

from fitting.result import Mask
from fitting.se3 import Array

_WINDOW = 2.0
"""Lags to sum, in correlation times: four times the memory of noise that decays evenly; more lags only add noise."""


@lru_cache(maxsize=256)
def chi2_quantile(freedom: int, probability: float) -> float:
    """Value below which χ² with ``freedom`` components lies with ``probability``."""
    low, high = 0.0, 1.0
    while _beyond(freedom, high) > 1.0 - probability:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _beyond(freedom, middle) > 1.0 - probability else (low, middle)
    return high


def _beyond(freedom: int, value: float) -> float:
    """Probability that χ² exceeds ``value``; written out, since importing ``scipy.special`` takes longer than a fit."""
    x = 0.5 * value
    odd = bool(freedom % 2)
    share = math.erfc(math.sqrt(x)) if odd else math.exp(-x)
    a = 0.5 if odd else 1.0
    term = math.exp(-x) * x**a / math.gamma(a + 1.0)
    for _ in range((freedom - 1) // 2):
        share += term
        a += 1.0
        term *= x / a
    return share


def chi2_median(freedom: int) -> float:
    """Median of χ²."""
    return chi2_quantile(freedom, 0.5)


@lru_cache(maxsize=256)
def truncated_mean(freedom: int, probability: float) -> float:
    """Mean of χ² below its quantile."""
    return freedom * (1.0 - _beyond(freedom + 2, chi2_quantile(freedom, probability))) / probability


def correlation_time(residuals: Array, used: Mask, parameters: int = 0) -> float:
    """How many samples of this noise are worth one independent sample (≥ 1), from the residuals' autocorrelation.

    residuals: (n, k) in any unit, in time order; used: (n,) samples to look at (the others are gaps);
    parameters: how many were fitted per component, which absorbed as many slow oscillations of the noise.
    """
    series = np.where(used[:, None], residuals, 0.0)
    count = int(used.sum())
    if count < 20:
        return 1.0
    known = used.astype(float)
    power = float((series * series).sum()) / count
    if power <= 0.0:
        return 1.0
    total, lag, tau = 0.0, 0, 1.0
    longest = min(len(series) // 3, 400)
    while lag < longest:
        lag += 1
        pairs = float(known[:-lag] @ known[lag:])
        if pairs < 10:
            break
        total += float(np.einsum("ij,ij->", series[:-lag], series[lag:])) / (pairs * power)
        tau = max(1.0 + 2.0 * total, 1.0)
        # White noise stops here: the sum is no larger than chance makes it.
        if lag == 3 and total < 3.0 * math.sqrt(3.0 / (pairs * series.shape[1])):
            return 1.0
        if lag >= _WINDOW * tau:
            break
    # Fitted parameters take slow oscillations out of the residuals: each lag is too low by parameters·τ/n, and so is
    # the variance itself.
    tau /= max(1.0 - 2.0 * lag * parameters / count, 0.4)
    return tau / max(1.0 - parameters * tau / count, 0.5)
