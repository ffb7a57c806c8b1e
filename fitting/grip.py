"""Did the grip hold? Decides from the data how far a take's orientations follow its rotary joint.

A gripper that turns in the hand breaks the link between its orientation and the joint's angle, while its tip stays
on the circle. Two signs betray it: residual orientations that wander slowly, far beyond what their fast noise
explains, and an axis on which positions alone would fit significantly better.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fitting.agreement import Agreement, Noise, agree, moving_poses
from fitting.circle import CircleFit, fit_circle
from fitting.joint import Joint, Part, fit_joint
from fitting.motion import ROTARY, Motion, Start, Take, measured
from fitting.noise import correlation_time, wander
from fitting.result import FitFailure, Mask
from fitting.se3 import Array
from fitting.segments import dense

_WANDERS = 8.0
"""Slow variance over what the fast noise explains, above which the grip turned."""
_WORSE = 35.0
"""Squared residuals (in noise variances) that the joint fit may lose against positions alone: χ² with 4 components
passes this once in a million."""
_WHOLE = 0.85
"""Share of orientations from which a grip counts as rigid: single bad orientations are no slipping."""
_LITTLE = 0.2
"""Share of orientations below which a part is not worth calling rigid."""


@dataclass(frozen=True)
class Gripped:
    """One take with the verdict about its grip, ready for the joint fit."""

    motion: Motion
    part: Part
    grip: Literal["rigid", "partly", "loose"]
    circle: CircleFit | FitFailure | None
    joint: Joint | None
    """The fit of this take alone, unless it was loose."""
    uncertainty: float
    """Standard deviation (rad) of this take's own axis."""


def gripped(take: Take, noise: float | None, rng: np.random.Generator) -> Gripped | FitFailure:
    """Judge one take of a rotary joint."""
    circle = fit_circle(take.p, noise, rng)
    allowed = moving_poses(take)
    pose = agree(ROTARY, take, noise, rng)
    if isinstance(pose, FitFailure):
        return _loose(take, circle, None) or pose
    whole = _tried(take, pose, circle, allowed, noise)
    if whole is not None:
        return whole
    fast = _fast_noise(pose)
    tight = agree(ROTARY, take, noise, rng, orientation_noise=fast)
    if not isinstance(tight, FitFailure):
        part = _tried(take, tight, circle, allowed, noise)
        if part is not None:
            return part
    return _loose(take, circle, pose) or FitFailure(
        "The grip turned in the hand, and positions alone do not show the axis"
        + (f": {circle.reason}" if isinstance(circle, FitFailure) else ".")
    )


def _tried(
    take: Take, pose: Agreement, circle: CircleFit | FitFailure, allowed: Mask, noise: float | None
) -> Gripped | None:
    """The take with the orientations that agree, if they pass both tests."""
    followed = pose.inliers & allowed
    on_circle = followed
    if isinstance(circle, CircleFit):
        on_circle = (followed | circle.inliers) & allowed
        followed = followed & dense(followed, on_circle)
    share = followed.sum() / max(on_circle.sum(), 1)
    if share < _LITTLE or followed.sum() < 6:
        return None
    if share >= _WHOLE:
        on_circle = followed
    part = Part(take, pose.noise, on_circle, followed)
    motion = _consistent(take, pose, followed)
    joint = fit_joint(ROTARY, motion, [part], noise)
    used = joint.parts[0].orientations
    if used.sum() < 6 or wander(joint.residuals[0][:, 3:], used) > _WANDERS:
        return None
    if isinstance(circle, CircleFit) and _worse(take, joint.motion, circle, joint.parts[0].positions) > _WORSE:
        return None
    return Gripped(
        joint.motion,
        replace(part, noise=joint.noise),
        "rigid" if share >= _WHOLE else "partly",
        circle,
        joint,
        float(np.sqrt(joint.covariance[0, 0] + joint.covariance[1, 1])),
    )


def _consistent(take: Take, pose: Agreement, followed: Mask) -> Motion:
    """The motion with the angles of samples without orientation taken from their positions."""
    start = pose.motion.starts[0]
    by_place = measured(ROTARY, take, pose.motion.axis, pose.motion.center, start.R0, start.p0, by="position")
    q = np.where(followed[:, None], start.q, by_place)
    return replace(pose.motion, starts=(replace(start, q=q),))


def _loose(take: Take, circle: CircleFit | FitFailure, pose: Agreement | None) -> Gripped | None:
    if isinstance(circle, FitFailure):
        return None
    first = int(np.argmax(circle.inliers))
    R0, p0 = take.R[first], take.p[first]
    q = measured(ROTARY, take, circle.axis, circle.center, R0, p0, by="position")
    noise = Noise(circle.noise, pose.noise.orientation if pose else 1.0)
    return Gripped(
        Motion(circle.axis, circle.center, (Start(R0, p0, q),)),
        Part(take, noise, circle.inliers.copy(), np.zeros(len(take), dtype=bool)),
        "loose",
        circle,
        None,
        circle.axis_std,
    )


def _fast_noise(pose: Agreement) -> float:
    """Orientation noise (rad) from the steps between neighbouring samples: blind to slow drifts."""
    places = np.flatnonzero(pose.inliers)
    near = np.diff(places) <= 3
    steps = np.diff(pose.residuals[places, 3:], axis=0)[near]
    if len(steps) < 5:
        return pose.noise.orientation
    fast = float(np.sqrt(np.median((steps**2).sum(axis=1)) / 2.0 / 2.37))
    return float(np.clip(2.0 * fast, 1e-9, pose.noise.orientation))


def _worse(take: Take, motion: Motion, circle: CircleFit, used: Mask) -> float:
    """How much worse the positions fit about the motion's axis than about the circle's own, in noise variances."""
    both = used & circle.inliers
    if both.sum() < 10:
        return 0.0
    own, own_series = _around(take.p[both], circle.axis, circle.center)
    shared, _ = _around(take.p[both], motion.axis, motion.center)
    tau = correlation_time(own_series, np.ones(len(own_series), dtype=bool), 3)
    return (shared - own) / (circle.noise**2 * tau)


def _around(points: Array, axis: Array, center: Array) -> tuple[float, Array]:
    """Sum of squares (m²) of the points about the best circle around a given axis, and the residuals (n, 2)."""
    arms = points - center
    heights = arms @ axis
    radii = np.linalg.norm(arms - heights[:, None] * axis, axis=1)
    series = np.stack([radii - radii.mean(), heights - heights.mean()], axis=1)
    return float((series**2).sum()), series
