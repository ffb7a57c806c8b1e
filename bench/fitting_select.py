"""Which joint was it? ``python -m bench.fitting_select [RUNS] [--seed S] [--only TYPE] [--wrong]``.

Draws movements of each type at random (size, radius, pitch, noise, correlated noise, slow play of the hand, turning
grips, outliers, samples, pace) and prints how often ``select`` names which. What is below 15° and 5 cm, or a screw that
advanced less than 5 mm, is asked apart: there the simpler joint and "cannot tell" are right, too.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.fitting_poses import movement
from fitting import select, warm_up
from fitting.se3 import Array, frame, rotation_exp
from fitting.synthetic import correlated

_ALIKE = 0.95
"""Correlation of turn and slide from which a free movement is as good as a screw's."""
KINDS = ("rigid", "prismatic", "rotary", "screw", "cylindrical")


@dataclass(frozen=True)
class Case:
    """Poses of a take, what moved, and in words how it was drawn."""

    poses: Array
    kind: str
    words: str


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _sway(rng: np.random.Generator, n: int) -> Array:
    """Slow wandering (n, 3) of unit standard deviation, one to eight waves in a take."""
    t = np.linspace(0.0, 1.0, n)[:, None, None]
    waves = np.sin(2.0 * np.pi * (rng.uniform(1.0, 8.0, (3, 5)) * t + rng.uniform(0.0, 1.0, (3, 5))))
    return np.asarray(waves.sum(axis=2) * np.sqrt(2.0 / 5.0))


def drawn(rng: np.random.Generator, kind: str, *, small: bool = False) -> Case:
    """One take of a joint type; ``small``: less movement than is asked for."""
    n = int(_log(rng, 200, 3000))
    turn = math.radians(_log(rng, 1.0, 8.0) if small else _log(rng, 15.0, 350.0))
    slide = _log(rng, 0.002, 0.02) if small else _log(rng, 0.05, 0.6)
    radius = _log(rng, 0.02, 0.8)
    pitch = 0.0
    angles, slides = np.zeros(n), np.zeros(n)
    if kind in ("rotary", "screw", "cylindrical"):
        angles = turn * movement(rng, n)
    if kind in ("prismatic", "cylindrical"):
        slides = slide * movement(rng, n)
    if kind == "cylindrical":
        # Turned and slid in an order of its own: who slides as he turns moves a screw.
        slides = angles
        while abs(np.corrcoef(angles, slides)[0, 1]) > _ALIKE:
            slides = np.sin(np.pi * (rng.uniform(0.7, 2.0) * np.linspace(0.0, 1.0, n) + rng.uniform()))
        slides = slides * slide / float(np.ptp(slides))
    if kind == "screw":
        angles *= rng.choice([1.0, 1.0, 4.0])
        least = 1e-3 if small else max(1e-3, 5e-3 / float(np.ptp(angles)))
        pitch = _log(rng, least, max(0.1, least)) * rng.choice([-1.0, 1.0])
        slides = pitch * angles
    p_noise, o_noise = _log(rng, 2e-4, 1e-3), math.radians(_log(rng, 0.02, 0.3))
    phi = float(rng.choice([0.0, 0.0, 0.5, 0.9]))
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    center = rng.uniform(-1.0, 1.0, 3)
    side = np.cross(axis, rng.normal(size=3))
    A = rotation_exp(angles[:, None] * axis)
    p = center + radius * (A @ (side / np.linalg.norm(side))) + slides[:, None] * axis
    R = A @ rotation_exp(rng.normal(size=3))
    play = bool(rng.random() < 0.5)
    if play:
        p = p + 1.5e-4 * _sway(rng, n)
        R = R @ rotation_exp(math.radians(0.1) * _sway(rng, n))
    in_hand = bool(kind in ("rotary", "prismatic") and radius * turn > 0.1 and slide > 0.1 and rng.random() < 0.15)
    if in_hand:
        # About the axis itself, a grip that turns is a joint that turns.
        first, about = rng.uniform(0.1, 0.7), np.cross(axis, rng.normal(size=3)) + rng.uniform(-0.5, 0.5) * axis
        about = R[0].T @ about
        course = np.clip((np.linspace(0.0, 1.0, n) - first) / 0.2, 0.0, 1.0)
        R = R @ rotation_exp(math.radians(rng.uniform(5.0, 15.0)) * course[:, None] * about / np.linalg.norm(about))
    p = p + p_noise * correlated(rng, n, phi)
    R = rotation_exp(o_noise * correlated(rng, n, phi)) @ R
    share = float(rng.choice([0.0, rng.uniform(0.0, 0.3)]))
    bad = rng.random(n) < share
    p[bad] += rng.uniform(-0.3, 0.3, (int(bad.sum()), 3))
    R[bad] = rotation_exp(0.5 * rng.normal(size=(int(bad.sum()), 3))) @ R[bad]
    words = (
        f"n {n}, turn {math.degrees(np.ptp(angles)):.0f}°, slide {1e3 * np.ptp(slides):.0f} mm, radius {radius:.2f} m, "
        f"pitch {1e3 * pitch:.1f} mm/rad, noise {1e3 * p_noise:.2f} mm {math.degrees(o_noise):.2f}°, φ {phi}, "
        f"outliers {share:.0%}{', play' if play else ''}{', turns in the hand' if in_hand else ''}"
    )
    return Case(frame(R, p), kind, words)


def told(case: Case) -> str:
    """What is said: a joint type, or that the data do not tell."""
    choice = select(case.poses)
    return (choice.kind if choice else "cannot tell") or "cannot tell"


def main() -> int:
    """Print the matrix; the exit status says whether a type is named rightly in less than 99 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(KINDS), help="types, separated by commas")
    parser.add_argument("--wrong", action="store_true", help="print what was named wrongly")
    arguments = parser.parse_args()
    warm_up()
    write: Callable[[str], int] = sys.stdout.write
    columns = (*KINDS, "cannot tell")
    write("| moved | " + " | ".join(columns) + " | right |\n|---|" + "---|" * (len(columns) + 1) + "\n")
    worst = 1.0
    for small in (False, True):
        for kind in arguments.only.split(","):
            counts = Counter[str]()
            if small and kind == "rigid":
                continue
            for run in range(arguments.runs):
                rng = np.random.default_rng([arguments.seed, KINDS.index(kind), int(small), run])
                case = drawn(rng, kind, small=small)
                answer = told(case)
                counts[answer] += 1
                if arguments.wrong and answer != kind and not small:
                    write(f"    run {run}: {kind} called {answer}: {case.words}\n")
            right = counts[kind] / arguments.runs
            if not small:
                worst = min(worst, right)
            name = f"{kind}, little" if small else kind
            write(f"| {name} | " + " | ".join(str(counts[one]) for one in columns) + f" | {right:.1%} |\n")
            sys.stdout.flush()
    return 0 if worst >= 0.99 else 1


if __name__ == "__main__":
    raise SystemExit(main())
