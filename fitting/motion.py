"""Joints fitted to whole poses: Gauss–Newton over one or more takes of one axis, each take with its own start.

The family of movements and its equations are in ``motion_kernels``. Takes share the axis (and the pitch); the pose
at which each starts is its own, so different grips of one joint add up.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting.columns import PITCH, PLACE, SHIFT, TILT, TURN
from fitting.result import Mask
from fitting.se3 import Array, cross
from fitting.segments import CREEP, moving

FARTHEST = 1.0
"""Metres: what is known of an axis about which nothing turns, namely that it is within reach."""

_LEVER = 0.1
"""Metres: turns are compared with moves as if seen at the end of such a lever."""


@dataclass(frozen=True)
class Kind:
    """Which movements a joint allows, and with that which local parameters it has."""

    turns: bool
    slides: bool
    screw: bool = False

    @cached_property
    def latents(self) -> int:
        """Coordinates that each sample has of its own."""
        return int(self.turns) + int(self.slides)

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """Columns of the parameters that all takes share."""
        return np.array([TILT, TILT + 1, *([SHIFT, SHIFT + 1] if self.turns else []), *([PITCH] if self.screw else [])])

    @cached_property
    def own(self) -> NDArray[np.int64]:
        """Columns of a take's start; what a turn or slide could undo is left out."""
        turn = [TURN, TURN + 1] if self.turns else [TURN, TURN + 1, TURN + 2]
        place = [PLACE, PLACE + 1] if self.slides else [PLACE, PLACE + 1, PLACE + 2]
        return np.array(turn + place)


ROTARY = Kind(turns=True, slides=False)
PRISMATIC = Kind(turns=False, slides=True)
CYLINDRICAL = Kind(turns=True, slides=True)
SCREW = Kind(turns=True, slides=False, screw=True)


@dataclass(frozen=True)
class Take:
    """Rotations (n, 3, 3) and positions (n, 3) in metres of one take."""

    R: Array
    p: Array
    cut_from: "tuple[Take, slice] | None" = field(default=None, repr=False)
    """The take of which this is a piece, and which of its samples."""

    @classmethod
    def of(cls, poses: Array) -> "Take":
        """Split poses (n, 4, 4)."""
        return cls(np.ascontiguousarray(poses[:, :3, :3]), np.ascontiguousarray(poses[:, :3, 3]))

    def __len__(self) -> int:
        return len(self.p)

    @cached_property
    def columns(self) -> Array:
        """Elements of the rotations and positions (12, n), for compiled loops."""
        return np.concatenate([self.R.reshape(-1, 9).T, self.p.T])

    @cached_property
    def middle(self) -> Array:
        """Mean of the positions (3,)."""
        return np.asarray(self.p.mean(axis=0))

    @property
    def moves(self) -> Array:
        """Columns (9, n) in metres that change wherever a pose does: position, and two ends of a lever."""
        return np.concatenate([self.p.T, _LEVER * self.R[:, :, 0].T, _LEVER * self.R[:, :, 1].T])

    @cached_property
    def moving(self) -> Mask:
        """Samples (n,) outside of long pauses, of the position or of the orientation.

        A piece does not pause where its take goes on.
        """
        if self.cut_from is not None:
            take, samples = self.cut_from
            return take.moving[samples]
        return moving(self.moves)

    def piece(self, first: int, last: int) -> "Take":
        """Samples from ``first`` up to ``last``."""
        samples = slice(first, last)
        return Take(np.ascontiguousarray(self.R[samples]), np.ascontiguousarray(self.p[samples]), (self, samples))

    @cached_property
    def stirring(self) -> Mask:
        """Samples (n,) outside of long pauses of both: who slides a little after a long turn does not rest."""
        return moving(self.moves, CREEP)

    def telling(self, kind: Kind) -> Mask:
        """Samples (n,) that say something about a joint of this kind."""
        return self.stirring if kind.latents > 1 else self.moving


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


@dataclass(frozen=True)
class Solution:
    """A converged motion with the residuals (n, 6) of each take."""

    motion: Motion
    residuals: tuple[Array, ...]


def measured(kind: Kind, take: Take, axis: Array, center: Array, R0: Array, p0: Array, by: str = "both") -> Array:
    """Coordinates q (n, 2) of samples about a given axis: θ from the orientations, or ``by="position"``; s."""
    q = np.zeros((len(take), 2))
    arm, arms = p0 - center, take.p - center
    if kind.turns and by == "position":
        x = arm - (arm @ axis) * axis
        y = cross(axis, x)
        q[:, 0] = np.arctan2(arms @ y, arms @ x)
    elif kind.turns:
        E = take.R @ R0.T
        vee = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
        q[:, 0] = 2.0 * np.arctan2(vee @ axis, 1.0 + np.trace(E, axis1=1, axis2=2))
    if kind.slides:
        q[:, 1] = (arms - arm) @ axis
    return q


def solve(
    kind: Kind,
    motion: Motion,
    takes: list[Take],
    wp: list[Array],
    wo: list[Array],
    steps: int,
    strayed: list[Mask] | None = None,
) -> Solution:
    """Levenberg–Marquardt on all takes; wp, wo: inverse variances (n,) of positions (m) and orientations (rad).

    strayed: samples (n,) of each take that may have slid along the axis, whatever the joint does.
    """
    from fitting.motion_solver import solve_takes

    offsets = np.array([0, *accumulate(map(len, takes))])
    starts = motion.starts
    columns = takes[0].columns if len(takes) == 1 else np.concatenate([take.columns for take in takes], axis=1)
    axis, center, pitch, R0, p0, q, residuals = solve_takes(
        _own(motion.axis),
        _own(motion.center),
        float(motion.pitch),
        np.array([start.R0 for start in starts]),
        np.array([start.p0 for start in starts]),
        _own(_joined([start.q for start in starts])),
        offsets,
        columns,
        _joined(wp),
        _joined(wo),
        kind.turns,
        np.full(columns.shape[1], kind.slides) if strayed is None or kind.slides else _joined(strayed),
        kind.shared,
        kind.own,
        takes[0].middle if len(takes) == 1 else columns[9:].mean(axis=1),
        FARTHEST,
        steps,
    )
    if len(takes) == 1:
        return Solution(Motion(axis, center, (Start(R0[0], p0[0], q),), pitch), (residuals,))
    pieces = [slice(offsets[k], offsets[k + 1]) for k in range(len(takes))]
    moved = tuple(Start(R0[k], p0[k], q[piece]) for k, piece in enumerate(pieces))
    return Solution(Motion(axis, center, moved, pitch), tuple(residuals[piece] for piece in pieces))


def settled_coordinates(kind: Kind, motion: Motion, take: Take, wp: float, wo: float) -> tuple[Array, Array]:
    """The coordinates (n, 2) that explain each sample of the first take best, and the residuals (n, 6) that stay."""
    from fitting.motion_kernels import best_coordinates

    start = motion.starts[0]
    axis, center, R0, p0 = _own(motion.axis), _own(motion.center), _own(start.R0), _own(start.p0)
    return best_coordinates(
        axis, center, float(motion.pitch), kind.turns, kind.slides, R0, p0, take.columns, float(wp), float(wo)
    )


def _own(array: Array) -> Array:
    """A plain copy: read-only or strided arrays would each make numba compile everything once more."""
    return np.array(array, dtype=float)


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
