"""Which rig a calibration belongs to, and whether it still is the same one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from calibration.result import CalibrationFailure
from fitting import se3

Array = NDArray[np.float64]
Point = tuple[float, float, float]

_SAME = 0.0003
"""Metres by which a marker may differ between two descriptions of the same body."""


@dataclass(frozen=True)
class RigIdentity:
    """What a calibration depends on."""

    body: str
    """Name of the tracked body, or of the device for a load."""
    serials: Mapping[str, str] = field(default_factory=dict)
    """Serial numbers of the devices that matter, by their name in the rig, for example ``{"ft":
    "FT30291"}``."""
    markers: tuple[Point, ...] = ()
    """Markers in the body frame as the motion capture describes them (MODELDEF), metres; empty where it does
    not."""

    @property
    def fingerprint(self) -> str:
        """Short name of the marker layout for people to compare."""
        rounded = np.round(np.array(self.markers, dtype=float).reshape(-1, 3) * 1e3).astype(int)
        return sha256(rounded.tobytes()).hexdigest()[:8] if self.markers else "unknown"


def differences(then: RigIdentity, now: RigIdentity) -> tuple[CalibrationFailure, ...]:
    """Say everything that makes a calibration of ``then`` worthless on the rig of ``now``."""
    found = []
    if then.body != now.body:
        found.append(CalibrationFailure("other-body", f"it is for body '{then.body}', not '{now.body}'"))
    for device in sorted(then.serials.keys() & now.serials.keys()):
        if then.serials[device] != now.serials[device]:
            text = f"device {device} is now {now.serials[device]}, it was {then.serials[device]}"
            found.append(CalibrationFailure("other-device", text))
    markers = _marker_difference(np.array(then.markers), np.array(now.markers))
    return (*found, markers) if markers is not None else tuple(found)


def _marker_difference(then: Array, now: Array) -> CalibrationFailure | None:
    if len(then) == 0 or len(now) == 0:
        return None
    if len(then) != len(now):
        return CalibrationFailure("markers-changed", f"the body has {len(now)} markers, it had {len(then)}")
    if np.abs(then - now).max() <= _SAME:
        return None
    moved = float(np.abs(_distances(then) - _distances(now)).max())
    if moved > 2 * _SAME:
        return CalibrationFailure("markers-changed", f"its markers have moved by {1e3 * moved:.1f} mm among themselves")
    # The same markers in other coordinates: origin or axes of the body were set anew.
    left, _, right = np.linalg.svd((now - now.mean(axis=0)).T @ (then - then.mean(axis=0)))
    rotation = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    turn = float(np.degrees(np.linalg.norm(se3.rotation_log(rotation))))
    shift = float(np.linalg.norm(now.mean(axis=0) - rotation @ then.mean(axis=0)))
    return CalibrationFailure(
        "redefined",
        f"the body was redefined: its origin moved by {1e3 * shift:.1f} mm, its axes turned by {turn:.1f}°",
    )


def _distances(points: Array) -> Array:
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2))
