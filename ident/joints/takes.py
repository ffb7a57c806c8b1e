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


def split(values: ArrayLike, inliers: ArrayLike, takes: Sequence[Array]) -> list[Part] | FitFailure:
    """Cut values (sum of n,) back into takes and keep the inliers; takes that are all outliers drop out."""
    v, keep = np.asarray(values, dtype=float), np.asarray(inliers, dtype=bool)
    parts, start = [], 0
    for take in takes:
        stop = start + len(take)
        mask = keep[start:stop]
        if mask.sum() >= _FEWEST:
            parts.append(Part(v[start:stop][mask], np.asarray(take, dtype=float)[mask]))
        start = stop
    if not parts:
        return FitFailure(
            f"no take has {_FEWEST} samples that agree with the fit ({int(keep.sum())} of {keep.size} in all)"
        )
    return parts


def mean_frame(fit: Any) -> Array:
    """Return the frame (4, 4) that a rigid fit found."""
    return np.asarray(fit.frame, dtype=float)
