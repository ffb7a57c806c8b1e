"""How well a joint type explains poses: the cost of every sample at a common noise, its coordinates paid for."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.joint import unwrapped
from fitting.motion import ROTARY, Kind, Motion, Start, Take, measured, settled_coordinates, solve
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.result import FitFailure, Mask
from fitting.se3 import Array

_OUTLIER = 60.0
"""Cost of a sample that a candidate does not explain: twice the log of its rarity in a cubic metre of poses."""
_IN_HAND = 0.26
"""Radians: how far a gripper turns in the hand."""


@dataclass(frozen=True)
class Explained:
    """How well one candidate explains all samples: cost, parameters, residuals (n, 3 or 6), which samples it covers."""

    cost: float
    parameters: int
    residuals: Array
    used: Mask


def explained(kind: Kind, fit: Any, takes: list[Take], noise: Noise) -> Explained:
    """Cost of all samples under one candidate, in squared standard deviations, coordinates paid for."""
    total = sum(map(len, takes))
    if isinstance(fit, FitFailure):
        return Explained(_OUTLIER * total, 0, np.zeros((total, 6)), np.zeros(total, dtype=bool))
    motion = _refitted(kind, fit, takes, noise)
    cost, residuals, covered = 0.0, [], []
    # Twice the log of how much rarer an orientation is that turned in the hand.
    loose = float(np.clip(6.0 * np.log(_IN_HAND / (2.5 * noise.orientation)), 6.0, 30.0))
    for take, start in zip(takes, motion.starts, strict=True):
        one = Motion(motion.axis, motion.center, (start,), motion.pitch)
        e, whole, place_only = _squares(kind, one, take, noise)
        square = np.minimum(whole, place_only + loose)
        price = _coordinates_cost(kind, one, take, noise, square < _OUTLIER)
        cost += float(np.minimum(square + price, _OUTLIER).sum())
        residuals.append(e)
        covered.append(square + price < _OUTLIER)
    parameters = len(kind.shared) + len(kind.own) * len(takes) if kind.latents else 6 * len(takes)
    return Explained(cost, parameters, np.concatenate(residuals), np.concatenate(covered))


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
        angles = np.unwrap(q[:, 0])
        cost += max(2.0 * float(np.log(_span(angles) / (2.5 * deviation))), 1.0)
    if kind.slides:
        cost += max(2.0 * float(np.log(_span(q[:, 1]) / (2.5 * noise.position))), 1.0)
    return cost


def _span(values: Array) -> float:
    low, high = np.quantile(values, [0.005, 0.995])
    return max(float(high - low), 1e-12)
