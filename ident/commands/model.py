"""Check a model file and say what is wrong, with line numbers.

  ident model check FILE     every problem with its line; exit status 0 if there is none
  ident model schema         the JSON Schema of model files

examples:
  ident model check door.model.json
  ident model schema > model.schema.json
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="check | schema")
    check = verbs.add_parser("check", help="list every problem of a model file")
    check.add_argument("file", type=Path, help="a *.model.json")
    verbs.add_parser("schema", help="print the JSON Schema of model files")


def run(args: argparse.Namespace) -> int:
    """Check the file, or print the schema."""
    if args.verb == "schema":
        from ident.model.schema import json_schema
        from ident.model.text import pretty

        print(pretty(json_schema()))
        return 0
    from ident.model import load_model

    tree = load_model(args.file)
    joints, handles = len(tree.joints), len(tree.handles)
    print(f"{args.file} is a usable model: {tree.name}, {_count(joints, 'joint')}, {_count(handles, 'handle')}.")
    for name, node in tree.nodes.items():
        print(f"  {name}: {node.title} on {node.parent}")
    return 0


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
