"""The handheld gripper: where its tip, tracked body and force/torque sensor really are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from devices.sim.disturbances import Disturbances
from devices.sim.frames import Array, frames, inverse, rotations, unit
from devices.sim.randomness import GRIPPER, generator


@dataclass(frozen=True)
class Gripper:
    """Geometry and load. Tip frame: x the clamping screws, y the approach, z a gripped bar."""

    tip2body: Array
    """(4, 4)."""
    sensor2body: Array
    """(4, 4)."""
    mass: float
    """kg of what hangs on the sensor."""
    com: Array
    """(3,) centre of mass in the sensor's frame, metres."""
    bias: Array
    """(6,) force then torque in the sensor's frame, N and Nm."""

    @property
    def body2tip(self) -> Array:
        """(4, 4)."""
        return inverse(self.tip2body)

    @property
    def tip2sensor(self) -> Array:
        """(4, 4)."""
        return inverse(self.sensor2body) @ self.tip2body

    def truth(self) -> dict[str, Any]:
        """The same as plain lists."""
        return {
            "tip2body": self.tip2body.tolist(),
            "sensor2body": self.sensor2body[:3, :3].tolist(),
            "sensor_origin_m": self.sensor2body[:3, 3].tolist(),
            "mass_kg": self.mass,
            "com_m": self.com.tolist(),
            "force_bias_n": self.bias[:3].tolist(),
            "torque_bias_nm": self.bias[3:].tolist(),
        }


def draw_gripper(seed: int, disturbances: Disturbances) -> Gripper:
    """The gripper of a seed."""
    rng = generator(seed, GRIPPER)
    away = unit(np.array([0.15, -1.0, 0.25]) + 0.2 * rng.standard_normal(3))
    turned = Rotation.random(random_state=rng.integers(2**31)).as_matrix() if disturbances.body_turned else np.eye(3)
    body2tip = frames(turned, disturbances.body_offset_m * away)
    if disturbances.sensor_tilt_deg >= 180.0:
        mount = Rotation.random(random_state=rng.integers(2**31)).as_matrix()
    else:
        mount = rotations(np.radians(disturbances.sensor_tilt_deg) * unit(rng.standard_normal(3)))
    sensor2tip = frames(mount, [0.0, -0.12, 0.0])
    com_in_tip = np.array([0.0, -0.065, 0.0]) + rng.uniform(-0.01, 0.01, 3)
    com = inverse(sensor2tip)[:3, :3] @ (com_in_tip - sensor2tip[:3, 3])
    tip2body = inverse(body2tip)
    limits = np.repeat([disturbances.force_bias_n, disturbances.torque_bias_nm], 3)
    bias = rng.uniform(-1.0, 1.0, 6) * limits
    return Gripper(tip2body, tip2body @ sensor2tip, disturbances.mass_kg, com, bias)
