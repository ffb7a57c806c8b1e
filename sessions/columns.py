"""Recorded samples as NumPy columns."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from devices.samples import PoseState
from fitting import se3


@dataclass(frozen=True, slots=True)
class _Columns:
    t_ns: NDArray[np.int64]
    """(n,) host time, ascending."""

    def __len__(self) -> int:
        return len(self.t_ns)

    @classmethod
    def joined(cls, pieces: Sequence[dict[str, NDArray[Any]]], empty: dict[str, NDArray[Any]]) -> Self:
        """One table of many pieces, sorted by time; ``empty`` gives types and shapes where there is none."""
        columns = {f.name: np.concatenate([p[f.name] for p in (empty, *pieces)]) for f in fields(cls)}
        order = np.argsort(columns["t_ns"], kind="stable")
        return cls(**{name: column[order] for name, column in columns.items()})


@dataclass(frozen=True, slots=True)
class PoseColumns(_Columns):
    """Poses of one body, body-to-world; row i of every column belongs to one sample."""

    positions: NDArray[np.float64]
    """(n, 3) metres, world frame."""
    quaternions: NDArray[np.float64]
    """(n, 4) xyzw."""
    states: NDArray[np.uint8]
    """(n,) values of :class:`devices.samples.PoseState`."""
    sequence: NDArray[np.int64]
    """(n,) frame numbers of the device."""
    mean_error: NDArray[np.float64]
    """(n,) mean marker error, metres."""
    ticks: NDArray[np.uint64]
    """(n,) device clock at mid-exposure; 0 where unknown."""
    received_ns: NDArray[np.int64]
    """(n,) host time of receipt."""

    @property
    def measured(self) -> NDArray[np.bool_]:
        """(n,) where the pose is a measurement."""
        return np.asarray(self.states == PoseState.MEASURED)

    def poses(self) -> NDArray[np.float64]:
        """(n, 4, 4) body2world frames."""
        return se3.frame(se3.rotation_from_quaternion(self.quaternions), self.positions)


@dataclass(frozen=True, slots=True)
class WrenchColumns(_Columns):
    """Wrenches in the sensor's frame; row i of every column belongs to one sample."""

    wrench: NDArray[np.float64]
    """(n, 6) force in N, then torque in N m."""
    status: NDArray[np.uint32]
    """(n,) status word of the device."""
    valid: NDArray[np.bool_]
    """(n,) False where the values cannot be trusted."""
    sequence: NDArray[np.int64]
    """(n,) sample counter of the device."""
    received_ns: NDArray[np.int64]
    """(n,) host time of receipt."""


def empty_columns(n: int, **kinds: tuple[str, int]) -> dict[str, NDArray[Any]]:
    """Zeroed columns of ``n`` rows; a kind is (NumPy type, width), width 0 for a plain column."""
    return {name: np.zeros((n, width) if width else n, kind) for name, (kind, width) in kinds.items()}


POSE_KINDS = {
    "t_ns": ("i8", 0),
    "positions": ("f8", 3),
    "quaternions": ("f8", 4),
    "states": ("u1", 0),
    "sequence": ("i8", 0),
    "mean_error": ("f8", 0),
    "ticks": ("u8", 0),
    "received_ns": ("i8", 0),
}
WRENCH_KINDS = {
    "t_ns": ("i8", 0),
    "wrench": ("f8", 6),
    "status": ("u4", 0),
    "valid": ("?", 0),
    "sequence": ("i8", 0),
    "received_ns": ("i8", 0),
}
