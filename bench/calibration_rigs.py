"""Simulated rigs for calibration: random tip, sensor and operator, with the truth beside the data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from fitting import se3

Array = NDArray[np.float64]
GRAVITY = np.array([0.0, 0.0, -9.80665])


@dataclass(frozen=True)
class Conditions:
    """How well things go; metres, radians, standard deviations."""

    position_noise: float = 0.0004
    rotation_noise: float = float(np.radians(0.08))
    play: float = 0.0
    """Slow position play of the tip in its grip."""
    wobble: float = 0.0
    """Slow rotation play about the tip."""
    decay: float = 0.95
    """Correlation of the play between neighbouring frames."""
    outliers: float = 0.0
    """Share of gross outliers."""


CLEAN = Conditions()
LOOSE = Conditions(play=0.0004, wobble=float(np.radians(0.3)))
DIRTY = Conditions(play=0.0003, wobble=float(np.radians(0.2)), outliers=0.2)


class Rig:
    """A gripper with a random tip on a random cylinder."""

    def __init__(self, seed: int, conditions: Conditions = CLEAN, reach: float = 0.4) -> None:
        self.rng = np.random.default_rng(seed)
        self.conditions = conditions
        direction = self.rng.normal(size=3)
        offset = direction / np.linalg.norm(direction) * self.rng.uniform(0.05, reach)
        self.tip2body = se3.frame(self.random_rotation(), offset)
        self.grip2world = se3.frame(self.random_rotation(), self.rng.uniform(-2.0, 2.0, 3))

    def random_rotation(self) -> Array:
        return Rotation.random(random_state=self.rng).as_matrix()

    def about_screws(self, arc: float = 1.2, n: int = 600) -> Array:
        return self.observe(self.grip2world @ about(0, self.swing(arc, n)))

    def about_handle(self, arc: float = 1.5, n: int = 600, slide: float = 0.005) -> Array:
        tips = self.grip2world @ about(2, self.swing(arc, n))
        tips[:, :3, 3] += self.swing(slide, n)[:, None] * self.grip2world[:3, 2]
        return self.observe(tips)

    def pivoting(self, tilt: float = 0.5, n: int = 900) -> Array:
        """The tip rests while the gripper circles, tilts and turns."""
        t = np.linspace(0.0, 1.0, n)
        phase = self.rng.uniform(0.0, 2 * np.pi, 3)
        size = tilt * np.abs(np.sin(2 * np.pi * 1.5 * t + phase[1]))
        circle = 2 * np.pi * 4 * t + phase[0]
        vector = np.stack(
            [size * np.cos(circle), size * np.sin(circle), tilt * np.sin(2 * np.pi * t + phase[2])], axis=1
        )
        return self.observe(self.grip2world @ se3.frame(se3.rotation_exp(vector)))

    def holding(self, n: int = 120) -> Array:
        return self.observe(np.broadcast_to(self.grip2world, (n, 4, 4)))

    def touching(self, point: Array, n: int = 120) -> Array:
        """The tip rests on a point of the world, the gripper turned anyhow."""
        return self.observe(np.broadcast_to(se3.frame(self.random_rotation(), point), (n, 4, 4)))

    def swing(self, size: float, n: int) -> Array:
        """There and back, from -size/2 to size/2, at an operator's uneven speed."""
        t = np.linspace(0.0, 1.0, n) ** self.rng.uniform(0.8, 1.25)
        return size / 2 * np.sin(2 * np.pi * t + self.rng.uniform(0.0, 2 * np.pi))

    def observe(self, tips: Array) -> Array:
        """Body poses as the cameras would report them for true tip frames (n, 4, 4)."""
        c, n = self.conditions, len(tips)
        play = se3.exp(np.concatenate([c.play * self.slow(n), c.wobble * self.slow(n)], axis=1))
        poses = tips @ play @ se3.inverse(self.tip2body)
        poses[:, :3, :3] = se3.rotation_exp(c.rotation_noise * self.rng.normal(size=(n, 3))) @ poses[:, :3, :3]
        poses[:, :3, 3] += c.position_noise * self.rng.normal(size=(n, 3))
        bad = np.flatnonzero(self.rng.random(n) < c.outliers)
        poses[bad, :3, :3] = se3.rotation_exp(0.3 * self.rng.normal(size=(len(bad), 3))) @ poses[bad, :3, :3]
        poses[bad, :3, 3] += 0.1 * self.rng.normal(size=(len(bad), 3))
        return poses

    def slow(self, n: int) -> Array:
        """(n, 3) correlated noise of unit variance."""
        decay, settle = self.conditions.decay, 200
        white = self.rng.normal(size=(n + settle, 3)) * np.sqrt(1 - decay**2)
        return np.asarray(lfilter([1.0], [1.0, -decay], white, axis=0)[settle:])


def about(axis: int, angles: Array) -> Array:
    """Frames (n, 4, 4) turned about a coordinate axis."""
    vector = np.zeros((len(angles), 3))
    vector[:, axis] = angles
    return se3.frame(se3.rotation_exp(vector))


def normalised(error: Array, covariance: Array) -> float:
    """Error squared in units of its stated covariance; its mean is the number of components when that is
    honest."""
    return float(error @ np.linalg.solve(covariance, error))


class Weight:
    """A sensor with bias and a load on it, mounted at a random orientation on the tracked body."""

    def __init__(self, seed: int, gravity: Array = GRAVITY) -> None:
        self.rng = np.random.default_rng(seed)
        self.gravity = gravity
        self.mass = self.rng.uniform(0.3, 1.5)
        self.com = self.rng.normal(scale=0.04, size=3)
        self.bias = np.concatenate([self.rng.normal(scale=3.0, size=3), self.rng.normal(scale=0.2, size=3)])
        self.sensor2body = Rotation.random(random_state=self.rng).as_matrix()

    def wrench(self, body2world: Array, force_noise: float = 0.02, torque_noise: float = 0.001) -> Array:
        """(n, 6) as the sensor reports it at true orientations (n, 3, 3)."""
        weight = self.mass * np.einsum("nji,j->ni", body2world @ self.sensor2body, self.gravity)
        noise = self.rng.normal(size=(len(weight), 6)) * np.repeat([force_noise, torque_noise], 3)
        return np.concatenate([weight, np.cross(self.com, weight)], axis=1) + self.bias + noise

    def holds(self, n: int = 8, rotation_noise: float = float(np.radians(0.08))) -> tuple[Array, Array]:
        """Mean body-to-world orientations (n, 3, 3) and wrenches (n, 6) of holds spread over all
        directions."""
        true = well_spread(n, self.rng)
        noisy = se3.rotation_exp(rotation_noise * self.rng.normal(size=(n, 3))) @ true
        return noisy, self.wrench(true)

    def free_movement(self, n: int = 8, hold_s: float = 1.0, rate: float = 120.0) -> tuple[Array, Array, Array]:
        """Times (ns), poses and wrenches of turning the gripper over with pauses of ``hold_s``."""
        stops = Rotation.from_matrix(well_spread(n, self.rng))
        held, moving = int(hold_s * rate), int(0.8 * rate)
        vectors = []
        for k in range(n):
            vectors.append(np.repeat(stops[k].as_matrix()[None], held, axis=0))
            if k + 1 < n:
                step = (stops[k].inv() * stops[k + 1]).as_rotvec()
                share = (1 - np.cos(np.pi * np.linspace(0.0, 1.0, moving))) / 2
                vectors.append(stops[k].as_matrix() @ se3.rotation_exp(share[:, None] * step))
        true = np.concatenate(vectors)
        count = len(true)
        white = self.rng.normal(size=(count, 3)) * np.sqrt(1 - 0.99**2)
        tremor = np.radians(0.3) * np.asarray(lfilter([1.0], [1.0, -0.99], white, axis=0))
        true = true @ se3.rotation_exp(tremor)
        poses = se3.frame(
            se3.rotation_exp(np.radians(0.08) * self.rng.normal(size=(count, 3))) @ true,
            0.0004 * self.rng.normal(size=(count, 3)),
        )
        return (np.arange(count) * 1e9 / rate).astype(np.int64), poses, self.wrench(true, 0.05, 0.002)


def well_spread(n: int, rng: np.random.Generator) -> Array:
    """Orientations (n, 3, 3) whose first six put each side down, roughly as an operator does it."""
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    result = []
    for k in range(n):
        side = sides[k % 6] + 0.15 * rng.normal(size=3)
        spin = se3.rotation_z(rng.uniform(0.0, 2 * np.pi))
        result.append(spin @ se3.complete_axis(-side / np.linalg.norm(side)).T)
    return np.stack(result)
