"""Inner loops of the noise's spectrum; what they compute is explained in ``fitting.spectrum``."""

import math

import numpy as np

from fitting.compiled import summed
from fitting.se3 import Array


@summed
def expected_power(
    power: Array,
    left: Array,
    quick: Array,
    quick_count: Array,
    beyond: int,
    least: float,
    family: tuple[Array, Array, Array, Array, Array],
    tremor: Array,
    tremor_prior: Array,
) -> Array:
    """Expected power (k, g) at each frequency, from its measured values and the shares left by the fit.

    quick, quick_count: (g,) sum and number of the squared components beyond these frequencies; beyond: how many such
    frequencies there are; least: smallest level, per component; family: shapes, their inverses and logarithms (m, k),
    sums beyond and logarithms of belief (m,); tremor, tremor_prior: strengths of tremor and logarithms of belief (t,).
    """
    shapes, inverse, logs, beyonds, prior = family
    waves, groups = power.shape
    members, strengths = len(prior), len(tremor)
    out = np.zeros((waves, groups))
    levels, beliefs = np.empty((members, strengths)), np.empty((members, strengths))
    measured, shares = np.empty(waves), np.empty(waves)
    for g in range(groups):
        count = quick_count[g]
        for k in range(waves):
            measured[k], shares[k] = power[k, g], left[k, g]
            count += left[k, g]
        best = -np.inf
        for m in range(members):
            flat = volume = 0.0
            for k in range(waves):
                flat += inverse[m, k] * measured[k]
                volume += logs[m, k] * shares[k]
            tail = 1.0 + beyonds[m] / max(beyond, 1)
            for t in range(strengths):
                rest = tail * tremor[t]
                level = max(flat + quick[g] / rest, least * count)
                belief = prior[m] + tremor_prior[t]
                belief -= 0.5 * (count * math.log(level) + volume + quick_count[g] * math.log(rest))
                levels[m, t], beliefs[m, t] = level, belief
                best = max(best, belief)
        total = 0.0
        for m in range(members):
            weight = 0.0
            for t in range(strengths):
                belief = math.exp(beliefs[m, t] - best)
                total += belief
                weight += belief * levels[m, t]
            for k in range(waves):
                out[k, g] += weight * shapes[m, k]
        # Mean, not mode, of the level: what a few waves say about it is uncertain, too.
        scale = 1.0 / (total * max(count - 2.0, 1.0))
        for k in range(waves):
            out[k, g] *= scale
    return out


@summed
def left_by(rows: Array, absorbed: Array, share: Array) -> Array:
    """Share (k, c) of each wave that a fit leaves.

    rows: (k, c, p) derivatives; absorbed: (p, p) inverse information of the fit; share: (c,) of the samples used.
    """
    waves, channels, size = rows.shape
    out = np.empty((waves, channels))
    for k in range(waves):
        for c in range(channels):
            total = 0.0
            for i in range(size):
                part = 0.0
                for j in range(size):
                    part += absorbed[i, j] * rows[k, c, j]
                total += part * rows[k, c, i]
            out[k, c] = min(max(1.0 - total / share[c], 1e-3), 1.0)
    return out


@summed
def spread_by(  # noqa: C901
    waves: Array,
    rows: Array,
    squares: Array,
    information: Array,
    used: Array,
    samples: int,
    absorbed: Array,
    pooled: Array,
    least: float,
    family: tuple[Array, Array, Array, Array, Array],
    tremor: Array,
    tremor_prior: Array,
) -> tuple[Array, Array]:
    """Covariance (c, p, p) of the sum of scores, and the power (k, c) of the slow noise in it.

    waves: (k, c) cosines of the residuals; rows: (k, c, p) of their derivatives; the others as in ``Scores``.
    """
    blocks, channels, size = rows.shape
    groups = len(pooled)
    share, count, quick = np.empty(channels), np.empty(channels), np.empty(channels)
    for c in range(channels):
        share[c] = max(used[c], 1.0) / samples
        # What is quicker than the blocks show: its sum of squares, and how many components that has.
        count[c], rest = max(used[c] - blocks, 0.0), squares[c]
        for k in range(blocks):
            rest -= waves[k, c] ** 2
        quick[c] = count[c] * max(rest, 0.0) / max(used[c] - blocks * share[c], 1.0)
    left = left_by(rows, absorbed, share)
    power, shares = np.zeros((blocks, groups)), np.zeros((blocks, groups))
    quick_power, quick_count = np.zeros(groups), np.zeros(groups)
    for g in range(groups):
        for c in range(channels):
            if pooled[g, c] > 0.0:
                quick_power[g] += quick[c]
                quick_count[g] += count[c]
                for k in range(blocks):
                    power[k, g] += waves[k, c] ** 2 / share[c]
                    shares[k, g] += left[k, c]
    found = expected_power(
        power, shares, quick_power, quick_count, samples - blocks, least, family, tremor, tremor_prior
    )
    slow, out = np.empty((blocks, channels)), np.empty((channels, size, size))
    for c in range(channels):
        g = 0
        while pooled[g, c] == 0.0:
            g += 1
        fast = found[blocks - 1, g]
        for i in range(size):
            for j in range(size):
                out[c, i, j] = fast * information[c, i, j]
        for k in range(blocks):
            slow[k, c] = found[k, g] - fast
            for i in range(size):
                weight = slow[k, c] * rows[k, c, i]
                for j in range(size):
                    out[c, i, j] += weight * rows[k, c, j]
    return out, slow
