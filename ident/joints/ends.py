"""Where a movement ends: limits from a take, without trusting a single noisy sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fitting.se3 import Array

_ZONE_SIGMAS = 5.0
"""An end holds the samples within this many noise standard deviations of the outermost ones."""
_ZONE_SHARE = 0.002
"""and at least those within this share of the range, for movements almost without noise."""


@dataclass(frozen=True)
class Ends:
    """The two ends of one take's coordinate."""

    lower: float
    upper: float
    start: float
    """Coordinate at the beginning of the take."""

    @property
    def range(self) -> float:
        """Distance between the ends."""
        return self.upper - self.lower


def ends(values: Array) -> Ends:
    """Find the ends of a coordinate along one take, (n,) in time order, outliers already left out.

    A hand rests at an end, so each end is the median of the samples that lie within the noise of the
    outermost ones, not the outermost sample itself.
    """
    v = np.asarray(values, dtype=float)
    low, high = np.quantile(v, [0.003, 0.997])
    zone = max(_ZONE_SIGMAS * _noise(v), _ZONE_SHARE * float(high - low))
    return Ends(
        lower=float(np.median(v[v <= low + zone])),
        upper=float(np.median(v[v >= high - zone])),
        start=float(np.median(v[: max(3, len(v) // 50)])),
    )


def direction(takes: Sequence[Array]) -> float:
    """Return +1 if the first movement away from the start is towards larger values, else −1; takes vote."""
    vote = 0.0
    for take in takes:
        e = ends(take)
        # A take that returns to its start still leaves it towards the far end only.
        vote += (e.upper - e.start) - (e.start - e.lower)
    return 1.0 if vote >= 0.0 else -1.0


def _noise(values: Array) -> float:
    """Standard deviation of the noise, from second differences, which a smooth movement does not fill."""
    if len(values) < 5:
        return 0.0
    second = np.diff(values, n=2)
    return float(1.4826 * np.median(np.abs(second)) / np.sqrt(6.0))
