"""Levenberg–Marquardt over one or more takes of a joint, compiled. The equations are in ``motion_kernels``."""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.columns import PITCH, PLACE, SHIFT, SIZE, TILT, TURN
from fitting.compiled import compiled
from fitting.dense import completed, factor, solved, turned
from fitting.motion_kernels import linearised
from fitting.result import Mask
from fitting.se3 import Array

_LEAST_DAMPING = 1e-10
"""Keeps directions that nothing determines (a loose grip's orientation) at rest."""
Places = NDArray[np.int64]


@compiled
def solve_takes(
    axis: Array,
    center: Array,
    pitch: float,
    R0: Array,
    p0: Array,
    q: Array,
    offsets: Places,
    columns: Array,
    wp: Array,
    wo: Array,
    turns: bool,
    slides: Mask,
    shared: Places,
    own: Places,
    middle: Array,
    farthest: float,
    steps: int,
) -> tuple[Array, Array, float, Array, Array, Array, Array]:
    """Minimise the weighted squares of all takes: axis, center, pitch, R0, p0, q, residuals.

    Takes k are the columns offsets[k] to offsets[k+1] (``motion.Take``); R0 (k, 3, 3), p0 (k, 3) are their starts.
    ``middle`` (3,) and ``farthest`` (m) say where the axis is when nothing turns.
    """
    takes = R0.shape[0]
    H, g = np.empty((takes, SIZE, SIZE)), np.empty((takes, SIZE))
    trial_H, trial_g = np.empty_like(H), np.empty_like(g)
    residuals, trial_residuals = np.empty((len(q), 6)), np.empty((len(q), 6))
    active = np.zeros(SIZE, dtype=np.bool_)
    for c in shared:
        active[c] = True
    for c in own:
        active[c] = True
    q = q.copy()
    cost = _system(
        axis, center, pitch, R0, p0, q, offsets, columns, wp, wo, turns, slides, middle, farthest,
        active, H, g, residuals,
    )  # fmt: skip
    damping = _LEAST_DAMPING
    for _ in range(steps):
        n_axis, n_center, n_pitch, n_R0, n_p0 = _stepped(axis, center, pitch, R0, p0, H, g, shared, own, damping)
        n_q = q.copy()
        n_cost = _system(
            n_axis, n_center, n_pitch, n_R0, n_p0, n_q, offsets, columns, wp, wo, turns, slides, middle, farthest,
            active, trial_H, trial_g, trial_residuals,
        )  # fmt: skip
        if n_cost <= cost * (1.0 + 1e-12):
            settled = cost - n_cost < 1e-5 * cost
            axis, center, pitch, R0, p0, q, cost = n_axis, n_center, n_pitch, n_R0, n_p0, n_q, n_cost
            H, trial_H = trial_H, H
            g, trial_g = trial_g, g
            residuals, trial_residuals = trial_residuals, residuals
            damping = max(0.1 * damping, _LEAST_DAMPING)
            if settled:
                break
        elif damping > 1e3:
            break
        else:
            damping = max(100.0 * damping, 1e-4)
    return axis, center, pitch, R0, p0, q, residuals


@compiled
def _system(
    axis: Array,
    center: Array,
    pitch: float,
    R0: Array,
    p0: Array,
    q: Array,
    offsets: Places,
    columns: Array,
    wp: Array,
    wo: Array,
    turns: bool,
    slides: Mask,
    middle: Array,
    farthest: float,
    active: Mask,
    H: Array,
    g: Array,
    residuals: Array,
) -> float:
    frame = completed(axis)
    cost = 0.0
    none, nothing = np.empty((0, 6, SIZE + 2)), np.empty((0, SIZE, SIZE))
    for k in range(R0.shape[0]):
        own = slice(offsets[k], offsets[k + 1])
        cost += linearised(
            frame, center, pitch, turns, slides[own], R0[k], p0[k], columns, offsets[k], q[own],
            wp[own], wo[own], active, H[k], g[k], residuals[own], none, nothing,
        )  # fmt: skip
    # Where nothing turns, the axis is at least within reach of the data: without this it would wander off.
    for k in range(2):
        far = 0.0
        for r in range(3):
            far += frame[r, k] * (center[r] - middle[r])
        far /= farthest
        cost += far * far
        g[0, SHIFT + k] += far / farthest
        H[0, SHIFT + k, SHIFT + k] += 1.0 / farthest**2
    return cost


@compiled
def _picked(matrix: Array, rows: Places, columns: Places) -> Array:
    out = np.empty((len(rows), len(columns)))
    for r in range(len(rows)):
        for c in range(len(columns)):
            out[r, c] = matrix[rows[r], columns[c]]
    return out


@compiled
def _reduced(
    H: Array, g: Array, shared: Places, own: Places, damping: float, back: Array, g_back: Array
) -> tuple[Array, Array]:
    """A take's equations for the shared parameters, its own eliminated: matrix and gradient.

    back, g_back: filled with B⁻¹·Hᵀ and B⁻¹·g, from which its own parameters follow.
    """
    lower, scale = factor(_picked(H, own, own), damping)
    cross = _picked(H, shared, own)
    for r in range(len(shared)):
        solved(lower, scale, cross[r], back[r])
    g_own = np.empty(len(own))
    for c in range(len(own)):
        g_own[c] = g[own[c]]
    solved(lower, scale, g_own, g_back)
    matrix = _picked(H, shared, shared)
    gradient = np.empty(len(shared))
    for r in range(len(shared)):
        gradient[r] = g[shared[r]]
        for c in range(len(own)):
            gradient[r] -= cross[r, c] * g_back[c]
        for s in range(len(shared)):
            for c in range(len(own)):
                matrix[r, s] -= cross[r, c] * back[s, c]
    return matrix, gradient


@compiled
def _stepped(  # noqa: C901
    axis: Array,
    center: Array,
    pitch: float,
    R0: Array,
    p0: Array,
    H: Array,
    g: Array,
    shared: Places,
    own: Places,
    damping: float,
) -> tuple[Array, Array, float, Array, Array]:
    takes = R0.shape[0]
    total, gradient = np.zeros((len(shared), len(shared))), np.zeros(len(shared))
    backs, g_backs = np.empty((takes, len(shared), len(own))), np.empty((takes, len(own)))
    for k in range(takes):
        matrix, g_k = _reduced(H[k], g[k], shared, own, damping, backs[k], g_backs[k])
        for r in range(len(shared)):
            gradient[r] -= g_k[r]
            for s in range(len(shared)):
                total[r, s] += matrix[r, s]
    lower, scale = factor(total, damping)
    delta = np.empty(len(shared))
    solved(lower, scale, gradient, delta)
    # Beyond half a radian of tilt the linearisation means nothing.
    tilt = math.hypot(delta[0], delta[1])
    if tilt > 0.5:
        for c in range(len(shared)):
            delta[c] *= 0.5 / tilt
    full = np.zeros(SIZE)
    for c in range(len(shared)):
        full[shared[c]] = delta[c]
    frame = completed(axis)
    n_axis, n_center, w = np.empty(3), np.empty(3), np.empty(3)
    for r in range(3):
        # A tilt along basis[0] is a turn about basis[1], one along basis[1] a turn about −basis[0].
        w[r] = full[TILT] * frame[r, 1] - full[TILT + 1] * frame[r, 0]
        n_center[r] = center[r] + full[SHIFT] * frame[r, 0] + full[SHIFT + 1] * frame[r, 1]
    turned(w[0], w[1], w[2], axis, n_axis)
    size = math.sqrt(n_axis[0] ** 2 + n_axis[1] ** 2 + n_axis[2] ** 2)
    for r in range(3):
        n_axis[r] /= size
    n_R0, n_p0 = np.empty_like(R0), np.empty_like(p0)
    column, out, step = np.empty(3), np.empty(3), np.zeros(SIZE)
    for k in range(takes):
        for c in range(len(own)):
            step[own[c]] = -g_backs[k, c]
            for s in range(len(shared)):
                step[own[c]] -= backs[k, s, c] * delta[s]
        for r in range(3):
            w[r] = 0.0
            n_p0[k, r] = p0[k, r]
            for c in range(3):
                w[r] += step[TURN + c] * frame[r, c]
                n_p0[k, r] += step[PLACE + c] * frame[r, c]
        for c in range(3):
            for r in range(3):
                column[r] = R0[k, r, c]
            turned(w[0], w[1], w[2], column, out)
            for r in range(3):
                n_R0[k, r, c] = out[r]
    return n_axis, n_center, pitch + full[PITCH], n_R0, n_p0
