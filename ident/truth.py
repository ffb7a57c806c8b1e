"""Truth against identified: how far a model is from the object that it describes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting.se3 import Array
from ident.tree import KinematicTree

AXIS_GOAL_DEG = 1.0
POSITION_GOAL_MM = 5.0
"""Within these of the truth a robot's gripper opens the object without a fight."""


@dataclass(frozen=True)
class Row:
    """Truth against identified, of one joint or handle."""

    name: str
    kind: str
    axis_error_deg: float
    position_error_mm: float
    """NaN for prismatic joints, whose axis may lie anywhere."""
    limits: str
    truth: str

    @property
    def within(self) -> bool:
        """Whether the goals are met."""
        position = 0.0 if math.isnan(self.position_error_mm) else self.position_error_mm
        return self.axis_error_deg <= AXIS_GOAL_DEG and position <= POSITION_GOAL_MM


def compare(model: KinematicTree, truth: Mapping[str, Any]) -> tuple[Row, ...]:
    """Errors of each joint and handle of the truth, with every joint at its lower limit."""
    return tuple(_row(model, item) for item in (*truth["joints"], *truth["handles"]))


def _row(model: KinematicTree, item: Mapping[str, Any]) -> Row:
    name = item["name"]
    kind = item.get("type") or f"{item['dof']}-DoF handle"
    if name not in model.nodes:
        return Row(name, kind, math.inf, math.inf, "missing", "")
    node = model[name]
    frame = model.pose(node.parent) @ node.origin
    axis, point = np.asarray(item["axis"], dtype=float), np.asarray(item["point"], dtype=float)
    directed = "type" in item
    cosine = float(frame[:3, 2] @ axis)
    sine = float(np.linalg.norm(np.cross(frame[:3, 2], axis)))
    angle = math.degrees(math.atan2(sine, cosine if directed else abs(cosine)))
    position = math.nan if kind == "prismatic" else 1e3 * _distance(frame[:3, 3], point, axis)
    found = " ".join(_span(c.unit, hi - lo) for c, (lo, hi) in zip(node.coordinates, node.limits, strict=True))
    true = _span("m" if kind == "prismatic" else "rad", item["upper"] - item["lower"]) if directed else ""
    return Row(name, kind, angle, position, found, true)


def _distance(at: Array, point: Array, axis: Array) -> float:
    offset = at - point
    return float(np.linalg.norm(offset - (offset @ axis) * axis))


def _span(unit: str, value: float) -> str:
    return f"{math.degrees(value):.1f}°" if unit == "rad" else f"{value * 1e3:.1f} mm"
