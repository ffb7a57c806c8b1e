"""Make a model of a URDF, or a session of a recording.

FILE.urdf becomes FILE.model.json: the tree of its joints, with frames and limits. Meshes are not opened. Any other file
is taken for a recording and becomes a session, FILE.mcap: Motive CSV exports, logs of poses (x y z qx qy qz qw, one
line each) and ROS bags, decided by their contents. What was assumed or left out is listed. Nothing is overwritten.

examples:
  ident import cabinet.urdf
  ident import take01.csv --rate 120 -o visit.mcap
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, help="a URDF, or a recording")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: beside FILE)")
    parser.add_argument("--body", help="recordings: the tracked body to take, or the name to give to the only one")
    parser.add_argument(
        "--rate",
        type=float,
        default=100.0,
        metavar="HZ",
        help="samples per second of logs without times (default: 100)",
    )


def run(args: argparse.Namespace) -> int:
    """Import the file by its kind."""
    return _import_urdf(args) if args.file.suffix.lower() in (".urdf", ".xml") else _import_recording(args)


def _import_urdf(args: argparse.Namespace) -> int:
    from ident.model import save_model
    from ident.model.urdf import read_urdf

    imported = read_urdf(args.file)
    path = _free(args.output or args.file.with_suffix(".model.json"))
    save_model(imported.tree, path)
    tree = imported.tree
    print(f"Wrote {path}: {tree.name} with {len(tree.joints)} joints, {len(tree.joint_names)} of which move.")
    if imported.lost:
        print("Not taken over:")
        for text in imported.lost:
            print(f"  - {text}")
    return 0


def _import_recording(args: argparse.Namespace) -> int:
    from sessions.imports import import_recording

    path = _free(args.output or args.file.with_suffix(".mcap"))
    imported = import_recording(args.file, path, body=args.body, rate_hz=args.rate)
    print(
        f"Wrote {imported.path}: {imported.poses} poses of {', '.join(imported.bodies)}, {imported.wrenches} wrenches."
    )
    for note in imported.notes:
        print(f"  - {note}")
    return 0


def _free(path: Path) -> Path:
    from ident.errors import IdentError

    if path.exists():
        raise IdentError(f"{path} exists already. Choose another name with -o, or remove it first.")
    return path
