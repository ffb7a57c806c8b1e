"""Movements for calibration: turning on the bar, leaning in the dimple, orientations in the air, taps. Pure."""

from dataclasses import replace

import numpy as np

from devices.sim.frames import Array, frames, gripping
from devices.sim.hand import HZ, Asked, gripped, shaken, still
from devices.sim.motion import bump, minimum_jerk, path, sway
from devices.sim.plan import Plan
from devices.sim.scene import Handle, SceneError


def about_screws(asked: Asked) -> Plan:
    """Turn to and fro about the clamping screws on the calibration bar."""
    plan, angle = _on_bench_bar(asked)
    return replace(plan, about_screws=plan.about_screws + angle)


def about_handle(asked: Asked) -> Plan:
    """Turn to and fro about the calibration bar itself."""
    plan, angle = _on_bench_bar(asked)
    return replace(plan, about_bar=plan.about_bar + angle)


def _on_bench_bar(asked: Asked) -> tuple[Plan, Array]:
    """Gripped on the calibration bar; and an angle that goes twice to both sides by 35–60°."""
    bench, rng, d = asked.scene.bench, asked.rng, asked.disturbances
    reach = rng.uniform(*asked.style.reach)
    ends = np.radians(rng.uniform(35.0, 60.0, 4)) * reach * np.array([1.0, -1.0, 1.0, -1.0])
    pace = float(np.mean(asked.style.sweep_s)) / 3.0
    targets = [0.0, 0.0, *ends.tolist(), 0.0, 0.0]
    seconds = [asked.style.rest_s, pace, *[1.7 * pace] * 3, pace, asked.style.rest_s]
    angle = path(rng, targets, seconds, HZ, d.unevenness, d.pause_chance)
    bar = Handle("bar", "root", bench.axis, bench.point, 0.0, bench.radius, bench.approach, (-1.0, 1.0))
    return gripped(asked, bar, len(angle), dict(asked.state.q)), angle


def pivot(asked: Asked) -> Plan:
    """The tip rests in a dimple (or, ``"at": "here"``, stays in the air) while the gripper leans in all directions."""
    rng, d = asked.rng, asked.disturbances
    reach = rng.uniform(*asked.style.reach)
    count = 8
    directions = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False) + rng.uniform(0.0, 2.0 * np.pi)
    lean = np.radians(rng.uniform(25.0, 45.0, count)) * reach
    twist = np.radians(rng.uniform(-35.0, 35.0, count)) * reach
    targets = np.stack([lean * np.cos(directions), lean * np.sin(directions), twist], axis=-1)
    targets = np.concatenate([np.zeros((2, 3)), targets, np.zeros((2, 3))])
    pace = float(np.mean(asked.style.sweep_s)) / 3.0
    seconds = [asked.style.rest_s] + [pace * rng.uniform(0.8, 1.2) for _ in range(count + 1)] + [asked.style.rest_s]
    turn = np.stack([path(rng, list(c), seconds, HZ, d.unevenness, 0.0) for c in targets.T], axis=-1)
    upright = frames(asked.state.tip2world[:3, :3], asked.scene.bench.dimple)
    anchor = asked.state.tip2world if asked.movement.get("at") == "here" else upright
    plan = shaken(asked, replace(still("root", anchor, asked.state.q, len(turn)), turn=turn))
    press = np.zeros((len(turn), 6))
    press[:, :3] = -3.0 * np.asarray(asked.scene.gravity) / np.linalg.norm(asked.scene.gravity)
    press *= bump(plan.times, 0.0, plan.duration, 0.3)[:, None]
    return replace(plan, push=None if asked.movement.get("at") == "here" else press)


def probe(asked: Asked) -> Plan:
    """The tip rests on a ``point`` of the world for a second or two, while the hand leans a little."""
    rng = asked.rng
    point = np.asarray(asked.movement.get("point"), dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise SceneError(f'"point" must be three numbers in metres, not {asked.movement.get("point")!r}.')
    seconds = [0.2, *[0.3] * 4, 0.2]
    leans = np.radians(np.concatenate([np.zeros((2, 3)), rng.uniform(-6.0, 6.0, (3, 3)), np.zeros((2, 3))]))
    turn = np.stack([path(rng, list(c), seconds, HZ, asked.disturbances.unevenness, 0.0) for c in leans.T], axis=-1)
    anchor = frames(asked.state.tip2world[:3, :3], point)
    return shaken(asked, replace(still("root", anchor, asked.state.q, len(turn)), turn=turn))


_TILTS_DEG = (
    (0, 0, 0), (90, 0, 0), (45, 45, 0), (0, 90, 0), (-45, 45, 30), (-90, 0, 0),
    (-45, -45, 0), (0, -90, 0), (45, -45, 0), (150, 0, 0), (180, 0, 60), (0, 0, 0),
)  # fmt: skip
"""Orientations that a wrist reaches one after the other and that turn gravity all around the sensor."""


def free(asked: Asked) -> Plan:
    """Orientations held in the air one after the other, for bias, weight and centre of mass."""
    rng, d = asked.rng, asked.disturbances
    targets = np.radians(np.asarray(_TILTS_DEG, dtype=float) + rng.uniform(-8.0, 8.0, (len(_TILTS_DEG), 3)))
    targets = np.repeat(targets, 2, axis=0)
    places = np.repeat(rng.uniform(-0.06, 0.06, (len(_TILTS_DEG), 3)), 2, axis=0)
    seconds = [float(asked.movement.get("seconds", 1.2)), 0.8] * len(_TILTS_DEG)
    seconds = seconds[: len(targets) - 1]
    turn = np.stack([path(rng, list(c), seconds, HZ, d.unevenness, 0.0) for c in targets.T], axis=-1)
    place = np.stack([path(rng, list(c), seconds, HZ, d.unevenness, 0.0) for c in places.T], axis=-1)
    start = frames(gripping(asked.scene.bench.axis, asked.scene.bench.approach), asked.scene.rest)
    plan = replace(still("root", start, asked.state.q, len(turn)), place=place, turn=turn)
    if asked.style.drift_m:
        plan = replace(plan, turn=turn + 0.15 * sway(rng, plan.times))
    return shaken(asked, plan, in_air=True)


def tap(asked: Asked) -> Plan:
    """Hit the table a few times: velocity falls, reverses within 12 ms of contact, and leads back up."""
    hz, rng = 4000.0, asked.rng
    speeds, contacts = [np.zeros(round(0.4 * hz))], [np.zeros(round(0.4 * hz))]
    for _ in range(int(asked.movement.get("taps", 5))):
        down, up = rng.uniform(0.3, 0.45), rng.uniform(0.08, 0.14)
        fall = -down * minimum_jerk(np.linspace(0.0, 1.0, round(0.2 * hz)))
        tau = np.arange(round(0.012 * hz)) / round(0.012 * hz)
        contact = -0.5 * (down - up) - 0.5 * (down + up) * np.cos(np.pi * tau)
        s = np.linspace(0.0, 1.0, round(0.45 * hz))
        back = up * (1.0 - minimum_jerk(s))
        missing = -(fall.sum() + contact.sum() + back.sum())
        bell = s**2 * (1.0 - s) ** 2
        back = back + missing * bell / bell.sum()
        pause = np.zeros(round(rng.uniform(0.25, 0.5) * hz))
        speeds += [fall, contact, back, pause]
        contacts += [np.zeros_like(fall), np.sin(np.pi * tau) * (down + up), np.zeros(len(back) + len(pause))]
    height = np.cumsum(np.concatenate(speeds)) / hz
    up_axis = -np.asarray(asked.scene.gravity) / np.linalg.norm(asked.scene.gravity)
    effective_kg = 0.8
    force = effective_kg * np.pi / (2.0 * 0.012) * np.concatenate(contacts)
    anchor = frames(
        gripping(asked.scene.bench.axis, asked.scene.bench.approach),
        np.asarray(asked.scene.bench.table) + (0.002 - float(height.min())) * up_axis,
    )
    place = height[:, None] * (anchor[:3, :3].T @ up_axis)
    push = np.concatenate([force[:, None] * up_axis, np.zeros_like(place)], axis=-1)
    return replace(still("root", anchor, asked.state.q, len(place)), hz=hz, place=place, push=push)
