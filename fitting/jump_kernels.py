"""Jumps in a take, and rests that end with one. What hangs on a joint cannot jump: there another thing is tracked.

Where a tracker sticks and repeats its samples digit for digit, ``without_repeats`` has dealt with it; here they
tremble.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.order import median
from fitting.result import Mask
from fitting.se3 import Array

_CELLS = 150
_SIZES = (4, 12)
"""Cells of time that are looked at, and the least and most samples in each."""
_SHORTEST = 4
_SLOW = 3.0
"""Fewer cells are no rest, nor are as many as the movement usually takes for so many times what a rest trembles."""
_SPAN = 4
"""Cells over which the pace is looked at."""
_QUIET = 5.0
_SUDDEN = 8.0
"""Distances in noises of a cell: within which a rest stays, and from which something may have jumped."""
_SPEEDS = 3.0
"""How many times further than the movement beside it a jump leads."""
_LOST = 4.0
"""How many times longer than two cells a jump takes at most: what comes after one is not where its neighbours were."""
_HALT = 4
_HALTS, _JUMPS, _FASTER = 9.0, 15.0, 4.0
"""So many blocks within the first of these noises of one another rest; beyond the second, and so many times what the
movement goes in a block after it, something jumped."""


@compiled
def jumps(points: Array, times: NDArray[np.int64], used: Mask, noise: float) -> tuple[NDArray[np.int64], Mask]:
    """Numbers of the first samples after jumps of columns (3, n), and the samples (n,) of rests that end with one.

    A hand that rests does not jump: a rest at the end of a take is none of these. times: numbers (n,) of the samples in
    their take; used: those that say where it is; noise: standard deviation (m).
    """
    n = points.shape[1]
    size = min(max(n // _CELLS, _SIZES[0]), _SIZES[1])
    places, numbers = _cells(points, used, size)
    count, tremble = len(numbers), 1.25 * noise / math.sqrt(size)
    stuck, found, known = np.zeros(n, dtype=np.bool_), np.empty(count, dtype=np.int64), 0
    if count <= _SPAN:
        return found[:0], stuck
    ways = np.empty(count - _SPAN)
    for k in range(count - _SPAN):
        ways[k] = _apart(places, k, k + _SPAN)
    shortest = max(_SHORTEST, _SLOW * _QUIET * tremble * _SPAN / max(median(ways), 1e-300))
    for k in range(count - 2):
        jump = _apart(places, k, k + 2)
        usual = max(_apart(places, k - 2, k), _apart(places, k + 2, k + 4))
        largest = jump >= _apart(places, k - 1, k + 1) and jump > _apart(places, k + 1, k + 3)
        low, high = numbers[k] * size, min((numbers[k + 2] + 1) * size, n)
        lost = 0.5 * ((times[high - 1] - times[low] + 1) / size - 1.0)
        if not largest or lost > _LOST or jump <= _SPEEDS * lost * usual + _SUDDEN * tremble:
            continue
        found[known] = _split(points, places, k, low, high)
        last = k if (numbers[k] + 1) * size <= found[known] else k - 1
        first = _rest(places, last, _QUIET * tremble)
        if last - first + 1 >= shortest:
            for i in range(numbers[first] * size, found[known]):
                stuck[i] = True
        known += 1
    return found[:known], stuck


@compiled
def halted(places: Array, noise: float) -> bool:
    """Whether a rest of some of the blocks' places (b, k) ends with a jump; noise: of the places (m)."""
    blocks, components = places.shape
    near, far = _HALTS * noise, _JUMPS * noise
    for b in range(_HALT - 1, blocks - 3):
        jump = rest = 0.0
        for c in range(components):
            jump += (places[b + 2, c] - places[b, c]) ** 2
        if jump <= far * far:
            continue
        for k in range(1, _HALT):
            away = 0.0
            for c in range(components):
                away += (places[b, c] - places[b - k, c]) ** 2
            rest = max(rest, away)
        after = 0.0
        for c in range(components):
            after += (places[b + 3, c] - places[b + 2, c]) ** 2
        if rest <= near * near and math.sqrt(jump) > far + _FASTER * math.sqrt(after):
            return True
    return False


@compiled
def at_blocks(jumps: NDArray[np.int64], stuck: Mask, blocks: int) -> Mask:
    """Blocks of time (b,) before which there is a jump, but for those that end what is ``stuck``."""
    n = len(stuck)
    out = np.zeros(blocks, dtype=np.bool_)
    for i in jumps:
        if not stuck[i - 1] and not stuck[i]:
            out[min((i * blocks + n // 2) // n, blocks - 1)] = True
    return out


@compiled
def runs(mask: Mask) -> NDArray[np.int64]:
    """First, and next after the last, (k, 2) of the marked samples (n,) that follow one another."""
    n, count = len(mask), 0
    out = np.empty((n // 2 + 1, 2), dtype=np.int64)
    for i in range(n):
        if mask[i] and (i == 0 or not mask[i - 1]):
            out[count, 0] = i
        if mask[i] and (i == n - 1 or not mask[i + 1]):
            out[count, 1] = i + 1
            count += 1
    return out[:count]


@compiled
def _cells(points: Array, used: Mask, size: int) -> tuple[Array, NDArray[np.int64]]:
    """Medians (3, k) of the used samples in cells of time, and the numbers (k,) of those of which half is used."""
    cells = points.shape[1] // size
    places, numbers, spare, count = np.empty((3, cells)), np.empty(cells, dtype=np.int64), np.empty(size), 0
    for k in range(cells):
        here = 0
        for c in range(3):
            here = 0
            for i in range(k * size, (k + 1) * size):
                if used[i]:
                    spare[here] = points[c, i]
                    here += 1
            places[c, count] = median(spare[:here]) if here > 0 else 0.0
        numbers[count] = k
        count += 2 * here >= size
    return places[:, :count], numbers[:count]


@compiled
def _split(points: Array, places: Array, k: int, low: int, high: int) -> int:
    """The first of samples low to high that is after a jump, between the places k and k + 2."""
    before = 0
    for i in range(low, high):
        toward = 0.0
        for c in range(3):
            middle = 0.5 * (places[c, k] + places[c, k + 2])
            toward += (points[c, i] - middle) * (places[c, k + 2] - places[c, k])
        before += toward < 0.0
    return low + min(max(before, 1), high - low - 1)


@compiled
def _apart(places: Array, i: int, j: int) -> float:
    """Distance between two columns (3, k), none beyond the ends."""
    if i < 0 or j >= places.shape[1]:
        return 0.0
    return math.sqrt(
        (places[0, i] - places[0, j]) ** 2 + (places[1, i] - places[1, j]) ** 2 + (places[2, i] - places[2, j]) ** 2
    )


@compiled
def _rest(places: Array, last: int, tolerance: float) -> int:
    """The first of the columns (3, k) up to ``last`` that stay where the last ones are."""
    first = last + 1
    while first > 0:
        square = 0.0
        for c in range(3):
            mean = (places[c, last] + places[c, max(last - 1, 0)] + places[c, max(last - 2, 0)]) / 3.0
            square += (places[c, first - 1] - mean) ** 2
        if square > tolerance**2:
            break
        first -= 1
    return first
