"""The habits of a hand that holds a gripper: play, tremor, turning, sliding, straying, slipping. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from devices.sim.disturbances import Disturbances
from devices.sim.frames import Array, frames, gripping, rotations
from devices.sim.motion import bump, bursts, step, sway, tremor
from devices.sim.plan import Plan
from devices.sim.scene import Handle, Joint, Scene
from devices.sim.styles import Style

HZ = 500.0
"""Grid of a plan's channels, per second: forty times the tremor's frequency."""
_SWAY_IN_AIR = 5.0
"""Slow wandering of a hand in the air over that of a clamped one."""
_TREMOR_CLAMPED = 0.5
"""Share of the tremor that reaches a clamped tip."""


@dataclass(frozen=True)
class State:
    """Where everything stands between movements."""

    q: Mapping[str, float]
    """Joint coordinates."""
    tip2world: Array
    """(4, 4)."""


@dataclass(frozen=True)
class Asked:
    """A movement to be made, and everything that planning it needs."""

    scene: Scene
    state: State
    movement: Mapping[str, Any]
    disturbances: Disturbances
    style: Style
    rng: Generator


def still(link: str, anchor: Array, q: Mapping[str, Array | float], n: int) -> Plan:
    """A plan of ``n`` samples without any movement of the hand."""
    return Plan(HZ, link, anchor, q, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n), np.zeros(n))


def bar_frame(handle: Handle, along: float = 0.5) -> Array:
    """Tip frame (4, 4) on a bar at a share of its length, in the world with all joints at zero."""
    point = np.asarray(handle.point) + along * handle.length * np.asarray(handle.axis)
    return frames(gripping(handle.axis, handle.approach), point)


def gripped(asked: Asked, handle: Handle, n: int, q: Mapping[str, Array | float]) -> Plan:
    """A gripper clamped in the middle of a bar, with play, tremor, sliding and the style's slips and turns."""
    d, rng, manner = asked.disturbances, asked.rng, asked.style
    seat = frames(
        rotations(np.radians(d.seat_deg) * rng.standard_normal(3) * [1.0, 1.0, 0.0]),
        1e-3 * d.seat_mm * rng.standard_normal(3) * [1.0, 1.0, 0.0],
    )
    plan = shaken(asked, replace(still(handle.parent, bar_frame(handle), q, n), seat=seat))
    t, place, about_bar = plan.times, plan.place.copy(), plan.about_bar.copy()
    start, length = rng.uniform(0.1, 0.6) * plan.duration, rng.uniform(0.1, 0.3) * plan.duration
    slide = 1e-3 * d.slide_mm * manner.hand * rng.uniform(-1.0, 1.0)
    place[:, 2] += slide * bump(t, start, start + length, 0.4)
    for _ in range(manner.slips):
        at = rng.uniform(0.25, 0.75) * plan.duration
        sudden = step(t, at, at + 0.06)
        place[:, 2] += rng.choice([-1.0, 1.0]) * rng.uniform(0.010, 0.035) * sudden
        about_bar += rng.choice([-1.0, 1.0]) * np.radians(rng.uniform(8.0, 20.0)) * sudden
    return replace(plan, place=place, about_bar=about_bar)


def shaken(asked: Asked, plan: Plan, *, in_air: bool = False) -> Plan:
    """The plan with the hand's slow play and tremor, which grow from zero so that movements join smoothly."""
    d, rng, t = asked.disturbances, asked.rng, plan.times
    size = asked.style.hand * bump(t, 0.0, plan.duration, 0.2)[:, None]
    wide, quick = (_SWAY_IN_AIR, 1.0) if in_air else (1.0, _TREMOR_CLAMPED)
    shift = wide * d.sway_mm * sway(rng, t) + quick * d.tremor_mm * tremor(rng, t)
    twist = d.sway_deg * sway(rng, t) + quick * d.tremor_deg * tremor(rng, t)
    return replace(plan, place=plan.place + 1e-3 * size * shift, turn=plan.turn + np.radians(size * twist))


def turned_in_hand(asked: Asked, plan: Plan) -> Plan:
    """The plan with the grip turning about the bar: once and slowly, loosely all the time, or on purpose."""
    d, rng, manner, t = asked.disturbances, asked.rng, asked.style, plan.times
    about_bar, about_screws = plan.about_bar.copy(), plan.about_screws.copy()
    amount = np.radians(d.grip_turn_deg) * rng.uniform(0.2, 1.0) * rng.choice([-1.0, 1.0])
    begin, length = rng.uniform(0.1, 0.4), rng.uniform(0.3, 0.5)
    if rng.random() < d.grip_turn_chance * manner.turns:
        about_bar += amount * step(t, begin * plan.duration, (begin + length) * plan.duration)
    if manner.loose_deg[1]:
        wander = sway(rng, t, 1)[:, 0] * bump(t, 0.0, plan.duration, 0.5)
        about_bar += np.radians(rng.uniform(*manner.loose_deg)) * wander / np.max(np.abs(wander))
    if manner.reorient_deg:
        size = np.radians(manner.reorient_deg) * rng.uniform(0.6, 1.0, 2) * rng.choice([-1.0, 1.0], 2)
        about_bar += size[0] * bursts(rng, t, 2, 0.8, ramp=0.8)
        about_screws += size[1] * bursts(rng, t, 2, 0.8, ramp=0.8)
    return replace(plan, about_bar=about_bar, about_screws=about_screws)


def strayed(asked: Asked, plan: Plan, other: Joint | None, normal: float) -> Plan:
    """The plan with excursions into another joint, or along the bar where there is none.

    ``normal`` is the largest excursion of a normal take in the other joint's unit.
    """
    rng, manner, t = asked.rng, asked.style, plan.times
    wander = np.zeros_like(t)
    if normal:
        count = int(rng.integers(1, 3))
        wander += asked.disturbances.stray * manner.stray * normal * bursts(rng, t, count, 0.35, ramp=0.4)
    if manner.stray_bursts:
        rotary = other is not None and other.type == "rotary"
        far = rng.uniform(*(manner.stray_rad if rotary else manner.stray_m))
        shape = bursts(rng, t, manner.stray_bursts, manner.stray_share)
        wander += far * shape / np.max(shape)
    if other is None:
        place = plan.place.copy()
        place[:, 2] += wander
        return replace(plan, place=place)
    now = plan.q.get(other.name, 0.0)
    # Away from the nearer end: a joint at its stop can stray only one way.
    away = 1.0 if float(np.mean(now)) <= 0.5 * other.upper else -1.0
    moved = np.clip(now + away * wander, np.min(now), other.upper) if away > 0 else np.maximum(now - wander, 0.0)
    return replace(plan, q={**plan.q, other.name: moved})


def sticking(asked: Asked, plan: Plan, joint: Joint, arm: float, other: Joint | None, other_arm: float) -> Plan:
    """The plan of a joint that sticks and jumps: short deflections along it and into the other joint."""
    size = joint.shake * asked.disturbances.shake
    if not size:
        return plan
    t, q = plan.times, np.asarray(plan.q[joint.name])
    speed = np.abs(np.gradient(q, 1.0 / plan.hz))
    moving = np.minimum(speed / max(0.3 * float(speed.max()), 1e-9), 1.0)
    fits = moving * bursts(asked.rng, t, 5, 0.6, ramp=0.1)
    jumps = size * fits[:, None] * tremor(asked.rng, t, 2, low=2.5, high=8.0)
    shaking: dict[str, Array | float] = {**plan.q, joint.name: q + 0.5 * jumps[:, 0] / arm}
    if other is not None:
        shaking[other.name] = plan.q.get(other.name, 0.0) + np.abs(jumps[:, 1]) / other_arm
    return replace(plan, q=shaking)


def hidden(asked: Asked, plan: Plan) -> Plan:
    """The plan with the times in which something stands between the cameras and the markers."""
    d, rng, manner = asked.disturbances, asked.rng, asked.style
    windows: list[tuple[float, float]] = []
    if rng.random() < d.occlusion_chance * manner.occlusions:
        length = min(d.occlusion_s * rng.uniform(0.4, 1.6), 0.3 * plan.duration)
        start = rng.uniform(0.1, 0.9) * (plan.duration - length)
        windows.append((start, start + length))
    if manner.hidden_share[1]:
        count, share = int(rng.integers(2, 4)), rng.uniform(*manner.hidden_share)
        part = plan.duration / count
        for i in range(count):
            start = i * part + rng.uniform(0.0, (1.0 - share) * part)
            windows.append((start, start + share * part))
    return replace(plan, hidden=tuple(windows))
