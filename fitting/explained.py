"""How well a joint type explains poses: the cost of every sample at a common noise, its coordinates paid for."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.motion import PRISMATIC, ROTARY, Kind, Motion, Take, measured
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.refitted import place_squares, refitted, refitted_by_places, squares_of
from fitting.result import FitFailure, Mask
from fitting.se3 import Array, cross, rotation_exp
from fitting.turning import IN_HAND, price_of, turning_in_hand

_OUTLIER = 60.0
"""Least cost of a sample that a candidate does not explain."""
_MOSTLY = 0.8
"""Share of the samples following a joint that must agree with a line, where the two can be told by the bend alone."""
_PARTLY = 0.5
"""Share of the samples of a line that a joint must follow for that."""
_BENT = 100.0
"""Squared standard deviations by which a path must bend in all for its positions to show it."""
_STRETCHES = 24
"""Stretches of a take that are asked as a whole how far they turned."""
_FREEDOMS = 3.0
"""What the course of a turn in the hand costs each sample: as much as it explains of an orientation's noise."""
_FOLLOWED = 0.9
"""Share of the positions that agree whose orientations must follow for the grip to count as rigid."""


@dataclass(frozen=True)
class Explained:
    """How well one candidate explains all samples: cost, parameters, residuals (n, 3 or 6), which samples agree."""

    cost: float
    parameters: int
    residuals: Array
    used: Mask
    followed: Mask
    """Samples that agree as a whole, not by their position alone."""
    ways: Array
    """Directions (k, n, 3) in which its coordinates move the positions."""
    others: tuple["Explained", ...] = ()
    """The same joint with a gripper that turned otherwise in the hand, which other noise may prefer."""

    def score(self, worth: float) -> float:
        """BIC of the best of these, if so many samples together are ``worth`` one."""
        count = max(len(self.used) / worth, 2.0)
        own = self.cost / worth + self.parameters * float(np.log(count))
        return min([own, *(other.score(worth) for other in self.others)])


def _stray(noise: Noise) -> float:
    """Cost of a sample that a candidate does not explain: twice the log of its rarity in a cubic metre of poses."""
    return max(_OUTLIER, -6.0 * float(np.log(2.5 * noise.position) + np.log(2.5 * noise.orientation)))


def explained(kind: Kind, fit: Any, takes: list[Take], noise: Noise, straight: Explained | None = None) -> Explained:
    """Cost of all samples under one candidate, in squared standard deviations, coordinates paid for.

    straight: the explanation by a prismatic joint, if there is one.
    """
    total, stray = sum(map(len, takes)), _stray(noise)
    if isinstance(fit, FitFailure):
        none = np.zeros(total, dtype=bool)
        return Explained(stray * total, 0, np.zeros((total, 6)), none, none, np.zeros((0, total, 3)))
    motion = refitted(kind, fit, takes, noise)
    cost, places, residuals, agreeing, following, ways = 0.0, 0, [], [], [], []
    # Twice the log of how much rarer an orientation is that turned in the hand, and one that is anything at all.
    loose = float(np.clip(6.0 * np.log(IN_HAND / (2.5 * noise.orientation)), 6.0, 30.0))
    adrift = loose - 6.0 * float(np.log(IN_HAND))
    for take, start in zip(takes, motion.starts, strict=True):
        one = replace(motion, starts=(start,))
        e, whole, place_only = squares_of(kind, one, take, noise)
        in_hand = place_only + np.where((e[:, 3:] ** 2).sum(axis=1) > IN_HAND**2, adrift, loose)
        if not kind.turns:
            # One orientation may be an accident, but where all were turned so far, the joint turned.
            in_hand[_turned_over(e[:, 3:])] = np.inf
        square = np.minimum(whole, in_hand)
        price = _coordinates_cost(kind, one, take, noise, square < stray)
        cost += float(np.minimum(square + price, stray).sum())
        follows, there = whole < chi2_quantile(6, GATE), place_only < chi2_quantile(3, GATE)
        places += int(there.sum())
        agreeing.append(follows | there)
        following.append(follows)
        residuals.append(e)
        ways.append(_ways(kind, motion, take.p - e[:, :3]))
    parameters = len(kind.shared) + len(kind.own) * len(takes) if kind.latents else 6 * len(takes)
    followed = np.concatenate(following)
    e, used, moves = np.concatenate(residuals), np.concatenate(agreeing), np.concatenate(ways, axis=1)
    own = Explained(cost, parameters, e, used, followed, moves)
    if not _may_turn(kind, own, straight) or followed.sum() >= _FOLLOWED * places:
        return own
    tried = [own, *_turning(kind, motion, takes, noise, own)]
    best = min(tried, key=lambda one: one.score(1.0))
    return replace(best, others=tuple(one for one in tried if one is not best))


def _may_turn(kind: Kind, own: Explained, straight: Explained | None) -> bool:
    """Whether a gripper that turns in the hand leaves such a joint to be told: a drawer, or a hinge by its circle."""
    if kind is not ROTARY:
        return kind is PRISMATIC
    return straight is None or bool((own.used & straight.used).sum() < _MOSTLY * own.used.sum())


def _turned_over(vectors: Array) -> Mask:
    """Samples (n,) of stretches whose middle rotation vector (n, 3) is beyond what a gripper turns in the hand."""
    parts = np.array_split(vectors, min(_STRETCHES, len(vectors)))
    over = [float(np.linalg.norm(np.median(part, axis=0))) > IN_HAND for part in parts]
    return np.repeat(over, [len(part) for part in parts])


def _turning(kind: Kind, motion: Motion, takes: list[Take], noise: Noise, firm: Explained) -> list[Explained]:
    """The same joint with a gripper that turned in the hand, all along, if it did."""
    motion = refitted_by_places(motion, takes, noise) if kind.turns else motion
    found = [
        _turning_in_take(kind, replace(motion, starts=(start,)), take, noise)
        for take, start in zip(takes, motion.starts, strict=True)
    ]
    return [
        Explained(
            sum(cost for cost, _, _, _ in ways),
            firm.parameters + sum(parameters for _, parameters, _, _ in ways),
            np.concatenate([e for _, _, e, _ in ways]),
            np.concatenate([there for _, _, _, there in ways]),
            firm.followed,
            firm.ways,
        )
        for ways in zip(*found, strict=False)
    ]


def _turning_in_take(kind: Kind, motion: Motion, take: Take, noise: Noise) -> list[tuple[float, int, Array, Mask]]:
    """For each way in which a gripper may have turned: cost, parameters, residuals (n, 6), which positions agree."""
    axis, start, stray = motion.axis, motion.starts[0], _stray(noise)
    place_only = place_squares(kind, motion, take) / noise.position**2
    there = place_only < chi2_quantile(3, GATE)
    arm = start.p0 - motion.center
    q = measured(kind, take, axis, motion.center, start.R0, start.p0, by="position")
    A = rotation_exp(q[:, :1] * axis)
    path = start.p0 + q[:, 1:] * axis if kind.slides else motion.center + A @ arm
    # The position shows an angle only as well as it is far from the axis.
    angle = noise.position**2 / max(float(arm @ arm - (arm @ axis) ** 2), 1e-12) if kind.turns else 0.0
    inverse = (np.eye(3) - angle / (noise.orientation**2 + angle) * np.outer(axis, axis)) / noise.orientation**2
    moved = q[:, 1] if kind.slides else np.unwrap(q[:, 0])
    found = []
    for course in turning_in_hand(np.swapaxes(A, 1, 2) @ take.R, there, moved, inverse, axis if kind.slides else None):
        # On a drawer the turn takes the place of a hinge's angle, and is paid for like that.
        square = place_only + course.squares
        square += price_of(course.turn, noise.orientation) if kind.slides else _FREEDOMS
        price = _coordinates_cost(kind, motion, take, noise, square < stray)
        cost = float(np.minimum(square + price, stray).sum())
        found.append((cost, course.parameters, np.concatenate([take.p - path, course.residuals], axis=1), there))
    return found


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


def _coordinates_cost(kind: Kind, motion: Motion, take: Take, noise: Noise, used: Mask) -> float:
    """What the coordinates of one sample cost: twice the log of their range over their noise."""
    if not used.any():
        return 0.0
    start = motion.starts[0]
    q = measured(kind, take, motion.axis, motion.center, start.R0, start.p0)[used]
    arm = start.p0 - motion.center
    square = max(float(arm @ arm - (arm @ motion.axis) ** 2), 0.0) + motion.pitch * motion.pitch
    cost = 0.0
    if kind.turns:
        deviation = 1.0 / np.sqrt(1.0 / noise.orientation**2 + square / noise.position**2)
        cost += price_of(_span(np.unwrap(q[:, 0])), float(deviation))
    if kind.slides:
        cost += price_of(_span(q[:, 1]), noise.position)
    return cost


def bends(one: Explained, straight: Explained, takes: list[Take], noise: Noise) -> bool:
    """Whether a candidate's path bends where the positions run straight: then its turn was the gripper's in the hand.

    straight: the explanation by a prismatic joint.
    """
    if straight.cost - one.cost > price_of(IN_HAND, noise.orientation) * one.followed.sum():
        # Nothing that a gripper does in the hand would leave so much.
        return False
    # Where an orientation is wrong, the place that it asks for says nothing about the path.
    both = one.followed & straight.used
    if both.sum() < max(_MOSTLY * one.followed.sum(), _PARTLY * straight.used.sum()):
        return False
    bend, place = 0.0, 0
    for take in takes:
        own = slice(place, place + len(take))
        place += len(take)
        path = (take.p - one.residuals[own, :3])[both[own]] / noise.position
        if len(path) > 2:
            offsets = path - path.mean(axis=0)
            bend += float(np.linalg.eigvalsh(offsets.T @ offsets)[:2].sum())
    # Were the joint true, the line would miss the path by its bend; were it straight, the joint would.
    ways = one.ways[:, both]
    worse = _across(one.residuals[both, :3], ways) - _across(straight.residuals[both, :3], ways)
    return bend > _BENT and worse / noise.position**2 > 0.5 * bend


def _span(values: Array) -> float:
    low, high = np.quantile(values, [0.005, 0.995])
    return max(float(high - low), 1e-12)
