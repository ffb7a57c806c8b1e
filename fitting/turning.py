"""A gripper that turns slowly in the hand on a drawer: its orientations follow a course of their own."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.agreement import Noise
from fitting.motion import Take
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.rigid import mean_rotation
from fitting.se3 import Array, rotation_log

IN_HAND = 0.26
"""Radians: how far a gripper turns in the hand."""
_FARTHEST = 0.325
"""The same, with all that noise and the ends of a take add to it."""
_EACH = 1.5
"""Parameters that each stretch of a slow turn costs: fewer than it has, since neighbouring stretches are alike."""
_STRETCHES = (16, 64)
"""Stretches of a take whose middle orientations show how a gripper turned in the hand: few for all, or many."""
_LEAST = 5
"""Samples that a stretch has at least."""
_ALONG = 0.966
"""Cosine between turn and slide from which a body that turned as it slid is a handle, not a drawer."""


def turning_in_hand(
    take: Take, direction: Array, place_squares: Array, noise: Noise
) -> tuple[Array, Array, int] | None:
    """Cost (n,) of the orientations about the slow turn of a gripper on a drawer, residuals (n, 3) in rad, parameters.

    None without such a turn.
    place_squares: squared distances (n,) of the positions from the line, in variances.
    """
    limit = chi2_quantile(3, GATE)
    places = np.flatnonzero(place_squares < limit)
    if len(places) < _LEAST * _STRETCHES[0]:
        return None
    vectors = rotation_log(take.R @ mean_rotation(take.R[places]).T)
    courses = [_course(vectors, places, count) for count in _STRETCHES if len(places) >= _LEAST * count]
    fewest = courses[0][1]
    ways = np.linalg.svd(fewest - fewest.mean(axis=0))[2]
    turn = float(np.ptp(fewest @ ways[0]))
    if turn > _FARTHEST or abs(ways[0] @ direction) > _ALONG:
        return None
    found = []
    for times, middles in courses:
        off = vectors - np.stack([np.interp(np.arange(len(take)), times, column) for column in middles.T], axis=1)
        # The turn is a coordinate, and paid for like those of joints.
        squares = (off**2).sum(axis=1) / noise.orientation**2 + price_of(turn, noise.orientation)
        found.append((squares, off, round(_EACH * (len(times) - 2))))
    return min(found, key=lambda one: float(np.minimum(one[0], limit)[places].sum()) + one[2] * np.log(len(take)))


def _course(vectors: Array, places: NDArray[np.int64], stretches: int) -> tuple[Array, Array]:
    """Times (k,) in samples and middle rotation vectors (k, 3) of stretches, straight on at both ends."""
    parts = np.array_split(places, stretches)
    times = np.array([np.median(part) for part in parts])
    middles = np.array([np.median(vectors[part], axis=0) for part in parts])
    first, last = np.array([0.0]), np.array([len(vectors) - 1.0])
    begin = middles[0] + (first - times[0]) / (times[1] - times[0]) * (middles[1] - middles[0])
    end = middles[-1] + (last - times[-1]) / (times[-1] - times[-2]) * (middles[-1] - middles[-2])
    return np.concatenate([first, times, last]), np.concatenate([begin[None], middles, end[None]])


def price_of(span: float, deviation: float) -> float:
    """What a coordinate of one sample costs: twice the log of its range over its noise."""
    return max(2.0 * math.log(max(span, 1e-12) / (2.5 * deviation)), 1.0)
