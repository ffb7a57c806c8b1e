"""A calibration that is still running: how far it has come, and what is missing."""

import math

import numpy as np

from calibration import STANDARD_GRAVITY, coverage
from calibration.registration import REGISTRATION_LIMITS
from calibration.tip import TipLimits
from fitting import FitFailure
from ident.identify import SEED, tip_frame
from ident.joints import Rotary
from ident.live.status import SIDES, LiveFit
from ident.placing import ENOUGH_POSES
from ident.takes import TakeData
from ident.weighing import holds_in
from ident.workflow.quality import Finding, Verdict, refused
from ident.workflow.state import TIP, WEIGHT, State, Take, step_of


def step_fit(state: State, take: Take, running: TakeData) -> LiveFit:
    """What there is by now of a take of a calibration."""
    match step_of(take.target):
        case name if name == TIP:
            return _turned(running)
        case name if name == WEIGHT:
            return _weighed(state, running)
        case _:
            return _touched(state, running)


def _turned(running: TakeData) -> LiveFit:
    """One of the two turns that calibrate the tip."""
    turn = Rotary.fit([running.poses], name="tip", parent="root", rng=np.random.default_rng(SEED))
    if isinstance(turn, FitFailure) or turn.evidence is None:
        return LiveFit("", refused(getattr(turn, "reason", "No turn yet.")), samples=running.measured)
    needed = 2.0 * TipLimits().min_turn
    arc = turn.upper - turn.lower
    findings: tuple[Finding, ...] = ()
    if arc < needed:
        what = f"Turned by {math.degrees(arc):.0f}°; {math.degrees(needed):.0f}° are needed."
        findings = (Finding("short_arc", what, "Turn it further."),)
    return LiveFit(
        kind=turn.kind,
        verdict=Verdict(f"{math.degrees(arc):.0f}° of turn", findings),
        samples=turn.evidence.samples,
        inliers=turn.evidence.inliers,
        axis_std=turn.evidence.axis_std,
        position_std=turn.evidence.position_std,
        arc=arc,
        arc_goal=needed,
    )


def _weighed(state: State, running: TakeData) -> LiveFit:
    """The gripper in the air: which of its sides have pointed down, named by its own axes where they are known."""
    holds = holds_in(running)
    tip2body = tip_frame(state)[:3, :3]
    seen = coverage([hold.rotation @ tip2body for hold in holds], gravity=state.gravity or STANDARD_GRAVITY)
    said = f"{len(seen.seen)} of {SIDES} sides, {len(holds)} holds"
    findings = () if seen.complete else (Finding("few_sides", f"{said}.", "Hold another side down for a second."),)
    return LiveFit("weight", Verdict(said, findings), samples=running.measured, sides=float(len(seen.seen)))


def _touched(state: State, running: TakeData) -> LiveFit:
    """The tip on a point: long enough, and at rest."""
    at = running.tip(tip_frame(state))[:, :3, 3]
    spread = float(np.linalg.norm(np.percentile(at, 95, axis=0) - np.percentile(at, 5, axis=0)))
    findings: tuple[Finding, ...] = ()
    if spread > REGISTRATION_LIMITS.max_drift:
        findings = (Finding("outliers", f"The tip moves by {spread * 1e3:.1f} mm.", "Rest it on the point."),)
    elif running.samples < ENOUGH_POSES:
        findings = (Finding("few_samples", "Too short yet.", "Hold it there."),)
    return LiveFit("point", Verdict(f"within {spread * 1e3:.1f} mm", findings), samples=running.measured)
