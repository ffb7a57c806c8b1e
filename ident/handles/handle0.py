"""0-DoF handle: one way to grip, a frame. ``pose = a``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame
from ident.handles.base import Handle
from ident.joints.evidence import Evidence
from ident.joints.marks import Block, Mark
from ident.joints.node import Primitive
from ident.joints.takes import mean_frame


@dataclass(frozen=True, kw_only=True, eq=False)
class Handle0(Handle):
    """A grip that allows one gripper frame, the mean of those measured."""

    kind: ClassVar[str] = "handle0"
    title: ClassVar[str] = "handle gripped in one way"
    prompt: ClassVar[str] = "Grip {name} as a robot should and hold the gripper still."

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
    ) -> Self | FitFailure:
        """Estimate the frame as the mean of tip poses (n, 4, 4) in the parent's frame."""
        from fitting import fit_rigid  # compiled kernels: loaded only when something is fitted

        fit = fit_rigid(list(takes), noise=noise, rng=rng)
        if isinstance(fit, FitFailure):
            return fit
        evidence = Evidence.from_fit(fit, method="fit_rigid", takes=takes, still=True)
        return cls(name=name, parent=parent, origin=mean_frame(fit), radius_m=radius_m, evidence=evidence)

    @classmethod
    def example(cls) -> Self:
        """Return a knob."""
        return cls(name="knob", origin=frame(complete_axis([0.0, 1.0, 0.1]), [0.2, 0.1, 0.3]), radius_m=0.012)

    def primitives(self) -> tuple[Primitive, ...]:
        """No motion."""
        return ()

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """No coordinate: an array of shape (..., 0)."""
        return np.zeros((*np.shape(pose_in_parent)[:-2], 0))

    def marks(self) -> tuple[Mark, ...]:
        """Return a small block."""
        return (Block(2.0 * self.radius_m or 0.03),)
