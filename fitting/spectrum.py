"""How slow the noise is: its power at each frequency along a take, and what that does to fitted parameters.

A hand plays slowly, as slowly as it moves the joint, and noise at the pace of the movement hurts far more than white
noise of the same size. Residuals are summed into blocks of time and taken apart into cosines. Their power follows one
of a family of spectra: a flat part, and a slow part that falls off beyond some frequency. Each member counts as much as
it explains the residuals, so that what cannot be told widens the answer. Parameters absorb slow noise: each
cosine counts by the share of it that they leave.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fitting.result import Mask
from fitting.se3 import Array

BLOCKS = 64
_LEAST = 20
"""Samples below which nothing can be said about frequencies."""
_CORNERS = (4.0, 8.0, 16.0, 32.0)
"""Half waves in a take up to which the slow part is flat. What is slower cannot be told from another axis."""
_FALLS = (2.0, 4.0)
"""Powers of the frequency with which it falls off: that of a first-order lag, and of a sway within a band."""
_RATIOS = tuple(float(4.0**k) for k in range(-1, 6))
"""Slow power over flat power."""

_EXACT = 1e-6
"""Share of the stated noise variance below which residuals are rounding."""
_WHITE = 0.85
"""Share of belief, before looking, that the noise is white."""


@dataclass(frozen=True)
class Scores:
    """What a take's residuals say about p parameters, by channels (c) of the residual, in blocks of time (b).

    All in the same units, usually those of the noise.
    """

    residuals: Array
    """(b, c) sums of residuals."""
    rows: Array
    """(b, c, p) sums of their derivatives."""
    information: Array
    """(c, p, p) sums over samples of products of derivatives."""
    used: Array
    """(c,) samples used."""
    samples: int
    """Samples in all."""


def blocks_of(samples: int) -> int:
    """Into how many blocks a take is cut."""
    return min(BLOCKS, samples)


def edges(samples: int) -> NDArray[np.int64]:
    """First sample (b,) of each block."""
    blocks = blocks_of(samples)
    return -((-np.arange(blocks) * samples) // blocks)


def in_blocks(rows: Array, residuals: Array, used: Mask) -> Scores:
    """Scores of residuals (n, c) with derivatives (c, n, p), of which the ``used`` samples (n,) count."""
    first = edges(len(used))
    kept = rows * used[:, None]
    return Scores(
        np.add.reduceat(residuals * used[:, None], first, axis=0),
        np.add.reduceat(kept, first, axis=1).transpose(1, 0, 2),
        kept.transpose(0, 2, 1) @ rows,
        np.full(len(rows), float(np.count_nonzero(used))),
        len(used),
    )


def spread(scores: Scores, absorbed: Array, pooled: Array) -> Array:
    """Covariance (c, p, p) that noise gives to the sum of scores, by channels.

    absorbed: (p, p) inverse information of the fit; pooled: (g, c) of ones where channels of a group have one
    spectrum, else zero.
    """
    if scores.samples < _LEAST:
        return scores.information.copy()
    cosines = _cosines(len(scores.residuals)) * math.sqrt(len(scores.residuals) / scores.samples)
    waves = cosines @ scores.residuals
    rows = cosines @ scores.rows.transpose(1, 0, 2)
    share = np.maximum(scores.used, 1.0) / scores.samples
    power = waves**2 / share
    left = 1.0 - ((rows @ absorbed) * rows).sum(axis=2).T / share
    found = _spectra(power @ pooled.T, np.minimum(np.maximum(left, 1e-3), 1.0) @ pooled.T) @ pooled
    fast = found[-1]
    slow = (found - fast).T[:, :, None] * rows
    return np.asarray(fast[:, None, None] * scores.information + slow.transpose(0, 2, 1) @ rows)


def _spectra(power: Array, left: Array) -> Array:
    """Expected power (k, g) at each frequency, from its measured values and the shares left by the fit."""
    shapes, inverse, logs, prior = _family(len(power))
    count = left.sum(axis=0)
    level = np.maximum(inverse @ power, _EXACT * count)
    likelihood = prior - 0.5 * (count * np.log(level) + logs @ left)
    belief = np.exp(likelihood - likelihood.max(axis=0))
    # Mean, not mode, of the level: what a few waves say about it is uncertain, too.
    return np.asarray(shapes.T @ (belief * level) / (belief.sum(axis=0) * np.maximum(count - 2.0, 1.0)))


@lru_cache(maxsize=64)
def _family(waves: int) -> tuple[Array, Array, Array, Array]:
    """Spectra (m, k) relative to their flat part, inverses, logarithms; and the logarithm (m, 1) of their prior."""
    k = np.arange(waves)
    shapes, prior = [np.ones(waves)], [_WHITE]
    for corner in _CORNERS:
        for fall in _FALLS:
            for ratio in _RATIOS:
                shapes.append(1.0 + ratio / (1.0 + (k / corner) ** fall))
                prior.append((1.0 - _WHITE) / (len(_CORNERS) * len(_FALLS) * len(_RATIOS)))
    table = np.array(shapes)
    return table, 1.0 / table, np.log(table), np.log(prior)[:, None]


@lru_cache(maxsize=64)
def _cosines(blocks: int) -> Array:
    """Orthonormal cosines (k, b) over blocks of time."""
    k, b = np.arange(blocks)[:, None], np.arange(blocks)
    waves = np.sqrt(2.0 / blocks) * np.cos(np.pi * k * (b + 0.5) / blocks)
    waves[0] /= math.sqrt(2.0)
    return np.asarray(waves)
