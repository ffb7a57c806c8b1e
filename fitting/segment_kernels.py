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
def drifting(  # noqa: C901
    residuals: Array,
    inliers: Mask,
    windows: NDArray[np.int64],
    share: float,
    usual: float,
    limit: float,
    least: float,
    out: Mask,
) -> None:
    """Mark inliers around which the residuals (k, n) share a sign beyond what averages over the take usually do.

    windows: half widths in samples; usual, limit: the ``share`` quantile and the largest good value of χ² with k
    components; least: variance below which nothing is suspicious.
    """
    components, n = residuals.shape
    # Running sums, with their first and last values repeated beyond the ends: no window needs a check.
    margin = windows[len(windows) - 1] + 1
    sums, counts = np.zeros((components, n + 2 * margin)), np.zeros(n + 2 * margin)
    number = 0.0
    for i in range(n):
        number += 1.0 if inliers[i] else 0.0
        counts[i + margin] = number
    for i in range(n + margin, n + 2 * margin):
        counts[i] = number
    for c in range(components):
        total = 0.0
        for i in range(n):
            total += residuals[c, i] if inliers[i] else 0.0
            sums[c, i + margin] = total
        for i in range(n + margin, n + 2 * margin):
            sums[c, i] = total
    power, spare = np.empty(n), np.empty(n)
    for half in windows:
        if n < 12 * half:
            break
        low, high = margin - half - 1, margin + half
        for i in range(n):
            power[i] = 0.0
        for c in range(components):
            for i in range(n):
                power[i] += (sums[c, i + high] - sums[c, i + low]) ** 2
        for i in range(n):
            within = counts[i + high] - counts[i + low]
            power[i] = power[i] / within if inliers[i] and within >= 3.0 else -1.0
        known = 0
        # Neighbouring averages share most of their samples: a part of them has the same quantile.
        for i in range(0, n, max(half // 3, 1)):
            spare[known] = power[i]
            known += 1 if power[i] >= 0.0 else 0
        if known == 0:
            continue
        most = max(select(spare[:known], int(share * known)) / usual, least) * limit
        for i in range(n):
            out[i] = out[i] or power[i] > most


@compiled
def block_medians(points: Array, blocks: int, size: int) -> tuple[Array, float]:
    """Medians (blocks, k) of consecutive blocks of ``size`` columns (k, n), and the median distance from them."""
    components = points.shape[0]
    places = np.empty((blocks, components))
    # A thousand distances say enough about their median.
    stride = max(blocks * size * components // 1000, 1)
    spare, spread = np.empty(size), np.empty(blocks * size * components // stride + 1)
    filled = following = 0
    for c in range(components):
        for b in range(blocks):
            for i in range(size):
                spare[i] = points[c, b * size + i]
            places[b, c] = select(spare, size // 2)
            while following < size:
                spread[filled] = abs(points[c, b * size + following] - places[b, c])
                filled += 1
                following += stride
            following -= size
    return places, median(spread[:filled])


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


@compiled
def paced(places: Array, noise: float, first: int, last: int, rest: float) -> Array:
    """Share (b + 1,) of the way up to each block of ``places`` (b, k); a pause counts ``rest`` of its time.

    The usual pace is that of most of the movement, so that a jump elsewhere and back does not make that a pause.
    noise: of the places (m); first, last: so many blocks at the ends count nothing.
    """
    blocks, components = places.shape
    ways, spare = np.zeros(blocks + 1), np.empty(blocks)
    known = 0
    for b in range(1, blocks):
        square = 0.0
        for c in range(components):
            square += (places[b, c] - places[b - 1, c]) ** 2
        ways[b] = math.sqrt(square)
        if ways[b] > 4.0 * noise:
            spare[known] = ways[b]
            known += 1
    usual = select(spare[:known], known // 2) if known else 0.0
    out = np.zeros(blocks + 1)
    for b in range(blocks):
        pace = max(ways[b], ways[b + 1]) / usual if usual > 0.0 else 1.0
        inside = first <= b < blocks - last
        out[b + 1] = out[b] + (min(max(pace, rest), 1.0) if inside else 0.0)
    for b in range(blocks + 1):
        out[b] /= out[blocks]
    return out


@compiled
def samples_along(way: Array, samples: int, shares: Array) -> NDArray[np.int64]:
    """Numbers of the samples at the given shares (m,) of the way (b + 1,)."""
    blocks = len(way) - 1
    out = np.empty(len(shares), dtype=np.int64)
    for i in range(len(shares)):
        low, high = 0, blocks
        while high - low > 1:
            middle = (low + high) // 2
            if way[middle] <= shares[i]:
                low = middle
            else:
                high = middle
        part = (shares[i] - way[low]) / max(way[low + 1] - way[low], 1e-300)
        out[i] = min(int((low + min(part, 1.0)) * samples / blocks), samples - 1)
    return out
