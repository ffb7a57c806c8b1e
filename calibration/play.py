"""What a take says about its parameters when the grip plays: averaged over everything that the noise may be.

Cameras err anew in each frame, and errors of position and orientation mix in a way that only the residuals tell. The
grip plays slowly besides, and such play hurts far more than white noise of its size. How slow it is, a short take can
hardly tell. So the take is taken apart into cosines, and every pace and size of play counts as much as it explains
their powers. The mean over all of them estimates the parameters; its spread is their covariance, so that what cannot
be told widens it.
"""

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
_PACES = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
"""Samples after which play has forgotten where it was: at 120 Hz, up to half a second. What is slower than that looks
like another grip."""
_HASTE = 1.0
"""Power of the pace by which slower play is less expected: hands are rather quick."""
_SMALLEST = 0.01
"""Variance of play over that of the cameras, below which there is none to speak of."""
_RANGE = 10.0
"""Its logarithm may lie anywhere within that range, from a tenth to ten times the cameras' noise and more."""
_STEPS = 0.6 * np.arange(-4, 5)
"""Sizes of play that are looked at around the likeliest one, in standard deviations."""
_WIDEST = 1.0
"""Largest such standard deviation, as a logarithm: play too small to be seen is uncertain without end."""
_ROUNDS = 12
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
    powers = np.add.reduceat(waves[:, :, None] * waves[:, None, :], first, axis=0)
    whites, play, belief, freedom = _noises(powers, counts, paces, n - p / k, model.groups)
    inverse = np.linalg.inv(_mixed(whites, play))

    flat = inverse.reshape(len(play), -1)
    information = (flat @ _products(rows, rows, first)).reshape(-1, p, p)
    information = information + _RIDGE * np.eye(p) * information.diagonal(axis1=1, axis2=2)[:, None, :]
    gradient = flat @ _products(rows, waves[:, :, None], first)
    covariances = np.linalg.inv(information)
    steps = -(covariances @ gradient[:, :, None])[:, :, 0]
    # Restricted likelihood: the parameters have absorbed part of the noise.
    belief = belief + 0.5 * (
        np.linalg.slogdet(inverse)[1] @ counts
        - flat @ powers.ravel()
        - np.linalg.slogdet(information)[1]
        - np.sum(gradient * steps, axis=1)
    )
    weights = np.exp(belief - belief.max())
    weights = weights / weights.sum()
    step = weights @ steps
    apart = steps - step
    covariance = np.tensordot(weights, covariances, 1) + (apart * weights[:, None]).T @ apart
    # The cameras' noise is itself known from so many waves only (the same factor as in Hotelling's test).
    known = max(float(weights @ freedom) - k - 1.0, 4.0)
    return model.moved(step), np.asarray(covariance * (1.0 + (k + 1.0) / known))


def _noises(
    powers: Array, counts: Array, paces: Array, left: float, groups: tuple[slice, ...]
) -> tuple[Array, Array, Array, Array]:
    """Noises to average over: white parts (m, k, k), play (m, b, k), logarithm of the prior (m,), freedom (m,).

    The first has no play. For each pace, the others surround that size of play in each group which is likeliest beside
    the white part.
    """
    k, members = powers.shape[1], _members(groups)
    total = powers.sum(axis=0) / left + FLOOR**2 * np.eye(k)
    quick = powers[len(powers) // 2 :].sum(axis=0) / counts[len(powers) // 2 :].sum() + FLOOR**2 * np.eye(k)
    whites = np.broadcast_to(quick, (len(paces), k, k))
    smallest = _SMALLEST * members @ np.diag(total)
    sizes = np.broadcast_to(np.maximum(members @ np.diag(total - quick), smallest), (len(paces), len(groups)))
    for _ in range(_ROUNDS):
        play = paces[:, :, None] * (sizes @ (members > 0.0))[:, None, :]
        inverse = np.linalg.inv(_mixed(whites, play))
        scores = inverse @ powers @ inverse
        found = np.einsum("tb,gk,tbkk->tg", paces, members, scores)
        expected = np.einsum("tb,gk,tbkk->tg", paces * counts, members, inverse)
        sizes = np.maximum(sizes * np.clip(found / expected, 0.2, 5.0), smallest)
        shares = np.einsum("b,tbij->tij", counts, inverse)
        whites = whites + whites @ (scores.sum(axis=1) - shares) @ whites / counts.sum()
    across = np.einsum("tb,gk,tbkj->tg", paces**2 * counts, members > 0.0, inverse**2)
    information = 0.5 * sizes**2 * across
    widths = np.minimum(1.0 / np.sqrt(np.maximum(information, 1e-9)), _WIDEST)
    offsets = np.stack(np.meshgrid(*[_STEPS] * len(groups), indexing="ij"), axis=-1).reshape(-1, len(groups))
    around = sizes[:, None] * np.exp(widths[:, None] * offsets)
    play = (paces[:, None, :, None] * (around @ (members > 0.0))[:, :, None, :]).reshape(-1, paces.shape[1], k)
    volume = np.log((_STEPS[1] - _STEPS[0]) * widths / _RANGE).sum(axis=1)
    prior = np.log(1.0 - _FIRM) + volume - _HASTE * np.log(_PACES) - np.log(np.sum(_PACES**-_HASTE))
    freedom = np.trace(whites @ shares, axis1=1, axis2=2) / k
    return (
        np.concatenate([total[None], np.repeat(whites, len(offsets), axis=0)]),
        np.concatenate([np.zeros((1, *play.shape[1:])), play]),
        np.concatenate([[np.log(_FIRM)], np.repeat(prior, len(offsets))]),
        np.concatenate([[left], np.repeat(freedom, len(offsets))]),
    )


def _members(groups: tuple[slice, ...]) -> Array:
    """Matrix (g, k) that takes the mean over the channels of each group."""
    members = np.zeros((len(groups), max(group.stop for group in groups)))
    for row, group in zip(members, groups, strict=True):
        row[group] = 1.0 / (group.stop - group.start)
    return members


def _mixed(whites: Array, play: Array) -> Array:
    """Covariances (m, b, k, k) of white noise (m, k, k) with play (m, b, k)."""
    k = play.shape[2]
    mixed = np.broadcast_to(whites[:, None], (*play.shape, k)).copy()
    mixed[..., np.arange(k), np.arange(k)] += play
    return mixed


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
