"""Inner loops of the joints that are fitted to whole poses.

One family covers them all: a body that starts at (R0, p0) turns by θ about an axis and slides by s along it,

    R = A·R0,   p = c + A·(p0 − c) + s·a,   A = exp(θ·a).

A rotary joint only turns, a prismatic one only slides, a cylindrical one does both freely, a screw slides by
pitch·θ. θ and s belong to one sample each and are eliminated from the equations of the others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fitting.columns import PITCH, PLACE, SHIFT, SIZE, TILT, TURN
from fitting.compiled import compiled
from fitting.result import Mask
from fitting.se3 import Array


@compiled
def linearised(  # noqa: C901
    frame: Array,
    center: Array,
    pitch: float,
    turns: bool,
    slides: Mask,
    R0: Array,
    p0: Array,
    R: Array,
    p: Array,
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

    frame: (3, 3) columns basis[0], basis[1], axis; slides: (n,) samples that may slide along the axis; q: (n, 2) θ and
    s, improved in place by one Newton step; wp, wo: (n,) inverse variances of position (m) and orientation (rad), zero
    for what is not used; active: (11,) columns that are wanted. blocks (b, 6, 13), unless b is zero: gets the sums over
    blocks of time of the derivatives and, in the last columns, of the residuals and their squares, all in units of the
    noise, by the channels of ``_collect``; information (6, 11, 11): the sums of products of the derivatives by these
    channels, lower triangles.
    """
    H[:] = 0.0
    g[:] = 0.0
    cost = 0.0
    a, arm0 = np.empty(3), np.empty(3)
    for k in range(3):
        a[k], arm0[k] = frame[k, 2], p0[k] - center[k]
    arm, model, moved = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    J = np.zeros((6, SIZE))
    L = np.zeros((6, 2))
    A = np.empty((3, 3))
    e = np.empty(6)
    for i in range(R.shape[0]):
        root_p, root_o = math.sqrt(wp[i]), math.sqrt(wo[i])
        unused = wp[i] == 0.0 and wo[i] == 0.0
        for attempt in range(2):
            _turn(a, q[i, 0], A)
            slide = q[i, 1] + pitch * q[i, 0]
            _times(A, arm0, arm)
            for k in range(3):
                e[k] = p[i, k] - center[k] - arm[k] - slide * a[k]
            _product(A, R0, model)
            _rotation_residual(R[i], model, e)
            if attempt == 1 or unused:
                break
            _latent_columns(a, arm, pitch, turns, slides[i], root_p, root_o, L)
            _newton(L, e, root_p, root_o, q[i])
        for k in range(6):
            residuals[i, k] = e[k]
        if unused:
            continue
        _latent_columns(a, arm, pitch, turns, slides[i], root_p, root_o, L)
        _product(A, frame, moved)
        _columns(frame, moved, arm, q[i, 0], slide, root_p, root_o, J)
        for k in range(3):
            e[k] *= root_p
            e[3 + k] *= root_o
            cost += e[k] * e[k] + e[3 + k] * e[3 + k]
        _eliminate(L, J, e, active)
        if blocks.shape[0] > 0:
            _collect(
                a, pitch, arm, moved, root_p, root_o, J, e, blocks[(i * blocks.shape[0]) // R.shape[0]], information
            )
        for c in range(SIZE):
            if not active[c]:
                continue
            for d in range(c + 1):
                if not active[d]:
                    continue
                total = 0.0
                for r in range(6):
                    total += J[r, c] * J[r, d]
                H[c, d] += total
            total = 0.0
            for r in range(6):
                total += J[r, c] * e[r]
            g[c] -= total
    for c in range(SIZE):
        for d in range(c):
            H[d, c] = H[c, d]
    return cost


@compiled
def _collect(
    a: Array,
    pitch: float,
    arm: Array,
    moved: Array,
    root_p: float,
    root_o: float,
    J: Array,
    e: Array,
    sums: Array,
    information: Array,
) -> None:
    """Add one sample to the sums (6, 13) of its block and to the information, by channels.

    Channels: position along the radius, position against turn along the path, position across both; orientation
    about the radius, about the path, and what the sample's own angle explains, which is nothing.
    """
    height = arm[0] * a[0] + arm[1] * a[1] + arm[2] * a[2]
    side = np.zeros((5, 6))
    square = 0.0
    for k in range(3):
        side[0, k] = arm[k] - height * a[k]
        square += side[0, k] ** 2
    for k in range(3):
        side[0, k] = side[0, k] / math.sqrt(square) if square > 1e-8 else moved[k, 0]
        side[3, 3 + k] = side[0, k]
    path = math.sqrt(square + pitch * pitch)
    turn, rise = (math.sqrt(square) / path, pitch / path) if path > 1e-4 else (1.0, 0.0)
    whole = math.hypot(root_p * path, root_o)
    along, about = (root_p * path / whole, root_o / whole) if whole > 0.0 else (0.0, 1.0)
    for k in range(3):
        m, n = (k + 1) % 3, (k + 2) % 3
        tangent = a[m] * side[0, n] - a[n] * side[0, m]
        forward = turn * tangent + rise * a[k]
        side[1, k], side[1, 3 + k] = about * forward, -along * a[k]
        side[2, k] = turn * a[k] - rise * tangent
        side[4, 3 + k] = tangent
    row = np.empty(SIZE)
    for k in range(5):
        low, high = (0 if k < 3 else 3), (6 if k == 1 or k > 2 else 3)
        for c in range(SIZE):
            row[c] = 0.0
            for r in range(low, high):
                row[c] += side[k, r] * J[r, c]
            sums[k, c] += row[c]
        value = 0.0
        for r in range(low, high):
            value += side[k, r] * e[r]
        sums[k, SIZE] += value
        sums[k, SIZE + 1] += value * value
        for c in range(SIZE):
            for d in range(c + 1):
                information[k, c, d] += row[c] * row[d]


@compiled
def best_coordinates(
    axis: Array,
    center: Array,
    pitch: float,
    turns: bool,
    slides: bool,
    R0: Array,
    p0: Array,
    R: Array,
    p: Array,
    q: Array,
    wp: float,
    wo: float,
    residuals: Array,
) -> None:
    """Coordinates q (n, 2) that explain each sample best, and the residuals (n, 6) that stay."""
    arm0 = np.empty(3)
    for k in range(3):
        arm0[k] = p0[k] - center[k]
    arm, model, A, e = np.empty(3), np.empty((3, 3)), np.empty((3, 3)), np.empty(6)
    L = np.zeros((6, 2))
    root_p, root_o = math.sqrt(wp), math.sqrt(wo)
    height = axis[0] * arm0[0] + axis[1] * arm0[1] + axis[2] * arm0[2]
    for i in range(R.shape[0]):
        q[i, 0] = _twist(R[i], R0, axis) if turns else 0.0
        q[i, 1] = 0.0
        if slides:
            for k in range(3):
                q[i, 1] += axis[k] * (p[i, k] - center[k])
            q[i, 1] -= height
        for attempt in range(3):
            _turn(axis, q[i, 0], A)
            slide = q[i, 1] + pitch * q[i, 0]
            _times(A, arm0, arm)
            for k in range(3):
                e[k] = p[i, k] - center[k] - arm[k] - slide * axis[k]
            _product(A, R0, model)
            _rotation_residual(R[i], model, e)
            if attempt == 2:
                break
            _latent_columns(axis, arm, pitch, turns, slides, root_p, root_o, L)
            _newton(L, e, root_p, root_o, q[i])
        for k in range(6):
            residuals[i, k] = e[k]


@compiled
def _twist(R: Array, R0: Array, a: Array) -> float:
    """Angle of the turn about ``a`` in R·R0ᵀ, whatever else is in it."""
    x = y = z = trace = 0.0
    for k in range(3):
        x += R[2, k] * R0[1, k] - R[1, k] * R0[2, k]
        y += R[0, k] * R0[2, k] - R[2, k] * R0[0, k]
        z += R[1, k] * R0[0, k] - R[0, k] * R0[1, k]
        trace += R[0, k] * R0[0, k] + R[1, k] * R0[1, k] + R[2, k] * R0[2, k]
    return 2.0 * math.atan2(x * a[0] + y * a[1] + z * a[2], 1.0 + trace)


@compiled
def _times(A: Array, v: Array, out: Array) -> None:
    for r in range(3):
        out[r] = A[r, 0] * v[0] + A[r, 1] * v[1] + A[r, 2] * v[2]


@compiled
def _product(A: Array, B: Array, out: Array) -> None:
    for r in range(3):
        for c in range(3):
            out[r, c] = A[r, 0] * B[0, c] + A[r, 1] * B[1, c] + A[r, 2] * B[2, c]


@compiled
def _turn(a: Array, angle: float, A: Array) -> None:
    c, s = math.cos(angle), math.sin(angle)
    v = 1.0 - c
    x, y, z = a[0], a[1], a[2]
    A[0, 0], A[0, 1], A[0, 2] = c + x * x * v, x * y * v - z * s, x * z * v + y * s
    A[1, 0], A[1, 1], A[1, 2] = x * y * v + z * s, c + y * y * v, y * z * v - x * s
    A[2, 0], A[2, 1], A[2, 2] = x * z * v - y * s, y * z * v + x * s, c + z * z * v


@compiled
def _rotation_residual(R: Array, model: Array, e: Array) -> None:
    """Rotation vector of R·modelᵀ into e[3:6]."""
    x = y = z = 0.0
    trace = 0.0
    for k in range(3):
        x += R[2, k] * model[1, k] - R[1, k] * model[2, k]
        y += R[0, k] * model[2, k] - R[2, k] * model[0, k]
        z += R[1, k] * model[0, k] - R[0, k] * model[1, k]
        trace += R[0, k] * model[0, k] + R[1, k] * model[1, k] + R[2, k] * model[2, k]
    sine = 0.5 * math.sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, 0.5 * (trace - 1.0))
    # Near half a turn the direction is lost, but the sample is an outlier anyway: only its size matters.
    factor = 0.5 if sine < 1e-12 else 0.5 * angle / sine
    e[3], e[4], e[5] = x * factor, y * factor, z * factor


@compiled
def _latent_columns(
    a: Array, arm: Array, pitch: float, turns: bool, slides: bool, root_p: float, root_o: float, L: Array
) -> None:
    L[:] = 0.0
    if turns:
        L[0, 0] = root_p * (a[1] * arm[2] - a[2] * arm[1] + pitch * a[0])
        L[1, 0] = root_p * (a[2] * arm[0] - a[0] * arm[2] + pitch * a[1])
        L[2, 0] = root_p * (a[0] * arm[1] - a[1] * arm[0] + pitch * a[2])
        for k in range(3):
            L[3 + k, 0] = root_o * a[k]
    if slides:
        for k in range(3):
            L[k, 1] = root_p * a[k]


@compiled
def _newton(L: Array, e: Array, root_p: float, root_o: float, q: Array) -> None:
    """Move θ and s of one sample to where they explain its residual best."""
    aa = ab = bb = ua = ub = 0.0
    for r in range(6):
        residual = e[r] * (root_p if r < 3 else root_o)
        aa += L[r, 0] * L[r, 0]
        ab += L[r, 0] * L[r, 1]
        bb += L[r, 1] * L[r, 1]
        ua += L[r, 0] * residual
        ub += L[r, 1] * residual
    if aa > 0.0 and bb > 0.0:
        determinant = aa * bb - ab * ab
        if determinant > 1e-12 * aa * bb:
            q[0] += (bb * ua - ab * ub) / determinant
            q[1] += (aa * ub - ab * ua) / determinant
    elif aa > 0.0:
        q[0] += ua / aa
    elif bb > 0.0:
        q[1] += ub / bb


@compiled
def _columns(
    frame: Array, moved: Array, arm: Array, angle: float, slide: float, root_p: float, root_o: float, J: Array
) -> None:
    J[:] = 0.0
    a = frame[:, 2]
    for k in range(2):
        b = frame[:, k]
        # A tilt of the axis along b is a turn about w = a × b, which is ±(the other basis vector).
        other = frame[:, 1 - k]
        sign = 1.0 if k == 0 else -1.0
        w0 = sign * (other[0] - moved[0, 1 - k])
        w1 = sign * (other[1] - moved[1, 1 - k])
        w2 = sign * (other[2] - moved[2, 1 - k])
        J[0, TILT + k] = root_p * (w1 * arm[2] - w2 * arm[1] + slide * b[0])
        J[1, TILT + k] = root_p * (w2 * arm[0] - w0 * arm[2] + slide * b[1])
        J[2, TILT + k] = root_p * (w0 * arm[1] - w1 * arm[0] + slide * b[2])
        J[3, TILT + k], J[4, TILT + k], J[5, TILT + k] = root_o * w0, root_o * w1, root_o * w2
        for r in range(3):
            J[r, SHIFT + k] = root_p * (b[r] - moved[r, k])
    for r in range(3):
        J[r, PITCH] = root_p * angle * a[r]
        for k in range(3):
            J[3 + r, TURN + k] = root_o * moved[r, k]
            J[r, PLACE + k] = root_p * moved[r, k]


@compiled
def _eliminate(  # noqa: C901
    L: Array, J: Array, e: Array, active: Mask
) -> None:
    """Project J and e onto the complement of the sample's own coordinates L (6, 2)."""
    for k in range(2):
        length = 0.0
        for r in range(6):
            length += L[r, k] * L[r, k]
        if length <= 0.0:
            continue
        if k == 0:
            dot = 0.0
            for r in range(6):
                dot += L[r, 0] * L[r, 1]
            for r in range(6):
                L[r, 1] -= L[r, 0] * dot / length
        along = 0.0
        for r in range(6):
            along += L[r, k] * e[r]
        for r in range(6):
            e[r] -= L[r, k] * along / length
        for c in range(J.shape[1]):
            if not active[c]:
                continue
            along = 0.0
            for r in range(6):
                along += L[r, k] * J[r, c]
            along /= length
            if along != 0.0:
                for r in range(6):
                    J[r, c] -= L[r, k] * along


@compiled
def hypothesis_scores(
    axes: Array,
    centers: Array,
    chosen: NDArray[np.int64],
    R: Array,
    p: Array,
    subset: NDArray[np.int64],
    slides: bool,
) -> tuple[Array, Array]:
    """Squared residuals of samples that no angle or slide can explain, for each hypothesis: position and orientation.

    axes, centers: (m, 3); chosen: (m,) the sample that each hypothesis starts from; subset: (k,) samples to score.
    Gives (m, k) in m² (radial, and axial unless it slides) and rad² (swing out of the axis).
    """
    m, count = axes.shape[0], subset.shape[0]
    positions, swings = np.empty((m, count)), np.empty((m, count))
    b, arm = np.empty(3), np.empty(3)
    for j in range(m):
        a, c, start = axes[j], centers[j], chosen[j]
        for s in range(3):
            arm[s] = p[start, s] - c[s]
        height = arm[0] * a[0] + arm[1] * a[1] + arm[2] * a[2]
        radius = math.sqrt(max(arm[0] ** 2 + arm[1] ** 2 + arm[2] ** 2 - height * height, 0.0))
        # The axis as the body at the start sees it; afterwards it should look the same to the body.
        for s in range(3):
            b[s] = R[start, 0, s] * a[0] + R[start, 1, s] * a[1] + R[start, 2, s] * a[2]
        for i in range(count):
            k = subset[i]
            x, y, z = p[k, 0] - c[0], p[k, 1] - c[1], p[k, 2] - c[2]
            h = x * a[0] + y * a[1] + z * a[2]
            r = math.sqrt(max(x * x + y * y + z * z - h * h, 0.0)) - radius
            positions[j, i] = r * r if slides else r * r + (h - height) ** 2
            swing = 0.0
            for s in range(3):
                d = R[k, s, 0] * b[0] + R[k, s, 1] * b[1] + R[k, s, 2] * b[2] - a[s]
                swing += d * d
            swings[j, i] = swing
    return positions, swings
