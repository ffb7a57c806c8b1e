"""How the force/torque sensor is turned against the tracked body.

By weight: the same gravity is seen by the cameras (through the body's orientation) and by the sensor
(through the force). By the axes: a sensor that is mounted square to the gripper has the gripper's axes.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.components import Solved, solve_holds
from calibration.gravity import (
    LOAD_LIMITS,
    STANDARD_GRAVITY,
    LoadLimits,
    check_holds,
    refuse_holds,
    refuse_residual,
    weight_in_sensor,
)
from calibration.result import CalibrationFailure
from calibration.tip import Tip
from fitting import se3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SensorAlignment:
    """Orientation of the sensor in the frame of the tracked body."""

    method: Literal["weight", "axes"]
    rotation: Array
    """(3, 3) sensor-to-body."""
    covariance: Array
    """(3, 3) rad², of a small rotation in body coordinates: true rotation = exp(r) · rotation."""
    residual: float
    """Force that remains unexplained, rms of its length, newtons; 0 by the axes."""
    verdict: str

    @property
    def rotation_std(self) -> float:
        """Standard deviation in radians, root of the trace."""
        return float(np.sqrt(np.trace(self.covariance)))


def align_sensor(
    rotations: ArrayLike,
    forces: ArrayLike,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    valid: ArrayLike | None = None,
    limits: LoadLimits = LOAD_LIMITS,
) -> SensorAlignment | CalibrationFailure:
    """Find the sensor's orientation from held orientations; bias and mass may be unknown.

    Parameters
    ----------
    rotations
        (n, 3, 3) body-to-world, one per held orientation.
    forces
        (n, 3) mean force of each hold in the sensor's frame, newtons.
    gravity
        (3,) in the world frame, m/s².
    valid
        (n,) False where the sensor reported saturation or an error.
    """
    turns, measured, g = check_holds(rotations, forces, 3, gravity)
    refusal = refuse_holds(turns, measured, valid, g, limits)
    if refusal is not None:
        return refusal
    weight = weight_in_sensor(turns, g)
    rotation, mass = _closest_rotation(weight, measured)
    bias = np.mean(measured - mass * weight @ rotation, axis=0)
    for _ in range(2):
        fit = _improve(weight, measured, rotation, mass, bias)
        rotation = se3.rotation_exp(fit.solution[:3]) @ rotation
        mass, bias = mass + float(fit.solution[3]), bias + fit.solution[4:]
    residuals = measured - mass * weight @ rotation - bias
    rms = float(np.sqrt(np.mean(np.sum(residuals**2, axis=1))))
    refusal = refuse_residual(rms, mass * float(np.linalg.norm(g)), measured, limits)
    if refusal is not None:
        return refusal
    covariance = fit.covariance[:3, :3]
    std = float(np.sqrt(np.trace(covariance)))
    words = f"Sensor orientation ± {np.degrees(std):.2f}° from {len(turns)} holds; {rms:.3f} N remain."
    return SensorAlignment("weight", rotation, covariance, rms, words)


def align_by_axes(tip: Tip, sensor2gripper: ArrayLike | None = None) -> SensorAlignment | CalibrationFailure:
    """Take the gripper's axes for the sensor's, or those turned by the mounting ``sensor2gripper`` (3, 3).

    Turns about two axes cannot tell a gripper from the same one turned by 180°: check the signs by the
    weight, or pass a rough orientation as ``near`` to ``tip_by_two_rotations``.
    """
    if tip.rotation is None:
        return CalibrationFailure(
            "misfit",
            f"A tip found by {tip.method} has no axes. Calibrate it by two rotations, or align the sensor by weight.",
        )
    mounting = np.eye(3) if sensor2gripper is None else np.asarray(sensor2gripper, dtype=float)
    covariance = tip.covariance[3:, 3:]
    std = float(np.sqrt(np.trace(covariance)))
    words = f"Sensor orientation ± {np.degrees(std):.2f}° from the gripper's axes, as far as it is mounted square."
    return SensorAlignment("axes", tip.rotation @ mounting, covariance, 0.0, words)


def _closest_rotation(weight: Array, forces: Array) -> tuple[Array, float]:
    """Closest rotation, and the mass, between two centred clouds (Kabsch): force = mass · rotationᵀ · weight
    + bias."""
    centred = weight - weight.mean(axis=0)
    left, values, right = np.linalg.svd(centred.T @ (forces - forces.mean(axis=0)))
    sign = np.array([1.0, 1.0, np.linalg.det(left @ right)])
    return left @ np.diag(sign) @ right, float(values @ sign / np.sum(centred**2))


def _improve(weight: Array, forces: Array, rotation: Array, mass: float, bias: Array) -> Solved:
    """One step for a small rotation (body frame), mass and bias."""
    # exp(r) · rotation changes the force by mass · rotationᵀ · (weight × r), written here in body
    # coordinates.
    n = len(weight)
    across = mass * se3.skew(weight)
    design = np.zeros((n, 3, 7))
    design[:, :, :3] = across
    design[:, :, 3] = weight
    design[:, :, 4:] = rotation
    values = (forces - bias) @ rotation.T - mass * weight
    return solve_holds(design, values, across)
