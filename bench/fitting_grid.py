"""Circles and lines under many kinds of disturbance, against the Cramér–Rao limit: ``python -m bench.fitting_grid``.

Each run draws its own arc (20° to 350°) or travel, radius, number of samples, noise, pace and whether the noise is
told; a cell is one kind of disturbance at one share of the samples. Errors are rms multiples of the limit of the
undisturbed samples; a run beyond 6 times the limit, or without a fit, has failed and is counted apart.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.fitting_limit import circle_limit, line_limit
from fitting import fit_circle, fit_line, warm_up
from fitting.se3 import Array, complete_axis

FAILED = 6.0
IDENTIFIABLE = 8.0
"""Radius over the standard deviation with which it can be known, above which a run counts."""


@dataclass(frozen=True)
class Path:
    """A take without disturbance: its points, true axis and a point on it, the coordinate of each sample, and frames.

    frames: (n, 3, 3), rows are the tangent and the two directions across, of which the last is the circle's axis.
    """

    points: Array
    axis: Array
    point: Array
    coordinates: Array
    frames: Array
    noise: float

    def limits(self, good: Array, radius: float) -> Array:
        """Smallest rms of axis (rad) and, for a circle, centre (m)."""
        if radius:
            return np.array(circle_limit(self.coordinates[good], radius, self.noise))
        return np.array([line_limit(self.coordinates[good], self.noise)])


Disturbance = Callable[[np.random.Generator, Path, float], tuple[Array, Array]]
"""Points as disturbed, and which of them are (n,), for a share of the samples."""


def moved(rng: np.random.Generator, radius: float, reach: float, n: int, noise: float) -> Path:
    """A hand follows an arc of ``reach`` radians, or a line of ``reach`` metres (radius 0), at one of three paces."""
    time = np.linspace(0.0, 1.0, n)
    pace = rng.integers(3)
    way = (time, 0.5 * (1.0 - np.cos(np.pi * time)), 0.5 * (1.0 - np.cos(2.0 * np.pi * time)))[pace]
    frame = complete_axis(_unit(rng))
    origin, q = rng.uniform(-1.0, 1.0, 3), reach * way
    x, y, z = frame.T
    if radius:
        c, s = np.cos(q)[:, None], np.sin(q)[:, None]
        points = origin + radius * (c * x + s * y)
        frames = np.stack([c * y - s * x, c * x + s * y, np.broadcast_to(z, (n, 3))], axis=1)
    else:
        points = origin + q[:, None] * z
        frames = np.broadcast_to(np.stack([z, x, y]), (n, 3, 3))
    return Path(points + noise * rng.normal(size=(n, 3)), z, origin, q, frames, noise)


def _unit(rng: np.random.Generator) -> Array:
    vector = rng.normal(size=3)
    return np.asarray(vector / np.linalg.norm(vector))


def _scattered(rng: np.random.Generator, n: int, share: float) -> Array:
    return np.asarray(rng.random(n) < share)


def _stretch(rng: np.random.Generator, n: int, share: float) -> Array:
    bad = np.zeros(n, dtype=bool)
    first = int(rng.integers(0, n - int(share * n) + 1))
    bad[first : first + int(share * n)] = True
    return bad


def _bursts(shift: Callable[[np.random.Generator, Path, slice], Array], shortest: float, longest: float) -> Disturbance:
    """Stretches between two shares of the take, each moved by ``shift``, until the share is disturbed."""

    def disturb(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
        n = len(path.points)
        points, bad = path.points.copy(), np.zeros(n, dtype=bool)
        while bad.mean() < share:
            length = max(int(rng.uniform(shortest, longest) * n), 5)
            first = int(rng.integers(0, n - length))
            part = slice(first, first + length)
            if not bad[part].any():
                points[part] += shift(rng, path, part)
                bad[part] = True
            elif bad.mean() > 0.9 * share:
                break
        return points, bad

    return disturb


def _once(shift: Callable[[np.random.Generator, Path, slice], Array]) -> Disturbance:
    """One stretch that fills the share of the take, moved by ``shift``."""

    def disturb(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
        points, bad = path.points.copy(), _stretch(rng, len(path.points), share)
        first = int(bad.argmax())
        part = slice(first, first + int(bad.sum()))
        points[part] += shift(rng, path, part)
        return points, bad

    return disturb


def _swell(direction: int, least: float, most: float) -> Callable[[np.random.Generator, Path, slice], Array]:
    """Away and back, along a row of the frames (3: anywhere), by so many metres."""

    def shift(rng: np.random.Generator, path: Path, part: slice) -> Array:
        length = part.stop - part.start
        shape = np.sin(np.pi * np.arange(1, length + 1) / (length + 1)) * rng.choice([-1.0, 1.0])
        unit = np.broadcast_to(_unit(rng), (length, 3)) if direction == 3 else path.frames[part, direction]
        return np.asarray(shape[:, None] * unit * rng.uniform(least, most))

    return shift


def _offset(least: float, most: float) -> Callable[[np.random.Generator, Path, slice], Array]:
    """Elsewhere, by so many metres."""
    return lambda rng, _path, part: np.broadcast_to(_unit(rng) * rng.uniform(least, most), (part.stop - part.start, 3))


def _gross(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
    bad = _scattered(rng, len(path.points), share)
    return path.points + bad[:, None] * rng.uniform(-0.3, 0.3, path.points.shape), bad


def _in_plane(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
    bad = _scattered(rng, len(path.points), share)
    moves = rng.uniform(-0.3, 0.3, path.points.shape)
    return path.points + bad[:, None] * (moves - (moves @ path.axis)[:, None] * path.axis), bad


def _cluster(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
    bad = _scattered(rng, len(path.points), share)
    middle = path.points[rng.integers(len(bad))] + 0.03 * _unit(rng)
    around = middle + rng.uniform(0.01, 0.03) * rng.normal(size=path.points.shape)
    return np.where(bad[:, None], around, path.points), bad


def _held(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
    """The tracker repeats its last pose, digit for digit, while the hand goes on: one sample many times."""
    bad = _stretch(rng, len(path.points), share)
    points = path.points.copy()
    points[bad] = points[np.argmax(bad)]
    bad[np.argmax(bad)] = False
    return points, bad


def _trembling(rng: np.random.Generator, path: Path, share: float) -> tuple[Array, Array]:
    """The tracker sticks where it was, and trembles there as ever, while the hand goes on."""
    bad = _stretch(rng, len(path.points), share)
    points = path.points.copy()
    points[bad] = points[bad.argmax()] + path.noise * rng.normal(size=(int(bad.sum()), 3))
    return points, bad


def _pile(rng: np.random.Generator, path: Path, bad: Array) -> tuple[Array, Array]:
    place = path.points[rng.integers(len(bad))] + _unit(rng) * rng.uniform(0.02, 0.2)
    return np.where(bad[:, None], place + path.noise * rng.normal(size=path.points.shape), path.points), bad


def _other(rng: np.random.Generator, path: Path, bad: Array) -> tuple[Array, Array]:
    """Another marker, on another path of the same kind."""
    extent = float(np.ptp(path.points, axis=0).max())
    other = moved(rng, 0.3, min(1.5, extent / 0.3 + 0.3), len(bad), path.noise).points
    other += path.points.mean(axis=0) + 0.1 * _unit(rng) - other.mean(axis=0)
    return np.where(bad[:, None], other, path.points), bad


def _replaced(
    there: Callable[[np.random.Generator, Path, Array], tuple[Array, Array]],
    chosen: Callable[[np.random.Generator, int, float], Array],
) -> Disturbance:
    """Samples of which ``chosen`` makes a share bad are where ``there`` says."""
    return lambda rng, path, share: there(rng, path, chosen(rng, len(path.points), share))


DISTURBANCES: dict[str, tuple[Disturbance, tuple[float, ...]]] = {
    "none": (lambda _rng, path, _share: (path.points, np.zeros(len(path.points), dtype=bool)), (0.0,)),
    "gross, scattered": (_gross, (0.1, 0.3, 0.5)),
    "gross, in the circle's plane": (_in_plane, (0.1, 0.3)),
    "a cluster near the path": (_cluster, (0.1, 0.3)),
    "bursts along the axis, 10–40 mm": (_bursts(_swell(2, 0.01, 0.04), 0.02, 0.05), (0.1, 0.3)),
    "bursts along the radius, 10–40 mm": (_bursts(_swell(1, 0.01, 0.04), 0.02, 0.05), (0.1, 0.3)),
    "bursts anywhere, 10–40 mm": (_bursts(_swell(3, 0.01, 0.04), 0.02, 0.05), (0.1, 0.3)),
    "offsets of 5–50 mm": (_bursts(_offset(0.005, 0.05), 0.02, 0.06), (0.1, 0.3)),
    "one offset of 5–50 mm": (_bursts(_offset(0.005, 0.05), 0.1, 0.1), (0.1,)),
    "slow drifts of 4–8 mm": (_bursts(_swell(3, 0.004, 0.008), 0.08, 0.1), (0.1, 0.3)),
    "slow drifts of 2–4 mm": (_bursts(_swell(3, 0.002, 0.004), 0.08, 0.1), (0.1,)),
    "the last pose repeated": (_held, (0.1, 0.3)),
    **{
        f"{name}, {spread}": (_replaced(there, chosen), (0.1, 0.3))
        for name, there in (("a pile elsewhere", _pile), ("another path", _other))
        for spread, chosen in (("in one stretch", _stretch), ("scattered", _scattered))
    },
    "one drift of 2–4 mm": (_once(_swell(3, 0.002, 0.004)), (0.2, 0.3)),
    "one drift of 4–8 mm": (_once(_swell(3, 0.004, 0.008)), (0.2, 0.3)),
    "one drift along the axis, 2–8 mm": (_once(_swell(2, 0.002, 0.008)), (0.2, 0.3)),
    "one offset of 3–10 mm": (_once(_offset(0.003, 0.01)), (0.2, 0.3)),
    "one place, trembling": (_trembling, (0.2, 0.3)),
}


def ratios(seed: int, disturb: Disturbance, share: float, *, circle: bool) -> Array:
    """Errors over limits of one run, (2,) for a circle, (1,) for a line; infinite without a fit."""
    rng = np.random.default_rng(seed)
    while True:
        n, noise = int(np.exp(rng.uniform(np.log(300), np.log(5000)))), rng.uniform(2e-4, 1e-3)
        radius = np.exp(rng.uniform(np.log(0.05), np.log(0.8))) if circle else 0.0
        reach = np.radians(np.exp(rng.uniform(np.log(20), np.log(350)))) if circle else rng.uniform(0.05, 0.8)
        path = moved(rng, radius, reach, n, noise)
        points, bad = disturb(rng, path, share)
        limits = path.limits(~bad, radius)
        if not circle or limits[1] * IDENTIFIABLE < radius:
            break
    fit = (fit_circle if circle else fit_line)(points, noise if rng.random() < 0.5 else None, seed)
    if not fit:
        return np.full(len(limits), np.inf)
    axis = path.axis * np.sign(path.axis @ fit.axis)
    away = fit.point - path.point
    errors = np.array([np.linalg.norm(fit.axis - axis), np.linalg.norm(away - (away @ axis) * axis)])
    return np.asarray(errors[: len(limits)] / limits)


def table(runs: int, seed: int, only: str = "") -> list[str]:
    """Rows of Markdown, one for each cell, and the geometric mean over them."""
    rows = [
        "| disturbance | share | circle: axis | centre | failed | line: axis | failed |",
        "|---|---|---|---|---|---|---|",
    ]
    logs = []
    lost = np.zeros(2, dtype=int)
    cells = [(name, disturb, share) for name, (disturb, shares) in DISTURBANCES.items() for share in shares]
    for number, (name, disturb, share) in enumerate(cells):
        if only not in name:
            continue
        row, means = f"| {name} | {share:.0%} ", []
        for k, circle in enumerate((True, False)):
            seeds = range(seed + 1_000_000 * (2 * number + k), seed + 1_000_000 * (2 * number + k) + runs)
            found = np.array([ratios(s, disturb, share, circle=circle) for s in seeds])
            failed = ~(found.max(axis=1) < FAILED)
            lost[k] += failed.sum()
            rms = np.sqrt((found[~failed] ** 2).mean(axis=0))
            means += rms.tolist()
            row += "".join(f"| {value:.2f} " for value in rms) + f"| {failed.sum()} "
            if failed.any() and only:
                row += str([s - seeds.start for s in np.asarray(seeds)[failed]][:12])
        rows.append(row + "|")
        logs.append(np.log(means))
        sys.stderr.write(rows[-1] + "\n")
    mean = np.exp(np.mean(logs, axis=0))
    total = runs * len(logs)
    circles, lines = lost / total
    rows.append(f"| all | | {mean[0]:.2f} | {mean[1]:.2f} | {circles:.3%} | {mean[2]:.2f} | {lines:.3%} |")
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs a cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cells whose name contains this; tells which seeds failed")
    arguments = parser.parse_args()
    warm_up()
    sys.stdout.write("\n".join(table(arguments.runs, arguments.seed, arguments.only)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
