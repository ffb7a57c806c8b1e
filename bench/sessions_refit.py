"""Refitting an archive: two jobs against one, and a Dask cluster of two workers of which one is killed half way.

python -m bench.sessions_refit [COUNT] [--session SESSION...]

The archive is made first: recordings of doors and drawers, each with its own noise, imported as sessions. With
measured sessions, which have several joints, it consists of links to those instead. Warm-up is part of every figure,
as it is for who runs the command. The ratio of processor times tells what two free processors would give when others
use the machine too.
"""

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib.externals.loky import get_reusable_executor

from fitting.se3 import quaternion_from_rotation
from fitting.synthetic import joint_poses
from ident.refitting import Change, RefitSettings, refit_archive
from sessions.imports import import_recording

GOAL = 1.8
SAMPLES = 1200
"""Ten seconds at 120 Hz."""


def recorded(folder: Path, count: int) -> list[Path]:
    """Make so many recordings: every other one a drawer, of different sizes and with noise of their own."""
    paths = []
    for seed in range(count):
        path = folder / f"visit{seed:03d}.mcap"
        turn, slide = (0.0, 0.2 + 0.001 * seed) if seed % 2 else (0.6 + 0.002 * seed, 0.0)
        scene = joint_poses(seed, turn=turn, slide=slide, radius=0.3, n=SAMPLES)
        log = folder / "visit.log"
        np.savetxt(log, np.hstack([scene.poses[:, :3, 3], quaternion_from_rotation(scene.poses[:, :3, :3])]))
        import_recording(log, path)
        log.unlink()
        paths.append(path)
    return paths


def linked(sessions: list[Path], folder: Path, count: int) -> list[Path]:
    """Link sessions, one after the other, so often in all."""
    paths = [folder / f"visit{i:03d}.mcap" for i in range(count)]
    for path, session in zip(paths, itertools.cycle(sessions), strict=False):
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


def main(sessions: list[Path], count: int) -> int:
    """Refit the archive in every way; the exit status says whether one was slow, or different."""
    with tempfile.TemporaryDirectory(dir=sessions[0].parent if sessions else None) as name:
        folder = Path(name)
        visits = folder / "visits"
        visits.mkdir()
        begun = time.monotonic()
        paths = linked(sessions, visits, count) if sessions else recorded(visits, count)
        print(f"{count} sessions made in {time.monotonic() - begun:.1f} s; load {os.getloadavg()[0]:.1f}", flush=True)
        one, one_s, one_cpu = run(paths, folder / "one", jobs=1)
        two, two_s, two_cpu = run(paths, folder / "two", jobs=2)
        for jobs, seconds, cpu in ((1, one_s, one_cpu), (2, two_s, two_cpu)):
            print(f"{count} sessions, {jobs} at a time: {seconds:.1f} s, {cpu:.1f} s of processor")
        failures = sum(bool(row.error) for rows in one.values() for row in rows)
        print(
            f"{one_s / two_s:.2f} times as fast (goal {GOAL}), {2 * one_cpu / two_cpu:.2f} times where two processors "
            f"are free; the same results: {one == two}; failures: {failures}",
            flush=True,
        )
        same = one == two
        again, again_s, _ = run(paths, folder / "two", jobs=2)
        print(f"once more, all kept: {again_s:.2f} s, the same: {again == one}", flush=True)
        try:
            dask, dask_s = on_dask(paths, folder / "dask")
        except ImportError:
            print("Dask is not installed: pip install 'ident[cluster]'")
        else:
            print(f"Dask, one of two workers killed half way: {dask_s:.1f} s, the same results: {dask == one}")
            same = same and dask == one
    return 0 if same and again == one and one_s / two_s >= GOAL else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("--session", nargs="+", type=Path, default=[])
    arguments = parser.parse_args()
    raise SystemExit(main(arguments.session, arguments.count))
