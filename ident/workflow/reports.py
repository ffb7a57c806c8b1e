"""How the measurement takes what the workstation reports."""

from dataclasses import replace

from ident.workflow import events as ev
from ident.workflow.quality import Verdict, refused
from ident.workflow.state import PLACE, STEPS, TIP, Phase, Result, State, Target, step_of
from ident.workflow.walk import (
    Outcome,
    advance,
    drop_with_descendants,
    enter,
    set_aside,
    solve,
    with_result,
)


def rig_checked(state: State, event: ev.RigChecked) -> Outcome:
    """Go on when the rig is well, else show what is wrong."""
    if state.phase is not Phase.CHECK:
        return state, ()
    state = replace(state, problems=event.problems, gravity=event.gravity)
    for name in event.offers:
        if name in STEPS:
            state = state.with_step(name, wanted=True)
    return (state, ()) if event.problems else advance(state)


def calibration_given(state: State, event: ev.CalibrationGiven) -> Outcome:
    """Use a stored calibration."""
    if event.what not in STEPS:
        return state, ()
    state = state.with_step(event.what, record=event.calibration, verdict=Verdict("Stored calibration."))
    here = step_of(state.target) == event.what and state.phase in (Phase.READY, Phase.VERDICT)
    return advance(state) if here else (state, ())


def take_ended(state: State, event: ev.TakeEnded) -> Outcome:
    """The data of a take are complete: fit, or ask for the next take of a pair."""
    if not 0 <= event.take < len(state.takes):
        return state, ()
    take = replace(
        state.takes[event.take],
        t0_ns=event.t0_ns,
        t1_ns=max(event.t1_ns, event.t0_ns + 1),
        samples=event.samples,
        measured=event.measured,
        longest_loss_s=event.longest_loss_s,
    )
    state = replace(state, takes=(*state.takes[: take.id], take, *state.takes[take.id + 1 :]))
    if state.phase is not Phase.WORKING or state.waiting != "take" or take.id != len(state.takes) - 1:
        return state, ()
    follower = _follower(take.target)
    return enter(state, follower) if follower else solve(state)


def _follower(target: Target) -> Target | None:
    """The take that belongs to the same calculation and comes next."""
    if target.purpose == "lower_limit":
        return Target("upper_limit", target.node)
    name = step_of(target)
    later = STEPS[name][STEPS[name].index(target) + 1 :] if name else ()
    return later[0] if later else None


def calibrated(state: State, event: ev.Calibrated) -> Outcome:
    """The tip, the weight or the place was found."""
    if not _awaited(state, event.work, "calibration") or event.what != step_of(state.target):
        return state, ()
    verdict = Verdict.from_dict(event.verdict)
    state = state.with_step(event.what, record=event.calibration, verdict=verdict)
    if event.what == TIP and event.anew:
        state = replace(state, results=()).with_step(PLACE, record=None, verdict=None)
    if verdict.good:
        return advance(replace(state, waiting=""))
    return replace(state, phase=Phase.VERDICT, verdict=verdict, waiting=""), ()


def fitted(state: State, event: ev.Fitted) -> Outcome:
    """A joint or handle was found; a good one is accepted at once."""
    if not _awaited(state, event.work, "fit") or state.target is None or state.target.node != event.node:
        return state, ()
    verdict = Verdict.from_dict(event.verdict)
    result = Result(event.node, event.takes, event.model, verdict, event.ended_at, accepted=verdict.good)
    state = with_result(drop_with_descendants(state, event.node), result)
    state = replace(state, waiting="", target=Target("movement", event.node))
    if verdict.good:
        return advance(state)
    return replace(state, phase=Phase.VERDICT, verdict=verdict), ()


def failed(state: State, event: ev.Failed) -> Outcome:
    """A calculation gave nothing."""
    if not _awaited(state, event.work, state.waiting):
        return state, ()
    verdict = Verdict.from_dict(event.verdict) if event.verdict else refused(event.reason)
    if name := step_of(state.target):
        state = state.with_step(name, verdict=verdict)
    return replace(state, phase=Phase.VERDICT, verdict=verdict, waiting=""), ()


def _awaited(state: State, work: int, waiting: str) -> bool:
    return state.phase is Phase.WORKING and state.waiting == waiting != "take" and state.work == work


def saved(state: State, event: ev.Saved) -> Outcome:
    """The model is on disk."""
    if state.phase is not Phase.SAVING:
        return state, ()
    return replace(state, phase=Phase.FINISHED, files=event.files), ()


def save_failed(state: State, event: ev.SaveFailed) -> Outcome:
    """Back to the review, saying why."""
    if state.phase is not Phase.SAVING:
        return state, ()
    return replace(state, phase=Phase.REVIEW, notice=event.reason), ()


def device_changed(state: State, event: ev.DeviceChanged) -> Outcome:
    """A device went silent or came back."""
    others = tuple(item for item in state.lost if item[0] != event.device)
    lost = (*others, (event.device, event.message)) if event.lost else others
    return replace(state, lost=lost, notice=event.message), ()


def interrupted(state: State, _: ev.Interrupted) -> Outcome:
    """The program ended here before: a take that was running is kept but not used."""
    if state.phase is Phase.RECORDING:
        return replace(set_aside(state, [state.takes[-1].id]), phase=Phase.READY), ()
    return state, ()
