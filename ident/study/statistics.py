"""Errors of many trials in a few numbers."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Errors:
    """One estimated axis against the truth; NaN where there is nothing to compare, infinite where there is no fit."""

    angle_deg: float
    position_mm: float


@dataclass(frozen=True)
class Summary:
    """Distribution of an error over the trials; NaN throughout where nothing was measured."""

    n: int
    mean: float
    std: float
    median: float
    p95: float

    @staticmethod
    def of(values: Iterable[float]) -> "Summary":
        """Summarise the values that are numbers."""
        known = np.array([v for v in values if math.isfinite(v)])
        if not len(known):
            return Summary(0, math.nan, math.nan, math.nan, math.nan)
        std = float(known.std(ddof=1)) if len(known) > 1 else math.nan
        return Summary(len(known), float(known.mean()), std, float(np.median(known)), float(np.percentile(known, 95)))


def line_errors(direction: ArrayLike, point: ArrayLike, truth: Mapping[str, Any]) -> Errors:
    """Angle to the true axis whatever its sign, and distance of a point from it; no distance for a slide."""
    axis, found = np.asarray(truth["axis"], dtype=float), np.asarray(direction, dtype=float)
    angle = math.degrees(math.atan2(float(np.linalg.norm(np.cross(axis, found))), abs(float(axis @ found))))
    offset = np.asarray(point, dtype=float) - np.asarray(truth["point"], dtype=float)
    distance = 1e3 * float(np.linalg.norm(offset - (offset @ axis) * axis))
    return Errors(angle, math.nan if truth.get("type") == "prismatic" else distance)
