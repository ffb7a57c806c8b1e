"""What the devices make of a plan: noisy, frozen and lost poses, and wrenches with noise. Pure."""

from dataclasses import dataclass
from math import ceil, gcd

import numpy as np
from numpy.random import Generator

from devices.sim.disturbances import Disturbances
from devices.sim.forces import sensed
from devices.sim.frames import Array, frames, quaternions, rotations, unit
from devices.sim.gripper import Gripper
from devices.sim.plan import Plan
from devices.sim.randomness import VOLUME, generator
from devices.sim.scene import Scene


@dataclass(frozen=True)
class Rates:
    """Frames and records per second."""

    mocap_hz: int = 120
    ft_hz: int = 1000

    @property
    def grid_hz(self) -> int:
        """How often per second a frame and a record fall together; segments begin only then."""
        return gcd(self.mocap_hz, self.ft_hz)

    def frames_for(self, seconds: float) -> int:
        """The least number of frames that cover a duration and end on the common grid."""
        per_grid = self.mocap_hz // self.grid_hz
        return per_grid * max(1, ceil(round(seconds * self.grid_hz, 6)))

    def first_record(self, frame: int) -> int:
        """The first record after half a frame before ``frame``, both counted from the start of a segment."""
        return ceil((2 * frame - 1) * self.ft_hz / (2 * self.mocap_hz))


@dataclass(frozen=True)
class Measured:
    """A stretch of both streams; frame 0 lies on the common grid, records begin half a frame earlier."""

    position: Array
    """(n, 3) tracked body in the world, metres."""
    quaternion: Array
    """(n, 4) xyzw, body-to-world."""
    valid: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """(n,) tracking valid."""
    mean_error: Array
    """(n,) metres."""
    lost: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """(n,) never sent."""
    delay: Array
    """(n,) seconds from exposure to transmission."""
    wrench: Array
    """(m, 6) sensor frame, with noise and without bias, N and Nm."""
    load: Array
    """(m, 6) the same without noise."""


class Sensors:
    """The cameras and the force/torque sensor of one rig."""

    def __init__(self, scene: Scene, gripper: Gripper, disturbances: Disturbances, rates: Rates, seed: int) -> None:
        self._scene = scene
        self._gripper = gripper
        self._disturbances = disturbances
        self._rates = rates
        rng = generator(seed, VOLUME)
        self._waves = np.stack([2.0 * np.pi / rng.uniform(0.9, 1.6) * unit(rng.standard_normal(3)) for _ in "xyz"])
        self._phases = rng.uniform(0.0, 2.0 * np.pi, 3)

    def measure(self, plan: Plan, n: int, mocap: Generator, wrench: Generator) -> Measured:
        """``n`` frames of a plan and the records that belong to them; the plan's last pose is held if it is shorter."""
        d, rates = self._disturbances, self._rates
        t = np.arange(n) / rates.mocap_hz
        body2world = plan.tip2world(self._scene, t) @ self._gripper.body2tip
        noise = self._pose_noise(mocap, n)
        position = body2world[:, :3, 3] + self.volume_error(body2world[:, :3, 3]) + noise[:, :3]
        quaternion = quaternions(body2world[:, :3, :3] @ rotations(noise[:, 3:]))
        mean_error = 2.5e-4 + 5e-5 * np.abs(mocap.standard_normal(n))
        lost = mocap.random(n) < d.lost_frames
        delay = 1e-3 * (d.exposure_delay_ms + d.exposure_jitter_ms * np.abs(mocap.standard_normal(n)))
        seen = np.ones(n, dtype=bool)
        for start, stop in plan.hidden:
            seen &= (t < start) | (t > stop)
        # While the body is hidden the server repeats the last pose that it trusted, to the bit.
        source = np.maximum.accumulate(np.where(seen, np.arange(n), 0))
        valid = seen if d.occlusion_flagged else np.ones(n, dtype=bool)
        first, last = rates.first_record(0), rates.first_record(n)
        load = self._load(plan, np.arange(first, last) / rates.ft_hz)
        sigma = np.repeat([d.force_noise_n, d.torque_noise_nm], 3)
        return Measured(
            position=position[source],
            quaternion=quaternion[source],
            valid=valid,
            mean_error=mean_error[source],
            lost=lost,
            delay=delay,
            wrench=load + sigma * wrench.standard_normal(load.shape),
            load=load,
        )

    def volume_error(self, position: Array) -> Array:
        """Smooth distortion (n, 3) of the tracked volume at positions (n, 3), metres."""
        size = 1e-3 * np.sqrt(2.0) * self._disturbances.volume_error_mm
        return np.asarray(size * np.sin(position @ self._waves.T + self._phases))

    def reference(self, pose: Array, n: int, rng: Generator) -> tuple[Array, Array]:
        """Measured positions (n, 3) and quaternions (n, 4) of a body that stands still at ``pose`` (4, 4)."""
        noise = self._pose_noise(rng, n)
        noisy = pose @ frames(rotations(noise[:, 3:]))
        return pose[:3, 3] + noise[:, :3], quaternions(noisy[:, :3, :3])

    def _load(self, plan: Plan, t: Array) -> Array:
        grid = sensed(plan, self._scene, self._gripper)
        return np.stack([np.interp(t, plan.times, column) for column in grid.T], axis=-1)

    def _pose_noise(self, rng: Generator, n: int) -> Array:
        """(n, 6): metres, then radians about the body's axes; white plus a slow part."""
        d = self._disturbances
        white = np.repeat([1e-3 * d.position_noise_mm, np.radians(d.orientation_noise_deg)], 3)
        slow = np.repeat([1e-3 * d.correlated_position_mm, np.radians(d.correlated_orientation_deg)], 3)
        keep = np.exp(-1.0 / (max(d.correlation_s, 1e-9) * self._rates.mocap_hz))
        drive = np.sqrt(1.0 - keep**2)
        draws = rng.standard_normal((n, 12))
        drift = np.empty((n, 6))
        value = draws[0, 6:]
        for i in range(n):
            value = keep * value + drive * draws[i, 6:] if i else value
            drift[i] = value
        return np.asarray(white * draws[:, :6] + slow * drift)
