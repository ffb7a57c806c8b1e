"""Tip and axes from two turns on a gripped cylinder: about the clamping screws and about the cylinder
itself."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.estimate import Estimate, trend
from calibration.hinge import Hinge, fit_hinge, move_axis, turned
from calibration.play import settle
from calibration.result import CalibrationFailure
from calibration.tip import LIMITS, Tip, TipLimits, judged, longest_run, measured_poses, too_few
from fitting import se3

Array = NDArray[np.float64]

_REACH = 0.6
"""Metres along an axis within which the grip must be, seen from the middle of the markers."""


def tip_by_two_rotations(
    about_screws: ArrayLike,
    about_handle: ArrayLike,
    *,
    near: ArrayLike | None = None,
    seat: tuple[float, float] = (0.0, 0.0),
    limits: TipLimits = LIMITS,
    rng: np.random.Generator | None = None,
) -> Tip | CalibrationFailure:
    """Find tip and axes from a turn about the clamping screws and one about the gripped cylinder.

    Parameters
    ----------
    about_screws, about_handle
        Poses (n, 4, 4) body-to-world, metres; rows with NaN are dropouts and are left out.
    near
        Approximate gripper axes in the body frame (3, 3), for example of an older calibration. An axis has
        no sign of its own; with ``near`` the signs are those nearest to it. Without it, the approach y
        points from the body's origin towards the tip, and the largest component of z is positive.
    seat
        Standard deviations (m, rad) of how the bar lies in the gripper's groove from grip to grip. One grip
        cannot show it; what is known of the gripper is added to the covariance.

    The tip is the middle between the closest points of the two axes.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    hinges: list[Estimate[Hinge]] = []
    for poses, name in ((about_screws, "about the screws"), (about_handle, "about the handle")):
        hinge = _fit_turn(measured_poses(poses), name, limits, rng)
        if isinstance(hinge, CalibrationFailure):
            return hinge
        hinges.append(hinge)
    screws, handle = hinges

    cosine = abs(float(screws.model.axis2body[:3, 2] @ handle.model.axis2body[:3, 2]))
    between = float(np.arccos(min(cosine, 1.0)))
    if between < limits.min_axes_angle:
        return CalibrationFailure(
            "parallel-axes",
            f"The two axes are only {np.degrees(between):.0f}° apart instead of 90°. Turn first about the "
            "clamping "
            "screws, then about the handle, and record both again.",
        )
    signs = _signs(screws.model.axis2body, handle.model.axis2body, near)
    # The grip plays at the tip: there its shift and its tilt are independent.
    middle, _ = _meet(screws.model.axis2body, handle.model.axis2body, signs)
    about_x, of_x = settle(replace(screws, model=screws.model.near(middle)))
    about_z, of_z = settle(replace(handle, model=handle.model.near(middle)))

    def tip_of(step: Array) -> tuple[Array, Array]:
        return _meet(move_axis(about_x.axis2body, step[:4]), move_axis(about_z.axis2body, step[4:]), signs)

    offset, rotation = tip_of(np.zeros(8))
    jacobian = np.zeros((6, 8))
    small = 1e-6
    for k, step in enumerate(small * np.eye(8)):
        ahead, behind = tip_of(step), tip_of(-step)
        jacobian[:3, k] = (ahead[0] - behind[0]) / (2 * small)
        jacobian[3:, k] = se3.rotation_log(ahead[1] @ behind[1].T) / (2 * small)
    axes = np.zeros((8, 8))
    axes[:4, :4], axes[4:, 4:] = of_x[4:, 4:], of_z[4:, 4:]
    covariance = jacobian @ axes @ jacobian.T
    # A shift of the bar along x moves the tip by all of it, along y by half (the middle); tilts do likewise.
    lying = rotation @ np.diag([1.0, 0.25, 0.0]) @ rotation.T
    covariance[:3, :3] += seat[0] ** 2 * lying
    covariance[3:, 3:] += seat[1] ** 2 * lying

    details = {
        "turn_about_screws": turned(screws),
        "turn_about_handle": turned(handle),
        "angle_between_axes": between,
        "gap_between_axes": _gap(about_x.axis2body, about_z.axis2body),
        "play": max(_slow(screws)[1], _slow(handle)[1]),
    }
    tip = Tip("two-rotations", offset, rotation, covariance, "", (screws.inliers, handle.inliers), details)
    return judged(tip, limits, "Turn further about both axes, in both directions")


def _fit_turn(
    poses: Array, name: str, limits: TipLimits, rng: np.random.Generator
) -> Estimate[Hinge] | CalibrationFailure:
    if len(poses) < limits.min_samples:
        return too_few(len(poses), name, limits)
    estimate = fit_hinge(poses, rng)
    arc = 0.0 if estimate is None else turned(estimate)
    too_little = CalibrationFailure(
        "too-little-rotation",
        f"The turn {name} covers only {np.degrees(arc):.0f}°, {np.degrees(limits.min_turn):.0f}° are needed. "
        "Turn as far as the grip allows, there and back.",
    )
    if estimate is None:
        return too_little
    (tilt, shift), (tilted, shifted) = _slow(estimate), _trend(estimate)
    lost = longest_run(~estimate.inliers) / len(poses)
    share = float(np.mean(estimate.inliers))
    slipped = lost > limits.max_lost_run or share < limits.min_inliers
    slipped |= shift > limits.max_play or tilt > limits.max_tilt
    slipped |= shifted > limits.max_trend or tilted > limits.max_trend_turn
    if slipped:
        if arc < limits.min_turn and share > 0.8:
            return too_little
        return CalibrationFailure(
            "slipping-grip",
            f"The grip slipped in the turn {name}: {100 * (1 - share):.0f} % of the samples disagree, and "
            "the axis wanders by "
            f"{1e3 * max(shift, shifted):.1f} mm and {np.degrees(max(tilt, tilted)):.1f}°. Clamp the "
            "gripper tighter and repeat this "
            "turn.",
        )
    return too_little if arc < limits.min_turn else estimate


def _slow(estimate: Estimate[Hinge]) -> tuple[float, float]:
    """Rms of the slow tilt (rad) and of the slow shift (m) along their worst directions, at the grip."""
    there = _at_grip(estimate)
    slow = there @ estimate.slow_share @ there.T
    tilt, shift = (float(np.sqrt(max(np.linalg.eigvalsh(part)[-1], 0.0))) for part in (slow[:2, :2], slow[2:, 2:]))
    return tilt, shift


def _trend(estimate: Estimate[Hinge]) -> tuple[float, float]:
    """Tilt (rad) and shift (m) over the whole take, at the grip."""
    moved = trend(estimate) @ _at_grip(estimate).T
    return float(np.linalg.norm(moved[:, :2], axis=1).max()), float(np.linalg.norm(moved[:, 2:], axis=1).max())


def _at_grip(estimate: Estimate[Hinge]) -> Array:
    """Matrix (4, 4) that takes residuals to that place on the axis about which the play tilts: the grip.

    Elsewhere on the axis, each degree of harmless tilt would look like a slip of millimetres.
    """
    slow = estimate.slow_share
    width = float(np.trace(slow[:2, :2]))
    along = -float(np.trace(slow[:2, 2:])) / width if width > 0.0 else 0.0
    matrix = np.eye(4)
    matrix[2:, :2] = np.clip(along, -_REACH, _REACH) * np.eye(2)
    return matrix


def _closest(screws: Array, handle: Array) -> tuple[Array, Array]:
    """Points of the two axes (z of the frames) that are closest to each other."""
    p, a, q, b = screws[:3, 3], screws[:3, 2], handle[:3, 3], handle[:3, 2]
    along = np.linalg.lstsq(np.stack([a, -b], axis=1), q - p, rcond=None)[0]
    return p + along[0] * a, q + along[1] * b


def _gap(screws: Array, handle: Array) -> float:
    on_screws, on_handle = _closest(screws, handle)
    return float(np.linalg.norm(on_screws - on_handle))


def _meet(screws: Array, handle: Array, signs: tuple[float, float]) -> tuple[Array, Array]:
    """Tip and gripper axes; what the axes miss to 90° is shared equally between them."""
    x, z = signs[0] * screws[:3, 2], signs[1] * handle[:3, 2]
    y = np.cross(z, x)
    y = y / np.linalg.norm(y)
    forward, backward = (x + z) / np.linalg.norm(x + z), (x - z) / np.linalg.norm(x - z)
    rotation = np.stack([(forward + backward) / np.sqrt(2), y, (forward - backward) / np.sqrt(2)], axis=1)
    return np.mean(_closest(screws, handle), axis=0), rotation


def _signs(screws: Array, handle: Array, near: ArrayLike | None) -> tuple[float, float]:
    x, z = screws[:3, 2], handle[:3, 2]
    if near is not None:
        hint = np.asarray(near, dtype=float)
        return (1.0 if x @ hint[:, 0] >= 0 else -1.0), (1.0 if z @ hint[:, 2] >= 0 else -1.0)
    sign_z = float(np.sign(z[np.argmax(np.abs(z))]))
    towards = float(np.cross(sign_z * z, x) @ np.mean(_closest(screws, handle), axis=0))
    return (1.0 if towards >= 0 else -1.0), sign_z
