"""What an importer read, whatever it came from."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from devices.buffer import PoseWindow, WrenchWindow
from devices.samples import PoseState

_LARGEST = 1e6
"""No position in metres, and no component of a quaternion, is larger."""


@dataclass(slots=True)
class Recording:
    """Poses by body and perhaps wrenches, in host nanoseconds and SI units."""

    bodies: dict[str, PoseWindow]
    wrench: WrenchWindow | None = None
    notes: list[str] = field(default_factory=list)
    """Sentences about what was assumed, converted or left out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    named: bool = True
    """Whether the recording itself names its bodies."""


def pose_window(
    body: str,
    t_ns: NDArray[np.int64],
    positions: ArrayLike,
    quaternions: ArrayLike,
    *,
    sequence: ArrayLike | None = None,
    mean_error: ArrayLike = 0.0,
) -> PoseWindow:
    """Columns of one body: positions (n, 3) in metres and quaternions (n, 4) xyzw, which are normalised.

    Rows with a value missing or absurd, or with a zero quaternion, become untracked and hold NaN.
    """
    at, turn = (np.where(np.abs(a) < _LARGEST, a, np.nan) for a in (np.asarray(positions), np.asarray(quaternions)))
    norm = np.linalg.norm(turn, axis=1)
    tracked = np.isfinite(at).all(axis=1) & np.isfinite(norm) & (norm > 1e-6)
    turn[tracked] /= norm[tracked, None]
    at[~tracked], turn[~tracked] = np.nan, np.nan
    count = np.arange(len(t_ns)) if sequence is None else np.asarray(sequence)
    return PoseWindow(
        body,
        t_ns,
        at,
        turn,
        np.where(tracked, int(PoseState.MEASURED), int(PoseState.UNTRACKED)),
        count.astype(np.int64),
        np.nan_to_num(np.broadcast_to(np.asarray(mean_error, dtype=float), len(t_ns))),
        t_ns,
        np.zeros(len(t_ns), np.int64),
    )
