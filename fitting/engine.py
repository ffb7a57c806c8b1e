"""The robust search and its last refits, for any model; run as they are, or compiled together with a model's loops.

The parts of a model (``fitting.ransac.Model``) take the place of the functions of the same names below.
Data are columns (k, n); squares are squared distances (m²); a noise of zero is not known.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fitting.compiled import with_parts
from fitting.kernels import (
    changes,
    columns,
    counted,
    crowded,
    extent,
    filled,
    gated,
    likeliest,
    mean_square,
    rows,
    scattered,
    strays,
)
from fitting.noise import truncated_mean
from fitting.ransac import (
    ASTRAY,
    CROWD,
    FEW,
    GATE,
    KEPT,
    LEAST,
    LOOSE,
    OTHERS,
    PROMISING,
    STEADY,
    SUBSET,
    WEIGHTY,
    WIDER,
    Found,
    Limits,
    Model,
    limits_of,
)
from fitting.result import Mask
from fitting.se3 import Array
from fitting.segment_kernels import suspected

_TURNS = 6
_BRIEF, THOROUGH = (1, 2), (2, 12)
"""Rounds of refits, and steps in each."""
_MANY, _SOME, _ONE = (PROMISING, LOOSE), (KEPT, LEAST), (1, LEAST)
"""How many hypotheses are kept, and the share of samples that they explain at least."""
ACROSS = 2
"""Components across a path."""
LIMITS = limits_of(ACROSS)
_BELOW = truncated_mean(ACROSS, GATE) / ACROSS


def from_sample(data: Array, chosen: NDArray[np.int64]) -> Array:
    """Parameters (m, p) through the samples of ``chosen`` (m, size)."""
    raise NotImplementedError


def residuals(parameters: Array, data: Array) -> Array:
    """Squared distances (m, n) for parameters (m, p)."""
    raise NotImplementedError


def refine(parameters: Array, data: Array, used: Mask, steps: int) -> Array:
    """Parameters (p,) with the least squares over the used samples (n,), from ``parameters`` on."""
    raise NotImplementedError


def offsets(parameters: Array, data: Array) -> Array:
    """Distances (2, n) with their signs, in the two directions across a path."""
    raise NotImplementedError


def improved(
    parameters: Array,
    data: Array,
    scale: float,
    noise: float,
    floor: float,
    limits: Limits,
    effort: tuple[int, int],
) -> Found:
    """Refit on who is inside the gate, estimate the noise, ask again; until hardly anybody comes or goes."""
    squares = residuals(parameters.reshape((1, -1)), data)[0]
    inside = squares <= limits[0] * scale**2
    fitted = inside
    for _ in range(effort[0]):
        fitted = inside.copy()
        parameters = refine(parameters, data, fitted, effort[1])
        squares = residuals(parameters.reshape((1, -1)), data)[0]
        scale, changed = gated(squares, scale, noise > 0.0, limits[0], limits[1], floor, inside)
        if changed <= len(inside) // STEADY:
            break
    return parameters, squares, scale, inside, fitted


def search(
    data: Array, judges: NDArray[np.int64], chosen: NDArray[np.int64], noise: float, floor: float, limits: Limits
) -> Found:
    """The parameters with which the most samples agree; a scale of zero where there are none.

    judges: samples on which hypotheses are compared; chosen: (m, size) samples that make them.
    """
    subset = columns(data, judges, 1)
    hypotheses = from_sample(data, chosen)
    if len(judges) >= SUBSET:
        # First all on a few samples, then the promising ones on more.
        promising, _ = likeliest(residuals(hypotheses, columns(data, judges, FEW)), _MANY, floor**2)
        hypotheses = rows(hypotheses, promising)
    distances = residuals(hypotheses, subset)
    numbers, ends = likeliest(distances, _SOME, floor**2)
    starts, scales = np.empty((KEPT, hypotheses.shape[1])), np.empty(KEPT)
    table, count = np.empty((KEPT, len(judges))), 0
    first = np.zeros(len(judges), dtype=np.bool_)
    for k in range(KEPT):
        if numbers[k] >= 0:
            scale = noise if noise > 0.0 else max(math.sqrt(ends[k] / limits[2]), floor)
            # What the first one explains, refitted and hardly wider, leads to the same place.
            if count > 0 and scales[0] <= 2.0 * scale:
                others = (distances[numbers[k]] <= ends[k]) & ~first
                if counted(others) <= OTHERS * len(judges):
                    continue
            better = improved(hypotheses[numbers[k]], subset, scale, noise, floor, limits, _BRIEF)
            filled(starts[count], better[0])
            filled(table[count], better[1])
            scales[count] = better[2]
            if count == 0:
                first = better[3]
            count += 1
    if count == 0:
        nobody = np.zeros(data.shape[1], dtype=np.bool_)
        return np.zeros(hypotheses.shape[1]), np.zeros(data.shape[1]), 0.0, nobody, nobody
    best = max(likeliest(table[:count], _ONE, floor**2)[0][0], 0)
    found = improved(starts[best], data, scales[best], noise, floor, limits, THOROUGH)
    limit = limits[0] * found[2] ** 2
    while noise <= 0.0 and crowded(found[1], limit, CROWD) and not scattered(found[1], limit):
        floor = WIDER * found[2]
        found = improved(found[0], data, floor, noise, floor, limits, THOROUGH)
        limit = limits[0] * found[2] ** 2
    return found


def settled(
    data: Array,
    times: NDArray[np.int64],
    found: Found,
    noise: float,
    floor: float,
    allowed: Mask,
    least: int,
    freedoms: int,
) -> Found:
    """Leave out bursts and strays, refit, score again, until who is in no longer changes.

    times: numbers (n,) of the samples in their take; allowed: those of the movement; least: samples to keep; freedoms:
    of the model.
    """
    parameters, squares, scale, keep, used = found
    for _ in range(_TURNS):
        if noise > 0.0:
            scale = noise
        else:
            total, count = mean_square(squares, used)
            scale = max(math.sqrt(total / (max(ACROSS * count - freedoms, 1) * _BELOW)), floor)
        inliers = (squares <= LIMITS[0] * scale**2) & allowed
        keep = inliers & ~suspected(offsets(parameters, data), inliers, scale, ACROSS)
        keep &= ~strays(data, times, keep, ASTRAY * scale)
        if counted(keep) < least:
            keep = inliers
        if changes(keep, used) <= len(keep) // STEADY and extent(data, used) <= WEIGHTY * extent(data, keep):
            break
        used = keep
        parameters = refine(parameters, data, used, THOROUGH[1])
        squares = residuals(parameters.reshape((1, -1)), data)[0]
    return parameters, squares, scale, keep, used


def searching(model: Model) -> Callable[..., Found]:
    """``search`` with the parts of a model."""
    parts: dict[str, Callable[..., object]] = {
        "from_sample": model.from_sample,
        "residuals": model.residuals,
        "refine": model.refine,
    }
    return with_parts(search, "search", {**parts, "improved": with_parts(improved, "improved", parts)})
