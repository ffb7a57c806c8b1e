"""A joint type of one's own: a lid that turns and rises, saved, loaded and exported like any other.

In the product it would be one file in ``ident/joints/``; see ``docs/add-a-joint.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting import FitFailure, fit_screw
from fitting.se3 import Array, complete_axis, frame
from ident.export import render
from ident.joints import Joint
from ident.joints.ends import ends
from ident.joints.evidence import Evidence
from ident.joints.frames import heading, in_joint
from ident.joints.marks import Arc, Mark
from ident.joints.node import TURN, Coordinate, Primitive
from ident.model import model_text, parse_model
from ident.tree import KinematicTree


@dataclass(frozen=True, kw_only=True, eq=False)
class Lid(Joint):
    """Turns about z and rises in proportion."""

    kind: ClassVar[str] = "lid"
    title: ClassVar[str] = "lid of a jar"
    prompt: ClassVar[str] = "Grip {name} and unscrew it."
    coordinates: ClassVar[tuple[Coordinate, ...]] = (TURN,)

    rise_m_per_rad: float

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
        """Estimate the axis and the rise; the zero is where the first take begins."""
        fit = fit_screw(list(takes), noise=noise, rng=rng)
        if isinstance(fit, FitFailure):
            return fit
        start = takes[0][0]
        on_axis = fit.point + ((start[:3, 3] - fit.point) @ fit.axis) * fit.axis
        return cls(
            name=name,
            parent=parent,
            origin=frame(complete_axis(fit.axis, start[:3, 0]), on_axis),
            limits=((0.0, ends(fit.angles).range),),
            rise_m_per_rad=fit.pitch,
            evidence=Evidence.from_fit(fit, method="fit_screw", takes=takes),
        )

    @classmethod
    def example(cls) -> Self:
        """Return a jam jar."""
        return cls(name="jar", origin=frame(None, [0.2, 0.1, 0.0]), limits=((0.0, 2.0),), rise_m_per_rad=0.004)

    def primitives(self) -> tuple[Primitive, ...]:
        """A turn, and a slide in proportion."""
        return (Primitive("turn", 0), Primitive("slide", 0, self.rise_m_per_rad))

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """Angle in radians."""
        return heading(np.eye(4), in_joint(self.origin, pose_in_parent)[..., :3, :3])

    def marks(self) -> tuple[Mark, ...]:
        """Return the turn."""
        return (Arc(0.05, *self.limits[0]),)


rng = np.random.default_rng(1)
truth = Lid.example()
lid = Lid.fit([truth.simulate(rng)], name="jar", parent="root", rng=rng)
if isinstance(lid, FitFailure):
    raise SystemExit(lid.reason)
print(f"rise {1000 * lid.rise_m_per_rad:.2f} mm/rad (true {1000 * truth.rise_m_per_rad:.2f})")
print(f"turns {lid.upper:.3f} rad (true {truth.upper:.3f})")

tree = KinematicTree("jar", (lid,))
again = parse_model(model_text(tree))
print(f"saved and loaded: {'the same' if again == tree else 'different'}")
urdf = render(again, "urdf").text
print("in URDF:", next(line.strip() for line in urdf.splitlines() if "mimic" in line))
