"""Synthetic takes with known truth, for benchmarks, studies and tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting.result import Mask
from fitting.se3 import Array, complete_axis, frame, rotation_exp

POSITION_NOISE = 5e-4
ORIENTATION_NOISE = float(np.radians(0.1))


@dataclass(frozen=True)
class Scene:
    """Poses (n, 4, 4), the true axis and a point on it, which samples are good, the true turn and slide."""

    poses: Array
    axis: Array
    point: Array
    good: Mask
    angles: Array
    slides: Array

    @property
    def points(self) -> Array:
        """Positions (n, 3) of the poses, metres."""
        return self.poses[:, :3, 3]


def correlated(rng: np.random.Generator, n: int, phi: float) -> Array:
    """Noise (n, 3) of unit variance with correlation phi between neighbours."""
    white = rng.normal(size=(n, 3))
    for i in range(1, n if phi else 1):
        white[i] = phi * white[i - 1] + np.sqrt(1.0 - phi**2) * white[i]
    return white


def joint_poses(
    seed: int,
    *,
    turn: float = 0.0,
    slide: float = 0.0,
    pitch: float = 0.0,
    radius: float = 0.1,
    n: int = 1200,
    outliers: float = 0.0,
    position_noise: float = POSITION_NOISE,
    orientation_noise: float = ORIENTATION_NOISE,
    phi: float = 0.0,
    height: float = 0.1,
) -> Scene:
    """A body that turns by ``turn`` (rad) evenly while it slides there and back by ``slide`` (m)."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    center = rng.uniform(-1.0, 1.0, 3)
    start = center + radius * complete_axis(axis)[:, 0] + height * axis
    time = np.linspace(0.0, 1.0, n)
    angles = turn * time
    slides = 0.5 * slide * (1.0 - np.cos(2.0 * np.pi * time)) + pitch * angles
    A = rotation_exp(angles[:, None] * axis)
    p = center + A @ (start - center) + slides[:, None] * axis + position_noise * correlated(rng, n, phi)
    R = rotation_exp(orientation_noise * correlated(rng, n, phi)) @ A @ rotation_exp(rng.normal(size=3))
    bad = rng.random(n) < outliers
    p[bad] += rng.uniform(-0.3, 0.3, (bad.sum(), 3))
    R[bad] = rotation_exp(0.5 * rng.normal(size=(bad.sum(), 3))) @ R[bad]
    return Scene(frame(R, p), axis, center, ~bad, angles, slides)


def axis_error(fit: Any, scene: Scene) -> tuple[float, float, float]:
    """Tilt (rad), shift (m) and normalised squared error of a fitted axis."""
    truth = scene.axis * np.sign(fit.axis @ scene.axis)
    nearest = scene.point + truth * (((fit.point - scene.point) @ fit.axis) / (truth @ fit.axis))
    error = np.concatenate([fit.basis @ (truth - fit.axis), fit.basis @ (nearest - fit.point)])
    squared = float(error @ np.linalg.solve(fit.covariance, error))
    return float(np.linalg.norm(error[:2])), float(np.linalg.norm(error[2:])), squared


def strange_points(rng: np.random.Generator) -> Array:
    """Points (n, 3) made to break a fit: any length, degenerate shapes, repeats, all scales."""
    n = int(rng.integers(0, 60))
    rank = int(rng.integers(0, 4))
    points = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 3))
    if rng.random() < 0.4:
        angles = np.sort(rng.uniform(0.0, rng.choice([1e-6, 0.1, 1.0, 6.0, 20.0]), n))
        points = points * rng.choice([0.0, 1e-3]) + np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    if n and rng.random() < 0.4:
        points = points[np.sort(rng.integers(0, n, n) // int(rng.integers(1, 6)))]
    if n and rng.random() < 0.1:
        points[rng.integers(0, n)] = rng.choice([np.nan, np.inf, 1e300, 1e5])
    return np.asarray(points * 10.0 ** rng.integers(-9, 4) + rng.choice([0.0, 1.0, 1e3]))


def strange_poses(rng: np.random.Generator) -> Array:
    """Poses (n, 4, 4) made to break a fit."""
    points = strange_points(rng)
    n = len(points)
    kind = rng.integers(0, 4)
    vectors = np.zeros((n, 3))
    if kind == 1:
        vectors = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-9, 1)
    elif kind == 2:
        vectors = np.linspace(0.0, 1.0, n)[:, None] * rng.normal(size=3) * rng.choice([1e-6, 0.1, 3.0, 7.0])
    elif kind == 3:
        vectors = np.pi * np.eye(3)[rng.integers(0, 3, n)]
    return frame(rotation_exp(vectors), points)
