"""Calibrate tip, sensor frame and weight, or look after the calibrations that are stored.

  tip      where the gripper's tip is in the tracked body: two turns on a bar, or pivoting in a dimple
  weight   how the sensor is mounted, its bias, and mass and centre of mass of what hangs on it; `ft` is the same
  all      tip, then weight
  list     the stored calibrations, newest first
  show     one of them, in plain words
  remove   delete one of them

While a take runs, it says how precise the result is by now and what is still missing; it ends by itself when it
is good enough. Calibrations are found again automatically when the same rig is used, and refused with the reason
when the body was redefined or they are too old. The takes are kept in a session.

examples:
  ident calibrate tip --rig rig.toml
  ident calibrate tip --method pivoting --rig rig.toml
  ident calibrate all --rig sim
  ident calibrate list
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibration import CalibrationStore
    from ident.calibrating import Bench

_MEASURED = ("tip", "ft", "weight", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("what", choices=(*_MEASURED, "list", "show", "remove"))
    parser.add_argument("name", nargs="?", help="with show and remove: name of a calibration, or its beginning")
    parser.add_argument("--rig", help="rig file, or `sim`")
    parser.add_argument("--method", choices=("two-rotations", "pivoting"), default="two-rotations", help="for the tip")
    parser.add_argument("--store", type=Path, help="folder of the calibrations (default: ~/ident/calibrations)")
    parser.add_argument("--session", type=Path, help="session file for the takes (default: in the session folder)")


def run(args: argparse.Namespace) -> int:
    """Measure, or look after the store."""
    from calibration import CalibrationStore, describe
    from ident.errors import IdentError

    store = CalibrationStore(args.store)
    if args.what in _MEASURED:
        if not args.rig:
            raise IdentError("Say which rig to calibrate: --rig rig.toml, or --rig sim to try it.")
        return _measure(args, store)
    if args.what == "list":
        return _list(store)
    if not args.name:
        raise IdentError(f"Say which one: ident calibrate {args.what} NAME. `ident calibrate list` shows the names.")
    if args.what == "remove":
        print(f"Removed {store.remove(args.name)}.")
        return 0
    entry = store.get(args.name)
    print(describe(entry.record) if entry.record is not None else entry.problem)
    return 0


def _list(store: "CalibrationStore") -> int:
    entries = store.entries()
    for entry in entries:
        verdict = entry.record.verdict if entry.record is not None else entry.problem
        print(f"{entry.name}  {verdict}")
    if not entries:
        print(f"There are no calibrations in {store.directory} yet. `ident calibrate tip --rig …` makes one.")
    return 0


def _measure(args: argparse.Namespace, store: "CalibrationStore") -> int:
    from ident.calibrating import open_bench
    from ident.preparing import prepare_fits

    prepare_fits()
    with open_bench(args.rig, "calibration", args.session) as bench:
        failures = _steps(bench, args.what, args.method, store)
    return 1 if failures else 0


def _steps(bench: "Bench", what: str, method: str, store: "CalibrationStore") -> int:
    from calibration import CalibrationFailure
    from ident.calibrating import calibrate_tip, calibrate_weight, keep

    failures = 0
    if what in ("tip", "all"):
        tip = calibrate_tip(bench, method)
        print(tip.reason if isinstance(tip, CalibrationFailure) else f"{tip.verdict} Kept as {keep(tip, bench, store)}")
        failures += isinstance(tip, CalibrationFailure)
    if what in ("ft", "weight", "all"):
        weighed = calibrate_weight(bench)
        if isinstance(weighed, CalibrationFailure):
            print(weighed.reason)
            failures += 1
        else:
            for found in weighed:
                print(f"{found.verdict} Kept as {keep(found, bench, store)}")
    return failures
