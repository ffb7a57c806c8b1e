"""The evaluation of the source (its chapter 4) on the simulated rig, with its own method on the same data.

Each experiment is a sequence of movements through packets, workflow, calibration and fits. Single joints are fitted
to one take each, whatever the verdict on it; complete models are made as an operator makes them, who follows the
advice of the workstation. The source's method gets the same takes.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fitting import FitFailure
from fitting.se3 import Array
from ident.identify import build_tree, solve_node
from ident.joints.node import Node
from ident.study import source_method as source
from ident.study.offline import OfflineRig, Outcome, content, identify
from ident.study.ruler import Bar, Ruler
from ident.study.statistics import Errors, line_errors
from ident.study.trials import Task, run_tasks
from ident.truth import compare
from ident.ui.script import answer
from ident.workflow.plan import ROOT, Plan
from ident.workflow.quality import QualityLimits
from ident.workflow.state import CALIBRATION, TIP, State, Target

BAR = Path(__file__).parent / "scenes" / "bar.toml"


@dataclass(frozen=True)
class Experiment:
    """What is measured in one trial."""

    scene: str | Path
    nodes: tuple[str, ...] = ()
    """Joints and handles to measure; none: all of the object."""
    style: str = "normal"
    complete: bool = False
    """The whole procedure with second takes where the verdict asks for them; else one take each."""


EXPERIMENTS: Mapping[str, Experiment] = {
    "reoriented": Experiment("testbench", ("turn",), "reorient"),
    "outliers rotary": Experiment("testbench", ("turn",), "stark_outliers"),
    "outliers prismatic": Experiment("testbench", ("slide",), "stark_outliers"),
    "test bench": Experiment("testbench", complete=True),
    "bar": Experiment(BAR, complete=True),
    "cabinet": Experiment("cabinet", complete=True),
    "door": Experiment("door", complete=True),
    "test bench once": Experiment("testbench"),
    "bar once": Experiment(BAR),
    "cabinet once": Experiment("cabinet", ("top", "top_handle")),
    "door once": Experiment("door"),
}


@dataclass(frozen=True)
class Row:
    """One row of the source's tables, or a joint of its complete models."""

    table: str
    title: str
    experiment: str
    node: str
    variant: str = ""
    """``plain``: without robustness (its method only); ``body``: tip not calibrated."""
    angle_deg: tuple[float, float] | None = None
    """Published error of the axis' direction and its standard deviation."""
    position_mm: tuple[float, float] | None = None
    """Published error of the axis' position and its standard deviation."""
    bar: Bar | None = None
    """What the source held its probe against, where it published a figure."""
    remark: str = ""
    """Published in words."""

    @property
    def key(self) -> str:
        """Name of the row in a trial's result."""
        return f"{self.node} {self.variant}".strip()


_TIP, _OUTLIERS, _MECHANISMS = "4.1 Tip calibrated or not", "4.2 Stark outliers", "4.3 Mechanisms"
_COMPLETE, _ONCE = "4.2.4 Complete models", "One take each, whatever the verdict"
_CENTRAL, _HANDLE, _CABINET_HANDLE = Bar(15.0, 0.25), Bar(15.0, 0.10), Bar(7.5, 0.10)
_DRAWER = Bar(0.0, 0.38)
ROWS: tuple[Row, ...] = (
    Row(_TIP, "rotary, tip calibrated", "reoriented", "turn", "", (0.539, 0.184), (8.2, 3.081), bar=_CENTRAL),
    Row(_TIP, "rotary, tip not calibrated", "reoriented", "turn", "body", (2.260, 1.178), (11.4, 4.669), bar=_CENTRAL),
    Row(_OUTLIERS, "rotary, RANSAC", "outliers rotary", "turn", "", (1.040, 0.880), (6.717, 1.858), bar=_CENTRAL),
    Row(
        _OUTLIERS, "rotary, no RANSAC", "outliers rotary", "turn", "plain", (6.066, 3.302), (4.962, 1.617), bar=_CENTRAL
    ),
    Row(_OUTLIERS, "prismatic, RANSAC", "outliers prismatic", "slide", "", (1.083, 0.540), bar=_CENTRAL),
    Row(_OUTLIERS, "prismatic, no RANSAC", "outliers prismatic", "slide", "plain", (12.659, 1.136), bar=_CENTRAL),
    Row(_MECHANISMS, "rotary joint", "test bench", "turn", "", (0.379, 0.164), (5.217, 2.544), bar=_CENTRAL),
    Row(_MECHANISMS, "prismatic joint, shaky", "test bench", "slide", "", (1.265, 0.530), bar=_CENTRAL),
    Row(_MECHANISMS, "handle, Ø 30 mm", "test bench", "handle", "", (1.030, 0.535), (14.495, 10.748), bar=_HANDLE),
    Row(_MECHANISMS, "second handle", "bar", "bar", "", (0.646, 0.550), (7.056, 1.096), bar=_CENTRAL),
    Row(_MECHANISMS, "cabinet drawer", "cabinet", "top", "", (0.0486, 0.0150), bar=_DRAWER),
    Row(
        _MECHANISMS,
        "cabinet handle, Ø 15 mm",
        "cabinet",
        "top_handle",
        "",
        (0.565, 0.011),
        (15.051, 1.716),
        bar=_CABINET_HANDLE,
    ),
    Row(_COMPLETE, "cabinet: middle drawer", "cabinet", "middle"),
    Row(_COMPLETE, "cabinet: bottom drawer", "cabinet", "bottom"),
    Row(_COMPLETE, "cabinet: middle handle", "cabinet", "middle_handle"),
    Row(_COMPLETE, "cabinet: bottom handle", "cabinet", "bottom_handle"),
    Row(_COMPLETE, "door: hinge", "door", "hinge", remark="“easily done”"),
    Row(_COMPLETE, "door: lever, 20°", "door", "lever", remark="“unstable”"),
    Row(_COMPLETE, "door: handle", "door", "handle"),
    Row(_ONCE, "rotary joint, once", "test bench once", "turn", "", (0.379, 0.164), (5.217, 2.544), bar=_CENTRAL),
    Row(_ONCE, "prismatic joint, once", "test bench once", "slide", "", (1.265, 0.530), bar=_CENTRAL),
    Row(_ONCE, "handle, once", "test bench once", "handle", "", (1.030, 0.535), (14.495, 10.748), bar=_HANDLE),
    Row(_ONCE, "second handle, once", "bar once", "bar", "", (0.646, 0.550), (7.056, 1.096), bar=_CENTRAL),
    Row(_ONCE, "cabinet drawer, once", "cabinet once", "top", "", (0.0486, 0.0150), bar=_DRAWER),
    Row(
        _ONCE,
        "cabinet handle, once",
        "cabinet once",
        "top_handle",
        "",
        (0.565, 0.011),
        (15.051, 1.716),
        bar=_CABINET_HANDLE,
    ),
    Row(_ONCE, "lever of 20°, once", "door once", "lever", remark="“unstable”"),
)


def study_thesis(
    seed: int, trials: int, folder: Path, *, jobs: int = 1, on_done: Callable[[int], None] = lambda _: None
) -> list[tuple[Row, list[dict[str, Any]]]]:
    """Run all experiments ``trials`` times each; every row with its results, trial by trial."""
    tasks = tasks_of(seed, trials)
    results = run_tasks(run_trial, tasks, folder, jobs=jobs, on_done=on_done)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in EXPERIMENTS}
    for task, result in zip(tasks, results, strict=True):
        found[task.experiment].append(result)
    return [(row, [result[row.key] for result in found[row.experiment]]) for row in ROWS]


def tasks_of(seed: int, trials: int) -> list[Task]:
    """Every trial of every experiment."""
    return [Task(name, trial, seed) for name in EXPERIMENTS for trial in range(trials)]


def run_trial(task: Task) -> dict[str, Any]:
    """One trial: errors of ours and of the source's method for each row of the experiment."""
    experiment = EXPERIMENTS[task.experiment]
    rig = OfflineRig(experiment.scene, task.trial_seed)
    plan = _part(rig.plan(), experiment.nodes)
    done = identify(rig, style=experiment.style, plan=plan, operator=answer if experiment.complete else content)
    truth = {item["name"]: item for item in (*rig.truth()["joints"], *rig.truth()["handles"])}
    tree = build_tree(done.state)
    ours = {r.name: Errors(r.axis_error_deg, r.position_error_mm) for r in compare(tree, rig.truth())}
    rng, ruler_rng = np.random.default_rng(task.trial_seed), np.random.default_rng([task.trial_seed, 1])
    screws, bar = (_takes(done, target) for target in CALIBRATION)
    tip = source.find_tip(screws, bar, rng)
    found: dict[str, Any] = {}
    for row in ROWS:
        if row.experiment != task.experiment:
            continue
        item, movement = truth[row.node], Target("movement", row.node)
        mine, claimed = ours[row.node], _claimed(tree.nodes.get(row.node))
        if row.variant == "body":
            mine, claimed = _uncalibrated(done, row.node, item)
        axis = _theirs(_takes(done, movement), tip, item, row.variant, rng)
        theirs = line_errors(axis.direction, axis.point, item)
        by_ruler = Errors(math.nan, math.nan)
        if row.bar is not None:
            by_ruler = line_errors(axis.direction, axis.point, Ruler().reference(item, row.bar, ruler_rng))
        takes = sum(take.target == movement for take in done.state.takes)
        again = takes > 1 or not _good(done.state, row.node)
        errors = {"ours": mine, "theirs": theirs, "by_ruler": by_ruler, "claimed": claimed}
        found[row.key] = {**{who: plain(value) for who, value in errors.items()}, "again": again}
    return found


def _part(plan: Plan, names: tuple[str, ...]) -> Plan:
    """Only some of the joints; a parent that is left out stands still, at its lower end."""
    if not names:
        return plan
    nodes = tuple(
        node if node.parent in names else replace(node, parent=ROOT) for node in plan.nodes if node.name in names
    )
    return Plan(plan.name, nodes)


def _takes(done: Outcome, target: Target) -> Array:
    """Body poses of the takes that counted, one after the other."""
    return np.concatenate([done.data[take.id].poses for take in done.state.used_takes(target)])


def _good(state: State, node: str) -> bool:
    result = state.result(node)
    return result is not None and result.verdict.good


def _claimed(node: Node | None) -> Errors:
    """Standard deviations that our fit claims."""
    evidence = node.evidence if node is not None else None
    if evidence is None:
        return Errors(math.nan, math.nan)
    return Errors(math.degrees(evidence.axis_std), 1e3 * evidence.position_std)


def _uncalibrated(done: Outcome, node: str, item: Mapping[str, Any]) -> tuple[Errors, Errors]:
    """Errors and claims of our fit to the tracked body's own frame."""
    solved = solve_node(done.state.with_step(TIP, record=None), node, done.data, QualityLimits())
    if isinstance(solved, FitFailure):
        return Errors(math.inf, math.inf), _claimed(None)
    found = solved.node
    return line_errors(found.origin[:3, 2], found.origin[:3, 3], item), _claimed(found)


def _theirs(bodies: Array, tip: Array, item: Mapping[str, Any], variant: str, rng: np.random.Generator) -> source.Axis:
    points = source.positions(bodies, np.zeros(3) if variant == "body" else tip)
    robust = variant != "plain"
    if item.get("type") == "prismatic":
        return source.fit_line(points, rng, robust=robust)
    if item.get("type") == "rotary":
        return source.fit_circle(points, rng, robust=robust)
    return source.fit_handle(bodies, tip, rng)


def plain(errors: Errors) -> list[float | None] | None:
    """As JSON, which has no NaN; an infinite error is no fit."""
    if math.isinf(errors.angle_deg):
        return None
    return [value if math.isfinite(value) else None for value in (errors.angle_deg, errors.position_mm)]
