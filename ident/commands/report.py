"""Write a session as one self-contained HTML page.

The page opens in any browser without a network: the object in 3-D with a slider for each joint, every take with its
track and fit, verdicts, forces, calibration, and a table of all numbers with their uncertainty. It prints well.

SESSION is a path, or a name in the sessions folder. The model is the one that the session's events lead to, or a file
given with --model.

examples:
  ident report out/door.mcap
  ident report out/door.mcap --model out/door.model.json -o door.html
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ident.tree import KinematicTree
    from sessions import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("session", help="session file, or its name")
    parser.add_argument("--model", type=Path, help="model file to show (default: the session's own fits)")
    parser.add_argument("-o", "--output", type=Path, help="page to write (default: SESSION with .html)")


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    from ident.model import load_model
    from ident.model.file import write_text
    from sessions import find_session, open_session
    from sessions.report import render_report

    path = find_session(args.session)
    session = open_session(path)
    model = _content(load_model(args.model)) if args.model is not None else _recorded_model(session)
    output = args.output or path.with_suffix(".html")
    write_text(output, render_report(session, model))
    print(f"Wrote {output}.")
    return 0


def _content(tree: "KinematicTree") -> dict[str, Any]:
    import json

    from ident.model.file import model_text

    content: dict[str, Any] = json.loads(model_text(tree))
    return content


def _recorded_model(session: "Session") -> dict[str, Any] | None:
    """The tree that the session's events lead to; None where they lead to none, as in an imported recording."""
    from ident.identify import build_tree
    from ident.workflow.events import event_from_dict
    from ident.workflow.machine import fold

    try:
        tree = build_tree(fold(event_from_dict(entry.content) for entry in session.events()))
    except (KeyError, TypeError, ValueError):
        return None
    return _content(tree) if tree.nodes else None
