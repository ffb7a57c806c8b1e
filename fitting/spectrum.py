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

from fitting.se3 import Array

BLOCKS = 64
_SLOW = tuple((corner, 2.0) for corner in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0))
_SWAY = tuple((corner, 4.0) for corner in (4.0, 8.0, 16.0, 32.0))
"""The slow part: half waves in a take up to which it is flat (what is slower cannot be told from another axis), and the
power of the frequency with which it falls off: that of a first-order lag, and of a sway within a band."""
_RATIOS = tuple(float(4.0**k) for k in range(-1, 6))
"""Slow power over flat power."""
_TREMOR, _TREMOR_PRIOR = (1.0, 2.0, 6.0), (0.8, 0.1, 0.1)
"""Power beyond the blocks' frequencies over flat power, and the belief in each, before looking."""
_WHITE = 0.85
"""Share of belief, before looking, that the noise is white."""


@dataclass(frozen=True)
class Scores:
    """What a take's residuals say about p parameters, by channels (c) of the residual, in blocks of time (b).

    All in the same units, usually those of the noise.
    """

    sums: Array
    """(b, c, p + 2) sums of the residuals' derivatives, of the residuals, and of their squares."""
    information: Array
    """(c, p, p) sums over samples of products of derivatives."""
    used: Array
    """(b, c) samples used."""
    samples: int
    """Samples in all."""


def blocks_of(samples: int) -> int:
    """Into how many blocks a take is cut."""
    return min(BLOCKS, samples)


def edges(samples: int) -> NDArray[np.int64]:
    """First sample (b,) of each block."""
    blocks = blocks_of(samples)
    return -((-np.arange(blocks) * samples) // blocks)


def spread_and_power(scores: Scores, absorbed: Array, pooled: Array) -> tuple[Array, Array, Array]:
    """Covariance (c, p, p) that noise gives to the sum of scores, by channels.

    And the power (b, c) of the slow noise that it contains, at each frequency, and (c,) of the rest.
    absorbed: (p, p) inverse information of the fit; pooled: (g, c) of ones where channels of a group have one
    spectrum, else zero.
    """
    from fitting.spectrum_kernels import spread_by

    family = family_of(len(scores.sums))
    return spread_by(scores.sums, scores.information, scores.used, scores.samples, absorbed, pooled, *family)


@lru_cache(maxsize=64)
def family_of(blocks: int) -> tuple[Array, Array, Array, Array]:
    """Cosines (k, b) over blocks of time, and the spectra that there may be at these k frequencies.

    Of m spectra: relative to their flat part, their inverses and logarithms (3, m, k); sums of the slow part's power at
    all higher frequencies over the flat power, and logarithms of belief (2, m). Of t tremors: power and logarithms of
    belief (2, t).
    """
    shapes, beyond, prior = [np.ones(blocks)], [0.0], [_WHITE]
    members = (*_SLOW, *_SWAY)
    for corner, fall in members:
        slow, rest = _in_blocks(blocks, corner, fall)
        for ratio in _RATIOS:
            shapes.append(1.0 + ratio * slow)
            beyond.append(ratio * rest)
            prior.append((1.0 - _WHITE) / (len(members) * len(_RATIOS)))
    table = np.array(shapes)
    return (
        in_cosines(blocks),
        np.array([table, 1.0 / table, np.log(table)]),
        np.array([beyond, np.log(prior)]),
        np.array([_TREMOR, np.log(_TREMOR_PRIOR)]),
    )


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
