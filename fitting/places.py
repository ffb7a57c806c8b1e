"""How well a joint type explains positions alone, where a recording has no orientations."""

from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.explained import Explained
from fitting.motion import Kind, Take
from fitting.result import FitFailure, Mask
from fitting.se3 import Array

_OUTLIER = 30.0
"""Cost of a position that a candidate does not explain: twice the log of its rarity in a cubic metre."""
_UNMEASURED = 1e-9
"""Change of a rotation matrix's entries below which it is the same orientation, noise included."""


def orientations_measured(takes: list[Take]) -> bool:
    """Whether the orientations of any take differ at all: a tracker's noise alone makes them differ."""
    return any(len(take) > 1 and float(np.abs(take.R - take.R[0]).max()) > _UNMEASURED for take in takes)


def _offsets(kind: Kind, fit: Any, take: Take, used: Mask) -> Array:
    """Components (n, k) in metres of the positions' offsets from the path that a fit gives this take."""
    arms = take.p - fit.point
    if kind.latents == 0:
        own = arms
    else:
        heights = arms @ fit.axis
        own = arms - heights[:, None] * fit.axis
        if kind.turns:
            own = np.stack([np.linalg.norm(own, axis=1), heights], axis=1)
    return np.asarray(own - np.median(own[used], axis=0)) if used.any() else own


def explained_by_places(kind: Kind, fit: Any, takes: list[Take], noise: Noise) -> Explained:
    """Cost of all samples in squared standard deviations of their positions alone.

    A place along the path, which each sample has of its own, costs as much as it could have said.
    """
    if isinstance(fit, FitFailure):
        count = sum(map(len, takes))
        none = np.zeros((count, 3))
        nobody = np.zeros(count, dtype=bool)
        return Explained(_OUTLIER * count, 0, none, nobody, nobody, none[None][:0])
    total, residuals, explained, place = 0.0, [], [], 0
    for take in takes:
        own = slice(place, place + len(take))
        place += len(take)
        used = fit.inliers[own]
        e = _offsets(kind, fit, take, used)
        squares = (e**2).sum(axis=1) / noise.position**2
        price = 0.0
        if kind.latents and used.any():
            low, high = np.quantile(fit.coordinates[own][used], [0.005, 0.995])
            way = float(high - low) * (fit.radius if kind.turns else 1.0)
            price = max(2.0 * float(np.log(max(way, 1e-12) / (2.5 * noise.position))), 1.0)
        total += float(np.minimum(squares + price, _OUTLIER).sum())
        explained.append(squares + price < _OUTLIER)
        residuals.append(np.pad(e, ((0, 0), (0, 3 - e.shape[1]))))
    # Of the axis, then of each take: radius and height, place of its line, or its point.
    shared, of_take = (4, 2) if kind.turns else (2, 2) if kind.slides else (0, 3)
    e, used = np.concatenate(residuals), np.concatenate(explained)
    return Explained(total, shared + of_take * len(takes), e, used, used, e[None][:0])
