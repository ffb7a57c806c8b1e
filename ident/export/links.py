"""A tree said in links with one turn, slide or no motion each: the common ground of URDF, MJCF and SDF."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fitting.se3 import Array, inverse
from ident.export.shapes import Shape, shapes
from ident.handles import Handle
from ident.joints.node import Node
from ident.joints.problems import ModelError
from ident.tree import KinematicTree

EFFORT = 100.0
"""Largest force (N) or torque (Nm) written where a format demands one: no measurement says it."""
VELOCITY = 1.0
"""Largest speed (m/s, rad/s) written where a format demands one."""
NO_STOP = 1000.0
"""Limit (m, rad) written on the side that has no stop, where a format wants both."""
MASS = 1.0
"""Mass (kg) written for every link, because simulators refuse links without one."""
INERTIA = 0.01
"""Moment of inertia (kg m²) about every axis, likewise."""


@dataclass(frozen=True)
class Rendered:
    """Text in another format, and what that format could not say."""

    text: str
    lost: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """One link, and the joint that carries it."""

    name: str
    parent: str
    origin: Array
    """link2parent (4, 4) with the joint at 0."""
    joint: str
    motion: Literal["fixed", "turn", "slide"] = "fixed"
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """Unit vector in the link's frame, through its origin."""
    lower: float = -np.inf
    upper: float = np.inf
    mimic: tuple[str, float] | None = None
    """(joint, ratio): this joint's coordinate is the ratio times that one's."""
    damping: float = 0.0
    """N s/m or Nm s/rad."""
    friction: float = 0.0
    """N or Nm."""
    shapes: tuple[Shape, ...] = ()
    """What to show, in the link's frame."""


def plan(tree: KinematicTree, *, handle_joints: bool = False) -> tuple[list[Link], list[str]]:
    """Say a tree in links, parents first; and list what every such format loses.

    Handles become links that do not move, at the zero of their coordinates; with ``handle_joints`` their
    turns and slides become joints.
    """
    problems = tree.validate()
    if problems:
        raise ModelError(f"{tree.name} cannot be exported before its problems are solved:", problems)
    links: list[Link] = []
    lost: list[str] = []
    taken = set(tree.frame_names)
    for node in sorted(tree.nodes.values(), key=lambda n: len(tree.path(n.name))):
        moves = node.dof and (handle_joints or not isinstance(node, Handle))
        links += _moving(node, taken) if moves else [_still(node)]
        if node.dof and not moves:
            spans = ", ".join(
                f"{c.name} {lo:.4g} … {hi:.4g} {c.unit}"
                for c, (lo, hi) in zip(node.coordinates, node.limits, strict=True)
            )
            lost.append(f"{node.name}: the gripper's freedom on the handle ({spans}); the link is where both are 0")
    if any(n.evidence is not None for n in tree.nodes.values()):
        lost.append("how well the joints are known: covariances, inliers, provenance")
    for node in tree.nodes.values():
        unknown = sorted(set(node.extra) - {"dynamics"})
        lost += [f"{node.name}: the field {key!r}" for key in unknown]
    lost += [f"the model's field {key!r}" for key in tree.extra]
    return links, lost


def _still(node: Node) -> Link:
    at_zero = node.pose(node.pack([np.zeros(())] * node.dof) if node.dof else ())
    return Link(node.name, node.parent, at_zero, node.name, shapes=shapes(node.marks(), inverse(node.child)))


def _moving(node: Node, taken: set[str]) -> list[Link]:
    primitives = node.primitives()
    last = primitives[-1]
    # Where the child frame stays on the axis, one link says both: its frame is the child's, the axis follows.
    fold = last.motion == "slide" or not node.child[:2, 3].any()
    links: list[Link] = []
    at, parent = node.origin, node.parent
    dynamics = _dynamics(node)
    drivers: dict[int, str] = {}
    for i, p in enumerate(primitives):
        final = i == len(primitives) - 1
        child = node.child if final and fold else np.eye(4)
        name = node.name if final and fold else _free_name(f"{node.name}__{i + 1}", taken)
        lower, upper = sorted(p.ratio * v for v in node.limits[p.coordinate])
        driver = drivers.get(p.coordinate)
        follower = f"{node.name}__{i + 1}"
        joint = node.coordinate_names[p.coordinate] if driver is None else _free_name(follower, taken)
        links.append(
            Link(
                name=name,
                parent=parent,
                origin=at @ child,
                joint=joint,
                motion=p.motion,
                axis=child[2, :3].copy(),
                lower=lower,
                upper=upper,
                mimic=None if driver is None else (driver, p.ratio),
                damping=dynamics.get("damping", 0.0),
                friction=dynamics.get("friction", 0.0),
                shapes=shapes(node.marks(), inverse(child)) if final else (),
            )
        )
        drivers.setdefault(p.coordinate, joint)
        at, parent = np.eye(4), name
    if not fold:
        links.append(Link(node.name, parent, node.child, _free_name(f"{node.name}__child", taken)))
    return links


def _free_name(wish: str, taken: set[str]) -> str:
    name, k = wish, 2
    while name in taken:
        name, k = f"{wish}_{k}", k + 1
    taken.add(name)
    return name


def _dynamics(node: Node) -> Mapping[str, float]:
    """Damping and friction, where a model carries them."""
    given = node.extra.get("dynamics")
    if not isinstance(given, Mapping):
        return {}
    return {k: float(v) for k, v in given.items() if isinstance(v, int | float) and v >= 0.0}


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    return repr(float(value) + 0.0)


def numbers(values: Array) -> str:
    """Numbers with a blank between."""
    return " ".join(number(v) for v in values)


def rpy(rotation: Array) -> Array:
    """Roll, pitch, yaw in radians of a rotation Rz(yaw)·Ry(pitch)·Rx(roll), accurate near gimbal lock too."""
    r = rotation
    yaw = np.arctan2(r[1, 0], r[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    # With the yaw taken off first, what remains defines the roll even where yaw and roll turn about one axis.
    roll = np.arctan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return np.array([roll, pitch, yaw])
