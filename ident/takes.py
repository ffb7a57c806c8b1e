"""The data of one take: the poses of the tracked body, and what is said about their quality."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fitting.se3 import Array, frame, inverse, rotation_from_quaternion

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class PoseColumns(Protocol):
    """What live buffers and recorded sessions both give for a window of time."""

    @property
    def t_ns(self) -> Ints:
        """(n,) host time."""

    @property
    def positions(self) -> Array:
        """(n, 3) metres."""

    @property
    def quaternions(self) -> Array:
        """(n, 4) xyzw."""

    @property
    def measured(self) -> Bools:
        """(n,) whether a row is a measurement."""


class WrenchColumns(Protocol):
    """Loads of a window of time, from live buffers or a recorded session."""

    def interpolate(self, t_ns: Ints) -> tuple[Array, Bools]:
        """Wrenches (n, 6) at host times, NaN where they are not known, and where they are (n,)."""


@dataclass(frozen=True, eq=False)
class TakeData:
    """Measured poses of one take, body-to-world (or body-to-object where a reference body is tracked)."""

    t_ns: Ints
    """(n,) host time of each measured pose."""
    poses: Array
    """(n, 4, 4)."""
    samples: int
    """Frames that arrived in the take, measured or not."""
    longest_loss_s: float
    """Longest time without a measured pose, the ends of the take included."""
    loads: Array | None = None
    """(n, 6) N and Nm in the sensor's frame at each pose, NaN where unknown; in takes about the load."""

    @property
    def known_loads(self) -> int:
        """Number of poses at which the load is known."""
        return 0 if self.loads is None else int(np.isfinite(self.loads).all(axis=1).sum())

    @property
    def measured(self) -> int:
        """Number of measured poses."""
        return len(self.t_ns)

    def tip(self, tip2body: Array) -> Array:
        """Tip poses (n, 4, 4)."""
        return np.asarray(self.poses @ tip2body)


def take_data(
    window: PoseColumns,
    t0_ns: int,
    t1_ns: int,
    reference: PoseColumns | None = None,
    wrenches: WrenchColumns | None = None,
) -> TakeData:
    """Collect the measured poses of a window; relative to a reference body and with loads where such are given."""
    keep = np.asarray(window.measured, dtype=bool)
    t_ns, poses = np.asarray(window.t_ns)[keep], _frames(window, keep)
    if reference is not None:
        t_ns, poses = _relative(t_ns, poses, reference)
    edges = np.concatenate([[t0_ns], t_ns, [t1_ns]])
    loss = float(np.max(np.diff(edges))) * 1e-9 if len(edges) > 1 else 0.0
    loads = None if wrenches is None else wrenches.interpolate(t_ns)[0]
    return TakeData(t_ns=t_ns, poses=poses, samples=len(keep), longest_loss_s=loss, loads=loads)


def _frames(window: PoseColumns, keep: Bools) -> Array:
    return frame(rotation_from_quaternion(np.asarray(window.quaternions)[keep]), np.asarray(window.positions)[keep])


def _relative(t_ns: Ints, poses: Array, reference: PoseColumns) -> tuple[Ints, Array]:
    """Express poses in the reference body's frame, where the cameras measured both at once."""
    keep = np.asarray(reference.measured, dtype=bool)
    common, here, there = np.intersect1d(t_ns, np.asarray(reference.t_ns)[keep], return_indices=True)
    body2world = _frames(reference, keep)[there]
    return common, np.asarray(inverse(body2world) @ poses[here])


def peak_speed(data: TakeData) -> float:
    """Speed (m/s) that the tracked body keeps below for 99 % of the take, over windows of 50 ms."""
    if data.measured < 3:
        return 0.0
    seconds = (data.t_ns - data.t_ns[0]) * 1e-9
    later = np.searchsorted(seconds, seconds + 0.05)
    ok = later < len(seconds)
    if not ok.any():
        return 0.0
    steps = data.poses[later[ok], :3, 3] - data.poses[ok, :3, 3]
    return float(np.percentile(np.linalg.norm(steps, axis=1) / (seconds[later[ok]] - seconds[ok]), 99))
