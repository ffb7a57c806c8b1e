"""Throw strange arrays at every fitter: ``python -m bench.fuzz_fitting 100000``. No crash, no NaN, no warning."""

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fitting
from fitting.result import FitFailure
from fitting.se3 import Array
from fitting.synthetic import strange_points, strange_poses

POINTS: list[Callable[..., Any]] = [fitting.fit_line, fitting.fit_circle]
POSES: list[Callable[..., Any]] = [
    fitting.fit_prismatic,
    fitting.fit_rotary,
    fitting.fit_cylindrical,
    fitting.fit_screw,
    fitting.fit_rigid,
    fitting.fit_pivot,
]
SLOW: list[Callable[..., Any]] = [fitting.fit_free, fitting.select]
"""Asked for one array in so many."""
_SELDOM = 16


def finite(value: Any) -> bool:
    """Whether every number in a result's JSON form is finite."""
    if isinstance(value, dict):
        return all(finite(item) for item in value.values())
    if isinstance(value, list):
        return all(finite(item) for item in value)
    return not isinstance(value, float) or bool(np.isfinite(value))


def _nearly_rigid(rng: np.random.Generator) -> Array:
    """Strange poses, of which some have rotations that are a little off, as rounding and filters leave them."""
    poses = strange_poses(rng)
    if rng.random() < 0.3:
        poses[:, :3, :3] += 10.0 ** rng.uniform(-12.0, -2.0) * rng.normal(size=(len(poses), 3, 3))
    return poses


def fuzz(arrays: int, seed: int) -> int:
    """Feed so many arrays, half points and half poses; give how many made fits (the others failed with a reason)."""
    warnings.simplefilter("error")
    rng = np.random.default_rng(seed)
    fitted = 0
    for number in range(arrays):
        points = bool(number % 2)
        fitters = POINTS if points else POSES if number % _SELDOM else POSES + SLOW
        make = strange_points if points else _nearly_rigid
        # One take in most, a list of takes of one joint in others; the noise told in some, however wrong.
        data = [make(rng) for _ in range(rng.integers(2, 4))] if rng.random() < 0.2 else make(rng)
        noise = {"noise": float(10.0 ** rng.integers(-9, 2))} if rng.random() < 0.2 else {}
        for fit in fitters:
            result = fit(data, **noise)
            if not finite(result.to_dict()):
                raise ArithmeticError(
                    f"{fit.__name__} gave a number that is not finite for array {number}, seed {seed}"
                )
            fitted += not isinstance(result, FitFailure)
    return fitted


def main() -> int:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arrays", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    fitted = fuzz(arguments.arrays, arguments.seed)
    sys.stdout.write(f"{arguments.arrays} arrays, {fitted} fits, the others failed with a reason\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
