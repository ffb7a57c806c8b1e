"""Inner loops of the noise's spectrum; what they compute is explained in ``fitting.spectrum``."""

import math

import numpy as np

from fitting.compiled import compiled, summed
from fitting.result import Mask
from fitting.se3 import Array

_LEAST = 20
"""Samples below which nothing can be said about frequencies."""
_EXACT = 1e-6
"""Share of the stated noise variance below which residuals are rounding."""
_NOTHING = -40.0
"""Logarithm of a belief, relative to the best, that changes no digit."""
_NEAR = 4
"""Blocks to each side within which gaps count as scattered."""


@summed
def in_waves(sums: Array, cosines: Array, scale: float) -> Array:
    """Cosines (k, b) of sums (b, c, p), scaled: (k, c, p).

    Each is the same, or the same with the other sign, from the end of the take as from its beginning.
    """
    blocks, channels, size = sums.shape
    half, last = (blocks + 1) // 2, channels * size
    flat, folded = sums.reshape((blocks, last)), np.empty((2, half, last))
    for b in range(half):
        for c in range(last):
            here, there = scale * flat[b, c], scale * flat[blocks - 1 - b, c]
            folded[0, b, c], folded[1, b, c] = here + there, here - there
    if blocks % 2:
        for c in range(last):
            folded[0, half - 1, c] *= 0.5
    out = np.zeros((blocks, last))
    for k in range(blocks):
        # By fours: each sum would be stored and loaded again for every block.
        b, sides = 0, folded[k % 2]
        while b < half - 3:
            w0, w1, w2, w3 = cosines[k, b], cosines[k, b + 1], cosines[k, b + 2], cosines[k, b + 3]
            for c in range(last):
                out[k, c] += w0 * sides[b, c] + w1 * sides[b + 1, c] + (w2 * sides[b + 2, c] + w3 * sides[b + 3, c])
            b += 4
        while b < half:
            for c in range(last):
                out[k, c] += cosines[k, b] * sides[b, c]
            b += 1
    return out.reshape((blocks, channels, size))


@summed
def expected_power(  # noqa: C901
    power: Array,
    left: Array,
    quick: Array,
    quick_count: Array,
    beyond: int,
    spectra: Array,
    members: Array,
    tremors: Array,
) -> Array:
    """Expected power (k, g) at each frequency, from its measured values and the shares left by the fit.

    quick, quick_count: (g,) sum and number of the squared components beyond these frequencies; beyond: how many such
    frequencies there are; spectra, members, tremors: of ``spectrum.family_of``.
    """
    waves, groups = power.shape
    count_of, strengths = members.shape[1], tremors.shape[1]
    shapes, inverse, logs = spectra[0], spectra[1], spectra[2]
    out, total_out = np.zeros((waves, groups)), np.empty(waves)
    levels, beliefs = np.empty((count_of, strengths)), np.empty((count_of, strengths))
    measured, shares = np.empty(waves), np.empty(waves)
    tails, tail_logs = np.empty((count_of, strengths)), np.empty((count_of, strengths))
    for m in range(count_of):
        tail = 1.0 + members[0, m] / max(beyond, 1)
        for t in range(strengths):
            tails[m, t], tail_logs[m, t] = 1.0 / (tail * tremors[0, t]), math.log(tail * tremors[0, t])
    for g in range(groups):
        count = quick_count[g]
        for k in range(waves):
            measured[k], shares[k], total_out[k] = power[k, g], left[k, g], 0.0
            count += left[k, g]
        best = -np.inf
        for m in range(count_of):
            flat = volume = 0.0
            for k in range(waves):
                flat += inverse[m, k] * measured[k]
                volume += logs[m, k] * shares[k]
            for t in range(strengths):
                level = max(flat + quick[g] * tails[m, t], _EXACT * count)
                belief = members[1, m] + tremors[1, t]
                belief -= 0.5 * (count * math.log(level) + volume + quick_count[g] * tail_logs[m, t])
                levels[m, t], beliefs[m, t] = level, belief
                best = max(best, belief)
        total = 0.0
        for m in range(count_of):
            weight = 0.0
            for t in range(strengths):
                if beliefs[m, t] - best > _NOTHING:
                    belief = math.exp(beliefs[m, t] - best)
                    total += belief
                    weight += belief * levels[m, t]
            if weight > 0.0:
                for k in range(waves):
                    total_out[k] += weight * shapes[m, k]
        # Mean, not mode, of the level: what a few waves say about it is uncertain, too.
        scale = 1.0 / (total * max(count - 2.0, 1.0))
        for k in range(waves):
            out[k, g] = scale * total_out[k]
    return out


@summed
def left_by(waves: Array, absorbed: Array, share: Array) -> Array:
    """Share (k, c) of each wave that a fit leaves.

    waves: (k, c, p + 2) derivatives first; absorbed: (p, p) inverse information of the fit; share: (c,) of the samples
    used.
    """
    count, channels, _ = waves.shape
    size = len(absorbed)
    out = np.empty((count, channels))
    for k in range(count):
        for c in range(channels):
            total = 0.0
            for i in range(size):
                part = 0.0
                for j in range(size):
                    part += absorbed[i, j] * waves[k, c, j]
                total += part * waves[k, c, i]
            out[k, c] = min(max(1.0 - total / share[c], 1e-3), 1.0)
    return out


@compiled
def in_blocks(used: Mask, blocks: int, channels: int) -> Array:
    """Samples used (b, c) in each block of time, the same in all channels."""
    n, out = len(used), np.zeros((blocks, channels))
    for b in range(blocks):
        inside = 0
        for i in range(-((-b * n) // blocks), -((-(b + 1) * n) // blocks)):
            inside += 1 if used[i] else 0
        for c in range(channels):
            out[b, c] = inside
    return out


@summed
def _thinned(used: Array, samples: int) -> float:
    """Power of slow noise, relative to that of white noise, where only some samples (b,) of each block are used.

    Sums over fewer samples lose more of what is slow, whose power goes with the square of their number, than of what is
    white; not so where a whole stretch of a take is left out, beside which nothing is lost.
    """
    blocks, whole, square = len(used), 0.0, 0.0
    for b in range(blocks):
        first, last, near = max(b - _NEAR, 0), min(b + _NEAR + 1, blocks), 0.0
        for k in range(first, last):
            near += used[k]
        whole += used[b]
        square += (near / (last - first)) ** 2
    return square * blocks / (samples * whole) if whole > 0.0 else 1.0


@summed
def spread_by(  # noqa: C901
    sums: Array,
    information: Array,
    used: Array,
    samples: int,
    absorbed: Array,
    pooled: Array,
    cosines: Array,
    spectra: Array,
    members: Array,
    tremors: Array,
) -> tuple[Array, Array, Array]:
    """Covariance (c, p, p) of the sum of scores, and the power (k, c) of the slow noise and (c,) of the rest in it.

    sums … samples: as in ``Scores``; the last four: of ``spectrum.family_of``.
    """
    blocks, channels, size = sums.shape[0], sums.shape[1], sums.shape[2] - 2
    groups = len(pooled)
    slow, level, out = np.zeros((blocks, channels)), np.ones(channels), information.copy()
    if samples < _LEAST:
        return out, slow, level
    waves = in_waves(sums, cosines, math.sqrt(blocks / samples))
    share, count, quick, thinned = np.empty(channels), np.empty(channels), np.empty(channels), np.empty(channels)
    for c in range(channels):
        total = rest = 0.0
        for k in range(blocks):
            total += used[k, c]
            rest += sums[k, c, size + 1] - waves[k, c, size] ** 2
        share[c] = max(total, 1.0) / samples
        thinned[c] = _thinned(used[:, c], samples)
        # What is quicker than the blocks show: its sum of squares, and how many components that has.
        count[c] = max(total - blocks, 0.0)
        quick[c] = count[c] * max(rest, 0.0) / max(total - blocks * share[c], 1.0)
    left = left_by(waves, absorbed, share)
    power, shares = np.zeros((blocks, groups)), np.zeros((blocks, groups))
    quick_power, quick_count = np.zeros(groups), np.zeros(groups)
    for g in range(groups):
        for c in range(channels):
            if pooled[g, c] > 0.0:
                quick_power[g] += quick[c]
                quick_count[g] += count[c]
                for k in range(blocks):
                    power[k, g] += waves[k, c, size] ** 2 / share[c]
                    shares[k, g] += left[k, c]
    found = expected_power(power, shares, quick_power, quick_count, samples - blocks, spectra, members, tremors)
    for c in range(channels):
        g = 0
        while pooled[g, c] == 0.0:
            g += 1
        level[c] = fast = found[blocks - 1, g]
        for i in range(size):
            for j in range(size):
                out[c, i, j] *= fast
        for k in range(blocks):
            slow[k, c] = (found[k, g] - fast) / thinned[c]
            for i in range(size):
                weight = slow[k, c] * waves[k, c, i]
                for j in range(size):
                    out[c, i, j] += weight * waves[k, c, j]
    return out, slow, level
