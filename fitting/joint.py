"""From agreeing takes to one joint: refit them together, weigh by the effective noise, state the covariance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fitting.agreement import Noise, freedoms, weighed
from fitting.motion import CYLINDRICAL, FARTHEST, ROTARY, Kind, Motion, Solution, Start, Take, measured, solve
from fitting.noise import chi2_quantile
from fitting.ransac import GATE
from fitting.result import Mask
from fitting.se3 import Array, complete_axis, cross
from fitting.segments import dense, suspects

if TYPE_CHECKING:
    from fitting.uncertainty import Response, Uncertainty

Times = Sequence[tuple[float, float]]
_STEADY = 200
"""Who is in counts as settled when not more than one sample in so many changes."""
_ALIKE = 1.5
"""Ratio of slownesses up to which weights need no change: even at it, a change gains a fiftieth of the error."""
_TURNED = 4.0
"""Variance of the angles, in variances of their noise, from which there was a turn. Below it the noise of the angles
themselves would pass for one."""
_FAR = 0.05
"""Metres along the axis beyond which a sample has not strayed but is somewhere else."""
_AWAY = 10.0
"""Radius, in standard deviations of the positions, below which the circle is lost in their noise."""
_PURE = 0.9
"""Share of the samples that left the path at a time which must have strayed along the axis alone."""
_FEW = 0.05
"""Strayed samples, for each good one, below which they are not worth asking."""
_ROUNDS = 4
"""How often who strayed is asked, at most."""
PLAY_M, PLAY_RAD = 1.5e-4, math.radians(0.1)
"""Standard deviations of the slow play of a usual hand."""
_UNSTEADY = 1.5
"""How many times that the orientation plays where the grip turned in the hand."""
_PLAYS = 12.0
"""Times that such a hand plays anew during a take."""
_SLOW = 3.0
"""Slowness of a handle's positions from which on a hand played, and nothing else."""


@dataclass(frozen=True)
class Part:
    """One take on its way into the joint fit: its noise, and which of its positions and orientations are used."""

    take: Take
    noise: Noise
    positions: Mask
    orientations: Mask
    held: Mask
    """While the grip held: there orientations may count."""
    firm: bool
    """The grip held all the time: of a pose that does not agree as a whole, the half that does counts."""
    strayed: Mask
    """Positions that left the path along the axis: how far they are from the axis still counts."""

    @classmethod
    def of(cls, take: Take, noise: Noise, positions: Mask, orientations: Mask, held: Mask | None = None) -> "Part":
        """A part before its first fit. held: (n,) of a firm grip; None: only what is in already may count."""
        firm = held is not None
        held = orientations if held is None else held
        return cls(take, noise, positions, orientations, held, firm, np.zeros_like(positions))


def absent(take: Take) -> tuple[Start, Part]:
    """A take that says nothing about the joint: it stays in the results, with none of its samples used."""
    none = np.zeros(len(take), dtype=bool)
    start = Start(take.R[0], take.p[0], np.zeros((len(take), 2)))
    return start, Part.of(take, Noise(1.0, 1.0), none, none)


@dataclass(frozen=True)
class Joint:
    """The fitted motion with ``point`` moved beside the data, its parts re-scored, and its covariances."""

    motion: Motion
    parts: tuple[Part, ...]
    residuals: tuple[Array, ...]
    basis: Array
    covariance: Array
    """(4, 4) tilt and shift in the world."""
    body_basis: Array
    body_covariance: Array
    """(4, 4) tilt and shift of the axis as seen from the first take's body."""
    parameters: Array
    """Covariance of all that takes share and of the first one's own, in the order of ``Kind.shared`` and ``own``."""
    pitch_std: float
    rms: float
    noise: Noise
    responses: tuple["Response", ...]
    """Of each take, for tilt and shift along ``basis``."""

    @property
    def inliers(self) -> Mask:
        """Samples whose position was used."""
        return np.concatenate([part.positions for part in self.parts])

    @property
    def agreeing(self) -> float:
        """Share of the movement's samples that are used: pauses at the ends of a take do not count."""
        moved = sum(int(part.take.moving.sum()) for part in self.parts)
        return int(self.inliers.sum()) / max(moved, 1)


def fit_joint(kind: Kind, motion: Motion, parts: list[Part], given: float | None, *, settled: bool = False) -> Joint:
    """Refit all takes together: leave out bursts, refit, score again, refit, with correlated noise weighed down.

    settled: who agrees is known already.
    """
    allowed = [part.positions | part.held for part in parts]
    white = ((1.0, 1.0),) * len(parts)
    solution = _solved(kind, motion, parts, white, 4)
    for _ in range(0 if settled else 2):
        before = parts
        parts = [_rescored(kind, solution, k, part, allowed[k], given) for k, part in enumerate(parts)]
        solution = _solved(kind, solution.motion, parts, white, 6)
        if all(_same(old, new) for old, new in zip(before, parts, strict=True)):
            break
    parts = [_with_noise(kind, solution, k, part, given) for k, part in enumerate(parts)]
    solution = replace(solution, motion=_beside_data(solution.motion, parts))
    for _ in range(_ROUNDS if kind == ROTARY else 0):
        # From an axis of half an arc, the other half seems to have left the path in all directions.
        motion, found = _with_strayed(solution.motion, parts)
        if all(_same(old, new) for old, new in zip(parts, found, strict=True)):
            break
        parts, solution = found, _solved(kind, motion, found, white, 6)
    uncertain = _uncertain(kind, solution, parts, white, given)
    times = _played(kind, parts, uncertain.slowness)
    if max(map(max, times)) > _ALIKE * min(map(min, times)):
        solution = _solved(kind, solution.motion, parts, times, 6)
        uncertain = _uncertain(kind, solution, parts, times, given)
    return _described(kind, solution, parts, uncertain)


def _played(kind: Kind, parts: list[Part], times: Times) -> Times:
    """Slownesses that are those of a usual hand at least, where a take does not show its own.

    Where the grip turned, what is left of the orientations is in few places, where the joint follows the hand's play. A
    handle may turn and slide, so that what it leaves as residuals is less.
    """
    made_up = []
    for part, (position, orientation) in zip(parts, times, strict=True):
        if not part.firm and (kind == ROTARY or (kind == CYLINDRICAL and position > _SLOW)):
            each, turn = len(part.take) / _PLAYS, PLAY_RAD * (_UNSTEADY if kind == ROTARY else 1.0)
            position = max(position, 1.0 + each * (PLAY_M / part.noise.position) ** 2)
            orientation = max(orientation, 1.0 + each * (turn / part.noise.orientation) ** 2)
        made_up.append((position, orientation))
    return made_up


def _weights(parts: list[Part], times: Times) -> tuple[list[Array], list[Array]]:
    """Inverse variances (n,) of the positions and orientations of each take, slow ones weighed down."""
    wp, wo = [], []
    for part, (position, orientation) in zip(parts, times, strict=True):
        wp.append((part.positions | part.strayed) / (part.noise.position**2 * position))
        wo.append(part.orientations / (part.noise.orientation**2 * orientation))
    return wp, wo


def _solved(kind: Kind, motion: Motion, parts: list[Part], times: Times, steps: int) -> Solution:
    strayed = [part.strayed for part in parts]
    return solve(kind, motion, [part.take for part in parts], *_weights(parts, times), steps, strayed)


def _uncertain(kind: Kind, solution: Solution, parts: list[Part], times: Times, given: float | None) -> "Uncertainty":
    from fitting.uncertainty import uncertainty

    scale = [1.0] * len(parts)
    if given is not None:
        scale = [
            (given / _with_noise(kind, solution, k, part, None).noise.position) ** 2 for k, part in enumerate(parts)
        ]
    strayed = [part.strayed for part in parts]
    return uncertainty(kind, solution, [part.take for part in parts], *_weights(parts, times), strayed, scale)


def _with_strayed(motion: Motion, parts: list[Part]) -> tuple[Motion, list[Part]]:
    """Find samples that left a rotary joint's path along its axis only, and where they are on it."""
    starts, found = [], []
    for k, (start, part) in enumerate(zip(motion.starts, parts, strict=True)):
        arm, arms = start.p0 - motion.center, part.take.p - motion.center
        rises = (arms - arm) @ motion.axis
        radius = np.linalg.norm(arm - (arm @ motion.axis) * motion.axis)
        off = np.linalg.norm(cross(motion.axis, arms), axis=1) - radius
        # Along the path as well it is where its orientation says.
        along = np.where(part.orientations, radius * np.abs(ahead_of_places(motion, k, part.take)), 0.0)
        gate = np.sqrt(chi2_quantile(1, GATE)) * part.noise.position
        near = along <= np.hypot(gate, np.sqrt(chi2_quantile(1, GATE)) * radius * part.noise.orientation)
        strayed = near & (np.abs(off) <= gate) & (np.abs(rises) < _FAR) & ~part.positions
        if strayed.sum() >= _FEW * part.positions.sum():
            # What drifts along the axis and off it as well passes the gate on its way.
            strayed &= part.take.moving & dense(strayed, ~part.positions, share=_PURE)
            strayed &= ~suspects(off[None], part.positions | strayed, part.noise.position)
        if strayed.sum() < _FEW * part.positions.sum() or not circles(motion, k, part.noise):
            strayed[:] = False
        turned = measured(ROTARY, part.take, motion.axis, motion.center, start.R0, start.p0, by="position")
        q = np.where(strayed[:, None], np.stack([turned[:, 0], rises], axis=1), start.q)
        starts.append(replace(start, q=q))
        found.append(replace(part, strayed=strayed))
    return replace(motion, starts=tuple(starts)), found


def _same(old: Part, new: Part) -> bool:
    """Whether hardly any sample came in or went out."""
    pairs = ((old.positions, new.positions), (old.orientations, new.orientations), (old.strayed, new.strayed))
    return bool(sum(np.count_nonzero(before ^ after) for before, after in pairs) <= len(old.take) // _STEADY)


def _rescored(kind: Kind, solution: Solution, k: int, part: Part, allowed: Mask, given: float | None) -> Part:
    """Ask again who agrees: whole poses, or the half of them that does; positions alone while the grip turned."""
    alone = halves(kind, solution.motion, k, part.take, solution.residuals[k])
    together = part.held & (weighed(solution.residuals[k], part.noise) <= chi2_quantile(6 - kind.latents, GATE))
    e = np.ascontiguousarray(np.where(together[:, None], solution.residuals[k], alone).T)
    e /= np.repeat([part.noise.position, part.noise.orientation], 3)[:, None]
    gate = chi2_quantile(2, GATE)
    there = allowed & (together | (((e[:3] ** 2).sum(axis=0) <= gate) & (part.firm | ~part.held)))
    if not circles(solution.motion, k, part.noise):
        there &= together
    follows = together | (part.held & ~there & ((e[3:] ** 2).sum(axis=0) <= gate) & part.firm)
    e[3:, ~follows] = 0.0
    # What a sample's angle and slide take up is no residual: counted as one, usual drifts would seem to stand out.
    burst = suspects(e[:3], there, components=3 - kind.latents)
    burst |= suspects(e[3:], follows, components=2 if kind.turns else 3) & part.held
    positions, orientations = there & ~burst, follows & ~burst
    if positions.sum() < 5:
        positions, orientations = (there, follows) if there.sum() >= 5 else (part.positions, part.orientations)
    return _with_noise(kind, solution, k, replace(part, positions=positions, orientations=orientations), given)


def circles(motion: Motion, k: int, noise: Noise) -> bool:
    """Whether the position of a take is far enough from the axis to say something without its orientation."""
    return bool(np.linalg.norm(cross(motion.axis, motion.starts[k].p0 - motion.center)) > _AWAY * noise.position)


def ahead_of_places(motion: Motion, k: int, take: Take) -> Array:
    """Radians (n,), less than half a turn, by which orientations say that a rotary joint turned further than places."""
    start = motion.starts[k]
    place = (motion.axis, motion.center, start.R0, start.p0)
    ahead = measured(ROTARY, take, *place)[:, 0] - measured(ROTARY, take, *place, by="position")[:, 0]
    return np.asarray((ahead + np.pi) % (2.0 * np.pi) - np.pi)


def halves(kind: Kind, motion: Motion, k: int, take: Take, residuals: Array) -> Array:
    """Residuals (n, 6) of positions and orientations each for itself: what no angle explains."""
    if kind != ROTARY:
        return np.full((len(take), 6), np.inf)
    from fitting.motion_kernels import each_alone

    axis, center, p0 = (np.array(one, dtype=float) for one in (motion.axis, motion.center, motion.starts[k].p0))
    return each_alone(axis, center, p0, take.columns, np.ascontiguousarray(residuals))


def resettled(motion: Motion, parts: Sequence[Part]) -> tuple[Motion, tuple[Array, ...]]:
    """A rotary motion that was moved, with the coordinates that its samples have now, and their residuals."""
    solution = _solved(ROTARY, motion, list(parts), ((1.0, 1.0),) * len(parts), 0)
    return solution.motion, solution.residuals


def _with_noise(kind: Kind, solution: Solution, k: int, part: Part, given: float | None) -> Part:
    """Noise from the mean squares, with the parameters' share of the freedoms taken off."""
    p_free, o_free = freedoms(kind, solution.motion, part.noise)
    both = part.positions & part.orientations
    e = solution.residuals[k]
    if not np.array_equal(part.positions, part.orientations):
        e = np.where(both[:, None], e, halves(kind, solution.motion, k, part.take, e))
    count, turned, shared = int(part.positions.sum()), int(part.orientations.sum()), int(both.sum())
    # Alone, a position or an orientation gives all of the angle.
    p_count = p_free * shared + (3.0 - kind.latents) * (count - shared)
    o_count = o_free * shared + 2.0 * (turned - shared)
    p_square = (e[part.positions, :3] ** 2).sum() / max(p_count - 5.0, 1.0)
    o_square = (e[part.orientations, 3:] ** 2).sum() / max(o_count - 4.0, 1.0)
    floor = 1e-9
    position = given or max(float(np.sqrt(p_square)), floor)
    orientation = max(float(np.sqrt(o_square)), floor) if turned else part.noise.orientation
    return replace(part, noise=Noise(position, orientation))


def _beside_data(motion: Motion, parts: list[Part]) -> Motion:
    """The same axis, its point moved next to the mean of the data."""
    mean = np.concatenate([part.take.p[part.positions] for part in parts]).mean(axis=0)
    return replace(motion, center=motion.center + ((mean - motion.center) @ motion.axis) * motion.axis)


def _described(kind: Kind, solution: Solution, parts: list[Part], uncertain: "Uncertainty") -> Joint:
    motion = solution.motion
    shared = len(kind.shared)
    full = uncertain.covariance
    covariance = np.zeros((4, 4))
    columns = 4 if kind.turns else 2
    covariance[:columns, :columns] = full[:columns, :columns]
    if not kind.turns:
        covariance[2:, 2:] = np.eye(2) * FARTHEST**2
    frame = complete_axis(motion.axis)
    start = motion.starts[0]
    # The axis seen from the body: R0ᵀ·a and R0ᵀ·(c − p0); to first order in the world's parameters and the start's.
    J = np.zeros((4, len(full)))
    arm = frame.T @ (motion.center - start.p0)
    turns = shared
    places = shared + (2 if kind.turns else 3)
    J[0, 0] = J[1, 1] = 1.0
    J[0, turns + 1], J[1, turns] = -1.0, 1.0
    if kind.turns:
        J[2, 2] = J[3, 3] = 1.0
    J[2, places] = J[3, places + 1] = -1.0
    J[2, turns + 1], J[3, turns] = -arm[2], arm[2]
    count = sum(int(part.positions.sum()) for part in parts)
    square = sum(float((e[part.positions, :3] ** 2).sum()) for e, part in zip(solution.residuals, parts, strict=True))
    noise = parts[int(np.argmax([part.positions.sum() for part in parts]))].noise
    pitch = shared - 1 if kind.screw else None
    return Joint(
        motion=motion,
        parts=tuple(parts),
        residuals=solution.residuals,
        basis=frame[:, :2].T,
        covariance=covariance,
        body_basis=(start.R0.T @ frame[:, :2]).T,
        body_covariance=J @ full @ J.T,
        parameters=full,
        pitch_std=0.0 if pitch is None else float(np.sqrt(max(full[pitch, pitch], 0.0))),
        rms=float(np.sqrt(square / max(count * (3.0 - kind.latents), 1.0))),
        noise=noise,
        responses=uncertain.responses,
    )


def coordinates(kind: Kind, joint: Joint) -> Array:
    """Coordinates (n, 2) of all samples: θ (rad, unwrapped along the inliers) and s (m), in take order."""
    columns = []
    for part, start in zip(joint.parts, joint.motion.starts, strict=True):
        turned = measured(kind, part.take, joint.motion.axis, joint.motion.center, start.R0, start.p0)
        if kind.turns and not part.orientations.all():
            by_place = measured(
                kind, part.take, joint.motion.axis, joint.motion.center, start.R0, start.p0, by="position"
            )
            arm = start.p0 - joint.motion.center
            if np.linalg.norm(arm - (arm @ joint.motion.axis) * joint.motion.axis) > 5.0 * part.noise.position:
                turned[~part.orientations, 0] = by_place[~part.orientations, 0]
        used = part.positions
        q = np.where(used[:, None], start.q, turned)
        q[:, 0] = unwrapped(q[:, 0], used)
        columns.append(q)
    return np.concatenate(columns)


def turned(joint: Joint) -> bool:
    """Whether the body turned at all: the spread of its angles against their own noise."""
    for part, start in zip(joint.parts, joint.motion.starts, strict=True):
        if not part.positions.any():
            continue
        arm = start.p0 - joint.motion.center
        square = float(arm @ arm - (arm @ joint.motion.axis) ** 2)
        known = square / part.noise.position**2
        if part.orientations.any():
            known += 1.0 / part.noise.orientation**2
        if float(np.var(start.q[part.positions, 0])) * known > _TURNED:
            return True
    return False


def unwrapped(angles: Array, used: Mask) -> Array:
    """Unwrap along the used samples; the others go to the turn nearest their last used neighbour."""
    result = angles.copy()
    places = np.flatnonzero(used)
    if len(places) == 0:
        return result
    result[places] = np.unwrap(angles[places])
    before = np.maximum(np.searchsorted(places, np.arange(len(angles)), side="right") - 1, 0)
    reference = result[places[before]]
    others = ~used
    result[others] += 2.0 * np.pi * np.round((reference[others] - result[others]) / (2.0 * np.pi))
    return result
