"""Rotary joint: a hinge, a lever, a knob. ``pose(q) = c ⊕ Rz(q) ⊕ r``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame, rotation_z
from ident.joints.base import Joint
from ident.joints.ends import direction, ends
from ident.joints.evidence import Evidence
from ident.joints.frames import azimuth, heading, in_joint, near
from ident.joints.marks import Arc, Mark
from ident.joints.node import TURN, Coordinate, Primitive
from ident.joints.takes import path_gate, split

ON_AXIS = 0.01
"""A tip nearer to the axis than this (m) says too little about the angle: the gripper's orientation says it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotary(Joint):
    """Turns about the z-axis of its origin; the x-axis points to where the tip was at the lower limit."""

    kind: ClassVar[str] = "rotary"
    title: ClassVar[str] = "rotary joint"
    prompt: ClassVar[str] = "Grip {name} firmly and turn it once from one end to the other."
    coordinates: ClassVar[tuple[Coordinate, ...]] = (TURN,)

    radius_m: float = 0.0
    """Distance of the tip from the axis while it was measured; 0 where the tip was on the axis."""

    @classmethod
    def fit(
        cls,
        takes: Sequence[Array],
        *,
        name: str,
        parent: str,
        noise: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self | FitFailure:
        """Estimate axis, limits and zero from takes of tip poses (n, 4, 4) in the parent's frame."""
        from fitting import fit_rotary  # compiled kernels: loaded only when something is fitted

        fit = fit_rotary(list(takes), noise=noise, rng=rng)
        if isinstance(fit, FitFailure):
            return fit
        radius = float(fit.radius)
        away = _away(takes, np.asarray(fit.point), np.asarray(fit.axis), fit.inliers)
        parts = split(fit.angles, fit.inliers, takes, away, path_gate(fit.noise, radius))
        if isinstance(parts, FitFailure):
            return parts
        sign = direction([p.reach for p in parts])
        z = sign * np.asarray(fit.axis)
        found = [ends(sign * p.reach) for p in parts]
        # Where the hand held the part in the first take gives the zero: every sample, turned back to the lower end.
        first, lower = parts[0], found[0].lower
        rough = frame(complete_axis(z), fit.point)
        if radius > ON_AXIS:
            measured = azimuth(rough, first.poses[:, :3, 3] - fit.point)
        else:
            measured, radius = heading(rough, first.poses[:, :3, :3]), 0.0
        zero = np.angle(np.mean(np.exp(1j * (measured - (sign * first.values - lower)))))
        origin = rough @ frame(rotation_z(zero))
        return cls(
            name=name,
            parent=parent,
            origin=origin,
            limits=((0.0, max(e.range for e in found)),),
            radius_m=radius,
            evidence=Evidence.from_fit(fit, method="fit_rotary", takes=takes),
        )

    @classmethod
    def example(cls) -> Self:
        """Return a cabinet hinge."""
        origin = frame(complete_axis([0.1, 0.2, 1.0], [1.0, 0.3, 0.0]), [0.4, -0.2, 0.9])
        return cls(name="hinge", origin=origin, limits=((0.0, 1.4),), radius_m=0.35)

    @property
    def tip2child(self) -> Array:
        """On the x-axis, at the measured radius."""
        return frame(None, [self.radius_m, 0.0, 0.0])

    def primitives(self) -> tuple[Primitive, ...]:
        """One turn."""
        return (Primitive("turn", 0),)

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """Angles in radians, nearest to the middle of the limits.

        Poses well away from the axis are taken as positions of the tip, since a hand may turn on the grip;
        poses on the axis, like that of the child link, by their orientation.
        """
        local = in_joint(self.origin, pose_in_parent)
        by_position = np.arctan2(local[..., 1, 3], local[..., 0, 3])
        by_heading = heading(np.eye(4), local[..., :3, :3] @ self.child[:3, :3].T)
        distance = np.hypot(local[..., 0, 3], local[..., 1, 3])
        tracked = self.radius_m > 0.0 and not self.child[:3, 3].any()
        held = distance > (0.2 * self.radius_m if tracked else np.inf)
        return near(np.where(held, by_position, by_heading), self.limits[0])

    def marks(self) -> tuple[Mark, ...]:
        """Return the arc that the tip swept."""
        return (Arc(self.radius_m or 0.1, *self.limits[0]),)


def _away(takes: Sequence[Array], point: Array, axis: Array, inliers: NDArray[np.bool_]) -> Array:
    """Distance (sum of n,) in metres of each tip from the circle that its take's inliers lie on."""
    parts, start = [], 0
    for take in takes:
        arm = np.asarray(take, dtype=float)[:, :3, 3] - point
        height = arm @ axis
        radius = np.linalg.norm(arm - height[:, None] * axis, axis=1)
        good = inliers[start : start + len(arm)]
        good = good if good.any() else np.ones(len(arm), dtype=bool)
        parts.append(np.hypot(radius - np.median(radius[good]), height - np.median(height[good])))
        start += len(arm)
    return np.concatenate(parts)
