"""Scenes: articulated objects with their ground truth and their forward kinematics.

Every axis and point in a scene is given in the world frame (metres) with all joints at their lower limit, which is
coordinate zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.errors import DeviceError
from devices.sim.frames import Array, about, frames, gripping

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


class SceneError(DeviceError):
    """A scene, or a movement in it, cannot be used; the message lists every problem."""


@dataclass(frozen=True)
class Stray:
    """How far another joint is moved along by mistake while this one is moved."""

    joint: str
    amount: float
    """Metres or radians, the largest excursion of a normal take."""


@dataclass(frozen=True)
class Joint:
    """A rotary or prismatic joint; its child link bears the joint's name."""

    name: str
    type: str
    parent: str
    axis: tuple[float, float, float]
    """Unit, world, all joints at their lower limit."""
    point: tuple[float, float, float]
    upper: float
    """Radians or metres; the lower limit is zero."""
    grip: str
    """The handle that the operator holds to move it."""
    friction: float = 0.0
    """N or Nm, whatever the speed."""
    breakaway: float = 0.0
    """N or Nm on top of friction until it moves."""
    damping: float = 0.0
    """N s/m or Nm s/rad."""
    inertia: float = 0.0
    """kg or kg m²."""
    spring: float = 0.0
    """N/m or Nm/rad, towards the lower limit."""
    stop_stiffness: float = 1e4
    """N/m or Nm/rad of the end stops."""
    strays: Stray | None = None
    shake: float = 0.0
    """Metres at the grip: short deflections of a mechanism that sticks and jumps."""


@dataclass(frozen=True)
class Handle:
    """A bar that can be gripped anywhere along its length and about which the gripper can turn."""

    name: str
    parent: str
    axis: tuple[float, float, float]
    point: tuple[float, float, float]
    """On the bar's axis at the lower end of the gripper's travel."""
    length: float
    """Metres of travel of the gripper along the bar."""
    radius: float
    approach: tuple[float, float, float]
    """Direction in which the gripper comes to the bar; the turn is zero there."""
    turn: tuple[float, float]
    """Radians about the axis."""


@dataclass(frozen=True)
class Bench:
    """Fixed things for calibration: a bar, a dimple for the tip, a table to tap on."""

    point: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    approach: tuple[float, float, float]
    dimple: tuple[float, float, float]
    table: tuple[float, float, float]


@dataclass(frozen=True)
class Scene:
    """An articulated object and the things around it."""

    name: str
    joints: tuple[Joint, ...]
    handles: tuple[Handle, ...]
    bench: Bench
    rest: tuple[float, float, float]
    """Where the tip is before the first movement."""
    gravity: tuple[float, float, float] = STANDARD_GRAVITY
    _by_name: dict[str, Joint | Handle] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by_name.update({joint.name: joint for joint in self.joints})
        self._by_name.update({handle.name: handle for handle in self.handles})

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        node = self._by_name.get(name)
        if not isinstance(node, Joint):
            raise SceneError(f"{self.name} has no joint {name!r}; it has {', '.join(j.name for j in self.joints)}.")
        return node

    def handle(self, name: str) -> Handle:
        """The handle of that name."""
        node = self._by_name.get(name)
        if not isinstance(node, Handle):
            raise SceneError(f"{self.name} has no handle {name!r}; it has {', '.join(h.name for h in self.handles)}.")
        return node

    def ancestors(self, link: str) -> tuple[Joint, ...]:
        """The joints from the root to a link, which bears its joint's name; none for ``root``."""
        chain: list[Joint] = []
        while link != "root":
            joint = self.joint(link)
            chain.append(joint)
            link = joint.parent
        return tuple(reversed(chain))

    def motion(self, link: str, q: Mapping[str, Array | float]) -> Array:
        """How a link moved (..., 4, 4) from where it is with all joints at zero, in the world."""
        result = np.eye(4)
        for joint in self.ancestors(link):
            result = result @ displacement(joint, q.get(joint.name, 0.0))
        return result

    def grip2world(self, handle: Handle, q: Mapping[str, Array | float], along: float = 0.5) -> Array:
        """Tip frame (..., 4, 4) of a gripper on a handle at a fraction of its length, at turn zero."""
        point = np.asarray(handle.point) + along * handle.length * np.asarray(handle.axis)
        return self.motion(handle.parent, q) @ frames(gripping(handle.axis, handle.approach), point)

    def truth(self) -> dict[str, Any]:
        """Axes, points (world, all joints at their lower limit), limits: metres and radians."""
        return {
            "object": self.name,
            "gravity": list(self.gravity),
            "joints": [
                {
                    "name": j.name,
                    "type": j.type,
                    "parent": j.parent,
                    "axis": list(j.axis),
                    "point": list(j.point),
                    "lower": 0.0,
                    "upper": j.upper,
                }
                for j in self.joints
            ],
            "handles": [
                {
                    "name": h.name,
                    "parent": h.parent,
                    "dof": 2,
                    "axis": list(h.axis),
                    "point": list(h.point),
                    "radius_m": h.radius,
                    "length_m": h.length,
                    "turn": list(h.turn),
                }
                for h in self.handles
            ],
        }

    def description(self) -> dict[str, Any]:
        """What an operator would say of the object: names, types, parents, handle radii."""
        return {
            "name": self.name,
            "joint": [{"name": j.name, "type": j.type, "parent": j.parent} for j in self.joints],
            "handle": [{"name": h.name, "parent": h.parent, "dof": 2, "radius_m": h.radius} for h in self.handles],
        }


def displacement(joint: Joint, q: Array | float) -> Array:
    """Motion (..., 4, 4) of a joint's child link in the world, its ancestors at zero."""
    angle = np.asarray(q, dtype=float)
    axis, point = np.asarray(joint.axis), np.asarray(joint.point)
    if joint.type == "prismatic":
        return frames(None, angle[..., None] * axis)
    rotation = about(axis, angle)
    return frames(rotation, point - rotation @ point)
