"""1-DoF handle: the gripper may turn about the grip's axis. ``pose(q) = c ⊕ Rz(q)``."""

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
from ident.joints.node import TURN, Coordinate, Limits, Primitive


@dataclass(frozen=True, kw_only=True, eq=False)
class Handle1(Handle):
    """A grip that the gripper turns about; the x-axis is the gripper's at the lower limit."""

    kind: ClassVar[str] = "handle1"
    title: ClassVar[str] = "handle that the gripper turns about"
    prompt: ClassVar[str] = "Grip {name} loosely and turn the gripper about it, as far as it goes both ways."
    coordinates: ClassVar[tuple[Coordinate, ...]] = (TURN,)

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
        """Estimate axis and turns from tip poses (n, 4, 4) in the parent's frame, the handle at rest.

        seat_m: standard deviation of the tip's distance from the bar's middle, each way; None where it is not known.
        """
        from fitting import fit_cylindrical  # compiled kernels: loaded only when something is fitted

        fit = fit_cylindrical(list(takes), noise=noise, rng=rng, beside=seat_m)
        if isinstance(fit, FitFailure):
            return fit
        grip = find_grip(fit, takes)
        if isinstance(grip, FitFailure):
            return grip
        # It does not slide: the origin is where the gripper was on average.
        origin = grip.origin @ frame(None, [0.0, 0.0, grip.mean_slide])
        return cls(
            name=name,
            parent=parent,
            origin=origin,
            limits=(grip.turn,),
            radius_m=radius_m,
            evidence=Evidence.from_fit(fit, method="fit_cylindrical", takes=takes),
        )

    @classmethod
    def example(cls) -> Self:
        """Return a short rod between two brackets."""
        origin = frame(complete_axis([0.1, 0.0, 1.0], [0.0, 1.0, 0.0]), [0.5, 0.1, 1.0])
        return cls(name="rod", origin=origin, limits=((0.0, 1.1),), radius_m=0.01)

    @property
    def turn(self) -> Limits:
        """Limits of the turn in radians."""
        return self.limits[0]

    def primitives(self) -> tuple[Primitive, ...]:
        """One turn."""
        return (Primitive("turn", 0),)

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """Angle in radians of the gripper about the axis."""
        local = in_joint(self.origin, pose_in_parent)
        return near(heading(np.eye(4), local[..., :3, :3]), self.turn)

    def marks(self) -> tuple[Mark, ...]:
        """Return a short rod, and the arc of the gripper's x-axis."""
        return (Cylinder(self.radius_m or 0.01, -0.03, 0.03), Arc(0.06, *self.turn))
