"""Random operators and random workstations against the workflow's reducer.

``python -m bench.reducer [SEQUENCES] [SEED]`` drives it with so many sequences of events: sensible ones, late ones,
foreign ones and nonsense. After each event no take may be lost and the state must be sound and tell what to do. At the
end of each sequence the log, also as it is written to a session, must give the same state; from there Back must lead to
the first step, and doing the obvious must lead to a saved model. Prints a tally and fails with the first sequence that
breaks a rule.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from ident.ui.wizard import views
from ident.workflow import effects as fx
from ident.workflow import events as ev
from ident.workflow.machine import fold, pending, step
from ident.workflow.plan import HANDLE_KINDS, JOINT_KINDS, ROOT, Node, Plan
from ident.workflow.state import PLACE, TIP, WEIGHT, Phase, State, step_of
from ident.workflow.texts import instruction, progress
from ident.workflow.walk import reachable

SEQUENCES = 100_000
LONGEST = 60
SCREENS = 8
"""States of which one is drawn as the wizard would: that takes longer than all the rest."""
NAMES = ("hinge", "lever", "grip", "drawer", "extra")
ODD_NAMES = ("root", "", "a/b", "hinge ", "nobody", "…")
GOOD: dict[str, Any] = {"summary": "fine", "findings": []}
FINDING = {"code": "short_arc", "message": "Too short.", "remedy": "Open it further."}
VERDICTS: tuple[dict[str, Any], ...] = (
    GOOD,
    {"summary": "hm", "findings": [FINDING]},
    {"summary": "hm", "findings": [{**FINDING, "code": "imprecise", "again": "add"}]},
    {"summary": "hm", "findings": [{**FINDING, "code": "other_type", "suggests": "prismatic"}]},
    {"findings": [{"code": "of tomorrow", "message": "", "remedy": "", "unknown": "field"}]},
    {},
)


def main(sequences: int, seed: int) -> int:
    """Drive so many sequences."""
    tally: Counter[str] = Counter()
    began = time.monotonic()
    for number in range(sequences):
        luck = random.Random(f"{seed} {number}")
        try:
            one_sequence(luck, tally)
        except Exception as error:
            error.add_note(f"in sequence {number} of seed {seed}")
            raise
        if (number + 1) % 10_000 == 0:
            print(f"{number + 1} sequences, {tally['events']} events, {time.monotonic() - began:.0f} s", flush=True)
    kinds = [f"{name} {tally[name]}" for name in ev.EVENTS]
    print(f"{tally['events']} events: {', '.join(kinds)}")
    print("phases at the end: " + ", ".join(f"{phase.value} {tally['in ' + phase.value]}" for phase in Phase))
    print(
        f"{sequences} sequences: no exception, no lost take, every log gives its state, every state leads on and back"
    )
    return int(any(not tally[name] for name in ev.EVENTS))


def one_sequence(luck: random.Random, tally: Counter[str]) -> None:
    """Feed random events, and look at every state on the way."""
    state, log = State(), list[ev.Event]()
    try:
        for _ in range(luck.randint(1, LONGEST)):
            event = next_event(luck, state, len(log))
            log.append(event)
            before = state
            state, effects = step(state, event)
            tally["events"] += 1
            tally[type(event).__name__] += 1
            check_takes(before, state, event)
            check_state(state, effects)
            if state.plan is not before.plan:
                assert not state.plan.nodes or not state.plan.problems(), state.plan.problems()
            if len(log) % SCREENS == 0:
                check_screen(state)
        tally["in " + state.phase.value] += 1
        check_log(log, state)
        check_way_back(state)
        check_way_forward(state)
    except Exception as error:
        error.add_note("\n".join(map(str, log)))
        raise


# What happens.


def next_event(luck: random.Random, state: State, now: int) -> ev.Event:
    """Half of the time what the measurement waits for, else anything at all."""
    t_ns = 10 * now + luck.choice((1, 1, 1, -25))
    if luck.random() < 0.5:
        awaited = obvious(state, luck.choice(VERDICTS) if luck.random() < 0.5 else GOOD, t_ns)
        if awaited is not None:
            return awaited
    return _anything(luck, state, t_ns)


def obvious(state: State, verdict: dict[str, Any], t_ns: int) -> ev.Event | None:
    """What operator or workstation do next when nobody hesitates; None where the model is saved."""
    if state.paused:
        return ev.Resume(t_ns=t_ns)
    for effect in pending(state):
        return _report(state, effect, verdict, t_ns)
    if state.lost:
        return ev.DeviceChanged(t_ns=t_ns, device=state.lost[0][0], lost=False, message="It is back.")
    match state.phase:
        case Phase.DESCRIBE:
            return ev.Described(t_ns=t_ns, plan=DOOR.to_dict())
        case Phase.CHECK:
            return ev.Accept(t_ns=t_ns)
        case Phase.VERDICT:
            has_fit = state.target is not None and bool(state.target.node) and state.result(state.target.node)
            name = step_of(state.target)
            calibrated = bool(name) and state.step(name).record is not None
            return ev.Accept(t_ns=t_ns) if has_fit or calibrated else ev.Skip(t_ns=t_ns)
        case Phase.FINISHED:
            return None
        case _:
            return ev.Proceed(t_ns=t_ns)


def _report(state: State, effect: fx.Effect, verdict: dict[str, Any], t_ns: int) -> ev.Event:
    """The workstation's answer to an effect."""
    match effect:
        case fx.CheckRig():
            return ev.RigChecked(
                t_ns=t_ns,
                problems=() if verdict is GOOD else ("Not tracked.",),
                offers=(WEIGHT,) if t_ns % 3 else (),
                gravity=(0.0, 0.0, -9.8),
            )
        case fx.EndTake(take, t1_ns):
            t0_ns = state.takes[take].t0_ns
            return ev.TakeEnded(t_ns=t_ns, take=take, t0_ns=t0_ns, t1_ns=t1_ns, samples=99, measured=90)
        case fx.SolveCalibration(work, what):
            if verdict == {}:
                return ev.Failed(t_ns=t_ns, work=work, reason="No.")
            return ev.Calibrated(
                t_ns=t_ns, work=work, what=what, anew=True, calibration={"offset_m": [0, 0, 0]}, verdict=verdict
            )
        case fx.SolveNode(work, node):
            if verdict == {}:
                return ev.Failed(t_ns=t_ns, work=work, reason="No.")
            takes = tuple(t.id for t in state.takes if t.target.node == node and t.used)
            return ev.Fitted(t_ns=t_ns, work=work, node=node, takes=takes, model=_model(node), verdict=verdict)
        case _:
            return ev.Saved(t_ns=t_ns, files=("door.model.json",)) if verdict else ev.SaveFailed(reason="Disk full.")


def _model(node: str) -> dict[str, Any]:
    return {"name": node, "parent": ROOT, "type": "rotary"}


DOOR = Plan(
    "door",
    (
        Node("hinge", "rotary"),
        Node("lever", "auto", "hinge"),
        Node("grip", "handle2", "lever", 0.01),
        Node("drawer", "prismatic"),
    ),
)


def _plan(luck: random.Random) -> dict[str, Any]:
    """A sound plan, an unsound one, or something that is no plan."""
    if luck.random() < 0.3:
        return luck.choice(
            ({}, {"nodes": []}, {"nodes": [{}]}, {"name": None, "nodes": [{"name": 5, "kind": None}]}, {"nodes": None})
        )
    names = luck.sample(NAMES, luck.randint(1, len(NAMES)))
    nodes = [Node(n, luck.choice(JOINT_KINDS + HANDLE_KINDS), luck.choice((ROOT, ROOT, *names))) for n in names]
    return Plan(luck.choice(("door", "", "a/b", "…")), tuple(nodes)).to_dict()


def _name(luck: random.Random, state: State) -> str:
    known = [node.name for node in state.plan]
    return luck.choice((*known, *known, *NAMES, luck.choice(ODD_NAMES)))


def _work(luck: random.Random, state: State) -> int:
    return luck.choice((state.work, state.work, state.work - 1, state.work + 1, -1))


def _what(luck: random.Random) -> str:
    return luck.choice((TIP, TIP, WEIGHT, PLACE, "odd"))


def _take(luck: random.Random, state: State) -> int:
    return luck.choice((len(state.takes) - 1, luck.randint(-2, 8)))


def _anything(luck: random.Random, s: State, t: int) -> ev.Event:
    """An event of any type, as likely as not without sense."""
    makers: tuple[Callable[[], ev.Event], ...] = (
        *(partial(kind, t_ns=t) for kind in _PLAIN),
        lambda: ev.Described(t_ns=t, plan=_plan(luck)),
        lambda: ev.Proceed(t_ns=t, take=_take(luck, s)),
        lambda: ev.Redo(t_ns=t, take=_take(luck, s)),
        lambda: ev.GoTo(t_ns=t, node=_name(luck, s)),
        lambda: ev.Place(t_ns=t, node=_name(luck, s), at=luck.choice(("lower", "upper", "last", "up", ""))),
        lambda: ev.ChangeType(t_ns=t, node=_name(luck, s), kind=luck.choice((*JOINT_KINDS, *HANDLE_KINDS, "odd"))),
        lambda: ev.Rename(t_ns=t, node=_name(luck, s), name=_name(luck, s)),
        lambda: ev.Insert(
            t_ns=t,
            name=_name(luck, s),
            kind=luck.choice((*JOINT_KINDS, *HANDLE_KINDS, "odd")),
            parent=luck.choice((ROOT, _name(luck, s))),
            radius_m=luck.choice((None, 0.01, -1.0, float("nan"))),
        ),
        lambda: ev.Remove(t_ns=t, node=_name(luck, s)),
        lambda: ev.Remark(t_ns=t, text=luck.choice(("", "stiff", "é\x00\n"))),
        lambda: ev.RigChecked(
            t_ns=t, problems=luck.choice(((), ("Not tracked.",))), offers=luck.choice(((), (WEIGHT,), (PLACE, "odd")))
        ),
        lambda: ev.CalibrationGiven(t_ns=t, calibration={"offset_m": [0, 0, 0]}, what=_what(luck)),
        lambda: ev.TakeEnded(
            t_ns=t, take=_take(luck, s), t0_ns=luck.randint(0, 99), t1_ns=luck.randint(0, 99), samples=3, measured=3
        ),
        lambda: ev.Calibrated(
            t_ns=t,
            work=_work(luck, s),
            calibration={},
            verdict=luck.choice(VERDICTS),
            what=_what(luck),
            anew=luck.random() < 0.5,
        ),
        lambda: ev.Fitted(
            t_ns=t,
            work=_work(luck, s),
            node=_name(luck, s),
            takes=(_take(luck, s),),
            model=_model(_name(luck, s)),
            verdict=luck.choice(VERDICTS),
        ),
        lambda: ev.Failed(t_ns=t, work=_work(luck, s), reason=luck.choice(("", "No.")), verdict=luck.choice(VERDICTS)),
        lambda: ev.Saved(t_ns=t, files=("a",)),
        lambda: ev.SaveFailed(t_ns=t, reason="Disk full."),
        lambda: ev.DeviceChanged(
            t_ns=t, device=luck.choice(("mocap", "ft", "trigger")), lost=luck.random() < 0.5, message="Hm."
        ),
    )
    return luck.choice(makers)()


_PLAIN = (
    ev.Proceed, ev.Proceed, ev.Redo, ev.AddTake, ev.Accept, ev.Skip, ev.Back, ev.Back, ev.MeasureLimits, ev.MarkPoints,
    ev.MarkPoints, ev.Pause, ev.Resume, ev.Interrupted,
)  # fmt: skip


# The rules.


def check_takes(before: State, after: State, event: ev.Event) -> None:
    """No take is lost, and what was measured in one stays as it is."""
    assert len(after.takes) >= len(before.takes), "a take was lost"
    for old, new in zip(before.takes, after.takes, strict=False):
        told = isinstance(event, ev.TakeEnded) and event.take == old.id
        assert new.id == old.id, "a take changed its number"
        assert told or (new.t0_ns, new.samples) == (old.t0_ns, old.samples), "a take changed its data"
        assert new.t1_ns or not old.t1_ns, "a finished take runs again"


def check_state(state: State, effects: tuple[fx.Effect, ...]) -> None:
    """A state names only what there is, waits only for what was asked for, and says what to do."""
    names = {node.name for node in state.plan}
    assert state.target is None or not state.target.node or state.target.node in names, "a target that is not there"
    assert {r.node for r in state.results} <= names, "a result of nothing"
    assert len({r.node for r in state.results}) == len(state.results), "two results of one joint"
    assert state.skipped <= names
    assert {name for name, _ in state.placed} <= names
    assert [t.id for t in state.takes] == list(range(len(state.takes)))
    for take in state.takes:
        assert all(at in ("lower", "upper") or isinstance(at, float) for _, at in take.places), "nobody knows where"
    if state.phase in (Phase.READY, Phase.RECORDING, Phase.WORKING, Phase.VERDICT):
        assert state.target is not None, "nothing to measure"
        assert not state.target.node or reachable(state, state.target.node), "nobody knows where its parent stands"
    asked = {type(effect) for effect in effects} & {fx.CheckRig, fx.EndTake, fx.SolveCalibration, fx.SolveNode}
    assert asked <= {type(effect) for effect in pending(state)}, "an answer that nobody waits for"
    assert instruction(state).title
    assert 0 <= progress(state)[0] <= progress(state)[1], "more is done than there is"


def check_screen(state: State) -> None:
    """The wizard can show it."""
    rows, current = views.object_rows(state)
    assert 0 <= current < len(rows)
    views.headline(state, None), views.body(state), views.keys_now(state)


def check_log(log: list[ev.Event], state: State) -> None:
    """The log gives the state back, also as it is written to a session."""
    assert fold(log) == state, "the log gives another state"
    stored = json.loads(json.dumps([event.to_dict() for event in log]))
    assert repr(fold(ev.event_from_dict(item) for item in stored)) == repr(state), "the stored log gives another state"


def check_way_back(state: State) -> None:
    """Back leads to the first step, with every take."""
    takes = len(state.takes)
    steps = 0
    while state.phase is not Phase.DESCRIBE:
        state, _ = step(state, ev.Resume() if state.paused else ev.Back())
        steps += 1
        assert steps < 30 + 10 * len(state.plan.nodes), f"no way back from {state.phase}"
    assert len(state.takes) == takes, "a take was lost on the way back"


def check_way_forward(state: State) -> None:
    """Doing the obvious leads to a saved model, with every take."""
    takes = len(state.takes)
    steps = 0
    while (event := obvious(state, GOOD, 10_000 + steps)) is not None:
        state, _ = step(state, event)
        steps += 1
        assert steps < 100 + 20 * len(state.plan.nodes), f"no way forward from {state.phase}"
    assert len(state.takes) >= takes, "a take was lost on the way on"


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(numbers[0] if numbers else SEQUENCES, numbers[1] if len(numbers) > 1 else 1))
