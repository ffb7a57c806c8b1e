"""Fit recorded sessions again with today's algorithms, and show what changed.

One session gives a table of its joints and, with `--out`, the new model. Several sessions, or folders of them,
are an archive: they are fitted in parallel, each result is kept as it comes, and an interrupted run goes on where it
stopped. The table of all changes is written to OUT/refit.csv (or .parquet).

An imported recording tells nothing of the object: each tracked body is fitted as one joint of unknown type that moved
from beginning to end (named `joint` where there is one body). With `--type joint=rotary` you say what it is.

examples:
  ident refit door.mcap
  ident refit door.mcap --type lever=auto --set fitting.noise=0.0004
  ident refit ~/ident/sessions --jobs 2 --out refit
  ident refit ARCHIVE --dask tcp://cluster:8786 --table refit.parquet
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ident.refitting import RefitSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("sessions", nargs="+", type=Path, help="session files, or folders of them")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="fitting.noise in metres, or quality.LIMIT; may be repeated",
    )
    parser.add_argument(
        "--type", action="append", default=[], metavar="NODE=TYPE", help="fit a joint as another type, or as `auto`"
    )
    parser.add_argument("--jobs", type=int, default=1, help="sessions at a time (default: 1)")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster to work on")
    parser.add_argument("--out", type=Path, default=Path("refit"), help="folder for the results (default: refit)")
    parser.add_argument("--table", default="refit.csv", help="name of the table, .csv or .parquet (default: refit.csv)")


def run(args: argparse.Namespace) -> int:
    """Fit everything again and print what changed."""
    from rich.progress import Progress

    from ident.output import prepare_folder
    from ident.preparing import prepare_fits
    from ident.refitting import Change, refit_archive, write_table
    from ident.ui.table import changes_text
    from sessions import session_files

    settings = _settings(args.set, args.type)
    folder = prepare_folder(args.out)
    prepare_fits()
    paths = list(session_files(args.sessions))
    rows: list[Change] = []
    with Progress(transient=True) as progress:
        task = progress.add_task("refitting", total=len(paths))
        for _, found in refit_archive(paths, settings, folder, jobs=args.jobs, dask=args.dask):
            rows += found
            progress.advance(task)
    rows.sort(key=lambda row: row.session)
    write_table(rows, folder / args.table)
    print(changes_text(rows))
    failures = [row for row in rows if row.error]
    for row in failures:
        print(f"{row.session} {row.node}: {row.error}")
    print(f"{len(paths)} sessions, {len(failures)} failures; table: {folder / args.table}")
    return 1 if failures else 0


def _settings(pairs: list[str], types: list[str]) -> "RefitSettings":
    from dataclasses import fields

    from ident.errors import IdentError
    from ident.refitting import RefitSettings
    from ident.workflow.plan import HANDLE_KINDS, JOINT_KINDS
    from ident.workflow.quality import QualityLimits

    noise: float | None = None
    quality: dict[str, float] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            value = float(text)
        except ValueError:
            raise IdentError(f"--set {pair} is not of the form name=number.") from None
        if name == "fitting.noise":
            noise = value
        elif name.startswith("quality."):
            quality[name.removeprefix("quality.")] = value
        else:
            raise IdentError(f"--set {name} is unknown; there are fitting.noise and quality.LIMIT.")
    known = {f.name for f in fields(QualityLimits)}
    for name in quality.keys() - known:
        raise IdentError(f"'{name}' is no quality limit; known are {', '.join(sorted(known))}.")
    chosen: dict[str, str] = {}
    for pair in types:
        node, _, kind = pair.partition("=")
        if kind not in JOINT_KINDS + HANDLE_KINDS:
            raise IdentError(f"--type {pair} is not of the form joint=type; types are {', '.join(JOINT_KINDS)}.")
        chosen[node] = kind
    return RefitSettings(noise, chosen, quality)
