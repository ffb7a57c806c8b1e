"""The demonstration: a scripted operator identifies a simulated object over real sockets, and truth is known."""

import math
import queue
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from devices.sim import SimulatedRig
from fitting.se3 import Array
from ident.description import plan_from_tables
from ident.measure import Setup, measurement
from ident.model import load_model
from ident.runner import Runner
from ident.simulated import SimulatedHand, simulated_config
from ident.tree import KinematicTree
from ident.ui.lines import Lines
from ident.ui.script import answer
from ident.workflow import events as ev
from ident.workflow.plan import Plan
from ident.workflow.state import Phase, State

AXIS_GOAL_DEG = 1.0
POSITION_GOAL_MM = 5.0
"""Within these of the truth a robot's gripper opens the object without a fight."""


@dataclass(frozen=True)
class Row:
    """Truth against identified, of one joint or handle."""

    name: str
    kind: str
    axis_error_deg: float
    position_error_mm: float
    """NaN for prismatic joints, whose axis may lie anywhere."""
    limits: str
    truth: str

    @property
    def within(self) -> bool:
        """Whether the goals are met."""
        position = 0.0 if math.isnan(self.position_error_mm) else self.position_error_mm
        return self.axis_error_deg <= AXIS_GOAL_DEG and position <= POSITION_GOAL_MM


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
        _identify(sim, plan, seed, speed, folder, out)
        return compare(load_model(folder / f"{plan.name}.model.json"), sim.truth())


def _identify(sim: SimulatedRig, plan: Plan, seed: int, speed: float, folder: Path, out: TextIO) -> None:
    states: queue.SimpleQueue[State] = queue.SimpleQueue()
    setup = Setup(
        config=simulated_config(sim),
        session=folder / f"{plan.name}.mcap",
        folder=folder,
        speed=speed,
        metadata={"object": plan.name, "seed": seed, "speed": speed, "operator": "scripted"},
        overwrite=True,
    )
    with measurement(setup, states.put) as m:
        m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
        m.runner.post(ev.Described(plan=plan.to_dict()))
        operate(m.runner, states, Lines(out, guide=False))


def operate(runner: Runner, states: "queue.SimpleQueue[State]", lines: Lines) -> State:
    """Answer each state as the scripted operator would, until the model is saved."""
    answered: tuple[Any, ...] = ()
    while True:
        state = states.get()
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


def compare(model: KinematicTree, truth: Mapping[str, Any]) -> tuple[Row, ...]:
    """Errors of each joint and handle of the truth, with every joint at its lower limit."""
    return tuple(_row(model, item) for item in (*truth["joints"], *truth["handles"]))


def _row(model: KinematicTree, item: Mapping[str, Any]) -> Row:
    name = item["name"]
    kind = item.get("type") or f"handle, {item['dof']} DoF"
    if name not in model.nodes:
        return Row(name, kind, math.inf, math.inf, "missing", "")
    node = model[name]
    frame = model.pose(node.parent) @ node.origin
    axis, point = np.asarray(item["axis"], dtype=float), np.asarray(item["point"], dtype=float)
    directed = "type" in item
    cosine = float(frame[:3, 2] @ axis)
    sine = float(np.linalg.norm(np.cross(frame[:3, 2], axis)))
    angle = math.degrees(math.atan2(sine, cosine if directed else abs(cosine)))
    position = math.nan if kind == "prismatic" else 1e3 * _distance(frame[:3, 3], point, axis)
    found = "  ".join(_span(c.unit, hi - lo) for c, (lo, hi) in zip(node.coordinates, node.limits, strict=True))
    true = _span("m" if kind == "prismatic" else "rad", item["upper"] - item["lower"]) if directed else ""
    return Row(name, kind, angle, position, found, true)


def _distance(at: Array, point: Array, axis: Array) -> float:
    offset = at - point
    return float(np.linalg.norm(offset - (offset @ axis) * axis))


def _span(unit: str, value: float) -> str:
    return f"{math.degrees(value):.1f}°" if unit == "rad" else f"{value * 1e3:.1f} mm"
