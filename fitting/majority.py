"""The line beside which most samples of a take are, its rests included.

Rests say little about where a slide goes, and are left out of its fit. But who strays far for half of a movement has
been on the line mostly while resting at both ends: without rests, an excursion may look like the slide, or nothing
does. Such takes are rare, and told by a line beside which clearly more samples are than beside the one that was found.
"""

import math

import numpy as np

from fitting.line import LineFit
from fitting.noise import chi2_median, chi2_quantile
from fitting.ransac import GATE
from fitting.result import Mask
from fitting.se3 import Array

_NEAR, _BESIDE = 0.003, 0.004
"""Metres from a line within which a shaky hand stays: to count for a guess, and for a line that was fitted."""
_ENOUGH = 0.6
"""Share of a take's samples beside a line from which on nobody else is asked."""
_CLEARLY = 1.3
"""How many times as many samples must be beside another line."""
_WIDEST = 0.005
"""Metres: noise of a line that is none."""
_GUESSES, _JUDGES = 300, 600
_APART = 0.2
"""Share of the take's extent by which two samples must be apart to show a direction."""
_SHORTEST = 0.04
"""Metres: all of a shorter movement is beside many lines."""
_LEAST = 0.3
"""Share of a take's samples that are no majority."""
_ROUNDS = 4


def clear_majority(points: Array, used: Mask | None = None, line: LineFit | None = None) -> Mask | None:
    """Samples (n,) of points (n, 3) in metres that lie beside another line than the one that was found, if most do.

    used: (n,) inliers of the line that was found, where one was. None: that line is right, or there is none at all.
    """
    held = 0.0
    if line is not None and used is not None and used.any() and line.noise < _WIDEST:
        held = float(np.mean(_distances(points, points[used].mean(axis=0), line.direction[None])[0] < _BESIDE))
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    if held > _ENOUGH or extent < _SHORTEST:
        return None
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, len(points), (2, _GUESSES))
    ways = points[j] - points[i]
    lengths = np.linalg.norm(ways, axis=1)
    far = lengths > _APART * extent
    if not far.any():
        return None
    starts, ways = points[i][far], ways[far] / lengths[far, None]
    judges = points[:: max(len(points) // _JUDGES, 1)]
    best = int(np.argmax((_distances(judges, starts, ways) < _NEAR).sum(axis=1)))
    distances = _distances(points, starts[best], ways[best][None])[0]
    return _settled(points, distances < _NEAR) if np.mean(distances < _BESIDE) > max(_CLEARLY * held, _LEAST) else None


def _settled(points: Array, near: Mask) -> Mask:
    """Samples that stay beside the line of those that are there."""
    for _ in range(_ROUNDS):
        middle = points[near].mean(axis=0)
        direction = np.linalg.svd(points[near] - middle, full_matrices=False)[2][:1]
        distances = _distances(points, middle, direction)[0]
        noise = float(np.median(distances[near])) / math.sqrt(chi2_median(2))
        stay = distances <= min(math.sqrt(chi2_quantile(2, GATE)) * noise, _BESIDE)
        near = stay if stay.any() else near
    return near


def _distances(points: Array, starts: Array, directions: Array) -> Array:
    """Distances (m, n) of points (n, 3) from lines through starts (3,) or (m, 3)."""
    offsets = points - np.atleast_2d(starts)[:, None]
    along = np.einsum("mnk,mk->mn", offsets, directions)
    return np.asarray(np.sqrt(np.maximum((offsets**2).sum(axis=2) - along**2, 0.0)))
