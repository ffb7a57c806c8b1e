"""The path that samples follow: a quick search, and a second look at rival paths where the first leaves a doubt.

Compiled as one call for a whole take, together with the parts of a model (``fitting.engine``).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import compiled, with_parts
from fitting.engine import LIMITS, improved, offsets, search, settled
from fitting.events import likeliest_event, off_stretches, polished, rested, sparing
from fitting.jump_kernels import at_blocks, jumps
from fitting.kernels import compacted, counted, largest
from fitting.ransac import ROUNDING, Found, Path
from fitting.result import Mask
from fitting.rival_kernels import RESTLESS, SCALES, clumped, plausible, unrest
from fitting.rivals import contenders, from_blocks, plain, rival_paths, tightest
from fitting.se3 import Array
from fitting.segment_kernels import pace_of, samples_along
from fitting.segments import BLOCKS
from fitting.stretch_kernels import fast_noise

_SHORTEST = 24
"""Fewer samples do not show whether residuals go in stretches."""


def follow(
    data: Array,
    times: NDArray[np.int64],
    judging: Array,
    choosing: Array,
    size: int,
    noise: float,
    least: int,
    freedoms: int,
) -> Found:
    """The path that samples (3, n) in metres follow, in time order, with their bursts, strays and long pauses left out.

    times: their numbers (n,) in the take, which may have gaps; judging, choosing: random numbers, 0 to 1, for judges
    (none: all samples) and hypotheses; size: samples in each.
    """
    n = data.shape[1]
    floor = ROUNDING * max(largest(data), 1e-3)
    way, allowed, halted = pace_of(data)
    judges = samples_along(way, n, judging, len(judging)) if len(judging) > 0 else np.arange(n)
    chosen = samples_along(way, n, choosing, size).reshape((-1, size))
    found = search(data, judges, chosen, noise, floor, LIMITS)
    found = settled(data, times, found, noise, floor, allowed, least, freedoms)
    if found[2] == 0.0 or n < _SHORTEST:
        return found
    restless = unrest(offsets(found[0], data), found[3], found[2], SCALES) > RESTLESS
    if halted or restless or clumped(found[3], allowed):
        return second_look(data, times, found, way, allowed, size, noise, floor, least, freedoms)
    return found


def second_look(
    data: Array,
    times: NDArray[np.int64],
    first: Found,
    way: Array,
    allowed: Mask,
    size: int,
    noise: float,
    floor: float,
    least: int,
    freedoms: int,
) -> Found:
    """The path that samples follow where a ``first`` one leaves residuals or outliers in stretches, or none can."""
    sure = plausible(data)
    fast = max(fast_noise(data, sure), floor)
    jumping, stuck = jumps(data, times, sure, fast)
    if counted(stuck) > 0:
        # A pile far away makes a slow movement look like a rest.
        allowed = ~stuck
        _, moving, _ = pace_of(compacted(data, allowed))
        allowed[allowed] = moving
    there, sudden = sure & ~stuck, at_blocks(jumping, stuck, min(BLOCKS, len(sure) // 2))
    rivals = rival_paths(data, times, first, way, sure & allowed, allowed, size, noise, floor, least, freedoms)
    best, white, happened, asked = likeliest_event(
        data, times, rivals, there, allowed, sudden, fast, size, noise, floor, least, freedoms
    )
    if white and (happened or counted(stuck) > 0):
        return rested(data, times, best, stuck, ~stuck & ~allowed & asked, noise, floor, least, freedoms)
    return tightest(data, rivals, way, sure & allowed, allowed, floor)


def following(
    name: str,
    from_sample: Callable[[Array, NDArray[np.int64]], Array],
    residuals: Callable[[Array, Array], Array],
    refine: Callable[[Array, Array, Mask, int], Array],
    offsets: Callable[[Array, Array], Array],
) -> Path:
    """``follow`` compiled with the parts of a model, which are compiled."""
    parts: dict[str, Callable[..., object]] = {
        "from_sample": from_sample,
        "residuals": residuals,
        "refine": refine,
        "offsets": offsets,
    }
    quick = (improved, search, settled)
    rivals = (contenders, plain, from_blocks, rival_paths, tightest)
    for step in (*quick, *rivals, sparing, off_stretches, polished, likeliest_event, rested, second_look):
        parts[step.__name__] = compiled(with_parts(step, f"{name}_{step.__name__}", parts))
    return compiled(with_parts(follow, f"{name}_follow", parts))
