"""A joint's motion as poses show it at a noise that others have, too, and how far each sample is from it."""

from dataclasses import replace
from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.motion import ROTARY, Kind, Motion, Start, Take, measured, settled_coordinates, solve
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.result import Mask
from fitting.rigid import mean_rotation
from fitting.se3 import Array, rotation_exp, rotation_log
from fitting.windings import whole_turns

_GRIPS = 32
"""Samples of a take that are asked which others were held as they were."""
_ROUNDS = 3
"""Of asking which positions are on a circle."""


def refitted(kind: Kind, fit: Any, takes: list[Take], noise: Noise) -> Motion:
    """The candidate's motion at the common noise, with the start of each take that its fit does not carry."""
    axis = np.asarray(getattr(fit, "axis", [0.0, 0.0, 1.0]), dtype=float)
    center = np.asarray(fit.point, dtype=float)
    starts, wp, wo, place = [], [], [], 0
    for take in takes:
        own = slice(place, place + len(take))
        place += len(take)
        used = fit.inliers[own]
        turned = getattr(fit, "orientations", fit.inliers)[own]
        if kind.latents == 1 and not kind.screw and turned.any():
            angles = fit.angles[own] if kind.turns else np.zeros(len(take))
            turned = _of_one_grip(take, axis, angles, turned, noise)
        first = int(np.argmax(turned if turned.any() else used))
        q = measured(kind, take, axis, center, take.R[first], take.p[first])
        if kind is ROTARY:
            by_place = measured(kind, take, axis, center, take.R[first], take.p[first], by="position")
            q[~turned] = by_place[~turned]
        if kind.screw:
            q[:, 0] += whole_turns(fit.angles[own] - fit.angles[own][first] - q[:, 0])
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
            _, whole, place_only = squares_of(kind, one, take, noise)
            follows, there = whole < chi2_quantile(6, GATE), place_only < chi2_quantile(3, GATE)
            q = measured(kind, take, one.axis, one.center, start.R0, start.p0)
            if kind.turns:
                q[~follows] = measured(kind, take, one.axis, one.center, start.R0, start.p0, by="position")[~follows]
            if kind.screw:
                q[:, 0] += whole_turns(start.q[:, 0] - q[:, 0])
            starts.append(replace(start, q=q))
            wp.append((follows | there) / noise.position**2)
            wo.append(follows / noise.orientation**2)
        motion = solve(kind, replace(motion, starts=tuple(starts)), takes, wp, wo, 6).motion
    return motion


def refitted_by_places(motion: Motion, takes: list[Take], noise: Noise) -> Motion:
    """The hinge whose circle the positions alone follow."""
    for _ in range(_ROUNDS):
        starts, wp = [], []
        for take, start in zip(takes, motion.starts, strict=True):
            one = replace(motion, starts=(start,))
            q = measured(ROTARY, take, motion.axis, motion.center, start.R0, start.p0, by="position")
            starts.append(replace(start, q=q))
            there = place_squares(ROTARY, one, take) / noise.position**2 < chi2_quantile(3, GATE)
            wp.append(there / noise.position**2)
        motion = solve(ROTARY, replace(motion, starts=tuple(starts)), takes, wp, [0.0 * w for w in wp], 6).motion
    return motion


def _of_one_grip(take: Take, axis: Array, angles: Array, turned: Mask, noise: Noise) -> Mask:
    """Those of the ``turned`` samples (n,) that were held alike, as most were: a motion has one grip.

    A grip that turned in the hand is one before and another after, and with one between them no sample would agree.
    angles: of the joint (n,), rad.
    """
    samples = np.flatnonzero(turned)
    held = rotation_exp(-angles[samples, None] * axis) @ take.R[samples]
    vectors = rotation_log(held @ mean_rotation(held).T)
    some = vectors[np.linspace(0, len(samples) - 1, min(_GRIPS, len(samples))).astype(int)]
    squares = ((vectors - some[:, None]) ** 2).sum(axis=2)
    alike = squares < chi2_quantile(3, GATE) * 2.0 * noise.orientation**2
    most = alike[alike.sum(axis=1).argmax()]
    out = np.zeros_like(turned)
    out[samples[most]] = True
    return out


def squares_of(kind: Kind, motion: Motion, take: Take, noise: Noise) -> tuple[Array, Array, Array]:
    """Residuals (n, 6), their squares (n,) in variances, and those (n,) of the positions alone."""
    # A screw that turned once more has slid once more.
    slid = motion.pitch * _whole_turns(kind, motion, take)
    near = Take(take.R, take.p - slid[:, None] * motion.axis) if kind.screw else take
    _, e = settled_coordinates(kind, motion, near, noise.position**-2, noise.orientation**-2)
    whole = (e[:, :3] ** 2).sum(axis=1) / noise.position**2 + (e[:, 3:] ** 2).sum(axis=1) / noise.orientation**2
    return e, whole, place_squares(kind, motion, take) / noise.position**2


def _whole_turns(kind: Kind, motion: Motion, take: Take) -> Array:
    """Whole turns (n,) in radians by which a screw's angles exceed what orientations show; zero for others."""
    if not kind.screw:
        return np.zeros(len(take))
    start = motion.starts[0]
    shown = measured(kind, take, motion.axis, motion.center, start.R0, start.p0)[:, 0]
    return whole_turns(start.q[:, 0] - shown)


def place_squares(kind: Kind, motion: Motion, take: Take) -> Array:
    """Squared distances (n,) in m² of the positions from the path or surface that the joint allows."""
    arms, arm = take.p - motion.center, motion.starts[0].p0 - motion.center
    heights, height = arms @ motion.axis, arm @ motion.axis
    if not kind.turns:
        offset = arms - arm
        square = (offset**2).sum(axis=1)
        return np.asarray(square - (heights - height) ** 2 if kind.slides else square)
    radii = np.linalg.norm(arms - heights[:, None] * motion.axis, axis=1)
    radius = np.linalg.norm(arm - height * motion.axis)
    square = (radii - radius) ** 2
    if kind.slides:
        return np.asarray(square)
    rises = heights - height
    if kind.screw:
        # Above the angle that the position shows is one winding, out of those that were moved through.
        start = motion.starts[0]
        turns = measured(kind, take, motion.axis, motion.center, start.R0, start.p0, by="position")[:, 0]
        least, most = np.quantile(start.q[:, 0], [0.01, 0.99])
        rises = rises - motion.pitch * turns
        winding = 2.0 * np.pi * motion.pitch
        if winding != 0.0:
            low, high = np.ceil((least - turns) / (2.0 * np.pi) - 0.5), np.floor((most - turns) / (2.0 * np.pi) + 0.5)
            rises = rises - winding * np.clip(np.round(rises / winding), low, np.maximum(high, low))
        rises = rises * (radius / max(float(np.hypot(radius, motion.pitch)), 1e-12))
    return np.asarray(square + rises**2)
