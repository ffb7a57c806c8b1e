"""Stretches of a take that are not on a path: the likeliest ones, from the squares of blocks of time.

What is wrong for a while (a marker mistaken for another, a hand that slips) is one event, however long it lasts: its
cost is for its beginning, and hardly for its length.
"""

import math

import numpy as np

from fitting.compiled import compiled
from fitting.order import median
from fitting.result import Mask
from fitting.se3 import Array
from fitting.segments import BLOCKS

_GOOD = 2.0
"""Mean square of a block that is on the path, in variances."""
_LONGER = 3.0
"""What a block in a stretch costs beyond that, where there are ``BLOCKS``."""
_NEAR = 6.0
"""Below this square a block is on the path, and hardly so by chance in a stretch."""
_LEAVES, _STAYS = 0.2, 0.4
"""Shares of the cost of an event: to leave the path with a jump, and to stay on it (or off it) at one."""
_SHARE = 0.6745 * math.sqrt(6.0)
"""Median of the absolute second differences of white noise with unit variance."""


@compiled
def fast_noise(points: Array, used: Mask) -> float:
    """Standard deviation (m) of noise that changes from sample to sample, of used ones in columns (3, n)."""
    n = points.shape[1]
    spare, count = np.empty(3 * n), 0
    for i in range(1, n - 1):
        if used[i - 1] and used[i] and used[i + 1]:
            for c in range(3):
                spare[count] = abs(points[c, i - 1] - 2.0 * points[c, i] + points[c, i + 1])
                count += 1
    return median(spare[:count]) / _SHARE if count > 0 else 0.0


@compiled
def on_path(squares: Array, full: Mask, sudden: Mask, event: float, chance: float, on: Mask) -> float:
    """The least cost of blocks of time (b,), whose squares are in variances; ``on`` gets which are on the path.

    full: blocks that say anything, others are on it unless those on both sides are not; sudden: blocks before which
    there is a jump; event: cost of a stretch, in variances; chance: how many times it counts what a block of a stretch
    is nearer than it should be.
    """
    blocks = len(squares)
    # Whether the likeliest way to each block, on the path or off it, was on it before.
    from_on, from_off = np.empty(blocks, dtype=np.bool_), np.empty(blocks, dtype=np.bool_)
    good, bad, weight = 0.0, event, BLOCKS / blocks
    for b in range(blocks):
        stay = _STAYS * event if sudden[b] else 0.0
        leave = _LEAVES * event if sudden[b] else event
        from_on[b], from_off[b] = good + stay <= bad, good + leave < bad + stay
        here, away = min(good + stay, bad), min(good + leave, bad + stay)
        good = here + (squares[b] if full[b] else 0.0)
        bad = away + (_GOOD + weight * (_LONGER + chance * max(_NEAR - squares[b], 0.0)) if full[b] else 0.0)
    now = good <= bad
    after = before = True
    for k in range(blocks):
        b = blocks - 1 - k
        on[b] = after = now if full[b] else after
        now = from_on[b] if now else from_off[b]
    for b in range(blocks):
        before = on[b] if full[b] else before
        on[b] = on[b] or before
    return min(good, bad)


@compiled
def standing_out(squares: Array, counts: Array, on: Array) -> float:
    """Median square of the blocks of time (b,) of which most samples are in stretches; none: infinite.

    squares: of the blocks' means; counts, on: how many samples say anything, and how many of them are on the path.
    """
    spare, count = np.empty(len(squares)), 0
    for b in range(len(squares)):
        if counts[b] > 2.0 * on[b]:
            spare[count] = squares[b]
            count += 1
    return median(spare[:count]) if count > 0 else np.inf


@compiled
def stretches(counts: Array, on: Array) -> int:
    """How many stretches of blocks of time (b,) there are of which most samples are off a path; as above."""
    number, before = 0, False
    for b in range(len(counts)):
        off = counts[b] > 2.0 * on[b]
        number += off and not before
        before = off
    return number
