"""Write an object description or a rig file to start from.

Without a file name, the text is printed. An existing file is never overwritten.

examples:
  ident new --template door object.toml
  ident new --template find-out
  ident new --rig rig.toml
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from ident.templates import TEMPLATES

    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--template", choices=sorted(TEMPLATES), help="an object description")
    what.add_argument("--rig", action="store_true", help="a rig file with every setting explained")
    parser.add_argument("file", type=Path, nargs="?", help="where to write it")


def run(args: argparse.Namespace) -> int:
    """Print or write the text."""
    from ident.description import render_description
    from ident.errors import IdentError
    from ident.model.file import write_text
    from ident.templates import RIG, TEMPLATES

    text = RIG if args.rig else render_description(TEMPLATES[args.template])
    if args.file is None:
        print(text, end="")
        return 0
    if args.file.exists():
        raise IdentError(f"{args.file} exists already. Choose another name, or remove it first.")
    write_text(args.file, text)
    print(f"Wrote {args.file}.")
    return 0
