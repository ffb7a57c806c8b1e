"""What is handed to the recorder comes back exactly."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from devices.samples import PoseSample, WrenchSample
from sessions import Recorder, RecorderConfig, SessionError, Take, open_session

T0 = 1_700_000_000_123_456_789
MakePose = Callable[..., PoseSample]
MakeWrench = Callable[[int], WrenchSample]


def test_everything_comes_back(recorded: Path, make_pose: MakePose, make_wrench: MakeWrench) -> None:
    session = open_session(recorded)
    assert session.closed
    assert session.damage == ()
    assert session.metadata["object"] == "door"
    assert session.metadata["software"]["numpy"] == np.__version__
    assert session.bodies == ("gripper", "Rigid Body 1")
    assert session.documents() == {"rig": {"mocap": "127.0.0.2"}}
    assert session.takes() == (Take(1, "hinge", "joint", T0, T0 + 200_000_000, {"accepted": True}),)
    assert [(e.t_ns, e.content["text"]) for e in session.events()] == [(T0 + 5, "Scharnier – größer")]
    assert session.presses()[0].content == {"t_ns": T0 + 6, "source": "pedal", "long": True}
    assert session.device_events()[0].content["kind"] == "lost"
    for body in session.bodies:
        poses = session.poses(body)
        expected = [make_pose(i, body) for i in range(40)]
        assert poses.t_ns.tolist() == [s.t_ns for s in expected]
        assert poses.positions.tolist() == [list(s.position) for s in expected]
        assert poses.quaternions.tolist() == [list(s.quaternion) for s in expected]
        assert poses.states.tolist() == [s.state for s in expected]
        assert poses.sequence.tolist() == [s.sequence for s in expected]
        assert poses.ticks.tolist() == [s.ticks for s in expected]
        assert poses.received_ns.tolist() == [s.received_ns for s in expected]
        assert poses.mean_error.tolist() == [s.mean_error for s in expected]
        assert poses.poses().shape == (40, 4, 4)
    wrenches = session.wrenches()
    samples = [make_wrench(i) for i in range(400)]
    assert wrenches.t_ns.tolist() == [s.t_ns for s in samples]
    assert wrenches.wrench.tolist() == [[*s.force, *s.torque] for s in samples]
    assert wrenches.status.tolist() == [s.status for s in samples]
    assert wrenches.valid.tolist() == [s.valid for s in samples]
    assert wrenches.received_ns.tolist() == [s.received_ns for s in samples]


def test_raw_datagrams_come_back_in_time_order(recorded: Path) -> None:
    session = open_session(recorded)
    datagrams = list(session.datagrams())
    assert len(datagrams) == 441
    assert [d.t_ns for d in datagrams] == sorted(d.t_ns for d in datagrams)
    frames = [d.data for d in datagrams if d.stream == "natnet/data"]
    assert frames == [bytes([i]) * (100 + i % 3) for i in range(40)]
    assert [d.data for d in session.datagrams(streams=["netft/rdt"])][-2:] == [
        (399).to_bytes(4, "big") * 9,
        b"",
    ]


def test_a_window_holds_both_its_ends(recorded: Path) -> None:
    session = open_session(recorded)
    take = session.take("hinge")
    assert session.wrenches(take.t0_ns, take.t1_ns).sequence.tolist() == list(range(201))
    assert len(session.poses("gripper", T0 + 8_333_333, T0 + 2 * 8_333_333)) == 2
    with pytest.raises(SessionError, match="1 hinge"):
        session.take("lever")
    with pytest.raises(SessionError, match="gripper, Rigid Body 1"):
        session.poses("hand")


def test_parts_make_one_session(tmp_path: Path, make_pose: MakePose) -> None:
    path = tmp_path / "door.mcap"
    config = RecorderConfig(part_bytes=20_000)
    with Recorder(path, metadata={}, config=config) as recorder:
        recorder.document("rig", {"name": "lab"})
        for i in range(600):
            recorder.poses([make_pose(i)])
            if i % 100 == 99:
                recorder.sync()
    assert recorder.health().part > 2
    for any_part in sorted(tmp_path.iterdir()):
        session = open_session(any_part)
        assert session.poses("gripper").sequence.tolist() == list(range(600))
        assert session.documents() == {"rig": {"name": "lab"}}
    (tmp_path / "door.part2.mcap").unlink()
    assert open_session(path).missing_parts == (2,)


def test_a_session_resumes_in_a_new_part_and_leaves_the_first_alone(recorded: Path) -> None:
    path = recorded
    before = path.read_bytes()
    with Recorder(path, metadata={}, resume=True) as recorder:
        recorder.event(T0 + 10**12, {"type": "resumed"})
    assert path.read_bytes() == before
    assert [e.content["type"] for e in open_session(path).events()] == ["answer", "resumed"]


def test_nothing_is_overwritten_unasked(recorded: Path) -> None:
    path = recorded
    with pytest.raises(SessionError, match="never overwritten"):
        Recorder(path, metadata={})
    assert open_session(path).closed
    Recorder(path, metadata={"again": True}, overwrite=True).close()
    assert open_session(path).metadata["again"] is True


def test_two_recorders_cannot_share_a_file(tmp_path: Path, make_pose: MakePose) -> None:
    path = tmp_path / "door.mcap"
    with Recorder(path, metadata={}) as recorder:
        for options in ({}, {"overwrite": True}):
            with pytest.raises(SessionError, match="being recorded by another"):
                Recorder(path, metadata={}, **options)
        recorder.poses([make_pose(0)])
    assert len(open_session(path).poses("gripper")) == 1


def test_a_nearly_full_disk_warns_then_stops_with_a_complete_file(tmp_path: Path, make_pose: MakePose) -> None:
    free = [10 << 30]
    recorder = Recorder(tmp_path / "door.mcap", metadata={}, free_bytes=lambda _: free[0])
    recorder.poses([make_pose(0)])
    recorder.sync()
    assert recorder.health().warning == ""
    free[0] = 1 << 30
    recorder.sync()
    assert "1.07 GB left" in recorder.health().warning
    free[0] = 1 << 20
    recorder.poses([make_pose(1)])
    with pytest.raises(SessionError, match="1 MB left"):
        recorder.sync()
    with pytest.raises(SessionError, match="1 MB left"):
        recorder.poses([make_pose(2)])
    with pytest.raises(SessionError, match="1 MB left"):
        recorder.close()
    session = open_session(tmp_path / "door.mcap")
    assert session.closed
    assert session.poses("gripper").sequence.tolist() == [0, 1]


def test_callers_wait_when_memory_is_used_up_and_nothing_is_lost(tmp_path: Path) -> None:
    config = RecorderConfig(pending_bytes=20_000)
    with Recorder(tmp_path / "door.mcap", metadata={}, config=config) as recorder:
        for i in range(3000):
            recorder.datagram("netft/rdt", T0 + i, i.to_bytes(36, "big"))
            assert recorder.health().pending_bytes <= 20_000
    assert [d.t_ns - T0 for d in open_session(tmp_path / "door.mcap").datagrams()] == list(range(3000))


def test_what_json_cannot_say_is_refused_at_once(tmp_path: Path) -> None:
    with Recorder(tmp_path / "door.mcap", metadata={}) as recorder:
        with pytest.raises(SessionError, match="JSON"):
            recorder.event(T0, {"value": float("nan")})
        recorder.event(T0, {"value": 1.0})
    assert len(open_session(tmp_path / "door.mcap").events()) == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SessionError, match="Cannot write"):
        Recorder(tmp_path / "file" / "door.mcap", metadata={})


def test_a_closed_recorder_says_so(tmp_path: Path, make_pose: MakePose) -> None:
    recorder = Recorder(tmp_path / "door.mcap", metadata={})
    recorder.close()
    recorder.close()
    with pytest.raises(SessionError, match="closed"):
        recorder.poses([make_pose(0)])
