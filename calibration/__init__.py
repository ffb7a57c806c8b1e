"""Calibration of tip, force/torque sensor, weight and place."""
