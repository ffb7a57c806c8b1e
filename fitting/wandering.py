"""How orientations wander from a joint: more than a firm grip plays, and more than their own noise explains."""

import math

import numpy as np

from fitting.agreement import Agreement
from fitting.joint import Joint, ahead_of_places, circles
from fitting.noise import correlation_time, truncated_mean
from fitting.result import Mask
from fitting.se3 import Array, cross

_WANDERS = 8.0
"""Slow variance over what the fast noise explains, above which the grip may have turned."""
PLAY = math.radians(0.4)
"""Radians, standard deviation about all axes: a firm hand and its gripper play slowly by this much."""
_CREEP = 0.0015
"""Metres, standard deviation: a gripper slides slowly by this much along its path on what it holds."""
_MEMORY = 20.0
"""Samples over which noise remembers itself; what is slower is a movement."""
_SMOOTH = 15.0
"""Variance over that of the steps between neighbours, above which nothing but a movement is so smooth: noise that
remembers nine tenths from sample to sample has 10."""
_MOST = 0.8
"""Share of the steps between neighbours that are right wherever any can be told."""
_BLOCK = 40
"""Samples whose mean shows the movement: a third of a second."""
_SLIP = math.radians(2.0)
_BRIEF = 0.06
"""A grip that turned by so much for longer than this share of the take slipped."""


def fast_noise(pose: Agreement) -> float:
    """Orientation noise (rad) from the steps between neighbouring samples: blind to slow drifts."""
    places = np.flatnonzero(pose.inliers)
    near = np.diff(places) <= 3
    steps = np.diff(pose.residuals[places, 3:], axis=0)[near]
    if len(steps) < 5:
        return pose.noise.orientation
    fast = float(np.sqrt(np.median((steps**2).sum(axis=1)) / 2.0 / 2.37))
    return float(np.clip(2.0 * fast, 1e-9, pose.noise.orientation))


def slipped(residuals: Array, apart: Mask) -> bool:
    """Whether more than a few of the samples of stretches that do not follow turned further than a hand plays."""
    far = (residuals[:, 3:] ** 2).sum(axis=1) > _SLIP**2
    return bool((apart & far).sum() > _BRIEF * len(apart))


def runs_ahead(joint: Joint) -> bool:
    """Whether orientations turn about the axis as no firm grip does, compared with positions.

    Precise orientations leave such a turn to the residuals of positions: about the axis itself, they show none.
    """
    part, motion = joint.parts[0], joint.motion
    if not circles(motion, 0, part.noise):
        return False
    radius = float(np.linalg.norm(cross(motion.axis, motion.starts[0].p0 - motion.center)))
    turns = ahead_of_places(motion, 0, part.take)[:, None]
    return wanders(turns, part.positions & part.orientations, math.hypot(PLAY, _CREEP / radius))


def wanders(residuals: Array, used: Mask, play: float) -> bool:
    """Whether residual turns (n, k) in rad drift as no firm grip does, whose slow play has this standard deviation."""
    series = residuals[used]
    size = min(_BLOCK, len(series) // 8)
    if size < 5:
        return False
    blocks = len(series) // size
    cut = series[: size * blocks].reshape(blocks, size, -1)
    means = cut.mean(axis=1)
    inner = (cut - means[:, None]).reshape(size * blocks, -1)
    memory = min(correlation_time(inner, np.ones(len(inner), dtype=bool), 1), _MEMORY)
    fast = float((inner**2).sum(axis=1).mean()) * memory / (size - 1.0)
    slow = float(((means - means.mean(axis=0)) ** 2).sum(axis=1).mean())
    whole = float(((series - series.mean(axis=0)) ** 2).sum(axis=1).mean())
    steps = 0.5 * _mean_of_most((np.diff(series, axis=0) ** 2).sum(axis=1), series.shape[1])
    return slow > max(play**2, _WANDERS * fast) or whole > max(play**2, _SMOOTH * steps)


def _mean_of_most(squares: Array, freedom: int) -> float:
    """Mean of squared lengths (n,) of normal vectors, of which some may be wrong and count as little as they can."""
    kept = np.sort(squares)[: max(int(_MOST * len(squares)), 1)]
    return float(kept.mean()) * freedom / truncated_mean(freedom, _MOST)
