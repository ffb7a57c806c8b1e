"""Parts of a take that say nothing about the joint: long pauses at its ends, and bursts of consecutive outliers."""

import math

import numpy as np

from fitting.noise import chi2_quantile
from fitting.result import Mask
from fitting.se3 import Array

_BLOCKS = 64
_STILL = 0.02
"""A pause stays within this share of the whole movement."""
_LONG = 0.25
"""A pause lasts longer than this share of the movement's samples: slow starts and stops of a hand do not."""
_KEPT = 1
"""So many blocks of a pause are kept next to the movement: they hold its very end."""
_REST = 0.25
"""Weight of a pause among hypotheses, over that of the movement."""
_WINDOWS = np.array([2, 7, 24])
_SUSPICION = 0.9999
_QUIET = 0.3
"""Share of a take that is surely without drift, and sets the scale."""
_LEAST_RUN = 3
"""Fewer outliers in a row are never called a burst."""
_MARGIN = 2
"""Samples beside a burst that are left out with it."""


def moving_samples(points: Array) -> Mask:
    """Samples (n,) outside of long pauses at the ends of a take of positions (n, k) in metres.

    A resting hand pushes against the stop and trembles slowly: a long pause would weigh one biased place more than
    the whole movement. A short part of it next to the movement is kept.
    """
    return _without_rests(points, _LONG, only_ends=True)


def outvoting_rests(points: Array) -> Mask:
    """Samples (n,) of rests, wherever in a take (n, k), that are longer than all of its movement.

    Most samples then are in one place, and whatever is asked of the majority is asked of the rest.
    """
    return ~_without_rests(points, 1.0, only_ends=False)


def _without_rests(points: Array, share: float, *, only_ends: bool) -> Mask:
    """Samples (n,) outside of rests that last longer than a share of the movement."""
    n = len(points)
    result = np.ones(n, dtype=bool)
    size = n // _BLOCKS
    if size < 2:
        return result
    from fitting.segment_kernels import block_medians, resting_runs

    places, spread = block_medians(points, _BLOCKS, size)
    lengths = resting_runs(places, spread / math.sqrt(size), _STILL, only_ends)
    active = _BLOCKS - int(lengths.sum())
    if active < 4:
        return result
    for first in np.flatnonzero(lengths > share * active).tolist():
        last = first + int(lengths[first])
        start = (first + _KEPT) * size if first else 0
        result[start : (last - _KEPT) * size if last < _BLOCKS else n] = False
    return result


def paced(points: Array) -> Array:
    """Way (n + 1,) up to each sample of a take (n, k), from 0 to 1, on which pauses count a quarter of their time.

    Where a hand rests, it rests in one place: two resting places would outvote the movement between them.
    """
    n = len(points)
    size = n // _BLOCKS
    if size < 2:
        return np.linspace(0.0, 1.0, n + 1)
    from fitting.segment_kernels import block_medians

    places, _ = block_medians(points, _BLOCKS, size)
    ways = np.sqrt((np.diff(places, axis=0) ** 2).sum(axis=1))
    usual = max(float(ways.mean()), 1e-300)
    pace = np.clip(np.maximum(np.append(ways, 0.0), np.insert(ways, 0, 0.0)) / usual, _REST, 1.0)
    way = np.concatenate([[0.0], np.cumsum(pace)])
    return np.asarray(np.interp(np.arange(n + 1), np.linspace(0.0, n, _BLOCKS + 1), way / way[-1]))


def suspects(residuals: Array, inliers: Mask, noise: float = 1.0) -> Mask:
    """Samples (n,) in bursts: next to a run of outliers, or where the residuals (n, k) of inliers drift together.

    The drift is judged against how much the same average wanders over the whole take, so that correlated noise is
    not mistaken for it, and never below a fraction of ``noise`` (in the unit of the residuals).
    """
    from fitting.segment_kernels import beside_runs, drifting

    result = np.zeros(len(inliers), dtype=bool)
    components = residuals.shape[1]
    beside_runs(inliers, _burst_length(inliers), _MARGIN, result)
    usual, limit = chi2_quantile(components, _QUIET), chi2_quantile(components, _SUSPICION)
    drifting(residuals, inliers, _WINDOWS, _QUIET, usual, limit, 0.25 * noise**2, result)
    return result


def _burst_length(inliers: Mask) -> int:
    """So many outliers in a row that independent ones would hardly do it once in the take."""
    share = 1.0 - np.count_nonzero(inliers) / max(len(inliers), 1)
    if share <= 0.0 or share >= 1.0:
        return _LEAST_RUN
    return max(_LEAST_RUN, math.ceil(math.log(0.5 / len(inliers)) / math.log(share)))


def dense(chosen: Mask, among: Mask, half: int = 15) -> Mask:
    """Samples (n,) around which at least half of ``among`` is ``chosen``: a stretch, not scattered accidents."""
    n = len(chosen)
    places = np.arange(n)
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, n)
    c = np.concatenate([[0], np.cumsum(chosen)])
    a = np.concatenate([[0], np.cumsum(among)])
    result: Mask = 2 * (c[high] - c[low]) >= a[high] - a[low]
    return result
