"""Which joint explains the poses: candidates ranked by BIC, or "not moved enough to tell"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting import checks
from fitting.agreement import SMALLEST_TURN, Noise
from fitting.cylinder import fit_cylindrical
from fitting.motion import (
    CYLINDRICAL,
    PRISMATIC,
    ROTARY,
    SCREW,
    Kind,
    Motion,
    Start,
    Take,
    measured,
    settled_coordinates,
    solve,
)
from fitting.noise import chi2_quantile, correlation_time
from fitting.prismatic import fit_prismatic
from fitting.ransac import GATE, smallest_noise
from fitting.result import Fit, FitFailure, Mask
from fitting.rigid import fit_rigid
from fitting.rotary import fit_rotary
from fitting.screw import fit_screw
from fitting.se3 import Array, rotation_log

_RIGID = Kind(turns=False, slides=False)
_FITTERS: dict[str, tuple[Callable[..., Any], Kind]] = {
    "rigid": (fit_rigid, _RIGID),
    "prismatic": (fit_prismatic, PRISMATIC),
    "rotary": (fit_rotary, ROTARY),
    "screw": (fit_screw, SCREW),
    "cylindrical": (fit_cylindrical, CYLINDRICAL),
}
_PLAY = 3e-3
"""Real joints have play and flex: so large a share of the movement is no reason to prefer another joint type."""
_LONGEST = 20.0
"""Samples over which noise remembers itself; what is slower is no noise but a misfit."""
_OUTLIER = 60.0
"""Cost of a sample that a candidate does not explain: twice the log of its rarity in a cubic metre of poses."""
_IN_HAND = 0.26
"""Radians: how far a gripper turns in the hand."""
_STRAIGHT = 2.0
"""Metres: a rotary joint with a larger radius is a drawer."""
_DECISIVE = 12.0
"""Difference in BIC (a factor of 400 in probability) from which one of two unlike candidates is out."""
_CLEAR = 30.0
"""Difference in BIC that a more general joint needs over a simpler one: play and misfit feed the general one first."""
_MORE_GENERAL = {
    "rigid": {"prismatic", "rotary", "screw", "cylindrical"},
    "prismatic": {"cylindrical"},
    "rotary": {"screw", "cylindrical"},
    "screw": {"cylindrical"},
    "cylindrical": set(),
}
"""Which candidates can do all that one can."""


@dataclass(frozen=True)
class Candidate:
    """One joint type with its fit (or why there is none), its BIC (smaller is better) and its probability."""

    kind: str
    fit: Fit | FitFailure
    bic: float
    probability: float


@dataclass(frozen=True)
class Selection:
    """Candidates, best first. ``kind`` is None when the data do not tell; ``reason`` then says why."""

    kind: str | None
    candidates: tuple[Candidate, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.kind is not None

    @property
    def fit(self) -> Fit | FitFailure:
        """The fit of the chosen kind, or a failure with the reason."""
        return self.candidates[0].fit if self.kind is not None else FitFailure(self.reason)

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each candidate."""
        return {c.kind: c.probability for c in self.candidates}

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form, without the fits' arrays."""
        ranked = [{"kind": c.kind, "bic": c.bic, "probability": c.probability} for c in self.candidates]
        return {"kind": self.kind, "reason": self.reason, "candidates": ranked}


def select(
    poses: Any,
    candidates: Sequence[str] | None = None,
    noise: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> Selection | FitFailure:
    """Rank joint types for poses (n, 4, 4), body to world, metres, or a list of takes of one joint.

    candidates: names out of rigid, prismatic, rotary, screw, cylindrical; None means all.
    All are judged at one noise level, that of the most general candidate that explains the data, and each coordinate
    that a candidate gives to every sample costs as much as it could have said.
    """
    names = list(_FITTERS) if candidates is None else list(candidates)
    unknown = [name for name in names if name not in _FITTERS]
    if unknown or not names:
        raise ValueError(f"Unknown candidates {unknown}: choose out of {', '.join(_FITTERS)}.")
    checked = checks.as_pose_takes(poses)
    if isinstance(checked, FitFailure):
        return checked
    generator = checks.generator(rng)
    fits = {name: _FITTERS[name][0](checked, noise=noise, rng=generator) for name in names}
    takes = [Take.of(take) for take in checked]
    common = _common_noise(fits, takes, noise)
    if common is None:
        reasons = " ".join(f"{name}: {fit.reason}" for name, fit in fits.items() if isinstance(fit, FitFailure))
        return FitFailure(f"No joint type explains these poses. {reasons}")
    for name, fit in fits.items():
        if name != "cylindrical" and isinstance(fit, Fit) and getattr(fit, "radius", 0.0) > _STRAIGHT:
            fits[name] = FitFailure(
                f"The radius would be {getattr(fit, 'radius', 0.0):.0f} m: that is a straight line."
            )
    found = {name: explained(_FITTERS[name][1], fit, takes, common) for name, fit in fits.items()}
    best = min(found.values(), key=lambda one: one.cost)
    tau = min(correlation_time(best.residuals[:, :3], best.used, 3), _LONGEST)
    count = max(sum(map(len, takes)) / tau, 2.0)
    return _ranked(fits, {name: one.cost / tau + one.parameters * float(np.log(count)) for name, one in found.items()})


def _ranked(fits: dict[str, Any], scores: dict[str, float]) -> Selection:
    best = min(scores.values())
    weights = {name: float(np.exp(-0.5 * min(score - best, 1000.0))) for name, score in scores.items()}
    total = sum(weights.values())
    ranked = tuple(
        Candidate(name, fits[name], scores[name], weights[name] / total)
        for name in sorted(scores, key=scores.__getitem__)
    )
    # A joint that can do more always explains as much: the simplest one that keeps up is the answer.
    for name in _MORE_GENERAL:
        chosen = next((c for c in ranked if c.kind == name and c.fit and c.bic - best < _CLEAR), None)
        if chosen is None:
            continue
        rivals = {c.kind for c in ranked if c.fit and c.bic < chosen.bic + _DECISIVE} - {name}
        if rivals <= _MORE_GENERAL[name]:
            ordered = (chosen, *(c for c in ranked if c is not chosen))
            return Selection(name, ordered, f"{name}: the simplest joint that explains the movement")
    near = [c for c in ranked if c.bic - best < _CLEAR and c.fit]
    likely = " or ".join(c.kind for c in near) or "none of " + ", ".join(scores)
    return Selection(None, ranked, f"Not moved enough to tell: it could be {likely}. Move the joint further.")


@dataclass(frozen=True)
class Explained:
    """How well one candidate explains all samples: cost, parameters, residuals (n, 6) and which samples it covers."""

    cost: float
    parameters: int
    residuals: Array
    used: Mask


def _common_noise(fits: dict[str, Any], takes: list[Take], noise: float | None) -> Noise | None:
    """The smallest noise with which a well-supported candidate explains the data."""
    good = [fit for fit in fits.values() if isinstance(fit, Fit)]
    if not good:
        return None
    most = max(fit.inlier_share for fit in good)
    supported = [fit for fit in good if fit.inlier_share >= 0.6 * most]
    turns = [fit.orientation_noise for fit in supported if hasattr(fit, "orientation_noise")]
    widest = max(supported, key=lambda fit: fit.inlier_share).inliers
    p, R = np.concatenate([take.p for take in takes])[widest], np.concatenate([take.R for take in takes])[widest]
    extent = float(np.linalg.norm(np.ptp(p, axis=0)))
    turn = float(np.quantile(np.linalg.norm(rotation_log(R @ R[0].T), axis=1), 0.95))
    position = noise or max(min(fit.noise for fit in supported), smallest_noise(takes[0].p), _PLAY * extent)
    return Noise(position, max(min(turns, default=0.0), SMALLEST_TURN, _PLAY * turn))


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
            if kind is ROTARY:
                q[~follows] = measured(kind, take, one.axis, one.center, start.R0, start.p0, by="position")[~follows]
            starts.append(replace(start, q=q))
            wp.append((follows | there) / noise.position**2)
            wo.append(follows / noise.orientation**2)
        motion = solve(kind, replace(motion, starts=tuple(starts)), takes, wp, wo, 6).motion
    return motion


def _squares(kind: Kind, motion: Motion, take: Take, noise: Noise) -> tuple[Array, Array, Array]:
    """Residuals (n, 6), their squares (n,) in variances, and those (n,) of the positions alone."""
    _, e = settled_coordinates(kind, motion, take, noise.position**-2, noise.orientation**-2)
    whole = (e[:, :3] ** 2).sum(axis=1) / noise.position**2 + (e[:, 3:] ** 2).sum(axis=1) / noise.orientation**2
    return e, whole, _place_squares(kind, motion, take) / noise.position**2


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
