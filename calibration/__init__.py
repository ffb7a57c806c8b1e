"""Calibration of tip, force/torque sensor, weight and place."""

from calibration.ft_frame import SensorAlignment, align_by_axes, align_sensor
from calibration.gravity import STANDARD_GRAVITY, Load, LoadLimits, compensate, identify_load
from calibration.holds import Coverage, Hold, HoldSettings, coverage, find_holds, hold_still
from calibration.known_pose import tip_by_known_pose
from calibration.pivoting import tip_by_pivoting
from calibration.result import CalibrationFailure
from calibration.tip import Tip, TipLimits
from calibration.two_rotations import tip_by_two_rotations

__all__ = [
    "STANDARD_GRAVITY",
    "CalibrationFailure",
    "Coverage",
    "Hold",
    "HoldSettings",
    "Load",
    "LoadLimits",
    "SensorAlignment",
    "Tip",
    "TipLimits",
    "align_by_axes",
    "align_sensor",
    "compensate",
    "coverage",
    "find_holds",
    "hold_still",
    "identify_load",
    "tip_by_known_pose",
    "tip_by_pivoting",
    "tip_by_two_rotations",
]
