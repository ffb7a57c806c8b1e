"""Draw a model: axes with their uncertainty, limits, handles and frames.

Where there is a display a window opens with a slider for each joint; where there is none, or with -o, the picture is
written to a file (PNG, SVG or PDF), by default beside the model.

examples:
  ident show door.model.json
  ident show door.model.json -o door.pdf --q hinge=0.8
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a *.model.json")
    parser.add_argument("-o", "--output", type=Path, help="write a picture instead of opening a window")
    parser.add_argument("--q", action="append", default=[], metavar="NAME=VALUE", help="coordinate in rad or m")


def run(args: argparse.Namespace) -> int:
    """Open a window, or write the picture and say where it is."""
    from ident.commands.query import configuration
    from ident.model import load_model
    from ident.plot.figure import save_model_figure
    from ident.plot.window import open_window

    tree = load_model(args.model)
    q = configuration(args.q)
    tree.pose("root", q)
    if args.output is None:
        reason = open_window(tree, q)
        if not reason:
            return 0
        print(f"No window: {reason}.")
    path = args.output or args.model.with_name(args.model.name.removesuffix(".json").removesuffix(".model") + ".png")
    save_model_figure(tree, path, q=q)
    print(f"Wrote {path}.")
    return 0
