"""Accuracy, honesty and refusals of the calibrations over many simulated rigs: ``python
bench/calibration.py``.

Prints one table per promise: error (median and 95th percentile) against its limit, normalised error squared
against its expected mean, and how often each bad take is refused for its cause and each good one accepted.
"""

import argparse
from collections.abc import Callable

import numpy as np

from bench.calibration_cases import BAD, GOOD
from bench.calibration_rigs import CLEAN, DIRTY, LOOSE, Conditions, Rig, Weight, normalised
from calibration import align_sensor, identify_load, tip_by_known_pose, tip_by_pivoting, tip_by_two_rotations
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


def report(name: str, sample: Callable[[int], Sample], runs: int) -> None:
    done = [s for s in (sample(100_000 + seed) for seed in range(runs)) if s is not None]
    print(f"\n{name}: {len(done)} of {runs} accepted")
    for key in done[0][0]:
        values = [errors[key] for errors, _ in done]
        print(f"  {key:14} median {np.median(values):7.3f}   95 % {np.percentile(values, 95):7.3f}")
    for key in done[0][1]:
        print(f"  normalised error squared / expected, {key}: {np.mean([s[key] for _, s in done]):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--refusals", type=int, default=200)
    runs = parser.parse_args()
    levels = {"clean": CLEAN, "loose grip": LOOSE, "loose, 20 % outliers": DIRTY, "usual": MOCAP}
    for method in ("pivoting", "two rotations", "known pose"):
        for level, conditions in levels.items():
            report(f"{method}, {level}", lambda s, m=method, c=conditions: tip_sample(m, c, s), runs.runs)
    for holds in (6, 8, 12):
        report(f"weight, {holds} holds", lambda s, h=holds: weight_sample(h, s), runs.runs)
    print("\nrefused for the right cause")
    for name, (case, causes) in BAD.items():
        results = [case(200_000 + seed) for seed in range(runs.refusals)]
        print(f"  {name:34} {sum(not r and r.cause in causes for r in results)} of {runs.refusals}")
    print("good ones accepted")
    for name, good in GOOD.items():
        print(f"  {name:34} {sum(bool(good(300_000 + s)) for s in range(runs.refusals))} of {runs.refusals}")


if __name__ == "__main__":
    main()
