"""Did the grip hold? Decides from the data how far a take's orientations follow its rotary joint.

A gripper that turns in the hand breaks the link between its orientation and the joint's angle, while its tip stays
on the circle. Two signs betray it: residual orientations that wander slowly, beyond the play of a firm grip and beyond
what their fast noise explains; and another axis than positions alone show, beyond what those leave open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fitting.agreement import Agreement, Noise, agree
from fitting.between import between, crept
from fitting.circle import CircleFit, fit_circle
from fitting.joint import Joint, Part, circles, fit_joint, halves
from fitting.line import LineFit, fit_line
from fitting.motion import ROTARY, Motion, Start, Take, measured
from fitting.noise import chi2_quantile
from fitting.objections import WHOLE, contradicted, known_by_places, let_go, objected, only_gripper, only_noise, outruns
from fitting.onset import unseen_turns
from fitting.ransac import GATE
from fitting.regrip import BLOCKS, Stretches, doubtful
from fitting.result import FitFailure, Mask
from fitting.se3 import Array
from fitting.segments import dense
from fitting.wandering import PLAY, fast_noise, runs_ahead, slipped, wanders

_LONG = 3
"""Samples of a stretch from which on a take is long enough to be tried as two grips."""
_LITTLE = 0.3
"""Share of orientations below which a part is not worth calling rigid."""


@dataclass(frozen=True)
class Gripped:
    """One take with the verdict about its grip, ready for the joint fit."""

    motion: Motion
    parts: tuple[Part, ...]
    """Its grips one after the other, each with its start in ``motion``; most takes have one."""
    grip: Literal["rigid", "partly", "loose"]
    circle: CircleFit | FitFailure | None
    joint: Joint | None
    """The fit of this take alone, unless it was loose."""
    uncertainty: float
    """Standard deviation (rad) of this take's own axis."""
    between: bool = False
    """Whether the joint is between orientations and positions already, so that nothing moves it further."""


def gripped(take: Take, noise: float | None, rng: np.random.Generator) -> Gripped | FitFailure:
    """Judge one take of a rotary joint."""
    circle = fit_circle(take.p, noise)
    pose = agree(ROTARY, take, noise, rng)
    if isinstance(pose, FitFailure):
        return _loose(take, circle, None) or pose
    one = _one_grip(take, pose, circle, noise, rng)
    return _two_grips(take, pose, circle, noise, one) or one


def _two_grips(
    take: Take, pose: Agreement, circle: CircleFit | FitFailure, noise: float | None, one: Gripped | FitFailure
) -> Gripped | None:
    """The take as two grips, or one that held now and then, where that explains it clearly better than is known."""
    path = take.moving & (circle.inliers if isinstance(circle, CircleFit) else _on_path(take, pose, circle, noise))
    if path.sum() < _LONG * BLOCKS:
        return None
    if isinstance(one, FitFailure):
        motion, firm, residuals = pose.motion, pose.inliers, pose.residuals
    elif one.joint is None:
        motion, firm, residuals = one.motion, one.parts[0].orientations, pose.residuals
    else:
        motion, firm, residuals = one.motion, one.joint.parts[0].orientations, one.joint.residuals[0]
    if not doubtful(residuals, path):
        return None
    stretches = Stretches(take, path)
    two = stretches.better(stretches.one(motion, firm))
    if two is None:
        return None
    starts, parts = [], []
    for piece, start in zip(two.pieces, two.motion.starts, strict=True):
        own = take.piece(piece.first, piece.last)
        on_path = path[piece.first : piece.last]
        place = (two.motion.axis, two.motion.center, start.R0, start.p0)
        by_place = measured(ROTARY, own, *place, by="position")
        q = np.where(piece.firm[:, None], measured(ROTARY, own, *place), by_place)
        moved = Motion(two.motion.axis, two.motion.center, (replace(start, q=q),))
        level = stretches.noise(moved, own, piece.firm & on_path)
        if not circles(moved, 0, level):
            return None
        starts.append(moved.starts[0])
        parts.append(Part.of(own, level, on_path, on_path & piece.firm))
    motion = replace(two.motion, starts=tuple(starts))
    held, joint = parts, fit_joint(ROTARY, motion, parts, noise)
    fewer, surer = _held(parts, joint, [e[:, 3:] for e in joint.residuals], noise)
    # Along a short arc every orientation is needed; where the others say as much, those beside the turn only mislead.
    if (_stds(surer) <= _stds(joint)).all():
        held, joint = fewer, surer
    parts = [replace(part, noise=new.noise) for part, new in zip(held, joint.parts, strict=True)]
    if not any(part.orientations.any() for part in joint.parts):
        return None
    if outruns(joint, take):
        return None
    if isinstance(circle, CircleFit) and (known_by_places(circle, joint, take) or contradicted(circle, joint, take)):
        return None
    believed = _believed(joint, circle, take)
    return Gripped(
        believed.motion, tuple(parts), "partly", circle, believed, _axis_std(believed), between=believed is not joint
    )


def _believed(joint: Joint, circle: CircleFit | FitFailure, take: Take) -> Joint:
    """The joint of orientations that followed in part, as far as they are to be believed."""
    if isinstance(circle, FitFailure) or not only_noise(circle, take) or not crept(joint):
        return joint
    return between(joint, circle)


def _axis_std(joint: Joint) -> float:
    return float(_stds(joint)[0])


def _stds(joint: Joint) -> Array:
    """Standard deviations (2,) of the axis: of its direction (rad) and of its place (m)."""
    return np.asarray(np.sqrt(np.diag(joint.covariance).reshape(2, 2).sum(axis=1)))


def _one_grip(
    take: Take, pose: Agreement, circle: CircleFit | FitFailure, noise: float | None, rng: np.random.Generator
) -> Gripped | FitFailure:
    """The take as one grip that held all the time, a part of it, or not at all."""
    allowed = take.moving
    whole = _tried(take, pose, circle, allowed, noise)
    if whole is not None:
        return whole
    tight = agree(ROTARY, take, noise, rng, orientation_noise=fast_noise(pose))
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
    agreed = pose.inliers & allowed
    on_path = (agreed | _on_path(take, pose, circle, noise)) & allowed
    held = allowed & dense(agreed, on_path)
    followed = agreed & held
    if followed.sum() < max(_LITTLE * on_path.sum(), 6):
        return None
    whole = bool((held & on_path).sum() >= WHOLE * on_path.sum()) and not slipped(pose.residuals, on_path & ~held)
    if not circles(pose.motion, 0, pose.noise):
        on_path = followed
    # Where the grip turned at some time, halves of poses that happen to agree are on the way from there.
    part = Part.of(take, pose.noise, on_path, followed, held if whole else None)
    motion = _consistent(take, pose, followed)
    joint = fit_joint(ROTARY, motion, [part], noise)
    if whole and let_go(joint, circle):
        return None
    used = joint.parts[0].orientations
    left = used.sum() / max(joint.parts[0].positions.sum(), 1)
    if left < _LITTLE:
        return None
    if not whole:
        ahead = joint.residuals[0][:, 3:] @ joint.motion.axis
        (part,), joint = _held([part], joint, [ahead[:, None]], noise)
        used = joint.parts[0].orientations
    if used.sum() < 6 or wanders(joint.residuals[0][:, 3:], used, PLAY) or runs_ahead(joint):
        return None
    if only_gripper(joint, allowed) or objected(circle, joint, take, allowed, whole=whole):
        return None
    believed = joint if whole else _believed(joint, circle, take)
    return Gripped(
        believed.motion,
        (replace(part, noise=joint.noise),),
        "rigid" if whole else "partly",
        circle,
        believed,
        _axis_std(believed),
        between=believed is not joint,
    )


def _held(parts: list[Part], joint: Joint, turns: Sequence[Array], noise: float | None) -> tuple[list[Part], Joint]:
    """Parts and their fit without the samples in which the grip had already begun, or not yet ceased, to turn.

    turns: of each part (n, k), in which a turn shows (rad).
    """
    axis, center = joint.motion.axis, joint.motion.center
    kept, starts = [], []
    for part, start, turn in zip(parts, joint.motion.starts, turns, strict=True):
        turning = unseen_turns(turn, part.orientations, part.positions)
        firm = part.orientations & ~turning
        by_place = measured(ROTARY, part.take, axis, center, start.R0, start.p0, by="position")
        kept.append(replace(part, orientations=firm, held=firm) if turning.any() else part)
        starts.append(replace(start, q=np.where(turning[:, None], by_place, start.q)))
    if all(a is b for a, b in zip(parts, kept, strict=True)):
        return parts, joint
    return kept, fit_joint(ROTARY, replace(joint.motion, starts=tuple(starts)), kept, noise)


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
        (Part.of(take, noise, circle.inliers.copy(), np.zeros(len(take), dtype=bool)),),
        "loose",
        circle,
        None,
        circle.axis_std,
    )


def _on_path(take: Take, pose: Agreement, circle: CircleFit | FitFailure, noise: float | None) -> Mask:
    """Samples whose position lies on the path: that of the poses if it explains as many as that of positions alone."""
    off = halves(ROTARY, pose.motion, 0, take, pose.residuals)[:, :3]
    own = np.asarray((off**2).sum(axis=1) <= chi2_quantile(3, GATE) * pose.noise.position**2)
    if not circles(pose.motion, 0, pose.noise):
        # What moves is no path of a point on the axis.
        return own
    found = circle if isinstance(circle, CircleFit) else fit_line(take.p, noise, 0)
    if not isinstance(found, CircleFit | LineFit) or own.sum() >= WHOLE * found.inliers.sum():
        return own
    return found.inliers
