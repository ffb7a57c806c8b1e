"""A screw joint from poses: it slides in proportion to its turn."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting import checks
from fitting.cylinder import direction, fitted_joint, zeroed
from fitting.joint import Joint, fit_joint, turned
from fitting.motion import CYLINDRICAL, SCREW, measured
from fitting.repeats import told_once
from fitting.result import AxisFit, FitFailure, frozen
from fitting.se3 import Array
from fitting.windings import nearest, wound

_STEEPEST = 0.35


@dataclass(frozen=True)
class ScrewFit(AxisFit):
    """A screw joint: ``point`` on its ``axis``, and ``pitch`` in metres of slide per radian of turn."""

    point: Array
    axis: Array
    pitch: float
    pitch_std: float
    radius: float
    """Distance (m) of the tracked point from the axis (of the first take)."""
    angles: Array
    """Radians about ``axis`` (n,), unwrapped, zero at the first inlier of each take."""
    orientation_noise: float

    @property
    def coordinates(self) -> Array:
        """The joint coordinate of each sample: its angle (rad)."""
        return self.angles


@told_once
def fit_screw(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> ScrewFit | FitFailure:
    """Fit a screw joint to poses (n, 4, 4), body to world, metres, or to a list of takes with different grips."""
    free = fitted_joint(CYLINDRICAL, poses, noise, rng, "a screw joint")
    return free if isinstance(free, FitFailure) else screw_of(free, noise)


def screw_of(free: Joint, noise: float | None) -> ScrewFit | FitFailure:
    """Fit a screw joint to takes to which a cylindrical one is fitted already."""
    # A turn more is a slide more: unlike a hinge, a screw needs its angles unwrapped.
    q = [
        np.stack([wound(start.q[:, 0], start.q[:, 1], part.positions), start.q[:, 1]], axis=1)
        for start, part in zip(free.motion.starts, free.parts, strict=True)
    ]
    turn, slide = zeroed(np.concatenate(q), free)[free.inliers].T
    turn = turn - turn.mean()
    power = float(turn @ turn)
    pitch = float(turn @ slide) / power if power > 0.0 else 0.0
    starts = tuple(replace(s, q=own * np.array([1.0, 0.0])) for s, own in zip(free.motion.starts, q, strict=True))
    motion = replace(free.motion, pitch=pitch, starts=starts)
    joint = fit_joint(SCREW, motion, list(free.parts), checks.as_noise(noise))
    if not turned(joint):
        return FitFailure("The screw hardly turned: its angles are within their noise. Turn it further.")
    angles = zeroed(_angles(joint)[:, None], joint)
    sign = direction(np.concatenate([angles, np.zeros_like(angles)], axis=1)[joint.inliers])
    flip = np.array([sign, 1.0, 1.0, sign])
    axis = joint.motion.axis
    arm = joint.motion.starts[0].p0 - joint.motion.center
    fit = ScrewFit(
        inliers=frozen(joint.inliers, bool),
        rms=joint.rms,
        noise=joint.noise.position,
        basis=frozen(joint.basis * np.array([[1.0], [sign]])),
        covariance=frozen(joint.covariance * flip[:, None] * flip),
        point=frozen(joint.motion.center),
        axis=frozen(sign * axis),
        pitch=float(joint.motion.pitch),
        pitch_std=joint.pitch_std,
        radius=float(np.linalg.norm(arm - (arm @ axis) * axis)),
        angles=frozen(sign * angles[:, 0]),
        orientation_noise=joint.noise.orientation,
    )
    if joint.agreeing < 0.25:
        return FitFailure(f"Only {joint.agreeing:.0%} of the samples agree with one screw.")
    if fit.axis_std < _STEEPEST and fit.pitch_std < 0.5:
        return fit
    return FitFailure(
        f"The screw turned too little ({np.degrees(np.ptp(fit.angles[fit.inliers])):.1f}°) to tell its axis and pitch. "
        "Turn it further."
    )


def _angles(joint: Joint) -> Array:
    """Angles (n,) of all samples in radians: the windings of those that are used are known, and others are between."""
    found = []
    for part, start in zip(joint.parts, joint.motion.starts, strict=True):
        shown = measured(SCREW, part.take, joint.motion.axis, joint.motion.center, start.R0, start.p0)[:, 0]
        used = np.flatnonzero(part.positions)
        found.append(nearest(shown, start.q[used, 0], used) if len(used) else shown)
    return np.concatenate(found)
