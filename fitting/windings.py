"""How often a screw went round: orientations show its angle but for whole turns, and its slide shows those.

While it is seen all the time, its angles go on from sample to sample. Across a gap (a burst, or a tracker that repeated
itself) it may have gone round once more or once less. Between gaps its pitch can be seen, and with that how far it
slides in a turn.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fitting.result import Mask
from fitting.se3 import Array

_TURN = 2.0 * np.pi
_FAR = 2.0
"""Radians that a screw may have turned unseen from which it may be in another turn."""
_PACE = 0.9
"""Quantile of the turns from one sample to the next that counts as their pace."""
_HASTE = 2.0
"""Times its pace at which a screw turns at most while it is not seen."""
_CLEAR = 25.0
"""Squared standard deviations that each turn more or less must explain."""


def wound(angles: Array, slides: Array, used: Mask) -> Array:
    """Angles (n,) in radians of a screw that slid by ``slides`` (n,) in metres, unwrapped along the used samples."""
    places = np.flatnonzero(used & np.append(True, np.diff(angles) != 0.0))
    if len(places) < 2:
        return angles
    q, s = np.unwrap(angles[places]), slides[places]
    gaps, turns = np.diff(places), np.abs(np.diff(q))
    pace = float(np.quantile(turns[gaps == 1], _PACE)) if np.any(gaps == 1) else 0.0
    unseen = gaps * pace
    cuts = np.flatnonzero((unseen > _FAR) | (turns > _FAR)) + 1
    if len(cuts):
        most = np.ceil((_HASTE * unseen[cuts - 1] + np.pi) / _TURN)
        better, changes = _by_slide(q, s, cuts, most)
        left = _left(better, s)
        if _left(q, s) - left > _CLEAR * changes * left / len(q):
            q = better
    return nearest(angles, q, places)


def whole_turns(angles: Array) -> Array:
    """The whole turns (n,), in radians, that are nearest to angles (n,)."""
    return np.asarray(_TURN * np.round(angles / _TURN))


def nearest(angles: Array, known: Array, places: NDArray[np.int64]) -> Array:
    """Angles (n,), each in the turn nearest to those ``known`` (k,) at the ``places`` (k,) before and after it."""
    between = np.interp(np.arange(len(angles)), places, known)
    result = angles + whole_turns(between - angles)
    result[places] = known
    return np.asarray(result)


def _by_slide(q: Array, s: Array, cuts: NDArray[np.int64], most: Array) -> tuple[Array, int]:
    """Angles (k,) whose pieces between ``cuts`` follow one line of slides, and at how many cuts they had to change.

    From the piece that turned furthest, one piece after the other is added to those that the line goes through.
    most: turns by which the angles may change at each cut.
    """
    q, changes = q.copy(), 0
    edges = np.array([0, *cuts, len(q)])
    pieces = [slice(a, b) for a, b in pairwise(edges.tolist())]
    moments = np.array([_moments(q[piece], s[piece]) for piece in pieces])
    first = last = int(moments[:, 0].argmax())
    slope = _slope(moments.sum(axis=0))
    while first > 0 or last < len(pieces) - 1:
        before = last == len(pieces) - 1 or (first > 0 and moments[first - 1, 0] > moments[last + 1, 0])
        known = slice(edges[first], edges[last + 1])
        own = pieces[first - 1 if before else last + 1]
        off = s[own].mean() - s[known].mean() - slope * (q[own].mean() - q[known].mean())
        limit = most[first - 1 if before else last]
        more = float(np.clip(np.round(off / (_TURN * slope)), -limit, limit)) if slope else 0.0
        q[slice(None, own.stop) if before else slice(own.start, None)] += _TURN * more
        changes += more != 0.0
        first, last = (first - 1, last) if before else (first, last + 1)
        known = slice(edges[first], edges[last + 1])
        slope = _slope(_moments(q[known], s[known]) + moments[:first].sum(axis=0) + moments[last + 1 :].sum(axis=0))
    return q, changes


def _moments(q: Array, s: Array) -> Array:
    """Sums (2,) of squared angles, and of angles times slides, both from their means."""
    q = q - q.mean()
    return np.array([q @ q, q @ s])


def _slope(moments: Array) -> float:
    return float(moments[1] / moments[0]) if moments[0] > 0.0 else 0.0


def _left(q: Array, s: Array) -> float:
    """What a line leaves of slides (k,) at angles (k,): its sum of squares (m²)."""
    s = s - s.mean()
    return max(float(s @ s - _slope(_moments(q, s)) * _moments(q, s)[1]), 1e-300)
