"""Recording 20 bodies at 360 Hz and F/T at 7000 Hz in real time: the writer's share of a core, and memory.

python -m bench.sessions_rate [SECONDS]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from devices.samples import PoseSample, PoseState
from sessions import Recorder, open_session

BODIES, MOCAP_HZ, FT_HZ, TICK_HZ = 20, 360, 7000, 40


def resident_mb() -> float:
    """Resident memory of this process in MB."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def main(seconds: int) -> None:
    rng = np.random.default_rng(8)
    raw_rdt = [rng.bytes(36) for _ in range(997)]
    raw_frames = [rng.bytes(60 + 38 * BODIES) for _ in range(101)]
    wrenches = rng.normal(size=(FT_HZ // TICK_HZ, 6))
    feeding, memory = 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rate.mcap"
        recorder = Recorder(path, metadata={})
        start, cpu = time.monotonic(), time.process_time()
        own = time.thread_time()
        for tick in range(seconds * TICK_HZ):
            time.sleep(max(0.0, start + tick / TICK_HZ - time.monotonic()))
            t = time.time_ns()
            first = tick * (FT_HZ // TICK_HZ)
            for i in range(FT_HZ // TICK_HZ):
                recorder.datagram("netft/rdt", t + i * 142_857, raw_rdt[(first + i) % 997])
            t_ns = t + np.arange(len(wrenches)) * 142_857
            recorder.wrench_columns(t_ns, first + np.arange(len(wrenches)), wrenches, 0, True, t_ns)
            for i in range(MOCAP_HZ // TICK_HZ):
                k = tick * (MOCAP_HZ // TICK_HZ) + i
                recorder.datagram("natnet/data", t + i * 2_777_777, raw_frames[k % 101])
                recorder.poses([_pose(t + i * 2_777_777, b, k) for b in range(BODIES)])
            if tick % (TICK_HZ * 10) == 0:
                memory.append(resident_mb())
        feeding = time.thread_time() - own
        recorder.close()
        writer = time.process_time() - cpu - feeding
        elapsed = time.monotonic() - start
        size = path.stat().st_size
        info = open_session(path).info()
    print(f"{elapsed:.0f} s of {BODIES} bodies at {MOCAP_HZ} Hz + {FT_HZ} Hz: {size / elapsed / 1e6:.2f} MB/s on disk")
    print(f"writer thread {100 * writer / elapsed:.1f} % of one core (limit 40 %)")
    print(f"resident memory after each 10 s, MB: {', '.join(f'{m:.0f}' for m in memory)}")
    print(f"all there: {[s.count for s in info.streams if s.name in ('wrench', 'netft/rdt', 'body0', 'natnet/data')]}")


def _pose(t: int, body: int, k: int) -> PoseSample:
    position = (0.001 * k, 0.1 * body, 1.0)
    return PoseSample(t, f"body{body}", k, position, (0.0, 0.0, 0.0, 1.0), 1e-4, PoseState.MEASURED, t, k)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
