"""Least squares when noise of the sensor and of the cameras mix in a proportion that only the residuals can
tell.

A held orientation errs by the noise of the sensor and by that of the cameras; the latter turns the weight
and so acts across gravity only. Treating both as one would state the mass too carefully and the orientation
too boldly. A few holds hardly tell the proportion: each counts as much as it explains the residuals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


_USUAL = 0.4
"""Variance by the cameras over that by the sensor, of the values across gravity, as it usually is."""
_DECADES = 0.7
"""Standard deviation of its decimal logarithm."""
_PROPORTIONS = _USUAL * np.logspace(-2.0, 2.0, 17)
_TINY = 1e-20


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
    """Solve ``values = design · solution + noise``: the mean over all proportions of the two noises, and its spread.

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
    shape = turning @ np.swapaxes(turning, 1, 2)
    shape = shape / max(float(np.trace(shape, axis1=1, axis2=2).mean()) / 2.0, 1e-300)
    inverse = np.linalg.inv(np.eye(3) + _PROPORTIONS[:, None, None, None] * shape)
    weighted = inverse @ design
    information = np.einsum("nkp,mnkq->mpq", design, weighted)
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(information, axis1=1, axis2=2), 1e-300))
    both = scale[:, :, None] * scale[:, None, :]
    spreads = both * np.linalg.inv(information * both)
    solutions = np.einsum("mpq,mnkq,nk->mp", spreads, weighted, values)
    rest = values - np.einsum("nkp,mp->mnk", design, solutions)
    squares = np.einsum("mnk,mnkl,mnl->m", rest, inverse, rest) + _TINY
    freedom = max(3 * n - p, 3)
    # Restricted likelihood, with the size of the noise integrated out.
    belief = 0.5 * (np.linalg.slogdet(inverse)[1].sum(axis=1) + np.linalg.slogdet(spreads / both)[1])
    belief = belief + np.log(scale).sum(axis=1) - 0.5 * freedom * np.log(squares)
    belief = belief - 0.5 * (np.log10(_PROPORTIONS / _USUAL) / _DECADES) ** 2
    weights = np.exp(belief - belief.max())
    weights = weights / weights.sum()
    solution = weights @ solutions
    apart = solutions - solution
    # The scale of a t-distribution becomes its covariance by ν / (ν - 2).
    covariance = np.tensordot(weights * squares / (freedom - 2), spreads, 1) + (apart * weights[:, None]).T @ apart
    return Solved(solution, covariance, values - design @ solution)
