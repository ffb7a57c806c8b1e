"""What an identification costs its operator: actions and seconds, per joint and for a whole object.

Simulated operators make the movements at the pace of people; what lies between them (reading the prompt, walking up,
gripping) is not simulated and is added as a stated allowance. Recorded sessions say it all themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ident.resume import restore
from ident.study.offline import OfflineRig, identify
from ident.study.trials import Task, run_tasks
from ident.workflow import events as ev

OBJECTS = ("testbench", "cabinet", "door")
BETWEEN_S = 10.0
"""Seconds between two takes for reading the prompt and gripping the next part; assumed, not measured."""
PUBLISHED_S = 600.0
"""The source's ten minutes for its test mechanism."""
OPERATOR = {
    cls.__name__
    for cls in (
        *(ev.Proceed, ev.Redo, ev.AddTake, ev.Accept, ev.Skip, ev.Back, ev.GoTo, ev.MeasureLimits, ev.Place),
        *(ev.ChangeType, ev.Rename, ev.Insert, ev.Remove),
    )
}
"""Events that are an act of the operator."""


@dataclass(frozen=True)
class Effort:
    """Cost of one object, or of one joint of it."""

    what: str
    joints: int
    """Joints and handles."""
    actions: float
    """Presses of the trigger and other answers of the operator."""
    takes: float
    moving_s: float
    """Length of the takes."""
    total_s: float
    """From the first take to the saved model; of simulated operators with the allowance between takes."""

    @property
    def per_joint(self) -> float:
        """Seconds per joint or handle, calibration included."""
        return self.total_s / max(self.joints, 1)


def study_time(
    seed: int, trials: int, folder: Path, *, jobs: int = 1, on_done: Callable[[int], None] = lambda _: None
) -> list[Effort]:
    """Means over simulated identifications of the shipped objects."""
    tasks = tasks_of(seed, trials)
    results = run_tasks(run_trial, tasks, folder, jobs=jobs, on_done=on_done)
    efforts = []
    for name in OBJECTS:
        found = [r for task, r in zip(tasks, results, strict=True) if task.parameters["object"] == name]
        actions, takes, moving = (float(np.mean([r[key] for r in found])) for key in ("actions", "takes", "moving_s"))
        total = moving + takes * BETWEEN_S
        efforts.append(Effort(f"{name}, simulated", int(found[0]["joints"]), actions, takes, moving, total))
    return efforts


def tasks_of(seed: int, trials: int) -> list[Task]:
    """Every trial of every object."""
    return [Task("time", trial, seed, {"object": name}) for name in OBJECTS for trial in range(trials)]


def run_trial(task: Task) -> dict[str, Any]:
    """One whole identification by the scripted operator."""
    done = identify(OfflineRig(str(task.parameters["object"]), task.trial_seed))
    return {
        "joints": len(done.state.plan.nodes),
        "actions": done.presses,
        "takes": len(done.state.takes),
        "moving_s": done.seconds,
    }


def session_effort(path: Path) -> Effort:
    """Cost of a recorded session, by its own clock."""
    session, state, _ = restore(path)
    entries = session.events()
    actions = sum(entry.content.get("event") in OPERATOR for entry in entries)
    ended = [take for take in state.takes if take.t1_ns]
    moving = sum(take.t1_ns - take.t0_ns for take in ended) * 1e-9
    begin = min((take.t0_ns for take in ended), default=entries[0].t_ns)
    return Effort(
        f"{path.name}, recorded",
        sum(result.accepted for result in state.results),
        actions,
        len(ended),
        moving,
        (entries[-1].t_ns - begin) * 1e-9,
    )
