"""Where the gripper's tip is, and how the gripper is turned, in the frame of the tracked body.

A tracked body's origin lies somewhere between its markers, and its axes are those of the world at the moment
it was defined. Three ways lead to the tip: two turns on a gripped cylinder, a tip that rests in a dimple, or
a known pose.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.estimate import Estimate, Mask
from calibration.hinge import Hinge, fit_hinge, move_axis, turned
from calibration.pivot import fit_pivot_point, turning
from calibration.result import CalibrationFailure
from fitting import se3

Array = NDArray[np.float64]
Method = Literal["two-rotations", "pivoting", "known-pose"]


@dataclass(frozen=True)
class TipLimits:
    """What a tip calibration must reach; metres and radians."""

    min_samples: int = 30
    min_turn: float = float(np.radians(15.0))
    """Arc about each axis, below which play of the grip decides about the axis."""
    min_spread: float = 0.08
    """Pivoting: rms movement of the least moved direction (a unit vector), about ±8° of tilt."""
    min_axes_angle: float = float(np.radians(60.0))
    """Screws and handle are perpendicular on a gripper; far from it, one movement was about the wrong
    axis."""
    max_play: float = 0.003
    """Slow sideways movement of the axis (rms), above which the grip slipped."""
    max_tilt: float = float(np.radians(2.0))
    """Slow tilt of the axis (rms), above which the grip slipped."""
    max_wander: float = 0.002
    """Pivoting: slow movement of the tip (rms along its worst direction), above which it left its place."""
    max_lost_run: float = 0.2
    """Longest share of the take that may disagree with the rest at a stretch."""
    min_inliers: float = 0.55
    max_std: float = 0.002
    """Standard deviation of the tip, above which nothing can be built on it."""
    good_std: float = 0.0005
    """Standard deviation of the tip that the wizard aims at."""


LIMITS = TipLimits()


@dataclass(frozen=True)
class Tip:
    """The gripper's tip in the frame of the tracked body."""

    method: Method
    offset: Array
    """(3,) tip in the body frame, metres."""
    rotation: Array | None
    """(3, 3) gripper axes in the body frame as columns: x the screws, y the approach, z the handle. None by
    pivoting."""
    covariance: Array
    """Of the offset (m²), or 6×6 of the offset and a small rotation of the axes, both in body coordinates:
    true offset = offset + d, true rotation = exp(r) · rotation."""
    verdict: str
    """How good it is, in plain words."""
    inliers: tuple[Mask, ...]
    """For each movement, the samples that agree."""
    details: dict[str, float] = field(default_factory=dict)
    """Measured quantities behind the verdict: arcs, gap between the axes, play; SI units and radians."""

    @property
    def position_std(self) -> float:
        """Standard deviation of the offset in metres, root of the trace."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3])))

    @property
    def rotation_std(self) -> float | None:
        """Standard deviation of the axes in radians, root of the trace; None where the method gives no
        axes."""
        return None if self.rotation is None else float(np.sqrt(np.trace(self.covariance[3:, 3:])))

    def tip2body(self) -> Array:
        """Frame (4, 4) of the tip in the body; the body's own axes where the method gives none."""
        return se3.frame(self.rotation, self.offset)


def tip_by_two_rotations(
    about_screws: ArrayLike,
    about_handle: ArrayLike,
    *,
    near: ArrayLike | None = None,
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

    def tip_of(step: Array) -> tuple[Array, Array]:
        return _meet(
            move_axis(screws.model.axis2body, step[:4]), move_axis(handle.model.axis2body, step[4:]), signs
        )

    offset, rotation = tip_of(np.zeros(8))
    jacobian = np.zeros((6, 8))
    small = 1e-6
    for k, step in enumerate(small * np.eye(8)):
        ahead, behind = tip_of(step), tip_of(-step)
        jacobian[:3, k] = (ahead[0] - behind[0]) / (2 * small)
        jacobian[3:, k] = se3.rotation_log(ahead[1] @ behind[1].T) / (2 * small)
    axes = np.zeros((8, 8))
    axes[:4, :4], axes[4:, 4:] = screws.covariance[4:, 4:], handle.covariance[4:, 4:]
    covariance = jacobian @ axes @ jacobian.T

    details = {
        "turn_about_screws": turned(screws),
        "turn_about_handle": turned(handle),
        "angle_between_axes": between,
        "gap_between_axes": _gap(screws.model.axis2body, handle.model.axis2body),
        "play": max(_slow(screws)[1], _slow(handle)[1]),
    }
    tip = Tip("two-rotations", offset, rotation, covariance, "", (screws.inliers, handle.inliers), details)
    return _judged(tip, limits, "Turn further about both axes, in both directions")


def tip_by_pivoting(
    poses: ArrayLike, *, limits: TipLimits = LIMITS, rng: np.random.Generator | None = None
) -> Tip | CalibrationFailure:
    """Find the tip from poses (n, 4, 4) body-to-world taken while the tip rested in a dimple. Gives no
    axes."""
    rng = np.random.default_rng(0) if rng is None else rng
    taken = measured_poses(poses)
    if len(taken) < limits.min_samples:
        return _too_few(len(taken), "around the dimple", limits)
    advice = "With the tip at rest, tilt the gripper by 20° and more to all four sides, and turn it"
    if turning(taken)[0] < 0.3 * limits.min_spread:
        return _too_little_turning(taken, advice)
    estimate = fit_pivot_point(taken, rng)
    spread, _ = turning(taken[estimate.inliers])
    wander = float(np.sqrt(max(np.linalg.eigvalsh(estimate.slow_share)[-1], 0.0)))
    lost = longest_run(~estimate.inliers) / len(taken)
    share = float(np.mean(estimate.inliers))
    if lost > limits.max_lost_run or wander > limits.max_wander or share < limits.min_inliers:
        return CalibrationFailure(
            "tip-moved",
            f"The tip did not stay in its place: {100 * (1 - share):.0f} % of the samples disagree and "
            "the others wander by "
            f"{1e3 * wander:.1f} mm. Press the tip into a dimple that holds it, and pivot again.",
        )
    if spread < limits.min_spread:
        return _too_little_turning(taken[estimate.inliers], advice)
    details = {"spread": spread, "play": wander}
    tip = Tip(
        "pivoting", estimate.model.body, None, estimate.covariance[3:, 3:], "", (estimate.inliers,), details
    )
    return _judged(tip, limits, advice)


def measured_poses(poses: ArrayLike) -> Array:
    """Poses (n, 4, 4) without dropouts (rows with NaN or inf); ValueError for a wrong shape or a non-
    rotation."""
    taken = np.asarray(poses, dtype=float)
    if taken.ndim != 3 or taken.shape[1:] != (4, 4):
        raise ValueError(f"Poses have shape {taken.shape} instead of (n, 4, 4).")
    taken = taken[np.isfinite(taken).all(axis=(1, 2))]
    skewed = np.abs(np.swapaxes(taken[:, :3, :3], 1, 2) @ taken[:, :3, :3] - np.eye(3)).max(axis=(1, 2))
    bad = np.flatnonzero((skewed > 1e-3) | (np.linalg.det(taken[:, :3, :3]) < 0.0))
    if bad.size:
        raise ValueError(
            f"Pose {bad[0]} holds no rotation: its axes miss orthonormality by {skewed[bad[0]]:.3g}."
        )
    return np.asarray(taken)


def longest_run(flags: Mask) -> int:
    """Length of the longest stretch in which at least three of any four neighbours are set."""
    if len(flags) < 4:
        return int(np.count_nonzero(flags))
    dense = np.convolve(flags, np.ones(4), mode="same") >= 3.0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dense.astype(int), [0]])))
    return int(np.max(edges[1::2] - edges[::2])) if edges.size else 0


def _fit_turn(
    poses: Array, name: str, limits: TipLimits, rng: np.random.Generator
) -> Estimate[Hinge] | CalibrationFailure:
    if len(poses) < limits.min_samples:
        return _too_few(len(poses), name, limits)
    estimate = fit_hinge(poses, rng)
    arc = 0.0 if estimate is None else turned(estimate)
    too_little = CalibrationFailure(
        "too-little-rotation",
        f"The turn {name} covers only {np.degrees(arc):.0f}°, {np.degrees(limits.min_turn):.0f}° are needed. "
        "Turn as far as the grip allows, there and back.",
    )
    if estimate is None:
        return too_little
    tilt, shift = _slow(estimate)
    lost = longest_run(~estimate.inliers) / len(poses)
    share = float(np.mean(estimate.inliers))
    if (
        lost > limits.max_lost_run
        or shift > limits.max_play
        or tilt > limits.max_tilt
        or share < limits.min_inliers
    ):
        if arc < limits.min_turn and share > 0.8:
            return too_little
        return CalibrationFailure(
            "slipping-grip",
            f"The grip slipped in the turn {name}: {100 * (1 - share):.0f} % of the samples disagree, and "
            "the axis wanders by "
            f"{1e3 * shift:.1f} mm and {np.degrees(tilt):.1f}°. Clamp the gripper tighter and repeat this "
            "turn.",
        )
    return too_little if arc < limits.min_turn else estimate


def _slow(estimate: Estimate[Hinge]) -> tuple[float, float]:
    """Rms of the slow tilt (rad) and of the slow shift (m) along their worst directions."""
    parts = (estimate.slow_share[:2, :2], estimate.slow_share[2:, 2:])
    tilt, shift = (float(np.sqrt(max(np.linalg.eigvalsh(part)[-1], 0.0))) for part in parts)
    return tilt, shift


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


def _judged(tip: Tip, limits: TipLimits, advice: str) -> Tip | CalibrationFailure:
    std = tip.position_std
    if std > limits.max_std:
        return CalibrationFailure(
            "imprecise", f"The tip is known only to ± {1e3 * std:.1f} mm. {advice}, and record again."
        )
    words = f"Tip ± {1e3 * std:.2f} mm"
    if tip.rotation_std is not None:
        words += f", axes ± {np.degrees(tip.rotation_std):.2f}°"
    words += (
        "."
        if std <= limits.good_std
        else f"; {advice[0].lower()}{advice[1:]} to reach ± {1e3 * limits.good_std:.1f} mm."
    )
    return Tip(tip.method, tip.offset, tip.rotation, tip.covariance, words, tip.inliers, tip.details)


def _too_few(n: int, name: str, limits: TipLimits) -> CalibrationFailure:
    return CalibrationFailure(
        "too-few",
        f"Only {n} measured poses in the turn {name}, {limits.min_samples} are needed. "
        "Check with `ident check` that the body is tracked, and record again.",
    )


def _too_little_turning(poses: Array, advice: str) -> CalibrationFailure:
    spread, direction = turning(poses)
    x, y, z = direction
    return CalibrationFailure(
        "too-little-rotation",
        f"The body direction ({x:.1f}, {y:.1f}, {z:.1f}) moved by only {np.degrees(spread):.1f}° (rms), "
        "so the tip's place along it "
        f"is unknown. {advice}, and record again.",
    )
