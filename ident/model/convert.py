"""Between nodes of a tree and their data in a file."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from fitting.se3 import Array, frame, rotation_from_quaternion
from ident.handles import Handle
from ident.joints import Evidence, Joint
from ident.joints.frames import cross
from ident.joints.node import Node
from ident.joints.problems import Problem
from ident.model.schema import LARGEST, EvidenceData, FrameData, NodeData

_COMMON = {f.name for f in fields(Node)}
_PARTS = ("origin", "child", "evidence")


def frame_to_data(child2parent: Array) -> dict[str, Any]:
    """Write a frame as its position, z-axis and x-axis: exact, and readable by a person."""
    return {
        "position_m": child2parent[:3, 3].tolist(),
        "axis": child2parent[:3, 2].tolist(),
        "x_axis": child2parent[:3, 0].tolist(),
    }


def frame_from_data(data: FrameData) -> Array:
    """Read a frame."""
    if data.axis is None:
        q = np.array(data.quaternion_xyzw)
        return frame(rotation_from_quaternion(q / np.linalg.norm(q)), data.position_m)
    z, x = np.array(data.axis), np.array(data.x_axis)
    # Digits that are right to rounding stay as they are, so that saving and loading changes nothing.
    if abs(z @ z - 1.0) > 1e-14:
        z = z / np.linalg.norm(z)
    if abs(x @ x - 1.0) > 1e-14 or abs(x @ z) > 1e-14:
        x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
    return frame(np.stack([x, cross(z, x), z], axis=-1), data.position_m)


def node_to_data(node: Node) -> dict[str, Any]:
    """Write a joint or handle."""
    data: dict[str, Any] = {"name": node.name, "type": node.kind, "parent": node.parent}
    data["origin"] = frame_to_data(node.origin)
    if not np.array_equal(node.child, np.eye(4)):
        data["child"] = frame_to_data(node.child)
    if node.dof:
        data["limits"] = {
            f"{c.name}_{c.unit}": [float(v) if np.isfinite(v) else None for v in pair]
            for c, pair in zip(node.coordinates, node.limits, strict=True)
        }
    for f in fields(node):
        if f.name not in _COMMON:
            data[f.name] = getattr(node, f.name)
    if node.evidence is not None:
        data["evidence"] = _evidence_to_data(node.evidence)
    for key, value in node.extra.items():
        # Unknown fields inside a known part were kept under the part's name.
        data[key] = {**data[key], **value} if key in data and key in _PARTS else value
    return data


def node_from_data(
    data: NodeData, types: Mapping[str, type[Joint]] | Mapping[str, type[Handle]]
) -> tuple[Any, list[Problem]]:
    """Read a joint or handle: the node, or None with what is wrong; places are relative to the entry."""
    cls: type[Node] | None = types.get(data.type)
    if cls is None:
        return None, [Problem("type", f"{data.type!r} is no known type; known are: {', '.join(sorted(types))}")]
    problems: list[Problem] = []
    limits = _limits(cls, data, problems)
    extra = dict(data.model_extra or {})
    for key in _PARTS:
        part = getattr(data, key)
        if part is not None and part.model_extra:
            extra[key] = dict(part.model_extra)
    own: dict[str, Any] = {}
    for f in fields(cls):
        if f.name in _COMMON:
            continue
        if f.name in extra:
            value = extra.pop(f.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
                problems.append(Problem(f.name, f"{str(value)[:40]!r} is not a number up to {LARGEST:g}"))
            else:
                own[f.name] = float(value)
        elif f.default is MISSING:
            problems.append(Problem(f.name, f"is missing; every {cls.kind} has it"))
    if problems:
        return None, problems
    node = cls(
        name=data.name,
        parent=data.parent,
        origin=frame_from_data(data.origin),
        child=np.eye(4) if data.child is None else frame_from_data(data.child),
        limits=limits,
        evidence=None if data.evidence is None else _evidence_from_data(data.evidence),
        extra=extra,
        **own,
    )
    return node, [Problem("", text) for text in node.problems()]


def _limits(cls: type[Node], data: NodeData, problems: list[Problem]) -> tuple[tuple[float, float], ...]:
    keys = [f"{c.name}_{c.unit}" for c in cls.coordinates]
    for key in data.limits:
        if key not in keys:
            expected = f"it has {', '.join(keys)}" if keys else "it does not move"
            problems.append(Problem(f"limits/{key}", f"no such coordinate of a {cls.kind}; {expected}"))
    pairs = []
    for key in keys:
        if key not in data.limits:
            problems.append(Problem("limits", f"{key} is missing: [lower, upper], null where there is no stop"))
            continue
        low, high = data.limits[key]
        pairs.append((-np.inf if low is None else low, np.inf if high is None else high))
    return tuple(pairs)


def _evidence_to_data(e: Evidence) -> dict[str, Any]:
    data: dict[str, Any] = {
        "method": e.method,
        "samples": e.samples,
        "inliers": e.inliers,
        "takes": e.takes,
        "grip": e.grip,
        "rms_m": e.rms,
        "noise_m": e.noise,
        "axis_std_rad": e.axis_std,
        "position_std_m": e.position_std,
        "point_m": e.point.tolist(),
    }
    if e.basis is not None:
        data["basis"] = e.basis.tolist()
    if e.covariance is not None:
        data["covariance"] = e.covariance.tolist()
    data["measured_at"] = dict(e.measured_at)
    data["source"] = dict(e.source)
    return data


def _evidence_from_data(data: EvidenceData) -> Evidence:
    return Evidence(
        method=data.method,
        samples=data.samples,
        inliers=data.inliers,
        takes=data.takes,
        grip=data.grip,
        rms=data.rms_m,
        noise=data.noise_m,
        axis_std=data.axis_std_rad,
        position_std=data.position_std_m,
        point=np.array(data.point_m),
        basis=None if data.basis is None else np.array(data.basis),
        covariance=None if data.covariance is None else np.array(data.covariance),
        measured_at=dict(data.measured_at),
        source=dict(data.source),
    )
