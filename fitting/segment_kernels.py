"""Inner loops that find bursts and pauses in a take."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.jump_kernels import halted
from fitting.noise import chi2_quantile
from fitting.order import median, select
from fitting.result import Mask
from fitting.se3 import Array
from fitting.segments import BLOCKS, KEPT, STILL

_LONG = 0.33
"""A pause lasts longer than this share of the movement's samples: slow starts and stops of a hand do not."""
_REST = 0.25
"""Weight of a pause among hypotheses, over that of the movement."""
_SAMPLES = 16
_WINDOWS = (2, 7, 24)
_SUSPICION = 0.9999
_QUIET = 0.3
"""Share of a take that is surely without drift, and sets the scale."""
_USUAL = tuple(chi2_quantile(components, _QUIET) if components else 0.0 for components in range(8))
_LARGEST = tuple(chi2_quantile(components, _SUSPICION) if components else 0.0 for components in range(8))
_LEAST_RUN = 3
"""Fewer outliers in a row are never called a burst."""
_MARGIN = 2
"""Samples beside a burst that are left out with it."""
_ENOUGH = 400
"""Averages that say enough about how they are distributed."""


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
    windows: tuple[int, ...],
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
    margin = windows[-1] + 1
    sums, counts = np.zeros((components, n + 2 * margin)), np.zeros(n + 2 * margin)
    number = 0
    for i in range(n):
        number += 1 if inliers[i] else 0
        counts[i + margin] = number
    for i in range(n + margin, n + 2 * margin):
        counts[i] = number
    for c in range(components):
        _running_sum(residuals[c], inliers, sums[c, margin:])
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
            power[i] = power[i] / max(within, 1.0) if inliers[i] & (within >= 3.0) else -1.0
        known = 0
        # Neighbouring averages share most of their samples: a part of them has the same quantile.
        for i in range(0, n, max(half // 3, n // _ENOUGH, 1)):
            spare[known] = power[i]
            known += power[i] >= 0.0
        if known == 0:
            continue
        most = max(select(spare[:known], int(share * known)) / usual, least) * limit
        for i in range(n):
            out[i] |= power[i] > most


@compiled
def _running_sum(values: Array, used: Mask, out: Array) -> None:
    """Sums of the used values (n,) up to each, and their whole sum in the rest of ``out``.

    By fours: each sum would wait for the one before.
    """
    n = len(values)
    total, i = 0.0, 0
    while i < n - 3:
        a = values[i] if used[i] else 0.0
        b = values[i + 1] if used[i + 1] else 0.0
        c = values[i + 2] if used[i + 2] else 0.0
        d = values[i + 3] if used[i + 3] else 0.0
        two = a + b
        three = two + c
        four = two + (c + d)
        out[i], out[i + 1], out[i + 2] = total + a, total + two, total + three
        total += four
        out[i + 3] = total
        i += 4
    while i < n:
        total += values[i] if used[i] else 0.0
        out[i] = total
        i += 1
    while i < len(out):
        out[i] = total
        i += 1


@compiled
def suspected(residuals: Array, inliers: Mask, noise: float, components: int) -> Mask:
    """Samples (n,) in bursts: next to a run of outliers, or where the residuals (k, n) of inliers drift together.

    The drift is judged against how much the same average wanders over the whole take, so that correlated noise is
    not mistaken for it, and never below a fraction of ``noise`` (in the unit of the residuals). components: of the
    residuals that a sample's own coordinates do not take up.
    """
    n = len(inliers)
    out = np.zeros(n, dtype=np.bool_)
    lost = 0
    for i in range(n):
        lost += not inliers[i]
    run = _LEAST_RUN
    if 0 < lost < n:
        # So many outliers in a row that independent ones would hardly do it once in the take.
        run = max(run, math.ceil(math.log(0.5 / n) / math.log(lost / n)))
    beside_runs(inliers, run, _MARGIN, out)
    drifting(residuals, inliers, _WINDOWS, _QUIET, _USUAL[components], _LARGEST[components], 0.25 * noise**2, out)
    return out


@compiled
def block_medians(points: Array, blocks: int, size: int) -> tuple[Array, float]:
    """Medians (blocks, k) of consecutive blocks of ``size`` columns (k, n), and their noise, of up to sixteen samples.

    Samples of all blocks are sorted at once: each step of the network compares whole rows, without branches.
    """
    components, count = points.shape[0], min(size, _SAMPLES)
    table = np.empty((_SAMPLES, components * blocks))
    for i in range(count):
        first = (i * size) // count
        for c in range(components):
            for b in range(blocks):
                table[i, c * blocks + b] = points[c, b * size + first]
    # Room that is left is filled from both ends, which leaves the median where it is.
    for i in range(count, _SAMPLES):
        for b in range(components * blocks):
            table[i, b] = -np.inf if (i - count) % 2 else np.inf
    _sorted(table)
    middle = table[count // 2 + (_SAMPLES - count) // 2]
    places, spread = np.empty((blocks, components)), np.empty(blocks * components)
    for c in range(components):
        for b in range(blocks):
            k = c * blocks + b
            places[b, c] = middle[k]
            spread[k] = abs(points[c, b * size + (((7 * b) % count) * size) // count] - middle[k])
    return places, median(spread) / math.sqrt(count)


@compiled
def _sorted(table: Array) -> None:
    """Sort the columns of a table with a power of two of rows, by Batcher's odd-even merges."""
    rows = table.shape[0]
    p = 1
    while p < rows:
        k = p
        while k >= 1:
            for j in range(k % p, rows - k, 2 * k):
                for i in range(j, min(j + k, rows - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        _in_order(table[i], table[i + k])
            k //= 2
        p *= 2


@compiled
def _in_order(lower: Array, upper: Array) -> None:
    for i in range(len(lower)):
        a, b = lower[i], upper[i]
        swapped = b < a
        lower[i], upper[i] = b if swapped else a, a if swapped else b


@compiled
def resting_runs(places: Array, spread: float, still: float, creep: float, only_ends: bool) -> NDArray[np.int64]:
    """Lengths (b,) of the runs of blocks that stay in one place, each at its first block; zero elsewhere.

    places: (b, k) of the blocks, metres; spread: their noise; still, creep: share of the movement, and
    metres, within which it counts as rest; only_ends: look at the first and the last blocks only.
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
    tolerance = max(min(4.0 * still * extent, creep), 4.0 * spread)
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
    """Number of blocks from ``first`` on, in steps of ±1, that stay near the middle of its first two.

    A single one elsewhere, between two that stay, is a block of outliers.
    """
    blocks, components = places.shape
    count = elsewhere = 0
    k = first
    while 0 <= k < blocks:
        away = 0.0
        for c in range(components):
            away += (places[k, c] - 0.5 * (places[first, c] + places[first + step, c])) ** 2
        if math.sqrt(away) > tolerance:
            elsewhere += 1
            if elsewhere > 1:
                return count
        else:
            count += 1 + elsewhere
            elsewhere = 0
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
def pace_of(points: Array, creep: float = np.inf) -> tuple[Array, Mask, bool]:
    """How columns (k, n) in metres move: share of the way up to each block, samples of the movement (n,), and halts.

    On the way pauses count a quarter of their time and what is left out nothing. Long pauses at the ends are left out:
    a resting hand pushes against the stop and trembles slowly, and would weigh one biased place more than the whole
    movement. A short part of them next to the movement is kept. creep: metres beyond which nothing is a pause. Last:
    whether a rest ends with a jump, which no hand can do.
    """
    n = points.shape[1]
    size = n // BLOCKS
    moving = np.ones(n, dtype=np.bool_)
    if size < 2:
        return np.array([0.0, 1.0]), moving, False
    places, noise = block_medians(points, BLOCKS, size)
    lengths = resting_runs(places, noise, STILL, creep, size > 0)
    first, last, active = lengths[0], 0, BLOCKS
    for b in range(BLOCKS):
        active -= lengths[b]
        last = lengths[b] if b > 0 and lengths[b] > 0 else last
    first = first - KEPT if active >= 4 and first > _LONG * active else 0
    last = last - KEPT if active >= 4 and last > _LONG * active else 0
    for i in range(first * size):
        moving[i] = False
    if last > 0:
        for i in range((BLOCKS - last) * size, n):
            moving[i] = False
    return paced(places, noise, first, last, _REST), moving, halted(places, noise)


@compiled
def samples_along(way: Array, samples: int, shares: Array, parts: int) -> NDArray[np.int64]:
    """Numbers of the samples at these shares (m,) of equal parts, taken in turn, of the way (b + 1,).

    Where a hand rests, it rests in one place: two resting places would outvote the movement between them.
    """
    blocks = len(way) - 1
    # The last block that starts before each of equal shares: from there on it is never far.
    table, b = np.empty(4 * blocks, dtype=np.int64), 0
    for k in range(len(table)):
        while b < blocks - 1 and way[b + 1] * len(table) <= k:
            b += 1
        table[k] = b
    out = np.empty(len(shares), dtype=np.int64)
    for i in range(len(shares)):
        share = (i % parts + shares[i]) / parts
        b = table[min(int(share * len(table)), len(table) - 1)]
        while b < blocks - 1 and way[b + 1] <= share:
            b += 1
        part = (share - way[b]) / max(way[b + 1] - way[b], 1e-300)
        out[i] = min(int((b + min(part, 1.0)) * samples / blocks), samples - 1)
    return out
