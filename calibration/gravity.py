"""What hangs on the force/torque sensor: bias, mass and centre of mass, and how to take it out of the stream.

A held gripper presses on its sensor with ``force = mass · g + force_bias`` and ``torque = com × mass · g +
torque_bias``, where ``g`` is gravity as seen from the sensor. Both are linear in what is sought.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.components import Solved, solve_holds
from calibration.result import CalibrationFailure
from fitting import se3

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
"""World frame with z up, m/s². Motive's own default has y up: pass (0, -9.80665, 0) there."""


_CLIPPED_SHARE = 0.05
"""Unexplained share of the torques, beyond which a channel that stops at one value is saturated and no chance."""


@dataclass(frozen=True)
class LoadLimits:
    """What the held orientations must offer, and how well the weight must explain them; SI units."""

    min_orientations: int = 6
    min_spread: float = 0.15
    """Rms deviation of gravity's direction across its second widest direction (unit vectors), about 9°."""
    max_residual: float = 0.25
    """Force (rms, N) that may remain unexplained, plus ``max_residual_share`` of the weight."""
    max_residual_share: float = 0.03
    outlier: float = 6.0
    """A hold further off than this many standard deviations was touched or moved, and is left out."""


LOAD_LIMITS = LoadLimits()


@dataclass(frozen=True)
class Load:
    """Bias of the sensor and the load that hangs on it, in the sensor's frame."""

    mass: float
    """Kilograms."""
    com: Array
    """(3,) centre of mass, metres."""
    force_bias: Array
    """(3,) newtons."""
    torque_bias: Array
    """(3,) newton metres."""
    covariance: Array
    """(10, 10) of mass, com, force_bias, torque_bias in this order."""
    residual: float
    """Force that remains unexplained in the holds used, rms of its length, newtons."""
    torque_residual: float
    """Likewise the torque, newton metres."""
    gravity: Array
    """(3,) in the world frame, m/s²; compensation uses the same."""
    used: Mask
    """(n,) holds that agree."""
    verdict: str


def identify_load(
    rotations: ArrayLike,
    wrenches: ArrayLike,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
    valid: ArrayLike | None = None,
    limits: LoadLimits = LOAD_LIMITS,
) -> Load | CalibrationFailure:
    """Find bias, mass and centre of mass from held orientations.

    Parameters
    ----------
    rotations
        (n, 3, 3) sensor-to-world, one per held orientation.
    wrenches
        (n, 6) mean force (N) and torque (Nm) of each hold, in the sensor's frame.
    gravity
        (3,) in the world frame, m/s².
    valid
        (n,) False where the sensor reported saturation or an error.
    """
    turns, loads, g = check_holds(rotations, wrenches, 6, gravity)
    refusal = refuse_holds(turns, loads, valid, g, limits)
    if refusal is not None:
        return refusal
    weight = weight_in_sensor(turns, g)
    used = np.ones(len(turns), dtype=bool)
    while True:
        force, torque = _fit(weight[used], loads[used])
        worst = _worst(force, torque, limits)
        if worst is None or np.count_nonzero(used) - 1 < max(limits.min_orientations, 0.7 * len(turns)):
            break
        used[np.flatnonzero(used)[worst]] = False

    mass = float(force.solution[0])
    force_rms, torque_rms = _rms(force.residuals), _rms(torque.residuals)
    refusal = refuse_residual(force_rms, mass * float(np.linalg.norm(g)), loads[:, :3], limits)
    if refusal is None and torque_rms > _CLIPPED_SHARE * _rms(loads[:, 3:] - loads[:, 3:].mean(axis=0)):
        refusal = refuse_clipped(loads[:, 3:], "Torque", "Nm")
    if refusal is not None:
        return refusal
    com = torque.solution[:3] / mass
    covariance = _load_covariance(mass, com, force.covariance, torque.covariance)
    words = (
        f"Load {mass:.3f} ± {np.sqrt(covariance[0, 0]):.3f} kg, centre of mass "
        f"± {1e3 * np.sqrt(np.trace(covariance[1:4, 1:4])):.1f} mm; "
        f"{force_rms:.3f} N and {torque_rms:.4f} Nm remain in {np.count_nonzero(used)} holds."
    )
    if not used.all():
        words += f" Hold {', '.join(str(i + 1) for i in np.flatnonzero(~used))} was touched or moved and is left out."
    return Load(
        mass,
        com,
        force.solution[1:],
        torque.solution[3:],
        covariance,
        force_rms,
        torque_rms,
        g,
        used,
        words,
    )


def compensate(wrenches: ArrayLike, rotations: ArrayLike, load: Load) -> Array:
    """Take bias and weight out of wrenches (n, 6) measured at sensor-to-world rotations (n, 3, 3)."""
    measured = np.asarray(wrenches, dtype=float)
    weight = load.mass * weight_in_sensor(np.asarray(rotations, dtype=float), load.gravity)
    bias = np.concatenate([load.force_bias, load.torque_bias])
    return np.asarray(measured - np.concatenate([weight, np.cross(load.com, weight)], axis=-1) - bias)


def weight_in_sensor(rotations: Array, gravity: Array) -> Array:
    """Gravity (n, 3) as seen from frames that are turned by (n, 3, 3) against the world."""
    return np.asarray(np.einsum("...ji,j->...i", rotations, gravity))


def refuse_holds(
    rotations: Array, loads: Array, valid: ArrayLike | None, gravity: Array, limits: LoadLimits
) -> CalibrationFailure | None:
    """Say why these holds cannot give a load or a sensor frame, before anything is fitted."""
    n = len(rotations)
    if valid is not None and not np.all(valid):
        bad = np.flatnonzero(~np.asarray(valid, dtype=bool))
        return CalibrationFailure(
            "saturated",
            f"The sensor was saturated or faulty in {len(bad)} of {n} holds (first: hold {bad[0] + 1}). "
            "Take the load off the sensor, check its status with `ident check`, and hold these again.",
        )
    if not np.isfinite(loads).all():
        bad = np.flatnonzero(~np.isfinite(loads).all(axis=1))
        return CalibrationFailure(
            "too-few", f"Hold {bad[0] + 1} has no force measurement. Hold it again with the sensor streaming."
        )
    if n < limits.min_orientations:
        return CalibrationFailure(
            "too-few",
            f"{limits.min_orientations} held orientations are needed; there {'is' if n == 1 else 'are'} {n}. "
            "Turn the gripper so that each of its sides points down once, and hold still for a second "
            "each time.",
        )
    directions = weight_in_sensor(rotations, gravity / np.linalg.norm(gravity))
    spread = float(np.sqrt(max(np.linalg.eigvalsh(np.cov(directions.T, bias=True))[1], 0.0)))
    if spread < limits.min_spread:
        return CalibrationFailure(
            "too-little-rotation",
            f"The held orientations are too alike: gravity's direction varies by {np.degrees(spread):.0f}°, "
            f"{np.degrees(limits.min_spread):.0f}° are needed. Turn the gripper over and hold it on all "
            "six sides.",
        )
    return None


def refuse_residual(rms: float, weight: float, forces: Array, limits: LoadLimits) -> CalibrationFailure | None:
    """Say why the forces are no weight: a clipped channel, a contact, a movement, a wrong gravity."""
    limit = limits.max_residual + limits.max_residual_share * abs(weight)
    clipped = refuse_clipped(forces, "Force", "N") if rms > 0.2 * limit else None
    if clipped is not None:
        return clipped
    if weight <= 0.0:
        return CalibrationFailure(
            "misfit",
            f"The forces give a weight of {weight:.2f} N, which points upwards. Check the direction of "
            "gravity in the rig's file and which way the sensor is mounted.",
        )
    if rms > limit:
        return CalibrationFailure(
            "misfit",
            f"{rms:.2f} N remain unexplained by bias and weight, at most {limit:.2f} N may. The gripper "
            "was touched or "
            "moved while held, the sensor saturated, or gravity points elsewhere in this world: hold "
            "each again.",
        )
    return None


def refuse_clipped(values: Array, what: str, unit: str) -> CalibrationFailure | None:
    """Say which channel of values (n, 3), unexplained as they are, ends at the same one in several holds."""
    channel = _clipped_channel(values)
    if channel is None:
        return None
    return CalibrationFailure(
        "saturated",
        f"{what} channel {'xyz'[channel]} stops at {np.abs(values[:, channel]).max():.3g} {unit} in several holds: the "
        "sensor is saturated. Take the load off the sensor or choose a larger range, and hold again.",
    )


def _fit(weight: Array, loads: Array) -> tuple[Solved, Solved]:
    """Solve for (mass, force_bias) from the forces and for (mass · com, torque_bias) from the torques."""
    bias = np.broadcast_to(np.eye(3), (len(weight), 3, 3))
    across = se3.skew(weight)
    rough = np.linalg.norm(loads[:, :3].std(axis=0)) / np.linalg.norm(weight.std(axis=0))
    force = solve_holds(np.concatenate([weight[:, :, None], bias], axis=2), loads[:, :3], rough * across)
    moment = np.concatenate([-across, bias], axis=2)
    lever = np.linalg.lstsq(moment.reshape(-1, 6), loads[:, 3:].reshape(-1), rcond=None)[0][:3]
    return force, solve_holds(moment, loads[:, 3:], se3.skew(lever) @ across)


def _rms(vectors: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


def _worst(force: Solved, torque: Solved, limits: LoadLimits) -> int | None:
    """Index of the hold that disagrees most with the others, if it does so beyond chance."""
    distances = np.zeros(len(force.residuals))
    for part in (force.residuals, torque.residuals):
        squared = np.sum(part**2, axis=1)
        others = (np.sum(squared) - squared) / max(len(squared) - 1, 1)
        distances = np.maximum(distances, squared / (others + 1e-18))
    worst = int(np.argmax(distances))
    return worst if distances[worst] > limits.outlier**2 else None


def _load_covariance(mass: float, com: Array, force: Array, torque: Array) -> Array:
    """Covariance of (mass, com, force_bias, torque_bias) from those of (mass, bias) and (mass · com,
    bias)."""
    jacobian = np.zeros((10, 10))
    jacobian[0, 0] = 1.0
    jacobian[1:4, 0] = -com / mass
    jacobian[1:4, 4:7] = np.eye(3) / mass
    jacobian[4:7, 1:4] = np.eye(3)
    jacobian[7:10, 7:10] = np.eye(3)
    both = np.zeros((10, 10))
    both[:4, :4], both[4:, 4:] = force, torque
    return np.asarray(jacobian @ both @ jacobian.T)


def _clipped_channel(forces: Array) -> int | None:
    """Channel whose largest magnitude is met exactly by several holds, as only a clipped one does."""
    for channel in range(forces.shape[1]):
        for values in (forces[:, channel], -forces[:, channel]):
            if np.count_nonzero(values == values.max()) >= max(2, 0.03 * len(values)):
                return channel
    return None


def check_holds(rotations: ArrayLike, values: ArrayLike, width: int, gravity: ArrayLike) -> tuple[Array, Array, Array]:
    """Rotations (n, 3, 3), measurements (n, width) and gravity (3,) as arrays; ValueError names what is
    wrong."""
    turns, measured = np.asarray(rotations, dtype=float), np.asarray(values, dtype=float)
    g = np.asarray(gravity, dtype=float)
    if turns.ndim != 3 or turns.shape[1:] != (3, 3):
        raise ValueError(f"Rotations have shape {turns.shape} instead of (n, 3, 3).")
    if measured.shape != (len(turns), width):
        raise ValueError(
            f"{len(turns)} rotations need measurements of shape ({len(turns)}, {width}), not {measured.shape}."
        )
    if g.shape != (3,) or not np.linalg.norm(g) > 0.0:
        raise ValueError(f"Gravity {g} is no vector of three with a length, in m/s².")
    skewed = np.abs(np.swapaxes(turns, 1, 2) @ turns - np.eye(3)).max(axis=(1, 2))
    bad = np.flatnonzero(~(skewed < 1e-3))
    if bad.size:
        raise ValueError(f"Rotation {bad[0]} is none: its axes miss orthonormality by {skewed[bad[0]]:.3g}.")
    return turns, measured, g
