"""Paths whose outliers go in stretches of time: which of them, and with which stretches, explains a take best.

What is wrong for a while (a marker taken for another, a slip) is one event, however long it lasts
(``fitting.stretch_kernels``). A short drift hides in the noise of single samples, not in that of averages.
The parts of a model take the place of the functions of the same names (``fitting.engine``).
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled
from fitting.engine import LIMITS, THOROUGH, from_sample, offsets, refine, residuals, settled
from fitting.jump_kernels import runs
from fitting.kernels import changes, counted, filled, mean_square, rows
from fitting.noise import chi2_quantile
from fitting.ransac import LEAST, Found
from fitting.result import Mask
from fitting.rival_kernels import SCALES, block_counts, block_places, block_squares, known, unrest, within
from fitting.rivals import PLAINLY
from fitting.se3 import Array
from fitting.segments import BLOCKS
from fitting.stretch_kernels import on_path, standing_out, stretches

_LEFT_OUT = ((0.0, 0.0), *((0.1 * k, 0.4) for k in range(7)), *((0.1 * k, 0.2) for k in range(9)))
"""Stretches, beginning and length as shares of a take, without which paths are tried."""
_AT = (0.0, 0.4, 0.75)
"""Where in the rest a path begins to be looked for: not evenly, as a movement there and back is in one place twice."""
_SPARED = 4
"""How many of these paths are looked at further."""
_ROUNDS = 4
_STEPS = 4
"""Rounds of refits on the blocks, and steps in all but the first."""
_MEDIAN = 0.5 * math.pi
"""Variance of a median over that of a mean."""
_EVENT, _CHANCE = 20.0, 3.0
"""Cost of a stretch, in variances: of saying where it begins, ends and goes; and of its blocks that are on the path by
chance, in what they are nearer than they should be."""
_DOUBT, _EDGE = 12.0, 1.0
"""The same where the path is known: leaving out a good block costs little, keeping a bad one much, and a drift begins
within the noise."""
_FINE, _COARSE = 4, 2
"""Parts of a block in which stretches are left out for judging a path, and for the last refit."""
_TIE = 3.0
"""Costs that do not differ by more are alike: more samples tell more."""
_MOST = 0.6
"""Share of the movement from which white noise about a path proves it: of slow noise half is white without its worst
stretches."""
_LEAST_MOVED, _ALONE, _TIGHT = 0.35, 0.75, 1.1
"""The same for the movement alone, where with the rests of a hand on the path there are so many; and from which on,
with so many times the noise from sample to sample, no rest is asked."""
_WHITE = 2.5
"""Unrest of the rest of a take, in deviations, below which only the stretches were not white: slow play is slow in all
of it, and the quietest part of that shows another path, tightly."""
_CLEAR = 4.0
"""Square of a stretch, in variances of a sample, from which it stands out."""
_ALL, _NEARLY = 0.9, 1.3
"""Share of the samples, and noise over that of the quietest path, with which the first path explains a take."""
_SAVED = 30.0
"""What leaving out stretches saves over least squares at least, in variances, if they do not stand out or the first
path explains the take: less is chance."""
_PROVEN = 100.0
"""The same with which stretches are as good as if they stood out."""
_SEVERAL, _QUIET = 3, 1.0
"""So many stretches are bursts, with edges too many to give good samples away at each; and unrest up to which a first
path that keeps more of these is preferred."""
_LIKELY, _ON_IT = chi2_quantile(2, 0.95), chi2_quantile(2, 0.999)
"""Rise of the cost, in variances, up to which a rest that ends with a jump, or one of a hand, may belong to a path."""


def sparing(places: Array, full: Mask, sudden: Mask, weights: Array, size: int) -> Array:
    """Parameters (k, p) that explain the places (3, b) of all blocks best but for those of stretches of time.

    weights: inverse variances (b,) of the places.
    """
    blocks, numbers = len(full), np.flatnonzero(full)
    used = np.ones((len(_LEFT_OUT), blocks), dtype=np.bool_)
    chosen = np.empty((len(_LEFT_OUT), size), dtype=np.int64)
    for k, (first, length) in enumerate(_LEFT_OUT):
        low, high = int(first * blocks), int((first + length) * blocks)
        for b in range(blocks):
            used[k, b] = full[b] and not low <= b < high
        rest = np.flatnonzero(used[k])
        for i in range(size):
            chosen[k, i] = rest[int(_AT[i] * len(rest))] if len(rest) > 0 else numbers[0]
    paths = from_sample(places, chosen)
    table, costs = np.empty(used.shape), np.full(len(used), np.inf)
    on = np.empty(blocks, dtype=np.bool_)
    for k in range(len(used)):
        now, steps = used[k], THOROUGH[1]
        for _ in range(_ROUNDS):
            if counted(now) < LEAST * len(numbers):
                costs[k] = np.inf
                break
            better = refine(paths[k], places, now, steps)
            filled(paths[k], better)
            filled(table[k], residuals(better.reshape((1, -1)), places)[0] * weights)
            costs[k] = on_path(table[k], full, sudden, _EVENT, _CHANCE, on)
            on &= full
            if changes(on, now) == 0:
                break
            filled(now, on)
            steps = _STEPS
    best = np.full(_SPARED, -1, dtype=np.int64)
    taken, count = np.empty((_SPARED, blocks)), 0
    for _ in range(len(used)):
        k = int(costs.argmin())
        if costs[k] == np.inf or count == _SPARED:
            break
        if not known(table[k], taken[:count], 1.0):
            filled(taken[count], table[k])
            best[count] = k
            count += 1
        costs[k] = np.inf
    return rows(paths, best)


def off_stretches(
    data: Array, found: Found, there: Mask, counts: Array, sudden: Mask, noise: float, event: float, chance: float
) -> tuple[float, Mask]:
    """The cost of a path whose outliers go in stretches, and the samples (n,) outside of these, there or not.

    counts: of the samples that are there in each block; noise: standard deviation (m).
    """
    blocks = len(counts)
    squares = block_squares(offsets(found[0], data), found[1], there, LIMITS[0] * noise**2, blocks)
    on = np.empty(blocks, dtype=np.bool_)
    cost = on_path(squares * counts / noise**2, counts > 0.0, sudden, event, chance, on)
    return cost, within(on, len(there))


def polished(
    data: Array,
    times: NDArray[np.int64],
    found: Found,
    good: Mask,
    allowed: Mask,
    scale: float,
    parts: int,
    chance: float,
    noise: float,
    floor: float,
    least: int,
    freedoms: int,
) -> tuple[Found, Mask]:
    """A path that is about right, refitted without stretches of finer blocks, and the good samples outside of these.

    allowed: samples (n,) that may come back, since where a movement is fast they seem to be beside their neighbours;
    scale: noise (m) of the quietest path; parts: of a block.
    """
    counts = block_counts(good, min(parts * BLOCKS, len(good) // 2))
    anywhere = np.zeros(len(counts), dtype=np.bool_)
    _, outside = off_stretches(data, found, good, counts, anywhere, scale, _DOUBT, chance)
    best = settled(data, times, found, noise, floor, allowed & outside, least, freedoms)
    return best, good & outside


def likeliest_event(
    data: Array,
    times: NDArray[np.int64],
    rivals: list[Found],
    there: Mask,
    allowed: Mask,
    sudden: Mask,
    fast: float,
    size: int,
    noise: float,
    floor: float,
    least: int,
    freedoms: int,
) -> tuple[Found, bool, bool, bool]:
    """The path that explains a take best but for stretches of time.

    Gives whether it leaves white noise on many samples, whether something happened in its stretches, and whether rests
    are asked, as no path explains the movement alone. rivals: paths that are known already; there: samples (n,) that
    are where their neighbours are; allowed: those of the movement (what rests at its ends may help to choose a path);
    sudden: blocks (b,) that begin with a jump; fast: noise (m) from sample to sample.
    """
    places, full = block_places(data, there, len(sudden))
    counts = block_counts(there, len(sudden)) * full
    found, smallest = rivals.copy(), np.inf
    if counted(full) > 0:
        paths = sparing(places, full, sudden, counts / (_MEDIAN * fast**2), size)
        for k in range(len(paths)):
            squares = residuals(paths[k].reshape((1, -1)), data)[0]
            one = (paths[k], squares, fast, there, there)
            _, outside = off_stretches(data, one, there, counts, sudden, fast, _EVENT, _CHANCE)
            used = there & outside
            near = used & (squares <= LIMITS[0] * fast**2)
            found.append(
                settled(data, times, (paths[k], squares, fast, near, near), noise, floor, used, least, freedoms)
            )
    for k in range(len(found)):
        smallest = min(smallest, found[k][2])
    costs, on = np.empty(len(found)), np.empty(len(found))
    for k in range(len(found)):
        costs[k], outside = off_stretches(data, found[k], there, counts, sudden, smallest, _EVENT, _CHANCE)
        on[k] = counted(there & outside)
    limit, winner = costs.min() + _TIE, -1
    for k in range(len(found)):
        if costs[k] <= limit and (winner < 0 or on[k] > on[winner]):
            winner = k
    good, pauses, asked = there & allowed, there & ~allowed, True
    for k in range(len(found)):
        # Where the movement speaks for itself: a hand that pushes against a stop holds it off its path.
        asked &= found[k][2] > _TIGHT * fast or counted(found[k][3] & good) < _ALONE * counted(good)
    pauses &= asked
    best, used = polished(
        data, times, found[winner], good, allowed, smallest, _FINE, _CHANCE, noise, floor, least, freedoms
    )
    away, count = offsets(best[0], data), len(sudden)
    squares = block_squares(away, best[1], good, LIMITS[0] * smallest**2, count)
    known_good, on_it = block_counts(good, count), block_counts(used, count)
    clear = standing_out(squares, known_good, on_it) > _CLEAR * smallest**2
    explained = counted(rivals[0][3] & good) >= _ALL * counted(good) and rivals[0][2] <= _NEARLY * smallest
    saved = costs[PLAINLY] - costs[winner]
    happened = (clear and not explained) or saved >= _SAVED
    white = quiet(away, best, pauses, allowed)
    if stretches(known_good, on_it) >= _SEVERAL:
        first = rivals[0]
        more = costs[0] <= limit and counted(first[3]) > counted(best[3])
        if more and unrest(offsets(first[0], data), first[3] & allowed, first[2], SCALES) < _QUIET:
            return first, white or counted(first[3] & allowed) >= _MOST * counted(allowed), happened, asked
        return best, white, happened, asked
    best, _ = polished(data, times, best, good, allowed, smallest, _COARSE, _EDGE, noise, floor, least, freedoms)
    # The quietest part of slow play would look white, too, without what is beside it, but that does not stand out.
    if not white and (clear or saved >= _PROVEN):
        white = quiet(offsets(best[0], data), best, pauses, allowed)
    return best, white, happened, asked


@compiled
def quiet(away: Array, found: Found, pauses: Mask, allowed: Mask) -> bool:
    """Whether many samples are on a path, and their offsets (2, n) from it, ``away``, are white noise.

    pauses: samples (n,) of rests that count as well: a stretch while a hand moves fast is half of the movement.
    """
    used = found[3] & allowed
    on, moved = counted(used), counted(allowed)
    rested = counted(pauses & (found[1] <= LIMITS[0] * found[2] ** 2))
    many = on >= _MOST * moved or (on >= _LEAST_MOVED * moved and on + rested >= _MOST * (moved + counted(pauses)))
    return many and unrest(away, used, found[2], SCALES) < _WHITE


def rested(
    data: Array,
    times: NDArray[np.int64],
    found: Found,
    stuck: Mask,
    pauses: Mask,
    noise: float,
    floor: float,
    least: int,
    freedoms: int,
) -> Found:
    """The path with those of the ``stuck`` rests that may belong to it: a hand rested there, and what jumps is another.

    pauses: samples (n,) of the rests at the ends of a take that are asked as well, but for outliers.
    A rest may belong to it where a path through all costs hardly more than one through the others.
    """
    more, path = found[3], found[0]
    near = found[1] <= LIMITS[0] * found[2] ** 2
    for mask, who, likely in ((stuck, stuck, _LIKELY), (pauses, near, _ON_IT)):
        for first, last in runs(mask):
            rest = np.zeros(len(stuck), dtype=np.bool_)
            for i in range(first, last):
                rest[i] = who[i]
            length = counted(rest)
            if length == 0:
                continue
            before, _ = mean_square(residuals(path.reshape((1, -1)), data)[0], more)
            other = refine(path, data, more | rest, THOROUGH[1])
            after, _ = mean_square(residuals(other.reshape((1, -1)), data)[0], more)
            away = offsets(other, data)
            x, y = (away[0] * rest).sum() / length, (away[1] * rest).sum() / length
            if after - before + length * (x * x + y * y) <= likely * found[2] ** 2:
                more, path = more | rest, other
    if changes(more, found[3]) == 0:
        return found
    # About a path that was found without it, all of a rest would be off to one side.
    squares = residuals(path.reshape((1, -1)), data)[0]
    return settled(data, times, (path, squares, found[2], more, more), noise, floor, more, least, freedoms)
