"""Joints fitted to whole poses: Gauss–Newton over one or more takes of one axis, each take with its own start.

The family of movements and its equations are in ``motion_kernels``. Takes share the axis (and the pitch); the pose
at which each starts is its own, so different grips of one joint add up.
"""

from dataclasses import dataclass, replace

import numpy as np

from fitting.columns import PITCH, PLACE, SHIFT, SIZE, TILT, TURN
from fitting.se3 import Array, complete_axis, rotation_exp

FARTHEST = 1.0
"""Metres: what is known of an axis about which nothing turns, namely that it is within reach."""


@dataclass(frozen=True)
class Kind:
    """Which movements a joint allows, and with that which local parameters it has."""

    turns: bool
    slides: bool
    screw: bool = False

    @property
    def latents(self) -> int:
        """Coordinates that each sample has of its own."""
        return int(self.turns) + int(self.slides)

    @property
    def shared(self) -> list[int]:
        """Columns of the parameters that all takes share."""
        return [TILT, TILT + 1, *([SHIFT, SHIFT + 1] if self.turns else []), *([PITCH] if self.screw else [])]

    @property
    def own(self) -> list[int]:
        """Columns of a take's start; what a turn or slide could undo is left out."""
        turn = [TURN, TURN + 1] if self.turns else [TURN, TURN + 1, TURN + 2]
        place = [PLACE, PLACE + 1] if self.slides else [PLACE, PLACE + 1, PLACE + 2]
        return turn + place


ROTARY = Kind(turns=True, slides=False)
PRISMATIC = Kind(turns=False, slides=True)
CYLINDRICAL = Kind(turns=True, slides=True)
SCREW = Kind(turns=True, slides=False, screw=True)


@dataclass(frozen=True)
class Take:
    """Rotations (n, 3, 3) and positions (n, 3) in metres of one take."""

    R: Array
    p: Array

    @classmethod
    def of(cls, poses: Array) -> "Take":
        """Split poses (n, 4, 4)."""
        return cls(np.ascontiguousarray(poses[:, :3, :3]), np.ascontiguousarray(poses[:, :3, 3]))

    def __len__(self) -> int:
        return len(self.p)


@dataclass(frozen=True)
class Start:
    """Where a take starts, and how far it has moved at each sample: q (n, 2) is θ (rad) and s (m)."""

    R0: Array
    p0: Array
    q: Array


@dataclass(frozen=True)
class Motion:
    """The state of a fit: the axis in the world, and the start of each take."""

    axis: Array
    center: Array
    starts: tuple[Start, ...]
    pitch: float = 0.0

    @property
    def frame(self) -> Array:
        """(3, 3): columns basis[0], basis[1], axis."""
        return np.ascontiguousarray(complete_axis(self.axis))


@dataclass(frozen=True)
class Solution:
    """A converged motion with the residuals (n, 6) of each take and the covariance of its parameters.

    covariance: of the shared columns, then the own columns of the first take.
    """

    motion: Motion
    residuals: tuple[Array, ...]
    covariance: Array


def measured(kind: Kind, take: Take, axis: Array, center: Array, R0: Array, p0: Array, by: str = "both") -> Array:
    """Coordinates q (n, 2) of samples about a given axis: θ from the orientations, or ``by="position"``; s."""
    q = np.zeros((len(take), 2))
    arm, arms = p0 - center, take.p - center
    if kind.turns and by == "position":
        x = arm - (arm @ axis) * axis
        y = np.cross(axis, x)
        q[:, 0] = np.arctan2(arms @ y, arms @ x)
    elif kind.turns:
        E = take.R @ R0.T
        vee = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
        q[:, 0] = 2.0 * np.arctan2(vee @ axis, 1.0 + np.trace(E, axis1=1, axis2=2))
    if kind.slides:
        q[:, 1] = (arms - arm) @ axis
    return q


def solve(kind: Kind, motion: Motion, takes: list[Take], wp: list[Array], wo: list[Array], steps: int) -> Solution:
    """Levenberg–Marquardt on all takes; wp, wo: inverse variances (n,) of positions (m) and orientations (rad)."""
    current, damping = motion, 1e-9
    system = _linearised(kind, current, takes, wp, wo)
    for _ in range(steps):
        trial = _moved(kind, current, system, damping)
        trial_system = _linearised(kind, trial, takes, wp, wo)
        if trial_system.cost <= system.cost * (1.0 + 1e-12):
            settled = system.cost - trial_system.cost < 1e-6 * system.cost
            current, system, damping = trial, trial_system, max(0.1 * damping, 1e-9)
            if settled:
                break
        elif damping > 1e3:
            break
        else:
            damping = max(damping * 100.0, 1e-4)
    current = replace(current, starts=system.starts)
    return Solution(current, system.residuals, _covariance(kind, system))


@dataclass(frozen=True)
class _System:
    blocks: list[tuple[Array, Array]]
    residuals: tuple[Array, ...]
    starts: tuple[Start, ...]
    cost: float


def _linearised(kind: Kind, motion: Motion, takes: list[Take], wp: list[Array], wo: list[Array]) -> _System:
    from fitting.motion_kernels import linearised

    blocks, residuals, starts, cost = [], [], [], 0.0
    frame = motion.frame
    for take, start, p_weight, o_weight in zip(takes, motion.starts, wp, wo, strict=True):
        q = start.q.copy()
        H, g, e = linearised(
            frame, motion.center, motion.pitch, kind.turns, kind.slides,
            start.R0, start.p0, take.R, take.p, q, p_weight, o_weight,
        )  # fmt: skip
        blocks.append((H, g))
        residuals.append(e)
        starts.append(replace(start, q=q))
        cost += float(p_weight @ (e[:, :3] ** 2).sum(axis=1) + o_weight @ (e[:, 3:] ** 2).sum(axis=1))
    # Where nothing turns, the axis is at least within reach of the data: without this it would wander off.
    mean = takes[0].p.mean(axis=0)
    far = frame[:, :2].T @ (motion.center - mean) / FARTHEST**2
    H, g = blocks[0]
    g[SHIFT : SHIFT + 2] += far
    H[SHIFT, SHIFT] += 1.0 / FARTHEST**2
    H[SHIFT + 1, SHIFT + 1] += 1.0 / FARTHEST**2
    cost += float(far @ far) * FARTHEST**2
    return _System(blocks, tuple(residuals), tuple(starts), cost)


def _scaled_inverse(matrix: Array) -> Array:
    """Inverse of a symmetric matrix whose rows have very different units; directions without information give zero."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 0.0)
    inverse = np.linalg.pinv(matrix * scale[:, None] * scale, rcond=1e-13, hermitian=True)
    return np.asarray(inverse * scale[:, None] * scale, dtype=float)


def _moved(kind: Kind, motion: Motion, system: _System, damping: float) -> Motion:
    """One step: the starts are eliminated take by take, then the shared parameters are solved for."""
    shared, own = np.array(kind.shared), np.array(kind.own)
    total, right = np.zeros((len(shared), len(shared))), np.zeros(len(shared))
    inner = []
    for H, g in system.blocks:
        damped = H + damping * np.diag(np.diag(H))
        inverse = _scaled_inverse(damped[np.ix_(own, own)])
        cross = H[np.ix_(shared, own)]
        total += damped[np.ix_(shared, shared)] - cross @ inverse @ cross.T
        right -= g[shared] - cross @ (inverse @ g[own])
        inner.append((inverse, cross, g[own]))
    delta = np.zeros(SIZE)
    delta[shared] = _limited(_scaled_inverse(total) @ right)
    frame = motion.frame
    turn = np.cross(motion.axis, frame[:, :2] @ delta[TILT : TILT + 2])
    starts = []
    for start, (inverse, cross, g_own) in zip(system.starts, inner, strict=True):
        step = np.zeros(SIZE)
        step[own] = -inverse @ (g_own + cross.T @ delta[shared])
        R0 = rotation_exp(frame @ step[TURN : TURN + 3]) @ start.R0
        starts.append(Start(np.ascontiguousarray(R0), start.p0 + frame @ step[PLACE : PLACE + 3], start.q))
    return Motion(
        rotation_exp(turn) @ motion.axis,
        motion.center + frame[:, :2] @ delta[SHIFT : SHIFT + 2],
        tuple(starts),
        motion.pitch + delta[PITCH],
    )


def _limited(step: Array) -> Array:
    """Keep the tilt of one step below half a radian, where the linearisation still means something."""
    tilt = float(np.hypot(step[0], step[1]))
    return step * (0.5 / tilt) if tilt > 0.5 else step


def _covariance(kind: Kind, system: _System) -> Array:
    """Covariance of the shared columns and of the first take's own ones, from the Gauss–Newton matrices."""
    shared, own = np.array(kind.shared), np.array(kind.own)
    prior = np.zeros(SIZE)
    prior[TILT : TILT + 2] = 1.0
    prior[PITCH] = 1.0
    total = np.diag(prior[shared])
    for H, _ in system.blocks[1:]:
        cross = H[np.ix_(shared, own)]
        total += H[np.ix_(shared, shared)] - cross @ _scaled_inverse(H[np.ix_(own, own)]) @ cross.T
    columns = np.concatenate([shared, own])
    full = system.blocks[0][0][np.ix_(columns, columns)].copy()
    full[: len(shared), : len(shared)] += total
    return _scaled_inverse(full)
