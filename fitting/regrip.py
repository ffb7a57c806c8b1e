"""A grip that turned in the hand once is two grips: one before the turn, and another one after it.

Along a short arc, one grip laid through both explains them as well as it likes, about a wrong axis: the gripper stood
here while the joint was open, and there while it was shut. So takes are also tried as two grips with a turn between
them, wherever that may be, on medians of short stretches. Each way to explain a take costs what it leaves unexplained;
a second grip and orientations that are left out cost as well.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fitting.agreement import Noise, turns_between
from fitting.motion import ROTARY, Motion, Start, Take, measured, settled_coordinates, solve
from fitting.result import Mask
from fitting.se3 import Array, cross, rotation_exp, rotation_log

BLOCKS = 32
"""Stretches of a take: a hand takes a fifth of a take and more to turn."""
_FAR, _NEAR = 4, 2
"""Blocks between the beginnings and ends of turns that are tried first, and then beside the best."""
_SHORTEST = 4
"""Blocks that a grip must hold."""
_STEPS = 8
"""Of Gauss–Newton at most: the axis of one grip may be far from that of two."""
_PLAY_M, _PLAY_RAD = 0.0002, math.radians(0.12)
"""Slow play of a firm grip per axis, which no median takes away."""
_MEDIAN = 1.25
"""Standard deviation of a median over that of a mean."""
_KEPT = 3
"""Of the grips through two stretches, so many are looked at more closely."""
_GATE = 11.0
"""What a position or an orientation that does not agree costs, in squares of its noise."""
_SECOND = 25.0
"""What a second grip costs: five parameters, which also explain some slow play."""
_FIRM = 4.5
"""Cost of a block up to which one firm grip is not doubted."""
_CHI2_3 = 2.366
"""Median of the squared length of three standard normal numbers."""


@dataclass(frozen=True)
class Piece:
    """Samples ``first`` to ``last`` of a take, held by one grip in those of ``firm`` (last − first,)."""

    first: int
    last: int
    firm: Mask


@dataclass(frozen=True)
class Explained:
    """One way to explain a take: the motion with one start for each piece, and what it costs."""

    pieces: tuple[Piece, ...]
    motion: Motion
    cost: float


class Stretches:
    """Medians of short stretches of a take, and what grips cost that are tried on them."""

    def __init__(self, take: Take, path: Mask) -> None:
        """path: (n,) samples that moved along the joint's path, at least as many as there are stretches."""
        places = _cut(path)
        size = places.shape[1]
        self._take = take
        self._edges = np.append(places[:, 0], places[-1, -1] + 1)
        middles = take.R[places[:, size // 2]]
        turns = rotation_log(take.R[places] @ np.swapaxes(middles, 1, 2)[:, None])
        self._blocks = Take(
            np.ascontiguousarray(rotation_exp(np.median(turns, axis=1)) @ middles),
            np.ascontiguousarray(np.median(take.p[places], axis=1)),
        )
        moves = np.diff(take.p[places], axis=1).reshape(-1, 3)
        self._noise = _noise(_scatter(moves), _scatter(np.diff(turns, axis=1).reshape(-1, 3)), size)

    def one(self, motion: Motion, firm: Mask) -> Explained:
        """One grip that held in the samples of ``firm`` (n,)."""
        held = np.array([firm[a:b].mean() > 0.5 for a, b in pairwise(self._edges.tolist())])
        return self._explained(motion, [(0, held)], (Piece(0, len(self._take), firm),), 2)

    def now_and_then(self) -> Explained | None:
        """One grip that held in some of the stretches, before and after turns to and fro: the best of all pairs."""
        from fitting.agreement_kernels import hypothesis_scores

        blocks, (position, orientation) = self._blocks, self._noise
        axes, centers, start = turns_between(blocks, *np.triu_indices(BLOCKS, _SHORTEST))
        if len(axes) == 0:
            return None
        every = np.arange(BLOCKS)
        off, swung = hypothesis_scores(
            np.ascontiguousarray(axes), np.ascontiguousarray(centers), start, blocks.R, blocks.p, every, False
        )
        off, swung = off / position**2, swung / orientation**2
        cost = np.minimum(off, _GATE).sum(axis=1) + np.minimum(swung, _GATE).sum(axis=1)
        found = []
        for k in np.argsort(cost, kind="stable")[:_KEPT]:
            motion = Motion(axes[k], centers[k], ())
            about = (axes[k], centers[k], blocks.R[start[k]], blocks.p[start[k]])
            ahead = measured(ROTARY, blocks, *about) - measured(ROTARY, blocks, *about, by="position")
            arm = blocks.p[start[k]] - centers[k]
            radius = float(np.linalg.norm(cross(axes[k], arm)))
            ahead[:, 0] *= radius / math.hypot(position, radius * orientation)
            held = (off[k] < _GATE) & (swung[k] < _GATE) & (ahead[:, 0] ** 2 < _GATE)
            if np.count_nonzero(held) >= 2 * _SHORTEST:
                found.append(self._explained(motion, [(0, held)], (self._whole(held),), 2))
        return min(found, key=lambda one: one.cost, default=None)

    def _whole(self, held: Mask) -> Piece:
        """The take as one piece, firm in the stretches (b,) that held."""
        firm = np.zeros(len(self._take), dtype=bool)
        firm[self._edges[0] : self._edges[-1]] = np.repeat(held, np.diff(self._edges))
        return Piece(0, len(self._take), firm)

    def two(self, motion: Motion) -> Explained:
        """The best of all pairs of grips: of turns far apart from one another, then of those beside the best."""
        first = min(((self._pair(motion, *turn, 0), turn) for turn in _turns(_FAR)), key=lambda tried: tried[0].cost)
        begin, end = first[1]
        beside = [t for t in _turns(_NEAR) if abs(t[0] - begin) <= _NEAR and abs(t[1] - end) <= _NEAR]
        return min((self._pair(first[0].motion, *turn, 1) for turn in beside), key=lambda one: one.cost)

    def better(self, one: Explained) -> Explained | None:
        """The best of two grips and of one that held now and then, if it explains clearly more than what is known.

        Clearly: if play is as large as the better of them says.
        """
        tried = [other for other in (self.now_and_then(), self.two(one.motion)) if other is not None]
        best = min(tried, key=lambda other: other.cost + _SECOND * (len(other.pieces) - 1))
        scale = max(min(best.cost, one.cost) / (_FIRM * BLOCKS), 1.0)
        return best if one.cost - best.cost > _SECOND * scale else None

    def noise(self, motion: Motion, take: Take, firm: Mask) -> Noise:
        """Noise of single samples (n,) of a grip with one start, as far as it was ``firm``."""
        residuals = settled_coordinates(ROTARY, motion, take, self._noise[0] ** -2, self._noise[1] ** -2)[1][firm]
        if not len(residuals):
            return Noise(*self._noise)
        return Noise(max(_scatter(residuals[:, :3]), 1e-9), max(_scatter(residuals[:, 3:]), 1e-9))

    def _pair(self, motion: Motion, begin: int, end: int, rounds: int) -> Explained:
        middle = (begin + end) // 2
        held = [(0, np.arange(middle) < begin), (middle, np.arange(middle, BLOCKS) >= end)]
        edges = self._edges
        whole = np.arange(len(self._take))
        cut = int(edges[middle])
        pieces = (
            Piece(0, cut, whole[:cut] < edges[begin]),
            Piece(cut, len(self._take), whole[cut:] >= edges[end]),
        )
        return self._explained(motion, held, pieces, rounds)

    def _explained(
        self, motion: Motion, held: Sequence[tuple[int, Mask]], pieces: tuple[Piece, ...], rounds: int
    ) -> Explained:
        """Fit one start for each stretch of blocks, of which some were ``held``; leave out what does not agree."""
        position, orientation = self._noise
        takes, starts = [], []
        for first, firm in held:
            span = slice(first, first + len(firm))
            take = Take(self._blocks.R[span], self._blocks.p[span])
            chosen = np.flatnonzero(firm) if firm.any() else np.arange(len(firm))
            at = chosen[len(chosen) // 2]
            start = (motion.axis, motion.center, take.R[at], take.p[at])
            by_place = measured(ROTARY, take, *start, by="position")
            starts.append(
                Start(take.R[at], take.p[at], np.where(firm[:, None], measured(ROTARY, take, *start), by_place))
            )
            takes.append(take)
        motion = Motion(motion.axis, motion.center, tuple(starts))
        agrees, cost = [np.ones(len(firm), dtype=bool) for _, firm in held], math.inf
        for _ in range(rounds + 1):
            places = [who / position**2 for who in agrees]
            turns = [(who & firm) / orientation**2 for who, (_, firm) in zip(agrees, held, strict=True)]
            solution = solve(ROTARY, motion, takes, places, turns, _STEPS)
            motion, cost, agrees = solution.motion, 0.0, []
            for e, (_, firm) in zip(solution.residuals, held, strict=True):
                square, most = _squares(e, firm, self._noise)
                cost += float(np.minimum(square, most).sum() + _GATE * np.count_nonzero(~firm))
                agrees.append(square < 2.0 * most)
        return Explained(pieces, motion, cost)


def doubtful(residuals: Array, path: Mask) -> bool:
    """Whether one grip leaves so much of a take unexplained (n, 6) that two are worth a try.

    path: as for :class:`Stretches`.
    """
    parts = residuals[_cut(path)]
    steps = np.diff(parts, axis=1).reshape(-1, 6)
    noise = _noise(_scatter(steps[:, :3]), _scatter(steps[:, 3:]), parts.shape[1])
    square, most = _squares(np.median(parts, axis=1), np.ones(BLOCKS, dtype=bool), noise)
    return float(np.minimum(square, most).mean()) > _FIRM


def _cut(path: Mask) -> NDArray[np.int64]:
    """Samples (b, size) of the path in stretches of one size; those that are left over at the end are left out."""
    places = np.flatnonzero(path)
    size = len(places) // BLOCKS
    return places[: size * BLOCKS].reshape(BLOCKS, size)


def _noise(position_step: float, turn_step: float, size: int) -> tuple[float, float]:
    """Standard deviations per axis of medians of positions (m) and orientations (rad), from the steps of samples."""
    share = _MEDIAN / math.sqrt(2.0 * size)
    return math.hypot(_PLAY_M, share * position_step), math.hypot(_PLAY_RAD, share * turn_step)


def _squares(residuals: Array, firm: Mask, noise: tuple[float, float]) -> tuple[Array, Array]:
    """Squared residuals (n,) in units of the noise, orientations where firm, and what they may cost at most."""
    places, turns = ((e**2).sum(axis=1) for e in (residuals[:, :3] / noise[0], residuals[:, 3:] / noise[1]))
    return np.where(firm, places + turns, places), np.where(firm, 2.0 * _GATE, _GATE)


def _turns(step: int) -> Iterator[tuple[int, int]]:
    """Blocks between which the grip may have turned."""
    for begin in range(_SHORTEST, BLOCKS - _SHORTEST - step + 1, step):
        for end in range(begin + step, BLOCKS - _SHORTEST + 1, step):
            yield begin, end


def _scatter(vectors: Array) -> float:
    """Standard deviation per axis of vectors (n, 3), robust."""
    return math.sqrt(float(np.median((vectors**2).sum(axis=1))) / _CHI2_3)
