"""List the recorded sessions.

Looks into the folder given, else that of $IDENT_SESSIONS, else ~/ident/sessions, and into the folders below it. A
file that cannot be read is listed with the reason, and never changed.

examples:
  ident sessions
  ident sessions /data/kitchen
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", type=Path, nargs="?", help="folder to look into (default: the sessions folder)")


def run(args: argparse.Namespace) -> int:
    """Print one line a session, newest last."""
    from ident.errors import IdentError
    from ident.ui.table import table
    from sessions import list_sessions, session_folder
    from sessions.text import date_text, duration_text, size_text

    folder = session_folder(args.folder)
    if args.folder is not None and not folder.is_dir():
        raise IdentError(f"There is no folder {folder}.")
    listed = sorted(list_sessions(folder), key=lambda entry: (entry.t0_ns, entry.path))
    if not listed:
        print(f"No sessions in {folder} yet. `ident run` and `ident import` make some.")
        return 0
    rows = []
    for entry in listed:
        state = entry.error or ("" if entry.closed else "not ended properly")
        if entry.lost_bytes:
            state += f"{', ' if state else ''}{size_text(entry.lost_bytes)} unreadable"
        times = ("", "") if entry.error else (date_text(entry.t0_ns), duration_text(entry.duration_s))
        takes = "" if entry.error else str(len(entry.takes))
        rows.append((str(entry.path.relative_to(folder)), entry.name, *times, takes, size_text(entry.size), state))
    print(table(("session", "object", "recorded", "length", "takes", "size", ""), rows, right=(3, 4, 5)))
    return 0
