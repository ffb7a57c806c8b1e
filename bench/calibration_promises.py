"""Accuracy, honesty and refusals of the calibrations over many simulated rigs: ``python -m
bench.calibration_promises``.

Prints one table per promise: error (median and 95th percentile) against its limit, normalised error squared
against its expected mean, and how often each bad take is refused for its cause and each good one accepted.
"""

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.calibration_cases import BAD, GOOD
from bench.calibration_rigs import CLEAN, DIRTY, LOOSE, Conditions, Rig, Weight, normalised
from calibration import (
    CalibrationFailure,
    align_sensor,
    identify_load,
    probe_point,
    register_by_points,
    tip_by_known_pose,
    tip_by_pivoting,
    tip_by_two_rotations,
)
from fitting import se3

MOCAP = Conditions(play=0.0003, wobble=float(np.radians(0.2)), outliers=0.05)
Sample = tuple[dict[str, float], dict[str, float]] | None


def tip_sample(method: str, conditions: Conditions, seed: int) -> Sample:
    """Errors and normalised squares of one run; None when it was refused."""
    rig = Rig(seed, conditions)
    truth = rig.tip2body
    if method == "pivoting":
        tip = tip_by_pivoting(rig.pivoting())
    elif method == "known pose":
        tip = tip_by_known_pose(rig.holding(), rig.grip2world)
    else:
        tip = tip_by_two_rotations(rig.about_screws(), rig.about_handle(), near=truth[:3, :3])
    if not tip:
        return None
    error = truth[:3, 3] - tip.offset
    errors = {"tip mm": 1e3 * float(np.linalg.norm(error))}
    squares = {"tip": normalised(error, tip.covariance[:3, :3]) / 3}
    if tip.rotation is not None:
        turn = se3.rotation_log(truth[:3, :3] @ tip.rotation.T)
        errors["axes °"] = float(np.degrees(np.linalg.norm(turn)))
        squares["tip and axes"] = normalised(np.concatenate([error, turn]), tip.covariance) / 6
    return errors, squares


def weight_sample(holds: int, seed: int) -> Sample:
    """Errors and normalised squares of load and sensor frame; None when one was refused."""
    weight = Weight(seed)
    turns, wrenches = weight.holds(holds)
    sensor = align_sensor(turns, wrenches[:, :3])
    load = identify_load(turns @ weight.sensor2body, wrenches)
    if not sensor or not load:
        return None
    turn = se3.rotation_log(weight.sensor2body @ sensor.rotation.T)
    truth = np.concatenate([[weight.mass], weight.com, weight.bias])
    found = np.concatenate([[load.mass], load.com, load.force_bias, load.torque_bias])
    errors = {
        "sensor °": float(np.degrees(np.linalg.norm(turn))),
        "mass %": 100 * abs(load.mass / weight.mass - 1),
        "com mm": 1e3 * float(np.linalg.norm(load.com - weight.com)),
        "residual N": load.residual,
    }
    squares = {
        "sensor": normalised(turn, sensor.covariance) / 3,
        "load": normalised(truth - found, load.covariance) / 10,
    }
    return errors, squares


def place_sample(conditions: Conditions, seed: int) -> Sample:
    """Errors and normalised square of a root frame by three points, probed with a tip found by pivoting."""
    rig = Rig(seed, conditions)
    tip = tip_by_pivoting(rig.pivoting())
    if not tip:
        return None
    truth = se3.frame(rig.random_rotation(), rig.rng.uniform(-1.0, 1.0, 3))
    marks = np.array([[0.0, 0.0, 0.0], [rig.rng.uniform(0.2, 0.8), 0.0, 0.0], [*rig.rng.uniform(0.1, 0.5, 2), 0.0]])
    points = []
    for mark in se3.transform(truth, marks):
        point = probe_point(rig.touching(mark), tip)
        if isinstance(point, CalibrationFailure):
            return None
        points.append(point)
    found = register_by_points(points)
    if not found:
        return None
    turn = se3.rotation_log(truth[:3, :3] @ found.root2world[:3, :3].T)
    error = np.concatenate([truth[:3, 3] - found.root2world[:3, 3], turn])
    errors = {
        "origin mm": 1e3 * float(np.linalg.norm(error[:3])),
        "axes °": float(np.degrees(np.linalg.norm(turn))),
    }
    return errors, {"root": normalised(error, found.covariance) / 6}


def report(name: str, sample: Callable[[int], Sample], first: int, runs: int) -> None:
    done = [s for s in (sample(first + seed) for seed in range(runs)) if s is not None]
    print(f"\n{name}: {len(done)} of {runs} accepted")
    for key in done[0][0]:
        values = [errors[key] for errors, _ in done]
        print(f"  {key:14} median {np.median(values):7.3f}   95 % {np.percentile(values, 95):7.3f}")
    for key in done[0][1]:
        print(f"  normalised error squared / expected, {key}: {np.mean([s[key] for _, s in done]):.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--refusals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100_000, help="of the first rig")
    parser.add_argument("--only", default="", help="tables whose name contains this; `refusals` is one")
    args = parser.parse_args()
    levels = {"clean": CLEAN, "loose grip": LOOSE, "loose, 20 % outliers": DIRTY, "usual": MOCAP}
    tables: dict[str, Callable[[int], Sample]] = {}
    for method in ("pivoting", "two rotations", "known pose"):
        for level, conditions in levels.items():
            tables[f"{method}, {level}"] = partial(tip_sample, method, conditions)
    for holds in (6, 8, 12):
        tables[f"weight, {holds} holds"] = partial(weight_sample, holds)
    for level, conditions in levels.items():
        tables[f"registration, {level}"] = partial(place_sample, conditions)
    for name, sample in tables.items():
        if args.only in name:
            report(name, sample, args.seed, args.runs)
    if args.only in "refusals":
        refusals(2 * args.seed, args.refusals)


def refusals(first: int, runs: int) -> None:
    """Count bad takes that are refused for their cause, and good ones that are accepted."""
    print("\nrefused for the right cause")
    for name, (case, causes) in BAD.items():
        results = [case(first + seed) for seed in range(runs)]
        print(f"  {name:34} {sum(not r and r.cause in causes for r in results)} of {runs}", flush=True)
    print("good ones accepted")
    for name, good in GOOD.items():
        print(f"  {name:34} {sum(bool(good(2 * first + s)) for s in range(runs))} of {runs}", flush=True)


if __name__ == "__main__":
    main()
