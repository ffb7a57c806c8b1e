"""Measure ident itself: the source's evaluation, sweeps, real recordings, operator time.

  thesis   the source's experiments on the simulated rig, with its own method on the same data
  sweep    error and claimed uncertainty against arc, radius, noise, outliers, grip, occlusion and number of takes
  real     recordings without truth: how far repeats of one mechanism agree
  time     operator actions and seconds per joint and object
  page     put the results in the output folder together as one page

Results are written to the output folder as Markdown, CSV and a figure, with version, seed and parameters. The same
seed gives the same tables on any number of jobs, and an interrupted study goes on where it stopped.

examples:
  ident study thesis --trials 100 --jobs 2
  ident study sweep --jobs 2
  ident study real recordings/
  ident study time
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", type=Path, default=Path("study"), help="folder for the results (default: study)")
    simulated = argparse.ArgumentParser(add_help=False, parents=[common])
    simulated.add_argument("--trials", type=int, default=20, help="trials of each experiment (default: 20, sweep 50)")
    simulated.add_argument("--seed", type=int, default=1, help="the same seed gives the same tables (default: 1)")
    simulated.add_argument("--jobs", type=int, default=1, help="trials at a time (default: 1)")
    studies = parser.add_subparsers(dest="study", required=True, metavar="STUDY")
    studies.add_parser("thesis", parents=[simulated], help="the source's evaluation, with its method beside ours")
    sweep = studies.add_parser(
        "sweep", parents=[simulated], help="error and claimed uncertainty against what spoils a take"
    )
    sweep.set_defaults(trials=50)
    real = studies.add_parser("real", parents=[common], help="agreement of repeats in recordings without truth")
    real.add_argument("folder", type=Path, metavar="DIR", help="folder of tracks: x y z [qx qy qz qw] in metres")
    time = studies.add_parser("time", parents=[simulated], help="operator actions and seconds")
    time.add_argument("sessions", nargs="*", type=Path, help="recorded sessions, or folders of them, to add")
    page = studies.add_parser("page", parents=[common], help="one page of all results in the output folder")
    page.add_argument("--to", type=Path, default=Path("docs/evaluation.md"), help="default: docs/evaluation.md")


def run(args: argparse.Namespace) -> int:
    """Run one study."""
    from ident.errors import IdentError
    from ident.output import prepare_folder
    from ident.preparing import prepare_fits

    if getattr(args, "trials", 1) < 1 or getattr(args, "jobs", 1) < 1:
        raise IdentError("--trials and --jobs must be 1 or more.")
    prepare_folder(args.out)
    prepare_fits()
    return {"thesis": _thesis, "sweep": _sweep, "real": _real, "time": _time, "page": _page}[args.study](args)


def _thesis(args: argparse.Namespace) -> int:
    from ident.study.figures import save_thesis_figure
    from ident.study.scores import scored
    from ident.study.tables import thesis_markdown, thesis_rows, worse, write_csv
    from ident.study.thesis import study_thesis, tasks_of
    from ident.study.trials import provenance

    with _progress("thesis", len(tasks_of(args.seed, args.trials))) as done:
        found = study_thesis(args.seed, args.trials, args.out, jobs=args.jobs, on_done=done)
    about = provenance("thesis", args.seed, args.trials)
    rows = [scored(row, results) for row, results in found]
    text = thesis_markdown(rows)
    _write(args.out / "thesis.md", text, about)
    write_csv(args.out / "thesis.csv", thesis_rows(rows), about)
    save_thesis_figure(rows, args.out / "thesis.png", f"Errors over {args.trials} trials, seed {args.seed}")
    print(text)
    print(f"Table, CSV and figure are in {args.out}/ (thesis.md, thesis.csv, thesis.png).")
    return 1 if worse(rows) else 0


def _sweep(args: argparse.Namespace) -> int:
    from ident.study.figures import save_sweep_figure
    from ident.study.reports import sweep_markdown, sweep_rows
    from ident.study.sweep import study_sweep, tasks_of
    from ident.study.tables import write_csv
    from ident.study.trials import provenance

    with _progress("sweep", len(tasks_of(args.seed, args.trials))) as done:
        cells = study_sweep(args.seed, args.trials, args.out, jobs=args.jobs, on_done=done)
    about = provenance("sweep", args.seed, args.trials)
    text = sweep_markdown(cells)
    _write(args.out / "sweep.md", text, about)
    write_csv(args.out / "sweep.csv", sweep_rows(cells), about)
    for what in ("angle", "position"):
        title = f"Axis {what} of a hinge over {args.trials} trials, seed {args.seed}"
        save_sweep_figure(cells, args.out / f"sweep-{what}.png", what, title)
    print(text)
    print(f"Tables and heat maps are in {args.out}/ (sweep.md, sweep.csv, sweep-angle.png, sweep-position.png).")
    return 0


def _real(args: argparse.Namespace) -> int:
    from ident.errors import IdentError
    from ident.study.real import study_real, track_files
    from ident.study.reports import real_markdown, real_rows
    from ident.study.tables import write_csv
    from ident.study.trials import provenance

    if not args.folder.is_dir():
        raise IdentError(f"{args.folder} is no folder. Give one that holds recordings.")
    files = track_files(args.folder)
    with _progress("real", len(files)) as done:
        found, spreads = study_real(args.folder, on_done=done)
    about = provenance("real", 0, len(found), folder=args.folder.name)
    text = real_markdown(found, spreads)
    _write(args.out / "real.md", text, about)
    write_csv(args.out / "real.csv", real_rows(found), about)
    print(text)
    return 0


def _time(args: argparse.Namespace) -> int:
    from ident.study.reports import time_markdown, time_rows
    from ident.study.tables import write_csv
    from ident.study.timing import session_effort, study_time, tasks_of
    from ident.study.trials import provenance
    from sessions import session_files

    with _progress("time", len(tasks_of(args.seed, args.trials))) as done:
        efforts = study_time(args.seed, args.trials, args.out, jobs=args.jobs, on_done=done)
    efforts += [session_effort(path) for path in (session_files(args.sessions) if args.sessions else ())]
    about = provenance("time", args.seed, args.trials)
    text = time_markdown(efforts)
    _write(args.out / "time.md", text, about)
    write_csv(args.out / "time.csv", time_rows(efforts), about)
    print(text)
    return 0


def _page(args: argparse.Namespace) -> int:
    from ident.study.page import write_page

    write_page(args.out, args.to)
    print(f"Wrote {args.to}.")
    return 0


def _write(path: Path, text: str, about: Mapping[str, object]) -> None:
    told = ", ".join(f"{key} {value}" for key, value in about.items())
    path.write_text(f"<!-- {told} -->\n\n{text}", encoding="utf-8")


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True) as progress:
        task = progress.add_task(name, total=total)
        yield lambda n: progress.advance(task, n)
