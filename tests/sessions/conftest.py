"""A small session with everything in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devices.samples import DeviceEvent, PoseSample, PoseState, Press, WrenchSample
from sessions import Recorder, Take

T0 = 1_700_000_000_123_456_789


def pose(i: int, body: str = "gripper") -> PoseSample:
    state = PoseState.FROZEN if i % 7 == 3 else PoseState.MEASURED
    t = T0 + i * 8_333_333
    return PoseSample(t, body, i, (i * 0.1, -1.5, 2e-9), (0.0, 0.6, 0.0, 0.8), 3e-4, state, t + 6_000_000, i * 27_000)


def wrench(i: int) -> WrenchSample:
    t = T0 + i * 1_000_000
    return WrenchSample(t, i, (1.0 * i, 2.0, 3.0), (0.1, 0.2, 0.3), 0x80020000 if i == 4 else 0, i != 4, t + 100)


def record_everything(path: Path, **options: object) -> None:
    with Recorder(path, metadata={"object": "door", "seed": 1}, **options) as recorder:
        recorder.document("rig", {"mocap": "127.0.0.1"}, t_ns=T0)
        recorder.document("rig", {"mocap": "127.0.0.2"}, t_ns=T0 + 1)
        for i in range(40):
            recorder.poses([pose(i), pose(i, "Rigid Body 1")])
            recorder.datagram("natnet/data", T0 + i * 8_333_333 + 6_000_000, bytes([i]) * (100 + i % 3))
        for i in range(0, 400, 10):
            recorder.wrenches([wrench(k) for k in range(i, i + 10)])
        for i in range(400):
            recorder.datagram("netft/rdt", T0 + i * 1_000_000 + 100, i.to_bytes(4, "big") * 9)
        recorder.datagram("netft/rdt", T0 + 400_000_000, b"")
        recorder.event(T0 + 5, {"type": "answer", "text": "Scharnier – größer"})
        recorder.press(Press(T0 + 6, "pedal", long=True))
        recorder.device_event(DeviceEvent(T0 + 7, "mocap", "lost", "No frames for 2.0 s."))
        recorder.take(Take(1, "hinge", "joint", T0, T0 + 200_000_000, {"accepted": True}))


@pytest.fixture(name="make_pose")
def make_pose_fixture() -> Callable[..., PoseSample]:
    return pose


@pytest.fixture(name="make_wrench")
def make_wrench_fixture() -> Callable[[int], WrenchSample]:
    return wrench


@pytest.fixture(name="record")
def record_fixture() -> Callable[..., None]:
    return record_everything


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A session with two bodies (40 poses each), 400 wrenches, 441 datagrams, documents and a take."""
    path = tmp_path / "door.mcap"
    record_everything(path)
    return path
