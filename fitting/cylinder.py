"""A cylindrical joint from poses: it turns about and slides along one axis. What a round handle allows a grip."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting import checks
from fitting.agreement import Agreement, agree
from fitting.beside import beside_axis
from fitting.joint import Joint, Part, absent, coordinates, fit_joint, turned
from fitting.motion import CYLINDRICAL, PRISMATIC, Kind, Start, Take
from fitting.repeats import told_once
from fitting.result import AxisFit, FitFailure, frozen
from fitting.se3 import Array

_LEAST = 6
_STEEPEST = 0.35
"""Radians. An axis less certain than this says nothing."""


@dataclass(frozen=True)
class CylindricalFit(AxisFit):
    """A cylindrical joint. ``point`` lies on the axis beside the data's centre.

    Where nothing turns, the axis has a direction but no place: ``position_std`` is then large (up to 1 m) and
    ``point`` is the tracked point's own line.
    """

    point: Array
    axis: Array
    radius: float
    """Distance (m) of the tracked point from the axis (of the first take)."""
    angles: Array
    """Radians about ``axis`` (n,), unwrapped, zero at the first inlier of each take."""
    slides: Array
    """Metres along ``axis`` (n,), zero at the first inlier of each take."""
    orientation_noise: float
    """Standard deviation (rad) per axis of the orientations."""


@told_once
def fit_cylindrical(
    poses: Any,
    noise: float | None = None,
    rng: np.random.Generator | int | None = None,
    beside: float | None = None,
) -> CylindricalFit | FitFailure:
    """Fit a cylindrical joint to poses (n, 4, 4), body to world, metres, or to a list of takes with different grips.

    Either movement may be small: with turning alone the axis comes from the orientations, with sliding alone its
    direction comes from the positions.
    beside: standard deviation (m) across the axis of the tracked point's distance from it, where that is known.
    """
    beside = checks.as_distance(beside)
    joint = fitted_joint(CYLINDRICAL, poses, noise, rng, "a cylindrical joint")
    return joint if isinstance(joint, FitFailure) else cylindrical_of(joint, noise, beside)


def cylindrical_of(joint: Joint, noise: float | None, beside: float | None = None) -> CylindricalFit | FitFailure:
    """Describe a fitted cylindrical joint; beside: as for :func:`fit_cylindrical`."""
    if not turned(joint):
        joint = _only_slid(joint, noise)
    elif beside is not None:
        joint = beside_axis(CYLINDRICAL, joint, beside)
    q = zeroed(coordinates(CYLINDRICAL, joint), joint)
    sign = direction(q[joint.inliers])
    flip = np.array([sign, 1.0, 1.0, sign])
    axis = joint.motion.axis
    arm = joint.motion.starts[0].p0 - joint.motion.center
    fit = CylindricalFit(
        inliers=frozen(joint.inliers, bool),
        rms=joint.rms,
        noise=joint.noise.position,
        basis=frozen(joint.basis * np.array([[1.0], [sign]])),
        covariance=frozen(joint.covariance * flip[:, None] * flip),
        point=frozen(joint.motion.center),
        axis=frozen(sign * axis),
        radius=float(np.linalg.norm(arm - (arm @ axis) * axis)),
        angles=frozen(sign * q[:, 0]),
        slides=frozen(sign * q[:, 1]),
        orientation_noise=joint.noise.orientation,
    )
    if fit.axis_std < _STEEPEST:
        return fit
    turn, slide = np.degrees(np.ptp(fit.angles[fit.inliers])), np.ptp(fit.slides[fit.inliers])
    return FitFailure(
        f"The handle moved too little to tell its axis: {turn:.1f}° turned, {1e3 * slide:.1f} mm slid, axis uncertain "
        f"by {np.degrees(fit.axis_std):.0f}°. Turn or slide further."
    )


def _only_slid(joint: Joint, noise: float | None) -> Joint:
    """The same takes as a sliding joint; its line runs through the tracked point, for want of anything better."""
    part = max(joint.parts, key=lambda one: np.count_nonzero(one.positions))
    mean = part.take.p[part.positions].mean(axis=0) if part.positions.any() else part.take.p.mean(axis=0)
    return fit_joint(PRISMATIC, replace(joint.motion, center=mean), list(joint.parts), noise)


def fitted_joint(
    kind: Kind, poses: Any, noise: float | None, rng: np.random.Generator | int | None, what: str
) -> Joint | FitFailure:
    """Fit a joint whose orientations follow it in all takes."""
    checked = checks.as_pose_takes(poses)
    if isinstance(checked, FitFailure):
        return checked
    noise = checks.as_noise(noise)
    generator = checks.generator(rng)
    takes = [Take.of(samples) for samples in checked if len(samples) or len(checked) == 1]
    tried = [_agreed(kind, take, noise, generator, what) for take in takes]
    found = [one for one in tried if isinstance(one, Agreement)]
    if not found:
        return next(one for one in tried if isinstance(one, FitFailure))
    best = min(found, key=lambda one: one.noise.position / max(int(one.inliers.sum()), 1))
    # A take that shows nothing by itself does not spoil the others.
    pieces = [
        _piece(one, best, take) if isinstance(one, Agreement) else absent(take)
        for one, take in zip(tried, takes, strict=True)
    ]
    motion = replace(best.motion, starts=tuple(start for start, _ in pieces))
    return fit_joint(kind, motion, [part for _, part in pieces], noise)


def _agreed(kind: Kind, take: Take, noise: float | None, rng: np.random.Generator, what: str) -> Agreement | FitFailure:
    if len(take) < _LEAST:
        return checks.too_few(len(take), _LEAST, what)
    one = agree(kind, take, noise, rng)
    if isinstance(one, FitFailure):
        return one
    telling = take.telling(kind)
    inliers = one.inliers & telling
    if inliers.sum() < max(_LEAST, 0.25 * telling.sum()):
        agreed, asked = int(inliers.sum()), int(telling.sum())
        return FitFailure(f"Only {agreed} of {asked} poses agree with {what}. Record the take again.")
    return replace(one, inliers=inliers)


def _piece(one: Agreement, best: Agreement, take: Take) -> tuple[Start, Part]:
    """A take's start, counted about the best axis (which may point the other way), and what is used of it."""
    start = one.motion.starts[0]
    flipped = one.motion.axis @ best.motion.axis < 0.0
    return replace(start, q=-start.q if flipped else start.q), Part.of(take, one.noise, one.inliers, one.inliers)


def zeroed(q: Array, joint: Joint) -> Array:
    """Coordinates (n, k) counted from the first inlier of each take."""
    result, place = q.copy(), 0
    for part in joint.parts:
        own = result[place : place + len(part.take)]
        own -= own[int(np.argmax(part.positions))].copy()
        place += len(part.take)
    return result


def direction(q: Array) -> float:
    """+1 when the larger movement (a radian counts as 0.1 m) goes up on the whole, else −1."""
    if len(q) == 0:
        return 1.0
    column = int(np.argmax(np.ptp(q, axis=0) * np.array([0.1, 1.0])))
    way = float(q[:, column] @ (np.arange(len(q)) - 0.5 * (len(q) - 1)))
    return -1.0 if way < 0.0 else 1.0
