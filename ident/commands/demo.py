"""Identify a simulated object from end to end, and compare with the truth.

Starts a simulated motion-capture system and force/torque sensor on loopback, lets a scripted operator go
through the whole procedure over real sockets, and writes to the output folder:

  <object>.mcap         the session: every datagram, pose, wrench and event
  <object>.model.json   the kinematic tree
  <object>.urdf         the same for other programs
  <object>.png          the tree drawn over the measured data; .svg and .pdf are the same for papers

Ends with a table of truth against identified. The exit status is 0 only if every axis is within 1° and 5 mm.

examples:
  ident demo
  ident demo --object cabinet --seed 7 --out /tmp/cabinet
"""

import argparse
from pathlib import Path

DEFAULT_SPEED = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--object",
        default="door",
        help="door, cabinet, testbench, or the path of a scene file (default: door)",
    )
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same movements (default: 1)")
    parser.add_argument(
        "--speed", type=float, default=DEFAULT_SPEED, help=f"times real time (default: {DEFAULT_SPEED:g})"
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results (default: out)")


def run(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    import sys

    from ident.demo import run_demo
    from ident.errors import IdentError
    from ident.output import prepare_folder
    from ident.ui.table import comparison_text

    if not 0.1 <= args.speed <= 50.0:
        raise IdentError(f"--speed {args.speed:g} is out of range; choose 0.1 to 50.")
    folder = prepare_folder(args.out)
    rows = run_demo(args.object, seed=args.seed, speed=args.speed, folder=folder, out=sys.stdout)
    print(f"\n{comparison_text(rows)}")
    print(f"Session, model, URDF and picture are in {folder}/.")
    return 0 if all(row.within for row in rows) else 1
