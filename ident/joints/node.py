"""What joints and handles share: a frame on a parent link, and a motion about and along its z-axis."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array, exp, frame, rotation_z
from ident.joints.evidence import Evidence
from ident.joints.frames import exact_frame, is_frame
from ident.joints.marks import Mark

Limits = tuple[float, float]


@dataclass(frozen=True)
class Coordinate:
    """One degree of freedom of a joint or handle."""

    name: str
    """``turn`` or ``slide``."""
    unit: str
    """``rad`` or ``m``."""


TURN = Coordinate("turn", "rad")
SLIDE = Coordinate("slide", "m")


@dataclass(frozen=True)
class Primitive:
    """One elementary motion about or along the current z-axis, by ``ratio`` times a coordinate.

    The first one of each coordinate has the ratio 1: in other formats that joint bears the coordinate's name.
    """

    motion: Literal["turn", "slide"]
    coordinate: int
    ratio: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Node(ABC):
    """One joint or handle: ``pose(q) = origin ⊕ motion(q) ⊕ child``, frames relative to the parent link."""

    kind: ClassVar[str]
    """The word for this type in files and in object descriptions."""
    title: ClassVar[str]
    """What the operator reads, for example ``rotary joint``."""
    prompt: ClassVar[str]
    """What the operator should do for one take; ``{name}`` stands for the name."""
    coordinates: ClassVar[tuple[Coordinate, ...]] = ()

    name: str
    parent: str = "root"
    origin: Array = field(default_factory=lambda: np.eye(4))
    """joint2parent at q = 0; z is the axis."""
    child: Array = field(default_factory=lambda: np.eye(4))
    """child2joint: where the child link's frame sits on the moving side."""
    limits: tuple[Limits, ...] = ()
    """(lower, upper) of each coordinate; ±inf where there is no stop."""
    evidence: Evidence | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the model file that this version does not know; kept as they are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", exact_frame(self.origin))
        object.__setattr__(self, "child", exact_frame(self.child))
        if len(self.limits) != self.dof:
            raise ValueError(f"{self.name}: {len(self.limits)} pairs of limits for {self.dof} coordinates")
        object.__setattr__(self, "limits", tuple((float(lo), float(hi)) for lo, hi in self.limits))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _same(self, other)

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.parent))

    # What each type supplies ----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def fit(
        cls,
        takes: Sequence[Array],
        *,
        name: str,
        parent: str,
        noise: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self | FitFailure:
        """Estimate it from takes: each (n, 4, 4), tip poses in the frame of the parent link."""

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """Return a typical instance, for tests and documentation."""

    @abstractmethod
    def primitives(self) -> tuple[Primitive, ...]:
        """Say the motion in turns and slides, in order; raise NotPrimitiveError where that is impossible."""

    @abstractmethod
    def coordinate(self, pose_in_parent: ArrayLike) -> Array:
        """Coordinates at which the child frame is nearest to poses (..., 4, 4), in the shape of ``pack``."""

    @abstractmethod
    def marks(self) -> tuple[Mark, ...]:
        """Shapes that show it, in the joint's frame at q = 0."""

    # What follows ---------------------------------------------------------------------------------

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Keys of its coordinates in a configuration."""
        return tuple(f"{self.name}.{c.name}" for c in self.coordinates)

    @property
    def axis(self) -> Array:
        """Unit vector of the axis in the parent's frame."""
        return np.asarray(self.origin[:3, 2])

    @property
    def point(self) -> Array:
        """Origin of the joint's frame in the parent's frame, metres."""
        return np.asarray(self.origin[:3, 3])

    @property
    def tip2child(self) -> Array:
        """Where the tip was on the moving side while this was measured."""
        return np.eye(4)

    def unpack(self, q: ArrayLike) -> list[Array]:
        """Split q into one array per coordinate: q is (...) for one coordinate, else (..., dof)."""
        values = np.asarray(q, dtype=float)
        if self.dof == 1:
            return [values]
        if self.dof and (values.ndim == 0 or values.shape[-1] != self.dof):
            raise ValueError(f"{self.name} has {self.dof} coordinates, got an array of shape {values.shape}")
        return [values[..., i] for i in range(self.dof)]

    def pack(self, values: Sequence[Array]) -> Array:
        """Join one array per coordinate: the inverse of ``unpack``."""
        return np.asarray(values[0]) if self.dof == 1 else np.stack(values, axis=-1)

    def motion(self, q: ArrayLike = ()) -> Array:
        """Frames (..., 4, 4) of the moving side relative to ``origin``."""
        values = self.unpack(q)
        result = np.eye(4)
        for p in self.primitives():
            result = result @ _primitive_frame(p, values[p.coordinate])
        return result

    def pose(self, q: ArrayLike = ()) -> Array:
        """child2parent frames (..., 4, 4) at q."""
        return np.asarray(self.origin @ self.motion(q) @ self.child)

    def jacobian(self, q: ArrayLike = ()) -> Array:
        """(..., 6, dof): velocity of the child frame's origin, then angular velocity, in parent axes."""
        values = self.unpack(q)
        tip = self.pose(q)[..., :3, 3]
        result = np.zeros((*tip.shape[:-1], 6, self.dof))
        at = self.origin
        for p in self.primitives():
            z = at[..., :3, 2]
            if p.motion == "turn":
                result[..., :3, p.coordinate] += p.ratio * np.cross(z, tip - at[..., :3, 3])
                result[..., 3:, p.coordinate] += p.ratio * z
            else:
                result[..., :3, p.coordinate] += p.ratio * z
            at = at @ _primitive_frame(p, values[p.coordinate])
        return result

    def trace(self, takes: Sequence[Array]) -> Array:
        """Coordinates of every sample of the takes, in their order, turns unwrapped along each take."""
        parts = []
        for take in takes:
            values = self.unpack(self.coordinate(take))
            turned = [_unwrap(v) if c.unit == "rad" else v for c, v in zip(self.coordinates, values, strict=True)]
            parts.append(self.pack(turned) if self.dof else np.zeros((len(take), 0)))
        return np.concatenate(parts) if parts else np.zeros(0)

    def with_limits(self, *limits: float | Limits) -> Self:
        """Return the same with other limits, and with q = 0 moved to the lower one where it is finite.

        One coordinate: ``with_limits(lower, upper)``. More: one pair for each.
        """
        if self.dof == 1 and len(limits) == 2 and not isinstance(limits[0], tuple):
            pairs: list[Any] = [limits]
        else:
            pairs = list(limits)
        if len(pairs) != self.dof:
            raise ValueError(f"{self.name} has {self.dof} coordinates, got {len(pairs)} pairs of limits")
        zero = np.array([lo if np.isfinite(lo) else 0.0 for lo, _ in pairs], dtype=float)
        moved = self.origin @ self.motion(self.pack(list(zero))) if self.dof else self.origin
        new = tuple((float(lo - z), float(hi - z)) for (lo, hi), z in zip(pairs, zero, strict=True))
        return replace(self, origin=moved, limits=new)

    def with_evidence(self, **changes: Any) -> Self:
        """Return the same with fields of its evidence replaced, for example ``measured_at``."""
        if self.evidence is None:
            raise ValueError(f"{self.name} has no evidence to change: it was not fitted")
        return replace(self, evidence=replace(self.evidence, **changes))

    def covariance(self) -> Array:
        """Covariance (6, 6) of the error twist ``[v, ω]`` of the origin, at its point, in parent axes."""
        return np.zeros((6, 6)) if self.evidence is None else self.evidence.twist_covariance(self.point)

    def simulate(
        self,
        rng: np.random.Generator,
        *,
        samples: int = 600,
        position_noise: float = 0.0005,
        angle_noise: float = 0.001,
    ) -> Array:
        """Tip poses (samples, 4, 4) in the parent's frame of one sweep from the lower to the upper limits.

        Noise is given per axis, in metres and radians.
        """
        s = np.clip(np.linspace(-0.1, 1.1, samples), 0.0, 1.0)
        # A second coordinate goes there and back while the first goes once, so that they can be told apart.
        shapes = [s if i == 0 else 0.5 - 0.5 * np.cos(2.0 * np.pi * s) for i in range(self.dof)]
        q = [lo + w * (hi - lo) for (lo, hi), w in zip(self.limits, shapes, strict=True)]
        poses = self.pose(self.pack(q)) if self.dof else np.broadcast_to(self.pose(), (samples, 4, 4))
        noise = rng.normal(size=(samples, 6)) * np.repeat([position_noise, angle_noise], 3)
        return np.asarray(poses @ self.tip2child @ exp(noise))

    def problems(self) -> list[str]:
        """List what is wrong with this joint or handle alone."""
        found = []
        for label, value in (("origin", self.origin), ("child", self.child)):
            if not np.isfinite(value).all():
                found.append(f"{label} has a number that is not finite")
            elif not is_frame(value):
                found.append(f"{label} is not a rotation and a translation")
        for c, (lo, hi) in zip(self.coordinates, self.limits, strict=True):
            if np.isnan(lo) or np.isnan(hi):
                found.append(f"the limits of {c.name} are not numbers")
            elif lo > hi:
                found.append(f"limits upside down: lower {lo:g} {c.unit} is above upper {hi:g} {c.unit}")
        return found


def _primitive_frame(p: Primitive, value: Array) -> Array:
    by = p.ratio * np.asarray(value)
    if p.motion == "turn":
        return frame(rotation_z(by))
    zero = np.zeros_like(by)
    return frame(None, np.stack([zero, zero, by], axis=-1))


def _unwrap(angle: Array) -> Array:
    return np.asarray(np.unwrap(angle)) if angle.size else angle


def _same(a: Any, b: Any) -> bool:
    """Compare values by content, arrays included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, Node | Evidence):
        compared = [f.name for f in fields(a) if f.compare]
        return type(a) is type(b) and all(_same(getattr(a, name), getattr(b, name)) for name in compared)
    return bool(a == b)
