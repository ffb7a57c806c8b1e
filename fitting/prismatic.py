"""A prismatic joint from poses: the positions give the line, the orientations say whether it really only slid."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting import checks
from fitting.line import LineFit, fit_line, line_through
from fitting.majority import clear_majority
from fitting.noise import chi2_median
from fitting.result import FitFailure, Mask, frozen
from fitting.rigid import mean_rotation
from fitting.se3 import Array, complete_axis, rotation_log
from fitting.slips import calm_direction

_CONSTANT = np.radians(1.0)
"""Radians: a hand turns a gripper by about so much on a drawer that does not turn at all."""


@dataclass(frozen=True)
class PrismaticFit(LineFit):
    """A prismatic joint: ``point``, ``direction`` along the movement, ``coordinates`` (m) for each sample."""

    orientation_constant: bool
    """Whether the orientation stayed the same within noise or one degree."""
    rotation: float
    """Largest slow change of the orientation (rad) from its mean in a take."""
    orientation_noise: float
    """Spread (rad) per axis of the orientations about their mean."""
    orientation: Array
    """Mean orientation (3, 3) of the first take, body to world."""


def fit_prismatic(
    poses: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> PrismaticFit | FitFailure:
    """Fit a prismatic joint to poses (n, 4, 4), body to world, metres, or to a list of takes with different grips.

    Several takes share the direction; ``coordinates`` count from the mean of each take.
    """
    takes = checks.as_pose_takes(poses)
    if isinstance(takes, FitFailure):
        return takes
    points = [take[:, :3, 3] for take in takes]
    found = _line(points, noise, rng)
    if isinstance(found, FitFailure):
        return found
    line, inliers = found
    direction = calm_direction(points, inliers, line.direction)
    along = [(p - p[used].mean(axis=0)) @ direction for p, used in zip(points, inliers, strict=True)]
    rotations, means, spreads, deviations = [], [], [], []
    for take, used in zip(takes, inliers, strict=True):
        mean, vectors = _about_mean(take[used, :3, :3])
        means.append(mean)
        change, spread = _slow(vectors)
        rotations.append(change)
        spreads.append(spread)
        deviations.append(float(np.sqrt(np.median((vectors**2).sum(axis=1)) / chi2_median(3))))
    rotation = max(rotations)
    return PrismaticFit(
        inliers=frozen(np.concatenate(inliers), bool),
        rms=line.rms,
        noise=line.noise,
        basis=frozen(complete_axis(direction)[:, :2].T),
        covariance=line.covariance,
        point=line.point,
        direction=frozen(direction),
        coordinates=frozen(np.concatenate(along)),
        orientation_constant=bool(rotation <= max(_CONSTANT, 5.0 * max(spreads))),
        rotation=rotation,
        orientation_noise=min(deviations),
        orientation=frozen(means[0]),
    )


def _line(
    points: list[Array], noise: float | None, rng: np.random.Generator | int | None
) -> tuple[LineFit, list[Mask]] | FitFailure:
    """The line of all takes, and who is in: of a take most of which lies beside another line, only what lies there."""
    first = fit_line(points, noise, rng)
    line = None if isinstance(first, FitFailure) else first
    used = [None] * len(points) if line is None else _of_each(line.inliers, points)
    others = [clear_majority(take, own, line) for take, own in zip(points, used, strict=True)]
    kept = [one for one in map(_either, others, used) if one is not None]
    if len(kept) == len(points) and any(mask is not None for mask in others):
        second = line_through([np.ascontiguousarray(take.T) for take in points], kept, noise)
        if isinstance(second, LineFit):
            return second, kept
    return first if isinstance(first, FitFailure) else (first, kept)


def _either(one: Mask | None, other: Mask | None) -> Mask | None:
    return other if one is None else one


def _of_each(values: Mask, points: list[Array]) -> list[Mask]:
    return np.split(values, np.cumsum([len(take) for take in points])[:-1])


def _about_mean(rotations: Array) -> tuple[Array, Array]:
    mean = mean_rotation(rotations)
    return mean, rotation_log(rotations @ mean.T)


def _slow(vectors: Array, blocks: int = 10) -> tuple[float, float]:
    """Largest block median of rotation vectors (rad), and the standard deviation that noise alone gives it."""
    size = max(len(vectors) // blocks, 1)
    parts = [np.median(vectors[k : k + size], axis=0) for k in range(0, len(vectors) - size + 1, size)]
    middle = np.median(vectors, axis=0)
    fast = float(np.median(np.abs(np.diff(vectors, axis=0)))) / 0.6745 if len(vectors) > 1 else 0.0
    return float(np.linalg.norm(np.array(parts) - middle, axis=1).max()), 1.25 * fast / np.sqrt(size)
