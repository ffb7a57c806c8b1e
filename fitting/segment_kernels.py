"""Inner loops that find bursts and pauses in a take."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.order import median, select
from fitting.result import Mask
from fitting.se3 import Array


@compiled
def beside_runs(inliers: Mask, run: int, margin: int, out: Mask) -> None:
    """Mark inliers within ``margin`` samples of ``run`` or more outliers in a row."""
    n = len(inliers)
    length = 0
    for i in range(n + 1):
        if i < n and not inliers[i]:
            length += 1
            continue
        if length >= run:
            for k in range(max(i - length - margin, 0), i - length):
                out[k] = out[k] or inliers[k]
            for k in range(i, min(i + margin, n)):
                out[k] = out[k] or inliers[k]
        length = 0


@compiled
def drifting(
    residuals: Array,
    inliers: Mask,
    windows: NDArray[np.int64],
    share: float,
    usual: float,
    limit: float,
    least: float,
    out: Mask,
) -> None:
    """Mark inliers around which the residuals (n, k) share a sign beyond what averages over the take usually do.

    windows: half widths in samples; usual, limit: the ``share`` quantile and the largest good value of χ² with k
    components; least: variance below which nothing is suspicious.
    """
    n, components = residuals.shape
    sums, counts = np.zeros((n + 1, components)), np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        counts[i + 1] = counts[i] + (1 if inliers[i] else 0)
        for c in range(components):
            sums[i + 1, c] = sums[i, c] + (residuals[i, c] if inliers[i] else 0.0)
    power, spare = np.empty(n), np.empty(n)
    for half in windows:
        if n < 12 * half:
            break
        known = 0
        for i in range(n):
            power[i] = -1.0
            if not inliers[i]:
                continue
            low, high = max(i - half, 0), min(i + half + 1, n)
            number = counts[high] - counts[low]
            if number < 3:
                continue
            power[i] = 0.0
            for c in range(components):
                power[i] += (sums[high, c] - sums[low, c]) ** 2
            power[i] /= number
            spare[known] = power[i]
            known += 1
        if known == 0:
            continue
        most = max(select(spare[:known], int(share * known)) / usual, least) * limit
        for i in range(n):
            out[i] = out[i] or power[i] > most


@compiled
def block_medians(points: Array, blocks: int, size: int) -> tuple[Array, float]:
    """Medians (blocks, k) of consecutive blocks of ``size`` samples, and the median distance from them."""
    components = points.shape[1]
    places = np.empty((blocks, components))
    spare, spread = np.empty(size), np.empty(blocks * size * components)
    filled = 0
    for b in range(blocks):
        for c in range(components):
            for i in range(size):
                spare[i] = points[b * size + i, c]
            places[b, c] = select(spare, size // 2)
            for i in range(size):
                spread[filled] = abs(spare[i] - places[b, c])
                filled += 1
    return places, median(spread)


@compiled
def resting_runs(places: Array, spread: float, still: float, only_ends: bool) -> NDArray[np.int64]:
    """Lengths (b,) of the runs of blocks that stay in one place, each at its first block; zero elsewhere.

    places: (b, k) of the blocks, metres; spread: their noise; still: share of the movement that counts as rest;
    only_ends: look at the first and the last blocks only.
    """
    blocks, components = places.shape
    middle, spare, away = np.empty(components), np.empty(blocks), np.empty(blocks)
    for c in range(components):
        for b in range(blocks):
            spare[b] = places[b, c]
        middle[c] = select(spare, blocks // 2)
    ends = 0.0
    for b in range(blocks):
        away[b] = 0.0
        for c in range(components):
            away[b] += (places[b, c] - middle[c]) ** 2
    for c in range(components):
        ends += (places[blocks - 1, c] - places[0, c]) ** 2
    extent = max(math.sqrt(median(away)), 0.25 * math.sqrt(ends))
    tolerance = max(4.0 * still * extent, 4.0 * spread)
    lengths = np.zeros(blocks, dtype=np.int64)
    if extent < 3.0 * tolerance:
        return lengths
    first, last = _resting(places, 0, 1, tolerance), _resting(places, blocks - 1, -1, tolerance)
    lengths[0] = first
    if 0 < last < blocks - first:
        lengths[blocks - last] = last
    # In the middle of a take, noise (or outliers) of the size of a rest would make one of a slow movement.
    b = first
    while not only_ends and spread < still * extent and b < blocks - last - 1:
        length = _resting(places, b, 1, tolerance)
        if length > 2:
            lengths[b] = min(length, blocks - last - b)
        b += length if length > 2 else 1
    return lengths


@compiled
def _resting(places: Array, first: int, step: int, tolerance: float) -> int:
    """Number of blocks from ``first`` on, in steps of ±1, that stay near the middle of its first two."""
    blocks, components = places.shape
    count = 0
    k = first
    while 0 <= k < blocks:
        away = 0.0
        for c in range(components):
            away += (places[k, c] - 0.5 * (places[first, c] + places[first + step, c])) ** 2
        if math.sqrt(away) > tolerance:
            return count
        count += 1
        k += step
    return 0
