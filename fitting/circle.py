"""A circle in space, robustly, at the limit that positions allow: what a point on a hinged door follows.

Parameters (10,): a point on the arc, unit tangent t, unit inward normal m, curvature κ ≥ 0; the axis is t × m.
Written so, an arc that is too short to show its radius is a straight line with κ = 0 and nothing becomes singular.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting import checks, ransac
from fitting.ransac import Consensus
from fitting.result import AxisFit, FitFailure, of_samples, sealed
from fitting.se3 import Array
from fitting.segments import moving, without_repeats
from fitting.spectrum import blocks_of, family_of

_LEAST = 6
_PARAMETERS = 6
_STRAIGHT = 3.0
"""Below so many standard deviations of curvature the arc cannot be told from a straight line."""
_BOTH = np.eye(2)
"""Radial and axial residuals have spectra of their own."""
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
    if len(takes) > 1:
        from fitting.coaxial import fit_coaxial

        generator = checks.generator(rng)
        return fit_coaxial([fit_circle(take, noise, generator) for take in takes], takes)
    data, times, places = without_repeats(np.ascontiguousarray(takes[0].T))
    if data.shape[1] < _LEAST:
        return checks.too_few(data.shape[1], _LEAST, "a circle")
    from fitting.circle_kernels import circle_followed

    found = ransac.follow(circle_followed, data, times, 3, noise, rng, _LEAST, _PARAMETERS)
    fit = found if isinstance(found, FitFailure) else _described(data, found, noise)
    if places is None or isinstance(fit, FitFailure):
        return fit
    return of_samples(fit, places)


def _described(data: Array, found: Consensus, noise: float | None) -> CircleFit | FitFailure:
    from fitting.circle_outcome import circle_outcome

    samples, curvature = len(found.inliers), float(found.parameters[9])
    family = family_of(blocks_of(samples))
    count, widest, sigma, floor, rms, bend, slowness, center, frame, covariance, angles = circle_outcome(
        found.parameters, data, found.inliers, noise or 0.0, _BOTH, *family
    )
    if count < _LEAST or (count < 0.3 * samples and count < 0.3 * np.count_nonzero(moving(data))):
        return FitFailure(f"Only {count} of {samples} samples agree with one circle. Record the take again.")
    if widest < 6.0 * sigma:
        return FitFailure(
            f"The points stay within {1e3 * widest:.2f} mm, which is noise ({1e3 * sigma:.2f} mm). "
            "Move the joint further."
        )
    if curvature < 1e-9:
        return _straight(widest, sigma)
    if 1.0 / curvature < _SMALLEST * max(sigma, floor):
        return FitFailure(f"The points stay within their noise ({1e3 * sigma:.2f} mm). Move the joint further.")
    if curvature <= _STRAIGHT * bend:
        return _straight(widest, sigma)
    frame = sealed(frame)
    return CircleFit(
        inliers=sealed(found.inliers),
        rms=rms,
        noise=sigma,
        basis=frame[:2],
        covariance=covariance,
        center=sealed(center),
        axis=frame[2],
        radius=1.0 / curvature,
        radius_std=bend / curvature**2,
        correlation=slowness,
        angles=sealed(angles),
    )


def _straight(widest: float, sigma: float) -> FitFailure:
    return FitFailure(
        f"The points lie on a straight line within their noise ({1e3 * sigma:.2f} mm over {1e3 * widest:.0f} mm): "
        "no radius can be told. Turn the joint further, or check that it is a turning one."
    )
