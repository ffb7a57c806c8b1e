"""Place a model in the world by touching three of its marked points with the calibrated tip.

The first time, three points define the object's root frame: the first is its origin, the second lies on its
x-axis, the third on the side of its y-axis. The model is expressed in that frame and keeps the points. After the
cameras were recalibrated or the object was moved, touch the same points again: the model is where it was on the
object, and its placement says where that is in the world.

The tip comes from the stored calibration of the rig (see `ident calibrate tip`).

examples:
  ident register door.model.json --rig rig.toml
  ident register door.model.json --rig rig.toml --world-copy door.world.model.json
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a *.model.json; it is rewritten")
    parser.add_argument("--rig", required=True, help="rig file, or `sim`")
    parser.add_argument("--store", type=Path, help="folder of the calibrations (default: ~/ident/calibrations)")
    parser.add_argument("--session", type=Path, help="session file for the takes (default: in the session folder)")
    parser.add_argument("--world-copy", type=Path, metavar="FILE", help="also write the model in world coordinates")


def run(args: argparse.Namespace) -> int:
    """Probe the points, place the model, save it."""
    from calibration import CalibrationFailure, CalibrationStore
    from ident.calibrating import open_bench, probe_points, stored_tip
    from ident.model import load_model, save_model
    from ident.placing import in_world, marked_points, place

    tree = load_model(args.model)
    count = 3 if (marks := marked_points(tree)) is None else len(marks)
    with open_bench(args.rig, "register", args.session) as bench:
        tip = stored_tip(bench, CalibrationStore(args.store))
        points = probe_points(bench, tip, count, marks)
    if isinstance(points, CalibrationFailure):
        print(points.reason)
        return 1
    placed = place(tree, points)
    if isinstance(placed, CalibrationFailure):
        print(placed.reason)
        return 1
    tree, registration = placed
    save_model(tree, args.model)
    print(f"{registration.verdict}\nWrote {args.model}.")
    if args.world_copy is not None:
        save_model(in_world(tree), args.world_copy)
        print(f"Wrote {args.world_copy}.")
    return 0
