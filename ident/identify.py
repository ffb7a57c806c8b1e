"""From takes to a calibrated tip, to joints and handles, to a tree: pure, so that a replay gives the same."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibration import CalibrationFailure, Tip, tip_by_two_rotations
from fitting import FitFailure
from fitting.circling import circling_point
from fitting.se3 import Array, frame, inverse
from ident.handles import Handle, handle_types
from ident.joints import Joint, joint_types
from ident.joints.node import Node as ModelNode
from ident.likeliest import Guess, likeliest
from ident.model.convert import node_from_data, node_to_data
from ident.model.schema import NodeData
from ident.observing import farthest_off, observe, observe_unfitted
from ident.systematic import SEAT, widened
from ident.takes import TakeData
from ident.tree import KinematicTree
from ident.workflow.assess import assess
from ident.workflow.plan import ROOT
from ident.workflow.plan import Node as PlannedNode
from ident.workflow.quality import QualityLimits, Verdict
from ident.workflow.state import CALIBRATION, State, Take, Target

SEED = 7
"""Fixed, so that the same takes give the same model; recorded with the session's settings."""


@dataclass(frozen=True)
class Solution:
    """A fitted joint or handle."""

    node: ModelNode
    verdict: Verdict
    takes: tuple[int, ...]
    ended_at: float
    looks_like: str = ""
    """The joint type that explains the takes best, where they tell."""


@dataclass(frozen=True)
class Unsolved(FitFailure):
    """Takes to which nothing could be fitted, and what was wrong with them."""

    verdict: Verdict


def tip_frame(state: State) -> Array:
    """tip2body of the present calibration; the body's own frame where calibration was skipped."""
    if state.calibration is None:
        return np.eye(4)
    return frame(state.calibration["rotation"], state.calibration["offset_m"])


def solve_calibration(state: State, data: Mapping[int, TakeData]) -> tuple[dict[str, Any], Verdict] | str:
    """Tip calibration from the latest of both movements, or why there is none."""
    turns = []
    for target in CALIBRATION:
        takes = state.used_takes(target)
        if not takes:
            return f"The movement {target.purpose.replace('_', ' ')} is missing."
        turns.append(data[takes[-1].id].poses)
    tip = tip_by_two_rotations(*turns, seat=SEAT, rng=np.random.default_rng(SEED))
    if isinstance(tip, CalibrationFailure):
        return tip.reason
    return calibration_record(tip), Verdict(tip.verdict)


def calibration_record(tip: Tip) -> dict[str, Any]:
    """A tip as plain data, for the event log."""
    return {
        "method": tip.method,
        "offset_m": tip.offset.tolist(),
        "rotation": np.eye(3).tolist() if tip.rotation is None else tip.rotation.tolist(),
        "covariance": tip.covariance.tolist(),
        "position_std_m": tip.position_std,
        "verdict": tip.verdict,
        "details": dict(tip.details),
    }


def tip_of(record: Mapping[str, Any]) -> Tip:
    """Inverse of :func:`calibration_record`."""
    return Tip(
        method=record["method"],
        offset=np.array(record["offset_m"]),
        rotation=np.array(record["rotation"]),
        covariance=np.array(record["covariance"]),
        verdict=record["verdict"],
        inliers=(),
        details=dict(record["details"]),
    )


def node_record(node: ModelNode) -> dict[str, Any]:
    """A joint or handle as plain data of the model file, for the event log."""
    return node_to_data(node)


def node_of(record: Mapping[str, Any]) -> Joint | Handle:
    """Inverse of :func:`node_record`; ValueError where the record is damaged."""
    data = NodeData.model_validate(record)
    node, problems = node_from_data(data, joint_types() if data.type in joint_types() else handle_types())
    if problems or not isinstance(node, Joint | Handle):
        raise ValueError(f"the session holds a damaged joint: {'; '.join(p.message for p in problems)}")
    return node


def build_tree(state: State, *, accepted_only: bool = False) -> KinematicTree:
    """Tree of the results that are there, each measured in the frame of its parent."""
    tree = KinematicTree(state.plan.name)
    for planned in state.plan.depth_first():
        result = state.result(planned.name)
        measured = planned.parent == ROOT or planned.parent in tree.nodes
        if result is not None and measured and (result.accepted or not accepted_only):
            tree = tree.with_node(node_of(result.model))
    return tree


def solve_node(
    state: State,
    name: str,
    data: Mapping[int, TakeData],
    limits: QualityLimits,
    noise: float | None = None,
    looks_like: str | None = None,
) -> Solution | FitFailure:
    """Fit a joint or handle to all its used takes, each seen from its parent link where that stood.

    ``looks_like`` saves comparing the joint types, where that was done a moment ago.
    """
    planned = state.plan.node(name)
    takes = state.used_takes(Target("movement", name))
    if not takes:
        return FitFailure(f"{name} has no take. Measure it first.")
    tree = build_tree(state)
    tip2body = tip_frame(state)
    seen = [inverse(_parent_frame(tree, planned, dict(t.places))) @ data[t.id].tip(tip2body) for t in takes]
    measured = [data[t.id] for t in takes]
    tip_known = state.calibration is not None
    options = _options(planned, _seat(state, limits))
    # What is fitted first need not be fitted again to be compared.
    first = _fit(planned, planned.kind, seen, noise, options) if planned.kind != "auto" and tip_known else None
    kind, best, probability = _kind(planned, seen, looks_like, {} if noise else _fit_of(first))
    if kind == "rotary" and not tip_known:
        tip2point = _found_tip(seen)
        tip2body, seen = tip2body @ tip2point, [take @ tip2point for take in seen]
    fitted = _fit(planned, kind, seen, noise, options) if first is None else first
    if isinstance(fitted, FitFailure):
        unfitted = observe_unfitted(kind, measured, seen, fitted.reason, tip_known=tip_known)
        return Unsolved(fitted.reason, assess(unfitted, limits))
    if (
        best not in ("", kind)
        and tip_known
        and _strays(_fit(planned, best, seen, noise, options), measured, seen, limits)
    ):
        best = ""
    node = widened(_limits_by_hand(state, fitted, tree, planned, data, tip2body), seen, limits, _tip_doubt(state))
    last = node.trace([seen[-1]])
    observed = observe(node, measured, seen, best, tip_known=tip_known)
    observed = replace(observed, found_out=planned.kind == "auto", probability=probability)
    assessed = assess(observed, limits)
    return Solution(
        node=node.with_evidence(
            measured_at=_configuration(tree, dict(takes[-1].places)),
            source={"takes": [t.id + 1 for t in takes], "verdict": assessed.summary},
        ),
        verdict=assessed,
        takes=tuple(t.id for t in takes),
        ended_at=float(last[-1]) if node.dof == 1 and len(last) else 0.0,
        looks_like=best or (node.kind if planned.kind == "auto" else ""),
    )


def _tip_doubt(state: State) -> Array | None:
    """Covariance (3, 3) of the calibrated tip in its own frame, m²; None where it was not calibrated or not stated."""
    if state.calibration is None or "covariance" not in state.calibration:
        return None
    rotation = np.array(state.calibration["rotation"])
    return np.asarray(rotation.T @ np.array(state.calibration["covariance"])[:3, :3] @ rotation)


def _found_tip(seen: Sequence[Array]) -> Array:
    """Where the tip is, as far as the takes of a rotary joint tell: a grip that turns in the hand turns about it."""
    point = circling_point(list(seen))
    return np.eye(4) if isinstance(point, FitFailure) else frame(None, point)


def _seat(state: State, limits: QualityLimits) -> float | None:
    """Standard deviation (m), each way, of the tip's distance from the middle of what it grips, where it is known."""
    doubt = _tip_doubt(state)
    if doubt is None:
        return None
    return math.hypot(1e-3 * limits.seat_mm, math.sqrt(float(np.trace(doubt)) / 3.0)) or None


def _fit(
    planned: PlannedNode, kind: str, seen: Sequence[Array], noise: float | None, options: Mapping[str, Any]
) -> ModelNode | FitFailure:
    fitted: ModelNode | FitFailure = {**joint_types(), **handle_types()}[kind].fit(
        seen,
        name=planned.name,
        parent=planned.parent,
        noise=noise,
        rng=np.random.default_rng(SEED),
        **options,
    )
    return fitted


def _strays(
    other: ModelNode | FitFailure, takes: Sequence[TakeData], seen: Sequence[Array], limits: QualityLimits
) -> bool:
    """Whether another type does not explain the whole movement either: then it is not proposed."""
    return isinstance(other, FitFailure) or farthest_off(other, takes, seen) * 1e3 > limits.max_off_path_mm


def parent_frame(state: State, take: Take) -> Array:
    """parent2root where the ancestors of a joint or handle stood while a take of it was made."""
    return _parent_frame(build_tree(state), state.plan.node(take.target.node), dict(take.places))


def _parent_frame(tree: KinematicTree, planned: PlannedNode, places: Mapping[str, str | float]) -> Array:
    """parent2root while the take was made."""
    if planned.parent == ROOT:
        return np.eye(4)
    return tree.pose(planned.parent, _configuration(tree, places), check_limits=False)


def _configuration(tree: KinematicTree, places: Mapping[str, str | float]) -> dict[str, float]:
    q: dict[str, float] = {}
    for name, at in places.items():
        if name in tree.limits:
            lower, upper = tree.limits[name]
            q[name] = {"lower": lower, "upper": upper}[at] if isinstance(at, str) else at
    return q


def _fit_of(node: ModelNode | FitFailure | None) -> dict[str, Any]:
    """The result of the fitter behind a node, by the node's type; none where there is none."""
    if node is None or isinstance(node, FitFailure) or node.evidence is None:
        return {}
    return {node.kind: node.evidence.fit}


def _kind(
    planned: PlannedNode, seen: Sequence[Array], looks_like: str | None, known: Mapping[str, Any]
) -> tuple[str, str, float]:
    """Type to fit, what the data look like where that was not asked for, and the probability of what they look like.

    known: fits that are there already, by their joint type.
    """
    if planned.is_handle:
        return planned.kind, "", math.nan
    guess = likeliest(seen, np.random.default_rng(SEED), known) if looks_like is None else Guess(looks_like, {})
    kind = (guess.kind or "rotary") if planned.kind == "auto" else planned.kind
    return kind, "" if planned.kind == "auto" else guess.kind, guess.probabilities.get(guess.kind or kind, math.nan)


def _options(planned: PlannedNode, seat: float | None) -> dict[str, Any]:
    """What a handle is told beside its takes; one that allows no movement does not ask where its axis is."""
    if not planned.is_handle:
        return {}
    movable = bool(handle_types()[planned.kind].coordinates)
    return {"radius_m": planned.radius_m or 0.0, **({"seat_m": seat} if movable else {})}


def _limits_by_hand(
    state: State,
    node: ModelNode,
    tree: KinematicTree,
    planned: PlannedNode,
    data: Mapping[int, TakeData],
    tip2body: Array,
) -> ModelNode:
    """Replace the limits by those that were held by hand: the averaged position projected onto the joint."""
    if node.dof != 1:
        return node
    ends: list[float] = []
    for purpose, index in (("lower_limit", 0), ("upper_limit", 1)):
        held = state.used_takes(Target(purpose, planned.name))
        if not held:
            return node
        parent2root = _parent_frame(tree, planned, dict(held[-1].places))
        poses = inverse(parent2root) @ data[held[-1].id].tip(tip2body)
        ends.append(float(np.median(node.trace([poses]))) if len(poses) else node.limits[0][index])
    lower, upper = sorted(ends)
    return node.with_limits(lower, upper)
