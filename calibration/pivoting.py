"""Tip by pivoting: it rests in a dimple while the gripper is moved around."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.estimate import trend
from calibration.pivot import fit_pivot_point, turning
from calibration.play import settle
from calibration.result import CalibrationFailure
from calibration.tip import LIMITS, Tip, TipLimits, judged, longest_run, measured_poses, too_few

Array = NDArray[np.float64]


def tip_by_pivoting(
    poses: ArrayLike, *, limits: TipLimits = LIMITS, rng: np.random.Generator | None = None
) -> Tip | CalibrationFailure:
    """Find the tip from poses (n, 4, 4) body-to-world taken while the tip rested in a dimple. Gives no
    axes."""
    rng = np.random.default_rng(0) if rng is None else rng
    taken = measured_poses(poses)
    if len(taken) < limits.min_samples:
        return too_few(len(taken), "around the dimple", limits)
    advice = "With the tip at rest, tilt the gripper by 20° and more to all four sides, and turn it"
    if turning(taken)[0] < 0.3 * limits.min_spread:
        return _too_little_turning(taken, advice)
    estimate = fit_pivot_point(taken, rng)
    spread, _ = turning(taken[estimate.inliers])
    wander = float(np.sqrt(max(np.linalg.eigvalsh(estimate.slow_share)[-1], 0.0)))
    drifted = float(np.linalg.norm(trend(estimate), axis=1).max())
    lost = longest_run(~estimate.inliers) / len(taken)
    share = float(np.mean(estimate.inliers))
    moved = lost > limits.max_lost_run or share < limits.min_inliers
    if moved or wander > limits.max_wander or drifted > limits.max_trend:
        return CalibrationFailure(
            "tip-moved",
            f"The tip did not stay in its place: {100 * (1 - share):.0f} % of the samples disagree and "
            "the others wander by "
            f"{1e3 * max(wander, drifted):.1f} mm. Press the tip into a dimple that holds it, and pivot "
            "again.",
        )
    if spread < limits.min_spread:
        return _too_little_turning(taken[estimate.inliers], advice)
    details = {"spread": spread, "play": wander}
    pivot, covariance = settle(estimate)
    tip = Tip("pivoting", pivot.body, None, covariance[3:, 3:], "", (estimate.inliers,), details)
    return judged(tip, limits, advice)


def _too_little_turning(poses: Array, advice: str) -> CalibrationFailure:
    spread, direction = turning(poses)
    x, y, z = direction
    return CalibrationFailure(
        "too-little-rotation",
        f"The body direction ({x:.1f}, {y:.1f}, {z:.1f}) moved by only {np.degrees(spread):.1f}° (rms), "
        "so the tip's place along it "
        f"is unknown. {advice}, and record again.",
    )
