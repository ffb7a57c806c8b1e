"""What the places of a take say against a rotary joint to which its orientations led."""

import math

import numpy as np

from fitting.between import about, apart, crept
from fitting.circle import CircleFit
from fitting.joint import Joint, circles, coordinates
from fitting.motion import ROTARY, Motion, Take
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.result import FitFailure, Mask
from fitting.se3 import Array, cross, turns_from_middle
from fitting.segments import dense, moving
from fitting.wandering import slipped

WHOLE = 0.85
"""Share of the time in which most orientations follow from which a grip counts as rigid: single bad orientations are no
slipping."""
_APART, _FAR = 28.0, 70.0
"""Squared distance of the axis from the one of positions alone, in variances of that, which a part of a take and a
whole one may have: χ² with 4 components passes the first once in ninety thousand, but slow play has longer tails."""
_DROWNED = 3.0
"""How many times as noisy positions may be about an axis of poses as most of them are about their own circle."""
_BESIDE = 0.02
"""Metres from the axis within which a tip may stay while the gripper turns in the hand."""
_GONE = 0.15
"""Share of a take's samples that are elsewhere in one stretch, from which on it was no turn on the spot."""
_TRAVELS = 0.05
"""Metres from where it turned that a gripper is in most of such a stretch: bursts of a tracker drift by less."""
_BESIDE_CHANCE, _CREPT, _BEYOND_PLAY = 4.9, 7.8, 200.0
"""Positions contradict a part of a take beyond the first of these: χ² with 4 components passes it three times in ten,
but what such a part would have gained is all that is lost. Beyond the second where the grip gave way gradually, so that
its axis is between theirs (once in ten); where they play, beyond the third."""
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


def objected(circle: CircleFit | FitFailure, joint: Joint, take: Take, allowed: Mask, *, whole: bool) -> bool:
    """Whether positions speak against orientations that follow a joint the whole time, or for a part of it."""
    if isinstance(circle, FitFailure):
        # A part that no position confirms may be the grip's own turn.
        return not whole
    if joint.noise.position > _DROWNED * circle.noise and circle.inliers.sum() > 0.5 * allowed.sum():
        # Outliers by the dozen passed for noise, so that orientations that turned on need not object.
        return True
    if not whole and contradicted(circle, joint, take):
        return True
    # Positions that stray together, or that hardly bend, mislead the circle; poses that explain them about as well are
    # not to blame.
    most = _APART if not whole or only_noise(circle, take) else _FAR
    # Asked where the tip travels: a rest that poses keep, and a circle leaves out, would make it one of fewer points.
    return apart(joint.motion, circle) > most and not (
        whole and _loses(joint.motion, circle, take.p[joint.inliers & _travels(take)]) < most
    )


def outruns(joint: Joint, take: Take) -> bool:
    """Whether a joint would have turned much further than its gripper did: a hand turns by some tens of degrees.

    A movement that strays in all directions is on some small circle or other.
    """
    turns = np.linalg.norm(turns_from_middle(take.R), axis=1)
    turned = np.ptp(coordinates(ROTARY, joint)[joint.inliers, 0])
    return bool(turned > 2.0 * np.quantile(turns, 0.98) + _HAND)


def only_noise(circle: CircleFit, take: Take) -> bool:
    """Whether positions hold nothing but noise about their circle, all of them: part of slow play is quiet as well.

    Not those that rest while the gripper turns.
    """
    if circle.correlation >= _WHITE:
        return False
    travels = _travels(take)
    gone = travels & ~circle.inliers
    return bool((gone & dense(gone, travels, share=_STRETCH)).sum() < _LEFT_OUT * travels.sum())


def _travels(take: Take) -> Mask:
    """Samples in which the tip moved on: a circle leaves the others out."""
    return take.moving & moving(np.ascontiguousarray(take.p.T))


def known_by_places(circle: CircleFit, joint: Joint, take: Take) -> bool:
    """Whether positions alone show the axis nearly as well, and nothing but noise is in them.

    Orientations of a grip that turned help little then, and where it turned slowly they mislead. Positions with slow
    noise may have slid along the bar instead, which tilts their circle and leaves orientations alone.
    """
    places, poses = np.diag(circle.covariance), np.diag(joint.covariance)
    tilts, shifts = (math.sqrt(places[k].sum() / poses[k].sum()) for k in (slice(0, 2), slice(2, 4)))
    return max(tilts, shifts) < _WORTH and only_noise(circle, take)


def contradicted(circle: CircleFit, joint: Joint, take: Take) -> bool:
    """Whether positions in which is nothing but noise leave out the axis of orientations that followed in part.

    A grip that turns steadily follows another axis, or another radius, as well as a firm one follows its own. Positions
    that play may be misled themselves, but not by as much as that.
    """
    most = _BEYOND_PLAY
    if only_noise(circle, take):
        most = _CREPT if crept(joint) else _BESIDE_CHANCE
    return apart(joint.motion, circle) > most and _loses(joint.motion, circle, take.p[circle.inliers]) > most


def let_go(joint: Joint, circle: CircleFit | FitFailure) -> bool:
    """Whether orientations that seemed to follow all the time do not follow the joint that they led to.

    Beside a turn about the joint's own axis a wide gate takes poses for those of another radius. Scattered wrong
    orientations are no turn: neighbours among them differ.
    """
    (part,) = joint.parts
    if isinstance(circle, FitFailure) or not circles(joint.motion, 0, part.noise):
        return False
    path = circle.inliers & part.take.moving
    apart = path & ~dense(part.orientations, path)
    if apart.sum() <= (1.0 - WHOLE) * path.sum() or not slipped(joint.residuals[0], apart):
        return False
    turns = joint.residuals[0][apart, 3:]
    steps = np.linalg.norm(np.diff(turns, axis=0), axis=1)
    together = float(np.median(steps)) < 0.5 * float(np.median(np.linalg.norm(turns, axis=1)))
    return together and only_noise(circle, part.take)


def only_gripper(joint: Joint, allowed: Mask) -> bool:
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


def _loses(motion: Motion, circle: CircleFit, points: Array) -> float:
    """How much worse points (n, 3) lie on a path about the motion's axis than on the circle (χ²).

    A circle of fewer points is none: noise draws some.
    """
    if not len(points) or circle.inliers.sum() < WHOLE * len(points):
        return 0.0
    radii, heights = about(points, motion.axis, motion.center)
    own = _cost(radii - np.median(radii), heights - np.median(heights), circle.noise)
    radii, heights = about(points, circle.axis, circle.center)
    return (own - _cost(radii - circle.radius, heights, circle.noise)) / max(circle.correlation, 1.0)


def _cost(out: Array, up: Array, noise: float) -> float:
    """Squares of distances from a path, in units of the noise, none of which counts for more than the gate."""
    return float(np.minimum((out**2 + up**2) / noise**2, chi2_quantile(2, GATE)).sum())
