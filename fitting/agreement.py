"""Which poses of a take agree with one movement, and how noisy their positions and orientations are."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitting.motion import Kind, Motion, Start, Take, settled_coordinates, solve
from fitting.noise import chi2_quantile
from fitting.ransac import GATE, QUANTILE, WIDER, shoulder, smallest_noise, spread
from fitting.result import FitFailure, Mask
from fitting.se3 import Array, cross

_HYPOTHESES = 150
_SUBSET = 200
_KEPT = 3
_WILD = 0.2
"""Radians of orientation noise that no tracker has."""
_NEARLY = 0.95
"""Share of the samples that may move from which a joint with two coordinates needs no second look."""
_WIDE = 6.0
"""Noise, over that of who agrees, at which others are let in once."""
_FARTHEST = 5.0
"""Metres between an axis and what it carries; hypotheses beyond it are noise."""
SMALLEST_TURN = 1e-9
"""Radians: orientation noise below which rounding takes over."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations per axis of positions (m) and orientations (rad)."""

    position: float
    orientation: float


@dataclass(frozen=True)
class Agreement:
    """The movement of one take, the residuals (n, 6) of all its samples, the noise and who agrees."""

    motion: Motion
    residuals: Array
    noise: Noise
    inliers: Mask


def agree(
    kind: Kind,
    take: Take,
    position_noise: float | None,
    rng: np.random.Generator,
    orientation_noise: float | None = None,
) -> Agreement | FitFailure:
    """Find the movement with which the most poses agree. A noise level that is given is kept."""
    from fitting.agreement_kernels import hypothesis_scores

    pool = np.flatnonzero(take.telling(kind))
    subset = pool[spread(rng, len(pool), _SUBSET)]
    axes, centers, chosen, lines = _hypotheses(kind, take, pool, rng)
    if len(axes) == 0:
        return FitFailure("The poses hardly differ from one another. Move the joint further.")
    positions, swings = hypothesis_scores(axes, centers, chosen, take.R, take.p, subset, kind.slides)
    rank = int(QUANTILE * len(subset))
    floor = Noise(smallest_noise(take.p), SMALLEST_TURN)
    p_value = np.partition(positions, rank, axis=1)[:, rank] / chi2_quantile(1 if kind.slides else 2, QUANTILE)
    o_value = np.partition(swings, rank, axis=1)[:, rank] / chi2_quantile(2, QUANTILE)
    p_scale, o_scale = np.maximum(np.sqrt(p_value), floor.position), np.maximum(np.sqrt(o_value), floor.orientation)
    score = np.log(np.maximum(p_value, floor.position**2)) + np.log(np.maximum(o_value, floor.orientation**2))
    small = Take(take.R[subset], take.p[subset])
    given = (position_noise, orientation_noise)
    found = []
    for j in _kept(np.argsort(score, kind="stable"), len(axes) - lines):
        noise = Noise(position_noise or float(p_scale[j]), orientation_noise or float(o_scale[j]))
        R0, p0 = take.R[chosen[j]], take.p[chosen[j]]
        motion = Motion(axes[j], centers[j], (Start(R0, p0, np.zeros((len(small), 2))),))
        found.append(optimised(kind, small, motion, noise, given, floor, rounds=1, steps=3))
    best = _best(found)
    start = best.motion.starts[0]
    motion = replace(best.motion, starts=(replace(start, q=np.zeros((len(take), 2))),))
    result = optimised(kind, take, motion, best.noise, given, floor, rounds=4, steps=4)
    limit = chi2_quantile(6 - kind.latents, GATE)
    if kind.latents > 1 and 5 <= result.inliers.sum() < _NEARLY * len(pool):
        result = _best([result, _along_the_line(kind, take, result, given, floor)])
    # A position noise that was given far too small leaves all outside, however wide the gate for orientations.
    while (
        orientation_noise is None
        and result.noise.orientation < _WILD
        and shoulder(weighed(result.residuals, result.noise), limit)
    ):
        floor = Noise(WIDER * result.noise.position, WIDER * result.noise.orientation)
        result = optimised(kind, take, result.motion, floor, given, floor, rounds=2, steps=4)
    if result.inliers.sum() < 5:
        return FitFailure(f"Only {int(result.inliers.sum())} of {len(take)} poses agree with one another.")
    if result.noise.orientation > _WILD:
        return FitFailure(
            f"The orientations scatter by {np.degrees(result.noise.orientation):.0f}°: no movement explains them."
        )
    return result


def _kept(order: NDArray[np.int64], lines: int) -> NDArray[np.int64]:
    """The best hypotheses, the straight ones of which begin at number ``lines``: one of these is among them.

    Beside a turn that is lost in noise, far axes about which little turns explain a slide at first sight.
    """
    kept = order[:_KEPT]
    if lines < len(order) and kept.max() < lines:
        kept[-1] = order[order >= lines][0]
    return kept


def _along_the_line(
    kind: Kind, take: Take, found: Agreement, given: tuple[float | None, float | None], floor: Noise
) -> Agreement:
    """Another try at a joint that slides: part of a slide fits many axes beside a small turn.

    Begins at the line of all who nearly agree, and sees who stays.
    """
    wide = _WIDE**2 * chi2_quantile(6 - kind.latents, GATE)
    near = found.inliers | (weighed(found.residuals, found.noise) <= wide)
    middle = np.median(take.p[near], axis=0)
    line = np.linalg.svd(take.p[near] - middle, full_matrices=False)[2][0]
    wp, wo = near / found.noise.position**2, near / found.noise.orientation**2
    motion = solve(kind, replace(found.motion, axis=line, center=middle), [take], [wp], [wo], 20).motion
    return optimised(kind, take, motion, found.noise, given, floor, rounds=4, steps=4)


def optimised(
    kind: Kind,
    take: Take,
    motion: Motion,
    noise: Noise,
    given: tuple[float | None, float | None],
    floor: Noise,
    *,
    rounds: int,
    steps: int,
) -> Agreement:
    """Refit on who agrees, estimate the noise, and ask again who agrees, until that no longer changes."""
    from fitting.agreement_kernels import noise_of_agreeing

    inliers = np.ones(len(take), dtype=bool)
    residuals = np.zeros((len(take), 6))
    limit = chi2_quantile(6 - kind.latents, GATE)
    for turn in range(rounds + 1):
        if turn:
            keep = inliers.astype(float)
            wp, wo = keep / noise.position**2, keep / noise.orientation**2
            motion = solve(kind, motion, [take], [wp], [wo], steps).motion
        # Samples outside get their coordinates too: they may come back.
        q, residuals = settled_coordinates(kind, motion, take, noise.position**-2, noise.orientation**-2)
        start = motion.starts[0]
        motion = Motion(motion.axis, motion.center, (Start(start.R0, start.p0, q),), motion.pitch)
        before, inliers = inliers, np.empty(len(take), dtype=bool)
        noise = Noise(
            *noise_of_agreeing(
                residuals,
                (noise.position, noise.orientation),
                (given[0] or 0.0, given[1] or 0.0),
                (floor.position, floor.orientation),
                limit,
                (kind.latents, kind.turns, _reach(motion)),
                inliers,
            )
        )
        if turn and np.array_equal(before, inliers):
            break
    return Agreement(motion, residuals, noise, inliers)


def weighed(residuals: Array, noise: Noise) -> Array:
    """Squared residuals (n,) in units of the noise; infinite is what a screw without bounds leaves."""
    with np.errstate(over="ignore"):
        return np.asarray(
            (residuals[:, :3] ** 2).sum(axis=1) / noise.position**2
            + (residuals[:, 3:] ** 2).sum(axis=1) / noise.orientation**2
        )


def freedoms(kind: Kind, motion: Motion, noise: Noise) -> tuple[float, float]:
    """Residual components of a sample that are left for the position and for the orientation."""
    from fitting.agreement_kernels import shared_freedoms

    return shared_freedoms(kind.latents, kind.turns, _reach(motion), noise.position, noise.orientation)


def _reach(motion: Motion) -> float:
    """Square (m²) of what a position moves for a radian, in the first take."""
    arm = motion.starts[0].p0 - motion.center
    # A product, since a power of Python overflows with an exception: what hardly turns has a pitch beyond all bounds.
    return float(arm @ arm - (arm @ motion.axis) ** 2) + motion.pitch * motion.pitch


def _hypotheses(
    kind: Kind, take: Take, pool: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Array, Array, NDArray[np.int64], int]:
    """Axes (m, 3), points on them (m, 3) and starting samples (m,) from pairs of poses far apart in time.

    Those that turn come first; how many slide along the straight line between the two follows.
    """
    lines = 0
    i, j = (rng.random((2, _HYPOTHESES)) * len(pool)).astype(np.int64)
    axes, centers, i = turns_between(take, pool[i], pool[j])
    if kind.slides:
        a, b = pool[(rng.random((2, _HYPOTHESES // 3)) * len(pool)).astype(np.int64)]
        way = take.p[b] - take.p[a]
        length = np.linalg.norm(way, axis=1)
        apart = length > 1e-9
        axes = np.concatenate([axes, way[apart] / length[apart, None]])
        centers = np.concatenate([centers, take.p[a][apart]])
        i = np.concatenate([i, a[apart]])
        lines = int(np.count_nonzero(apart))
    return np.ascontiguousarray(axes), np.ascontiguousarray(centers), i, lines


def turns_between(take: Take, i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Axes (m, 3) and points on them (m, 3) about which samples i turned to where samples j are, with those i.

    Pairs that hardly turned, or turned about something far away, are left out.
    """
    E = take.R[j] @ np.swapaxes(take.R[i], 1, 2)
    vee = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    sine = np.linalg.norm(vee, axis=1)
    good = sine > 1e-4
    i, j, vee, sine, E = i[good], j[good], vee[good], sine[good], E[good]
    axes = vee / sine[:, None]
    move = take.p[j] - take.p[i]
    move -= (move * axes).sum(axis=1, keepdims=True) * axes
    # cot(φ/2) = (1 + cos φ)/sin φ, with 1 + 2·cos φ the trace.
    cotangent = (1.0 + np.trace(E, axis1=1, axis2=2)) / sine
    centers = take.p[i] + 0.5 * (move + cotangent[:, None] * cross(axes, move))
    near = np.linalg.norm(centers - take.p[i], axis=1) < _FARTHEST
    return axes[near], centers[near], i[near]


def _best(found: list[Agreement]) -> Agreement:
    """The one that explains the most at the noise of the tightest well-supported one."""
    most = max(int(f.inliers.sum()) for f in found)
    supported = [f for f in found if f.inliers.sum() >= 0.7 * most]
    common = min(supported, key=lambda f: f.noise.position * f.noise.orientation).noise
    limit = chi2_quantile(6, GATE)
    return min(found, key=lambda f: float(np.minimum(weighed(f.residuals, common), limit).sum()))
