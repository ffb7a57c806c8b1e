"""Axis spread between real repeats of one joint, ours against plain least squares: ``python -m bench.fitting_repeats``.

The takes are those of tum-vision/articulation in ``../shared/data/sturm``: a robot's hook pulls the same door or drawer
again and again. Nobody knows the true axis, but all takes have the same one.
"""

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.fitting_peers import Axis, circle_peers, line_peers
from fitting.se3 import Array

TRACKS = Path(__file__).parents[1] / "../shared/data/sturm"
MECHANISMS = {"dishwasher": "circle", "cabinet_one": "circle", "drawer_one": "line"}


def spread(axes: list[Array]) -> float:
    """Root mean square angle (rad) of axes, of either sign, from their mean direction."""
    mean = np.linalg.eigh(sum(np.outer(axis, axis) for axis in axes))[1][:, -1]
    cosines = np.clip(np.abs(np.array(axes) @ mean), 0.0, 1.0)
    return float(np.sqrt((np.arccos(cosines) ** 2).mean()))


def apart(axes: list[Array]) -> float:
    """Mean angle (rad) between two of the axes."""
    pairs = [np.arccos(min(abs(float(a @ b)), 1.0)) for a, b in combinations(axes, 2)]
    return float(np.mean(pairs))


def repeats_table() -> list[str]:
    """One row for each mechanism; a note where the recordings are absent."""
    if not TRACKS.is_dir():
        return ["The recordings of tum-vision/articulation are not here."]
    rows = ["| mechanism | takes | about their mean: ours | plain least squares | between two: ours | plain |"]
    rows.append("|---|---|---|---|---|---|")
    for mechanism, shape in MECHANISMS.items():
        peers = list((circle_peers() if shape == "circle" else line_peers()).values())
        takes = [np.loadtxt(path)[:, :3] for path in sorted((TRACKS / mechanism).glob("*.log"))]
        found = [_axes(fit, takes) for fit in (peers[0], peers[-1])]
        angles = [np.degrees(measure(axes)) for measure in (spread, apart) for axes in found]
        rows.append(f"| {mechanism} | {len(takes)} | " + " | ".join(f"{angle:.2f}°" for angle in angles) + " |")
    return rows


def _axes(fit: Callable[[Array, int], Axis], takes: list[Array]) -> list[Array]:
    found = [fit(take, 0) for take in takes]
    return [axis[1] for axis in found if axis is not None]


if __name__ == "__main__":
    sys.stdout.write("\n".join(repeats_table()) + "\n")
