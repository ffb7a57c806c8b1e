"""What a hand did beside moving the joint: slipped, turned on the grip, left the path. Pure functions of poses.

Poses are those of the tip, (n, 4, 4) in the frame of the parent link, with their host times (n,) in nanoseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fitting import FitFailure, fit_circle
from fitting.se3 import Array, inverse, rotation_log
from ident.joints.node import Node
from ident.takes import Ints

SUDDEN_S = 0.07
"""A grip that slips does so within this time; hands that push on purpose take three times as long."""
BESIDE_S = 0.05
"""Time before and after a jump over which the movement is taken as even."""
COARSEST_S = 0.02
"""Poses further apart than this do not show jumps: a sketch of a running take is not searched for them."""
FINEST_S = 0.006
"""Poses nearer to each other than this are thinned first; more of them show no more."""
STEADY_S = 0.1
"""Running median over this time takes noise and tremor out of the way off the path."""
SWING_RAD = np.radians(3.0)
"""Smaller turns to and fro are play and tremor, not swings of the grip."""


@dataclass(frozen=True)
class Jump:
    """The largest sudden step of the gripper."""

    metres: float = 0.0
    radians: float = 0.0


@dataclass(frozen=True)
class Extent:
    """How far the tip went, without any idea of a joint."""

    travel: float
    """Metres along the direction in which it went furthest."""
    bow: float
    """Metres across it: what an arc rises above its chord."""
    away: float
    """Metres off the best line, or off the best circle where that is nearer and a circle was allowed."""


def largest_jump(t_ns: Ints, poses: Array) -> Jump:
    """Largest step within ``SUDDEN_S`` that the movement before and after it does not explain.

    Both sides are continued evenly to the middle; what is left between them was a jump. Even acceleration cancels, so
    that quick but steady movements give none.
    """
    if len(t_ns) < 3:
        return Jump()
    seconds = (t_ns - t_ns[0]) * 1e-9
    step = float(np.median(np.diff(seconds)))
    thin = max(1, round(FINEST_S / step)) if step > 0.0 else 1
    seconds, poses, step = seconds[::thin], poses[::thin], step * thin
    side, gap = max(3, round(BESIDE_S / max(step, 1e-9))), max(1, round(SUDDEN_S / max(step, 1e-9)))
    length = 2 * side + gap
    first = np.arange(max(0, len(seconds) - length + 1))
    # Where tracking was lost in between, nothing is known about suddenness.
    first = first[seconds[first + length - 1] - seconds[first] < 1.3 * length * step]
    if not step < COARSEST_S or not len(first):
        return Jump()
    middle = 0.5 * (seconds[first + side - 1] + seconds[first + side + gap])
    jump = _continued(seconds, poses, first, np.arange(side + gap, length), middle, length // 2) - _continued(
        seconds, poses, first, np.arange(side), middle, length // 2
    )
    return Jump(
        float(np.linalg.norm(jump[:, :3], axis=1).max()),
        float(np.linalg.norm(jump[:, 3:], axis=1).max()),
    )


def _continued(seconds: Array, poses: Array, first: Ints, part: Ints, to: Array, base: int) -> Array:
    """Twists (m, 6) to which the even movement of samples ``first + part`` leads at times ``to``."""
    at = first[:, None] + part
    turns = np.swapaxes(poses[first + base, :3, :3], -1, -2)[:, None] @ poses[at, :3, :3]
    values = np.concatenate([poses[at, :3, 3], rotation_log(turns)], axis=-1)
    time = seconds[at] - to[:, None]
    mean_time, mean = time.mean(axis=1, keepdims=True), values.mean(axis=1)
    spread = time - mean_time
    slope = np.einsum("ij,ijk->ik", spread, values - mean[:, None]) / np.sum(spread**2, axis=1)[:, None]
    return np.asarray(mean - slope * mean_time)


def off_path(node: Node, t_ns: Ints, poses: Array) -> float:
    """How far (m) the tip went to and fro beside the fitted path: sideways, whatever the joint's coordinate."""
    beside = inverse(node.pose(node.coordinate(poses)) @ node.tip2child) @ poses
    return _spread(_steadied(t_ns, beside[:, :3, 3]))


def swings_in_hand(node: Node, t_ns: Ints, poses: Array) -> float:
    """Sum (rad) of the swings of the gripper against the part that it holds, as the fitted joint says that it moved."""
    if len(poses) < 3:
        return 0.0
    against = (inverse(node.pose(node.coordinate(poses))) @ poses)[:, :3, :3]
    turns = _steadied(t_ns, rotation_log(against[len(against) // 2].T @ against))
    main = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)[2][0]
    return _swings(turns @ main)


def swings_about_bar(t_ns: Ints, poses: Array) -> tuple[float, float]:
    """Sum and range (rad) of the gripper's turns about its own z-axis, the gripped bar, whatever the part did."""
    if len(poses) < 3:
        return 0.0, 0.0
    steps = rotation_log(np.swapaxes(poses[:-1, :3, :3], -1, -2) @ poses[1:, :3, :3])[:, 2]
    turned = _steadied(t_ns, np.concatenate([[0.0], np.cumsum(steps)])[:, None])
    return _swings(turned[:, 0]), _spread(turned)


def extent(poses: Array, *, may_bend: bool) -> Extent:
    """Size of a movement to which no joint could be fitted."""
    points = poses[:, :3, 3]
    if len(points) < 3:
        return Extent(0.0, 0.0, 0.0)
    main = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    along = (points - points.mean(axis=0)) @ main[2].T
    travel, bow = (_spread(along[:, i : i + 1]) for i in (0, 1))
    away = bow
    if may_bend:
        circle = fit_circle(points, rng=np.random.default_rng(0))
        if not isinstance(circle, FitFailure):
            arm = points - circle.center
            height = arm @ circle.axis
            radius = np.linalg.norm(arm - height[:, None] * circle.axis, axis=1)
            away = min(away, _spread(np.stack([radius, height], axis=1)))
    return Extent(travel, bow, away)


def _steadied(t_ns: Ints, values: Array) -> Array:
    """Running median over ``STEADY_S``."""
    step = float(np.median(np.diff(t_ns))) * 1e-9 if len(t_ns) > 1 else STEADY_S
    width = max(1, round(STEADY_S / max(step, 1e-9)))
    if not len(values):
        return values
    padded = np.pad(values, ((width // 2, (width - 1) // 2), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=0)
    return np.asarray(np.partition(windows, width // 2, axis=-1)[..., width // 2])


def _spread(values: Array) -> float:
    """Largest range of the columns (n, k), a hundredth at each end left out."""
    if not len(values):
        return 0.0
    low, high = np.percentile(values, [1.0, 99.0], axis=0)
    return float(np.max(high - low))


def _swings(angle: Sequence[float] | Array) -> float:
    """Sum of the turns (rad) between turning points, those smaller than ``SWING_RAD`` left out."""
    total, direction = 0.0, 0
    low = high = float(angle[0])
    for value in np.asarray(angle, dtype=float).tolist():
        if direction >= 0:
            high = max(high, value)
        if direction <= 0:
            low = min(low, value)
        if direction >= 0 and high - value > SWING_RAD:
            total += high - low if direction else 0.0
            direction, low = -1, value
        elif direction <= 0 and value - low > SWING_RAD:
            total += high - low if direction else 0.0
            direction, high = 1, value
    return total + (high - low if direction else 0.0)
