"""Recorded measurements computed again: exactly as they were (replay), or with today's algorithms (refit)."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from fitting import FitFailure
from ident.identify import Unsolved, node_record, solve_node
from ident.steps import calibrated_event, solve_step
from ident.takes import TakeData
from ident.workflow import events as ev
from ident.workflow.quality import QualityLimits, Verdict, refused
from ident.workflow.state import STEPS, Result, State, step_of
from ident.workflow.walk import with_result

ANSWERS = (ev.Calibrated, ev.Fitted, ev.Failed)
"""Events in which the workstation says what it calculated."""


def answered_again(recorded: ev.Event, state: State, data: Mapping[int, TakeData], limits: QualityLimits) -> ev.Event:
    """Compute anew what the workstation once answered; events of operator and devices stay as they are."""
    if isinstance(recorded, ev.Calibrated):
        again = calibrated_event(state, recorded.what, recorded.work, data, recorded.t_ns)
        return replace(again, anew=recorded.anew) if isinstance(again, ev.Calibrated) else again
    if isinstance(recorded, ev.Failed) and state.waiting == "calibration":
        return calibrated_event(state, step_of(state.target), recorded.work, data, recorded.t_ns)
    if isinstance(recorded, ev.Fitted | ev.Failed):
        node = recorded.node if isinstance(recorded, ev.Fitted) else (state.target.node if state.target else "")
        return fitted_event(state, node, recorded.work, data, limits, recorded.t_ns) if node else recorded
    return recorded


def along_the_record(recorded: ev.Event, again: ev.Event) -> tuple[ev.Event, str]:
    """The new answer so that the measurement goes on as it did then, and what differs about it (empty: nothing).

    What the operator did next was an answer to the recorded verdict. Where today's verdict would ask for something
    else, the recorded one leads on, so that every take still finds its place.
    """
    if not isinstance(recorded, ANSWERS):
        return again, ""
    then, now = _said(recorded), _said(again)
    if type(again) is type(recorded) and then.advice == now.advice:
        return again, ""
    what = getattr(recorded, "node", "") or getattr(again, "node", "") or "calibration"
    differs = f"{what}: recorded was '{_words(then)}', today it is '{_words(now)}'"
    if isinstance(recorded, ev.Failed) or type(again) is not type(recorded):
        return recorded, differs
    return replace(again, verdict=recorded.verdict), differs


def _said(event: ev.Event) -> Verdict:
    said = getattr(event, "verdict", None)
    return Verdict.from_dict(said) if said else refused(getattr(event, "reason", ""))


def _words(verdict: Verdict) -> str:
    return verdict.summary if verdict.good else verdict.findings[0].message


def fitted_event(
    state: State, node: str, work: int, data: Mapping[int, TakeData], limits: QualityLimits, t_ns: int = 0
) -> ev.Event:
    """Fit a node and say so as the workstation does."""
    solved = solve_node(state, node, data, limits)
    if isinstance(solved, Unsolved):
        return ev.Failed(t_ns=t_ns, work=work, reason=solved.reason, verdict=solved.verdict.to_dict())
    if isinstance(solved, FitFailure):
        return ev.Failed(t_ns=t_ns, work=work, reason=solved.reason)
    return ev.Fitted(
        t_ns=t_ns,
        work=work,
        node=node,
        takes=solved.takes,
        model=node_record(solved.node),
        verdict=solved.verdict.to_dict(),
        ended_at=solved.ended_at,
    )


def refit(
    state: State,
    data: Mapping[int, TakeData],
    limits: QualityLimits,
    *,
    types: Mapping[str, str] | None = None,
    noise: float | None = None,
    nodes: Collection[str] | None = None,
) -> State:
    """Compute calibration and nodes again from the takes that counted in the end: those accepted, or those named."""
    plan = state.plan
    for node, kind in (types or {}).items():
        plan = plan.with_kind(node, kind)
    wanted = {r.node for r in state.results if r.accepted} if nodes is None else nodes
    state = replace(state, plan=plan, results=())
    for name, targets in STEPS.items():
        solved = solve_step(state, name, data) if all(state.used_takes(target) for target in targets) else ""
        if not isinstance(solved, str):
            state = state.with_step(name, record=solved[0], verdict=solved[1])
    for planned in plan.depth_first():
        if planned.name not in wanted:
            continue
        solution = solve_node(state, planned.name, data, limits, noise)
        if isinstance(solution, FitFailure):
            state = replace(state, verdict=refused(f"{planned.name}: {solution.reason}"))
            continue
        state = with_result(
            state,
            Result(
                planned.name,
                solution.takes,
                node_record(solution.node),
                solution.verdict,
                solution.ended_at,
                accepted=True,
            ),
        )
    return state
