"""Fixed joint: a part that does not move against its parent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame
from ident.joints.base import Joint
from ident.joints.evidence import Evidence
from ident.joints.marks import Block, Mark
from ident.joints.node import Primitive
from ident.joints.takes import mean_frame


@dataclass(frozen=True, kw_only=True, eq=False)
class Fixed(Joint):
    """Holds its child link at its origin."""

    kind: ClassVar[str] = "fixed"
    title: ClassVar[str] = "fixed part"
    prompt: ClassVar[str] = "Grip {name} and hold the gripper still."

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
        """Estimate the frame as the mean of tip poses (n, 4, 4) in the parent's frame."""
        from fitting import fit_rigid  # compiled kernels: loaded only when something is fitted

        fit = fit_rigid(list(takes), noise=noise, rng=rng)
        if isinstance(fit, FitFailure):
            return fit
        evidence = Evidence.from_fit(fit, method="fit_rigid", takes=takes, still=True)
        return cls(name=name, parent=parent, origin=mean_frame(fit), evidence=evidence)

    @classmethod
    def example(cls) -> Self:
        """Return a bracket on a wall."""
        return cls(name="bracket", origin=frame(complete_axis([0.3, -0.5, 0.8]), [0.1, 0.7, 0.4]))

    def primitives(self) -> tuple[Primitive, ...]:
        """No motion."""
        return ()

    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """No coordinate: an array of shape (..., 0)."""
        return np.zeros((*np.shape(pose_in_parent)[:-2], 0))

    def marks(self) -> tuple[Mark, ...]:
        """Return a small block."""
        return (Block(0.03),)
