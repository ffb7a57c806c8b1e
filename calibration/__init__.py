"""Calibration of tip, force/torque sensor, weight and place."""

from calibration.result import CalibrationFailure
from calibration.tip import Tip, TipLimits, tip_by_pivoting, tip_by_two_rotations

__all__ = ["CalibrationFailure", "Tip", "TipLimits", "tip_by_pivoting", "tip_by_two_rotations"]
