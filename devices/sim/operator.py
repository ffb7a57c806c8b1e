"""How a hand really moves: a movement asked for, a state and a generator give a plan. Pure.

A movement is a dict with ``kind`` and its details; ``docs/simulation.md`` lists them all.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from devices.sim import calibrating
from devices.sim.disturbances import Disturbances
from devices.sim.forces import bar_push, joint_push, lever_arm
from devices.sim.frames import Array, frames, gripping, inverse, rotation_vector
from devices.sim.hand import (
    HZ,
    Asked,
    State,
    bar_frame,
    gripped,
    hidden,
    sticking,
    still,
    strayed,
    turned_in_hand,
)
from devices.sim.motion import bump, minimum_jerk, path
from devices.sim.plan import Plan
from devices.sim.scene import Handle, Joint, Scene, SceneError
from devices.sim.styles import style


def initial_state(scene: Scene) -> State:
    """All joints at their lower limit, the gripper in the air in front of the object."""
    return State(
        {joint.name: 0.0 for joint in scene.joints},
        frames(gripping(scene.bench.axis, scene.bench.approach), scene.rest),
    )


def plan_movement(
    scene: Scene, state: State, movement: Mapping[str, Any], disturbances: Disturbances, rng: Generator
) -> Plan:
    """The plan of one movement from a state; raises SceneError for one that cannot be made."""
    planner = PLANNERS.get(str(movement.get("kind")))
    if planner is None:
        raise SceneError(f"No movement {movement.get('kind')!r}; there are {', '.join(PLANNERS)}.")
    manner = style(str(movement.get("style", "normal")))
    asked = Asked(scene, state, movement, disturbances, manner, rng)
    return hidden(asked, planner(asked))


def plan_approach(scene: Scene, state: State, goal: Plan) -> Plan:
    """The unrecorded way from a state to a plan's start: back off, go there, close in; joints follow."""
    target = goal.tip2world(scene, np.zeros(1))[0]
    start_q = {name: float(np.atleast_1d(v)[0]) for name, v in goal.q.items()}
    relative = inverse(state.tip2world) @ target
    distance = float(np.linalg.norm(relative[:3, 3]))
    n = round((0.8 + 0.6 * min(distance, 1.0)) * HZ) + 1
    t = np.linspace(0.0, 1.0, n)
    progress = minimum_jerk(t)[:, None]
    back = np.array([0.0, -0.08, 0.0]) * bump(t, 0.0, 1.0, 0.5)[:, None]
    q: dict[str, Array | float] = {}
    for name, now in state.q.items():
        there = start_q.get(name, now)
        q[name] = now if now == there else now + (there - now) * progress[:, 0]
    return replace(
        still("root", state.tip2world, q, n),
        place=progress * relative[:3, 3] + back,
        turn=progress * rotation_vector(relative[:3, :3]),
    )


def plan_release(state: State) -> Plan:
    """The way off the object after a movement: straight back by 0.1 m."""
    progress = minimum_jerk(np.linspace(0.0, 1.0, round(0.8 * HZ) + 1))
    plan = still("root", state.tip2world, dict(state.q), len(progress))
    return replace(plan, place=np.array([0.0, -0.1, 0.0]) * progress[:, None])


def _joint(asked: Asked) -> Plan:
    scene, rng, manner = asked.scene, asked.rng, asked.style
    joint = scene.joint(str(asked.movement.get("name")))
    handle = scene.handle(joint.grip)
    here = asked.state.q[joint.name]
    near, far = (0.0, joint.upper) if here <= 0.5 * joint.upper else (joint.upper, 0.0)
    far = near + (far - near) * rng.uniform(*manner.reach)
    arm = _arm_at(asked, joint, handle, near)
    beyond_far = _push_beyond(asked, joint, arm, near, far)
    beyond_near = _push_beyond(asked, joint, arm, far, near)
    targets = [near, near, far, far + beyond_far, far]
    seconds = [manner.rest_s, rng.uniform(*manner.sweep_s), *rng.uniform(*manner.push_s, 2).tolist()]
    if asked.movement.get("return", True):
        targets += [near, near + beyond_near, near]
        seconds += [rng.uniform(*manner.sweep_s), *rng.uniform(*manner.push_s, 2).tolist()]
    targets.append(targets[-1])
    seconds.append(manner.rest_s)
    d = asked.disturbances
    pause = d.pause_chance if manner.sweep_s[0] > 1.0 else 0.0
    q = path(rng, targets, seconds, HZ, d.unevenness, pause)
    plan = gripped(asked, handle, len(q), {**asked.state.q, joint.name: q})
    plan = turned_in_hand(asked, plan)
    other = scene.joint(joint.strays.joint) if joint.strays is not None else None
    other_arm = _arm_at(asked, other, handle, near) if other is not None else 1.0
    plan = strayed(asked, plan, other, joint.strays.amount if joint.strays is not None else 0.0)
    plan = sticking(asked, plan, joint, arm, other, other_arm)
    plan = replace(plan, info={"joint": joint.name, "from": near, "to": far})
    return replace(plan, push=joint_push(joint, scene, plan, d, rng))


def _push_beyond(asked: Asked, joint: Joint, arm: float, start: float, end: float) -> float:
    """How far an end stop gives way, in the joint's unit; zero where the movement does not reach it."""
    if end not in (0.0, joint.upper) or joint.stop_stiffness <= 0.0:
        return 0.0
    force = asked.disturbances.end_force_n * asked.rng.uniform(0.4, 1.6)
    leverage = arm if joint.type == "rotary" else 1.0
    return float(np.sign(end - start) * force * leverage / joint.stop_stiffness)


def _arm_at(asked: Asked, joint: Joint, handle: Handle, at: float) -> float:
    """Metres of the grip per radian (or metre) of the joint."""
    plan = still(handle.parent, bar_frame(handle), {**asked.state.q, joint.name: at}, 2)
    arm = lever_arm(joint, asked.scene, plan, plan.tip2world(asked.scene))
    return float(np.linalg.norm(arm[0]))


def _handle(asked: Asked) -> Plan:
    """Turn about the bar to both ends, slide to both ends, then both at once."""
    handle, rng, d = asked.scene.handle(str(asked.movement.get("name"))), asked.rng, asked.disturbances
    lower, upper = handle.turn
    reach = rng.uniform(*asked.style.reach)
    lower, upper = lower * reach, upper * reach
    half = 0.5 * handle.length * reach
    pace = max(0.11, float(np.mean(asked.style.sweep_s)) / 3.0)
    turns = [0.0, 0.0, lower, upper, 0.0, 0.0, 0.0, lower, upper, 0.0]
    slides = [0.0, 0.0, 0.0, 0.0, 0.0, -half, half, half, -half, 0.0]
    seconds = [asked.style.rest_s] + [pace * rng.uniform(0.8, 1.2) for _ in turns[2:]]
    about = path(rng, turns, seconds, HZ, d.unevenness, d.pause_chance)
    slide = path(rng, slides, seconds, HZ, d.unevenness, d.pause_chance)
    plan = gripped(asked, handle, len(about), dict(asked.state.q))
    place = plan.place.copy()
    place[:, 2] += slide
    plan = replace(plan, about_bar=plan.about_bar + about, place=place, info={"handle": handle.name})
    if asked.style.stray_bursts and handle.parent != "root":
        parent = asked.scene.joint(handle.parent)
        plan = strayed(asked, plan, parent, 0.0)
    return replace(plan, push=bar_push(plan, plan.tip2world(asked.scene)))


def _hold(asked: Asked) -> Plan:
    """Hold a joint still at a coordinate; ``style = "restless"`` does not."""
    joint = asked.scene.joint(str(asked.movement.get("joint")))
    handle = asked.scene.handle(joint.grip)
    at = _coordinate(joint, asked.movement.get("at", "lower"))
    seconds = float(asked.movement.get("seconds", 1.5))
    n = round(seconds * HZ) + 1
    plan = gripped(asked, handle, n, {**asked.state.q, joint.name: at})
    place = plan.place.copy()
    place[:, 1] -= asked.style.drift_m * minimum_jerk(np.linspace(0.0, 1.0, n))
    return replace(plan, place=place, info={"joint": joint.name, "at": at})


def _place(asked: Asked) -> Plan:
    """Bring a joint to a coordinate and stay there briefly."""
    return _hold(replace(asked, movement={"seconds": 0.3, **asked.movement}))


def _coordinate(joint: Joint, at: object) -> float:
    named = {"lower": 0.0, "upper": 1.0}
    try:
        share = named[at] if isinstance(at, str) and at in named else float(at)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise SceneError(f'"at" must be "lower", "upper" or a share of the range between 0 and 1, not {at!r}.')
    return share * joint.upper


PLANNERS: dict[str, Callable[[Asked], Plan]] = {
    "joint": _joint,
    "handle": _handle,
    "hold": _hold,
    "place": _place,
    "about_screws": calibrating.about_screws,
    "about_handle": calibrating.about_handle,
    "pivot": calibrating.pivot,
    "probe": calibrating.probe,
    "free": calibrating.free,
    "tap": calibrating.tap,
}
