"""What a joint or handle looks like: simple shapes in its own frame, for figures and for exported visuals."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Arc:
    """A circular arc about the z-axis, from ``lower`` to ``upper`` radians, measured from the x-axis."""

    radius: float
    """Metres."""
    lower: float
    upper: float


@dataclass(frozen=True)
class Bar:
    """A straight segment of the z-axis, from ``lower`` to ``upper`` metres."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Cylinder:
    """A rod around the z-axis, from ``lower`` to ``upper`` metres."""

    radius: float
    """Metres."""
    lower: float
    upper: float


@dataclass(frozen=True)
class Block:
    """A small cube around the origin."""

    size: float
    """Edge in metres."""


Mark = Arc | Bar | Cylinder | Block
