"""The model's joints and handles as frames for the page, and as coordinates of measured poses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fitting import se3

ROOT = "root"
_ON_AXIS_M = 0.01
"""A tip nearer to the axis tells its angle by orientation, not by position."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """Joints, then handles, parents before their children."""

    entries: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> Self:
        """From a model file's content; entries without frame or with an unknown parent are left out."""
        waiting = [n for part in ("joints", "handles") for n in model.get(part) or () if _usable(n)]
        ordered: list[Mapping[str, Any]] = []
        known = {ROOT}
        while ready := [n for n in waiting if n.get("parent", ROOT) in known]:
            ordered += ready
            known |= {str(n["name"]) for n in ready}
            waiting = [n for n in waiting if n not in ready]
        return cls(tuple(ordered))

    def to_json(self, verdicts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Plain data for the page: 4×4 frames by rows, limits, evidence, verdict."""
        return [
            {
                "name": str(n["name"]),
                "type": str(n.get("type", "")),
                "parent": str(n.get("parent", ROOT)),
                "origin": _frame(n["origin"]).ravel().tolist(),
                "child": _frame(n.get("child")).ravel().tolist(),
                "limits": {key: list(pair) for key, pair in _limits(n).items()},
                "radius": float(n.get("radius_m") or 0.0),
                "evidence": _evidence(n.get("evidence")),
                "measured_at": self._measured_at(n),
                "verdict": verdicts.get(str(n["name"])),
            }
            for n in self.entries
        ]

    def has(self, name: str) -> bool:
        """Whether a joint or handle of this name is in the model."""
        return any(n["name"] == name for n in self.entries)

    def trace(self, name: str, tip2world: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Coordinates (n,) of tip poses (n, 4, 4) for each degree of freedom of a node; empty for unknown names."""
        node = next((n for n in self.entries if n["name"] == name), None)
        if node is None:
            return {}
        local = se3.inverse(self.origin2world(node)) @ tip2world
        curves = {}
        for key in _limits(node):
            curves[key] = local[:, 2, 3] if key == "slide" else _angles(local, _is_handle(node))
        return curves

    def origin2world(self, node: Mapping[str, Any]) -> NDArray[np.float64]:
        """The joint's frame where its ancestors stood while it was measured."""
        places = self._measured_at(node)
        at = np.eye(4)
        for ancestor in self._ancestors(node):
            name = ancestor["name"]
            turn, slide = places.get(f"{name}.turn", 0.0), places.get(f"{name}.slide", 0.0)
            motion = se3.frame(se3.rotation_z(turn), [0.0, 0.0, slide])
            at = at @ _frame(ancestor["origin"]) @ motion @ _frame(ancestor.get("child"))
        return at @ _frame(node["origin"])

    def _measured_at(self, node: Mapping[str, Any]) -> dict[str, float]:
        """Coordinates of the ancestors while a node was measured, as ``name.turn`` (rad) and ``name.slide`` (m).

        A model file calls the only coordinate of a joint by the joint's name alone.
        """
        told = (node.get("evidence") or {}).get("measured_at") or {}
        return {
            f"{ancestor['name']}.{key}": float(told.get(f"{ancestor['name']}.{key}", told.get(ancestor["name"], 0.0)))
            for ancestor in self._ancestors(node)
            for key in _limits(ancestor)
        }

    def _ancestors(self, node: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        by_name = {n["name"]: n for n in self.entries}
        way: list[Mapping[str, Any]] = []
        parent = node.get("parent", ROOT)
        while parent in by_name:
            way.insert(0, by_name[parent])
            parent = by_name[parent].get("parent", ROOT)
        return way


def _usable(node: Any) -> bool:
    return isinstance(node, Mapping) and "name" in node and isinstance(node.get("origin"), Mapping)


def _is_handle(node: Mapping[str, Any]) -> bool:
    return str(node.get("type", "")).startswith("handle")


def _limits(node: Mapping[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Limits by ``turn`` (rad) and ``slide`` (m)."""
    pairs = node.get("limits") or {}
    return {key.split("_")[0]: (pair[0], pair[1]) for key, pair in pairs.items() if key in ("turn_rad", "slide_m")}


def _frame(data: Mapping[str, Any] | None) -> NDArray[np.float64]:
    if data is None:
        return np.eye(4)
    if data.get("quaternion_xyzw"):
        q = np.array(data["quaternion_xyzw"], dtype=float)
        return se3.frame(se3.rotation_from_quaternion(q / np.linalg.norm(q)), data["position_m"])
    return se3.frame(se3.complete_axis(data["axis"], data.get("x_axis")), data["position_m"])


def _angles(local: NDArray[np.float64], by_heading: bool) -> NDArray[np.float64]:
    """Unwrapped turn about z of poses in the joint's frame."""
    distance = np.hypot(local[:, 0, 3], local[:, 1, 3])
    if by_heading or np.median(distance) < _ON_AXIS_M:
        angles = np.arctan2(local[:, 1, 0] - local[:, 0, 1], local[:, 0, 0] + local[:, 1, 1])
    else:
        angles = np.arctan2(local[:, 1, 3], local[:, 0, 3])
    return np.unwrap(angles)


def _evidence(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, Mapping):
        return None
    numbers = ("samples", "inliers", "takes", "rms_m", "noise_m", "axis_std_rad", "position_std_m")
    found: dict[str, Any] = {key: float(data[key]) for key in numbers if isinstance(data.get(key), int | float)}
    return {**found, "method": str(data.get("method", "")), "grip": str(data.get("grip", ""))}
