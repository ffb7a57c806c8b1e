"""Did the grip hold? Decides from the data how far a take's orientations follow its rotary joint.

A gripper that turns in the hand breaks the link between its orientation and the joint's angle, while its tip stays
on the circle. Two signs betray it: residual orientations that wander slowly, beyond the play of a firm grip and beyond
what their fast noise explains; and another axis than positions alone show, beyond what those leave open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fitting.agreement import Agreement, Noise, agree
from fitting.circle import CircleFit, fit_circle
from fitting.joint import Joint, Part, circles, coordinates, fit_joint, halves
from fitting.line import LineFit, fit_line
from fitting.motion import ROTARY, Motion, Start, Take, measured
from fitting.noise import chi2_quantile, correlation_time, truncated_mean
from fitting.onset import unseen_turns
from fitting.ransac import GATE
from fitting.regrip import BLOCKS, Stretches, doubtful
from fitting.result import FitFailure, Mask
from fitting.se3 import Array, cross, turns_from_middle
from fitting.segments import dense, moving

_WANDERS = 8.0
"""Slow variance over what the fast noise explains, above which the grip may have turned."""
_PLAY = math.radians(0.4)
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
_APART, _FAR = 35.0, 70.0
"""Squared distance of the axis from the one of positions alone, in variances of that, which a part of a take and a
whole one may have: χ² with 4 components passes the first once in two million, but slow play has longer tails."""
_BESIDE = 0.02
"""Metres from the axis within which a tip may stay while the gripper turns in the hand."""
_GONE = 0.15
"""Share of a take's samples that are elsewhere in one stretch, from which on it was no turn on the spot."""
_TRAVELS = 0.05
"""Metres from where it turned that a gripper is in most of such a stretch: bursts of a tracker drift by less."""
_WHOLE = 0.85
"""Share of the time in which most orientations follow from which a grip counts as rigid: single bad orientations are no
slipping."""
_SLIP = math.radians(2.0)
_BRIEF = 0.06
"""A grip that turned by so much for longer than this share of the take slipped."""
_LONG = 3
"""Samples of a stretch from which on a take is long enough to be tried as two grips."""
_BESIDE_CHANCE = 9.5
"""χ² with 4 components passes this once in twenty: positions then contradict a part of a take."""
_HAND = math.radians(60.0)
"""A hand does not turn further on what it grips."""
_WHITE = 4.0
"""Samples over which positions remember their noise, below which nothing but noise moved the tip."""
_LEFT_OUT = 0.1
"""Share of a take that a circle leaves out in stretches, from which on its rest was chosen to be quiet."""
_STRETCH = 0.8
"""Share of the samples around one that are left out with it in a stretch: gross outliers are scattered."""
_WORTH = 3.0
"""How many times better orientations of a grip that turned must show an axis than such positions do alone."""
_DROWNED = 3.0
"""How many times as noisy positions may be about an axis of poses as most of them are about their own circle."""
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


def gripped(take: Take, noise: float | None, rng: np.random.Generator) -> Gripped | FitFailure:
    """Judge one take of a rotary joint."""
    circle = fit_circle(take.p, noise, rng)
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
    if _outruns(joint, take):
        return None
    if isinstance(circle, CircleFit) and (_known_by_places(circle, joint, take) or _contradicted(circle, joint, take)):
        return None
    return Gripped(joint.motion, tuple(parts), "partly", circle, joint, _axis_std(joint))


def _outruns(joint: Joint, take: Take) -> bool:
    """Whether a joint would have turned much further than its gripper did: a hand turns by some tens of degrees.

    A movement that strays in all directions is on some small circle or other.
    """
    turns = np.linalg.norm(turns_from_middle(take.R), axis=1)
    turned = np.ptp(coordinates(ROTARY, joint)[joint.inliers, 0])
    return bool(turned > 2.0 * np.quantile(turns, 0.98) + _HAND)


def _only_noise(circle: CircleFit, take: Take) -> bool:
    """Whether positions hold nothing but noise about their circle, all of them: part of slow play is quiet as well.

    Not those that rest while the gripper turns: a circle leaves them out.
    """
    if circle.correlation >= _WHITE:
        return False
    travels = take.moving & moving(np.ascontiguousarray(take.p.T))
    gone = travels & ~circle.inliers
    return bool((gone & dense(gone, travels, share=_STRETCH)).sum() < _LEFT_OUT * travels.sum())


def _known_by_places(circle: CircleFit, joint: Joint, take: Take) -> bool:
    """Whether positions alone show the axis nearly as well, and nothing but noise is in them.

    Orientations of a grip that turned help little then, and where it turned slowly they mislead. Positions with slow
    noise may have slid along the bar instead, which tilts their circle and leaves orientations alone.
    """
    places, poses = np.diag(circle.covariance), np.diag(joint.covariance)
    tilts, shifts = (math.sqrt(places[k].sum() / poses[k].sum()) for k in (slice(0, 2), slice(2, 4)))
    return max(tilts, shifts) < _WORTH and _only_noise(circle, take)


def _contradicted(circle: CircleFit, joint: Joint, take: Take) -> bool:
    """Whether positions in which is nothing but noise leave out the axis of orientations that followed in part.

    A grip that turns steadily follows another axis, or another radius, as well as a firm one follows its own.
    """
    return (
        _only_noise(circle, take)
        and _apart(joint.motion, circle) > _BESIDE_CHANCE
        and _loses(joint.motion, circle, take.p[circle.inliers]) > _BESIDE_CHANCE
    )


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
    agreed = pose.inliers & allowed
    on_path = (agreed | _on_path(take, pose, circle, noise)) & allowed
    held = allowed & dense(agreed, on_path)
    followed = agreed & held
    if followed.sum() < max(_LITTLE * on_path.sum(), 6):
        return None
    whole = (held & on_path).sum() >= _WHOLE * on_path.sum() and not _slipped(pose, on_path & ~held)
    if not circles(pose.motion, 0, pose.noise):
        on_path = followed
    # Where the grip turned at some time, halves of poses that happen to agree are on the way from there.
    part = Part.of(take, pose.noise, on_path, followed, held if whole else None)
    motion = _consistent(take, pose, followed)
    joint = fit_joint(ROTARY, motion, [part], noise)
    used = joint.parts[0].orientations
    left = used.sum() / max(joint.parts[0].positions.sum(), 1)
    if left < _LITTLE:
        return None
    if not whole:
        ahead = joint.residuals[0][:, 3:] @ joint.motion.axis
        (part,), joint = _held([part], joint, [ahead[:, None]], noise)
        used = joint.parts[0].orientations
    if used.sum() < 6 or _wanders(joint.residuals[0][:, 3:], used, _PLAY) or _only_gripper(joint, allowed):
        return None
    if _runs_ahead(joint):
        return None
    if isinstance(circle, CircleFit):
        if joint.noise.position > _DROWNED * circle.noise and circle.inliers.sum() > 0.5 * allowed.sum():
            # Outliers by the dozen passed for noise, so that orientations that turned on need not object.
            return None
        # Positions that stray together, or that hardly bend, mislead the circle; poses that explain them about as well
        # are not to blame.
        most = _APART if not whole or _only_noise(circle, take) else _FAR
        apart = _apart(joint.motion, circle)
        if not whole and _contradicted(circle, joint, take):
            return None
        if apart > most and not (whole and _loses(joint.motion, circle, take.p[joint.inliers]) < most):
            return None
    elif not whole:
        # A part that no position confirms may be the grip's own turn.
        return None
    return Gripped(
        joint.motion,
        (replace(part, noise=joint.noise),),
        "rigid" if whole else "partly",
        circle,
        joint,
        _axis_std(joint),
    )


def _only_gripper(joint: Joint, allowed: Mask) -> bool:
    """Whether the gripper turned about its tip while the part stood still, and travelled at other times.

    A tip that stays beside the axis may belong to a knob; but a knob does not leave for whole stretches of the take.
    """
    part = joint.parts[0]
    arm = joint.motion.starts[0].p0 - joint.motion.center
    if np.linalg.norm(cross(joint.motion.axis, arm)) > _BESIDE:
        return False
    gone = allowed & ~part.positions
    away = np.linalg.norm(part.take.p - part.take.p[part.positions].mean(axis=0), axis=1)
    changes = np.flatnonzero(np.diff(dense(gone, allowed) & allowed, prepend=False, append=False))
    # Bursts come back soon, or stay near: only one long stretch elsewhere is a travel.
    return any(
        last - first > _GONE * allowed.sum() and float(np.median(away[first:last])) > _TRAVELS
        for first, last in changes.reshape(-1, 2)
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


def _slipped(pose: Agreement, apart: Mask) -> bool:
    """Whether more than a few of the samples of stretches that do not follow turned further than a hand plays."""
    far = (pose.residuals[:, 3:] ** 2).sum(axis=1) > _SLIP**2
    return bool((apart & far).sum() > _BRIEF * len(apart))


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


def _fast_noise(pose: Agreement) -> float:
    """Orientation noise (rad) from the steps between neighbouring samples: blind to slow drifts."""
    places = np.flatnonzero(pose.inliers)
    near = np.diff(places) <= 3
    steps = np.diff(pose.residuals[places, 3:], axis=0)[near]
    if len(steps) < 5:
        return pose.noise.orientation
    fast = float(np.sqrt(np.median((steps**2).sum(axis=1)) / 2.0 / 2.37))
    return float(np.clip(2.0 * fast, 1e-9, pose.noise.orientation))


def _runs_ahead(joint: Joint) -> bool:
    """Whether orientations turn about the axis as no firm grip does, compared with positions.

    Precise orientations leave such a turn to the residuals of positions: about the axis itself, they show none.
    """
    part, motion = joint.parts[0], joint.motion
    if not circles(motion, 0, part.noise):
        return False
    start = motion.starts[0]
    place = (motion.axis, motion.center, start.R0, start.p0)
    ahead = measured(ROTARY, part.take, *place) - measured(ROTARY, part.take, *place, by="position")
    radius = float(np.linalg.norm(cross(motion.axis, start.p0 - motion.center)))
    turns = (ahead[:, :1] + np.pi) % (2.0 * np.pi) - np.pi
    return _wanders(turns, part.positions & part.orientations, math.hypot(_PLAY, _CREEP / radius))


def _wanders(residuals: Array, used: Mask, play: float) -> bool:
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


def _apart(motion: Motion, circle: CircleFit) -> float:
    """Squared distance of a motion's axis from the circle's, in variances of the latter (χ², 4 components)."""
    axis = motion.axis if motion.axis @ circle.axis > 0.0 else -motion.axis
    offset = motion.center - circle.center
    # Where it meets the circle's plane.
    offset = offset - (offset @ circle.axis) / max(float(axis @ circle.axis), 1e-3) * axis
    apart = np.concatenate([circle.basis @ (axis - circle.axis), circle.basis @ offset])
    return float(apart @ np.linalg.lstsq(circle.covariance, apart, rcond=None)[0])


def _loses(motion: Motion, circle: CircleFit, points: Array) -> float:
    """How much worse points (n, 3) lie on a path about the motion's axis than on the circle (χ²).

    A circle of fewer points is none: noise draws some.
    """
    if circle.inliers.sum() < _WHOLE * len(points):
        return 0.0
    radii, heights = _about(points, motion.axis, motion.center)
    own = _cost(radii - np.median(radii), heights - np.median(heights), circle.noise)
    radii, heights = _about(points, circle.axis, circle.center)
    return (own - _cost(radii - circle.radius, heights, circle.noise)) / max(circle.correlation, 1.0)


def _about(points: Array, axis: Array, center: Array) -> tuple[Array, Array]:
    """Distances (n,) of points from an axis, and heights (n,) along it, metres."""
    arms = points - center
    heights = arms @ axis
    return np.linalg.norm(arms - heights[:, None] * axis, axis=1), heights


def _cost(out: Array, up: Array, noise: float) -> float:
    """Squares of distances from a path, in units of the noise, none of which counts for more than the gate."""
    return float(np.minimum((out**2 + up**2) / noise**2, chi2_quantile(2, GATE)).sum())


def _on_path(take: Take, pose: Agreement, circle: CircleFit | FitFailure, noise: float | None) -> Mask:
    """Samples whose position lies on the path: that of the poses if it explains as many as that of positions alone."""
    off = halves(ROTARY, pose.motion, 0, take, pose.residuals)[:, :3]
    own = np.asarray((off**2).sum(axis=1) <= chi2_quantile(3, GATE) * pose.noise.position**2)
    if not circles(pose.motion, 0, pose.noise):
        # What moves is no path of a point on the axis.
        return own
    found = circle if isinstance(circle, CircleFit) else fit_line(take.p, noise, 0)
    if not isinstance(found, CircleFit | LineFit) or own.sum() >= _WHOLE * found.inliers.sum():
        return own
    return found.inliers
