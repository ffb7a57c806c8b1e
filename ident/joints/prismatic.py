"""Prismatic joint: a drawer, a slider. ``pose(q) = a ⊕ trans(0, 0, q)``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame
from ident.joints.base import Joint
from ident.joints.ends import direction, ends
from ident.joints.evidence import Evidence
from ident.joints.frames import in_joint
from ident.joints.marks import Bar, Mark
from ident.joints.node import SLIDE, Coordinate, Primitive
from ident.joints.takes import path_gate, split


@dataclass(frozen=True, kw_only=True, eq=False)
class Prismatic(Joint):
    """Slides along the z-axis of its origin, which lies where the tip was at the lower limit."""

    kind: ClassVar[str] = "prismatic"
    title: ClassVar[str] = "prismatic joint"
    prompt: ClassVar[str] = "Grip {name} firmly and slide it once from one end to the other."
    coordinates: ClassVar[tuple[Coordinate, ...]] = (SLIDE,)

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
        """Estimate line, limits and zero from takes of tip poses (n, 4, 4) in the parent's frame."""
        from fitting import fit_prismatic  # compiled kernels: loaded only when something is fitted

        fit = fit_prismatic(list(takes), noise=noise, rng=rng)
        if isinstance(fit, FitFailure):
            return fit
        point, line = np.asarray(fit.point), np.asarray(fit.direction)
        offset = np.concatenate([np.asarray(t, dtype=float)[:, :3, 3] - point for t in takes])
        along = offset @ line
        away = np.linalg.norm(offset - along[:, None] * line, axis=1)
        travel = float(np.ptp(along[fit.inliers]))
        parts = split(along, fit.inliers, takes, away, path_gate(fit.noise, travel))
        if isinstance(parts, FitFailure):
            return parts
        sign = direction([p.reach for p in parts])
        z = sign * line
        found = [ends(sign * p.reach) for p in parts]
        # x follows the gripper, so that the child link's frame is stable from one measurement to the next.
        x = parts[0].poses[:, :3, 0].mean(axis=0)
        return cls(
            name=name,
            parent=parent,
            origin=frame(complete_axis(z, x), point + found[0].lower * z),
            limits=((0.0, max(e.range for e in found)),),
            evidence=Evidence.from_fit(fit, method="fit_prismatic", takes=takes),
        )

    @classmethod
    def example(cls) -> Self:
        """Return a drawer."""
        origin = frame(complete_axis([1.0, 0.1, 0.05], [0.0, 0.0, 1.0]), [0.3, 0.1, 0.5])
        return cls(name="drawer", origin=origin, limits=((0.0, 0.38),))

    def primitives(self) -> tuple[Primitive, ...]:
        """One slide."""
        return (Primitive("slide", 0),)

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """Metres along the axis."""
        local = in_joint(self.origin, pose_in_parent)
        # The child frame's own offset, which does not turn, is no part of the coordinate.
        return np.asarray(local[..., 2, 3] - self.child[2, 3])

    def marks(self) -> tuple[Mark, ...]:
        """Return the stretch between the limits."""
        return (Bar(*self.limits[0]),)
