"""How well a joint type explains poses: the cost of every sample at a common noise, its coordinates paid for."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.joint import unwrapped
from fitting.motion import PRISMATIC, ROTARY, Kind, Motion, Start, Take, measured, settled_coordinates, solve
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.result import FitFailure, Mask
from fitting.rigid import mean_rotation
from fitting.se3 import Array, cross, rotation_log

_OUTLIER = 60.0
"""Cost of a sample that a candidate does not explain: twice the log of its rarity in a cubic metre of poses."""
_IN_HAND = 0.26
"""Radians: how far a gripper turns in the hand."""
_STRETCHES = 16
"""Stretches of a take whose middle orientations show how a gripper turned in the hand."""
_COURSE = 24
"""Parameters that such a slow turn costs: fewer than it has, since neighbouring stretches are alike."""
_MOSTLY = 0.8
"""Share of the samples of a joint and of a line that agree with both, where these can be told by their bend alone."""
_BENT = 100.0
"""Squared standard deviations by which a path must bend in all for its positions to show it."""
_ALONG = 0.966
"""Cosine between turn and slide from which a body that turned as it slid is a handle, not a drawer."""


@dataclass(frozen=True)
class Explained:
    """How well one candidate explains all samples: cost, parameters, residuals (n, 3 or 6), which samples agree."""

    cost: float
    parameters: int
    residuals: Array
    used: Mask
    ways: Array
    """Directions (k, n, 3) in which its coordinates move the positions."""


def explained(kind: Kind, fit: Any, takes: list[Take], noise: Noise) -> Explained:
    """Cost of all samples under one candidate, in squared standard deviations, coordinates paid for."""
    total = sum(map(len, takes))
    if isinstance(fit, FitFailure):
        return Explained(
            _OUTLIER * total, 0, np.zeros((total, 6)), np.zeros(total, dtype=bool), np.zeros((0, total, 3))
        )
    motion = _refitted(kind, fit, takes, noise)
    cost, slow_cost, residuals, agreeing, ways = 0.0, 0.0, [], [], []
    # Twice the log of how much rarer an orientation is that turned in the hand.
    loose = float(np.clip(6.0 * np.log(_IN_HAND / (2.5 * noise.orientation)), 6.0, 30.0))
    for take, start in zip(takes, motion.starts, strict=True):
        one = Motion(motion.axis, motion.center, (start,), motion.pitch)
        e, whole, place_only = _squares(kind, one, take, noise)
        square = np.minimum(whole, place_only + loose)
        price = _coordinates_cost(kind, one, take, noise, square < _OUTLIER)
        cost += float(np.minimum(square + price, _OUTLIER).sum())
        agreeing.append((whole < chi2_quantile(6, GATE)) | (place_only < chi2_quantile(3, GATE)))
        if kind is PRISMATIC:
            square = place_only + _turning_grip(take, motion.axis, place_only, noise) + price
            slow_cost += float(np.minimum(square, _OUTLIER).sum())
        residuals.append(e)
        ways.append(_ways(kind, motion, take.p - e[:, :3]))
    parameters = len(kind.shared) + len(kind.own) * len(takes) if kind.latents else 6 * len(takes)
    course = _COURSE * len(takes)
    if kind is PRISMATIC and slow_cost + course * np.log(total) < cost:
        cost, parameters = slow_cost, parameters + course
    return Explained(
        cost, parameters, np.concatenate(residuals), np.concatenate(agreeing), np.concatenate(ways, axis=1)
    )


def _ways(kind: Kind, motion: Motion, p: Array) -> Array:
    """Unit directions (k, n, 3) in which the joint moves the positions p (n, 3), metres."""
    axis = np.broadcast_to(motion.axis, p.shape)
    ways = [axis] if kind.slides else []
    if kind.turns:
        path = cross(axis, p - motion.center) + motion.pitch * axis
        ways.append(path / np.maximum(np.linalg.norm(path, axis=1, keepdims=True), 1e-12))
    return np.array(ways).reshape(-1, *p.shape)


def _across(e: Array, ways: Array) -> float:
    """Sum of squares of vectors e (n, 3) without what they have along directions (k, n, 3)."""
    for way in ways:
        e = e - (e * way).sum(axis=1, keepdims=True) * way
    return float((e**2).sum())


def _turning_grip(take: Take, direction: Array, place_squares: Array, noise: Noise) -> Array:
    """Cost (n,) of the orientations about the slow turn of a gripper on a drawer; infinite without one."""
    places = np.flatnonzero(place_squares < chi2_quantile(3, GATE))
    none = np.full(len(take), np.inf)
    if len(places) < 5 * _STRETCHES:
        return none
    vectors = rotation_log(take.R @ mean_rotation(take.R[places]).T)
    stretches = np.array_split(places, _STRETCHES)
    times = np.array([np.median(stretch) for stretch in stretches])
    middles = np.array([np.median(vectors[stretch], axis=0) for stretch in stretches])
    ways = np.linalg.svd(middles - middles.mean(axis=0))[2]
    turn = float(np.ptp(middles @ ways[0]))
    if abs(ways[0] @ direction) > _ALONG or turn > _IN_HAND:
        return none
    # Straight on at both ends.
    first, last = np.array([0.0]), np.array([len(take) - 1.0])
    begin = middles[0] + (first - times[0]) / (times[1] - times[0]) * (middles[1] - middles[0])
    end = middles[-1] + (last - times[-1]) / (times[-1] - times[-2]) * (middles[-1] - middles[-2])
    times, middles = np.concatenate([first, times, last]), np.concatenate([begin[None], middles, end[None]])
    course = np.stack([np.interp(np.arange(len(take)), times, column) for column in middles.T], axis=1)
    # The turn is a coordinate, and paid for like those of joints.
    price = _price(turn, noise.orientation)
    return np.asarray(((vectors - course) ** 2).sum(axis=1) / noise.orientation**2 + price)


def _refitted(kind: Kind, fit: Any, takes: list[Take], noise: Noise) -> Motion:
    """The candidate's motion at the common noise, with the start of each take that its fit does not carry."""
    axis = np.asarray(getattr(fit, "axis", [0.0, 0.0, 1.0]), dtype=float)
    center = np.asarray(fit.point, dtype=float)
    starts, wp, wo, place = [], [], [], 0
    for take in takes:
        own = slice(place, place + len(take))
        place += len(take)
        used = fit.inliers[own]
        turned = getattr(fit, "orientations", fit.inliers)[own]
        first = int(np.argmax(turned if turned.any() else used))
        q = measured(kind, take, axis, center, take.R[first], take.p[first])
        if kind is ROTARY:
            by_place = measured(kind, take, axis, center, take.R[first], take.p[first], by="position")
            q[~turned] = by_place[~turned]
        if kind.screw:
            q[:, 0] = unwrapped(q[:, 0], used)
        starts.append(Start(take.R[first], take.p[first], q))
        wp.append(used / noise.position**2)
        wo.append((used & turned) / noise.orientation**2)
    motion = Motion(axis, center, tuple(starts), float(getattr(fit, "pitch", 0.0)))
    motion = solve(kind, motion, takes, wp, wo, 8).motion
    # The fit may have been stricter than the common noise: let in whoever agrees at that.
    for _ in range(2):
        starts, wp, wo = [], [], []
        for take, start in zip(takes, motion.starts, strict=True):
            one = Motion(motion.axis, motion.center, (start,), motion.pitch)
            _, whole, place_only = _squares(kind, one, take, noise)
            follows, there = whole < chi2_quantile(6, GATE), place_only < chi2_quantile(3, GATE)
            q = measured(kind, take, one.axis, one.center, start.R0, start.p0)
            q[:, 0] += _whole_turns(kind, one, take)
            if kind is ROTARY:
                q[~follows] = measured(kind, take, one.axis, one.center, start.R0, start.p0, by="position")[~follows]
            starts.append(replace(start, q=q))
            wp.append((follows | there) / noise.position**2)
            wo.append(follows / noise.orientation**2)
        motion = solve(kind, replace(motion, starts=tuple(starts)), takes, wp, wo, 6).motion
    return motion


def _squares(kind: Kind, motion: Motion, take: Take, noise: Noise) -> tuple[Array, Array, Array]:
    """Residuals (n, 6), their squares (n,) in variances, and those (n,) of the positions alone."""
    # A screw that turned once more has slid once more.
    slid = motion.pitch * _whole_turns(kind, motion, take)
    near = Take(take.R, take.p - slid[:, None] * motion.axis) if kind.screw else take
    _, e = settled_coordinates(kind, motion, near, noise.position**-2, noise.orientation**-2)
    whole = (e[:, :3] ** 2).sum(axis=1) / noise.position**2 + (e[:, 3:] ** 2).sum(axis=1) / noise.orientation**2
    return e, whole, _place_squares(kind, motion, take) / noise.position**2


def _whole_turns(kind: Kind, motion: Motion, take: Take) -> Array:
    """Whole turns (n,) in radians by which a screw's angles exceed what orientations show; zero for others."""
    if not kind.screw:
        return np.zeros(len(take))
    start = motion.starts[0]
    shown = measured(kind, take, motion.axis, motion.center, start.R0, start.p0)[:, 0]
    return np.asarray(2.0 * np.pi * np.round((start.q[:, 0] - shown) / (2.0 * np.pi)))


def _place_squares(kind: Kind, motion: Motion, take: Take) -> Array:
    """Squared distances (n,) in m² of the positions from the path or surface that the joint allows."""
    arms, arm = take.p - motion.center, motion.starts[0].p0 - motion.center
    heights, height = arms @ motion.axis, arm @ motion.axis
    if kind.screw:
        return np.full(len(take), np.inf)
    if not kind.turns:
        offset = arms - arm
        square = (offset**2).sum(axis=1)
        return np.asarray(square - (heights - height) ** 2 if kind.slides else square)
    radii = np.linalg.norm(arms - heights[:, None] * motion.axis, axis=1)
    radius = np.linalg.norm(arm - height * motion.axis)
    return np.asarray((radii - radius) ** 2 + (0.0 if kind.slides else (heights - height) ** 2))


def _coordinates_cost(kind: Kind, motion: Motion, take: Take, noise: Noise, used: Mask) -> float:
    """What the coordinates of one sample cost: twice the log of their range over their noise."""
    if not used.any():
        return 0.0
    start = motion.starts[0]
    q = measured(kind, take, motion.axis, motion.center, start.R0, start.p0)[used]
    arm = start.p0 - motion.center
    square = float(arm @ arm - (arm @ motion.axis) ** 2) + motion.pitch**2
    cost = 0.0
    if kind.turns:
        deviation = 1.0 / np.sqrt(1.0 / noise.orientation**2 + square / noise.position**2)
        cost += _price(_span(np.unwrap(q[:, 0])), float(deviation))
    if kind.slides:
        cost += _price(_span(q[:, 1]), noise.position)
    return cost


def _price(span: float, deviation: float) -> float:
    return max(2.0 * math.log(max(span, 1e-12) / (2.5 * deviation)), 1.0)


def bends(one: Explained, straight: Explained, takes: list[Take], noise: float) -> bool:
    """Whether a candidate's path bends where the positions run straight: then its turn was the gripper's in the hand.

    straight: the explanation by a prismatic joint; noise: of the positions (m).
    """
    both = one.used & straight.used
    if both.sum() < _MOSTLY * max(one.used.sum(), straight.used.sum()):
        return False
    bend, place = 0.0, 0
    for take in takes:
        own = slice(place, place + len(take))
        place += len(take)
        path = (take.p - one.residuals[own, :3])[both[own]] / noise
        if len(path) > 2:
            offsets = path - path.mean(axis=0)
            bend += float(np.linalg.eigvalsh(offsets.T @ offsets)[:2].sum())
    # Were the joint true, the line would miss the path by its bend; were it straight, the joint would.
    ways = one.ways[:, both]
    worse = _across(one.residuals[both, :3], ways) - _across(straight.residuals[both, :3], ways)
    return bend > _BENT and worse / noise**2 > 0.5 * bend


def _span(values: Array) -> float:
    low, high = np.quantile(values, [0.005, 0.995])
    return max(float(high - low), 1e-12)
