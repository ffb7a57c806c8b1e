"""A rotary joint from poses: orientations are used exactly as far as the grip was rigid, found from the data."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fitting import checks
from fitting.grip import Gripped, gripped
from fitting.joint import Joint, absent, coordinates, fit_joint, turned, unwrapped
from fitting.motion import ROTARY, Motion, Start, Take, measured
from fitting.repeats import told_once
from fitting.result import AxisFit, FitFailure, Mask, frozen
from fitting.se3 import Array, cross

if TYPE_CHECKING:
    from fitting.uncertainty import Response

Grip = Literal["rigid", "partly", "loose"]
_LEAST = 6
_STEEPEST = 0.35
"""Radians. An axis less certain than this says nothing."""


@dataclass(frozen=True)
class RotaryFit(AxisFit):
    """A rotary joint. ``point`` lies on the axis beside the data's centre; turns are positive along the movement."""

    point: Array
    axis: Array
    radius: float
    """Distance (m) of the tracked point from the axis (of the first take)."""
    angles: Array
    """Radians about ``axis`` (n,), unwrapped, zero at the first inlier of each take."""
    grip: Grip
    """How far the orientations followed the joint: all the time, part of it, or not."""
    orientations: Array
    """(n,) bool: samples whose orientation was used."""
    orientation_noise: float
    """Standard deviation (rad) per axis of the orientations used."""
    body_point: Array
    """The axis in the frame of the tracked body, metres (first take; meaningless with a loose grip)."""
    body_axis: Array
    body_basis: Array
    body_covariance: Array
    """(4, 4) tilt and shift of the axis at ``body_point`` along ``body_basis``, in the body's frame."""
    responses: tuple["Response", ...] = field(default=(), repr=False)
    """Of each grip, take after take: what errors that no residual shows would do to tilt and shift along ``basis``."""

    @property
    def coordinates(self) -> Array:
        """The joint coordinate of each sample: its angle (rad)."""
        return self.angles


@told_once
def fit_rotary(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> RotaryFit | FitFailure:
    """Fit a rotary joint to poses (n, 4, 4), body to world, or to a list of takes with different grips.

    Parameters
    ----------
    poses: (n, 4, 4) in time order, metres, or a list of such takes.
    noise: standard deviation (m) per axis of the positions; None estimates it. That of orientations is estimated.
    rng: generator or seed; None is a fixed seed.

    """
    checked = checks.as_pose_takes(poses)
    if isinstance(checked, FitFailure):
        return checked
    noise = checks.as_noise(noise)
    generator = checks.generator(rng)
    takes = [Take.of(samples) for samples in checked]
    tried = [
        gripped(take, noise, generator) if len(take) >= _LEAST else checks.too_few(len(take), _LEAST, "a rotary joint")
        for take in takes
    ]
    found = [one for one in tried if isinstance(one, Gripped)]
    if not found:
        return next(one for one in tried if isinstance(one, FitFailure))
    if len(takes) == 1:
        alone = found[0]
        if alone.joint is not None:
            joint = alone.joint if alone.between else _placed(alone.joint)
            return _described(joint, alone.grip, (len(alone.parts),))
        joint = fit_joint(ROTARY, alone.motion, list(alone.parts), noise, settled=True)
        strayed = _described(_placed(joint), "loose", (1,)) if joint.parts[0].strayed.any() else None
        return strayed or _from_circle(alone, joint, checked[0])
    best = min(found, key=lambda one: one.uncertainty)
    # A take that shows nothing by itself does not spoil the others.
    pieces = [
        list(zip(_toward(one, best), one.parts, strict=True)) if isinstance(one, Gripped) else [absent(take)]
        for one, take in zip(tried, takes, strict=True)
        if len(take)
    ]
    motion = Motion(best.motion.axis, best.motion.center, tuple(start for grips in pieces for start, _ in grips))
    joint = fit_joint(ROTARY, motion, [part for grips in pieces for _, part in grips], noise)
    return _described(_placed(joint), _together([one.grip for one in found]), [len(grips) for grips in pieces])


def rotary_of(free: Joint, noise: float | None) -> RotaryFit | FitFailure:
    """Fit a rotary joint to takes to which a cylindrical one is fitted already, whose orientations followed it."""
    starts = tuple(replace(start, q=start.q * np.array([1.0, 0.0])) for start in free.motion.starts)
    joint = fit_joint(ROTARY, replace(free.motion, starts=starts), list(free.parts), noise)
    whole = all(np.array_equal(part.positions, part.orientations) for part in joint.parts)
    return _described(joint, "rigid" if whole else "partly", [1] * len(joint.parts))


def _placed(joint: Joint) -> Joint:
    """The joint, its place not misled by the sway of a hand; imported here, since it needs compiled loops."""
    from fitting.swayed import placed

    return placed(joint)


def _toward(one: Gripped, best: Gripped) -> list[Start]:
    """The starts of a take's grips; angles are counted about the best axis, which may point the other way."""
    sign = -1.0 if one.motion.axis @ best.motion.axis < 0.0 else 1.0
    return [replace(start, q=sign * start.q) for start in one.motion.starts]


def _together(grips: list[Grip]) -> Grip:
    if all(grip == grips[0] for grip in grips):
        return grips[0]
    return "partly"


def _described(joint: Joint, grip: Grip, grips: Sequence[int]) -> RotaryFit | FitFailure:
    """grips: how many parts of the joint each take is."""
    inliers = joint.inliers
    if joint.agreeing < 0.25:
        return FitFailure(f"Only {joint.agreeing:.0%} of the samples agree with one axis. Record the take again.")
    if not turned(joint):
        return FitFailure("The joint hardly turned: its angles are within their noise. Turn it further.")
    axis, start = joint.motion.axis, joint.motion.starts[0]
    arm = start.p0 - joint.motion.center
    own_angles, masks = _angles(joint, grips)
    angles = np.concatenate(own_angles)
    sign = _direction(own_angles, masks)
    both = np.array([sign, 1.0, 1.0, sign])
    fit = RotaryFit(
        inliers=frozen(inliers, bool),
        rms=joint.rms,
        noise=joint.noise.position,
        basis=frozen(joint.basis * np.array([[1.0], [sign]])),
        covariance=frozen(joint.covariance * both[:, None] * both),
        point=frozen(joint.motion.center),
        axis=frozen(sign * axis),
        radius=float(np.linalg.norm(arm - (arm @ axis) * axis)),
        angles=frozen(sign * angles),
        grip=grip,
        orientations=frozen(np.concatenate([part.orientations for part in joint.parts]), bool),
        orientation_noise=joint.noise.orientation,
        body_point=frozen(start.R0.T @ (joint.motion.center - start.p0)),
        body_axis=frozen(sign * (start.R0.T @ axis)),
        body_basis=frozen(joint.body_basis * np.array([[1.0], [sign]])),
        body_covariance=frozen(joint.body_covariance * both[:, None] * both),
        responses=_in_basis(joint, joint.basis * np.array([[1.0], [sign]])),
    )
    return fit if fit.axis_std < _STEEPEST else _not_enough(fit)


def _not_enough(fit: RotaryFit) -> FitFailure:
    turn = float(np.degrees(np.ptp(fit.angles[fit.inliers])))
    return FitFailure(
        f"The joint turned too little to tell its axis: {turn:.1f}° seen, axis uncertain by "
        f"{np.degrees(fit.axis_std):.0f}°. Turn it further."
    )


def _angles(joint: Joint, grips: Sequence[int]) -> tuple[list[Array], list[Mask]]:
    """Angles and used samples of each take, zero at the first that is used; its grips are told by their places."""
    sizes = [len(part.take) for part in joint.parts]
    each = np.split(coordinates(ROTARY, joint)[:, 0], np.cumsum(sizes)[:-1])
    angles, masks = [], []
    ends = np.cumsum(grips)
    for first, last in zip(ends - grips, ends, strict=True):
        used = np.concatenate([part.positions for part in joint.parts[first:last]])
        own = each[first]
        start = joint.motion.starts[first]
        for k in range(first + 1, last):
            place = Take(joint.motion.starts[k].R0[None], joint.motion.starts[k].p0[None])
            about = (joint.motion.axis, joint.motion.center, start.R0, start.p0)
            own = np.concatenate([own, each[k] + measured(ROTARY, place, *about, by="position")[0, 0]])
        own = unwrapped(own, used) if last - first > 1 else own
        angles.append(own - own[np.argmax(used)])
        masks.append(used)
    return angles, masks


def _direction(angles: list[Array], masks: list[Mask]) -> float:
    """+1 when the first take that moved turned positively on the whole, else −1."""
    for every, mask in zip(angles, masks, strict=True):
        own = every[mask]
        way = float(own @ (np.arange(len(own)) - 0.5 * (len(own) - 1)))
        if way != 0.0:
            return 1.0 if way > 0.0 else -1.0
    return 1.0


def _from_circle(one: Gripped, joint: Joint, poses: Array) -> RotaryFit | FitFailure:
    """A loose grip: positions alone, at their own limit."""
    circle = one.circle
    if isinstance(circle, FitFailure) or circle is None:
        return circle if circle is not None else FitFailure("No axis can be told from these poses.")
    if circle.axis_std > _STEEPEST:
        return FitFailure(
            f"The grip turned in the hand, and positions alone leave the axis uncertain by "
            f"{np.degrees(circle.axis_std):.0f}°. Turn the joint further or hold the gripper firmly."
        )
    R0 = poses[0, :3, :3]
    return RotaryFit(
        inliers=circle.inliers,
        rms=circle.rms,
        noise=circle.noise,
        basis=circle.basis,
        covariance=circle.covariance,
        point=circle.center,
        axis=circle.axis,
        radius=circle.radius,
        angles=circle.angles,
        grip="loose",
        orientations=frozen(np.zeros(len(poses)), bool),
        orientation_noise=one.parts[0].noise.orientation,
        body_point=frozen(R0.T @ (circle.center - poses[0, :3, 3])),
        body_axis=frozen(R0.T @ circle.axis),
        body_basis=frozen(circle.basis @ R0),
        body_covariance=frozen(np.diag([1.0, 1.0, 1.0, 1.0])),
        responses=_in_basis(joint, circle.basis),
    )


def _in_basis(joint: Joint, basis: Array) -> tuple["Response", ...]:
    """Responses for tilt and shift along another basis of nearly the same axis, which may be reversed."""
    sign = 1.0 if joint.motion.axis @ cross(basis[0], basis[1]) > 0.0 else -1.0
    change = np.zeros((4, 4))
    change[2:, 2:] = basis @ joint.basis.T
    change[:2, :2] = sign * change[2:, 2:]
    # Path and axis point the other way about a reversed axis.
    channels = np.array([1.0, sign, sign, 1.0, sign])[:, None]
    return tuple(replace(one, gain=frozen(channels * (one.gain @ change.T))) for one in joint.responses)
