"""How the measurement takes what the operator says and does."""

from dataclasses import replace
from typing import Any

from ident.workflow import events as ev
from ident.workflow.effects import BeginTake, CheckRig, Effect, EndTake, SaveModel
from ident.workflow.plan import HANDLE_KINDS, JOINT_KINDS, Node, Plan
from ident.workflow.state import PLACE, STEPS, WEIGHT, Phase, State, Take, Target, step_of
from ident.workflow.walk import (
    Outcome,
    advance,
    drop,
    drop_with_descendants,
    enter,
    leave,
    reachable,
    say,
    set_aside,
    show,
    targets,
    with_result,
)

MOCAP, FORCE = "mocap", "ft"
"""Devices without which no take, or none about the load, can start."""


def described(state: State, event: ev.Described) -> Outcome:
    """The object was described: check the rig next."""
    if state.phase is not Phase.DESCRIBE:
        return say(state, "The object is described already; go back to change it.")
    plan = Plan.from_dict(event.plan)
    problems = plan.problems()
    if problems:
        return say(state, "; ".join(problems))
    same = {n.name for n in plan if n.name in state.plan and state.plan.node(n.name) == n}
    state = replace(
        state,
        results=tuple(r for r in state.results if r.node in same),
        skipped=frozenset(),
        placed=tuple(p for p in state.placed if p[0] in same),
    )
    return _check(replace(state, plan=plan))


def _check(state: State) -> Outcome:
    return replace(state, phase=Phase.CHECK, target=None, problems=()), (CheckRig(),)


def proceed(state: State, event: ev.Proceed) -> Outcome:
    """The obvious next thing, in each phase."""
    if not _meant(state, event.take):
        return state, ()
    if state.paused:
        return replace(state, paused=False), ()
    match state.phase:
        case Phase.DESCRIBE:
            return _check(state) if state.plan.nodes else say(state, "Describe the object first.")
        case Phase.CHECK:
            return _check(state)
        case Phase.READY:
            return _begin_take(state, event.t_ns)
        case Phase.RECORDING:
            return _end_take(state, event.t_ns)
        case Phase.VERDICT:
            return _follow_advice(state, event)
        case Phase.REVIEW:
            return replace(state, phase=Phase.SAVING), (SaveModel(),)
        case Phase.FINISHED:
            return say(state, "The model is saved.")
        case _:
            return say(state, "Still working.")


def _meant(state: State, take: int | None) -> bool:
    """Whether an event that names a take still finds it running; the operator may have been quicker."""
    return take is None or (state.recording is not None and state.recording.id == take)


def _follow_advice(state: State, event: ev.Proceed) -> Outcome:
    advice = state.verdict.advice if state.verdict else "redo"
    if advice == "accept":
        return accept(state, ev.Accept(t_ns=event.t_ns))
    if advice == "redo":
        state, _ = redo(state, ev.Redo(t_ns=event.t_ns))
    return _begin_take(replace(state, phase=Phase.READY, verdict=None), event.t_ns)


def _begin_take(state: State, t_ns: int) -> Outcome:
    target = state.target
    if target is None:
        return say(state, "There is nothing to measure here.")
    lost = dict(state.lost)
    silent = lost.get(MOCAP) or (lost.get(FORCE) if step_of(target) == WEIGHT else None)
    if silent:
        return say(state, silent)
    places: tuple[tuple[str, str | float], ...] = ()
    if target.node:
        places = tuple((a.name, _place(state, a.name)) for a in state.plan.ancestors(target.node))
    take = Take(id=len(state.takes), target=target, t0_ns=t_ns, places=places)
    state = replace(state, phase=Phase.RECORDING, takes=(*state.takes, take), verdict=None)
    return state, (BeginTake(take.id, target),)


def _place(state: State, node: str) -> str | float:
    at = state.place_of(node)
    result = state.result(node)
    if at == "last":
        return result.ended_at if result is not None else "lower"
    return at


def _end_take(state: State, t_ns: int) -> Outcome:
    take = replace(state.takes[-1], t1_ns=max(t_ns, state.takes[-1].t0_ns + 1))
    state = replace(state, phase=Phase.WORKING, waiting="take", takes=(*state.takes[:-1], take))
    return state, (EndTake(take.id, take.t1_ns),)


def redo(state: State, event: ev.Redo) -> Outcome:
    """Set the last take aside; where this target has none, that of the one before."""
    if not _meant(state, event.take):
        return state, ()
    if state.phase in (Phase.RECORDING, Phase.WORKING):
        return leave(state)
    if state.phase not in (Phase.READY, Phase.VERDICT) or state.target is None:
        return say(state, "There is nothing to redo here.")
    target = state.target
    if not _takes_for(state, target):
        before = _previous(state, target)
        if before is None:
            return say(state, "There is nothing to redo yet.")
        target = before
    if not target.node:
        return _anew(state, step_of(target))
    used = _takes_for(state, target)
    state = set_aside(state, [used[-1].id] if used else [])
    state = drop_with_descendants(state, target.node)
    return replace(state, phase=Phase.READY, target=target, verdict=None, skipped=state.skipped - {target.node}), ()


def _anew(state: State, name: str) -> Outcome:
    """Measure a calibration from its first take on."""
    state = set_aside(state, [t.id for target in STEPS[name] for t in state.used_takes(target)])
    return enter(state.with_step(name, wanted=True, record=None, verdict=None, skipped=False), STEPS[name][0])


def _takes_for(state: State, target: Target) -> tuple[Take, ...]:
    if not target.node:
        return tuple(t for other in STEPS[step_of(target)] for t in state.used_takes(other))
    return state.used_takes(target)


def _previous(state: State, target: Target | None) -> Target | None:
    """The target before this one (None: the last of all) whose parent is known; None where it is the first."""
    every = targets(state)
    if target is not None:
        base = Target("movement", target.node) if target.node else target
        every = every[: every.index(base)] if base in every else ()
    return next((t for t in reversed(every) if not t.node or reachable(state, t.node)), None)


def add_take(state: State, _: ev.AddTake) -> Outcome:
    """Measure once more beside what is there."""
    if state.phase is not Phase.VERDICT or state.target is None:
        return say(state, "A take can be added once there is a fit.")
    if not state.target.node:
        return say(state, "A calibration is measured as a whole: redo it, or accept.")
    return replace(state, phase=Phase.READY, target=Target("movement", state.target.node), verdict=None), ()


def accept(state: State, _: ev.Accept) -> Outcome:
    """Go on with what is there."""
    if state.phase is Phase.REVIEW:
        return replace(state, phase=Phase.SAVING), (SaveModel(),)
    if state.phase is Phase.CHECK:
        return advance(state)
    if state.phase not in (Phase.VERDICT, Phase.READY) or state.target is None:
        return say(state, "There is nothing to accept here.")
    if not state.target.node:
        if state.step(step_of(state.target)).record is None:
            return say(state, "There is no calibration yet: measure it, or skip.")
        return advance(state)
    result = state.result(state.target.node)
    if result is None:
        return say(state, f"There is no fit of {state.target.node} yet: measure it, or skip.")
    return advance(with_result(state, replace(result, accepted=True)))


def skip(state: State, _: ev.Skip) -> Outcome:
    """Leave the present target for later."""
    if state.phase is Phase.CHECK:
        return advance(state)
    if state.target is None or state.phase in (Phase.REVIEW, Phase.SAVING, Phase.FINISHED, Phase.DESCRIBE):
        return say(state, "There is nothing to skip here.")
    state, effects = leave(state)
    target = state.target
    if target is None or not target.node:
        state, more = advance(state.with_step(step_of(target), skipped=True))
    elif target.purpose != "movement":
        state, more = show(state, Target("movement", target.node))
    else:
        dropped = drop_with_descendants(state, target.node)
        state, more = advance(replace(dropped, skipped=state.skipped | {target.node}))
    return state, effects + more


def back(state: State, _: ev.Back) -> Outcome:
    """One step back."""
    match state.phase:
        case Phase.DESCRIBE:
            return say(state, "This is the first step.")
        case Phase.CHECK:
            return replace(state, phase=Phase.DESCRIBE, target=None), ()
        case Phase.RECORDING | Phase.WORKING:
            return leave(state)
        case Phase.VERDICT:
            return replace(state, phase=Phase.READY, verdict=None), ()
        case Phase.SAVING | Phase.FINISHED:
            return replace(state, phase=Phase.REVIEW, target=None), ()
        case Phase.REVIEW:
            return _back_to_previous(state, None)
        case Phase.READY:
            return _back_from_ready(state)


def _back_from_ready(state: State) -> Outcome:
    if state.target is None:
        return replace(state, phase=Phase.DESCRIBE), ()
    if state.target.purpose in ("lower_limit", "upper_limit"):
        return show(state, Target("movement", state.target.node))
    if state.target == STEPS[PLACE][0] and state.step(PLACE).record is None:
        return replace(state.with_step(PLACE, wanted=False), phase=Phase.REVIEW, target=None), ()
    return _back_to_previous(state, state.target)


def _back_to_previous(state: State, target: Target | None) -> Outcome:
    before = _previous(state, target)
    if before is None:
        return replace(state, phase=Phase.DESCRIBE, target=None), ()
    if before.node in state.skipped:
        state = replace(state, skipped=state.skipped - {before.node})
    if not before.node:
        state = state.with_step(step_of(before), skipped=False)
    return show(state, before)


def go_to(state: State, event: ev.GoTo) -> Outcome:
    """Jump to a node."""
    if event.node not in state.plan:
        return say(state, f"There is no '{event.node}' in this object.")
    if state.phase in (Phase.DESCRIBE, Phase.CHECK, Phase.SAVING):
        return say(state, "Finish this step first.")
    if not reachable(state, event.node):
        return say(state, f"Measure what '{event.node}' hangs on first.")
    state, effects = leave(state)
    state, more = show(replace(state, skipped=state.skipped - {event.node}), Target("movement", event.node))
    return state, effects + more


def measure_limits(state: State, _: ev.MeasureLimits) -> Outcome:
    """Find the limits of a fitted joint by holding it at each end."""
    target = state.target
    if state.phase not in (Phase.READY, Phase.VERDICT) or target is None or not target.node:
        return say(state, "Limits are measured once the joint is fitted.")
    if state.result(target.node) is None or state.plan.node(target.node).is_handle:
        return say(state, "Limits by hand are for joints that have a fit.")
    ends = (Target("lower_limit", target.node), Target("upper_limit", target.node))
    state = set_aside(state, [t.id for end in ends for t in state.used_takes(end)])
    return replace(state, phase=Phase.READY, target=ends[0], verdict=None), ()


def mark_points(state: State, _: ev.MarkPoints) -> Outcome:
    """Touch three points of the object, so that the model can be found on it again."""
    if state.phase is not Phase.REVIEW:
        return say(state, "Points are marked at the end, when everything is measured.")
    if state.calibration is None:
        return say(state, "Points are touched with a calibrated tip, and there is none. Go back to calibrate it.")
    return _anew(state, PLACE)


def placed(state: State, event: ev.Place) -> Outcome:
    """Say where an ancestor stands."""
    if event.node not in state.plan or event.at not in ("lower", "upper", "last"):
        return say(state, "An ancestor stands at its lower end, its upper end, or where the last take left it.")
    placed = {**dict(state.placed), event.node: event.at}
    return replace(state, placed=tuple(sorted(placed.items()))), ()


def change_type(state: State, event: ev.ChangeType) -> Outcome:
    """Fit the takes of a node as another type."""
    if state.phase in (Phase.RECORDING, Phase.WORKING, Phase.SAVING, Phase.DESCRIBE):
        return say(state, "Finish this step before changing the type.")
    if event.node not in state.plan:
        return say(state, f"There is no '{event.node}' in this object.")
    role = HANDLE_KINDS if state.plan.node(event.node).is_handle else JOINT_KINDS
    if event.kind not in role:
        return say(state, f"'{event.kind}' is no type for '{event.node}'; choose {', '.join(role)}.")
    state = drop_with_descendants(state, event.node)
    state = replace(state, plan=state.plan.with_kind(event.node, event.kind), skipped=state.skipped - {event.node})
    if state.phase is Phase.CHECK:
        return state, ()
    return advance(state)


def rename(state: State, event: ev.Rename) -> Outcome:
    """Rename a node everywhere: plan, takes and results."""
    if state.phase in (Phase.RECORDING, Phase.WORKING, Phase.SAVING):
        return say(state, "Finish this step before renaming.")
    if event.node not in state.plan:
        return say(state, f"There is no '{event.node}' in this object.")
    plan = state.plan.renamed(event.node, event.name)
    problems = plan.problems()
    if problems:
        return say(state, "; ".join(problems))

    def new(name: str) -> str:
        return event.name if name == event.node else name

    def mended(model: dict[str, Any]) -> dict[str, Any]:
        return {**model, **{key: new(model[key]) for key in ("name", "parent") if key in model}}

    return replace(
        state,
        plan=plan,
        target=replace(state.target, node=new(state.target.node)) if state.target else None,
        takes=tuple(
            replace(
                t,
                target=replace(t.target, node=new(t.target.node)),
                places=tuple((new(name), at) for name, at in t.places),
            )
            for t in state.takes
        ),
        results=tuple(replace(r, node=new(r.node), model=mended(r.model)) for r in state.results),
        skipped=frozenset(new(name) for name in state.skipped),
        placed=tuple(sorted((new(name), at) for name, at in state.placed)),
    ), ()


def insert(state: State, event: ev.Insert) -> Outcome:
    """Add a node that was forgotten."""
    plan = state.plan.with_node(Node(event.name, event.kind, event.parent, event.radius_m))
    problems = plan.problems()
    if problems:
        return say(state, "; ".join(problems))
    if state.phase is Phase.SAVING:
        return say(state, "Saving; insert it afterwards.")
    state = replace(state, plan=plan)
    return advance(state) if state.phase in (Phase.REVIEW, Phase.FINISHED) else (state, ())


def remove(state: State, event: ev.Remove) -> Outcome:
    """Take a node and what hangs on it out of the plan."""
    if event.node not in state.plan:
        return say(state, f"There is no '{event.node}' in this object.")
    if state.phase is Phase.SAVING:
        return say(state, "Saving; remove it afterwards.")
    gone = {event.node, *(d.name for d in state.plan.descendants(event.node))}
    if len(gone) == len(state.plan.nodes):
        return say(state, "This would leave no joint at all; go back and describe the object anew.")
    affected = state.target is not None and state.target.node in gone
    effects: tuple[Effect, ...] = ()
    if affected:
        state, effects = leave(state)
    state = replace(
        drop(state, gone),
        plan=state.plan.without(event.node),
        skipped=state.skipped - gone,
        placed=tuple(p for p in state.placed if p[0] not in gone),
    )
    if not affected:
        return state, effects
    state, more = advance(state)
    return state, effects + more


def remark(state: State, event: ev.Remark) -> Outcome:
    """Keep a remark."""
    return replace(state, remarks=(*state.remarks, event.text)), ()


def pause(state: State, _: ev.Pause) -> Outcome:
    """Stop listening; a running take is set aside."""
    if state.phase is Phase.RECORDING:
        state, effects = leave(state)
        return replace(state, paused=True), effects
    return replace(state, paused=True), ()


def resume(state: State, _: ev.Resume) -> Outcome:
    """Listen again."""
    return replace(state, paused=False), ()
