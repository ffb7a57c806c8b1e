"""Slow slips of the hand in a sliding movement: found in averaged residuals, where fast noise no longer hides them.

A hand that creeps a millimetre along a handle and back stays within the gate for single samples, yet tilts the line.
In means over a thirtieth of the take such a slip stands out. It is weighed down only where noise is slow on the whole:
white noise has no slips, and weighing it would cost precision.
"""

import numpy as np

from fitting.result import Mask
from fitting.se3 import Array, complete_axis

_WINDOWS = 30
_LEAST = 60
"""Inliers below which means over windows say nothing."""
_SLOW = 2.5
"""Variance of the means, over what white noise of the same size would give them, from which noise is slow."""
_CALM = 3.0
"""Deviations of the means, in their usual size, from which they are weighed down."""
_ROUNDS = 8
_SETTLED = 1e-9


def calm_direction(takes: list[Array], inliers: list[Mask], direction: Array) -> Array:
    """Return the direction (3,) of points (n, 3) of takes of one line, with slow slips weighed down.

    inliers: (n,) samples of each take that count; direction: the line's, from all of them.
    """
    used = [(points, mask) for points, mask in zip(takes, inliers, strict=True) if mask.sum() >= _LEAST]
    for _ in range(_ROUNDS if used else 0):
        moment = np.zeros((3, 3))
        for points, mask in used:
            weights = _weights(points, mask, direction)
            mean = weights @ points / weights.sum()
            offsets = points - mean
            moment += (offsets * weights[:, None]).T @ offsets
        before, found = direction, np.linalg.eigh(moment)[1][:, 2]
        direction = found if found @ before > 0.0 else -found
        if np.linalg.norm(direction - before) < _SETTLED:
            break
    return direction


def _weights(points: Array, mask: Mask, direction: Array) -> Array:
    """Weights (n,) of a take's samples by the mean residuals around them."""
    across = (points - points[mask].mean(axis=0)) @ complete_axis(direction)[:, :2]
    width = max(len(points) // _WINDOWS, 5)
    count = _summed(mask.astype(float)[:, None], width)[:, 0]
    means = _summed(np.where(mask[:, None], across, 0.0), width) / np.maximum(count, 1.0)[:, None]
    square = float(np.median(means[mask] ** 2)) / 0.455
    white = float(np.median(np.diff(across[mask], axis=0) ** 2)) / 0.91 / width
    if square < _SLOW * white or square <= 0.0:
        return mask.astype(float)
    return np.asarray(mask / (1.0 + (means**2).sum(axis=1) / (_CALM**2 * square)) ** 2)


def _summed(columns: Array, width: int) -> Array:
    """Sums (n, k) over windows of ``width`` rows around each."""
    padded = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    places = np.arange(len(columns))
    before, after = np.maximum(places - width // 2, 0), np.minimum(places + width // 2 + 1, len(columns))
    return np.asarray(padded[after] - padded[before])
