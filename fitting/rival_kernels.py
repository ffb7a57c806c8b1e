"""Inner loops of the second look at a take: places and residuals in blocks of time. Points are columns (3, n)."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.kernels import filled
from fitting.order import median, median_of_some, select
from fitting.result import Mask
from fitting.se3 import Array
from fitting.segment_kernels import samples_along

_PARTS, SCALES = 48, 4
"""Parts of a take in which residuals and outliers are counted, and how often these are halved to see slower noise."""
_UNEVEN = 1.6
"""Variance between the parts of a take, over that of independent outliers, from which they differ: four deviations."""
RESTLESS = 4.2
"""Unrest, in deviations, that white noise does not reach."""
_FAR = 6.0
"""Distance from where the neighbours in time mostly are, in usual ones, from which a sample is not there."""
_ALIKE = 0.8
"""Share of blocks with the same distances from two paths, from which these are one."""
_LEAST, _FEW = 0.3, 0.5
"""Shares of blocks: with less a path explains nothing, below the other it must be much tighter than others."""
_JUDGES = 96
_NOWHERE = 1e6
"""Square (m²) of a block that is not on a path at all."""


@compiled
def unrest(offsets: Array, used: Mask, noise: float, scales: int) -> float:
    """How much further than white noise the used offsets (2, n) in metres wander together, in standard deviations.

    The largest over several lengths of time, each twice the one before: many parts hide the slowest noise, which is in
    a few of their sums.
    """
    n = len(used)
    parts = min(_PARTS, n // 4)
    sums = np.zeros((3, parts))
    for part in range(parts):
        x = y = count = 0.0
        for i in range(part * n // parts, (part + 1) * n // parts):
            weight = 1.0 if used[i] else 0.0
            count += weight
            x += weight * offsets[0, i]
            y += weight * offsets[1, i]
        sums[0, part], sums[1, part], sums[2, part] = x, y, count
    most = -np.inf
    for _ in range(scales):
        total = freedoms = 0.0
        for part in range(parts):
            if sums[2, part] > 0.0:
                total += (sums[0, part] ** 2 + sums[1, part] ** 2) / (sums[2, part] * noise * noise)
                freedoms += 2.0
        most = max(most, (total - freedoms) / math.sqrt(max(2.0 * freedoms, 1.0)))
        parts //= 2
        for row in range(3):
            for part in range(parts):
                sums[row, part] = sums[row, 2 * part] + sums[row, 2 * part + 1]
    return most


@compiled
def clumped(inliers: Mask, allowed: Mask) -> bool:
    """Whether the outliers among the allowed samples (n,) go in stretches: independent ones do not."""
    n = len(inliers)
    parts = min(_PARTS, n // 4)
    count = lost = 0
    for i in range(n):
        count += allowed[i]
        lost += allowed[i] and not inliers[i]
    share = lost / max(count, 1)
    clumps = used = 0.0
    for part in range(parts):
        here = inside = 0.0
        for i in range(part * n // parts, (part + 1) * n // parts):
            here += 1.0 if allowed[i] else 0.0
            inside += 1.0 if inliers[i] else 0.0
        if here > 0.0:
            used += 1.0
            clumps += (here - inside - share * here) ** 2 / (here * max(share * (1.0 - share), 0.01))
    return clumps > _UNEVEN * used


@compiled
def plausible(points: Array) -> Mask:
    """Samples (n,) that are where their neighbours in time mostly are, before, after or around them."""
    n = points.shape[1]
    half = min(max(n // 60, 3), 10)
    knots = n // half + 2
    middle, spare = np.empty((3, knots)), np.empty(2 * half + 1)
    for k in range(knots):
        high = min((k + 1) * half + 1, n)
        low = min(max((k - 1) * half, 0), high - half)
        for c in range(3):
            for i in range(low, high):
                spare[i - low] = points[c, i]
            middle[c, k] = select(spare[: high - low], (high - low) // 2)
    away = np.empty(n)
    for i in range(n):
        k = i // half
        part = (i - k * half) / half
        around = before = after = 0.0
        for c in range(3):
            around += (points[c, i] - (1.0 - part) * middle[c, k] - part * middle[c, k + 1]) ** 2
            if k > 1:
                before += (points[c, i] - (2.0 + part) * middle[c, k - 1] + (1.0 + part) * middle[c, k - 2]) ** 2
            if k + 3 < knots:
                after += (points[c, i] - (3.0 - part) * middle[c, k + 2] + (2.0 - part) * middle[c, k + 3]) ** 2
        away[i] = min(around, before if k > 1 else np.inf, after if k + 3 < knots else np.inf)
    return away <= _FAR**2 * median_of_some(away)


@compiled
def block_places(points: Array, used: Mask, blocks: int) -> tuple[Array, Mask]:
    """Places (3, b) of the used samples in blocks of time, and the blocks (b,) of which at least a third is used.

    Medians, of what is left when the movement between the blocks beside has been taken off: of a fast movement only
    the few samples in its middle have a say in a median.
    """
    n = points.shape[1]
    out, full = np.zeros((3, blocks)), np.zeros(blocks, dtype=np.bool_)
    pace, spare = np.zeros((3, blocks)), np.empty(n // blocks + 2)
    for turn in range(2):
        for b in range(blocks):
            low, high = b * n // blocks, (b + 1) * n // blocks
            for c in range(3):
                count = 0
                for i in range(low, high):
                    if used[i]:
                        spare[count] = points[c, i] - pace[c, b] * (i - 0.5 * (low + high - 1))
                        count += 1
                out[c, b] = median(spare[:count]) if count > 0 else 0.0
                full[b] = 3 * count >= high - low
        for b in range(1, blocks - 1):
            if turn == 0 and full[b - 1] and full[b + 1]:
                for c in range(3):
                    pace[c, b] = (out[c, b + 1] - out[c, b - 1]) * blocks / (2.0 * n)
    return out, full


@compiled
def block_counts(used: Mask, blocks: int) -> Array:
    """How many samples (n,) are used in each block of time (b,)."""
    n = len(used)
    out = np.zeros(blocks)
    for b in range(blocks):
        for i in range(b * n // blocks, (b + 1) * n // blocks):
            out[b] += used[i]
    return out


@compiled
def judging_blocks(way: Array, full: Mask) -> NDArray[np.int64]:
    """Numbers of the full blocks (b,) at equal shares of the way, of ``pace_of``: a rest has less of a say."""
    judges = samples_along(way, len(full), np.full(_JUDGES, 0.5), _JUDGES)
    return judges[full[judges]]


@compiled
def within(chosen: Mask, n: int) -> Mask:
    """Samples (n,) in the chosen blocks of time (b,)."""
    blocks = len(chosen)
    out = np.zeros(n, dtype=np.bool_)
    for b in range(blocks):
        for i in range(b * n // blocks, (b + 1) * n // blocks):
            out[i] = chosen[b]
    return out


@compiled
def known(squares: Array, table: Array, scale: float) -> bool:
    """Whether squares (b,) are those of a row of a table (k, b), within the scale (m)."""
    for k in range(table.shape[0]):
        near = 0
        for i in range(len(squares)):
            near += abs(math.sqrt(squares[i]) - math.sqrt(table[k, i])) < scale
        if near > _ALIKE * len(squares):
            return True
    return False


@compiled
def block_squares(offsets: Array, squares: Array, used: Mask, limit: float, blocks: int) -> Array:
    """Squares (b,) of the mean offsets (2, n), in blocks of time, of the used samples whose squares are within a limit.

    Where most of the used samples are beyond it, the block is nowhere near.
    """
    n = len(squares)
    out = np.empty(blocks)
    for b in range(blocks):
        x = y = 0.0
        inside = here = 0
        for i in range(b * n // blocks, (b + 1) * n // blocks):
            here += used[i]
            if used[i] and squares[i] <= limit:
                inside += 1
                x += offsets[0, i]
                y += offsets[1, i]
        out[b] = (x * x + y * y) / inside**2 if 2 * inside > here else _NOWHERE
    return out


@compiled
def costs_of(table: Array, smallest: float) -> Array:
    """Costs (k,) of rows of squares (k, b), as in ``fitting.kernels.likeliest``; smallest: square that is none."""
    count = table.shape[1]
    spare, out = np.empty(count), np.full(table.shape[0], np.inf)
    for k in range(table.shape[0]):
        filled(spare, table[k])
        for i in range(1, count):
            value, place = spare[i], i
            while place > 0 and spare[place - 1] > value:
                spare[place] = spare[place - 1]
                place -= 1
            spare[place] = value
        for i in range(int(_LEAST * count), count):
            share = (i + 1) / count
            out[k] = min(out[k], max(spare[i], smallest) / share**2 * max(_FEW / share, 1.0) ** 8)
    return out
