"""A straight line in space, robustly: what a drawer's handle follows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting import checks, ransac
from fitting.ransac import Consensus, consensus
from fitting.result import AxisFit, FitFailure, Mask, frozen
from fitting.se3 import Array, complete_axis
from fitting.segments import moving_samples, paced, suspects
from fitting.spectrum import in_blocks, spread

_LEAST = 4
_THINNEST = 8.0
"""A line is at least so many standard deviations of noise long; shorter, it is a cloud."""
_STEADY = 500
"""Who is in counts as settled when not more than one sample in so many changes."""
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


class Line:
    """Geometric model: parameters are a point and a unit direction (6,)."""

    sample_size = 2
    freedom = 2

    def from_sample(self, data: Array, chosen: NDArray[np.int64]) -> Array:
        """Lines through pairs of points; a degenerate pair gives a line along x."""
        first = data[chosen[:, 0]]
        direction = data[chosen[:, 1]] - first
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        direction = np.where(length > 0.0, direction / np.where(length > 0.0, length, 1.0), [1.0, 0.0, 0.0])
        return np.concatenate([first, direction], axis=1)

    def residuals(self, parameters: Array, data: Array) -> Array:
        """Squared distances (m, n)."""
        from fitting.kernels import line_distances

        return line_distances(parameters, data)

    def refine(self, parameters: Array, data: Array, weights: Array, steps: int) -> Array:  # noqa: ARG002
        """Principal direction of the weighted points: the maximum-likelihood line, in one step."""
        total = weights.sum()
        if total < 2.0:
            return parameters
        mean = weights @ data / total
        offset = data - mean
        direction = np.linalg.eigh((offset * weights[:, None]).T @ offset)[1][:, 2]
        return np.concatenate([mean, direction])


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
    generator = checks.generator(rng)
    found = []
    for take in takes:
        one = _fit_take(take, noise, generator)
        if isinstance(one, FitFailure):
            return one
        found.append(one)
    return _joined(takes, found, noise)


def _fit_take(points: Array, noise: float | None, rng: np.random.Generator) -> Consensus | FitFailure:
    if len(points) < _LEAST:
        return checks.too_few(len(points), _LEAST, "a line")
    moving = moving_samples(points)
    found = consensus(Line(), points, noise=noise, rng=rng, moving=moving, pace=paced(points))
    if isinstance(found, FitFailure):
        return found
    return settled(Line(), points, found, noise, moving)


def settled(line: Line, points: Array, found: Consensus, noise: float | None, allowed: Mask) -> Consensus:
    """Leave out bursts, refit, and score again, until who is in no longer changes."""
    floor = ransac.smallest_noise(points)
    for _ in range(5):
        inliers = found.inliers & allowed
        keep = inliers & ~suspects(perpendicular(found.parameters, points), inliers, found.noise)
        if keep.sum() < _LEAST:
            keep = inliers
        parameters = line.refine(found.parameters, points, keep.astype(float), 1)
        squares = line.residuals(parameters[None], points)[0]
        scale = noise or ransac.rms_noise(squares, keep, line.freedom, 4, floor)
        inside = squares <= ransac.gate(scale, line.freedom)
        # Bursts stay out though some of their samples lie inside the gate.
        inside &= keep | ~inliers
        same = np.count_nonzero((inside & allowed) ^ found.inliers) <= len(points) // _STEADY
        found = Consensus(parameters, squares, scale, inside & allowed)
        if same:
            break
    return found


def perpendicular(parameters: Array, points: Array) -> Array:
    """Components (n, 2) in metres of the points' offsets from a line (6,), along its basis."""
    basis = complete_axis(parameters[3:])[:, :2]
    return np.asarray((points - parameters[:3]) @ basis)


def _joined(takes: list[Array], found: list[Consensus], noise: float | None) -> LineFit | FitFailure:
    """One direction from the pooled offsets of each take from its own mean."""
    used = [f.inliers for f in found]
    offsets = [take - take[mask].mean(axis=0) for take, mask in zip(takes, used, strict=True)]
    inliers = np.concatenate(used)
    pooled = np.concatenate(offsets)
    inner = pooled[inliers]
    values, vectors = np.linalg.eigh(inner.T @ inner)
    direction = vectors[:, 2]
    for offset, mask in zip(offsets, used, strict=True):
        along = offset[mask] @ direction
        way = float(np.arange(len(along)) @ along - 0.5 * (len(along) - 1) * along.sum())
        if abs(way) > 0.0:
            direction = direction if way > 0.0 else -direction
            break
    coordinates = pooled @ direction
    span = float(np.ptp(coordinates[inliers]))
    count = int(inliers.sum())
    rms = float(np.sqrt(max(values[0] + values[1], 0.0) / (2 * count)))
    floor = ransac.smallest_noise(np.concatenate(takes))
    freedoms = 2 * (count - len(takes)) - 2
    sigma = noise or max(float(np.sqrt(max(values[0] + values[1], 0.0) / max(freedoms, 1))), floor)
    basis = complete_axis(direction)[:, :2].T
    moment = max(float(values[2]) - count * sigma**2, 0.0)
    covariance = np.zeros((4, 4))
    if moment > 0.0:
        shown = np.sqrt(max(values[0] + values[1], floor**2) / max(freedoms, 1))
        across = [offset @ basis.T / shown for offset in offsets]
        covariance = sigma**2 * _covariance(
            np.split(coordinates, np.cumsum([len(t) for t in takes])[:-1]), across, used, moment
        )
    if moment <= 0.0 or span < _THINNEST * sigma or np.sqrt(covariance[0, 0] + covariance[1, 1]) > _STEEPEST:
        return FitFailure(
            f"The points do not follow a line: they span {1e3 * span:.1f} mm at a noise of {1e3 * sigma:.2f} mm. "
            "Move the joint further, or check that it is a sliding one."
        )
    if inliers.mean() < 0.3:
        return FitFailure(f"Only {inliers.mean():.0%} of the samples agree with one line. Record the take again.")
    point = np.mean([take[mask].mean(axis=0) for take, mask in zip(takes, used, strict=True)], axis=0)
    return LineFit(
        inliers=frozen(inliers, bool),
        rms=rms,
        noise=sigma,
        basis=frozen(basis),
        covariance=frozen(covariance),
        point=frozen(point),
        direction=frozen(direction),
        coordinates=frozen(coordinates),
    )


def _covariance(along: list[Array], across: list[Array], used: list[Mask], moment: float) -> Array:
    """Covariance (4, 4) of tilt and shift, for offsets across (n, 2) in units of the noise, of each take.

    along: coordinates (n,) of each take from its mean, metres; moment: their sum of squares, less the noise.
    """
    out = np.zeros((4, 4))
    for coordinates, offsets, mask in zip(along, across, used, strict=True):
        rows = np.zeros((2, len(mask), 4))
        rows[0, :, 0] = rows[1, :, 1] = coordinates
        rows[0, :, 2] = rows[1, :, 3] = 1.0
        count = float(mask.sum())
        inverse = np.diag([1.0 / moment] * 2 + [1.0 / count] * 2)
        found = spread(in_blocks(rows, offsets, mask), inverse, np.eye(2)).sum(axis=0)
        # The point is the mean of the takes' own.
        inverse[2:] /= len(along)
        out += inverse @ found @ inverse.T
    return out
