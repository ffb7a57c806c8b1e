"""Where a model stands in the world: three marked points tie its root to the object, and are measured again later."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibration import ProbedPoint, Registration, Tip, probe_point, register_again, register_by_points
from calibration.result import CalibrationFailure
from fitting.se3 import Array, inverse
from ident.identify import build_tree
from ident.joints.problems import ModelError
from ident.tree import ROOT, KinematicTree
from ident.workflow.quality import Verdict
from ident.workflow.state import PLACE, State

PLACEMENT = "placement"
"""Field of the model file that holds it."""
ENOUGH_POSES = 150
"""Poses of a touched point: a little over a second at 120 Hz."""


def marked_points(tree: KinematicTree) -> Array | None:
    """Marked points (k, 3) in the root frame, metres; None where the model has none."""
    placement = tree.extra.get(PLACEMENT)
    if placement is None:
        return None
    points = np.asarray(placement.get("points_m", []), dtype=float)
    if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 3 or not np.isfinite(points).all():
        raise ModelError(f"{tree.name}: placement.points_m must hold at least three points of three numbers.")
    return points


def place(
    tree: KinematicTree, points: Sequence[ProbedPoint]
) -> tuple[KinematicTree, Registration] | CalibrationFailure:
    """Place a model by its marked points as they were probed now.

    A model without marks gets a new root: its origin at the first point, x towards the second, y on the side of the
    third; its joints, measured in the world, are expressed in that root.
    """
    marks = marked_points(tree)
    if marks is None:
        registration = register_by_points(points)
        if isinstance(registration, CalibrationFailure):
            return registration
        return placed_first(tree, _record(registration)), registration
    registration = register_again(marks, points)
    if isinstance(registration, CalibrationFailure):
        return registration
    return replace(tree, extra={**tree.extra, PLACEMENT: _record(registration)}), registration


def placed_first(tree: KinematicTree, placement: Mapping[str, Any]) -> KinematicTree:
    """A model that was measured in the world, expressed in the root that its marked points define."""
    moved = moved_root(tree, inverse(np.asarray(placement["root2world"], dtype=float)))
    return replace(moved, extra={**tree.extra, PLACEMENT: dict(placement)})


def probed(poses: Array, tip: Tip) -> ProbedPoint | CalibrationFailure:
    """The point on which the tip rested at the end of a take; poses (n, 4, 4) body-to-world."""
    return probe_point(poses[-ENOUGH_POSES:], tip)


def solve_place(points: Sequence[Array], tip: Tip) -> tuple[dict[str, Any], Verdict] | str:
    """Where the model's root is, from the poses (n, 4, 4) of three touched points, or why it cannot be said."""
    found = []
    for number, poses in enumerate(points, 1):
        point = probed(poses, tip)
        if isinstance(point, CalibrationFailure):
            return f"Point {number}: {point.reason}"
        found.append(point)
    registration = register_by_points(found)
    if isinstance(registration, CalibrationFailure):
        return registration.reason
    return _record(registration), Verdict(registration.verdict)


def finished_model(state: State) -> KinematicTree:
    """The model of everything that was accepted, on its marked points where such were touched."""
    tree = build_tree(state, accepted_only=True)
    placement = state.step(PLACE).record
    return tree if placement is None else placed_first(tree, placement)


def moved_root(tree: KinematicTree, old2new: Array) -> KinematicTree:
    """The same object with its root elsewhere: what hangs on the root is expressed in the new one."""

    def moved(node: Any) -> Any:
        if node.parent != ROOT:
            return node
        turned = replace(node, origin=old2new @ node.origin)
        return turned if node.evidence is None else turned.with_evidence(**_moved_evidence(node.evidence, old2new))

    return replace(tree, joints=tuple(moved(j) for j in tree.joints), handles=tuple(moved(h) for h in tree.handles))


def _moved_evidence(evidence: Any, old2new: Array) -> dict[str, Any]:
    rotation = old2new[:3, :3]
    changes: dict[str, Any] = {"point": rotation @ evidence.point + old2new[:3, 3]}
    if evidence.basis is not None:
        changes["basis"] = evidence.basis @ rotation.T
    elif evidence.covariance is not None and evidence.covariance.shape == (6, 6):
        both = np.kron(np.eye(2), rotation)
        changes["covariance"] = both @ evidence.covariance @ both.T
    return changes


def in_world(tree: KinematicTree) -> KinematicTree:
    """The model with its root at the world's origin, as it is placed now."""
    placement = tree.extra.get(PLACEMENT)
    if placement is None:
        return tree
    extra = {key: value for key, value in tree.extra.items() if key != PLACEMENT}
    return replace(moved_root(tree, np.asarray(placement["root2world"], dtype=float)), extra=extra)


def _record(registration: Registration) -> dict[str, Any]:
    return {
        "root2world": registration.root2world.tolist(),
        "covariance": registration.covariance.tolist(),
        "points_m": registration.points.tolist(),
        "verdict": registration.verdict,
    }
