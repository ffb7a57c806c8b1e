"""Inner loops of the joints that are fitted to whole poses.

One family covers them all: a body that starts at (R0, p0) turns by θ about an axis and slides by s along it,

    R = A·R0,   p = c + A·(p0 − c) + s·a,   A = exp(θ·a).

A rotary joint only turns, a prismatic one only slides, a cylindrical one does both freely, a screw slides by
pitch·θ. θ and s belong to one sample each and are eliminated from the equations of the others.

Seen in a frame whose last direction is the axis, A is a turn in a plane, and each derivative a few products of cos θ
and sin θ. Samples are taken in groups, one in each lane of a table, so that the processor works on several at once.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.columns import PITCH, PLACE, SHIFT, SIZE, TILT, TURN
from fitting.compiled import compiled, summed
from fitting.dense import completed, cosine_and_sine, direction
from fitting.kernels import places_of
from fitting.result import Mask
from fitting.se3 import Array

_LANES = 64
_CHANNELS = 6
_XX, _XY, _XZ, _YX, _YY, _YZ, _ZX, _ZY, _ZZ, _PX, _PY, _PZ = (row * _LANES for row in range(12))
"""Rows of the poses of a group, in the frame: turn from the start, place from the centre. Tables are flat: only so does
the compiler see that their rows are apart."""
_THETA, _SLIDE, _PLACE_ROOT, _TURN_ROOT, _SLIDES, _COSINE, _SINE = (row * _LANES for row in range(7))
_X, _Y, _Z, _RX, _RY, _RZ = (row * _LANES for row in range(7, 13))
"""Rows of what is computed for it: coordinates, roots of the weights of position and orientation, whether it may slide
along the axis, cosine and sine of θ; residuals of position and of orientation."""
_SMALLEST = 1e-12
"""Metres: arms below this have no direction."""
_NOTHING = 1e-150


@compiled
def linearised(
    frame: Array,
    center: Array,
    pitch: float,
    turns: bool,
    slides: Mask,
    R0: Array,
    p0: Array,
    columns: Array,
    first: int,
    q: Array,
    wp: Array,
    wo: Array,
    active: Mask,
    H: Array,
    g: Array,
    residuals: Array,
    blocks: Array,
    information: Array,
) -> float:
    """Cost of one take; its Gauss–Newton matrix H (11, 11), gradient g (11,) and residuals (n, 6) are filled in.

    frame: (3, 3) columns basis[0], basis[1], axis; slides: (n,) samples that may slide along the axis; columns: (12, …)
    rotations and positions, the take's from ``first`` on; q: (n, 2) θ and s, improved in place by one Newton step; wp,
    wo: (n,) inverse variances of position (m) and orientation (rad), zero for what is not used; active: (11,) columns
    that are wanted. blocks (b, 6, 13), unless b is zero: gets the sums over blocks of time of the derivatives and, in
    the last columns, of the residuals and their squares, all in units of the noise, by the channels of ``_derived``;
    information (6, 11, 11): the sums of products of the derivatives by these channels.
    """
    n = len(q)
    H[:] = 0.0
    g[:] = 0.0
    cost = 0.0
    seen, arm = _seen_from(frame, R0), _arm(frame, center, p0)
    poses, table = np.zeros(_PZ + _LANES), np.zeros(_RZ + _LANES)
    # Those of a coordinate of the sample are the last.
    derivatives = np.zeros((SIZE + 1) * _CHANNELS * _LANES)
    channels, wanted = _CHANNELS - 1 if turns else _CHANNELS, places_of(active)
    for start in range(0, n, _LANES):
        count = min(_LANES, n - start)
        _gathered(seen, frame, center, columns, first + start, count, poses)
        for i in range(_LANES):
            inside = i < count
            k = start + i if inside else start
            table[_THETA + i], table[_SLIDE + i] = q[k, 0], q[k, 1]
            table[_PLACE_ROOT + i], table[_TURN_ROOT + i] = math.sqrt(wp[k]) * inside, math.sqrt(wo[k]) * inside
            table[_SLIDES + i] = 1.0 if slides[k] else 0.0
        _compared(poses, arm, pitch, table)
        _newton(arm, pitch, turns, table)
        _compared(poses, arm, pitch, table)
        _told(frame, table, residuals[start : start + count])
        for i in range(count):
            q[start + i, 0], q[start + i, 1] = table[_THETA + i], table[_SLIDE + i]
        cost += _derived(arm, pitch, table, derivatives)
        _summed_up(derivatives, channels, wanted, H, g)
        if blocks.shape[0] > 0:
            _collected(derivatives, active, start, count, n, blocks, information)
    for c in range(SIZE):
        for d in range(c):
            H[d, c] = H[c, d]
    return cost


@compiled
def best_coordinates(
    axis: Array,
    center: Array,
    pitch: float,
    turns: bool,
    slides: bool,
    R0: Array,
    p0: Array,
    columns: Array,
    wp: float,
    wo: float,
) -> tuple[Array, Array]:
    """Coordinates (n, 2) that explain each sample best, and the residuals (n, 6) that stay; columns: (12, n)."""
    n, frame = columns.shape[1], completed(axis)
    q, residuals = np.empty((n, 2)), np.empty((n, 6))
    seen, arm = _seen_from(frame, R0), _arm(frame, center, p0)
    poses, table = np.zeros(_PZ + _LANES), np.zeros(_RZ + _LANES)
    for i in range(_LANES):
        table[_PLACE_ROOT + i], table[_TURN_ROOT + i] = math.sqrt(wp), math.sqrt(wo)
        table[_SLIDES + i] = 1.0 if slides else 0.0
    for start in range(0, n, _LANES):
        count = min(_LANES, n - start)
        _gathered(seen, frame, center, columns, start, count, poses)
        for i in range(_LANES):
            # The turn about the axis, whatever else is in it.
            twist = 2.0 * direction(
                poses[_YX + i] - poses[_XY + i],
                1.0 + poses[_XX + i] + poses[_YY + i] + poses[_ZZ + i],
            )
            table[_THETA + i] = twist if turns else 0.0
            table[_SLIDE + i] = poses[_PZ + i] - arm[2] if slides else 0.0
        for _ in range(2):
            _compared(poses, arm, pitch, table)
            _newton(arm, pitch, turns, table)
        _compared(poses, arm, pitch, table)
        _told(frame, table, residuals[start : start + count])
        for i in range(count):
            q[start + i, 0], q[start + i, 1] = table[_THETA + i], table[_SLIDE + i]
    return q, residuals


@summed
def each_alone(axis: Array, center: Array, p0: Array, columns: Array, residuals: Array) -> Array:
    """Residuals (n, 6) of positions and of orientations, each for itself, of a turning joint: what no angle explains.

    columns: (12, n); residuals: (n, 6) of whole poses.
    """
    n, out, frame = columns.shape[1], np.empty(residuals.shape), completed(axis)
    arm = _arm(frame, center, p0)
    radius, height = math.sqrt(arm[0] ** 2 + arm[1] ** 2), arm[2]
    for i in range(n):
        x, y, z = columns[9, i] - center[0], columns[10, i] - center[1], columns[11, i] - center[2]
        along = x * axis[0] + y * axis[1] + z * axis[2]
        u, v, w = x - along * axis[0], y - along * axis[1], z - along * axis[2]
        off = 1.0 - radius / max(math.sqrt(u * u + v * v + w * w), _SMALLEST)
        rise = along - height
        out[i, 0], out[i, 1], out[i, 2] = off * u + rise * axis[0], off * v + rise * axis[1], off * w + rise * axis[2]
        spin = residuals[i, 3] * axis[0] + residuals[i, 4] * axis[1] + residuals[i, 5] * axis[2]
        for r in range(3):
            out[i, 3 + r] = residuals[i, 3 + r] - spin * axis[r]
    return out


@compiled
def _arm(frame: Array, center: Array, p0: Array) -> Array:
    """From the centre to the start (3,), in the frame."""
    out = np.zeros(3)
    for c in range(3):
        for r in range(3):
            out[c] += frame[r, c] * (p0[r] - center[r])
    return out


@compiled
def _seen_from(frame: Array, R0: Array) -> Array:
    """What makes of the elements of R those of R·R0ᵀ in the frame (9, 9)."""
    out = np.empty((9, 9))
    for r in range(3):
        for c in range(3):
            for i in range(3):
                for j in range(3):
                    turned = R0[0, j] * frame[0, c] + R0[1, j] * frame[1, c] + R0[2, j] * frame[2, c]
                    out[3 * r + c, 3 * i + j] = frame[i, r] * turned
    return out


@summed
def _gathered(seen: Array, frame: Array, center: Array, columns: Array, first: int, count: int, poses: Array) -> None:
    """Turns from the start (9) and places from the centre (3) of samples, in the frame, into the lanes of ``poses``."""
    for r in range(9):
        for i in range(count):
            total = 0.0
            for c in range(9):
                total += seen[r, c] * columns[c, first + i]
            poses[r * _LANES + i] = total
    for r in range(3):
        for i in range(count):
            total = 0.0
            for c in range(3):
                total += frame[c, r] * (columns[9 + c, first + i] - center[c])
            poses[_PX + r * _LANES + i] = total


@summed
def _compared(poses: Array, arm: Array, pitch: float, table: Array) -> None:
    """Fill in cosines, sines and residuals for the coordinates in the table."""
    x0, y0, height = arm[0], arm[1], arm[2]
    for i in range(_LANES):
        theta = table[_THETA + i]
        c, s = cosine_and_sine(theta)
        table[_COSINE + i], table[_SINE + i] = c, s
        table[_X + i] = poses[_PX + i] - (c * x0 - s * y0)
        table[_Y + i] = poses[_PY + i] - (s * x0 + c * y0)
        table[_Z + i] = poses[_PZ + i] - height - (table[_SLIDE + i] + pitch * theta)
        # The turn that is left, and its rotation vector.
        x = s * poses[_ZX + i] + c * poses[_ZY + i] - poses[_YZ + i]
        y = poses[_XZ + i] - c * poses[_ZX + i] + s * poses[_ZY + i]
        z = c * (poses[_YX + i] - poses[_XY + i]) - s * (poses[_XX + i] + poses[_YY + i])
        trace = c * (poses[_XX + i] + poses[_YY + i]) + s * (poses[_YX + i] - poses[_XY + i]) + poses[_ZZ + i]
        sine = 0.5 * math.sqrt(x * x + y * y + z * z)
        # Near half a turn the direction is lost, but the sample is an outlier anyway: only its size matters.
        angle = direction(sine, 0.5 * (trace - 1.0))
        factor = 0.5 if sine < 1e-12 else 0.5 * angle / max(sine, 1e-12)
        table[_RX + i], table[_RY + i], table[_RZ + i] = x * factor, y * factor, z * factor


@summed
def _newton(arm: Array, pitch: float, turns: bool, table: Array) -> None:
    """Move θ and s of each sample to where they explain its residual best."""
    x0, y0, turning = arm[0], arm[1], 1.0 if turns else 0.0
    reach = x0 * x0 + y0 * y0 + pitch * pitch
    for i in range(_LANES):
        c, s = table[_COSINE + i], table[_SINE + i]
        place, turn = table[_PLACE_ROOT + i] ** 2, table[_TURN_ROOT + i] ** 2
        x, y = c * x0 - s * y0, s * x0 + c * y0
        rise = table[_Z + i]
        aa = turning * (place * reach + turn)
        bb = table[_SLIDES + i] * place
        ab = turning * bb * pitch
        ua = place * (x * table[_Y + i] - y * table[_X + i] + pitch * rise) + turn * table[_RZ + i]
        ua *= turning
        ub = bb * rise
        determinant = aa * bb - ab * ab
        both, clear = (aa > 0.0) & (bb > 0.0), determinant > 1e-12 * aa * bb
        over = 1.0 / determinant if clear else 0.0
        alone = ua / aa if aa > 0.0 else 0.0
        slid = ub / bb if bb > 0.0 else 0.0
        table[_THETA + i] += (bb * ua - ab * ub) * over if both else alone
        table[_SLIDE + i] += (aa * ub - ab * ua) * over if both else slid


@summed
def _told(frame: Array, table: Array, residuals: Array) -> None:
    """Residuals (n, 6) of the first samples of a group, in the world."""
    for i in range(len(residuals)):
        for r in range(3):
            place = turn = 0.0
            for c in range(3):
                place += frame[r, c] * table[_X + c * _LANES + i]
                turn += frame[r, c] * table[_RX + c * _LANES + i]
            residuals[i, r], residuals[i, 3 + r] = place, turn


@summed
def _derived(arm: Array, pitch: float, table: Array, out: Array) -> float:
    """Cost of a group, and the derivatives (11, 6, lanes) of its residuals, which come last (12, …), in units of noise.

    Channels: position along the radius, position against turn along the path, position across both; orientation
    about the radius, about the path, and what the sample's own angle explains, which is left out where it turns. What
    its own slide explains is taken off.
    """
    x0, y0, height = arm[0], arm[1], arm[2]
    radius = math.sqrt(x0 * x0 + y0 * y0)
    u, v = (x0 / radius, y0 / radius) if radius > _SMALLEST else (1.0, 0.0)
    path = math.sqrt(radius * radius + pitch * pitch)
    flat, rise = (radius / path, pitch / path) if path > _SMALLEST else (1.0, 0.0)
    cost = 0.0
    for i in range(_LANES):
        theta, c, s = table[_THETA + i], table[_COSINE + i], table[_SINE + i]
        place, turn, free = table[_PLACE_ROOT + i], table[_TURN_ROOT + i], table[_SLIDES + i]
        whole = 1.0 / max(math.sqrt((place * path) ** 2 + turn * turn), _NOTHING)
        along, about = place * path * whole, turn * whole
        # What a slide does to the second and third channel, as a unit vector.
        size = free / max(math.sqrt((about * rise) ** 2 + flat * flat), _NOTHING)
        second, third = about * rise * size, flat * size
        side = (c * u - s * v, s * u + c * v, place, turn, along, about, flat, rise, second, third)
        x, y = c * x0 - s * y0, s * x0 + c * y0
        slide, back = table[_SLIDE + i] + pitch * theta, 1.0 - c
        _put(out, TILT, i, side, (back * height + slide, -s * height, s * y - back * x), (s, back, 0.0))
        _put(out, TILT + 1, i, side, (s * height, back * height + slide, -back * y - s * x), (-back, s, 0.0))
        _put(out, SHIFT, i, side, (back, -s, 0.0), (0.0, 0.0, 0.0))
        _put(out, SHIFT + 1, i, side, (s, back, 0.0), (0.0, 0.0, 0.0))
        _put(out, PITCH, i, side, (0.0, 0.0, theta), (0.0, 0.0, 0.0))
        _put(out, TURN, i, side, (0.0, 0.0, 0.0), (c, s, 0.0))
        _put(out, TURN + 1, i, side, (0.0, 0.0, 0.0), (-s, c, 0.0))
        _put(out, TURN + 2, i, side, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        _put(out, PLACE, i, side, (c, s, 0.0), (0.0, 0.0, 0.0))
        _put(out, PLACE + 1, i, side, (-s, c, 0.0), (0.0, 0.0, 0.0))
        _put(out, PLACE + 2, i, side, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
        a, b, d = table[_X + i], table[_Y + i], table[_Z + i]
        e, f, h = table[_RX + i], table[_RY + i], table[_RZ + i]
        _put(out, SIZE, i, side, (a, b, d), (e, f, h))
        cost += place * place * (a * a + b * b + d * d) + turn * turn * (e * e + f * f + h * h)
    return cost


@compiled
def _put(
    out: Array,
    column: int,
    i: int,
    side: tuple[float, float, float, float, float, float, float, float, float, float],
    place: tuple[float, float, float],
    turn: tuple[float, float, float],
) -> None:
    """A change of position and of orientation, in the frame, by the channels of one sample."""
    first = column * _CHANNELS * _LANES + i
    cosine, sine, place_root, turn_root, along, about, flat, rise, second, third = side
    outward = place_root * (place[0] * cosine + place[1] * sine)
    around = place_root * (place[1] * cosine - place[0] * sine)
    above = place_root * place[2]
    forward, across = flat * around + rise * above, flat * above - rise * around
    spin = turn_root * turn[2]
    against = about * forward - along * spin
    slid = second * against + third * across
    out[first] = outward
    out[first + 1 * _LANES] = against - second * slid
    out[first + 2 * _LANES] = across - third * slid
    out[first + 3 * _LANES] = turn_root * (turn[0] * cosine + turn[1] * sine)
    out[first + 4 * _LANES] = turn_root * (turn[1] * cosine - turn[0] * sine)
    out[first + 5 * _LANES] = along * forward + about * spin


@summed
def _summed_up(derivatives: Array, channels: int, wanted: NDArray[np.int64], H: Array, g: Array) -> None:
    """Add a group to the lower triangle of H (11, 11) and to g (11,), in the wanted columns."""
    flat = derivatives.reshape((SIZE + 1, _CHANNELS * _LANES))
    for k in range(len(wanted)):
        c = wanted[k]
        low, high = _where(c, channels)
        # With itself and the residual, then with those before it by twos: so it is read half as often.
        one = other = 0.0
        for i in range(low, high):
            one += flat[c, i] * flat[c, i]
            other += flat[c, i] * flat[SIZE, i]
        H[c, c] += one
        g[c] -= other
        for m in range(0, k, 2):
            d, e = wanted[m], wanted[min(m + 1, k - 1)]
            (first, last), (second, end) = _where(d, channels), _where(e, channels)
            one = other = 0.0
            for i in range(max(low, min(first, second)), min(high, max(last, end))):
                one += flat[c, i] * flat[d, i]
                other += flat[c, i] * flat[e, i]
            H[c, d] += one
            H[c, e] += other if e != d else 0.0


@compiled
def _where(column: int, channels: int) -> tuple[int, int]:
    """First and last of the lanes in which derivatives of so many channels are not always zero."""
    if channels == _CHANNELS:
        return 0, channels * _LANES
    if TURN <= column < PLACE:
        return _LANES, channels * _LANES
    return 0, (channels if column < SHIFT else 3) * _LANES


@summed
def _collected(
    derivatives: Array, active: Mask, start: int, count: int, samples: int, blocks: Array, information: Array
) -> None:
    """Add the first samples of a group to the sums (6, 13) of their blocks and to the information, by channels."""
    cut = derivatives.reshape((SIZE + 1, _CHANNELS, _LANES))
    for i in range(count):
        sums = blocks[((start + i) * blocks.shape[0]) // samples]
        for k in range(_CHANNELS - 1):
            for c in range(SIZE + 1):
                sums[k, c] += cut[c, k, i]
            sums[k, SIZE + 1] += cut[SIZE, k, i] ** 2
    for c in range(SIZE):
        for d in range(c + 1):
            if active[c] and active[d]:
                for k in range(_CHANNELS - 1):
                    total = 0.0
                    for i in range(_LANES):
                        total += cut[c, k, i] * cut[d, k, i]
                    information[k, c, d] += total
