"""Work over an archive: two processes against one, and a Dask cluster of which one worker is killed half way.

python -m bench.sessions_archive [SESSIONS]
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.sessions_fuzz import record
from sessions import open_session
from sessions.archive import Outcome, work_through


def job(path: Path) -> list[dict[str, object]]:
    """Something that takes a fraction of a second of one core, as a refit does."""
    session = open_session(path)
    wrench = session.wrenches().wrench
    singular = [float(np.linalg.svd(np.roll(wrench, i, axis=0), compute_uv=False)[0]) for i in range(400)]
    return [{"session": path.name, "poses": len(session.poses("gripper")), "load": round(sum(singular), 6)}]


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(folder / "0000.mcap", 2)
        for i in range(1, count):
            (folder / f"{i:04d}.mcap").write_bytes((folder / "0000.mcap").read_bytes())
        paths = sorted(folder.glob("*.mcap"))
        times, results = {}, {}
        work_through(paths[:2], job, folder / "warm.jsonl", settings={}, jobs=2)
        for jobs in (1, 2):
            start = time.monotonic()
            results[jobs] = work_through(paths, job, folder / f"jobs{jobs}.jsonl", settings={}, jobs=jobs)
            times[jobs] = time.monotonic() - start
        assert results[1] == results[2]
        print(
            f"{count} sessions: {times[1]:.1f} s with one process, {times[2]:.1f} s with two: {times[1] / times[2]:.2f}×"
        )
        spread = on_dask(paths, folder)
        assert spread == results[1]
        print("on two Dask workers, one of them killed half way: the same results")


def on_dask(paths: list[Path], folder: Path) -> tuple[Outcome, ...]:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        workers = list(client.run(os.getpid).values())

        def kill_half_way(done: int, of: int, _: Outcome) -> None:
            if done == of // 2:
                os.kill(workers[0], signal.SIGKILL)

        address = cluster.scheduler_address
        return work_through(paths, job, folder / "dask.jsonl", settings={}, dask=address, on_progress=kill_half_way)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
