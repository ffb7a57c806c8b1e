"""Parts of a take that say nothing about the joint: long pauses at its ends, and bursts of consecutive outliers."""

import numpy as np
from numpy.typing import NDArray

from fitting.noise import chi2_median, chi2_quantile
from fitting.result import Mask
from fitting.se3 import Array

_BLOCKS = 64
_STILL = 0.02
"""A pause stays within this share of the whole movement."""
_LONG = 0.25
"""A pause lasts longer than this share of the movement's samples: slow starts and stops of a hand do not."""
_KEPT = 0.1
"""So much of a pause, as a share of the movement's samples, is kept next to the movement."""
_WINDOWS = (2, 7, 24)
_SUSPICION = 0.9999
_RUN = 5
"""So many outliers in a row are a burst, no accident."""
_MARGIN = 2
"""Samples beside a burst that are left out with it."""


def moving_samples(points: Array) -> Mask:
    """Samples (n,) outside of long pauses at the ends of a take of positions (n, k) in metres.

    A resting hand pushes against the stop and trembles slowly: a long pause would weigh one biased place more than
    the whole movement. A short part of it next to the movement is kept.
    """
    n = len(points)
    result = np.ones(n, dtype=bool)
    size = n // _BLOCKS
    if size < 2:
        return result
    used = size * _BLOCKS
    blocks = points[:used].reshape(_BLOCKS, size, -1)
    places = np.median(blocks, axis=1)
    spread = float(np.median(np.abs(blocks - places[:, None]))) / np.sqrt(size)
    extent = float(np.median(np.linalg.norm(places - np.median(places, axis=0), axis=1)))
    extent = max(extent, 0.25 * float(np.linalg.norm(places[-1] - places[0])))
    tolerance = max(4.0 * _STILL * extent, 4.0 * spread)
    if extent < 3.0 * tolerance:
        return result
    first = _resting(places, tolerance)
    last = _resting(places[::-1], tolerance)
    active = _BLOCKS - first - last
    if active < 4:
        return result
    kept = round(_KEPT * active)
    if first > _LONG * active:
        result[: (first - kept) * size] = False
    if last > _LONG * active:
        result[used - (last - kept) * size :] = False
    return result


def suspects(residuals: Array, inliers: Mask) -> Mask:
    """Samples (n,) in bursts: next to a run of outliers, or where the residuals (n, k) of inliers drift together.

    The drift is judged against how much the same average wanders over the whole take, so that correlated noise is
    not mistaken for it.
    """
    return _beside_runs(inliers) | _drifting(residuals, inliers)


def _resting(places: Array, tolerance: float) -> int:
    """Number of blocks at the start that stay at one place."""
    away = np.linalg.norm(places - np.median(places[:2], axis=0), axis=1) > tolerance
    return int(np.argmax(away)) if away.any() else 0


def _beside_runs(inliers: Mask) -> Mask:
    n = len(inliers)
    out = ~inliers
    if n <= 2 * _RUN or not out.any():
        return np.zeros(n, dtype=bool)
    counts = np.concatenate([[0], np.cumsum(out)])
    full = counts[_RUN:] - counts[:-_RUN] == _RUN
    if not full.any():
        return np.zeros(n, dtype=bool)
    change = np.zeros(n + 1, dtype=np.int64)
    starts = np.flatnonzero(full)
    np.add.at(change, np.maximum(starts - _MARGIN, 0), 1)
    np.add.at(change, np.minimum(starts + _RUN + _MARGIN, n), -1)
    result: Mask = (np.cumsum(change[:-1]) > 0) & inliers
    return result


def _drifting(residuals: Array, inliers: Mask) -> Mask:
    n, k = residuals.shape
    result = np.zeros(n, dtype=bool)
    series = np.where(inliers[:, None], residuals, 0.0)
    sums = np.concatenate([np.zeros((1, k)), np.cumsum(series, axis=0)])
    counts = np.concatenate([[0], np.cumsum(inliers)])
    places: NDArray[np.int64] = np.arange(n)
    for half in _WINDOWS:
        if n < 12 * half:
            break
        low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, n)
        number = counts[high] - counts[low]
        mean = sums[high] - sums[low]
        power = (mean * mean).sum(axis=1) / np.maximum(number, 1)
        known = inliers & (number >= 3)
        if not known.any():
            continue
        usual = float(np.median(power[known])) / chi2_median(k)
        result |= known & (power > usual * chi2_quantile(k, _SUSPICION))
    return result


def dense(chosen: Mask, among: Mask, half: int = 15) -> Mask:
    """Samples (n,) around which at least half of ``among`` is ``chosen``: a stretch, not scattered accidents."""
    n = len(chosen)
    places = np.arange(n)
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, n)
    c = np.concatenate([[0], np.cumsum(chosen)])
    a = np.concatenate([[0], np.cumsum(among)])
    result: Mask = 2 * (c[high] - c[low]) >= a[high] - a[low]
    return result
