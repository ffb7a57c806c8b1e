"""A straight line in space, robustly: what a drawer's handle follows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting import checks, ransac
from fitting.result import AxisFit, FitFailure, Mask, frozen, of_samples, sealed
from fitting.se3 import Array
from fitting.segments import moving, without_repeats
from fitting.spectrum import blocks_of, family_of

_LEAST = 4
_THINNEST = 8.0
"""A line is at least so many standard deviations of noise long; shorter, it is a cloud."""
_PARAMETERS = 4
_BOTH = np.eye(2)
"""The two sides of a line have spectra of their own."""
_STEEPEST = 0.35
"""Radians. A direction less certain than this says nothing."""


@dataclass(frozen=True)
class LineFit(AxisFit):
    """A line: ``point`` (the mean of the inliers, m) and unit ``direction``, which points with the movement."""

    point: Array
    direction: Array
    coordinates: Array
    """Metres along ``direction`` from ``point`` (of its own take), one for each sample (n,)."""

    @property
    def axis(self) -> Array:
        """The direction, under the name that all fits share."""
        return self.direction


def fit_line(
    points: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> LineFit | FitFailure:
    """Fit a line to points (n, 3) in metres, or one direction to several takes of parallel lines.

    Parameters
    ----------
    points: (n, 3) in time order, or a list of such takes.
    noise: standard deviation (m) per axis; None estimates it.
    rng: generator or seed; None is a fixed seed.

    """
    takes = checks.as_takes(points, (3,), "points")
    if isinstance(takes, FitFailure):
        return takes
    noise = checks.as_noise(noise)
    if len(takes) > 1:
        rng = checks.generator(rng)
    from fitting.line_kernels import line_followed

    columns, times, places = zip(*(without_repeats(np.ascontiguousarray(take.T)) for take in takes), strict=True)
    found = []
    for data, numbers in zip(columns, times, strict=True):
        if data.shape[1] < _LEAST:
            return checks.too_few(data.shape[1], _LEAST, "a line")
        one = ransac.follow(line_followed, data, numbers, 2, noise, rng, _LEAST, _PARAMETERS)
        if isinstance(one, FitFailure):
            return one
        found.append(one)
    fit = line_through(list(columns), [one.inliers for one in found], noise)
    if isinstance(fit, FitFailure) or all(place is None for place in places):
        return fit
    before = np.cumsum([0, *(data.shape[1] for data in columns[:-1])])
    whole = [
        first + (np.arange(data.shape[1]) if place is None else place)
        for first, data, place in zip(before, columns, places, strict=True)
    ]
    return of_samples(fit, np.concatenate(whole))


def line_through(takes: list[Array], used: list[Mask], noise: float | None) -> LineFit | FitFailure:
    """One direction from the pooled offsets of each take, columns (3, n), from its own mean; used: (n,) of each."""
    from fitting.line_kernels import scatter
    from fitting.line_outcome import line_direction

    inliers = used[0] if len(used) == 1 else np.concatenate(used)
    scatters = [scatter(data, mask) for data, mask in zip(takes, used, strict=True)]
    means, products = [mean for mean, _ in scatters], sum((products for _, products in scatters), np.zeros((3, 3)))
    for data, mask, mean in zip(takes, used, means, strict=True):
        values, frame, way = line_direction(products, mean, data, mask)
        if way != 0.0:
            break
    count = int(np.count_nonzero(inliers))
    square = max(float(values[0] + values[1]), 0.0)
    floor = max(ransac.smallest_noise(data) for data in takes)
    freedoms = max(2 * (count - len(takes)) - 2, 1)
    shown = max(math.sqrt(square / freedoms), floor)
    sigma = noise or shown
    moment = max(float(values[2]) - count * sigma**2, 0.0)
    # Without a moment there is no fit, whatever its covariance.
    coordinates, span, covariance = _outcome(takes, used, means, frame, shown, moment or 1.0)
    covariance *= sigma**2
    if moment <= 0.0 or span < _THINNEST * sigma or math.sqrt(covariance[0, 0] + covariance[1, 1]) > _STEEPEST:
        return FitFailure(
            f"The points do not follow a line: they span {1e3 * span:.1f} mm at a noise of {1e3 * sigma:.2f} mm. "
            "Move the joint further, or check that it is a sliding one."
        )
    if count < 0.3 * len(inliers) and count < 0.3 * sum(np.count_nonzero(moving(data)) for data in takes):
        share = count / len(inliers)
        return FitFailure(f"Only {share:.0%} of the samples agree with one line. Record the take again.")
    return LineFit(
        inliers=frozen(inliers, bool),
        rms=math.sqrt(square / (2 * count)),
        noise=sigma,
        basis=frozen(frame[:, :2].T),
        covariance=covariance,
        point=frozen(means[0] if len(means) == 1 else np.mean(means, axis=0)),
        direction=frozen(frame[:, 2]),
        coordinates=sealed(coordinates),
    )


def _outcome(
    takes: list[Array], used: list[Mask], means: list[Array], frame: Array, noise: float, moment: float
) -> tuple[Array, float, Array]:
    """Coordinates (n,) of all takes, how far (m) the used ones span, covariance (4, 4) in units of the noise (m).

    moment: sum of squares of the coordinates, less the noise.
    """
    from fitting.line_outcome import line_outcome

    parts = [
        line_outcome(mean, frame, data, mask, noise, moment, len(takes), _BOTH, *family_of(blocks_of(len(mask))))
        for data, mask, mean in zip(takes, used, means, strict=True)
    ]
    coordinates, low, high, covariance = parts[0]
    for more, least, most, other in parts[1:]:
        coordinates = np.concatenate([coordinates, more])
        low, high, covariance = min(low, least), max(high, most), covariance + other
    return coordinates, high - low, covariance
