"""The fitting method of the system that ident follows, as a documented baseline for studies and benchmarks.

It is what chapter 3.2.5 of that work describes, without improvements: lines by regressing x and y on z; circles by a
plane through principal components and an algebraic (Kåsa) circle in that plane; robustness by a basic RANSAC with a
fixed distance in metres, for circles against the plane only. Never use it to measure anything.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fitting.checks import generator
from fitting.result import Mask
from fitting.se3 import Array

TRIALS = 100
THRESHOLD = 2e-3
"""Metres."""


@dataclass(frozen=True)
class SourceLine:
    """A line by the source's method: ``point`` (m), unit ``direction``, inliers of the best trial (n,)."""

    point: Array
    direction: Array
    inliers: Mask


@dataclass(frozen=True)
class SourceCircle:
    """A circle by the source's method: ``center`` (m), unit ``axis``, ``radius`` (m), inliers (n,)."""

    center: Array
    axis: Array
    radius: float
    inliers: Mask


def source_line(points: ArrayLike, *, robust: bool = True, rng: np.random.Generator | int | None = None) -> SourceLine:
    """Fit a line to points (n, 3) in metres by regressing x and y on z (equations 3.12 to 3.16)."""
    data = np.asarray(points, dtype=float)
    inliers = np.ones(len(data), dtype=bool)
    if robust:
        random = generator(rng)
        best = -1
        for _ in range(TRIALS):
            first, second = data[random.choice(len(data), 2, replace=False)]
            length = np.linalg.norm(second - first)
            if length == 0.0:
                continue
            distance = np.linalg.norm(np.cross(data - first, (second - first) / length), axis=1)
            if (distance < THRESHOLD).sum() > best:
                inliers = distance < THRESHOLD
                best = int(inliers.sum())
    x, y, z = data[inliers].T
    design = np.stack([z, np.ones_like(z)], axis=1)
    a, _ = np.linalg.lstsq(design, x, rcond=None)[0]
    c, _ = np.linalg.lstsq(design, y, rcond=None)[0]
    direction = np.array([a, c, 1.0]) / np.sqrt(a * a + c * c + 1.0)
    return SourceLine(data[inliers].mean(axis=0), direction, inliers)


def source_circle(
    points: ArrayLike, *, robust: bool = True, rng: np.random.Generator | int | None = None
) -> SourceCircle:
    """Fit a circle to points (n, 3) in metres: plane by principal components, then equations 3.18 to 3.22."""
    data = np.asarray(points, dtype=float)
    inliers = np.ones(len(data), dtype=bool)
    if robust:
        random = generator(rng)
        best = -1
        for _ in range(TRIALS):
            first, second, third = data[random.choice(len(data), 3, replace=False)]
            normal = np.cross(second - first, third - first)
            length = np.linalg.norm(normal)
            if length == 0.0:
                continue
            distance = np.abs((data - first) @ (normal / length))
            if (distance < THRESHOLD).sum() > best:
                inliers = distance < THRESHOLD
                best = int(inliers.sum())
    inner = data[inliers]
    mean = inner.mean(axis=0)
    directions = np.linalg.eigh((inner - mean).T @ (inner - mean))[1]
    u, v, axis = directions[:, 2], directions[:, 1], directions[:, 0]
    x, y = (inner - mean) @ u, (inner - mean) @ v
    design = np.stack([x, y, np.ones_like(x)], axis=1)
    c0, c1, c2 = np.linalg.lstsq(design, x * x + y * y, rcond=None)[0]
    radius = float(np.sqrt(max(c2 + 0.25 * (c0 * c0 + c1 * c1), 0.0)))
    return SourceCircle(mean + 0.5 * (c0 * u + c1 * v), axis, radius, inliers)
