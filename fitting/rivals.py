"""A second look at a take of which the first path leaves a doubt: several rival paths, and the choice among them.

Rivals come from places of blocks of time, whose noise is small, and do not depend on any seed. Each is refitted on all
samples and judged by how near to it the blocks are on average: slow drifts hide in the noise of single samples.
The parts of a model take the place of the functions of the same names (``fitting.engine``).
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.engine import ACROSS, LIMITS, THOROUGH, from_sample, improved, offsets, refine, residuals, settled
from fitting.kernels import columns, counted, filled, likeliest, mean_square, rows
from fitting.ransac import LEAST, LOOSE, Found, Limits
from fitting.result import Mask
from fitting.rival_kernels import (
    RESTLESS,
    block_places,
    block_squares,
    costs_of,
    judging_blocks,
    known,
    unrest,
    within,
)
from fitting.se3 import Array
from fitting.segments import BLOCKS

_HYPOTHESES = 400
_DRAWS = np.random.default_rng(0).random(3 * _HYPOTHESES)
"""Where on the way hypotheses take their blocks: anywhere, as a stretch of outliers may fill any part of it."""
_FEWEST = 8
PLAINLY = 1
"""Place of plain least squares among the paths."""
_DRAWN, _RIVALS = (24, LOOSE), (5, LEAST)
"""How many hypotheses are refined on the blocks, and on all samples; the share of blocks that they explain at least."""
_BETTER = (2, 4)
"""Rounds of refits on the blocks, and steps in each."""
_PLAIN = 30
_MANY = 0.45
"""Share of the movement from which white noise about a path proves it: a third of a take is white by chance."""
_CLEARLY = 1.6
"""How many times nearer a path must be to the blocks to count as better where the noise is slow."""


def contenders(
    places: Array, judges: NDArray[np.int64], chosen: NDArray[np.int64], floor: float, limits: Limits
) -> tuple[Array, Array]:
    """Parameters (k, p) that explain places (3, b) of blocks best, each another path, and their scales (k, 1)."""
    subset, hypotheses = columns(places, judges, 1), from_sample(places, chosen)
    numbers, ends = likeliest(residuals(hypotheses, subset), _DRAWN, floor**2)
    starts, scales = np.empty((_DRAWN[0], hypotheses.shape[1])), np.empty((_DRAWN[0], 1))
    table, count = np.empty((_DRAWN[0], len(judges))), 0
    for k in range(_DRAWN[0]):
        if numbers[k] < 0:
            break
        scale = max(math.sqrt(ends[k] / limits[2]), floor)
        better = improved(hypotheses[numbers[k]], subset, scale, 0.0, floor, limits, _BETTER)
        if not known(better[1], table[:count], better[2]):
            filled(starts[count], better[0])
            filled(table[count], better[1])
            scales[count, 0] = better[2]
            count += 1
    best, _ = likeliest(table[:count], _RIVALS, floor**2)
    return rows(starts, best), rows(scales, best)


def plain(data: Array, start: Array, allowed: Mask, floor: float, freedoms: int) -> Found:
    """Least squares over all of the movement: where nothing stands out from slow noise, nothing should be left out."""
    parameters = refine(start, data, allowed, _PLAIN)
    squares = residuals(parameters.reshape((1, -1)), data)[0]
    total, count = mean_square(squares, allowed)
    scale = max(math.sqrt(total / max(ACROSS * count - freedoms, 1)), floor)
    return parameters, squares, scale, allowed & (squares <= LIMITS[0] * scale**2), allowed


def from_blocks(data: Array, start: Array, places: Array, scale: float, there: Mask) -> Found:
    """The path of blocks refitted on the samples of those that are on it: single samples would let drifts in.

    start, scale: of ``contenders``.
    """
    near = residuals(start.reshape((1, -1)), places)[0] <= LIMITS[0] * scale**2
    wide = scale * math.sqrt(len(there) / len(near))
    squares = residuals(start.reshape((1, -1)), data)[0]
    used = there & within(near, len(there)) & (squares <= LIMITS[0] * wide**2)
    parameters = refine(start, data, used, THOROUGH[1])
    return parameters, residuals(parameters.reshape((1, -1)), data)[0], wide, used, used


def rival_paths(
    data: Array,
    times: NDArray[np.int64],
    first: Found,
    way: Array,
    there: Mask,
    allowed: Mask,
    size: int,
    noise: float,
    floor: float,
    least: int,
    freedoms: int,
) -> list[Found]:
    """The path that is found already, plain least squares, and some from the places of blocks.

    way: of ``pace_of``; there: samples (n,) that are where their neighbours are; allowed: those of the movement; times,
    size, least, freedoms: as in ``fitting.following``.
    """
    blocks = min(BLOCKS, len(there) // 2)
    found = [first, plain(data, first[0], allowed, floor, freedoms)]
    places, full = block_places(data, there, blocks)
    judges = judging_blocks(way, full)
    if len(judges) < _FEWEST:
        return found
    chosen = judges[(_DRAWS[: _HYPOTHESES * size] * len(judges)).astype(np.int64)].reshape((-1, size))
    starts, scales = contenders(places, judges, chosen, floor, LIMITS)
    for k in range(len(starts)):
        one = from_blocks(data, starts[k], places, scales[k, 0], there)
        found.append(settled(data, times, one, noise, floor, there, least, freedoms))
    return found


def tightest(data: Array, found: list[Found], way: Array, there: Mask, allowed: Mask, floor: float) -> Found:
    """The path with which the most blocks agree most tightly; the widest of those as good, where the noise is slow.

    A path of many that leaves white noise is right. If none does, the noise moves as slowly as the joint, chance makes
    some path through half of the take tight, and a shorter arc tells much less about an axis.
    found: of ``rival_paths``, whose other parameters these are.
    """
    blocks = min(BLOCKS, len(there) // 2)
    _, full = block_places(data, there, blocks)
    judges = judging_blocks(way, full)
    if len(judges) < _FEWEST:
        return found[0]
    table, smallest = np.empty((len(found), len(judges))), np.inf
    for k in range(len(found)):
        away = offsets(found[k][0], data)
        squares = block_squares(away, found[k][1], there, LIMITS[0] * found[k][2] ** 2, blocks)
        filled(table[k], squares[judges])
        smallest = min(smallest, found[k][2]) if k != PLAINLY else smallest
    # What averages of white noise reach is as near as a block can be.
    costs = costs_of(table, max(LIMITS[2] * smallest**2 * blocks / max(counted(there), 1), floor**2))
    winner = 0
    for k in range(1, len(found)):
        winner = k if costs[k] < costs[winner] else winner
    best = found[winner]
    white = unrest(offsets(best[0], data), best[3], best[2], 1) <= RESTLESS
    if white and counted(best[3]) >= _MANY * counted(allowed):
        return best
    most = 0
    for k in range(len(found)):
        kept = counted(found[k][3])
        if kept > most and costs[k] <= _CLEARLY**2 * costs[winner]:
            best, most = found[k], kept
    return best
