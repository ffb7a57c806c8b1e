"""What a take says about its parameters when the grip plays: averaged over everything that the noise may be.

Cameras err anew in each frame, and errors of position and orientation mix in a way that only the residuals tell. The
grip plays slowly besides, and such play hurts far more than white noise of its size. How slow it is, a short take can
hardly tell. So the take is taken apart into cosines, and every pace and size of play counts as much as it explains
their powers. The mean over all of them estimates the parameters; its spread is their covariance, so that what cannot
be told widens it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibration.estimate import FLOOR, Estimate, Model

Array = NDArray[np.float64]
M = TypeVar("M", bound=Model)

_FIRM = 0.9
"""Belief, before looking, that the grip does not play."""
_PACES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Samples after which play has forgotten where it was: at 120 Hz, up to half a second. What is slower than that looks
like another grip."""
_HASTE = 0.5
"""Power of the pace by which slower play is less expected."""
_SIZES = tuple(0.04 * 3.0**k for k in range(9))
"""Variance of play over that of the cameras."""
_SINGLE = 12
"""Slowest waves that are looked at one by one; faster ones in bands."""
_BANDS = 14
_RIDGE = 1e-12


def settle(estimate: Estimate[M]) -> tuple[M, Array]:
    """The model moved to where it is expected, and the covariance (p, p) of its local parameters.

    The play is assumed alike in the channels of each of the model's groups, such as the three directions of a shift.
    """
    model, used = estimate.model, estimate.inliers
    waves, rows = _waves(model.residuals()[used]), _waves(model.jacobian()[used])
    n, k, p = rows.shape
    first, counts, paces = _bands(n)
    white = waves[n // 2 :].T @ waves[n // 2 :] / max(n - n // 2, 1) + FLOOR**2 * np.eye(k)
    sizes, prior = _grid(np.diag(white), model.groups)
    play = (paces[:, None, :, None] * sizes[:, None, :]).reshape(-1, len(first), k)
    belief = (prior - _HASTE * np.log(_PACES)[:, None]).ravel()

    powers = np.add.reduceat(waves[:, :, None] * waves[:, None, :], first, axis=0)
    whites, freedom = _whites(np.broadcast_to(white, (len(play), k, k)), play, powers, counts, n - p / k)
    inverse = np.linalg.inv(_mixed(whites, play))

    flat = inverse.reshape(len(play), -1)
    information = (flat @ _products(rows, rows, first)).reshape(-1, p, p)
    information = information + _RIDGE * np.eye(p) * information.diagonal(axis1=1, axis2=2)[:, None, :]
    gradient = flat @ _products(rows, waves[:, :, None], first)
    covariances = np.linalg.inv(information)
    steps = -(covariances @ gradient[:, :, None])[:, :, 0]
    # Restricted likelihood: the parameters have absorbed part of the noise.
    belief = belief - 0.5 * (
        -np.linalg.slogdet(inverse)[1] @ counts
        + np.linalg.slogdet(information)[1]
        + flat @ powers.ravel()
        + np.sum(gradient * steps, axis=1)
    )
    weights = np.exp(belief - belief.max())
    weights = weights / weights.sum()
    step = weights @ steps
    apart = steps - step
    covariance = np.tensordot(weights, covariances, 1) + (apart * weights[:, None]).T @ apart
    # The cameras' noise is itself known from so many waves only (the same factor as in Hotelling's test).
    known = max(float(weights @ freedom) - k - 1.0, 4.0)
    return model.moved(step), np.asarray(covariance * (1.0 + (k + 1.0) / known))


def _grid(white: Array, groups: Sequence[slice]) -> tuple[Array, Array]:
    """Variances of play (m, k) in every combination of sizes, and the logarithm (m,) of their prior."""
    choices = np.stack(np.meshgrid(*[np.array((0.0, *_SIZES))] * len(groups), indexing="ij"), axis=-1)
    ratios = choices.reshape(-1, len(groups))
    sizes = np.zeros((len(ratios), len(white)))
    for ratio, group in zip(ratios.T, groups, strict=True):
        sizes[:, group] = (ratio * white[group].mean())[:, None]
    firm = ~ratios.any(axis=1)
    return sizes, np.log(np.where(firm, _FIRM, (1.0 - _FIRM) / (len(ratios) - 1)))


def _mixed(whites: Array, play: Array) -> Array:
    """Covariances (m, b, k, k) of white noise (m, k, k) with play (m, b, k)."""
    k = play.shape[2]
    mixed = np.broadcast_to(whites[:, None], (*play.shape, k)).copy()
    mixed[..., np.arange(k), np.arange(k)] += play
    return mixed


def _whites(whites: Array, play: Array, powers: Array, counts: Array, left: float) -> tuple[Array, Array]:
    """White noise (m, k, k) that all waves expect beside each play, and from how many waves (m,) it is known.

    One step of expectation and maximisation: the start, from the fast half of the waves, is near.
    """
    k = play.shape[2]
    share = whites[:, None] @ np.linalg.inv(_mixed(whites, play))
    shares = np.einsum("b,mbij->mij", counts, share)
    explained = (share @ powers @ np.swapaxes(share, 2, 3)).sum(axis=1)
    renewed = (explained + counts.sum() * whites - shares @ whites) / left
    return renewed + FLOOR**2 * np.eye(k), np.trace(shares, axis1=1, axis2=2) / k


def _products(rows: Array, others: Array, first: NDArray[np.int64]) -> Array:
    """Sums over each band of products of two series (n, k, p) and (n, k, q), as (b · k · k, p · q)."""
    (n, k, p), q = rows.shape, others.shape[2]
    edges = np.append(first, n)
    sums = [
        rows[start:stop].reshape(-1, k * p).T @ others[start:stop].reshape(-1, k * q) for start, stop in pairwise(edges)
    ]
    return np.stack(sums).reshape(-1, k, p, k, q).transpose(0, 1, 3, 2, 4).reshape(-1, p * q)


def _waves(series: Array) -> Array:
    """Amplitudes (n, …) of the orthonormal cosines in a series (n, …)."""
    n = len(series)
    folded = np.concatenate([series[::2], series[1::2][::-1]])
    turn = np.exp(-0.5j * np.pi * np.arange(n) / n).reshape(n, *[1] * (series.ndim - 1))
    amplitudes = np.sqrt(2.0 / n) * np.real(np.fft.fft(folded, axis=0) * turn)
    amplitudes[0] /= np.sqrt(2.0)
    return np.asarray(amplitudes)


@lru_cache(maxsize=32)
def _bands(n: int) -> tuple[NDArray[np.int64], Array, Array]:
    """First wave (b,) of each band, waves (b,) in it, and the power (t, b) that play of unit variance has there."""
    wide = np.geomspace(min(_SINGLE, n), n, _BANDS).astype(np.int64)
    first = np.unique(np.concatenate([np.arange(min(_SINGLE, n)), wide[:-1][wide[:-1] < n]]))
    counts = np.diff(np.append(first, n))
    middle = first + (counts - 1) // 2
    cosines = np.cos(np.pi * middle * (np.arange(n)[:, None] + 0.5) / n)
    cosines = cosines / np.linalg.norm(cosines, axis=0)
    powers = [1.0 + 2.0 * np.sum(cosines * _decaying(cosines, np.exp(-1.0 / pace)), axis=0) for pace in _PACES]
    return first, counts.astype(float), np.array(powers)


def _decaying(rows: Array, decay: float) -> Array:
    """Sums (n, p) over all earlier rows, each weighted by the decay to the power of its distance."""
    sums = np.zeros_like(rows)
    sums[1:] = decay * rows[:-1]
    # Each round doubles how far the sums reach back, until what is further away has decayed below rounding.
    reach, weight = 1, decay
    while reach < len(rows) and abs(weight) > 1e-18:
        sums[reach:] += weight * sums[:-reach]
        reach, weight = 2 * reach, weight * weight
    return sums
