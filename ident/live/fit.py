"""The fit to a take that is still running: the same code as after it, on a sketch of the take."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fitting import FitFailure
from ident.identify import Unsolved, node_of, parent_frame, solve_node, tip_frame
from ident.joints.node import Node
from ident.joints.problems import ModelError
from ident.live.status import LiveFit
from ident.live.steps import step_fit
from ident.takes import TakeData
from ident.workflow.quality import Finding, QualityLimits, Verdict, refused
from ident.workflow.state import Result, State, Take

FEWEST = 12
"""Poses below which no fit is tried."""

STEADY_M = 0.002
"""Spread (m, or rad) of a held coordinate that counts as holding still."""


def live_fit(
    state: State,
    take: Take,
    running: TakeData,
    others: Mapping[int, TakeData],
    limits: QualityLimits,
    looks_like: str | None = None,
) -> LiveFit:
    """Fit what there is of a running take, together with the target's earlier takes.

    ``looks_like`` is the joint type that was found a moment ago; comparing them takes longer than fitting one.
    """
    try:
        return _live_fit(state, take, running, others, limits, looks_like)
    except (ArithmeticError, ValueError, KeyError, ModelError) as error:
        # A number that is shown must not end the take that it is about.
        return LiveFit("", refused(f"No fit yet: {error}."), samples=running.measured)


def _live_fit(
    state: State,
    take: Take,
    running: TakeData,
    others: Mapping[int, TakeData],
    limits: QualityLimits,
    looks_like: str | None,
) -> LiveFit:
    if running.measured < FEWEST:
        return LiveFit("", refused("Too few poses yet."), samples=running.measured)
    if not take.target.node:
        return step_fit(state, take, running)
    if take.target.purpose != "movement":
        return _held(state, take, running)
    now = replace(take, t1_ns=int(running.t_ns[-1]) + 1)
    seen = replace(state, takes=(*state.takes[:-1], now))
    solved = solve_node(seen, take.target.node, {**others, take.id: running}, limits, looks_like=looks_like)
    if isinstance(solved, FitFailure):
        verdict = solved.verdict if isinstance(solved, Unsolved) else refused(solved.reason)
        return LiveFit("", verdict, samples=running.measured)
    return replace(_of_node(solved.node, solved.verdict), looks_like=solved.looks_like)


def fit_of_result(result: Result) -> LiveFit:
    """Show a finished fit as a live one is shown."""
    try:
        return _of_node(node_of(result.model), result.verdict)
    except ValueError:
        return LiveFit(str(result.model.get("type", "")), result.verdict)


def _of_node(node: Node, verdict: Verdict) -> LiveFit:
    evidence = node.evidence
    if evidence is None:
        return LiveFit(node.kind, verdict, node=node)
    spans = {c.name: hi - lo for c, (lo, hi) in zip(node.coordinates, node.limits, strict=True)}
    return LiveFit(
        kind=node.kind,
        verdict=verdict,
        samples=evidence.samples,
        inliers=evidence.inliers,
        axis_std=evidence.axis_std if node.dof else math.nan,
        position_std=evidence.position_std if node.kind != "prismatic" else math.nan,
        arc=spans.get("turn", math.nan),
        travel=spans.get("slide", math.nan),
        node=node,
    )


def _held(state: State, take: Take, running: TakeData) -> LiveFit:
    """A joint that is held at one of its ends."""
    result = state.result(take.target.node)
    if result is None:
        return LiveFit("", refused("There is no fit to project onto."), samples=running.measured)
    joint = node_of(result.model)
    poses = np.linalg.inv(parent_frame(state, take)) @ running.tip(tip_frame(state))
    q = np.atleast_1d(joint.trace([poses]))
    turns = joint.coordinates[0].unit == "rad"
    at, spread = float(np.median(q)), float(np.percentile(q, 95) - np.percentile(q, 5))
    said = f"at {math.degrees(at):.2f}°" if turns else f"at {at * 1e3:.1f} mm"
    findings = () if spread < STEADY_M else (Finding("outliers", "It still moves.", "Hold it still."),)
    return LiveFit(
        kind=joint.kind,
        verdict=Verdict(said, findings),
        samples=running.measured,
        inliers=running.measured,
        arc=at if turns else math.nan,
        travel=math.nan if turns else at,
    )
