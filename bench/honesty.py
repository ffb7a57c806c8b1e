"""Are the claimed covariances true? ``python -m bench.honesty [RUNS] [--drawn] [--only line,circle] [--seed S]``.

Prints the mean normalised squared error of the four axis parameters (4 is right) for each fitter, noise and geometry,
its standard error, and the share of runs inside the 95 % region. Allowed: 4 ± 10 % for white noise, ± 25 % with 30 %
outliers, ± 40 % with correlated noise; what is outside by more than two standard errors is marked, and then the exit
status is 1. With ``--drawn`` each run has a geometry of its own, drawn at random, and half of them are told the noise.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from fitting import fit_circle, fit_cylindrical, fit_line, fit_rotary, warm_up
from fitting.noise import chi2_quantile
from fitting.synthetic import POSITION_NOISE, Scene, axis_error, joint_poses


@dataclass(frozen=True)
class Geometry:
    """A movement: turn (degrees) at a radius (m), slide (m), samples."""

    turn: float
    slide: float
    radius: float
    n: int

    def __str__(self) -> str:
        moved = [f"{self.turn:.0f}° at {self.radius} m"] if self.turn else []
        moved += [f"{1e3 * self.slide:.0f} mm"] if self.slide else []
        return f"{', '.join(moved)}, n = {self.n}"


@dataclass(frozen=True)
class Noise:
    """A kind of noise, and by how much the mean may miss 4."""

    name: str
    outliers: float
    phi: float
    allowed: float


NOISES = (
    Noise("white", 0.0, 0.0, 0.10),
    Noise("30 % outliers", 0.3, 0.0, 0.25),
    Noise("AR(1) φ = 0.5", 0.0, 0.5, 0.40),
    Noise("AR(1) φ = 0.9", 0.0, 0.9, 0.40),
)
Fitter = Callable[[Scene, float | None], Any]
FITTERS: dict[str, tuple[Fitter, tuple[Geometry, ...]]] = {
    "line": (
        lambda scene, noise: fit_line(scene.points, noise),
        (Geometry(0, 0.05, 0.0, 300), Geometry(0, 0.3, 0.0, 300), Geometry(0, 0.3, 0.0, 3000)),
    ),
    "circle": (
        lambda scene, noise: fit_circle(scene.points, noise),
        (
            Geometry(20, 0, 0.3, 1200),
            Geometry(60, 0, 0.3, 300),
            Geometry(60, 0, 0.3, 3000),
            Geometry(350, 0, 0.05, 600),
        ),
    ),
    "rotary": (
        lambda scene, noise: fit_rotary(scene.poses, noise),
        (
            Geometry(20, 0, 0.05, 600),
            Geometry(60, 0, 0.3, 300),
            Geometry(60, 0, 0.3, 3000),
            Geometry(90, 0, 0.8, 1200),
        ),
    ),
    "cylindrical": (
        lambda scene, noise: fit_cylindrical(scene.poses, noise),
        (Geometry(20, 0.05, 0.05, 600), Geometry(60, 0.1, 0.02, 300), Geometry(60, 0.1, 0.02, 3000)),
    ),
}


DRAWN = (
    NOISES[0],
    NOISES[1],
    Noise("AR(1) φ = 0.3", 0.0, 0.3, 0.40),
    Noise("AR(1) φ = 0.7", 0.0, 0.7, 0.40),
    NOISES[3],
)
"""Noises for drawn geometries."""


def drawn(name: str, rng: np.random.Generator) -> Geometry:
    """A geometry for a fitter: arcs of 20–350°, radii of 0.05–0.8 m whose bend can be seen, travels of 30–500 mm."""
    n = int(rng.integers(300, 5000))
    if name == "line":
        return Geometry(0.0, float(rng.uniform(0.03, 0.5)), 0.0, n)
    turn, radius = float(rng.uniform(20.0, 350.0)), float(np.exp(rng.uniform(np.log(0.05), np.log(0.8))))
    if name == "cylindrical":
        return Geometry(turn, float(rng.uniform(0.02, 0.15)), 0.25 * radius, n)
    bend = radius * (1.0 - math.cos(math.radians(min(turn, 180.0) / 2.0)))
    return Geometry(turn, 0.0, radius, n) if bend * math.sqrt(n) > 0.04 else drawn(name, rng)


def _drawn(name: str, seed: int) -> Iterator[Geometry]:
    rng = np.random.default_rng(seed)
    while True:
        yield drawn(name, rng)


@dataclass(frozen=True)
class Cell:
    """What came out of the runs of one fitter, geometry and noise."""

    mean: float
    error: float
    """Standard error of the mean."""
    covered: float
    """Share of runs within the 95 % region."""
    failed: int

    def outside(self, noise: Noise) -> bool:
        """Whether the mean misses 4 by more than is allowed and chance explains."""
        return not abs(self.mean - 4.0) <= 4.0 * noise.allowed + 2.0 * self.error


def measured(fit_one: Fitter, geometries: Iterator[Geometry], noise: Noise, runs: int, seed: int, told: float) -> Cell:
    """Fit fresh scenes and compare claim and truth; ``told``: share of the runs that are told the noise."""
    squares: list[float] = []
    failed = 0
    for k, geometry in zip(range(runs), geometries, strict=False):
        scene = joint_poses(
            seed + k,
            turn=math.radians(geometry.turn),
            slide=geometry.slide,
            radius=geometry.radius,
            n=geometry.n,
            outliers=noise.outliers,
            phi=noise.phi,
        )
        fit = fit_one(scene, POSITION_NOISE if (k % 10) < 10.0 * told else None)
        if fit:
            squares.append(axis_error(fit, scene)[2])
        else:
            failed += 1
    if len(squares) < 2:
        return Cell(math.nan, 0.0, 0.0, failed)
    values = np.array(squares)
    covered = float((values < chi2_quantile(4, 0.95)).mean())
    return Cell(float(values.mean()), float(values.std() / math.sqrt(len(values))), covered, failed)


def main() -> int:
    """Print the grid; the exit status says whether a cell is outside."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=100, help="runs a cell (1000 takes about a quarter hour)")
    parser.add_argument("--only", default=",".join(FITTERS), help="fitters, separated by commas")
    parser.add_argument("--noise", default="", help="only noises with this in their name")
    parser.add_argument("--seed", type=int, default=20_000_000)
    parser.add_argument("--drawn", action="store_true", help="geometries drawn at random instead of the fixed ones")
    arguments = parser.parse_args()
    warm_up()
    chosen = [noise for noise in (DRAWN if arguments.drawn else NOISES) if arguments.noise in noise.name]
    sys.stdout.write("| fit | movement | " + " | ".join(noise.name for noise in chosen) + " |\n")
    sys.stdout.write("|---|---|" + "---|" * len(chosen) + "\n")
    bad = 0
    for name in arguments.only.split(","):
        fit_one, geometries = FITTERS[name]
        for geometry in (None,) if arguments.drawn else geometries:
            cells = []
            for noise in chosen:
                movements = _drawn(name, arguments.seed) if geometry is None else repeat(geometry)
                told = 0.5 if geometry is None else 0.0
                cell = measured(fit_one, movements, noise, arguments.runs, arguments.seed, told)
                outside = cell.outside(noise)
                bad += outside
                failed = f", {cell.failed} failed" if cell.failed else ""
                mark = "**" if outside else ""
                cells.append(f"{mark}{cell.mean:.2f}{mark} ± {cell.error:.2f} ({cell.covered:.1%}{failed})")
            sys.stdout.write(f"| {name} | {geometry or 'drawn'} | " + " | ".join(cells) + " |\n")
            sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
