"""Tip and axes by bringing the gripper into a frame that is known: a jig, or one that was probed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.play import settle
from calibration.rest import apply, deviations, drift, fit_rest
from calibration.result import CalibrationFailure
from calibration.tip import LIMITS, Tip, TipLimits, judged, longest_run, measured_poses, too_few
from fitting import se3

Array = NDArray[np.float64]


def tip_by_known_pose(
    poses: ArrayLike,
    known: ArrayLike,
    *,
    known_covariance: ArrayLike | None = None,
    seat: tuple[float, float] = (0.0, 0.0),
    limits: TipLimits = LIMITS,
) -> Tip | CalibrationFailure:
    """Find tip and axes from poses (n, 4, 4) body-to-world held while the gripper stood in a known frame.

    Parameters
    ----------
    known
        (4, 4) gripper-to-world: the tip at its origin, x along the screws, z along the handle.
    known_covariance
        (6, 6) of its shift (m) and small rotation (rad) in world axes; exact where not given.
    seat
        Standard deviations (m, rad), alike in all directions, of how the gripper lies in the jig from one time to
        the next. One hold cannot show it: compare the tips of several, or take the clearance of the jig.
    """
    taken = measured_poses(poses)
    target = measured_poses(np.asarray(known, dtype=float)[None])
    if len(target) == 0:
        raise ValueError("The known pose holds NaN or infinite numbers.")
    if len(taken) < limits.min_samples:
        return too_few(len(taken), "hold", limits)
    middle, samples = deviations(se3.inverse(taken) @ target[0])
    estimate = fit_rest(samples)
    lost = longest_run(~estimate.inliers) / len(taken)
    share = float(np.mean(estimate.inliers))
    shift, turn = (float(moved) for moved in drift(estimate))
    if (
        shift > limits.max_hold_shift
        or turn > limits.max_hold_turn
        or lost > limits.max_lost_run
        or share < limits.min_inliers
    ):
        return CalibrationFailure(
            "moved",
            f"The gripper moved while it should stand still: the tip by {1e3 * shift:.1f} mm and the axes by "
            f"{np.degrees(turn):.1f}°, and {100 * (1 - share):.0f} % of the samples disagree with the rest. "
            "Press it into the jig and hold it still for a second.",
        )
    rest, covariance = settle(estimate)
    tip2body = apply(middle, rest.mean)
    if known_covariance is not None:
        world2body = tip2body[:3, :3] @ target[0, :3, :3].T
        both = np.kron(np.eye(2), world2body)
        covariance = covariance + both @ np.asarray(known_covariance, dtype=float) @ both.T
    covariance = covariance + np.diag(np.repeat(np.square(seat), 3))
    tip = Tip(
        "known-pose",
        tip2body[:3, 3],
        tip2body[:3, :3],
        covariance,
        "",
        (estimate.inliers,),
        {"shift": shift, "turn": turn},
    )
    return judged(tip, limits, "Hold still for longer")
