"""Coordinates that bring a frame to a measured pose: weighted least squares within limits."""

from dataclasses import dataclass

import numpy as np

from fitting.se3 import Array, rotation_log
from ident.joints.chain import Chain

_STARTS = 24
_STEPS = 60
_GOOD = 1e-9
"""A residual below this many standard deviations cannot be improved upon."""
_LIKELY, _ENOUGH = 3.0, 4
"""One below this many is what noise leaves: after so many starts, no better place is looked for."""


@dataclass(frozen=True)
class Solution:
    """The best configuration found."""

    q: Array
    """(len(chain.names),)"""
    position_error: float
    """Metres between the frame and the pose."""
    angle_error: float
    """Radians between the frame and the pose."""
    residual: float
    """Length of the error in standard deviations."""


def solve(chain: Chain, pose: Array, covariance: Array, start: Array | None = None) -> Solution:
    """Find coordinates within limits at which the chain's frame is nearest to ``pose``.

    ``covariance`` (6, 6) of the error twist ``[v, ω]`` says how the distance in position weighs against that
    in orientation. Several starts, always the same ones, guard against local minima.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    lower, upper = chain.limits[:, 0], chain.limits[:, 1]
    # Joints without stops: any turn will do for a rotation, and a metre each way is a fair guess for a slide.
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - np.pi, -np.pi))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + np.pi, np.pi))
    rng = np.random.default_rng(0)
    share = np.concatenate([np.full((1, len(low)), 0.5), rng.random((_STARTS - 1, len(low)))])
    starts = low + share * (high - low)
    if start is not None:
        starts[0] = np.clip(start, lower, upper)
    best, where = np.inf, starts[0]
    for tried, q0 in enumerate(starts, start=1):
        cost, q = _descend(chain, pose, whiten, q0)
        if cost < best:
            best, where = cost, q
        if best < _GOOD or not len(low) or (best < _LIKELY and tried >= _ENOUGH):
            break
    error = _error(chain, pose, where)
    return Solution(
        q=where,
        position_error=float(np.linalg.norm(error[:3])),
        angle_error=float(np.linalg.norm(error[3:])),
        residual=best,
    )


def _error(chain: Chain, pose: Array, q: Array) -> Array:
    now = chain.pose(q)
    turn = rotation_log(pose[:3, :3] @ now[:3, :3].T)
    return np.concatenate([pose[:3, 3] - now[:3, 3], turn])


def _descend(chain: Chain, pose: Array, whiten: Array, q: Array) -> tuple[float, Array]:
    """Levenberg–Marquardt in the coordinates that are free to move, the others resting on their limits."""
    lower, upper = chain.limits[:, 0], chain.limits[:, 1]
    error = whiten @ _error(chain, pose, q)
    cost, damping = float(np.linalg.norm(error)), 1e-3
    for _ in range(_STEPS if len(q) else 0):
        jacobian = whiten @ chain.jacobian(q[None])[0]
        gradient = jacobian.T @ error
        free = ~(((q <= lower) & (gradient < 0)) | ((q >= upper) & (gradient > 0)))
        if not free.any() or cost < _GOOD:
            break
        j = jacobian[:, free]
        h = j.T @ j
        improved = False
        for _ in range(8):
            scale = damping * (np.diag(h).max() or 1.0)
            step = np.zeros_like(q)
            step[free] = np.linalg.solve(h + scale * np.eye(len(h)), gradient[free])
            trial = np.clip(q + step, lower, upper)
            trial_error = whiten @ _error(chain, pose, trial)
            trial_cost = float(np.linalg.norm(trial_error))
            if trial_cost < cost:
                improved = True
                break
            damping *= 10.0
        if not improved:
            break
        small = np.abs(trial - q).max() < 1e-14
        q, error, cost = trial, trial_error, trial_cost
        damping = max(damping * 0.05, 1e-14)
        if small:
            break
    return cost, q
