"""Which joint type a movement looks like, for the operator who said "find out" or said something else."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fitting import Selection, select
from fitting.se3 import Array, turns_from_middle

KIND_OF_CANDIDATE = {"rotary": "rotary", "prismatic": "prismatic", "rigid": "fixed"}
"""Joint types that the data are asked about, by their name among the fitters."""
LEAST_TRAVEL = 0.01
"""Metres: in less, no bend can be seen."""
LEAST_TURN = np.radians(8.0)
"""A joint that turned by less than this is not told from a slide by its turn."""
PLAY_M, PLAY_RAD = 0.006, np.radians(2.0)
"""A part that is held plays by some 3 mm and half a degree."""
BEND = (0.25, 2.0)
"""Share of the bend that the turn asks for, between which a path counts as bent by it; grips that turned give 0.1."""


class Guess(NamedTuple):
    """What a movement looks like."""

    kind: str
    """Joint type; empty where the takes do not tell."""
    probabilities: dict[str, float]
    """How likely each joint type is, given the takes; empty where that cannot be said."""


def likeliest(seen: Sequence[Array], rng: np.random.Generator, known: Mapping[str, Any]) -> Guess:
    """Name the joint type that explains takes of tip poses (n, 4, 4) best; ``known``: fits by their joint type."""
    if all(is_held(np.asarray(take)) for take in seen):
        return Guess("fixed", {})
    fits = {name: known[kind] for name, kind in KIND_OF_CANDIDATE.items() if kind in known}
    chosen = select(list(seen), candidates=tuple(KIND_OF_CANDIDATE), rng=rng, known=fits)
    if not isinstance(chosen, Selection):
        return Guess("", {})
    kind = KIND_OF_CANDIDATE[chosen.kind] if chosen.kind else ""
    # A short arc whose grip turned in the hand as well looks straight at first.
    if kind in ("", "prismatic") and all(bends_as_it_turns(np.asarray(take)) for take in seen):
        return Guess("rotary", {})
    return Guess(kind, {KIND_OF_CANDIDATE[name]: share for name, share in chosen.probabilities.items()})


def is_held(poses: Array) -> bool:
    """Whether poses (n, 4, 4) stay within the play of a part that is held, which has a shape but shows no joint."""
    if len(poses) < 10:
        return False
    reach = np.subtract(*np.percentile(poses[:, :3, 3], [98.0, 2.0], axis=0))
    turns = np.linalg.norm(turns_from_middle(poses[:, :3, :3]), axis=1)
    return bool(np.linalg.norm(reach) < PLAY_M and np.percentile(turns, 98.0) < PLAY_RAD)


def bends_as_it_turns(poses: Array) -> bool:
    """Whether the gripper turns along the path and the path bends as it then must, as about an axis.

    A grip that turns in the hand gives a turn without its bend, a drawer neither.
    """
    if len(poses) < 10:
        return False
    points = poses[:, :3, 3] - poses[:, :3, 3].mean(axis=0)
    along = np.linalg.svd(points, full_matrices=False)[2][0]
    way = points @ along
    travel = float(np.subtract(*np.percentile(way, [99.0, 1.0])))
    if travel < LEAST_TRAVEL:
        return False
    powers = np.stack([np.ones_like(way), way, way**2], axis=-1)
    turns = turns_from_middle(poses[:, :3, :3])
    turn_rate = np.linalg.lstsq(powers[:, :2], turns, rcond=None)[0][1]
    bend = 2.0 * np.linalg.lstsq(powers, points, rcond=None)[0][2]
    asked = np.cross(turn_rate, along)
    if np.linalg.norm(asked) * travel < LEAST_TURN:
        return False
    return bool(BEND[0] < float(bend @ asked / (asked @ asked)) < BEND[1])
