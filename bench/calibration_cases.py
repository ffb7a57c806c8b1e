"""Bad calibration takes, each with the cause for which it must be refused, and good ones that must not be."""

from collections.abc import Callable

import numpy as np

from bench.calibration_rigs import CLEAN, DIRTY, LOOSE, Conditions, Rig, Weight, about
from calibration import (
    CalibrationFailure,
    Hold,
    Load,
    SensorAlignment,
    Tip,
    align_sensor,
    hold_still,
    identify_load,
    tip_by_known_pose,
    tip_by_pivoting,
    tip_by_two_rotations,
)
from fitting import se3

Result = Tip | SensorAlignment | Load | Hold | CalibrationFailure
Case = Callable[[int], Result]


def rig_of(seed: int) -> Rig:
    return Rig(seed, (CLEAN, LOOSE, DIRTY)[seed % 3])


def little_turn(seed: int) -> Result:
    rig = rig_of(seed)
    arc = rig.rng.uniform(0.0, np.radians(12))
    if seed % 2:
        return tip_by_two_rotations(rig.about_screws(arc), rig.about_handle())
    return tip_by_two_rotations(rig.about_screws(), rig.about_handle(arc))


def little_pivoting(seed: int) -> Result:
    rig = rig_of(seed)
    if seed % 2:
        return tip_by_pivoting(rig.pivoting(tilt=rig.rng.uniform(0.01, 0.07)))
    return tip_by_pivoting(rig.observe(rig.grip2world @ about(seed % 3, rig.swing(rig.rng.uniform(0.3, 2.0), 600))))


def parallel_axes(seed: int) -> Result:
    rig = rig_of(seed)
    first = rig.about_screws()
    rig.grip2world = rig.grip2world @ about(2, np.array([rig.rng.uniform(-0.5, 0.5)]))[0]
    rig.tip2body = rig.tip2body @ about(2, np.array([rig.rng.uniform(-0.5, 0.5)]))[0]
    return tip_by_two_rotations(first, rig.about_screws())


def slipping_grip(seed: int) -> Result:
    """A jump in the middle, or a slide over all or a part of the take, of the gripper against what it holds."""
    rig = rig_of(seed)
    tips = rig.grip2world @ about(2, rig.swing(1.5, 600))
    direction = rig.rng.normal(size=2)
    direction = direction / np.linalg.norm(direction)
    shift = rig.rng.uniform(0.006, 0.03) * np.array([*direction, 0.0]) * (seed % 5 > 0)
    turn = rig.rng.uniform(np.radians(4), np.radians(20)) * np.array([*direction[::-1], 0.0]) * (seed % 5 != 1)
    start, length = rig.rng.uniform(0.25, 0.4), (0.001, 0.3, 1.0)[seed % 3 if seed % 2 else 0]
    share = np.clip((np.linspace(0.0, 1.0, 600) - start) / length, 0.0, 1.0)
    slipped = se3.frame(se3.rotation_exp(share[:, None] * turn), share[:, None] * shift)
    return tip_by_two_rotations(rig.about_screws(), rig.observe(tips @ slipped))


def moved_tip(seed: int) -> Result:
    """The tip jumps out of its dimple, or creeps across the table."""
    rig = rig_of(seed)
    poses = rig.pivoting()
    direction = rig.rng.normal(size=3)
    n = len(poses)
    share = np.linspace(0.0, 1.0, n) if seed % 2 else (np.arange(n) > rig.rng.uniform(0.3, 0.7) * n).astype(float)
    size = rig.rng.uniform(0.005, 0.03)
    poses[:, :3, 3] += size * share[:, None] * direction / np.linalg.norm(direction)
    return tip_by_pivoting(poses)


def moved_in_jig(seed: int) -> Result:
    rig = Rig(seed, (CLEAN, Conditions(play=0.0001, wobble=0.001))[seed % 2])
    tips = np.repeat(rig.grip2world[None], 120, axis=0)
    share = np.linspace(0.0, 1.0, 120) if seed % 2 else (np.arange(120) > rig.rng.uniform(35, 85)).astype(float)
    direction = rig.rng.normal(size=3)
    direction = direction / np.linalg.norm(direction)
    if seed % 4 < 2:
        tips[:, :3, 3] += rig.rng.uniform(0.006, 0.03) * share[:, None] * direction
    else:
        tips = tips @ se3.frame(se3.rotation_exp(rig.rng.uniform(0.1, 0.4) * share[:, None] * direction))
    return tip_by_known_pose(rig.observe(tips), rig.grip2world)


def moved_in_hold(seed: int) -> Result:
    weight = Weight(seed)
    t, poses, wrenches = weight.free_movement(n=2, hold_s=weight.rng.uniform(0.6, 1.2))
    return hold_still(t, poses, wrenches)


def clipped(seed: int) -> Result:
    """The range of forces or torques ends below the load, or the status says so."""
    weight = Weight(seed)
    turns, wrenches = weight.holds(12)
    if seed % 4 == 0:
        return identify_load(turns @ weight.sensor2body, wrenches, valid=np.arange(12) != seed % 12)
    if seed % 4 == 3:
        torques = wrenches[:, 3:] - weight.bias[3:]
        limit = weight.rng.uniform(0.3, 0.6) * float(np.abs(torques).max())
        wrenches[:, 3:] = weight.bias[3:] + np.clip(torques, -limit, limit)
        return identify_load(turns @ weight.sensor2body, wrenches)
    limit = weight.rng.uniform(0.3, 0.6) * weight.mass * 9.80665
    wrenches[:, :3] = np.clip(wrenches[:, :3], weight.bias[:3] - limit, weight.bias[:3] + limit)
    if seed % 4 == 1:
        return align_sensor(turns, wrenches[:, :3])
    return identify_load(turns @ weight.sensor2body, wrenches)


def similar_holds(seed: int) -> Result:
    weight = Weight(seed)
    turns = se3.rotation_exp(weight.rng.uniform(0.01, 0.06) * weight.rng.normal(size=(8, 3)))
    return identify_load(turns @ weight.sensor2body, weight.wrench(turns))


BAD: dict[str, tuple[Case, tuple[str, ...]]] = {
    "too little rotation, two turns": (little_turn, ("too-little-rotation", "imprecise")),
    "too little rotation, pivoting": (little_pivoting, ("too-little-rotation",)),
    "parallel axes": (parallel_axes, ("parallel-axes",)),
    "slipping grip": (slipping_grip, ("slipping-grip",)),
    "tip moved": (moved_tip, ("tip-moved",)),
    "moved in the jig": (moved_in_jig, ("moved",)),
    "moved while held": (moved_in_hold, ("moved",)),
    "saturated sensor": (clipped, ("saturated",)),
    "holds too alike": (similar_holds, ("too-little-rotation",)),
}


def good_turns(seed: int) -> Result:
    rig = rig_of(seed)
    arcs = rig.rng.uniform(np.radians(30), np.radians(170), 2)
    return tip_by_two_rotations(rig.about_screws(arcs[0]), rig.about_handle(arcs[1], slide=rig.rng.uniform(0.0, 0.03)))


def good_pivoting(seed: int) -> Result:
    rig = rig_of(seed)
    return tip_by_pivoting(rig.pivoting(tilt=rig.rng.uniform(0.25, 0.8)))


def good_jig(seed: int) -> Result:
    rig = rig_of(seed)
    return tip_by_known_pose(rig.holding(), rig.grip2world)


def good_hold(seed: int) -> Result:
    weight = Weight(seed)
    t, poses, wrenches = weight.free_movement(n=2, hold_s=1.0)
    return hold_still(t[:120], poses[:120], wrenches[:120])


def good_load(seed: int) -> Result:
    weight = Weight(seed)
    turns, wrenches = weight.holds(6 + seed % 8)
    return identify_load(turns @ weight.sensor2body, wrenches)


def good_sensor(seed: int) -> Result:
    weight = Weight(seed)
    turns, wrenches = weight.holds(6 + seed % 8)
    return align_sensor(turns, wrenches[:, :3])


GOOD: dict[str, Case] = {
    "two turns": good_turns,
    "pivoting": good_pivoting,
    "jig": good_jig,
    "hold": good_hold,
    "load": good_load,
    "sensor": good_sensor,
}
