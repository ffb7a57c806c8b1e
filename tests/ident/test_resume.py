"""After a crash: the same step, every finished take. A copy of an open session is what `kill -9` leaves behind."""

import queue
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from devices.buffer import PoseBuffer
from devices.clock import HostClock
from devices.samples import PoseSample, PoseState
from fitting.se3 import quaternion_from_rotation
from ident.config import RigConfig
from ident.joints import Rotary
from ident.resume import restore
from ident.rig import Rig
from ident.runner import Runner
from ident.workflow import events as ev
from ident.workflow.machine import step
from ident.workflow.plan import Node, Plan
from ident.workflow.quality import QualityLimits
from ident.workflow.state import Phase, State
from sessions import Recorder

PLAN = Plan("door", (Node("hinge", "rotary"),))
TIP = {"rotation": np.eye(3).tolist(), "offset_m": [0.0, 0.0, 0.0]}
START_NS, STEP_NS, SAMPLES = 1_000_000_000, 8_333_333, 400
STOP_NS = START_NS + SAMPLES * STEP_NS
LOG = (
    ev.Described(t_ns=1, plan=PLAN.to_dict()),
    ev.RigChecked(t_ns=2),
    ev.CalibrationGiven(t_ns=3, calibration=TIP),
    ev.Proceed(t_ns=START_NS),
    ev.Proceed(t_ns=STOP_NS),
)


def movement() -> list[PoseSample]:
    """The example hinge turned once, as the tracked body reports it."""
    poses = Rotary.example().simulate(np.random.default_rng(2), samples=SAMPLES)
    quaternions = quaternion_from_rotation(poses[:, :3, :3])
    return [
        PoseSample(
            START_NS + 1 + i * STEP_NS,
            "gripper",
            i,
            tuple(poses[i, :3, 3].tolist()),
            tuple(quaternions[i].tolist()),
            0.0,
            PoseState.MEASURED,
            START_NS + 1 + i * STEP_NS,
            0,
        )
        for i in range(SAMPLES)
    ]


@dataclass
class Crashes:
    """Copies of one session, each taken when an event had just been written, with the state that was shown."""

    copies: list[tuple[Path, State]] = field(default_factory=list)


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> Crashes:
    folder = tmp_path_factory.mktemp("crashes")
    found, state = Crashes(), State()
    with Recorder(folder / "open.mcap", metadata={"object": "door"}) as recorder:
        recorder.document("rig", {"config": RigConfig().model_dump(mode="json")})
        for event in LOG:
            if state.phase is Phase.RECORDING:
                recorder.poses(movement())
            recorder.event(event.t_ns, event.to_dict())
            recorder.sync()
            state, _ = step(state, event)
            copy = folder / f"crash{len(found.copies)}.mcap"
            shutil.copy(folder / "open.mcap", copy)
            found.copies.append((copy, state))
    return found


def test_every_step_comes_back(crashes: Crashes) -> None:
    for path, shown in crashes.copies:
        _, state, data = restore(path)
        assert state == shown
        assert {take.id for take in state.takes if take.t1_ns} == set(data)


def test_the_unfinished_take_is_in_the_session(crashes: Crashes) -> None:
    path, shown = crashes.copies[-1]
    session, _, data = restore(path)
    assert shown.waiting == "take"
    assert data[0].measured == SAMPLES
    assert len(session.poses("gripper").t_ns) == SAMPLES


@dataclass
class NoRig:
    """Devices that have seen nothing of what was before the crash."""

    body: PoseBuffer = field(default_factory=lambda: PoseBuffer("gripper", 16))
    clock: HostClock = field(default_factory=HostClock)
    reference: None = None


def resumed_states(path: Path) -> Generator[State]:
    """States of a measurement that goes on from a session."""
    _, state, data = restore(path)
    states: queue.SimpleQueue[State] = queue.SimpleQueue()
    with Recorder(path, metadata={}, resume=True) as recorder:
        runner = Runner(recorder, lambda *_: (), QualityLimits(), now_ns=HostClock().now_ns, on_change=states.put)
        runner.start(cast(Rig, NoRig()), state, data)
        try:
            while True:
                runner.raise_failure()
                yield states.get(timeout=60.0)
        finally:
            runner.stop()


def test_a_take_that_was_stopped_but_not_collected_is_fitted(crashes: Crashes) -> None:
    states = resumed_states(crashes.copies[-1][0])
    last = next(state for state in states if state.phase is not Phase.WORKING)
    states.close()
    assert last.phase is Phase.REVIEW
    assert last.takes[0].measured == SAMPLES
    assert [r.node for r in last.results if r.accepted] == ["hinge"]


def test_a_take_that_was_running_has_to_be_made_again(crashes: Crashes) -> None:
    path, shown = crashes.copies[3]
    assert shown.phase is Phase.RECORDING
    states = resumed_states(path)
    first = next(states)
    states.close()
    assert (first.phase, first.target) == (Phase.READY, shown.target)
    assert [take.used for take in first.takes] == [False]


def test_ident_resume_goes_on_after_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ident.cli"]
    demo = [*command, "demo", "--speed", "8", "--out", str(tmp_path)]
    with subprocess.Popen(demo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert any("ok  tip" in line for line in process.stdout)
        process.kill()
    session = tmp_path / "door.mcap"
    _, state, _ = restore(session)
    kept = sum(bool(take.t1_ns) for take in state.takes)
    assert kept >= 2
    resume = [*command, "resume", str(session), "--ui", "line", "--out", str(tmp_path)]
    said = subprocess.run(resume, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    assert f"Stopped. {kept} finished takes are" in said
    assert "hinge" in said


def test_time_goes_on_after_what_is_recorded() -> None:
    later_ns = HostClock().now_ns() + 3600 * 10**9
    assert HostClock(8.0, not_before_ns=later_ns).now_ns() >= later_ns
    assert HostClock(not_before_ns=1).now_ns() < later_ns
