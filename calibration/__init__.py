"""Calibration of tip, force/torque sensor, weight and place."""

from calibration.ft_frame import SensorAlignment, align_by_axes, align_sensor
from calibration.gravity import STANDARD_GRAVITY, Load, LoadLimits, compensate, identify_load
from calibration.holds import Coverage, Hold, HoldSettings, coverage, find_holds, hold_still
from calibration.identity import RigIdentity
from calibration.known_pose import tip_by_known_pose
from calibration.pivoting import tip_by_pivoting
from calibration.progress import TipProgress, pivoting_progress, two_rotations_progress
from calibration.records import Record
from calibration.registration import (
    ProbedPoint,
    Registration,
    RegistrationLimits,
    probe_point,
    register_again,
    register_as_world,
    register_by_body,
    register_by_points,
    replacement,
)
from calibration.result import CalibrationFailure
from calibration.store import CalibrationStore, Entry, StoreError, describe
from calibration.tip import Tip, TipLimits
from calibration.two_rotations import tip_by_two_rotations

__all__ = [
    "STANDARD_GRAVITY",
    "CalibrationFailure",
    "CalibrationStore",
    "Coverage",
    "Entry",
    "Hold",
    "HoldSettings",
    "Load",
    "LoadLimits",
    "ProbedPoint",
    "Record",
    "Registration",
    "RegistrationLimits",
    "RigIdentity",
    "SensorAlignment",
    "StoreError",
    "Tip",
    "TipLimits",
    "TipProgress",
    "align_by_axes",
    "align_sensor",
    "compensate",
    "coverage",
    "describe",
    "find_holds",
    "hold_still",
    "identify_load",
    "pivoting_progress",
    "probe_point",
    "register_again",
    "register_as_world",
    "register_by_body",
    "register_by_points",
    "replacement",
    "tip_by_known_pose",
    "tip_by_pivoting",
    "tip_by_two_rotations",
    "two_rotations_progress",
]
