"""How slow the noise is: its power at each frequency along a take, and what that does to fitted parameters.

A hand plays slowly, as slowly as it moves the joint, and noise at the pace of the movement hurts far more than white
noise of the same size. Residuals are summed into blocks of time and taken apart into cosines; what is quicker than the
blocks counts as one sum of squares. The power follows one of a family of spectra: a flat part, a slow part that falls
off beyond some frequency, and perhaps a tremor beyond the blocks. Each member counts as much as it explains the
residuals, so that what cannot be told widens the answer. Parameters absorb slow noise: each cosine counts by the
share of it that they leave.
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
_SLOW = tuple((corner, 2.0) for corner in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0))
_SWAY = tuple((corner, 4.0) for corner in (4.0, 8.0, 16.0, 32.0))
"""The slow part: half waves in a take up to which it is flat (what is slower cannot be told from another axis), and the
power of the frequency with which it falls off: that of a first-order lag, and of a sway within a band."""
_RATIOS = tuple(float(4.0**k) for k in range(-1, 6))
"""Slow power over flat power."""
_TREMOR = np.array([1.0, 2.0, 6.0])
"""Power beyond the blocks' frequencies over flat power."""
_TREMOR_PRIOR = np.log([0.8, 0.1, 0.1])
"""Logarithm of the belief in each, before looking."""

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
    squares: Array
    """(c,) sums over samples of squared residuals."""
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
    known = residuals * used[:, None]
    return Scores(
        np.add.reduceat(known, first, axis=0),
        (known * known).sum(axis=0),
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
    return spread_and_power(scores, absorbed, pooled)[0]


def spread_and_power(scores: Scores, absorbed: Array, pooled: Array) -> tuple[Array, Array]:
    """The same, and the power (k, c) of the slow noise that it contains, at each frequency and in each channel."""
    if scores.samples < _LEAST:
        return scores.information.copy(), np.zeros(scores.residuals.shape)
    from fitting.spectrum_kernels import spread_by

    blocks, channels, size = scores.rows.shape
    cosines = in_cosines(blocks) * math.sqrt(blocks / scores.samples)
    return spread_by(
        cosines @ scores.residuals,
        (cosines @ scores.rows.reshape(blocks, -1)).reshape(blocks, channels, size),
        scores.squares,
        scores.information,
        scores.used,
        scores.samples,
        absorbed,
        pooled,
        _EXACT,
        _family(blocks),
        _TREMOR,
        _TREMOR_PRIOR,
    )


@lru_cache(maxsize=64)
def _family(waves: int) -> tuple[Array, Array, Array, Array, Array]:
    """Spectra at k frequencies, relative to their flat part, their inverses and logarithms (m, k).

    Then sums (m,) of the slow part's power at all higher frequencies, over the flat power; logarithms of belief (m,).
    """
    shapes, beyond, prior = [np.ones(waves)], [0.0], [_WHITE]
    members = (*_SLOW, *_SWAY)
    for corner, fall in members:
        slow, rest = _in_blocks(waves, corner, fall)
        for ratio in _RATIOS:
            shapes.append(1.0 + ratio * slow)
            beyond.append(ratio * rest)
            prior.append((1.0 - _WHITE) / (len(members) * len(_RATIOS)))
    table = np.array(shapes)
    return table, 1.0 / table, np.log(table), np.array(beyond), np.log(prior)


def _in_blocks(waves: int, corner: float, fall: float) -> tuple[Array, float]:
    """A slow part's power (k,) as sums over blocks of time show it, and the sum of the rest."""
    k = np.arange(waves)[:, None] + 2 * waves * np.arange(-50, 51)
    # Sums over a block weaken what is quick, and what is quicker than they can show appears as something slower.
    slow = (np.sinc(k / (2.0 * waves)) ** 2 / (1.0 + np.abs(k / corner) ** fall)).sum(axis=1)
    whole = corner * (math.pi / fall) / math.sin(math.pi / fall)
    return slow, max(whole - float(slow.sum()), 0.0)


@lru_cache(maxsize=64)
def in_cosines(blocks: int) -> Array:
    """Orthonormal cosines (k, b) over blocks of time."""
    k, b = np.arange(blocks)[:, None], np.arange(blocks)
    waves = np.sqrt(2.0 / blocks) * np.cos(np.pi * k * (b + 0.5) / blocks)
    waves[0] /= math.sqrt(2.0)
    return np.asarray(waves)
