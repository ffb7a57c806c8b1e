"""Write a model as URDF, MJCF, SDF, JSON or CSV, and say what the format could not say.

URDF, MJCF and SDF have a link for every joint and handle, with simple shapes so that it shows in any viewer. Handles
are links that do not move, unless --handle-joints makes joints of the gripper's freedom on them. JSON is the model
itself. CSV is a table of gripper frames: without --move, each joint is taken from its lower to its upper limit.

examples:
  ident export door.model.json --to urdf -o door.urdf
  ident export door.model.json --to mjcf
  ident export door.model.json --to csv --handle bar --move hinge=0:1.2 --steps 100 -o path.csv
"""

import argparse
import sys
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a *.model.json")
    parser.add_argument("--to", required=True, choices=["urdf", "mjcf", "sdf", "json", "csv"], help="format to write")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--handle-joints", action="store_true", help="write turns and slides of handles as joints")
    parser.add_argument("--handle", help="csv: the handle to hold (default: all)")
    parser.add_argument("--move", action="append", metavar="JOINT=FROM:TO", help="csv: move this joint, in rad or m")
    parser.add_argument("--steps", type=int, default=50, help="csv: rows per path (default: 50)")


def run(args: argparse.Namespace) -> int:
    """Render the model; the text goes to the file or standard output, what is lost to standard error."""
    from ident.export import render
    from ident.export.csv_text import render as render_csv
    from ident.model import load_model
    from ident.model.file import write_text

    tree = load_model(args.model)
    if args.to == "csv":
        rendered = render_csv(tree, handle=args.handle, move=_moves(args.move), steps=args.steps)
    else:
        rendered = render(tree, args.to, handle_joints=args.handle_joints)
    if args.output is None:
        print(rendered.text, end="")
    else:
        write_text(args.output, rendered.text)
        print(f"Wrote {args.output}.", file=sys.stderr)
    if rendered.lost:
        print(f"{args.to.upper()} cannot say:", file=sys.stderr)
        for text in rendered.lost:
            print(f"  - {text}", file=sys.stderr)
    return 0


def _moves(given: list[str] | None) -> Any:
    from ident.errors import IdentError

    if given is None:
        return None
    moves = {}
    for text in given:
        joint, _, span = text.partition("=")
        start, _, stop = span.partition(":")
        try:
            moves[joint] = (float(start), float(stop))
        except ValueError:
            raise IdentError(f"--move {text} is not understood. Write it as JOINT=FROM:TO, like hinge=0:1.2.") from None
    return moves
