"""The reducer: whatever happens, no exception, no lost take, and the log gives the state back."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ident.workflow import events as ev
from ident.workflow.machine import fold, pending, step
from ident.workflow.plan import Node, Plan
from ident.workflow.state import CALIBRATION, PLACE, TIP, WEIGHT, Phase, State, Target, step_of
from ident.workflow.texts import instruction, progress

DOOR = Plan("door", (Node("hinge", "rotary"), Node("lever", "rotary", "hinge"), Node("grip", "handle2", "lever", 0.01)))
GOOD = {"summary": "fine", "findings": []}
BAD = {"summary": "hm", "findings": [{"code": "short_arc", "message": "Too short.", "remedy": "Open it further."}]}


def advance(state: State, *events: ev.Event) -> State:
    for event in events:
        state, _ = step(state, event)
    return state


def started() -> State:
    return advance(State(), ev.Described(plan=DOOR.to_dict()), ev.RigChecked())


def taken(state: State) -> State:
    """Make the take that the state asks for."""
    state = advance(state, ev.Proceed(t_ns=10), ev.Proceed(t_ns=20))
    return advance(state, ev.TakeEnded(take=len(state.takes) - 1, t0_ns=10, t1_ns=20, samples=100, measured=100))


def calibrated() -> State:
    state = taken(taken(started()))
    return advance(state, ev.Calibrated(work=state.work, calibration={"offset_m": [0, 0, 0]}, verdict=GOOD))


def fitted(state: State, verdict: dict[str, object] | None = None) -> State:
    state = taken(state)
    node = state.target.node if state.target else ""
    return advance(
        state,
        ev.Fitted(
            work=state.work, node=node, takes=(len(state.takes) - 1,), model={"name": node}, verdict=verdict or GOOD
        ),
    )


def test_a_joint_costs_two_presses_when_all_goes_well() -> None:
    state = calibrated()
    presses = 0
    while state.phase is not Phase.REVIEW:
        assert state.phase is Phase.READY
        state = fitted(state)
        presses += 2
    assert presses == 2 * len(DOOR.nodes)
    assert [r.node for r in state.results] == ["hinge", "lever", "grip"]


def test_a_bad_take_waits_for_the_operator_and_one_press_measures_again() -> None:
    state = fitted(calibrated(), BAD)
    assert state.phase is Phase.VERDICT
    again = advance(state, ev.Proceed(t_ns=30))
    assert again.phase is Phase.RECORDING
    assert not again.takes[2].used, "the bad take is set aside"
    assert len(again.takes) == 4, "and kept"


def test_a_further_take_is_fitted_together_with_the_first() -> None:
    state = advance(fitted(calibrated(), BAD), ev.AddTake())
    state = taken(state)
    assert [t.id for t in state.used_takes(Target("movement", "hinge"))] == [2, 3]


def test_redo_on_a_fresh_target_undoes_the_one_before_in_one_key() -> None:
    state = fitted(calibrated())
    assert state.target == Target("movement", "lever")
    state = advance(state, ev.Redo())
    assert state.target == Target("movement", "hinge")
    assert state.phase is Phase.READY
    assert state.result("hinge") is None


def test_measuring_a_parent_again_refits_its_children_from_their_takes() -> None:
    state = fitted(fitted(calibrated()))
    state = advance(state, ev.GoTo(node="hinge"), ev.Redo())
    assert state.result("lever") is None
    state = fitted(state)
    assert state.phase is Phase.WORKING, "the lever's take is there already"
    assert state.target == Target("movement", "lever")


def test_limits_by_hand_ask_for_both_ends() -> None:
    state = advance(fitted(calibrated()), ev.GoTo(node="hinge"), ev.MeasureLimits())
    assert state.target == Target("lower_limit", "hinge")
    state = taken(state)
    assert state.target == Target("upper_limit", "hinge")
    state = taken(state)
    assert pending(state)


def test_skipping_a_joint_skips_what_hangs_on_it() -> None:
    state = advance(calibrated(), ev.Skip())
    assert state.phase is Phase.REVIEW
    assert "hinge" in instruction(state).body


def test_back_passes_over_what_hangs_on_a_skipped_joint() -> None:
    plan = Plan("two", (*DOOR.nodes, Node("drawer", "prismatic")))
    state = advance(State(), ev.Described(plan=plan.to_dict()), ev.RigChecked(), ev.Skip(), ev.Skip())
    assert state.target == Target("movement", "drawer")
    back = advance(state, ev.Back())
    assert back.target == Target("movement", "hinge"), "nobody knows where the lever's parent stands"
    assert not back.skipped
    review = advance(state, ev.Skip())
    assert review.phase is Phase.REVIEW
    assert advance(review, ev.Back()).target == Target("movement", "drawer")


def test_a_plan_that_is_no_plan_is_refused() -> None:
    for plan in ({}, {"nodes": None}, {"nodes": [{}]}, {"nodes": [{"name": 5, "kind": None, "parent": 3}]}):
        state = advance(State(), ev.Described(plan=plan))
        assert state.phase is Phase.DESCRIBE
        assert state.notice


def test_no_take_starts_while_the_motion_capture_is_silent() -> None:
    state = advance(calibrated(), ev.DeviceChanged(device="mocap", lost=True, message="No frames for 1.0 s."))
    refused = advance(state, ev.Proceed())
    assert refused.phase is Phase.READY
    assert refused.notice == "No frames for 1.0 s."
    resumed = advance(refused, ev.DeviceChanged(device="mocap", lost=False, message="Back."), ev.Proceed())
    assert resumed.phase is Phase.RECORDING


def test_renaming_reaches_takes_results_and_children() -> None:
    state = advance(fitted(calibrated()), ev.Rename(node="hinge", name="left_hinge"))
    assert state.result("left_hinge") is not None
    assert state.plan.node("lever").parent == "left_hinge"
    assert state.takes[2].target.node == "left_hinge"


def test_a_late_answer_to_an_old_question_is_ignored() -> None:
    state = taken(calibrated())
    late = ev.Fitted(work=state.work, node="hinge", takes=(2,), model={}, verdict=GOOD)
    state = advance(state, ev.Back())
    assert advance(state, late).result("hinge") is None


def test_an_interrupted_take_is_kept_but_not_used() -> None:
    state = advance(calibrated(), ev.Proceed(t_ns=5), ev.Interrupted())
    assert state.phase is Phase.READY
    assert not state.takes[-1].used


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        (Plan("a", (Node("x", "rotary", "y"), Node("y", "rotary", "x"))), "cycle"),
        (Plan("a", (Node("x", "rotary"), Node("x", "rotary"))), "two nodes"),
        (Plan("a", (Node("x", "rotary", "nobody"),)), "does not exist"),
        (Plan("a", (Node("h", "handle2", "root", 0.01), Node("x", "rotary", "h"))), "only joints"),
        (Plan("a", (Node("x", "helical"),)), "unknown type"),
        (Plan("a", ()), "no joints"),
    ],
)
def test_an_unsound_plan_is_refused_with_the_reason(plan: Plan, word: str) -> None:
    state = advance(State(), ev.Described(plan=plan.to_dict()))
    assert state.phase is Phase.DESCRIBE
    assert word in state.notice


NAMES = st.sampled_from(["hinge", "lever", "grip", "extra", "root", "nobody", ""])
KINDS = st.sampled_from(["rotary", "prismatic", "fixed", "auto", "handle2", "handle0", "odd"])
STEP_NAMES = st.sampled_from([TIP, WEIGHT, PLACE, "odd"])
OFFERS = st.sampled_from([(), (WEIGHT,), ("odd",)])
VERDICTS = st.sampled_from([GOOD, BAD, {}])
SIMPLE = [ev.Proceed, ev.Redo, ev.AddTake, ev.Accept, ev.Skip, ev.Back, ev.MeasureLimits, ev.Pause, ev.Resume]


@st.composite
def actions(draw: st.DrawFn) -> tuple[str, ev.Event]:
    """An event, and whether its number is to be that of the calculation that is awaited."""
    number, node, kind = draw(st.integers(-1, 6)), draw(NAMES), draw(KINDS)
    event: ev.Event = draw(
        st.one_of(
            st.sampled_from(SIMPLE).map(lambda cls: cls(t_ns=7)),
            st.sampled_from([ev.Proceed(t_ns=9), ev.Proceed(t_ns=3)]),
            st.just(ev.Described(plan=DOOR.to_dict())),
            st.just(ev.GoTo(node=node)),
            st.just(ev.Place(node=node, at=draw(st.sampled_from(["lower", "upper", "last", "up"])))),
            st.just(ev.ChangeType(node=node, kind=kind)),
            st.just(ev.Rename(node=node, name=draw(NAMES))),
            st.just(
                ev.Insert(name=draw(NAMES), kind=kind, parent=node, radius_m=draw(st.sampled_from([None, 0.01, -1.0])))
            ),
            st.just(ev.Remove(node=node)),
            st.just(ev.Remark(text=node)),
            st.just(ev.RigChecked(problems=draw(st.sampled_from([(), ("Not tracked.",)])), offers=draw(OFFERS))),
            st.just(ev.MarkPoints()),
            st.just(ev.TakeEnded(take=number, t0_ns=1, t1_ns=4, samples=3, measured=3)),
            st.just(ev.CalibrationGiven(calibration={"offset_m": [0, 0, 0]}, what=draw(STEP_NAMES))),
            st.just(ev.Saved(files=("a",))),
            st.just(ev.SaveFailed(reason="Disk full.")),
            st.just(ev.DeviceChanged(device="mocap", lost=draw(st.booleans()), message="Hm.")),
            st.just(ev.Interrupted()),
            st.just(
                ev.Calibrated(
                    work=number,
                    calibration={},
                    verdict=draw(VERDICTS),
                    what=draw(STEP_NAMES),
                    anew=draw(st.booleans()),
                )
            ),
            st.just(ev.Fitted(work=number, node=node, takes=(0,), model={"name": node}, verdict=draw(VERDICTS))),
            st.just(ev.Failed(work=number, reason="No.")),
        )
    )
    return draw(st.sampled_from(["as it is", "awaited", "awaited"])), event


def aimed(state: State, how: str, event: ev.Event) -> ev.Event:
    """Let an answer of the workstation be the awaited one, so that sequences get far."""
    if how == "as it is":
        return event
    match event:
        case ev.TakeEnded():
            return ev.TakeEnded(take=len(state.takes) - 1, t0_ns=1, t1_ns=4, samples=3, measured=3)
        case ev.Calibrated():
            return replace(event, work=state.work, what=step_of(state.target))
        case ev.Fitted(verdict=v):
            node = state.target.node if state.target else ""
            return ev.Fitted(work=state.work, node=node, takes=(0,), model={"name": node}, verdict=v)
        case ev.Failed(reason=reason):
            return ev.Failed(work=state.work, reason=reason)
        case _:
            return event


def has_way_forward(state: State) -> bool:
    """Some answer leads to another state; a calculation under way answers by itself."""
    state = advance(state, ev.Resume(), ev.DeviceChanged(device="mocap", lost=False, message=""))
    candidates: list[ev.Event] = [ev.Proceed(t_ns=9), ev.Accept(), ev.Skip(), ev.Described(plan=DOOR.to_dict())]
    if state.phase is Phase.FINISHED:
        return True
    return bool(pending(state)) or any(advance(state, e).phase != state.phase for e in candidates)


def has_way_back(state: State) -> bool:
    state = advance(state, ev.Resume())
    return state.phase is Phase.DESCRIBE or advance(state, ev.Back()) != advance(state, ev.Resume())


@settings(max_examples=400, deadline=None)
@given(st.lists(actions(), max_size=50))
def test_any_sequence_of_events(sequence: list[tuple[str, ev.Event]]) -> None:
    state = started()
    log: list[ev.Event] = [ev.Described(plan=DOOR.to_dict()), ev.RigChecked()]
    for how, raw in sequence:
        event = aimed(state, how, raw)
        log.append(event)
        before = state
        state, _ = step(state, event)
        assert len(state.takes) >= len(before.takes), "a take was lost"
        assert [t.id for t in state.takes] == list(range(len(state.takes)))
        assert state.plan.nodes == () or not state.plan.problems()
        assert instruction(state).title
        assert 0 <= progress(state)[0] <= progress(state)[1]
        assert has_way_forward(state), state.phase
        assert has_way_back(state), state.phase
    assert fold(log) == state
    stored = json.loads(json.dumps([event.to_dict() for event in log]))
    assert fold(ev.event_from_dict(item) for item in stored) == state


def test_calibration_comes_first_and_can_be_skipped() -> None:
    assert started().target == CALIBRATION[0]
    assert advance(started(), ev.Skip()).target == Target("movement", "hinge")
