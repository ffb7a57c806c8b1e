"""The reducer: ``step(state, event)`` gives the next state and what is to be done. No I/O, no clock.

Takes are never deleted: a redo sets them aside. A result that no longer holds, because its parent was
measured again, is dropped and computed anew from its takes as soon as the walk comes to it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from ident.workflow import answers, reports
from ident.workflow import events as ev
from ident.workflow.effects import CheckRig, Effect, EndTake, SaveModel, SolveCalibration, SolveNode
from ident.workflow.state import Phase, State, step_of
from ident.workflow.walk import Outcome, say


def step(state: State, event: ev.Event) -> Outcome:
    """Next state and effects. An event that makes no sense now leaves a ``notice`` and changes nothing."""
    state = replace(state, notice="")
    if state.paused and not isinstance(event, _HEARD_WHILE_PAUSED):
        return say(state, "Paused. Resume first.")
    return _HANDLERS[type(event)](state, event)


def fold(log: Iterable[ev.Event], start: State | None = None) -> State:
    """State after a whole log of events."""
    return reduce(lambda state, event: step(state, event)[0], log, start or State())


def pending(state: State) -> tuple[Effect, ...]:
    """Effects whose answer is still awaited: what a resumed session has to do again."""
    if state.phase is Phase.CHECK and not state.problems:
        return (CheckRig(),)
    if state.phase is Phase.SAVING:
        return (SaveModel(),)
    if state.phase is Phase.WORKING and state.waiting == "take":
        return (EndTake(state.takes[-1].id, state.takes[-1].t1_ns),)
    if state.phase is Phase.WORKING and state.waiting == "calibration":
        return (SolveCalibration(state.work, step_of(state.target)),)
    if state.phase is Phase.WORKING and state.target is not None:
        return (SolveNode(state.work, state.target.node),)
    return ()


_HEARD_WHILE_PAUSED = (
    ev.Resume,
    ev.Proceed,
    ev.Remark,
    ev.RigChecked,
    ev.CalibrationGiven,
    ev.TakeEnded,
    ev.Calibrated,
    ev.Fitted,
    ev.Failed,
    ev.Saved,
    ev.SaveFailed,
    ev.DeviceChanged,
    ev.Interrupted,
)

_HANDLERS: dict[type[ev.Event], Callable[[State, Any], Outcome]] = {
    ev.Described: answers.described,
    ev.Proceed: answers.proceed,
    ev.Redo: answers.redo,
    ev.AddTake: answers.add_take,
    ev.Accept: answers.accept,
    ev.Skip: answers.skip,
    ev.Back: answers.back,
    ev.GoTo: answers.go_to,
    ev.MeasureLimits: answers.measure_limits,
    ev.MarkPoints: answers.mark_points,
    ev.Place: answers.placed,
    ev.ChangeType: answers.change_type,
    ev.Rename: answers.rename,
    ev.Insert: answers.insert,
    ev.Remove: answers.remove,
    ev.Remark: answers.remark,
    ev.Pause: answers.pause,
    ev.Resume: answers.resume,
    ev.RigChecked: reports.rig_checked,
    ev.CalibrationGiven: reports.calibration_given,
    ev.TakeEnded: reports.take_ended,
    ev.Calibrated: reports.calibrated,
    ev.Fitted: reports.fitted,
    ev.Failed: reports.failed,
    ev.Saved: reports.saved,
    ev.SaveFailed: reports.save_failed,
    ev.DeviceChanged: reports.device_changed,
    ev.Interrupted: reports.interrupted,
}
