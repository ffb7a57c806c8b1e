"""Accuracy against the physical limit, and time against peers in the same run: ``python -m bench.fitting``.

Writes docs/benchmarks.md with the date and the machine's load. Times are CPU seconds of this thread, the smallest of
several calls, since other work on the machine only ever adds. ``--quick`` makes fewer repetitions.
"""

import argparse
import datetime as dt
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.fitting_limit import circle_limit, line_limit, rotary_limit
from bench.fitting_peers import Peer, circle_peers, line_peers
from bench.fitting_repeats import repeats_table
from fitting import (
    Online,
    fit_circle,
    fit_cylindrical,
    fit_free,
    fit_line,
    fit_prismatic,
    fit_rigid,
    fit_rotary,
    fit_screw,
    select,
    warm_up,
)
from fitting.se3 import Array, rotation_exp
from fitting.synthetic import ORIENTATION_NOISE, POSITION_NOISE, axis_error, joint_poses

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
FAILED = 6.0
"""Multiples of the limit from which a run counts as failed."""
LIVE: dict[Callable[..., Any], dict[str, float]] = {
    fit_line: {"slide": 0.3},
    fit_circle: {"turn": 1.0},
    fit_prismatic: {"slide": 0.3},
    fit_rotary: {"turn": 1.0},
    fit_cylindrical: {"turn": 1.0, "slide": 0.1},
    fit_screw: {"turn": 3.0, "pitch": 0.02},
    fit_rigid: {},
    fit_free: {"turn": 1.0, "slide": 0.1},
}
"""What is followed live, and how the joint moves meanwhile."""


def disturbed(rng: np.random.Generator, points: Array, axis: Array, gross: float, bursts: float) -> tuple[Array, Array]:
    """Points with a share of gross outliers and a share in bursts of drift along the axis; and which are good."""
    n = len(points)
    points, good = points.copy(), np.ones(n, dtype=bool)
    while 1.0 - good.mean() < bursts:
        length = int(rng.integers(20, 60))
        first = int(rng.integers(0, n - length))
        shape = np.sin(np.pi * np.arange(1, length + 1) / (length + 1))
        points[first : first + length] += shape[:, None] * axis * rng.uniform(0.01, 0.04)
        good[first : first + length] = False
    bad = rng.random(n) < gross
    points[bad] += rng.uniform(-0.3, 0.3, (bad.sum(), 3))
    return points, good & ~bad


def circle_errors(peer: Peer, gross: float, bursts: float, runs: int) -> tuple[float, float, float]:
    """Geometric mean over arcs and radii of error over limit (axis, centre), and the share of failed runs."""
    logs, failed, count = [], 0, 0
    for degrees in (20, 45, 90, 180, 350):
        for radius in (0.05, 0.3, 0.8):
            squares = []
            for seed in range(count, count + runs):
                scene = joint_poses(seed, turn=np.radians(degrees), radius=radius)
                rng = np.random.default_rng(seed)
                points, good = disturbed(rng, scene.points, scene.axis, gross, bursts)
                tilt_limit, shift_limit = circle_limit(scene.angles[good], radius, POSITION_NOISE)
                tilt, shift = _errors(peer(points, seed), scene.axis, scene.point)
                ratio = np.array([tilt / tilt_limit, shift / shift_limit])
                count += 1
                if not ratio.max() < FAILED:
                    failed += 1
                squares.append(np.minimum(ratio, 1e3) ** 2)
            logs.append(0.5 * np.log(np.mean(squares, axis=0)))
    axis, center = np.exp(np.mean(logs, axis=0))
    return float(axis), float(center), failed / count


def line_errors(peer: Peer, gross: float, bursts: float, runs: int) -> tuple[float, float]:
    """Geometric mean over travels of error over limit, and the share of failed runs."""
    logs, failed, count = [], 0, 0
    for travel in (0.05, 0.3, 0.8):
        squares = []
        for seed in range(count, count + 2 * runs):
            scene = joint_poses(seed, slide=travel)
            across = np.cross(scene.axis, [0.6, 0.0, 0.8])
            rng = np.random.default_rng(seed)
            points, good = disturbed(rng, scene.points, across / np.linalg.norm(across), gross, bursts)
            tilt, _ = _errors(peer(points, seed), scene.axis, scene.point)
            ratio = tilt / line_limit(scene.slides[good], POSITION_NOISE)
            count += 1
            failed += not ratio < FAILED
            squares.append(min(ratio, 1e3) ** 2)
        logs.append(0.5 * np.log(np.mean(squares)))
    return float(np.exp(np.mean(logs))), failed / count


def _errors(found: tuple[Array, Array] | None, axis: Array, point: Array) -> tuple[float, float]:
    if found is None or not np.isfinite(found[0]).all():
        return np.inf, np.inf
    place, direction = found
    truth = axis * np.sign(direction @ axis or 1.0)
    tilt = float(np.linalg.norm(truth - direction))
    offset = place - point
    return tilt, float(np.linalg.norm(offset - (offset @ truth) * truth))


def cpu_ms(call: Callable[[], object], repeats: int) -> float:
    """Smallest CPU time of a call, milliseconds."""
    best = np.inf
    for _ in range(repeats):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return 1e3 * best


def peers_table(runs: int) -> list[str]:
    rows = [
        "| method | clean | 30 % gross | 30 % bursts | failures at 30 % gross | ms | × ours |",
        "|---|---|---|---|---|---|---|",
    ]
    scene = joint_poses(1, turn=1.5, radius=0.3)
    points, _ = disturbed(np.random.default_rng(1), scene.points, scene.axis, 0.3, 0.0)
    ours = 0.0
    for name, peer in circle_peers().items():
        few = runs if name.startswith("fitting") else max(runs // 4, 2)
        cells = [circle_errors(peer, gross, bursts, few) for gross, bursts in ((0.0, 0.0), (0.3, 0.0), (0.0, 0.3))]
        spent = cpu_ms(lambda peer=peer: peer(points, 0), 30)  # type: ignore[misc]
        ours = ours or spent
        errors = " | ".join(f"{axis:.2f} / {center:.2f}" for axis, center, _ in cells)
        rows.append(f"| {name} | {errors} | {cells[1][2]:.1%} | {spent:.2f} | {spent / ours:.1f} |")
    return rows


def ratios_table() -> list[str]:
    """How many times longer peers take than we do: smallest, middle and largest of three repetitions in this run."""
    rows = ["| circle, n = 1200, 30 % gross outliers | × ours |", "|---|---|"]
    scene = joint_poses(1, turn=1.5, radius=0.3)
    points, _ = disturbed(np.random.default_rng(1), scene.points, scene.axis, 0.3, 0.0)
    peers = circle_peers()
    times = {name: [] for name in peers}
    for _ in range(3):
        for name, peer in peers.items():
            times[name].append(cpu_ms(lambda peer=peer: peer(points, 0), 20))  # type: ignore[misc]
    ours = np.array(times.pop("fitting.fit_circle"))
    for name, spent in times.items():
        low, middle, high = np.sort(np.array(spent) / ours)
        rows.append(f"| {name} | {low:.1f}, {middle:.1f}, {high:.1f} |")
    return rows


def lines_table(runs: int) -> list[str]:
    rows = [
        "| method | clean | 30 % gross | 30 % bursts | failures at 30 % gross | ms | × ours |",
        "|---|---|---|---|---|---|---|",
    ]
    scene = joint_poses(1, slide=0.3)
    points, _ = disturbed(np.random.default_rng(1), scene.points, scene.axis, 0.3, 0.0)
    ours = 0.0
    for name, peer in line_peers().items():
        few = 1 if name.startswith("pyransac") else runs if name.startswith("fitting") else max(runs // 4, 2)
        cells = [line_errors(peer, gross, bursts, few) for gross, bursts in ((0.0, 0.0), (0.3, 0.0), (0.0, 0.3))]
        spent = cpu_ms(lambda peer=peer: peer(points, 0), 3 if few == 1 else 30)  # type: ignore[misc]
        ours = ours or spent
        errors = " | ".join(f"{axis:.2f}" for axis, _ in cells)
        rows.append(f"| {name} | {errors} | {cells[1][1]:.1%} | {spent:.2f} | {spent / ours:.1f} |")
    return rows


def poses_table(runs: int) -> list[str]:
    rows = ["| arc | radius | grip | outliers | axis | position | grip found |", "|---|---|---|---|---|---|---|"]
    for degrees, radius in ((10, 0.05), (20, 0.05), (20, 0.1), (70, 0.7), (90, 0.0)):
        rows += [_pose_row(degrees, radius, outliers, 0.0, runs) for outliers in (0.0, 0.3)]
    rows += [_pose_row(degrees, radius, 0.0, 15.0, runs) for degrees, radius in ((45, 0.3), (70, 0.7), (90, 0.3))]
    return rows


def _pose_row(degrees: float, radius: float, outliers: float, hand: float, runs: int) -> str:
    squares, grips = [], []
    first = int(1e4 * degrees + 1e3 * outliers)
    for seed in range(first, first + runs):
        scene = joint_poses(seed, turn=np.radians(degrees), radius=radius, outliers=outliers)
        poses = scene.poses.copy()
        direction = np.random.default_rng(seed).normal(size=3)
        turn = np.linspace(0.0, np.radians(hand), len(poses))[:, None] * direction / np.linalg.norm(direction)
        poses[:, :3, :3] = poses[:, :3, :3] @ rotation_exp(turn)
        fit = fit_rotary(poses)
        if not fit:
            grips.append("failed")
            continue
        angles = scene.angles[scene.good]
        limit = (
            circle_limit(angles, radius, POSITION_NOISE)
            if hand
            else rotary_limit(angles, radius, POSITION_NOISE, ORIENTATION_NOISE)
        )
        error = axis_error(fit, scene)
        squares.append([(error[0] / limit[0]) ** 2, (error[1] / limit[1]) ** 2])
        grips.append(fit.grip)
    axis, position = np.sqrt(np.mean(squares, axis=0))
    found = ", ".join(f"{grip} {grips.count(grip)}" for grip in sorted(set(grips)))
    held = f"turns {hand:.0f}° in the hand" if hand else "rigid"
    return f"| {degrees}° | {radius} m | {held} | {outliers:.0%} | {axis:.2f} | {position:.2f} | {found} |"


def honesty_table(runs: int) -> list[str]:
    rows = ["| fit | clean | 30 % outliers | AR(1) φ = 0.5 | φ = 0.9 |", "|---|---|---|---|---|"]
    for name in ("line", "circle", "rotary", "cylindrical"):
        cells = [_normalised(name, outliers, phi, runs) for outliers, phi in ((0, 0), (0.3, 0), (0, 0.5), (0, 0.9))]
        rows.append(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return rows


def _normalised(name: str, outliers: float, phi: float, runs: int) -> float:
    turn, slide, radius = {"line": (0.0, 0.3, 0.0), "cylindrical": (1.0, 0.1, 0.0)}.get(name, (1.0, 0.0, 0.3))
    fit_one: dict[str, Callable[..., object]] = {
        "line": lambda scene: fit_line(scene.points),
        "circle": lambda scene: fit_circle(scene.points),
        "rotary": lambda scene: fit_rotary(scene.poses),
        "cylindrical": lambda scene: fit_cylindrical(scene.poses),
    }
    squares = []
    first = int(1e4 * outliers + 1e5 * phi) + 7 * len(name)
    for seed in range(first, first + 3 * runs):
        scene = joint_poses(seed, turn=turn, slide=slide, radius=radius, n=600, outliers=outliers, phi=phi)
        fit = fit_one[name](scene)
        squares.append(axis_error(fit, scene)[2])
    return float(np.mean(squares))


def other_times() -> list[str]:
    scene = joint_poses(1, turn=1.0, radius=0.3, outliers=0.3)
    rows = ["| what | CPU ms |", "|---|---|"]
    for n in (300, 1200, 5000, 20_000, 100_000):
        rows.append(f"| fit_circle, n = {n} | {cpu_ms(_circle_of(n), 20):.2f} |")
        rows.append(f"| fit_line, n = {n} | {cpu_ms(_line_of(n), 20):.2f} |")
    rows.append(f"| fit_rotary, n = 1200, 30 % outliers | {cpu_ms(lambda: fit_rotary(scene.poses), 10):.2f} |")
    rows.append(f"| select, n = 1200, 30 % outliers | {cpu_ms(lambda: select(scene.poses), 3):.1f} |")
    for fitter, movement in LIVE.items():
        live = joint_poses(2, n=100_000, radius=0.3, **movement)
        for length in (20_000, 36_000, 100_000) if fitter in (fit_circle, fit_rotary) else (36_000,):
            samples = (live.points if fitter in (fit_circle, fit_line) else live.poses)[:length]
            rows.append(
                f"| Online({fitter.__name__}) query after {length} samples | {_query_ms(fitter, samples):.2f} |"
            )
    return rows


def _query_ms(fitter: Callable[..., Any], samples: Array) -> float:
    online = Online(fitter)
    online.feed(samples)
    best = np.inf
    for k in range(10):
        # Samples until one is kept: otherwise the answer is the cached one.
        kept = len(online.indices)
        while len(online.indices) == kept:
            online.feed(samples[k])
        best = min(best, cpu_ms(online.fit, 1))
    return best


def _circle_of(n: int) -> Callable[[], object]:
    points = joint_poses(1, turn=1.0, radius=0.3, outliers=0.3, n=n).points
    return lambda: fit_circle(points)


def _line_of(n: int) -> Callable[[], object]:
    points = joint_poses(1, slide=0.3, outliers=0.3, n=n).points
    return lambda: fit_line(points)


def main() -> int:
    """Run all, print the document and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--print", action="store_true", help="print only, leave docs/benchmarks.md alone")
    arguments = parser.parse_args()
    warm_up()
    runs = 8 if arguments.quick else 24
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        "# Benchmarks of the fits",
        "",
        (
            f"Made by `python -m bench.fitting` on {dt.datetime.now(tz=dt.UTC).date()}: {os.cpu_count()} cores "
            f"({platform.machine()}), one thread, load {load}, Python {platform.python_version()}, {runs} runs a cell. "
            "Position noise 0.5 mm, orientation noise 0.1°, n = 1200 unless said otherwise. "
            "Times are CPU time, the smallest of several calls."
        ),
        "",
        "## Circles from positions: error over the Cramér–Rao limit, axis / centre",
        "",
        "Geometric mean over arcs of 20° to 350° and radii of 0.05 to 0.8 m; failed: more than 6 times the limit.",
        "",
        (
            "Peers are told 2 mm for an inlier. scikit-image: `ransac` with 100 trials around a 3-D circle as a "
            "user writes it. scikit-learn: `RANSACRegressor` of a plane, then of a circle in it, by default; and "
            "around the same 3-D circle as an estimator, with as many trials as scikit-image, and stopping early as "
            "it does by default. pyransac3d and Open3D: 200 trials, then the algebraic circle of their inliers; Open3D "
            "where it can be imported."
        ),
        "",
        *peers_table(runs),
        "",
        "Time over ours, smallest, middle and largest of three repetitions in this run:",
        "",
        *ratios_table(),
        "",
        "## Lines",
        "",
        *lines_table(runs),
        "",
        "## Rotary joints from poses: error over the limit of poses (of positions where the grip turned)",
        "",
        *poses_table(runs),
        "",
        "## Honest covariances: mean normalised squared error of the four axis parameters (4 is right)",
        "",
        *honesty_table(runs),
        "",
        "## Real repeats: spread of the axes of takes of one joint about their mean",
        "",
        *repeats_table(),
        "",
        "## Time",
        "",
        *other_times(),
        "",
    ]
    text = "\n".join(lines)
    sys.stdout.write(text)
    if not arguments.print:
        DOCUMENT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
