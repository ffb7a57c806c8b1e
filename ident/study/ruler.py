"""The source's reference: where it thought that an axis was, by a hand-held probe (its chapter 4.1.2).

It marked two points of each bar several times with the tip of a tracked screw and averaged them. The probe touches the
bar's surface, not its middle, now here and now there around it. The pivot of the probe was set on a marker at the
screw's tip, so that it lies deeper than the tip by the marker's radius. What it published are distances from such an
axis; nothing that a hand does on the joint is in this error.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting.se3 import complete_axis


@dataclass(frozen=True)
class Bar:
    """What the probe was held against."""

    radius_mm: float
    """Zero: a straight edge."""
    length_m: float


@dataclass(frozen=True)
class Ruler:
    """Sizes of the reference's errors; zero switches one off. Only that the surface is touched is the source's."""

    surface: float = 1.0
    """Share of the bar's radius by which a touch is off its middle: 1 is the surface."""
    marker_mm: float = 6.4
    """Radius of the marker on which the pivot was set: half of 12.7 mm, the usual size; assumed."""
    around_deg: float = 25.0
    """Where around the bar it is touched, σ; assumed."""
    hand_mm: float = 0.5
    """Aim of a hand and noise of the tracking, σ per touch and axis; assumed."""
    touches: int = 5
    """Of each of both points ("several times"); assumed."""

    def reference(self, truth: Mapping[str, Any], bar: Bar, rng: np.random.Generator) -> dict[str, Any]:
        """The axis of ``truth`` as this ruler gives it."""
        axis = np.asarray(truth["axis"], dtype=float)
        side = complete_axis(axis)[:, :2]
        deep = self.surface * bar.radius_mm - (self.marker_mm if bar.radius_mm else 0.0)
        facing = rng.uniform(0.0, 2.0 * math.pi)
        ends = []
        for half in (-0.5, 0.5):
            around = facing + math.radians(self.around_deg) * rng.standard_normal(self.touches)
            touched = deep * np.stack([np.cos(around), np.sin(around)], axis=1)
            touched += self.hand_mm * rng.standard_normal((self.touches, 2))
            ends.append(half * bar.length_m * axis + side @ (1e-3 * touched.mean(axis=0)))
        along = ends[1] - ends[0]
        point = np.asarray(truth["point"], dtype=float) + 0.5 * (ends[0] + ends[1])
        return {**truth, "axis": (along / np.linalg.norm(along)).tolist(), "point": point.tolist()}
