"""`kill -9` at random moments of a recording: every sample older than 0.5 s must be in the file.

python -m bench.sessions_kill [COUNT]
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sessions import open_session

ROOT = Path(__file__).parents[1]
CHILD = ROOT / "tests" / "sessions" / "recording_child.py"


def kill_once(folder: Path, rng: random.Random) -> tuple[float, int]:
    """Age (s) of the newest sample in the file when the process died, and bytes of damaged tail."""
    path, progress = folder / "crash.mcap", folder / "progress"
    path.unlink(missing_ok=True)
    np.zeros(20_002, np.int64).tofile(progress)
    table = np.memmap(progress, np.int64, "r")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, str(CHILD), str(path), str(progress), "1000"], env=environment)
    while table[0] == 0:
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 2.0))
    child.send_signal(signal.SIGKILL)
    killed_ns = time.time_ns()
    child.wait()
    session = open_session(path)
    count = len(session.poses("gripper")) if session.bodies else 0
    assert session.bodies == () or session.poses("gripper").sequence.tolist() == list(range(count))
    assert len(session.wrenches()) == count
    assert sum(1 for _ in session.datagrams()) == count
    handed = int(table[0])
    oldest_lost = int(table[2 + count]) if count < handed else killed_ns
    return (killed_ns - oldest_lost) / 1e9, sum(d.length for d in session.damage)


def main(count: int) -> None:
    rng = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        results = [kill_once(Path(folder), rng) for _ in range(count)]
    ages = np.array([age for age, _ in results])
    tails = sum(tail > 0 for _, tail in results)
    print(f"{count} kills: the oldest lost sample was {ages.max():.3f} s old (median {np.median(ages):.3f} s);")
    verdict = "kept" if ages.max() < 0.5 else "MISSED"
    print(f"{tails} files had a cut-off tail; the reader read all. Limit 0.5 s: {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
