"""Where the object stands: its root frame in the world, so that a model outlives a recalibration of the
cameras."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.play import settle
from calibration.rest import apply, deviations, drift, fit_rest
from calibration.result import CalibrationFailure
from calibration.tip import Tip, measured_poses
from fitting import se3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RegistrationLimits:
    """What probing and registration must reach; metres and radians."""

    min_samples: int = 30
    max_drift: float = 0.002
    """Slow movement of the tip while it should rest on a point."""
    max_turn: float = float(np.radians(1.0))
    """Slow turn of a tracked body that should stand still."""
    min_height: float = 0.03
    """Height of the flattest triangle of points that still fixes an orientation."""
    max_mismatch: float = 0.003
    """Difference between a distance in the model and the same distance now, beyond four standard
    deviations."""


REGISTRATION_LIMITS = RegistrationLimits()


@dataclass(frozen=True)
class ProbedPoint:
    """A point that was touched with the calibrated tip."""

    position: Array
    """(3,) in the world, metres."""
    noise: Array
    """(3, 3) covariance of the measurement alone."""
    body2world: Array
    """(3, 3) mean orientation of the tracked body while probing."""
    tip_covariance: Array
    """(3, 3) of the tip's offset in the body frame, common to all points probed with it."""

    @property
    def covariance(self) -> Array:
        """(3, 3) of the position with everything in it."""
        return np.asarray(self.noise + self.body2world @ self.tip_covariance @ self.body2world.T)


@dataclass(frozen=True)
class Registration:
    """The object's root frame in the world."""

    method: Literal["points", "body", "world"]
    root2world: Array
    """(4, 4)"""
    covariance: Array
    """(6, 6) of a shift (m) and a small rotation (rad) about the root's origin, in world axes."""
    points: Array
    """(k, 3) points in the root frame that can be measured again; none by body or world."""
    verdict: str


def probe_point(
    poses: ArrayLike, tip: Tip, *, limits: RegistrationLimits = REGISTRATION_LIMITS
) -> ProbedPoint | CalibrationFailure:
    """Average where the tip was while it rested on a point; poses (n, 4, 4) body-to-world. The gripper may
    turn."""
    taken = measured_poses(poses)
    if len(taken) < limits.min_samples:
        return _too_few(len(taken), limits)
    estimate = fit_rest(se3.transform(taken, tip.offset))
    moved = float(drift(estimate)[0])
    if moved > limits.max_drift or np.mean(estimate.inliers) < 0.6:
        return CalibrationFailure(
            "moved",
            f"The tip moved by {1e3 * moved:.1f} mm while it should rest on the point. "
            "Press it onto the point, hold it there for a second, and probe again.",
        )
    middle, _ = deviations(taken[estimate.inliers])
    rest, noise = settle(estimate)
    return ProbedPoint(rest.mean, noise, middle[:3, :3], tip.covariance[:3, :3])


def register_by_points(
    points: Sequence[ProbedPoint], *, limits: RegistrationLimits = REGISTRATION_LIMITS
) -> Registration | CalibrationFailure:
    """Define the root frame by three probed points: its origin, a point on its x-axis, one on the side of
    its y-axis."""
    if len(points) != 3:
        raise ValueError(f"A root frame needs three probed points, not {len(points)}.")
    positions = np.stack([p.position for p in points])
    refusal = _refuse_flat(positions, limits)
    if refusal is not None:
        return refusal
    root2world = _frame_of(positions)
    covariance = _propagated(_frame_of, positions, joint_covariance(points))
    marks = se3.transform(se3.inverse(root2world), positions)
    return Registration("points", root2world, covariance, marks, _words("three probed points", covariance))


def register_again(
    marks: ArrayLike, points: Sequence[ProbedPoint], *, limits: RegistrationLimits = REGISTRATION_LIMITS
) -> Registration | CalibrationFailure:
    """Find the root frame of a known object by probing its marked points again.

    Parameters
    ----------
    marks
        (k, 3) the points in the root frame, metres; at least three.
    points
        The same points, in the same order, as probed now.
    """
    known = np.asarray(marks, dtype=float)
    if known.shape != (len(points), 3) or len(points) < 3:
        raise ValueError(f"{len(points)} probed points need as many marks (k, 3), at least three, not {known.shape}.")
    positions = np.stack([p.position for p in points])
    refusal = _refuse_flat(known, limits) or _refuse_mismatch(known, positions, points, limits)
    if refusal is not None:
        return refusal

    def placed(measured: Array) -> Array:
        return _closest_frame(known, measured)

    covariance = _propagated(placed, positions, joint_covariance(points))
    words = _words(f"{len(points)} points probed again", covariance)
    return Registration("points", placed(positions), covariance, known, words)


def register_by_body(
    poses: ArrayLike, *, limits: RegistrationLimits = REGISTRATION_LIMITS
) -> Registration | CalibrationFailure:
    """Take a tracked body that is fixed to the object for its root; poses (n, 4, 4) body-to-world, at
    rest."""
    taken = measured_poses(poses)
    if len(taken) < limits.min_samples:
        return _too_few(len(taken), limits)
    middle, samples = deviations(taken)
    estimate = fit_rest(samples)
    shift, turn = (float(moved) for moved in drift(estimate))
    if shift > limits.max_drift or turn > limits.max_turn or np.mean(estimate.inliers) < 0.6:
        return CalibrationFailure(
            "moved",
            f"The object's body moved by {1e3 * shift:.1f} mm and {np.degrees(turn):.1f}°. "
            "Let the object stand still and register again.",
        )
    rest, covariance = settle(estimate)
    root2world = apply(middle, rest.mean)
    return Registration("body", root2world, covariance, np.zeros((0, 3)), _words("its tracked body", covariance))


def register_as_world() -> Registration:
    """Take the world for the root frame: exact, and worth nothing after the cameras were recalibrated."""
    words = "The root is the world itself: register by points or by a body before the cameras are recalibrated."
    return Registration("world", np.eye(4), np.zeros((6, 6)), np.zeros((0, 3)), words)


def replacement(old: Registration, new: Registration) -> Array:
    """Frame (4, 4) that takes world coordinates of the old registration to those of the new one."""
    return np.asarray(new.root2world @ se3.inverse(old.root2world))


def joint_covariance(points: Sequence[ProbedPoint]) -> Array:
    """(3k, 3k) of all positions: an error of the tip is common to the points, turned with the gripper."""
    turns = np.concatenate([p.body2world for p in points])
    covariance = turns @ points[0].tip_covariance @ turns.T
    for k, point in enumerate(points):
        covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += point.noise
    return np.asarray(covariance)


def _frame_of(positions: Array) -> Array:
    origin, along, side = positions
    x = (along - origin) / np.linalg.norm(along - origin)
    z = np.cross(x, side - origin)
    z = z / np.linalg.norm(z)
    return se3.frame(np.stack([x, np.cross(z, x), z], axis=1), origin)


def _closest_frame(marks: Array, positions: Array) -> Array:
    """Frame that takes the marks closest to the positions (Kabsch)."""
    middle, centre = marks.mean(axis=0), positions.mean(axis=0)
    left, _, right = np.linalg.svd((positions - centre).T @ (marks - middle))
    rotation = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    return se3.frame(rotation, centre - rotation @ middle)


def _propagated(placed: Callable[[Array], Array], positions: Array, covariance: Array) -> Array:
    small = 1e-6
    jacobian = np.zeros((6, positions.size))
    for k in range(positions.size):
        step = np.zeros(positions.size)
        step[k] = small
        ahead, behind = placed(positions + step.reshape(-1, 3)), placed(positions - step.reshape(-1, 3))
        jacobian[:3, k] = (ahead[:3, 3] - behind[:3, 3]) / (2 * small)
        jacobian[3:, k] = se3.rotation_log(ahead[:3, :3] @ behind[:3, :3].T) / (2 * small)
    return np.asarray(jacobian @ covariance @ jacobian.T)


def _refuse_flat(positions: Array, limits: RegistrationLimits) -> CalibrationFailure | None:
    centred = positions - positions.mean(axis=0)
    # The second singular value measures the width of the cloud; for three points it is close to half their
    # height.
    height = 2.0 * float(np.linalg.svd(centred, compute_uv=False)[1]) / np.sqrt(2.0)
    if height >= limits.min_height:
        return None
    return CalibrationFailure(
        "collinear",
        f"The points lie within {1e3 * height:.0f} mm of a line, {1e3 * limits.min_height:.0f} mm are "
        "needed: the turn about "
        "it stays open. Choose points that form a wide triangle.",
    )


def _refuse_mismatch(
    marks: Array, positions: Array, points: Sequence[ProbedPoint], limits: RegistrationLimits
) -> CalibrationFailure | None:
    worst: tuple[float, str] | None = None
    for a in range(len(marks)):
        for b in range(a):
            then = float(np.linalg.norm(marks[a] - marks[b]))
            now = float(np.linalg.norm(positions[a] - positions[b]))
            slack = 4.0 * np.sqrt(np.trace(points[a].covariance) + np.trace(points[b].covariance))
            excess = abs(then - now) - limits.max_mismatch - slack
            if excess > 0.0 and (worst is None or excess > worst[0]):
                text = (
                    f"Points {b + 1} and {a + 1} are {1e3 * then:.1f} mm apart in the model and {1e3 * now:.1f} mm now."
                )
                worst = excess, text
    if worst is None:
        return None
    return CalibrationFailure(
        "mismatch", f"{worst[1]} Probe the marked points in the order in which they are listed, and calibrate the tip."
    )


def _words(how: str, covariance: Array) -> str:
    shift, turn = np.sqrt(np.trace(covariance[:3, :3])), np.sqrt(np.trace(covariance[3:, 3:]))
    return f"Root by {how}: ± {1e3 * shift:.2f} mm, ± {np.degrees(turn):.2f}°."


def _too_few(n: int, limits: RegistrationLimits) -> CalibrationFailure:
    return CalibrationFailure(
        "too-few",
        f"Only {n} measured poses, {limits.min_samples} are needed. Check with `ident check` that the body is tracked.",
    )
