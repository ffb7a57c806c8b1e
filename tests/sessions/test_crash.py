"""A recording process dies: what it recorded stays, in a file that every reader takes."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from devices.samples import PoseSample
from sessions import Recorder, SessionError, open_session

CHILD = Path(__file__).with_name("recording_child.py")
ROOT = Path(__file__).parents[2]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.005)


@pytest.mark.parametrize("synced", [500, 1000, 1500])
def test_killed_at_once_after_a_sync_everything_before_it_is_there(tmp_path: Path, synced: int) -> None:
    path, progress = tmp_path / "crash.mcap", tmp_path / "progress"
    np.zeros(100_002, np.int64).tofile(progress)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, str(CHILD), str(path), str(progress), "5000"], env=environment)
    table = np.memmap(progress, np.int64, "r")
    try:
        until(lambda: bool(table[1] >= synced) or child.poll() is not None, "sync")
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    session = open_session(path)
    assert not session.closed
    count = len(session.poses("gripper"))
    assert synced <= count <= table[0]
    assert session.poses("gripper").sequence.tolist() == list(range(count))
    assert session.wrenches().sequence.tolist() == list(range(count))
    assert [int.from_bytes(d.data, "big") for d in session.datagrams()] == list(range(count))
    if not session.damage:
        with path.open("rb") as file:
            assert sum(1 for _ in make_reader(file, validate_crcs=True).iter_messages()) == 5 * count


def test_samples_reach_the_file_without_anyone_asking(tmp_path: Path, make_pose: Callable[..., PoseSample]) -> None:
    path = tmp_path / "door.mcap"
    with Recorder(path, metadata={}) as recorder:
        recorder.poses([make_pose(0)])
        until(lambda: open_session(path).bodies == ("gripper",), "the body appears")
        recorder.poses([make_pose(1)])
        until(lambda: len(open_session(path).poses("gripper")) == 2, "the second pose appears")


def test_a_full_disk_ends_the_recording_and_keeps_the_file(
    tmp_path: Path, make_pose: Callable[..., PoseSample]
) -> None:
    """A limit on the size of files stands for the full disk: writing fails half way through a chunk."""
    path = tmp_path / "door.mcap"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder = Recorder(path, metadata={})
    recorder.poses([make_pose(i) for i in range(1000)])
    recorder.sync()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, limits[1]))
        recorder.poses([make_pose(i) for i in range(1000, 9000)])
        with pytest.raises(SessionError, match="File too large"):
            recorder.sync()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(SessionError, match="What was written is complete"):
        recorder.poses([make_pose(9000)])
    with pytest.raises(SessionError):
        recorder.close()
    session = open_session(path)
    assert session.damage == ()
    assert len(session.poses("gripper")) == 1000
