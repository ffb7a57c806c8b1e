"""Boxes and rods that show a joint or handle in any viewer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fitting.se3 import Array, frame, rotation_exp
from ident.joints.marks import Arc, Bar, Block, Cylinder, Mark

_THIN = 0.004
"""Radius (m) of rods that stand for lines."""
_AXIS = 0.12
"""Length (m) of the rod that shows an axis."""
_NO_END = 0.5
"""Length (m) shown of something without a stop."""


@dataclass(frozen=True)
class Shape:
    """A box or a cylinder along z, centred on its frame."""

    kind: Literal["box", "cylinder"]
    size: tuple[float, ...]
    """Box: edges x, y, z. Cylinder: radius, length. Metres."""
    pose: Array
    """shape2link (4, 4)."""


def shapes(marks: Sequence[Mark], joint2link: Array) -> tuple[Shape, ...]:
    """Turn marks in the joint's frame into shapes in the link's frame."""
    found: list[Shape] = []
    for mark in marks:
        match mark:
            case Arc(radius=radius):
                # The axis, and a spoke to the grip: it turns with the joint, so that one sees it move.
                found.append(Shape("cylinder", (_THIN, _AXIS), np.eye(4)))
                sideways = rotation_exp([0.0, np.pi / 2, 0.0])
                found.append(Shape("cylinder", (_THIN / 2, radius), frame(sideways, [radius / 2, 0.0, 0.0])))
            case Bar():
                found.append(Shape("box", (0.02, 0.02, 0.02), np.eye(4)))
                found.append(Shape("cylinder", (_THIN, _AXIS), frame(None, [0.0, 0.0, _AXIS / 2])))
            case Cylinder(radius=radius, lower=lower, upper=upper):
                low, high = max(lower, -_NO_END), min(upper, _NO_END)
                length = max(high - low, 2.0 * radius)
                found.append(Shape("cylinder", (radius, length), frame(None, [0.0, 0.0, 0.5 * (low + high)])))
            case Block(size=size):
                found.append(Shape("box", (size, size, size), np.eye(4)))
    return tuple(Shape(s.kind, s.size, joint2link @ s.pose) for s in found)
