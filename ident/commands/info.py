"""Summarise a session: duration, rates, gaps, takes, size and health.

SESSION is a path, or a name in the sessions folder (see `ident sessions`). The exit status is 1 if something of the
session is missing or cannot be read.

examples:
  ident info door.mcap
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("session", help="session file, or its name")


def run(args: argparse.Namespace) -> int:
    """Read the session through and print what is in it."""
    from ident.ui.table import table
    from sessions import find_session, open_session
    from sessions.text import date_text, duration_text, size_text

    session = open_session(find_session(args.session))
    info = session.info()
    files = f"{info.parts} file{'s' if info.parts > 1 else ''}"
    facts = [
        ("session", str(info.path)),
        ("object", str(session.metadata.get("object", "–"))),
        ("recorded", date_text(info.t0_ns) or "date unknown"),
        ("length", f"{duration_text(info.duration_s)} min"),
        ("size", f"{size_text(info.size)} in {files}"),
        ("documents", ", ".join(info.documents) or "none"),
        ("events", str(info.events)),
        ("software", "ident " + str((session.metadata.get("software") or {}).get("ident", "unknown"))),
    ]
    print("\n".join(f"{name:<10} {value}" for name, value in facts))
    rows = [
        (
            s.name,
            str(s.count),
            f"{s.rate_hz:.1f} Hz",
            str(s.gaps),
            _milliseconds(s.longest_gap_s),
            f"{s.share_good:.1%}",
        )
        for s in info.streams
    ]
    if rows:
        print("\n" + table(("stream", "count", "rate", "gaps", "longest", "usable"), rows, right=(1, 2, 3, 4, 5)))
    takes = [
        (str(t.number), t.name, t.kind, duration_text((t.t0_ns - info.t0_ns) / 1e9), f"{t.duration_s:.1f} s")
        for t in info.takes
    ]
    if takes:
        print("\n" + table(("take", "of", "kind", "at", "length"), takes, right=(0, 3, 4)))
    print("\n" + ("\n".join(info.problems) or "Everything is there."))
    return 1 if info.problems else 0


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds else "–"
