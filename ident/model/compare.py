"""Two models of one object, joint by joint."""

import math
from dataclasses import dataclass

import numpy as np

from ident.joints.node import Node
from ident.tree import KinematicTree


@dataclass(frozen=True)
class Difference:
    """How a joint or handle of one model differs from that of the same name in another."""

    name: str
    remark: str = ""
    """What cannot be said in numbers: missing on one side, another type, another parent."""
    axis: float = float("nan")
    """Angle between the axes in root at q = 0, radians."""
    position: float = float("nan")
    """Distance between the axes at the first one's origin, metres; NaN for prismatic joints, whose axis may lie
    anywhere. For frames without an axis, the distance of their origins."""
    sigmas: float = float("nan")
    """Axis angle in standard deviations of both fits together, where they are known."""
    limits: tuple[tuple[str, str, float, float], ...] = ()
    """For each coordinate its name, its unit, and how lower and upper differ: second minus first."""


def compare(first: KinematicTree, second: KinematicTree) -> list[Difference]:
    """List the differences of all joints and handles of both models."""
    found = []
    for name in dict.fromkeys([*first.nodes, *second.nodes]):
        a, b = first.nodes.get(name), second.nodes.get(name)
        if a is None or b is None:
            found.append(Difference(name, f"only in the {'second' if a is None else 'first'}"))
        elif a.kind != b.kind:
            found.append(Difference(name, f"{a.kind} in the first, {b.kind} in the second"))
        else:
            found.append(_difference(first, second, a, b))
    return found


def _difference(first: KinematicTree, second: KinematicTree, a: Node, b: Node) -> Difference:
    frame_a = first.pose(a.parent, {}, check_limits=False) @ a.origin
    frame_b = second.pose(b.parent, {}, check_limits=False) @ b.origin
    z, other = frame_a[:3, 2], frame_b[:3, 2]
    angle = float(np.arctan2(np.linalg.norm(np.cross(z, other)), z @ other))
    between = frame_a[:3, 3] - frame_b[:3, 3]
    if not a.dof:
        position = float(np.linalg.norm(between))
    elif {p.motion for p in a.primitives()} == {"slide"}:
        position = float("nan")
    else:
        position = float(np.linalg.norm(between - (between @ other) * other))
    std = math.hypot(*(n.evidence.axis_std if n.evidence is not None else 0.0 for n in (a, b)))
    return Difference(
        name=a.name,
        remark="" if a.parent == b.parent else f"on {a.parent} in the first, on {b.parent} in the second",
        axis=angle,
        position=position,
        sigmas=float(angle / std) if std > 0.0 else float("nan"),
        limits=tuple(
            (c.name, c.unit, _minus(hb[0], ha[0]), _minus(hb[1], ha[1]))
            for c, ha, hb in zip(a.coordinates, a.limits, b.limits, strict=True)
        ),
    )


def _minus(a: float, b: float) -> float:
    return 0.0 if a == b else a - b
