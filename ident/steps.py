"""From the takes of a calibration to what it says: tip, weight or place. Pure, so that a replay gives the same."""

from collections.abc import Mapping
from typing import Any

from calibration import STANDARD_GRAVITY
from ident.identify import solve_calibration, tip_of
from ident.placing import solve_place
from ident.takes import TakeData
from ident.weighing import solve_weight
from ident.workflow import events as ev
from ident.workflow.quality import Verdict
from ident.workflow.state import PLACE, STEPS, TIP, State


def solve_step(state: State, what: str, data: Mapping[int, TakeData]) -> tuple[dict[str, Any], Verdict] | str:
    """Compute a calibration from the latest take of each of its targets, or say why there is none."""
    if what == TIP:
        return solve_calibration(state, data)
    latest = []
    for target in STEPS[what]:
        takes = state.used_takes(target)
        if not takes:
            return f"The take of {target.purpose.replace('_', ' ')} is missing."
        latest.append(data[takes[-1].id])
    if what != PLACE:
        return solve_weight(latest[0], state.gravity or STANDARD_GRAVITY)
    if state.calibration is None:
        return "Points are touched with a calibrated tip, and there is none. Go back to calibrate it, or skip."
    return solve_place([take.poses for take in latest], tip_of(state.calibration))


def calibrated_event(state: State, what: str, work: int, data: Mapping[int, TakeData], t_ns: int = 0) -> ev.Event:
    """Compute a calibration and say so as the workstation does."""
    solved = solve_step(state, what, data)
    if isinstance(solved, str):
        return ev.Failed(t_ns=t_ns, work=work, reason=solved)
    record, verdict = solved
    return ev.Calibrated(t_ns=t_ns, work=work, calibration=record, verdict=verdict.to_dict(), what=what, anew=True)
