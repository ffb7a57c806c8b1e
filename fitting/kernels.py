"""Inner loops of the robust engine. Squared distances in m²; data are columns (k, n), one for each sample."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled, summed
from fitting.order import median_of_some, median_where
from fitting.result import Mask
from fitting.se3 import Array

_GAP = 8
"""Samples left out between two, up to which a jump between them is one."""
_BACK = 0.5
"""Cosine between a jump and the opposite of another, from which the other leads back."""
_BESIDE, _AHEAD = 12, 0.9
"""Samples on both sides whose movement tells whether a step goes on with it, and the cosine from which it does."""
_FEW = 0.4
"""Share of samples below which a hypothesis must be much tighter than others: so few agree by chance."""
_RECENT = 8
"""Samples before one among which it may be told already."""
_FALLS, _MIXED = 3.5, 0.7
"""Density beside a limit over that around it, from which it falls; and changes between inside and outside, over those
of a random order, from which they are in none."""
_BINS = 160
"""Half octaves of squares that are told apart: from rounding to beyond everything."""

_LARGEST = 2**63 - 1
"""Largest whole number of 64 bits: all bits of a float but its sign."""
_STEP, _MIXERS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Constants of SplitMix64."""


@compiled
def shares(seed: int, count: int) -> Array:
    """Random numbers (count,), 0 to 1, that follow from a seed (SplitMix64)."""
    out, state = np.empty(count), np.uint64(seed)
    for i in range(count):
        state += np.uint64(_STEP)
        mixed = (state ^ (state >> np.uint64(30))) * np.uint64(_MIXERS[0])
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIXERS[1])
        mixed ^= mixed >> np.uint64(31)
        out[i] = np.float64(mixed >> np.uint64(11)) / 2.0**53
    return out


@compiled
def likeliest(  # noqa: C901
    squares: Array, wanted: tuple[int, float], smallest: float
) -> tuple[NDArray[np.int64], Array]:
    """Rows of squares (m, n) that explain the samples best: numbers (keep,), and squares up to which they do (keep,).

    A row that explains a share q within a distance s costs s/q: tight on most samples is better than loose on all,
    and better than tighter on a few. No noise level is needed. wanted: how many (keep), and the smallest share;
    smallest: square below which there is only rounding. Unused places have the number −1.
    """
    keep, least = wanted
    n = squares.shape[1]
    edges = np.empty(_BINS)
    edges[0] = smallest
    # Leading bits number the half octaves: exponent, and first bit of the fraction.
    marks, bits = edges.view(np.int64), squares.view(np.int64)
    low = marks[0] >> 51
    for b in range(_BINS):
        marks[b] = (low + b + 1) << 51
    counts, bins = np.empty(_BINS, dtype=np.int64), np.empty(n, dtype=np.int64)
    weights = np.full(n + 1, np.inf)
    for count in range(max(math.ceil(least * n), 1), n + 1):
        weights[count] = max(_FEW * n / count, 1.0) ** 8 * (n / count) ** 2
    numbers = np.full(keep, -1, dtype=np.int64)
    costs, ends = np.full(keep, np.inf), np.zeros(keep)
    for j in range(squares.shape[0]):
        # No cost is below the square up to which it explains: without enough samples below that of the last place
        # there is nothing to be won.
        worst, near = max(costs[keep - 1], smallest), 0
        for i in range(n):
            near += squares[j, i] < worst
        if near < least * n:
            continue
        first, last = _BINS - 1, 0
        for i in range(n):
            bins[i] = min(max((bits[j, i] >> 51) - low, 0), _BINS - 1)
            first, last = min(first, bins[i]), max(last, bins[i])
        for b in range(first, last + 1):
            counts[b] = 0
        for i in range(n):
            counts[bins[i]] += 1
        best, end, total = np.inf, 0.0, 0
        for b in range(first, min(last + 1, _BINS - 1)):
            total += counts[b]
            if edges[b] >= best:
                break
            cost = edges[b] * weights[total]
            if cost < best:
                best, end = cost, edges[b]
        if best >= costs[keep - 1]:
            continue
        place = keep - 1
        while place > 0 and costs[place - 1] > best:
            costs[place], numbers[place], ends[place] = costs[place - 1], numbers[place - 1], ends[place - 1]
            place -= 1
        costs[place], numbers[place], ends[place] = best, j, end
    return numbers, ends


@compiled
def gated(
    squares: Array, noise: float, given: bool, gate: float, usual: float, floor: float, inside: Mask
) -> tuple[float, int]:
    """Noise (m) from the median square inside the gate, repeated until both agree; and how many of ``inside`` change.

    given: the noise is kept; gate: largest good square in variances; usual: median square in variances;
    inside (n,): gets who is inside the gate.
    """
    if not given:
        spare = np.empty(len(squares))
        for _ in range(20):
            middle, count = median_where(squares, gate * noise * noise, spare)
            if count == 0:
                break
            updated = max(math.sqrt(middle / usual), floor)
            steady = abs(updated - noise) < 0.01 * noise
            noise = updated
            if steady:
                break
    limit = gate * noise * noise
    changed = 0
    for i in range(len(squares)):
        now = squares[i] <= limit
        changed += now != inside[i]
        inside[i] = now
    return noise, changed


@compiled
def crowded(squares: Array, limit: float, crowd: float) -> bool:
    """Whether so many squares (n,) lie just outside the limit that it is the limit which is too narrow.

    Part of a take may be much quieter than the rest (a pause); gross outliers do not crowd around the gate.
    """
    inside = near = 0
    for i in range(len(squares)):
        inside += squares[i] <= limit
        near += squares[i] <= 9.0 * limit
    return near > (1.0 + crowd) * inside


@compiled
def scattered(squares: Array, limit: float) -> bool:
    """Whether squares (n,) of two components just outside the limit are those of outliers all around a path.

    Their density does not fall with the distance, as that of a noise does which is wider than it seemed; and they come
    at any time, not in stretches, as what is less quiet than a pause. Samples are in time order.
    """
    near = beside = around = changed = 0
    before = True
    for i in range(len(squares)):
        if squares[i] > 9.0 * limit:
            continue
        inside = squares[i] <= limit
        around += not inside
        beside += limit < squares[i] <= 2.0 * limit
        changed += near > 0 and inside != before
        before = inside
        near += 1
    return 8 * beside < _FALLS * around and changed * near > _MIXED * 2 * around * (near - around)


@summed
def mean_square(squares: Array, used: Mask) -> tuple[float, int]:
    """Sum of the used squares (n,), and how many are used."""
    total, count = 0.0, 0
    for i in range(len(squares)):
        total += squares[i] if used[i] else 0.0
        count += 1 if used[i] else 0
    return total, count


@compiled
def counted(mask: Mask) -> int:
    """How many samples (n,) are marked; numpy's own loads SciPy."""
    count = 0
    for i in range(len(mask)):
        count += mask[i]
    return count


@compiled
def changing(points: Array) -> tuple[Mask, int]:
    """Samples (n,) of columns (k, n) that do not repeat the one before, and how many.

    Where some do, what comes back after single others, outliers among the repeated, is no new sample, either.
    """
    fresh = np.zeros(points.shape[1], dtype=np.bool_)
    for k in range(points.shape[0]):
        for i in range(1, points.shape[1]):
            fresh[i] |= points[k, i] != points[k, i - 1]
    fresh[:1] = True
    count = counted(fresh)
    if count < len(fresh):
        told, known = places_of(fresh), 0
        for i in told:
            again = -1
            for j in range(max(known - _RECENT, 0), known):
                same = True
                for k in range(points.shape[0]):
                    same &= points[k, i] == points[k, told[j]]
                again = j if same else again
            fresh[i] = again < 0
            if again < 0:
                told[known] = i
                known += 1
            else:
                # However many outliers come between, what is told again stays recent.
                place = told[again]
                for j in range(again, known - 1):
                    told[j] = told[j + 1]
                told[known - 1] = place
        count = known
    return fresh, count


@compiled
def changes(one: Mask, other: Mask) -> int:
    """In how many samples (n,) two masks differ."""
    count = 0
    for i in range(len(one)):
        count += one[i] != other[i]
    return count


@compiled
def strays(points: Array, times: NDArray[np.int64], used: Mask, least: float) -> Mask:
    """Used samples (n,) whose place (3, n) is not where the movement was at that moment: single ones, and stretches.

    An outlier may fall on the fitted curve by chance, but hardly where its neighbours in time are. The tolerance (m)
    comes from the steps between neighbours, and is at least ``least``. times: (n,) numbers in the take.
    """
    out = np.zeros(points.shape[1], dtype=np.bool_)
    places = places_of(used)
    n = len(places)
    if n < 12:
        return out
    near, steps = columns(points, places, 1), np.empty(n - 1)
    for i in range(n - 1):
        steps[i] = _square(near, i, i + 1)
    tolerance = max(16.0 * median_of_some(steps), least * least)
    for i in range(n):
        # Most samples have two good neighbours; the others look further.
        if 0 < i < n - 1 and steps[i - 1] < tolerance and steps[i] < tolerance:
            continue
        # Where the movement is fast, neighbours are as far apart as it takes them.
        local = tolerance
        if 1 < i < n - 2:
            local = max(local, min(_square(near, i - 1, i + 1), _square(near, i - 2, i + 2)))
        count = 0
        for j in range(max(i - 4, 0), min(i + 5, n)):
            count += _square(near, i, j) < local
        if count < 3:
            out[places[i]] = True
    _excursions(near, places, times, steps, tolerance, out)
    return out


@compiled
def _excursions(
    near: Array, places: NDArray[np.int64], times: NDArray[np.int64], steps: Array, tolerance: float, out: Mask
) -> None:
    """Mark stretches that begin with a jump and end with a jump back: where samples are lost, it goes on ahead."""
    n = near.shape[1]
    last = -1
    for i in range(1, n - 2):
        passed = times[places[i + 1]] - times[places[i]]
        if steps[i] <= tolerance or passed > _GAP or out[places[i]] or out[places[i + 1]]:
            continue
        # A step among steps of its size is speed, not a jump; where samples are lost, it goes on as long.
        lost = float(passed)
        if steps[i] < 16.0 * lost * lost * max(steps[i - 1], steps[i + 1]) or _goes_on(near, i, tolerance):
            continue
        back = 0.0
        for k in range(3):
            back -= (near[k, last + 1] - near[k, last]) * (near[k, i + 1] - near[k, i])
        if last >= 0 and i - last < 0.4 * n and back > _BACK * math.sqrt(steps[last] * steps[i]):
            for k in range(last + 1, i + 1):
                out[places[k]] = True
            last = -1
        else:
            last = i


@compiled
def _goes_on(points: Array, i: int, tolerance: float) -> bool:
    """Whether the step from column i (3, n) to the next leads where the movement beside it goes: samples were lost.

    tolerance: squared step (m²) that noise explains.
    """
    first, last = max(i - _BESIDE, 0), min(i + 1 + _BESIDE, points.shape[1] - 1)
    step = square = along = 0.0
    for k in range(points.shape[0]):
        jump = points[k, i + 1] - points[k, i]
        beside = points[k, i] - points[k, first] + points[k, last] - points[k, i + 1]
        along += jump * beside
        step += jump * jump
        square += beside * beside
    return square > tolerance and along > _AHEAD * math.sqrt(step * square)


@compiled
def _square(points: Array, i: int, j: int) -> float:
    x, y, z = points[0, i] - points[0, j], points[1, i] - points[1, j], points[2, i] - points[2, j]
    result: float = x * x + y * y + z * z
    return result


@compiled
def extent(points: Array, used: Mask) -> float:
    """Longest side (m) of the box around the used points (3, n).

    Compared as whole numbers in the order of their bits, since those of several samples are compared at once.
    """
    widest, ends = 0.0, np.zeros(2)
    bits, marks = points.view(np.int64), ends.view(np.int64)
    for k in range(points.shape[0]):
        low, high = _LARGEST, -_LARGEST
        for i in range(points.shape[1]):
            value = bits[k, i] ^ ((bits[k, i] >> 63) & _LARGEST)
            low, high = min(low, value if used[i] else _LARGEST), max(high, value if used[i] else -_LARGEST)
        if low <= high:
            marks[0], marks[1] = low ^ ((low >> 63) & _LARGEST), high ^ ((high >> 63) & _LARGEST)
            widest = max(widest, ends[1] - ends[0])
    return widest


@compiled
def largest(data: Array) -> float:
    """Largest absolute value of data (k, n)."""
    out = np.zeros(1)
    bits, mark = data.view(np.int64), out.view(np.int64)
    value = 0
    for k in range(data.shape[0]):
        for i in range(data.shape[1]):
            value = max(value, bits[k, i] & _LARGEST)
    mark[0] = value
    return float(out[0])


@compiled
def places_of(used: Mask) -> NDArray[np.int64]:
    """Numbers of the used samples (n,); which these are cannot be guessed, so that nothing branches on it."""
    places, count = np.empty(len(used), dtype=np.int64), 0
    for i in range(len(used)):
        places[count] = i
        count += 1 if used[i] else 0
    return places[:count]


@compiled
def compacted(points: Array, used: Mask) -> Array:
    """The used columns of points (k, n)."""
    return columns(points, places_of(used), 1)


@compiled
def columns(data: Array, numbers: NDArray[np.int64], step: int) -> Array:
    """Columns of data (k, n) by their numbers, one in so many of these."""
    count = (len(numbers) + step - 1) // step
    out = np.empty((data.shape[0], count))
    for k in range(data.shape[0]):
        for i in range(count):
            out[k, i] = data[k, numbers[i * step]]
    return out


@compiled
def rows(table: Array, numbers: NDArray[np.int64]) -> Array:
    """Rows of a table (m, k) by their numbers, of which negative ones are none."""
    count = 0
    for j in numbers:
        count += j >= 0
    out, place = np.empty((count, table.shape[1])), 0
    for j in numbers:
        if j >= 0:
            filled(out[place], table[j])
            place += 1
    return out


@compiled
def filled(out: NDArray[Any], values: NDArray[Any]) -> None:
    """Put values (k,) into ``out``: assigned slices take long to compile."""
    for k in range(len(out)):
        out[k] = values[k]
