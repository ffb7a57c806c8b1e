"""What is shown during a take: from real buffers, without sockets."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.samples import PoseSample, PoseState, WrenchSample
from fitting.se3 import quaternion_from_rotation
from ident.joints import Prismatic, Rotary
from ident.live import LiveFit, TakeLive, advice, finished, progress_to_goal
from ident.live.fit import live_fit
from ident.live.sketch import Sketch, thinned
from ident.live.watch import Live
from ident.takes import TakeData
from ident.workflow.plan import Node, Plan
from ident.workflow.quality import Finding, QualityLimits, Verdict
from ident.workflow.state import Phase, Result, State, Take, Target

LIMITS = QualityLimits()
HINGE = Plan("door", (Node("hinge", "rotary"),))


def sweep(share: float = 1.0, samples: int = 300) -> np.ndarray:
    """Tip poses of the example hinge, opened by a share of its range."""
    hinge = Rotary.example()
    return replace(hinge, limits=((0.0, share * hinge.upper),)).simulate(np.random.default_rng(3), samples=samples)


def taken(poses: np.ndarray) -> TakeData:
    return TakeData(np.arange(len(poses)) * 8_333_333 + 1, poses, len(poses), 0.01)


def recording(plan: Plan = HINGE, target: Target | None = None) -> State:
    target = target or Target("movement", plan.nodes[0].name)
    return State(phase=Phase.RECORDING, plan=plan, target=target, takes=(Take(0, target, 1),))


def fit(state: State, poses: np.ndarray) -> LiveFit:
    return live_fit(state, state.takes[-1], taken(poses), {}, LIMITS)


def test_sketch_is_bounded_even_and_independent_of_the_pieces() -> None:
    t = np.arange(36_000, dtype=np.int64)
    values = t[:, None].astype(float)
    whole, pieces = Sketch((1,), 400), Sketch((1,), 400)
    whole.feed(t, values)
    for start in range(0, len(t), 37):
        pieces.feed(t[start : start + 37], values[start : start + 37])
    times, kept = pieces.columns()
    assert whole.seen == pieces.seen == 36_000
    assert 200 <= len(times) <= 400
    assert len(np.unique(np.diff(times))) == 1
    assert np.array_equal(times, whole.columns()[0])
    assert np.array_equal(kept[:, 0], times)


def test_thinned_take_keeps_its_counts() -> None:
    data = taken(sweep(samples=1000))
    small = thinned(data, 100)
    assert (small.measured, small.samples) == (100, 1000)


def test_precision_grows_with_the_movement_until_it_is_good() -> None:
    state = recording()
    whole = sweep()
    short, long = fit(state, whole[:60]), fit(state, whole)
    assert long.good
    assert not short.good
    assert progress_to_goal(short, LIMITS) < progress_to_goal(long, LIMITS) == 1.0
    assert long.arc == pytest.approx(Rotary.example().upper, abs=0.03)
    assert long.axis_std < math.radians(LIMITS.axis_std_deg)
    assert long.node is not None


def test_short_arc_asks_to_open_further() -> None:
    live = fit(recording(), sweep(0.05))
    assert not live.good
    assert advice(TakeLive(0, 3.0, 300, 300, fit=live)) == "open it further"


def test_find_out_shows_what_it_looks_like() -> None:
    plan = Plan("drawer", (Node("drawer", "auto"),))
    poses = Prismatic.example().simulate(np.random.default_rng(1), samples=300)
    live = live_fit(recording(plan), recording(plan).takes[0], taken(poses), {}, LIMITS, looks_like="prismatic")
    assert live.kind == "prismatic"
    assert live.travel == pytest.approx(Prismatic.example().upper, abs=0.01)


def test_further_take_is_fitted_together_with_the_first() -> None:
    target = Target("movement", "hinge")
    first = Take(0, target, 1, 2)
    state = replace(recording(), takes=(first, Take(1, target, 3)))
    alone = live_fit(state, state.takes[1], taken(sweep()), {0: taken(sweep())}, LIMITS)
    assert alone.samples == 600


def test_calibration_turn_shows_its_angle() -> None:
    live = fit(recording(HINGE, Target("about_screws")), sweep())
    assert live.good
    assert math.degrees(live.arc) == pytest.approx(math.degrees(Rotary.example().upper), abs=2.0)
    assert not fit(recording(HINGE, Target("about_screws")), sweep(0.2)).good


def test_held_limit_shows_where_the_joint_is() -> None:
    from ident.identify import node_record

    hinge = replace(Rotary.example(), name="hinge")
    state = recording(HINGE, Target("upper_limit", "hinge"))
    state = replace(state, results=(Result("hinge", (), node_record(hinge), Verdict("fine"), accepted=True),))
    held = np.repeat(hinge.pose(np.array([1.2]))[:1] @ hinge.tip2child, 60, axis=0)
    live = fit(state, held)
    assert live.good
    assert live.arc == pytest.approx(1.2, abs=1e-6)
    assert "68.75°" in live.verdict.summary
    assert not fit(state, hinge.pose(np.linspace(0.0, 1.2, 60)) @ hinge.tip2child).good


def test_nothing_to_fit_is_no_error() -> None:
    live = fit(recording(), np.zeros((0, 4, 4)))
    assert not live.good
    assert advice(TakeLive(0, 0.1, 0, 0, fit=live)) == "keep moving"


def test_advice_follows_the_most_basic_finding() -> None:
    def said(code: str) -> str:
        verdict = Verdict("", (Finding(code, "", ""), Finding("imprecise", "", "")))
        return advice(TakeLive(0, 1.0, 100, 100, fit=LiveFit("rotary", verdict)))

    assert said("loose_grip") == "hold it firmly"
    assert said("too_quick") == "slower"
    assert said("outliers") == "further, and back"
    assert said("a code of tomorrow") == "keep moving"
    assert advice(TakeLive(0, 1.0, 100, 100)) == "move it"
    assert advice(TakeLive(0, 1.0, 100, 100, unseen_s=0.4)) == "markers not seen"
    assert advice(TakeLive(0, 1.0, 100, 100, moves=False)) == "hold still"


def test_take_ends_by_itself_only_at_rest_and_when_good() -> None:
    good = TakeLive(0, 5.0, 600, 600, resting_s=1.5, fit=LiveFit("rotary", Verdict("fine")))
    assert finished(good)
    assert not finished(replace(good, resting_s=0.2))
    assert not finished(replace(good, unseen_s=0.5))
    assert not finished(replace(good, fit=LiveFit("rotary", Verdict("", (Finding("imprecise", "", ""),)))))
    assert finished(replace(good, moves=False, resting_s=0.0))
    assert not finished(replace(good, moves=False, seconds=1.0))


@dataclass
class FakeRig:
    clock: HostClock
    body: PoseBuffer = field(default_factory=lambda: PoseBuffer("gripper", 4000))
    wrenches: WrenchBuffer | None = field(default_factory=lambda: WrenchBuffer(4000))
    reference: PoseBuffer | None = None


@dataclass
class FakeSource:
    state: State
    data: dict[int, TakeData] = field(default_factory=dict)


def fill(rig: FakeRig, poses: np.ndarray, t0_ns: int, lost: slice = slice(0, 0)) -> None:
    states = np.full(len(poses), PoseState.MEASURED)
    states[lost] = PoseState.UNTRACKED
    for i, pose in enumerate(poses):
        t = t0_ns + i * 8_333_333
        x, y, z = pose[:3, 3].tolist()
        a, b, c, w = quaternion_from_rotation(pose[:3, :3]).tolist()
        rig.body.append(PoseSample(t, "gripper", i, (x, y, z), (a, b, c, w), 0.0, PoseState(states[i]), t, 0))
        if rig.wrenches is not None:
            rig.wrenches.append(WrenchSample(t, i, (3.0, 0.0, 4.0), (0.0, 0.1, 0.0), 0, True, t))


def test_live_follows_a_take_from_the_buffers() -> None:
    clock = HostClock()
    rig, source = FakeRig(clock), FakeSource(State())
    live = Live(rig, source, LIMITS)  # type: ignore[arg-type]
    assert live.status().mocap.state == "silent"
    now = clock.now_ns()
    start = now - 300 * 8_333_333
    poses = np.concatenate([sweep(samples=260), np.repeat(sweep(samples=260)[-1:], 40, axis=0)])
    fill(rig, poses, start, lost=slice(50, 110))
    source.state = replace(recording(), takes=(Take(0, Target("movement", "hinge"), start),))
    with live:
        while (take := live.status().take) is None or take.fit is None or not take.fit.kind:
            pass
    assert take.samples == 300
    assert take.measured == 240
    assert take.fit.kind == "rotary"
    # Half a second without the markers: the final verdict would say so, and so does the live one.
    assert [f.code for f in take.fit.verdict.findings][:1] == ["tracking_lost"]
    status = live.status()
    assert status.load.force_n == pytest.approx(5.0)
    assert live.track is not None
    assert live.track.resting_s > 0.0 or take.resting_s == 0.0
    assert len(live.track.wrench) == 300


def test_lost_terminal_of_the_sensor_and_no_sensor_at_all() -> None:
    rig = FakeRig(HostClock())
    live = Live(rig, FakeSource(State()), LIMITS)  # type: ignore[arg-type]
    ft = live.status().ft
    assert ft is not None
    assert ft.state == "silent"
    assert math.isinf(ft.age_s)
    rig.wrenches = None
    assert live.status().ft is None
