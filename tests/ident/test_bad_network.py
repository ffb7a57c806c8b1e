"""An identification over a network that loses, repeats, reorders and delays, and over a rig that comes back another."""

import io
import queue
import threading
from pathlib import Path

from devices.sim import SimulatedRig
from devices.sim.relay import Impairments, LossyRelay
from ident.config import ForceTorque, Mocap, RigConfig
from ident.demo import operate
from ident.identify import build_tree
from ident.measure import Setup, measurement
from ident.simulated import SimulatedHand, simulated_config
from ident.truth import compare
from ident.ui.lines import Lines
from ident.workflow import events as ev
from ident.workflow.plan import Node, Plan
from ident.workflow.state import State
from sessions import open_session

SPEED = 3.0
PLAN = Plan("bench", (Node("turn", "rotary"), Node("slide", "prismatic", "turn")))
BAD = Impairments(loss=0.05, duplicates=0.01, reordered=0.02, jitter_s=0.02 / SPEED, seed=4)


def test_an_identification_ends_well_over_a_bad_network_and_counts_its_gaps(tmp_path: Path) -> None:
    states: queue.SimpleQueue[State] = queue.SimpleQueue()
    with SimulatedRig("testbench", seed=5, speed=SPEED) as sim:
        at = sim.endpoints
        mocap = LossyRelay((at.host, at.natnet_command), BAD)
        ft = LossyRelay((at.host, at.rdt), BAD)
        with mocap, ft:
            config = RigConfig(
                mocap=Mocap(server=mocap.address[0], command_port=mocap.address[1], body="gripper"),
                ft=ForceTorque(host=ft.address[0], rdt_port=ft.address[1], http_port=at.http),
            )
            setup = Setup(config, tmp_path / "s.mcap", tmp_path, SPEED)
            with measurement(setup, states.put) as m:
                m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
                m.runner.post(ev.Described(plan=PLAN.to_dict()))
                state = operate(m.runner, states, Lines(io.StringIO()))
                lost_frames = m.rig.mocap.health().lost_frames
                frames = m.rig.mocap.health().frames
                account = m.rig.ft.health().account if m.rig.ft is not None else None
        truth = sim.truth()
    rows = [row for row in compare(build_tree(state), truth) if row.name in PLAN]
    assert all(row.within for row in rows), rows
    # 5 % lost by the network and 0.1 % by the rig itself, counted by the devices' own numbers.
    assert 0.03 < lost_frames / (frames + lost_frames) < 0.08
    assert account is not None
    assert 0.03 < account.lost / (account.lost + account.delivered) < 0.08
    assert account.duplicates > 0
    info = open_session(tmp_path / "s.mcap").info()
    assert info.takes


def test_a_rig_that_comes_back_with_another_version_is_used_again(tmp_path: Path) -> None:
    states: queue.SimpleQueue[State] = queue.SimpleQueue()
    with SimulatedRig("testbench", seed=6, speed=SPEED, natnet_version=(4, 1)) as sim:
        setup = Setup(simulated_config(sim), tmp_path / "s.mcap", tmp_path, SPEED)
        with measurement(setup, states.put) as m:
            m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            calibrated = threading.Event()
            once = threading.Lock()

            def pull_the_plug() -> None:
                calibrated.wait()
                sim.kill()

            def come_back() -> None:
                if sim._process is None and once.acquire(blocking=False):
                    sim.restart(natnet_version=(3, 0))

            thread = threading.Thread(target=pull_the_plug)
            thread.start()

            class Watched(Lines):
                def show(self, state: State) -> None:
                    if state.calibration is not None:
                        calibrated.set()
                    super().show(state)

            said = io.StringIO()
            m.runner.post(ev.Described(plan=PLAN.to_dict()))
            state = operate(m.runner, states, Watched(said, guide=False), come_back)
            thread.join()
            assert m.rig.mocap.health().version == (3, 0)
        truth = sim.truth()
    assert "No NatNet frames" in said.getvalue()
    assert "streams again" in said.getvalue()
    assert all(row.within for row in compare(build_tree(state), truth) if row.name in PLAN)
    events = open_session(tmp_path / "s.mcap").device_events()
    assert {"lost", "resumed"} <= {entry.content["kind"] for entry in events}, "the gap is in the record"
