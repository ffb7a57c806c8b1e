"""A gripper that turns slowly in the hand: its orientations follow a course of their own."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitting.result import Mask
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


@dataclass(frozen=True)
class Course:
    """A slow turn (rad, from end to end) of a gripper in the hand, and what it leaves of the orientations."""

    turn: float
    squares: Array
    """(n,) of the residuals, in variances."""
    residuals: Array
    """(n, 3) rad."""
    parameters: int


def turning_in_hand(held: Array, places: Mask, moved: Array, inverse: Array, slide: Array | None) -> list[Course]:
    """How a gripper may have turned in the hand: as the joint moved, or slowly along time, in fewer or more stretches.

    None of these if it did not.
    held: orientations (n, 3, 3) as the joint carries them; places: (n,) whose positions agree with the joint.
    moved: coordinate (n,) of the joint; inverse: (3, 3) inverse covariance of an orientation.
    slide: direction along which the joint slides, if it does: who turns about it is a handle.
    """
    there = np.flatnonzero(places)
    if len(there) < _LEAST * _STRETCHES[0]:
        return []
    vectors = rotation_log(held @ mean_rotation(held[there]).T)
    courses = [_course(vectors, there, count) for count in _STRETCHES if len(there) >= _LEAST * count]
    fewest = courses[0][1]
    ways = np.linalg.svd(fewest - fewest.mean(axis=0))[2]
    turn = float(np.ptp(fewest @ ways[0]))
    if turn > _FARTHEST or (slide is not None and abs(ways[0] @ slide) > _ALONG):
        return []
    tried = [(_with_joint(fewest[1:-1], moved, there), 3)]
    for times, middles in courses:
        along = [np.interp(np.arange(len(held)), times, column) for column in middles.T]
        tried.append((np.stack(along, axis=1), round(_EACH * (len(times) - 2))))
    found = []
    for course, parameters in tried:
        off = vectors - course
        found.append(Course(turn, ((off @ inverse) * off).sum(axis=1), off, parameters))
    return found


def _with_joint(middles: Array, moved: Array, places: NDArray[np.int64]) -> Array:
    """Rotation vectors (n, 3) in proportion to the joint's coordinate (n,), by the middle ones (k, 3) of stretches."""
    at = np.array([np.median(moved[part]) for part in np.array_split(places, len(middles))])
    line = np.linalg.lstsq(np.stack([np.ones_like(at), at], axis=1), middles, rcond=None)[0]
    return np.asarray(line[0] + moved[:, None] * line[1])


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
