"""Least squares when noise of the sensor and of the cameras mix in a proportion that only the residuals can
tell.

A held orientation errs by the noise of the sensor and by that of the cameras; the latter turns the weight
and so acts across gravity only. Treating both as one would state the mass too carefully and the orientation
too boldly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


_USUAL = float(np.radians(0.07)) ** 2
"""Variance (rad²) of a body's orientation that cameras usually reach."""
_TRUST = 10.0
"""That figure counts as much as this many residuals: six holds alone cannot separate the two noises."""
_TINY = 1e-20
_ROUNDS = 40


@dataclass(frozen=True)
class Solved:
    """Solution of a least squares problem over holds."""

    solution: Array
    """(p,)"""
    covariance: Array
    """(p, p)"""
    residuals: Array
    """(n, 3)"""


def solve_holds(design: Array, values: Array, turning: Array) -> Solved:
    """Solve ``values = design · solution + noise`` and state the covariance under both noises.

    The solution is that of plain least squares, which does not depend on the uncertain proportion. The
    variances of both noises come from restricted maximum likelihood.

    Parameters
    ----------
    design
        (n, 3, p)
    values
        (n, 3) one vector per hold.
    turning
        (n, 3, 3) derivative of the values by a small rotation of the body.
    """
    n, _, p = design.shape
    spread = _inverse(np.einsum("nkp,nkq->pq", design, design))
    solution = spread @ np.einsum("nkp,nk->p", design, values)
    residuals = values - design @ solution
    freedom = max(3 * n - p, 3)
    shapes = (np.broadcast_to(np.eye(3), (n, 3, 3)), turning @ np.swapaxes(turning, 1, 2))
    variances = np.array([float(np.sum(residuals**2)) / freedom + _TINY, _USUAL])
    for _ in range(_ROUNDS):
        factors = _factors(design, residuals, shapes, variances)
        variances = np.maximum(variances * factors, _TINY)
        if np.max(np.abs(factors - 1.0)) < 1e-3:
            break
    mixed = _mixed(variances, shapes)
    covariance = spread @ np.einsum("nkp,nkl,nlq->pq", design, mixed, design) @ spread
    # The noise is estimated as well: the scale of a t-distribution becomes its covariance by ν / (ν - 2).
    return Solved(solution, covariance * freedom / (freedom - 2), residuals)


def _factors(design: Array, values: Array, shapes: tuple[Array, Array], variances: Array) -> Array:
    """Factor by which each variance explains the values better; 1 where the likelihood is largest."""
    inverse = np.linalg.inv(_mixed(variances, shapes))
    weighted = inverse @ design
    spread = _inverse(np.einsum("nkp,nkq->pq", design, weighted))
    rest = values - design @ (spread @ np.einsum("nkp,nk->p", weighted, values))
    scores = np.einsum("nkl,nl->nk", inverse, rest)
    factors = np.ones(2)
    for c, (shape, trust) in enumerate(zip(shapes, (0.0, _TRUST), strict=True)):
        found = np.einsum("nk,nkl,nl->", scores, shape, scores)
        inner = np.einsum("nkp,nkl,nlq->pq", weighted, shape, weighted)
        expected = np.einsum("nkl,nlk->", inverse, shape) - np.sum(spread * inner)
        found, expected = found + trust * _USUAL / variances[c] ** 2, expected + trust / variances[c]
        factors[c] = np.clip(found / max(float(expected), 1e-300), 0.05, 20.0)
    return factors


def _mixed(variances: Array, shapes: tuple[Array, Array]) -> Array:
    return np.asarray(variances[0] * shapes[0] + variances[1] * shapes[1])


def _inverse(information: Array) -> Array:
    """Inverse of an information matrix whose parameters have different units."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1e-300))
    return np.asarray(scale[:, None] * np.linalg.inv(information * np.outer(scale, scale)) * scale)
