"""2-DoF handle: the gripper may turn about it and slide along it. ``pose(q) = a ⊕ trans(0, 0, q₁) ⊕ Rz(q₀)``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame
from ident.handles.base import Handle
from ident.handles.grip import find_grip
from ident.joints.evidence import Evidence
from ident.joints.frames import heading, in_joint, near
from ident.joints.marks import Arc, Cylinder, Mark
from ident.joints.node import SLIDE, TURN, Coordinate, Limits, Primitive


@dataclass(frozen=True, kw_only=True, eq=False)
class Handle2(Handle):
    """A rod: q = (turn, slide); origin at the lower end, x-axis that of the gripper at the lower turn."""

    kind: ClassVar[str] = "handle2"
    title: ClassVar[str] = "handle that the gripper turns about and slides along"
    prompt: ClassVar[str] = (
        "Grip {name} loosely; turn the gripper about it and slide it from end to end, as far as both go."
    )
    coordinates: ClassVar[tuple[Coordinate, ...]] = (TURN, SLIDE)

    @classmethod
    def fit(
        cls,
        takes: Sequence[Array],
        *,
        name: str,
        parent: str,
        noise: float | None = None,
        rng: np.random.Generator | None = None,
        radius_m: float = 0.0,
        seat_m: float | None = None,
    ) -> Self | FitFailure:
        """Estimate axis, turns and slides from tip poses (n, 4, 4) in the parent's frame, the handle at rest.

        seat_m: standard deviation of the tip's distance from the bar's middle, each way; None where it is not known.
        """
        from fitting import fit_cylindrical  # compiled kernels: loaded only when something is fitted

        fit = fit_cylindrical(list(takes), noise=noise, rng=rng, beside=seat_m)
        if isinstance(fit, FitFailure):
            return fit
        grip = find_grip(fit, takes)
        if isinstance(grip, FitFailure):
            return grip
        return cls(
            name=name,
            parent=parent,
            origin=grip.origin,
            limits=(grip.turn, grip.slide),
            radius_m=radius_m,
            evidence=Evidence.from_fit(fit, method="fit_cylindrical", takes=takes),
        )

    @classmethod
    def example(cls) -> Self:
        """Return a bar on a cabinet door."""
        origin = frame(complete_axis([0.0, 0.1, 1.0], [0.0, 1.0, 0.0]), [0.45, 0.05, 0.8])
        return cls(name="bar", origin=origin, limits=((0.0, 0.9), (0.0, 0.18)), radius_m=0.015)

    @property
    def turn(self) -> Limits:
        """Limits of the turn in radians."""
        return self.limits[0]

    @property
    def slide(self) -> Limits:
        """Limits of the slide in metres."""
        return self.limits[1]

    def primitives(self) -> tuple[Primitive, ...]:
        """A slide, then a turn."""
        return (Primitive("slide", 1), Primitive("turn", 0))

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """(..., 2): angle in radians, then metres along the axis."""
        local = in_joint(self.origin, pose_in_parent)
        return np.stack([near(heading(np.eye(4), local[..., :3, :3]), self.turn), local[..., 2, 3]], axis=-1)

    def marks(self) -> tuple[Mark, ...]:
        """Return the rod, and the arc of the gripper's x-axis."""
        return (Cylinder(self.radius_m or 0.01, *self.slide), Arc(0.06, *self.turn))
