"""Parts of a take that say nothing about the joint: long pauses at its ends, and bursts of consecutive outliers."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Pace:
    """How a take moves, in blocks of time."""

    samples: int
    first: int
    """Blocks at rest before the movement that are left out."""
    last: int
    """Blocks at rest after it."""
    way: Array
    """(b + 1,) share of the way up to each block, on which pauses count a quarter of their time and what is left out
    nothing."""

    @classmethod
    def of(cls, points: Array) -> "Pace":
        """Look at columns (k, n) in metres."""
        n = points.shape[1]
        if n // _BLOCKS < 2:
            return cls(n, 0, 0, np.array([0.0, 1.0]))
        from fitting.segment_kernels import paced

        places, noise, lengths = _rests(points, only_ends=True)
        active = _BLOCKS - int(lengths.sum())
        first, end = int(lengths[0]), np.flatnonzero(lengths[1:])
        last = int(lengths[1 + end[0]]) if len(end) else 0
        first, last = (rest - _KEPT if active >= 4 and rest > _LONG * active else 0 for rest in (first, last))
        return cls(n, first, last, paced(places, noise, first, last, _REST))

    def moving(self) -> Mask:
        """Samples (n,) outside of long pauses at the ends of the take.

        A resting hand pushes against the stop and trembles slowly: a long pause would weigh one biased place more than
        the whole movement. A short part of it next to the movement is kept.
        """
        size = self.samples // _BLOCKS
        result = np.ones(self.samples, dtype=bool)
        if self.first:
            result[: self.first * size] = False
        if self.last:
            result[(_BLOCKS - self.last) * size :] = False
        return result

    def along(self, shares: Array) -> NDArray[np.int64]:
        """Samples at these shares, 0 to 1, of the way.

        Where a hand rests, it rests in one place: two resting places would outvote the movement between them.
        """
        from fitting.segment_kernels import samples_along

        return samples_along(self.way, self.samples, shares.ravel()).reshape(shares.shape)


def outvoting_rests(points: Array) -> Mask:
    """Samples (n,) of rests, wherever in a take of columns (k, n), that are longer than all of its movement.

    Most samples then are in one place, and whatever is asked of the majority is asked of the rest.
    """
    n = points.shape[1]
    size = n // _BLOCKS
    result = np.zeros(n, dtype=bool)
    if size < 2:
        return result
    _, _, lengths = _rests(points, only_ends=False)
    active = _BLOCKS - int(lengths.sum())
    if active < 4:
        return result
    for first in np.flatnonzero(lengths > active).tolist():
        last = first + int(lengths[first])
        start = (first + _KEPT) * size if first else 0
        result[start : (last - _KEPT) * size if last < _BLOCKS else n] = True
    return result


def _rests(points: Array, *, only_ends: bool) -> tuple[Array, float, NDArray[np.int64]]:
    """Places (b, k) of the blocks of columns (k, n), their noise (m), and lengths (b,) of rests that start there."""
    from fitting.segment_kernels import block_medians, resting_runs

    size = points.shape[1] // _BLOCKS
    places, spread = block_medians(points, _BLOCKS, size)
    noise = spread / math.sqrt(size)
    return places, noise, resting_runs(places, noise, _STILL, only_ends)


def suspects(residuals: Array, inliers: Mask, noise: float = 1.0) -> Mask:
    """Samples (n,) in bursts: next to a run of outliers, or where the residuals (k, n) of inliers drift together.

    The drift is judged against how much the same average wanders over the whole take, so that correlated noise is
    not mistaken for it, and never below a fraction of ``noise`` (in the unit of the residuals).
    """
    from fitting.segment_kernels import beside_runs, drifting

    result = np.zeros(len(inliers), dtype=bool)
    components = len(residuals)
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


def dense(chosen: Mask, among: Mask, half: int = 15, share: float = 0.5) -> Mask:
    """Samples (n,) around which at least a share of ``among`` is ``chosen``: a stretch, not scattered accidents."""
    n = len(chosen)
    places = np.arange(n)
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, n)
    c = np.concatenate([[0], np.cumsum(chosen)])
    a = np.concatenate([[0], np.cumsum(among)])
    result: Mask = c[high] - c[low] >= share * (a[high] - a[low])
    return result
