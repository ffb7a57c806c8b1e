"""How far a body that mostly rests has moved: who moves goes through the places between, but bursts jump."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fitting.result import Mask
from fitting.se3 import Array
from fitting.segments import BLOCKS

GIVES_WAY = 0.017
"""Metres, also at the end of a lever, which no part that is held or leant on is away for half of the time."""
_WINDOW = 7
"""Samples whose median distance is looked at: single outliers do not count."""
_AWAY = 2.5
"""Distance, over that at rest, from which a body is somewhere else."""
_HALF_WAY = 0.5
_ENDS = 3
"""An excursion begins and ends in such a part of it."""
_BETWEEN, _FEWEST = 0.04, 3
"""Share of an excursion, and samples, at less than half the way which show that it was gone through."""


def went(points: Array, rests: Mask, *, back: bool) -> float:
    """How far (m) a body went from its place through the places between, and came back likewise: half of the time.

    points: columns (k, n) in metres that change wherever a pose does; rests: samples (n,) in its place, somewhere.
    back: only who began and ended there counts, too.
    """
    distances, away = _away(points, rests)
    farthest = 0.0
    for first, last in _runs(away):
        own = distances[first:last]
        far = float(np.median(own))
        near = own < _HALF_WAY * far
        part, enough = len(own) // _ENDS + 1, max(_FEWEST, _BETWEEN * len(own))
        begins = np.count_nonzero(near[:part]) >= enough if first or back else True
        ends = np.count_nonzero(near[-part:]) >= enough if last < len(away) or back else True
        if len(own) > _WINDOW and begins and ends:
            farthest = max(farthest, far)
    return farthest


def away(points: Array, rests: Mask) -> Mask:
    """Samples (n,) that are away from the place of a body, by more than its noise. As for :func:`went`."""
    return _away(points, rests)[1]


def excursions(gone: Mask) -> Mask:
    """Samples (n,) that are away, and a few before and after."""
    margin = len(gone) // BLOCKS + 1
    return np.asarray(sliding_window_view(np.pad(gone, margin), 2 * margin + 1).any(axis=1))


def _away(points: Array, rests: Mask) -> tuple[Array, Mask]:
    """Distances (n,) in metres from the place where a body rests, and whether they are more than its noise."""
    place = np.median(points[:, _longest(rests)], axis=1)
    off = np.pad(np.linalg.norm(points - place[:, None], axis=0), _WINDOW // 2, mode="edge")
    distances = np.median(sliding_window_view(off, _WINDOW), axis=1)
    return distances, distances > _AWAY * float(np.median(distances[rests]))


def _runs(mask: Mask) -> list[tuple[int, int]]:
    """First sample of each run of a mask (n,), and the one after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return [(first, last) for first, last in edges.reshape(-1, 2).tolist()]


def _longest(mask: Mask) -> slice:
    """The longest run of a mask (n,) that is somewhere true."""
    return slice(*max(_runs(mask), key=lambda run: run[1] - run[0]))
