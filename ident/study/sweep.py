"""How far must I open it, how still must I hold? Error and claimed uncertainty of a hinge against what spoils it.

Hinges on the simulated rig with every disturbance at its default, and one of them varied, for several arcs. A trial is
one session: a tip calibration, then a hinge of each arc. Takes go through packets, calibration and fit; outliers and
hidden stretches are put into the take afterwards, where their share is exact.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibration import Tip, tip_by_two_rotations
from devices.sim import Disturbances, Scene
from devices.sim.scene_file import parse_scene
from fitting import FitFailure
from fitting.se3 import Array, frame, rotation_exp
from ident.identify import SEED
from ident.joints.evidence import Evidence
from ident.joints.rotary import Rotary
from ident.study.limit import rotary_limit
from ident.study.offline import OfflineRig
from ident.study.statistics import line_errors
from ident.study.trials import Task, run_tasks
from ident.systematic import SEAT, widened
from ident.workflow.quality import QualityLimits

ARCS_DEG = (10.0, 20.0, 45.0, 90.0, 150.0)
RADIUS_M = 0.3
CHI2_95 = 5.991
"""95 % quantile of chi² with two degrees of freedom: tilt and shift of an axis have two components each."""
BURST = 24
"""Samples in one burst of outliers: 0.2 s."""


@dataclass(frozen=True)
class Parameter:
    """One thing that is varied."""

    name: str
    title: str
    values: tuple[float, ...]


PARAMETERS: Mapping[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("radius", "radius (m)", (0.05, 0.15, 0.3, 0.8)),
        Parameter("noise", "position noise (mm)", (0.1, 0.4, 1.0, 2.0)),
        Parameter("outliers", "share of outliers", (0.0, 0.1, 0.2, 0.3)),
        Parameter("grip", "grip turns by up to (°)", (0.0, 5.0, 15.0, 30.0)),
        Parameter("hidden", "share hidden", (0.0, 0.2, 0.4, 0.6)),
        Parameter("takes", "number of takes", (1.0, 2.0, 3.0, 5.0)),
    )
}


@dataclass(frozen=True)
class Cell:
    """All trials with one value of one parameter at one arc."""

    parameter: Parameter
    value: float
    arc_deg: float
    angle_deg: float
    """Median error of the axis' direction."""
    position_mm: float
    """Median error of the axis' position."""
    claimed_angle_deg: float
    """Median claimed standard deviation; like the error, of both components together."""
    claimed_position_mm: float
    limit_angle_deg: float
    """Cramér–Rao limit for white noise and a rigid grip, poses measured."""
    limit_position_mm: float
    inside_angle: int
    """Trials whose 95 % region contains the true direction."""
    inside_position: int
    square_angle: float
    """Mean squared error of the direction over what is claimed: two where claims are right on the average."""
    square_position: float
    fitted: int
    failed: int


def study_sweep(
    seed: int, trials: int, folder: Path, *, jobs: int = 1, on_done: Callable[[int], None] = lambda _: None
) -> list[Cell]:
    """Vary every parameter."""
    tasks = tasks_of(seed, trials)
    results = run_tasks(run_trial, tasks, folder, jobs=jobs, on_done=on_done)
    cells = []
    for parameter in PARAMETERS.values():
        for value in parameter.values:
            asked = {"parameter": parameter.name, "value": value}
            found = [r for task, r in zip(tasks, results, strict=True) if task.parameters == asked]
            cells += [_cell(parameter, value, i, [r[i] for r in found]) for i in range(len(ARCS_DEG))]
    return cells


def tasks_of(seed: int, trials: int) -> list[Task]:
    """Every trial with every value. Each has a seed of its own: what is counted over cells are independent trials."""
    return [
        Task(f"sweep {p.name} {value:g}", trial, seed, {"parameter": p.name, "value": value})
        for p in PARAMETERS.values()
        for value in p.values
        for trial in range(trials)
    ]


def run_trial(task: Task) -> list[dict[str, float] | None]:
    """One hinge per arc; None where there is no fit."""
    parameter, value = str(task.parameters["parameter"]), float(task.parameters["value"])
    rig = OfflineRig(hinges_scene(_radius(parameter, value)), task.trial_seed, _disturbances(parameter, value))
    turns = [rig.perform({"kind": kind}).poses for kind in ("about_screws", "about_handle")]
    tip = tip_by_two_rotations(*turns, seat=SEAT, rng=np.random.default_rng(SEED))
    if not isinstance(tip, Tip):
        return [None] * len(ARCS_DEG)
    rng = np.random.default_rng(task.trial_seed)
    return [_one(parameter, value, arc, rig, tip, rng) for arc in ARCS_DEG]


def _one(
    parameter: str, value: float, arc_deg: float, rig: OfflineRig, tip: Tip, rng: np.random.Generator
) -> dict[str, float] | None:
    tip2body = frame(tip.rotation, tip.offset)
    name, takes = _name(arc_deg), []
    for _ in range(int(value) if parameter == "takes" else 1):
        data = rig.perform({"kind": "joint", "name": name})
        takes.append(_spoiled(parameter, value, data.tip(tip2body), rng))
    fitted = Rotary.fit(takes, name=name, parent="root", rng=np.random.default_rng(SEED))
    if isinstance(fitted, FitFailure):
        return None
    doubt = tip2body[:3, :3].T @ tip.covariance[:3, :3] @ tip2body[:3, :3]
    fitted = widened(fitted, takes, QualityLimits(), doubt)
    if fitted.evidence is None:
        return None
    truth = next(joint for joint in rig.truth()["joints"] if joint["name"] == name)
    errors = line_errors(fitted.origin[:3, 2], fitted.origin[:3, 3], truth)
    tilt, shift = inside(fitted.evidence, truth)
    return {
        "angle_deg": errors.angle_deg,
        "position_mm": errors.position_mm,
        "claimed_angle_deg": math.degrees(fitted.evidence.axis_std),
        "claimed_position_mm": 1e3 * fitted.evidence.position_std,
        "tilt": tilt,
        "shift": shift,
        "samples": float(sum(len(take) for take in takes)),
    }


def inside(evidence: Evidence, truth: Mapping[str, Any]) -> tuple[float, float]:
    """Squared Mahalanobis distances of the true axis' tilt and shift from what a fit claims (chi², two each)."""
    if evidence.basis is None or evidence.covariance is None:
        return math.nan, math.nan
    axis = np.asarray(truth["axis"], dtype=float)
    found = np.cross(evidence.basis[0], evidence.basis[1])
    axis = axis if axis @ found > 0 else -axis
    # Where the true axis meets the plane through the stated point at right angles to the found axis.
    offset = np.asarray(truth["point"], dtype=float) - evidence.point
    meets = offset - (offset @ found) / (axis @ found) * axis
    return (
        _squared(evidence.basis @ axis, evidence.covariance[:2, :2]),
        _squared(evidence.basis @ meets, evidence.covariance[2:, 2:]),
    )


def _squared(error: Array, covariance: Array) -> float:
    return float(error @ np.linalg.solve(covariance, error))


def hinges_scene(radius: float) -> Scene:
    """Hinges at 0.9 m height, one for each arc, all in one place; gripped on bars along the axis at ``radius`` (m)."""
    return parse_scene(
        """
name = "hinges"
rest = [0.95, 0.35, 1.15]
[calibration]
point = [0.10, 0.90, 1.10]
axis = [0.10, 0.05, 1.0]
radius_m = 0.015
approach = [0.0, 1.0, 0.0]
dimple = [0.30, 0.60, 0.80]
table = [0.35, 0.55, 0.80]
"""
        + "".join(_hinge(arc, radius) for arc in ARCS_DEG),
        "hinges",
    )


def _name(arc_deg: float) -> str:
    return f"hinge{arc_deg:g}"


def _hinge(arc_deg: float, radius: float) -> str:
    return f"""
[[joint]]
name = "{_name(arc_deg)}"
type = "rotary"
parent = "root"
axis = [0.02, -0.03, -1.0]
point = [0.20, 1.00, 0.0]
range_deg = {arc_deg}
grip = "bar{arc_deg:g}"
friction = 1.0
breakaway = 1.0
damping = 0.5
inertia = 0.5
stop_stiffness = 1000.0
[[handle]]
name = "bar{arc_deg:g}"
parent = "{_name(arc_deg)}"
axis = [0.0, 0.0, 1.0]
point = [{0.20 + radius}, 1.00, 0.85]
length_m = 0.1
radius_m = 0.01
approach = [0.0, 1.0, 0.0]
turn_deg = [-45.0, 45.0]
"""


def _radius(parameter: str, value: float) -> float:
    return value if parameter == "radius" else RADIUS_M


def _disturbances(parameter: str, value: float) -> Disturbances:
    usual = Disturbances()
    if parameter == "noise":
        # Both come from the same markers.
        turned = usual.orientation_noise_deg * value / usual.position_noise_mm
        return replace(usual, position_noise_mm=value, orientation_noise_deg=turned)
    if parameter == "grip":
        return replace(usual, grip_turn_deg=value, grip_turn_chance=1.0)
    return usual


def _spoiled(parameter: str, value: float, poses: Array, rng: np.random.Generator) -> Array:
    """Hide a stretch of a take, or push bursts of its samples 2–6 cm and up to 15° off."""
    if parameter == "hidden":
        length = round(value * len(poses))
        start = int(rng.integers(0, len(poses) - length + 1))
        return np.concatenate([poses[:start], poses[start + length :]])
    if parameter != "outliers":
        return poses
    spoiled = poses.copy()
    blocks = rng.permutation(len(poses) // BURST)[: round(value * len(poses) / BURST)]
    for block in blocks:
        where = slice(block * BURST, (block + 1) * BURST)
        away, turn = rng.standard_normal(3), rng.standard_normal(3)
        spoiled[where, :3, 3] += rng.uniform(0.02, 0.06) * away / np.linalg.norm(away)
        spoiled[where, :3, :3] = (
            rotation_exp(rng.uniform(0.0, 0.26) * turn / np.linalg.norm(turn)) @ (spoiled[where, :3, :3])
        )
    return spoiled


def _cell(parameter: Parameter, value: float, index: int, results: Sequence[dict[str, float] | None]) -> Cell:
    known = [r for r in results if r is not None]
    arc = ARCS_DEG[index]

    def median(key: str) -> float:
        return float(np.median([r[key] for r in known])) if known else math.nan

    def within(key: str) -> int:
        return sum(r[key] <= CHI2_95 for r in known)

    def mean(key: str) -> float:
        return float(np.mean([r[key] for r in known])) if known else math.nan

    limit = (math.nan, math.nan)
    if known:
        d = _disturbances(parameter.name, value)
        used = median("samples") * (1.0 - value if parameter.name == "outliers" else 1.0)
        radius = _radius(parameter.name, value)
        noise = 1e-3 * d.position_noise_mm, math.radians(d.orientation_noise_deg)
        limit = rotary_limit(math.radians(arc), radius, round(used), *noise)
    return Cell(
        parameter,
        value,
        arc,
        median("angle_deg"),
        median("position_mm"),
        median("claimed_angle_deg"),
        median("claimed_position_mm"),
        math.degrees(limit[0]),
        1e3 * limit[1],
        within("tilt"),
        within("shift"),
        mean("tilt"),
        mean("shift"),
        len(known),
        len(results) - len(known),
    )
