"""The tap test: how much later (or earlier) the motion capture stamps an event than the force sensor does.

Stamps cannot tell the constant part of a delay: the exposure, the sensor's filter, the shortest way through the
network. A knock can. While the gripper moves freely, the sensor feels the inertia of what hangs on it; when the
gripper hits the table, the force has a short pulse and the velocity jumps by its integral. So the position around
a knock is a linear function of the twice integrated force, shifted by the offset, plus a slow curve for what the
integration cannot know. The offset is where force and positions correlate best, over all knocks and axes at once;
neither the sensor's orientation nor any mass need be known.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from devices.errors import DeviceError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_NARROW_S = 0.06
"""Half window of the first search, in which the pulse alone explains the positions."""
_WIDE_S = 0.2
"""Half window of the fit."""
_DEGREE = 3
"""Degree of the slow curve."""
_APART_S = 0.15
"""Knocks closer together than this are one."""
_PULSE_S = 0.04
"""A knock's pulse lies within this time around its peak."""
_LEAST_FORCE_N = 5.0
_LEAST_POSES = 10
_COARSE_S = 0.002
_REACH_S = 0.006
_FINE_S = 0.0005
_LEAST_EXPLAINED = 0.8
_HELP = (
    "Hold the gripper as when measuring, hit the table with it twenty times within view of the cameras, at least half "
    "a second apart and without turning it, then run `ident check --latency` again."
)


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """The constant offset between the two streams."""

    offset_ns: int
    """What to add to the wrench times so that they agree with the pose times."""
    sigma_ns: int
    """Standard deviation of the offset."""
    taps: int
    """Number of knocks used."""
    explained: float
    """Share of the positions' departure from a slow curve that the force explains, 0 to 1."""
    rms_m: float
    """What it leaves unexplained, metres per axis."""


@dataclass(frozen=True, slots=True)
class _Knock:
    """One knock: its pulse of force and the free movement around it, integrated twice."""

    t_s: float
    """Seconds, where the pulse is strongest."""
    pulse_s: Floats
    """(k,) seconds from the pulse's beginning to its end."""
    pulse: Floats
    """(k,) the pulse along its own direction, integrated twice."""
    pulse_speed: float
    """Its single integral over the whole pulse."""
    free_s: Floats
    """(m,) seconds around the knock."""
    free: Floats
    """(m, 3) the force outside the pulse, integrated twice."""

    def pulse_at(self, t_s: Floats) -> Floats:
        """Return (n,) the twice integrated pulse: nothing before it, a straight line after it."""
        after = np.clip(t_s - self.pulse_s[-1], 0.0, None)
        value: Floats = np.interp(t_s, self.pulse_s, self.pulse) + self.pulse_speed * after
        return value

    def free_at(self, t_s: Floats) -> Floats:
        """Return (n, 3) the twice integrated force outside the pulse."""
        return np.column_stack([np.interp(t_s, self.free_s, axis) for axis in self.free.T])


def tap_offset(
    pose_t_ns: Ints, positions: Floats, wrench_t_ns: Ints, forces: Floats, *, max_offset_s: float = 0.1
) -> LatencyResult:
    """Return the offset between poses and wrenches from a few knocks of the gripper on something hard.

    ``positions`` are (n, 3) metres at ``pose_t_ns``, measured poses only; ``forces`` are (m, 3) newtons in the
    sensor's frame at ``wrench_t_ns``. Both times are host nanoseconds, ascending. Raises :class:`DeviceError`
    where no knock can be seen. Ten knocks at 120 Hz with 0.4 mm of noise give 0.2 ms.
    """
    if len(pose_t_ns) < _LEAST_POSES or len(wrench_t_ns) < _LEAST_POSES:
        raise DeviceError(
            f"The tap test needs poses and forces, but got {len(pose_t_ns)} and {len(wrench_t_ns)}. {_HELP}"
        )
    zero_ns = int(wrench_t_ns[0])
    pose_s = (np.asarray(pose_t_ns, dtype=np.int64) - zero_ns) / 1e9
    wrench_s = (np.asarray(wrench_t_ns, dtype=np.int64) - zero_ns) / 1e9
    positions = np.asarray(positions, dtype=np.float64)
    margin_s = _WIDE_S + max_offset_s
    knocks = [
        knock
        for knock in _find_knocks(wrench_s, np.asarray(forces, dtype=np.float64))
        if pose_s[0] + margin_s < knock.t_s < pose_s[-1] - margin_s
    ]
    if not knocks:
        raise DeviceError(f"No knock was found that the poses cover from before to after. {_HELP}")

    grid = np.arange(-max_offset_s, max_offset_s + _COARSE_S / 2, _COARSE_S)
    scores = [sum(_explained_by_pulse(k, pose_s, positions, d) for k in knocks) for d in grid]
    coarse = float(grid[int(np.argmax(scores))])
    unexplained = partial(_unexplained, knocks, pose_s, positions, coarse)
    fine = coarse + np.arange(-_REACH_S, _REACH_S + _FINE_S / 2, _FINE_S)
    near = float(fine[int(np.argmin([unexplained(d) for d in fine]))])
    best = float(
        minimize_scalar(
            unexplained, bounds=(near - _FINE_S, near + _FINE_S), method="bounded", options={"xatol": 1e-6}
        ).x
    )
    left, whole, poses = unexplained(best), *_departure(knocks, pose_s, positions, coarse)
    explained = 1.0 - left / max(whole, 1e-30)
    if explained < _LEAST_EXPLAINED or abs(best - coarse) > _REACH_S:
        raise DeviceError(
            f"The knocks do not show in the poses within ±{max_offset_s * 1e3:.0f} ms of their force "
            f"({explained:.0%} explained, {_LEAST_EXPLAINED:.0%} needed). {_HELP}"
        )
    freedom = max(3 * poses - len(knocks) * 3 * (_DEGREE + 2) - 10, 1)
    bend = (unexplained(best + _FINE_S) - 2.0 * left + unexplained(best - _FINE_S)) / _FINE_S**2
    sigma_s = np.sqrt(2.0 * left / freedom / bend) if bend > 0.0 else max_offset_s
    return LatencyResult(
        round(best * 1e9), round(sigma_s * 1e9), len(knocks), explained, float(np.sqrt(left / freedom))
    )


def _find_knocks(t_s: Floats, forces: Floats) -> list[_Knock]:
    """Return the pulses of force, each with its surroundings."""
    rest = np.median(forces, axis=0)
    strength = np.linalg.norm(forces - rest, axis=1)
    threshold = max(_LEAST_FORCE_N, 0.4 * float(strength.max()))
    knocks: list[_Knock] = []
    last_s = -np.inf
    for first in np.flatnonzero(strength > threshold):
        if t_s[first] < last_s + _APART_S:
            continue
        near = (t_s >= t_s[first]) & (t_s <= t_s[first] + _PULSE_S)
        peak = int(np.flatnonzero(near)[np.argmax(strength[near])])
        last_s = float(t_s[peak])
        knock = _knock(t_s, forces - rest, peak)
        if knock is not None:
            knocks.append(knock)
    return knocks


def _knock(t_s: Floats, forces: Floats, peak: int) -> _Knock | None:
    """Cut out one knock; None where its surroundings are missing."""
    reach_s = _WIDE_S + 2.0 * _REACH_S
    if t_s[peak] - reach_s < t_s[0] or t_s[peak] + reach_s > t_s[-1]:
        return None
    around = np.abs(t_s - t_s[peak])
    inside = np.flatnonzero(around <= _PULSE_S)
    before = (around < 2.0 * _PULSE_S) & (around > _PULSE_S) & (t_s < t_s[peak])
    if before.sum() < 2 or len(inside) < 5:
        return None
    deviation = forces[inside] - forces[before].mean(axis=0)
    direction = np.linalg.svd(deviation, full_matrices=False)[2][0]
    along = deviation @ direction
    top = int(np.argmax(np.abs(along)))
    along = along * np.sign(along[top])
    weak = np.flatnonzero(along < 0.05 * along[top])
    begin = inside[int(weak[weak < top].max(initial=0))]
    end = inside[int(weak[weak > top].min(initial=len(along) - 1))]
    pulse_s = t_s[begin : end + 1]
    speed, pulse = _integrated(pulse_s, np.clip(along[begin - inside[0] : end + 1 - inside[0]], 0.0, None)[:, None])
    wide = slice(*np.searchsorted(t_s, [t_s[peak] - reach_s, t_s[peak] + reach_s]))
    outside = (t_s[wide] < t_s[begin]) | (t_s[wide] > t_s[end])
    _, free = _integrated(t_s[wide], np.where(outside[:, None], forces[wide], 0.0))
    return _Knock(float(t_s[peak]), pulse_s, pulse[:, 0], float(speed[-1, 0]), t_s[wide], free)


def _integrated(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the single and the double integral of (n, k) values that are linear between their samples."""
    steps = np.diff(t_s)[:, None]
    start = np.zeros((1, values.shape[1]))
    once = np.concatenate([start, np.cumsum(0.5 * (values[1:] + values[:-1]) * steps, axis=0)])
    rise = once[:-1] * steps + steps**2 * (2.0 * values[:-1] + values[1:]) / 6.0
    return once, np.concatenate([start, np.cumsum(rise, axis=0)])


def _detrend(basis: Floats, values: Floats) -> Floats:
    """Return what is left of (n, k) values after the best combination of the basis's columns."""
    q, _ = np.linalg.qr(basis)
    return values - q @ (q.T @ values)


def _window(pose_s: Floats, centre_s: float, half_s: float) -> slice:
    first, stop = np.searchsorted(pose_s, [centre_s - half_s, centre_s + half_s])
    return slice(int(first), int(stop))


def _slow_curve(t_s: Floats, centre_s: float, half_s: float) -> Floats:
    return np.vander((t_s - centre_s) / half_s, _DEGREE + 1)


def _explained_by_pulse(knock: _Knock, pose_s: Floats, positions: Floats, offset_s: float) -> float:
    """Return how much of the departure from a slow curve the pulse alone explains (m²)."""
    centre_s = knock.t_s + offset_s
    near = _window(pose_s, centre_s, _NARROW_S)
    if near.stop - near.start < _LEAST_POSES:
        return 0.0
    slow = _slow_curve(pose_s[near], centre_s, _NARROW_S)
    shape = _detrend(slow, knock.pulse_at(pose_s[near] - offset_s)[:, None])
    power = float((shape**2).sum())
    return float(((shape.T @ _detrend(slow, positions[near])) ** 2).sum()) / power if power > 0.0 else 0.0


def _departure(knocks: list[_Knock], pose_s: Floats, positions: Floats, offset_s: float) -> tuple[float, int]:
    """Return the sum of squares by which positions depart from slow curves (m²), and the number of poses."""
    whole, poses = 0.0, 0
    for knock in knocks:
        near = _window(pose_s, knock.t_s + offset_s, _WIDE_S)
        slow = _slow_curve(pose_s[near], knock.t_s + offset_s, _WIDE_S)
        whole += float((_detrend(slow, positions[near]) ** 2).sum())
        poses += near.stop - near.start
    return whole, poses


def _unexplained(knocks: list[_Knock], pose_s: Floats, positions: Floats, centre_s: float, offset_s: float) -> float:
    """Return the sum of squares (m²) that force, shifted by an offset, leaves of the positions.

    Each knock has its own slow curve and its own strength of the pulse, as the hand holds differently each time;
    the map from the force in free movement to acceleration belongs to the gripper, and is the same for all.
    """
    places, pulls = [], []
    for knock in knocks:
        near = _window(pose_s, knock.t_s + centre_s, _WIDE_S)
        t_s = pose_s[near]
        pulse = knock.pulse_at(t_s - offset_s)
        basis = np.column_stack(
            [_slow_curve(t_s, knock.t_s + centre_s, _WIDE_S), pulse / np.abs(pulse).max(initial=1e-12)]
        )
        places.append(_detrend(basis, positions[near]))
        pulls.append(_detrend(basis, knock.free_at(t_s - offset_s)))
    place, pull = np.concatenate(places), np.concatenate(pulls)
    # Directions in which the free force hardly varies say nothing, and must not be amplified.
    map_to_place = np.linalg.lstsq(pull, place, rcond=1e-3)[0]
    return float(((place - pull @ map_to_place) ** 2).sum())
