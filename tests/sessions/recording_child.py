"""A process that records until it is killed: ``python recording_child.py SESSION PROGRESS [RATE]``.

``PROGRESS`` is a mapped file of int64: entry 0 counts the samples handed over, entry 1 those known to be on
disk (after the last sync), entry 2 + i is the host time of sample i. It survives the process.
"""

import sys
import time
from pathlib import Path

import numpy as np

from devices.samples import PoseSample, PoseState
from sessions import Recorder


def main(session: Path, progress: Path, rate: float) -> None:
    table = np.memmap(progress, np.int64, "r+")
    recorder = Recorder(session, metadata={"object": "crash"})
    start = time.monotonic()
    for i in range(len(table) - 2):
        time.sleep(max(0.0, start + i / rate - time.monotonic()))
        t = time.time_ns()
        pose = PoseSample(t, "gripper", i, (i * 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, PoseState.MEASURED, t, i)
        recorder.poses([pose])
        recorder.wrench_columns([t], [i], [[i, 0, 0, 0, 0, 0]], 0, True, t)
        recorder.datagram("netft/rdt", t, i.to_bytes(36, "big"))
        table[2 + i] = t
        table[0] = i + 1
        if i % 500 == 499:
            recorder.sync()
            table[1] = i + 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1000.0)
