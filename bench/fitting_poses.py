"""Rotary joints from poses against the limit: ``python -m bench.fitting_poses [RUNS] [--seed S] [--only MODE]``.

A grid of arcs and radii for each kind of disturbance; within a cell, number of samples, noises, directions and places
are drawn anew for each run. Prints for each kind the geometric mean and the worst cell of error over limit (axis,
position), failures (no fit, or more than 6 times the limit in a run), and what was said of the grip. The limit counts
every position and every orientation that was left good; where the grip turns, it is that of positions alone.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.fitting_limit import circle_limit, rotary_limit
from fitting import fit_rotary, warm_up
from fitting.result import Mask
from fitting.se3 import Array, frame, rotation_exp
from fitting.synthetic import Scene, axis_error

ARCS = (10.0, 20.0, 45.0, 70.0, 120.0, 200.0, 350.0)
RADII = (0.0, 0.03, 0.1, 0.3, 0.8)
TURNING = ((45.0, 0.3), (45.0, 0.8), (70.0, 0.15), (70.0, 0.7), (120.0, 0.1), (120.0, 0.5), (200.0, 0.3), (350.0, 0.1))
"""Arcs and radii on which positions alone show the axis."""
FAILED = 6.0


@dataclass(frozen=True)
class Draw:
    """One take: the scene, its noises, and which positions and orientations are good."""

    scene: Scene
    radius: float
    position_noise: float
    orientation_noise: float
    positions: Mask
    orientations: Mask
    turned: bool = False


def movement(rng: np.random.Generator, n: int) -> Array:
    """Share of the way (n,) at each sample: evenly, smoothly, there and back, or by fits and starts."""
    t = np.linspace(0.0, 1.0, n)
    way = rng.integers(0, 4)
    if way == 0:
        return t
    if way == 1:
        return 0.5 - 0.5 * np.cos(np.pi * t)
    if way == 2:
        return 0.5 - 0.5 * np.cos(2.0 * np.pi * t)
    pace = 1.0 + 0.8 * np.sin(2.0 * np.pi * (rng.uniform(1.0, 4.0) * t + rng.uniform()))
    return np.asarray((np.cumsum(pace) - pace[0]) / (pace.sum() - pace[0]))


def drawn(rng: np.random.Generator, degrees: float, radius: float) -> Draw:
    """A clean take."""
    n = int(np.exp(rng.uniform(np.log(300), np.log(5000))))
    position_noise = float(np.exp(rng.uniform(np.log(2e-4), np.log(1e-3))))
    orientation_noise = math.radians(float(np.exp(rng.uniform(np.log(0.01), np.log(0.3)))))
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    side = np.cross(axis, rng.normal(size=3))
    side /= np.linalg.norm(side)
    center = rng.uniform(-1.0, 1.0, 3)
    angles = math.radians(degrees) * movement(rng, n)
    A = rotation_exp(angles[:, None] * axis)
    p = center + radius * (A @ side) + position_noise * rng.normal(size=(n, 3))
    R = rotation_exp(orientation_noise * rng.normal(size=(n, 3))) @ A @ rotation_exp(rng.normal(size=3))
    good = np.ones(n, dtype=bool)
    scene = Scene(frame(R, p), axis, center, good, angles, np.zeros(n))
    return Draw(scene, radius, position_noise, orientation_noise, good.copy(), good.copy())


def _spoiled(rng: np.random.Generator, draw: Draw, bad_places: Mask, bad_turns: Mask) -> Draw:
    draw.scene.poses[bad_places, :3, 3] += rng.uniform(-0.3, 0.3, (int(bad_places.sum()), 3))
    turns = rotation_exp(0.5 * rng.normal(size=(int(bad_turns.sum()), 3)))
    draw.scene.poses[bad_turns, :3, :3] = turns @ draw.scene.poses[bad_turns, :3, :3]
    draw.positions[bad_places] = False
    draw.orientations[bad_turns] = False
    return draw


def gross(rng: np.random.Generator, draw: Draw) -> Draw:
    """30 % of the poses wrong altogether."""
    bad = rng.random(len(draw.positions)) < 0.3
    return _spoiled(rng, draw, bad, bad)


def places(rng: np.random.Generator, draw: Draw) -> Draw:
    """30 % of the positions wrong, the orientations good."""
    bad = rng.random(len(draw.positions)) < 0.3
    return _spoiled(rng, draw, bad, np.zeros_like(bad))


def turns(rng: np.random.Generator, draw: Draw) -> Draw:
    """30 % of the orientations wrong, the positions good."""
    bad = rng.random(len(draw.positions)) < 0.3
    return _spoiled(rng, draw, np.zeros_like(bad), bad)


def either(rng: np.random.Generator, draw: Draw) -> Draw:
    """A tenth each: wrong positions, wrong orientations, both wrong."""
    which = rng.integers(0, 10, len(draw.positions))
    return _spoiled(rng, draw, (which == 0) | (which == 1), (which == 1) | (which == 2))


def bursts(rng: np.random.Generator, draw: Draw) -> Draw:
    """30 % in stretches that drift off by centimetres and degrees and come back."""
    n, axis = len(draw.positions), draw.scene.axis
    while draw.positions.mean() > 0.7:
        length = int(rng.integers(20, 60))
        first = int(rng.integers(0, n - length))
        own = slice(first, first + length)
        shape = np.sin(np.pi * np.arange(1, length + 1) / (length + 1))[:, None]
        off, turn = axis + 0.3 * rng.normal(size=3), rng.normal(size=3)
        draw.scene.poses[own, :3, 3] += shape * off * rng.uniform(0.01, 0.04)
        draw.scene.poses[own, :3, :3] = (
            rotation_exp(shape * turn * rng.uniform(0.02, 0.1)) @ draw.scene.poses[own, :3, :3]
        )
        draw.positions[own] = draw.orientations[own] = False
    return draw


def in_hand(rng: np.random.Generator, draw: Draw, degrees: float = 15.0) -> Draw:
    """The grip turns in the hand all along: a ramp, steps, a sway, or back and forth, with the joint or against it."""
    n = len(draw.positions)
    t = np.linspace(0.0, 1.0, n)
    way = rng.integers(0, 5)
    if way == 0:
        course = t
    elif way == 1:
        at = np.sort(rng.uniform(0.1, 0.9, 3))
        course = sum(np.clip((t - a) / 0.02, 0.0, 1.0) for a in at) / 3.0
    elif way == 2:
        waves = np.sin(2.0 * np.pi * np.outer(t, rng.uniform(0.8, 6.0, 5)) + rng.uniform(0.0, 2.0 * np.pi, 5))
        course = waves.sum(axis=1)
    elif way == 3:
        course = np.sin(np.pi * t) ** 2
    else:
        course = draw.scene.angles.copy()
    course = course / np.ptp(course)
    axis = draw.scene.axis if rng.random() < 0.25 else rng.normal(size=3)
    turn = math.radians(degrees) * course[:, None] * axis / np.linalg.norm(axis)
    draw.scene.poses[:, :3, :3] = rotation_exp(turn) @ draw.scene.poses[:, :3, :3]
    draw.orientations[:] = False
    return Draw(**{**vars(draw), "turned": True})


def partly(rng: np.random.Generator, draw: Draw) -> Draw:
    """The grip turns by 15° in one stretch of 10 to 50 % of the take, anywhere, and stays or comes back."""
    n = len(draw.positions)
    length = rng.uniform(0.1, 0.5)
    first = rng.uniform(0.0, 1.0 - length)
    s = np.clip((np.linspace(0.0, 1.0, n) - first) / length, 0.0, 1.0)
    course = s if rng.random() < 0.5 else np.sin(np.pi * s) ** 2
    axis = rng.normal(size=3)
    turn = math.radians(15.0) * course[:, None] * axis / np.linalg.norm(axis)
    draw.scene.poses[:, :3, :3] = rotation_exp(turn) @ draw.scene.poses[:, :3, :3]
    draw.orientations[:] = False
    return Draw(**{**vars(draw), "turned": True})


MODES: dict[str, Callable[[np.random.Generator, Draw], Draw]] = {
    "clean": lambda _, draw: draw,
    "gross": gross,
    "bursts": bursts,
    "places": places,
    "turns": turns,
    "either": either,
    "in hand": in_hand,
    "partly": partly,
}


def limit(draw: Draw) -> tuple[float, float]:
    """Axis (rad) and position (m) rms that no unbiased fit can beat on this take."""
    scene = draw.scene
    if draw.turned:
        return circle_limit(scene.angles[draw.positions], draw.radius, draw.position_noise)
    return rotary_limit(
        scene.angles,
        draw.radius,
        draw.position_noise,
        draw.orientation_noise,
        positions=draw.positions,
        orientations=draw.orientations,
    )


def cell(mode: str, degrees: float, radius: float, runs: int, seed: int) -> tuple[Array, int, Counter[str]]:
    """Rms (2,) of error over limit for axis and position, failed runs, and what was said of the grip."""
    squares, failed, grips = [], 0, Counter[str]()
    for run in range(runs):
        rng = np.random.default_rng([seed, list(MODES).index(mode), int(10 * degrees), int(1000 * radius), run])
        draw = MODES[mode](rng, drawn(rng, degrees, radius))
        fit = fit_rotary(draw.scene.poses)
        grips[fit.grip if fit else "failed"] += 1
        ratio = np.divide(axis_error(fit, draw.scene)[:2], limit(draw)) if fit else np.full(2, np.inf)
        if ratio.max() < FAILED:
            squares.append(ratio**2)
        else:
            failed += 1
    return np.sqrt(np.mean(squares, axis=0)) if squares else np.full(2, np.nan), failed, grips


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(MODES), help="kinds of disturbance, separated by commas")
    parser.add_argument("--cells", action="store_true", help="print each cell")
    arguments = parser.parse_args()
    warm_up()
    sys.stdout.write(
        "| disturbance | runs | mean, axis / position | worst cell | failed | grip |\n|---|---|---|---|---|---|\n"
    )
    for mode in arguments.only.split(","):
        turning = mode in ("in hand", "partly")
        grid = TURNING if turning else [(arc, radius) for arc in ARCS for radius in RADII]
        ratios, failed, grips = [], 0, Counter[str]()
        for degrees, radius in grid:
            ratio, none, said = cell(mode, degrees, radius, arguments.runs, arguments.seed)
            ratios.append(ratio)
            failed += none
            grips += said
            if arguments.cells:
                sys.stdout.write(
                    f"    {degrees:.0f}° {radius} m: {ratio[0]:.2f} / {ratio[1]:.2f}, {none} failed, {dict(said)}\n"
                )
        mean = np.exp(np.mean(np.log(ratios), axis=0))
        worst = np.max(ratios, axis=0)
        at = [grid[k] for k in np.argmax(ratios, axis=0)]
        said_of = ", ".join(f"{grip} {count}" for grip, count in grips.most_common())
        sys.stdout.write(
            f"| {mode} | {len(grid) * arguments.runs} | {mean[0]:.3f} / {mean[1]:.3f} | "
            f"{worst[0]:.2f} ({at[0][0]:.0f}°, {at[0][1]} m) / {worst[1]:.2f} ({at[1][0]:.0f}°, {at[1][1]} m) | "
            f"{failed} | {said_of} |\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
