"""Parts of a take that say nothing about the joint: long pauses at its ends, and bursts of consecutive outliers."""

import numpy as np
from numpy.typing import NDArray

from fitting.result import Mask
from fitting.se3 import Array

BLOCKS = 64
"""Pauses are looked for in so many blocks of a take."""
STILL = 0.02
"""A pause stays within this share of the whole movement."""
KEPT = 1
"""So many blocks of a pause are kept next to the movement: they hold its very end."""
CREEP = 1e-3
"""Metres within which a pause stays where a joint may move in two ways: one of them may be small beside the other."""


def moving(points: Array, creep: float = np.inf) -> Mask:
    """Samples (n,) of columns (k, n) in metres outside of long pauses at its ends, which ``creep`` at most."""
    from fitting.segment_kernels import pace_of

    return pace_of(points, creep)[1]


def without_repeats(points: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.int64] | None]:
    """Columns (k, m) of a take (k, n) without those that repeat one before digit for digit.

    A tracker that has lost its object repeats the last place: that is one measurement, however often it is told. Gives
    as well which samples the m are, since time went on meanwhile, and where each of the n is among them; None for
    this where nothing repeats.
    """
    from fitting.kernels import changing, columns, places_of

    fresh, count = changing(points)
    if count == len(fresh):
        return points, np.arange(count), None
    times = places_of(fresh)
    return columns(points, times, 1), times, np.cumsum(fresh) - 1


def outvoting_rests(points: Array) -> Mask:
    """Samples (n,) of rests, wherever in a take of columns (k, n), that are longer than all of its movement.

    Most samples then are in one place, and whatever is asked of the majority is asked of the rest.
    """
    n = points.shape[1]
    size = n // BLOCKS
    result = np.zeros(n, dtype=bool)
    if size < 2:
        return result
    from fitting.segment_kernels import block_medians, resting_runs

    lengths = resting_runs(*block_medians(points, BLOCKS, size), STILL, CREEP, False)
    active = BLOCKS - int(lengths.sum())
    if active < 4:
        return result
    for first in np.flatnonzero(lengths > active).tolist():
        last = first + int(lengths[first])
        start = (first + KEPT) * size if first else 0
        result[start : (last - KEPT) * size if last < BLOCKS else n] = True
    return result


def suspects(residuals: Array, inliers: Mask, noise: float = 1.0, components: int | None = None) -> Mask:
    """Samples (n,) in bursts: next to a run of outliers, or where the residuals (k, n) of inliers drift together.

    noise: of the residuals, in their unit; components: that coordinates of the samples do not take up; None: all k.
    """
    from fitting.segment_kernels import suspected

    return suspected(residuals, inliers, noise, len(residuals) if components is None else components)


def dense(chosen: Mask, among: Mask, half: int = 15, share: float = 0.5) -> Mask:
    """Samples (n,) around which at least a share of ``among`` is ``chosen``: a stretch, not scattered accidents."""
    n = len(chosen)
    places = np.arange(n)
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, n)
    c = np.concatenate([[0], np.cumsum(chosen)])
    a = np.concatenate([[0], np.cumsum(among)])
    result: Mask = c[high] - c[low] >= share * (a[high] - a[low])
    return result
