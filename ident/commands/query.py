"""Print the pose of a frame of a model.

Coordinates not given are at 0. The pose is that of the frame in the model's root: position in metres, quaternion xyzw.
With --uncertainty the standard deviations of the frame are printed too, as far as the joints' fits tell them.

examples:
  ident query door.model.json --frame bar --q hinge=0.4
  ident query door.model.json --frame bar --q hinge=0.4 --q bar.slide=0.1 --json
  ident query door.model.json
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a *.model.json")
    parser.add_argument("--frame", help="joint or handle (default: list all frames and coordinates)")
    parser.add_argument("--q", action="append", default=[], metavar="NAME=VALUE", help="coordinate in rad or m")
    parser.add_argument("--uncertainty", action="store_true", help="print standard deviations as well")
    parser.add_argument("--beyond-limits", action="store_true", help="allow coordinates outside their limits")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Answer the question."""
    import json

    import numpy as np

    from fitting.se3 import quaternion_from_rotation
    from ident.model import load_model

    tree = load_model(args.model)
    if args.frame is None:
        print(f"frames: {', '.join(tree.frame_names)}")
        for name, (low, high) in tree.limits.items():
            print(f"  {name}: {low:.6g} … {high:.6g}")
        return 0
    q = configuration(args.q)
    pose = tree.pose(args.frame, q, check_limits=not args.beyond_limits)
    xyzw = quaternion_from_rotation(pose[:3, :3])
    answer = {"frame": args.frame, "q": q, "position_m": pose[:3, 3].tolist(), "quaternion_xyzw": xyzw.tolist()}
    if args.uncertainty:
        std = np.sqrt(np.diag(tree.uncertainty(args.frame, q, check_limits=not args.beyond_limits)))
        answer |= {"position_std_m": std[:3].tolist(), "orientation_std_rad": std[3:].tolist()}
    if args.json:
        print(json.dumps(answer))
        return 0
    print(f"{args.frame} in root at {', '.join(args.q) or 'q = 0'}")
    for label, key, digits in (
        ("position (m)", "position_m", 6),
        ("quaternion xyzw", "quaternion_xyzw", 8),
        ("position std (m)", "position_std_m", 6),
        ("orientation std (rad)", "orientation_std_rad", 6),
    ):
        values = answer.get(key)
        if isinstance(values, list):
            print(f"  {label:22}" + " ".join(f"{v: .{digits}f}" for v in values))
    return 0


def configuration(given: list[str]) -> dict[str, float]:
    """Coordinates by name from words like ``hinge=0.4``."""
    from ident.errors import IdentError

    q = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            q[name] = float(value)
        except ValueError:
            raise IdentError(f"--q {text} is not understood. Write it as NAME=VALUE, like hinge=0.4.") from None
    return q
