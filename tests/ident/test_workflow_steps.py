"""Calibrations as steps of the walk: offered, skipped in one key, stored ones used, measured anew as a whole."""

from dataclasses import replace

from ident.workflow import events as ev
from ident.workflow.machine import step
from ident.workflow.plan import Node, Plan
from ident.workflow.state import CALIBRATION, PLACE, TIP, WEIGHT, Phase, State, Target, step_of
from ident.workflow.texts import progress

DOOR = Plan("door", (Node("hinge", "rotary"), Node("lever", "rotary", "hinge"), Node("grip", "handle2", "lever", 0.01)))
GOOD = {"summary": "fine", "findings": []}


def advance(state: State, *events: ev.Event) -> State:
    for event in events:
        state, _ = step(state, event)
    return state


def checked(*offers: str) -> State:
    return advance(State(), ev.Described(plan=DOOR.to_dict()), ev.RigChecked(offers=offers))


def taken(state: State) -> State:
    """Make the take that the state asks for."""
    state = advance(state, ev.Proceed(t_ns=10), ev.Proceed(t_ns=20))
    return advance(state, ev.TakeEnded(take=len(state.takes) - 1, t0_ns=10, t1_ns=20, samples=100, measured=100))


def fitted(state: State) -> State:
    node = state.target.node if state.target else ""
    return advance(state, ev.Fitted(work=state.work, node=node, takes=(0,), model={"name": node}, verdict=GOOD))


def calibrated(state: State, what: str) -> State:
    """Make the takes of a calibration, and let it be found."""
    while step_of(state.target) == what and state.phase is Phase.READY:
        state = taken(state)
    return advance(state, ev.Calibrated(work=state.work, calibration={"found": what}, verdict=GOOD, what=what))


def measured(state: State) -> State:
    """Measure joint after joint until all are there."""
    while state.target is not None and state.target.node:
        state = fitted(taken(state))
    return state


def test_a_rig_with_a_sensor_is_weighed_after_the_tip_or_not_in_one_key() -> None:
    assert progress(checked(WEIGHT)) == (0, 5)
    weighing = calibrated(checked(WEIGHT), TIP)
    assert weighing.target == Target("weight")
    assert advance(weighing, ev.Skip()).target == Target("movement", "hinge")
    weighed = calibrated(weighing, WEIGHT)
    assert weighed.target == Target("movement", "hinge")
    assert weighed.step(WEIGHT).record == {"found": WEIGHT}
    again = advance(weighed, ev.Back(), ev.Back(), ev.Back())
    assert (again.target, again.phase) == (CALIBRATION[-1], Phase.VERDICT)


def test_a_stored_weight_is_used() -> None:
    given = ev.CalibrationGiven(calibration={"stored": "2026-05-04"}, what=WEIGHT)
    state = advance(State(), given, ev.Described(plan=DOOR.to_dict()), ev.RigChecked(offers=(WEIGHT,)))
    assert calibrated(state, TIP).target == Target("movement", "hinge")


def test_a_weight_is_not_measured_while_the_sensor_is_silent() -> None:
    lost = ev.DeviceChanged(device="ft", lost=True, message="The sensor is silent.")
    weighing = advance(calibrated(checked(WEIGHT), TIP), lost, ev.Proceed(t_ns=5))
    assert (weighing.phase, weighing.notice) == (Phase.READY, "The sensor is silent.")


def test_points_are_marked_at_the_review_and_that_is_undone_in_one_key() -> None:
    review = measured(calibrated(checked(), TIP))
    assert review.phase is Phase.REVIEW
    marking = advance(review, ev.MarkPoints())
    assert (marking.phase, marking.target) == (Phase.READY, Target("point_1"))
    assert replace(advance(marking, ev.Back()), notice="") == review
    assert advance(marking, ev.Skip()).phase is Phase.REVIEW
    placed = calibrated(marking, PLACE)
    assert placed.phase is Phase.REVIEW
    assert placed.step(PLACE).record == {"found": PLACE}
    assert len(placed.takes) == len(review.takes) + 3
    again = calibrated(advance(placed, ev.MarkPoints()), PLACE)
    assert sum(t.used for t in again.takes) == sum(t.used for t in placed.takes)


def test_points_need_a_tip() -> None:
    review = measured(advance(checked(), ev.Skip()))
    refused = advance(review, ev.MarkPoints())
    assert refused.phase is Phase.REVIEW
    assert "calibrated tip" in refused.notice


def test_another_tip_makes_everything_anew_from_the_same_takes() -> None:
    placed = calibrated(advance(measured(calibrated(checked(), TIP)), ev.MarkPoints()), PLACE)
    tip = replace(placed, phase=Phase.READY, target=CALIBRATION[0], takes=placed.takes)
    for _ in CALIBRATION:
        tip = taken(tip)
    found = ev.Calibrated(work=tip.work, calibration={"other": 1}, verdict=GOOD, anew=True)
    state = advance(tip, found)
    takes = len(state.takes)
    for node in ("hinge", "lever", "grip"):
        assert state.target == Target("movement", node)
        assert state.phase is Phase.WORKING
        state = fitted(state)
    assert (state.target, state.phase) == (Target("point_3"), Phase.WORKING)
    state = calibrated(state, PLACE)
    assert (state.phase, len(state.takes)) == (Phase.REVIEW, takes)
