"""A circle in space, robustly, at the limit that positions allow: what a point on a hinged door follows.

Parameters (10,): a point on the arc, unit tangent t, unit inward normal m, curvature κ ≥ 0; the axis is t × m.
Written so, an arc that is too short to show its radius is a straight line with κ = 0 and nothing becomes singular.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting import checks, ransac
from fitting.ransac import Consensus, consensus
from fitting.result import AxisFit, FitFailure, Mask, frozen
from fitting.se3 import Array, complete_axis
from fitting.segments import moving_samples, suspects
from fitting.spectrum import Scores, blocks_of, spread

_LEAST = 6
_PARAMETERS = 6
_STRAIGHT = 3.0
"""Below so many standard deviations of curvature the arc cannot be told from a straight line."""
_STEADY = 500
"""Who is in counts as settled when not more than one sample in so many changes."""
_SHORT = 0.6
"""Extent over radius below which an arc is short."""
_SMALLEST = 8.0
"""Below so many standard deviations of noise a radius is the size of the noise itself."""


@dataclass(frozen=True)
class CircleFit(AxisFit):
    """A circle: ``center`` (m), unit ``axis`` (about which the movement turns positively), ``radius`` (m)."""

    center: Array
    axis: Array
    radius: float
    radius_std: float
    correlation: float
    """Variance of the parameters over that from white noise: so many samples are worth one independent one."""
    angles: Array
    """Radians about ``axis`` (n,), unwrapped along time, zero at the first inlier."""

    @property
    def point(self) -> Array:
        """A point on the axis: the centre."""
        return self.center

    @property
    def coordinates(self) -> Array:
        """The joint coordinate of each sample: its angle."""
        return self.angles


class Circle:
    """Geometric model for the robust engine."""

    sample_size = 3
    freedom = 2

    def from_sample(self, data: Array, chosen: NDArray[np.int64]) -> Array:
        """Circles through triples of points; collinear triples give straight lines."""
        from fitting.kernels import circles_through

        return circles_through(data, chosen)

    def residuals(self, parameters: Array, data: Array) -> Array:
        """Squared orthogonal distances (m, n)."""
        from fitting.kernels import circle_distances

        return circle_distances(parameters, data)

    def refine(self, parameters: Array, data: Array, weights: Array, steps: int) -> Array:
        """All parameters jointly on the orthogonal distances."""
        from fitting.kernels import circle_refined

        return circle_refined(parameters, data, weights, steps)


def fit_circle(
    points: Any, noise: float | None = None, rng: np.random.Generator | int | None = None
) -> CircleFit | FitFailure:
    """Fit a circle to points (n, 3) in metres, in time order.

    Several takes (a list) are circles about one axis, each with its own radius and height; ``radius`` and ``center``
    are then those of the take with the most inliers.

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
    if len(takes) > 1:
        from fitting.coaxial import fit_coaxial

        return fit_coaxial([fit_circle(take, noise, generator) for take in takes], takes)
    found = circle_consensus(takes[0], noise, generator)
    return found if isinstance(found, FitFailure) else _described(takes[0], found, noise)


def circle_consensus(points: Array, noise: float | None, rng: np.random.Generator) -> Consensus | FitFailure:
    """Find the circle that the samples agree on, without judging it."""
    if len(points) < _LEAST:
        return checks.too_few(len(points), _LEAST, "a circle")
    moving = moving_samples(points)
    found = consensus(Circle(), points, noise=noise, rng=rng, moving=moving)
    return found if isinstance(found, FitFailure) else _settled(points, found, noise, moving)


def _settled(points: Array, found: Consensus, noise: float | None, allowed: Mask) -> Consensus:
    """Leave out bursts and samples away from the swept arc, refit, score again, until who is in no longer changes."""
    from fitting.kernels import circle_distances, circle_offsets, circle_refined, extent, isolated

    floor = ransac.smallest_noise(points)
    for turn in range(5):
        inliers = found.inliers & allowed
        residuals, angles = circle_offsets(found.parameters, points)
        keep = inliers & ~suspects(residuals, inliers, found.noise)
        keep &= ~isolated(angles, keep, 6.0 * found.noise * found.parameters[9])
        if keep.sum() < _LEAST:
            keep = inliers
        weights = keep.astype(float)
        parameters = circle_refined(found.parameters, points, weights, 8)
        squares = circle_distances(parameters[None], points)[0]
        if turn == 0 and parameters[9] * extent(points, keep) < _SHORT:
            other = circle_refined(_parabola(points[keep]), points, weights, 8)
            other_squares = circle_distances(other[None], points)[0]
            if weights @ other_squares < weights @ squares:
                parameters, squares = other, other_squares
        scale = noise or ransac.rms_noise(squares, keep, 2, _PARAMETERS, floor)
        inside = (squares <= ransac.gate(scale, 2)) & (keep | ~inliers) & allowed
        same = np.count_nonzero(inside ^ found.inliers) <= len(points) // _STEADY
        found = Consensus(parameters, squares, scale, inside)
        if same:
            break
    return found


def _parabola(points: Array) -> Array:
    """A start for short arcs, where triples say little about the plane: the parabola through all points.

    The bend across the chord is linear in its two components, so that its direction is found without a guess.
    """
    mean = points.mean(axis=0)
    offset = points - mean
    chord = np.linalg.eigh(offset.T @ offset)[1][:, 2]
    x = offset @ chord
    length = max(float(np.abs(x).max()), 1e-12)
    x = x / length
    design = np.stack([np.ones_like(x), x, 0.5 * x * x], axis=1)
    across = offset - length * x[:, None] * chord
    level, slope, bend = np.linalg.lstsq(design, across, rcond=None)[0]
    tangent = chord + slope / length
    frame = complete_axis(tangent, bend)
    return np.concatenate([mean + level, frame[:, 2], frame[:, 0], [np.linalg.norm(bend) / length**2]])


def _described(points: Array, found: Consensus, noise: float | None) -> CircleFit | FitFailure:
    from fitting.kernels import circle_offsets, extent, unwrapped

    parameters, inliers = found.parameters, found.inliers
    count = int(inliers.sum())
    if count < max(_LEAST, 0.3 * len(points)):
        return FitFailure(f"Only {count} of {len(points)} samples agree with one circle. Record the take again.")
    residuals, angles = circle_offsets(parameters, points)
    curvature = float(parameters[9])
    if curvature < 1e-9:
        return _straight(extent(points, inliers), found.noise)
    cost = float(found.squares @ inliers)
    shown = max(float(np.sqrt(cost / max(2 * count - _PARAMETERS, 1))), ransac.smallest_noise(points))
    sigma = noise or shown
    covariance, slowness = _covariance(curvature, angles, residuals / shown, inliers)
    covariance *= sigma**2
    bend = float(np.sqrt(max(covariance[5, 5], 0.0)))
    failure = _degenerate(curvature, bend, extent(points, inliers), sigma)
    if failure is not None:
        return failure
    radius = 1.0 / curvature
    t, m = parameters[3:6], parameters[6:9]
    angles = unwrapped(angles, inliers)
    # Local parameters to tilt along t and m, shift of the centre along t and m.
    jacobian = np.zeros((4, 6))
    jacobian[0, 3], jacobian[1, 2] = 1.0, -1.0
    jacobian[2, 4] = -radius
    jacobian[3, 0], jacobian[3, 5] = 1.0, -(radius**2)
    moved = jacobian @ covariance @ jacobian.T
    axis, basis = np.cross(t, m), np.stack([t, m])
    inner = np.flatnonzero(inliers)
    if angles[inner] @ (np.arange(count) - 0.5 * (count - 1)) < 0.0:
        # The movement turns positively about the axis: flip it, and one basis vector to stay right-handed.
        axis, angles = -axis, -angles
        basis = np.stack([t, -m])
        flip = np.array([-1.0, 1.0, 1.0, -1.0])
        moved = moved * flip[:, None] * flip
    return CircleFit(
        inliers=frozen(inliers, bool),
        rms=float(np.sqrt(cost / (2 * count))),
        noise=sigma,
        basis=frozen(basis),
        covariance=frozen(moved),
        center=frozen(parameters[:3] + radius * m),
        axis=frozen(axis),
        radius=radius,
        radius_std=radius**2 * bend,
        correlation=slowness,
        angles=frozen(angles - angles[inner[0]]),
    )


def _covariance(curvature: float, angles: Array, residuals: Array, inliers: Mask) -> tuple[Array, float]:
    """Covariance (6, 6) of the local parameters, and how many times that of white noise it is.

    residuals: (n, 2) radial and axial, in units of the noise. The information is where the points are on the circle, at
    ``angles`` (n,) from its point, not where the noise has put them.
    """
    from fitting.dense import inverted
    from fitting.kernels import circle_blocks

    blocks = blocks_of(len(angles))
    sums, information = circle_blocks(curvature, angles, residuals, inliers, blocks)
    used = np.full(2, float(np.count_nonzero(inliers)))
    squares = sums[:, :, _PARAMETERS + 1].sum(axis=0)
    scores = Scores(sums[:, :, _PARAMETERS], squares, sums[:, :, :_PARAMETERS], information, used, len(angles))
    inverse = inverted(scores.information.sum(axis=0), 1e-12)
    found = spread(scores, inverse, np.eye(2)).sum(axis=0)
    return inverse @ found @ inverse.T, float((inverse * found).sum()) / _PARAMETERS


def _degenerate(curvature: float, bend: float, widest: float, sigma: float) -> FitFailure | None:
    if widest < 6.0 * sigma:
        return FitFailure(
            f"The points stay within {1e3 * widest:.2f} mm, which is noise ({1e3 * sigma:.2f} mm). "
            "Move the joint further."
        )
    if curvature <= _STRAIGHT * bend:
        return _straight(widest, sigma)
    if 1.0 / curvature < _SMALLEST * sigma:
        return FitFailure(f"The points stay within their noise ({1e3 * sigma:.2f} mm). Move the joint further.")
    return None


def _straight(widest: float, sigma: float) -> FitFailure:
    return FitFailure(
        f"The points lie on a straight line within their noise ({1e3 * sigma:.2f} mm over {1e3 * widest:.0f} mm): "
        "no radius can be told. Turn the joint further, or check that it is a turning one."
    )
