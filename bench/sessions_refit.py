"""Refitting an archive: two jobs against one, and a Dask cluster of two workers of which one is killed half way.

python -m bench.sessions_refit [SESSION] [--count 40]

Without a session, the door of `ident demo` is measured first. The archive consists of links to the session, each with
its own name. Warm-up is part of every figure, as it is for who runs the command.
"""

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from joblib.externals.loky import get_reusable_executor

from ident.refitting import Change, RefitSettings, refit_archive

GOAL = 1.8


def archive(session: Path, folder: Path, count: int) -> list[Path]:
    """Link the session so often."""
    paths = [folder / f"visit{i:03d}.mcap" for i in range(count)]
    for path in paths:
        os.link(session, path)
    return paths


def run(
    paths: list[Path], out: Path, at: Callable[[int], None] = lambda _: None, **how: object
) -> tuple[dict[str, list[Change]], float, float]:
    """Results by session, real and processor seconds (children included); ``at`` is told how many are done."""
    cpu, begun = sum(os.times()[:4]), time.monotonic()
    found: dict[str, list[Change]] = {}
    for path, rows in refit_archive(paths, RefitSettings(), out, **how):  # type: ignore[arg-type]
        found[path.name] = rows
        at(len(found))
    seconds = time.monotonic() - begun
    # The processor time of children is known when they have ended.
    get_reusable_executor().shutdown(wait=True)
    return found, seconds, sum(os.times()[:4]) - cpu


def on_dask(paths: list[Path], out: Path) -> tuple[dict[str, list[Change]], float]:
    """Results of two Dask workers; one of them is killed after half of the sessions."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        victim = next(iter(cluster.workers.values()))

        def kill(done: int) -> None:
            if done == len(paths) // 2:
                os.kill(victim.pid, 9)

        found, seconds, _ = run(paths, out, kill, dask=cluster.scheduler_address)
    return found, seconds


def main(session: Path | None, count: int) -> int:
    with tempfile.TemporaryDirectory(dir=session.parent if session else None) as name:
        folder = Path(name)
        if session is None:
            from ident.demo import run_demo

            run_demo("door", seed=1, speed=8.0, folder=folder, out=io.StringIO())
            session = folder / "door.mcap"
        visits = folder / "visits"
        visits.mkdir()
        paths = archive(session, visits, count)
        one, one_s, one_cpu = run(paths, folder / "one", jobs=1)
        two, two_s, two_cpu = run(paths, folder / "two", jobs=2)
        for jobs, seconds, cpu in ((1, one_s, one_cpu), (2, two_s, two_cpu)):
            print(f"{count} sessions, {jobs} at a time: {seconds:.1f} s, {cpu:.1f} s of processor")
        print(
            f"{one_s / two_s:.2f} times as fast (goal {GOAL}), {2 * one_cpu / two_cpu:.2f} times where two processors "
            f"are free; the same results: {one == two}"
        )
        same = one == two
        again, again_s, _ = run(paths, folder / "two", jobs=2)
        print(f"once more, all kept: {again_s:.2f} s, the same: {again == one}")
        try:
            dask, dask_s = on_dask(paths, folder / "dask")
        except ImportError:
            print("Dask is not installed: pip install 'ident[cluster]'")
        else:
            print(f"Dask, one of two workers killed half way: {dask_s:.1f} s, the same results: {dask == one}")
            same = same and dask == one
    return 0 if same and again == one and 2 * one_cpu / two_cpu >= GOAL else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("session", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    raise SystemExit(main(arguments.session, arguments.count))
