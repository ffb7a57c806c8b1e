"""The demonstration: a scripted operator identifies a simulated object over real sockets, and truth is known."""

import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from devices.sim import SimulatedRig
from ident.description import plan_from_tables
from ident.measure import Setup, measurement
from ident.model import load_model
from ident.preparing import TOLD
from ident.runner import Runner
from ident.simulated import SimulatedHand, simulated_config
from ident.truth import Row, compare
from ident.ui.lines import Lines
from ident.ui.script import answer
from ident.workflow import events as ev
from ident.workflow.plan import Plan
from ident.workflow.state import Phase, State

REVIVE_S = 1.0
"""Real seconds of silence after which it is looked whether the simulated rig is still there."""


def run_demo(name: str, *, seed: int, speed: float, folder: Path, out: TextIO) -> tuple[Row, ...]:
    """Identify a simulated object and compare with the truth; missing nodes have rows with infinite errors."""
    with SimulatedRig(object=name, seed=seed, speed=speed) as sim:
        plan, _ = plan_from_tables(sim.description())
        at = sim.endpoints
        print(
            f"Identifying '{plan.name}' (seed {seed}) at {speed:g} times real time.\n"
            f"Simulated rig: NatNet at {at.host}:{at.natnet_command}, Net F/T at {at.host}:{at.rdt}.",
            file=out,
            flush=True,
        )
        _identify(sim, plan, name, seed, speed, folder, out)
        return compare(load_model(folder / f"{plan.name}.model.json"), sim.truth())


def _identify(sim: SimulatedRig, plan: Plan, scene: str, seed: int, speed: float, folder: Path, out: TextIO) -> None:
    states: queue.SimpleQueue[State] = queue.SimpleQueue()
    setup = Setup(
        config=simulated_config(sim),
        session=folder / f"{plan.name}.mcap",
        folder=folder,
        speed=speed,
        metadata={"object": plan.name, "scene": scene, "seed": seed, "speed": speed, "operator": "scripted"},
        overwrite=True,
    )
    with measurement(setup, states.put) as m:
        if not m.fits.ready:
            print(TOLD, file=out, flush=True)
        m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
        m.runner.post(ev.Described(plan=plan.to_dict()))

        def revive() -> None:
            if sim.process.poll() is not None:
                print("! The simulated rig ended; it is started again.", file=out, flush=True)
                sim.restart()

        operate(m.runner, states, Lines(out, guide=False), revive)


def operate(
    runner: Runner, states: "queue.SimpleQueue[State]", lines: Lines, revive: Callable[[], None] = lambda: None
) -> State:
    """Answer each state as the scripted operator would, until the model is saved.

    ``revive`` is called again and again while a device is silent.
    """
    answered: tuple[Any, ...] = ()
    state = State()
    while True:
        try:
            state = states.get(timeout=REVIVE_S)
        except queue.Empty:
            if state.lost:
                revive()
            continue
        runner.raise_failure()
        lines.show(state)
        if state.phase is Phase.FINISHED:
            return state
        if state.lost:
            answered = ()
            continue
        # The same question is answered once, whatever else (a device's message, say) brings the state here again.
        question = (state.phase, state.target, len(state.takes), state.work, state.problems)
        event = answer(state)
        if event is not None and question != answered:
            answered = question
            runner.post(event)
