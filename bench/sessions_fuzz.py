"""Mutated session files: never a traceback, never more memory than ten times the file.

python -m bench.sessions_fuzz [COUNT] [SEED]
"""

import random
import runpy
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np

from devices.samples import PoseSample, PoseState
from sessions import Recorder, Take

HELP = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "sessions" / "mutations.py"))
T0 = 1_700_000_000_000_000_000
FLOOR = 2 << 20
"""Memory (bytes) that reading any file may take: decoders, tables, the interpreter's own caches."""


def record(path: Path, seconds: int) -> None:
    """A take at 120 Hz and 1000 Hz with noise, as compressible as a real one."""
    rng = np.random.default_rng(8)
    with Recorder(path, metadata={"object": "fuzz"}) as recorder:
        recorder.document("rig", {"mocap": "sim"}, t_ns=T0)
        for second in range(seconds):
            for i in range(second * 120, (second + 1) * 120):
                t = T0 + i * 8_333_333
                position = (*rng.normal(0.0, 0.1, 3),)
                pose = PoseSample(t, "gripper", i, position, (0.0, 0.0, 0.0, 1.0), 1e-4, PoseState.MEASURED, t, i)
                recorder.poses([pose])
                recorder.datagram("natnet/data", t, rng.bytes(300))
            t_ns = T0 + second * 10**9 + np.arange(1000) * 10**6
            recorder.wrench_columns(t_ns, second * 1000 + np.arange(1000), rng.normal(size=(1000, 6)), 0, True, t_ns)
            for t in t_ns.tolist():
                recorder.datagram("netft/rdt", t, rng.bytes(36))
            recorder.take(Take(second + 1, "hinge", "joint", T0 + second * 10**9, T0 + (second + 1) * 10**9))


def main(count: int, seed: int) -> None:
    """Damage a session so often, and read it each time."""
    rng = random.Random(seed)
    refused, worst, samples = 0, 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        original, victim = Path(folder) / "original.mcap", Path(folder) / "victim.mcap"
        record(original, 3)
        data = original.read_bytes()
        whole = HELP["read_everything"](original)
        for i in range(count):
            damaged = HELP["mutated"](data, rng)
            victim.write_bytes(damaged)
            traced = i % 10 == 0
            if traced:
                tracemalloc.start()
            found = HELP["read_everything"](victim)
            if traced:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                worst = max(worst, max(0, peak - FLOOR) / max(1, len(damaged)))
            refused += found is None
            if found is not None:
                samples.append(found / whole)
    print(f"{count} mutated files of {len(data)} bytes: no exception but SessionError; {refused} refused,")
    print(f"from the others {100 * np.mean(samples):.1f} % of the samples were read on average;")
    print(f"memory at most {FLOOR >> 20} MiB + {worst:.1f} times the file")


if __name__ == "__main__":
    values = [int(word) for word in sys.argv[1:]]
    main(*(values + [10_000, 8][len(values) :]))
