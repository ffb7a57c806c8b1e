"""What the fits of joints and handles share: takes cut out of concatenated results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fitting.result import FitFailure
from fitting.se3 import Array

_FEWEST = 5
"""A take with fewer inliers says nothing about where the movement ends."""


@dataclass(frozen=True)
class Part:
    """The inliers of one take, in time order."""

    values: Array
    """Coordinate of each sample."""
    poses: Array
    """(n, 4, 4) in the parent's frame."""
    reach: Array
    """Coordinate of the inliers and of all samples beside the path: these tell how far the movement went."""


def split(
    values: ArrayLike, inliers: ArrayLike, takes: Sequence[Array], away: ArrayLike | None = None, gate: float = 0.0
) -> list[Part] | FitFailure:
    """Cut values (sum of n,) back into takes and keep the inliers; takes that are all outliers drop out.

    ``away`` (sum of n,) says how far each sample is from its joint's path, in metres. A part that gives way at its
    stop, or a path that is not quite round, makes outliers of the ends of a movement. They say nothing about the axis,
    but where the movement ended: those nearer than ``gate``, without jumps, count for that.
    """
    v, keep = np.asarray(values, dtype=float), np.asarray(inliers, dtype=bool)
    beside = keep if away is None else keep | (np.asarray(away, dtype=float) <= gate)
    parts, start = [], 0
    for take in takes:
        here = slice(start, start + len(take))
        mask = keep[here]
        if mask.sum() >= _FEWEST:
            reach = v[here][mask] if away is None else _without_jumps(v[here][beside[here]])
            parts.append(Part(v[here][mask], np.asarray(take, dtype=float)[mask], reach))
        start += len(take)
    if not parts:
        return FitFailure(
            f"no take has {_FEWEST} samples that agree with the fit ({int(keep.sum())} of {keep.size} in all)"
        )
    return parts


def path_gate(noise: float, size: float) -> float:
    """How far from its path (m) a sample may be to count for the ends; ``size`` (m) is the radius or the travel."""
    return max(8.0 * noise, min(0.05 * size, 0.015))


def _without_jumps(values: Array) -> Array:
    """Running median over nine samples: a movement goes on, a gross outlier does not."""
    padded = np.pad(values, 4, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 9), axis=1))


def mean_frame(fit: Any) -> Array:
    """Return the frame (4, 4) that a rigid fit found."""
    return np.asarray(fit.frame, dtype=float)
