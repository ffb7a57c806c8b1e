"""Sessions open in other people's software, with the same counts and values."""

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import NonSeekingReader, make_reader

from sessions import open_session

COUNTS = {
    "/documents": 2,
    "/events": 1,
    "/presses": 1,
    "/device_events": 1,
    "/takes": 1,
    "/raw/natnet/data": 40,
    "/raw/netft/rdt": 401,
    "/poses/gripper": 40,
    "/poses/gripper/tracking": 40,
    "/poses/Rigid_Body_1": 40,
    "/poses/Rigid_Body_1/tracking": 40,
    "/wrench": 400,
    "/wrench/status": 400,
}


def unfinished(path: Path) -> Path:
    """The same session as a crash leaves it: with the provisional trailer instead of the summary."""
    data = path.read_bytes()
    with path.open("rb") as file:
        footer_start = len(data) - 8 - 29
        file.seek(footer_start + 9)
        (summary_start,) = struct.unpack("<Q", file.read(8))
    crash = path.with_name("crash.mcap")
    crash.write_bytes(data[:summary_start] + b"\x02" + struct.pack("<Q", 20) + bytes(20) + data[-8:])
    return crash


@pytest.mark.parametrize("closed", [True, False])
def test_mcap_reads_it_strictly(recorded: Path, closed: bool) -> None:
    path = recorded if closed else unfinished(recorded)
    assert open_session(path).closed is closed
    for kind in (make_reader, NonSeekingReader):
        with path.open("rb") as file:
            counts: dict[str, int] = {}
            for _, channel, message in kind(file, validate_crcs=True).iter_messages():
                counts[channel.topic] = counts.get(channel.topic, 0) + 1
                if channel.topic == "/wrench":
                    assert struct.unpack_from("<d", message.data, len(message.data) - 48) == (message.sequence,)
            assert counts == COUNTS


def test_the_summary_agrees_with_the_data(recorded: Path) -> None:
    with recorded.open("rb") as file:
        summary = make_reader(file, validate_crcs=True).get_summary()
        assert summary is not None
        assert summary.statistics.message_count == sum(COUNTS.values())
        by_topic = {c.topic: summary.statistics.channel_message_counts[c.id] for c in summary.channels.values()}
        assert by_topic == COUNTS
        offsets = [o for c in summary.chunk_indexes for o in c.message_index_offsets.values()]
        for offset in offsets:
            file.seek(offset)
            assert file.read(1) == b"\x07"


@pytest.mark.parametrize("closed", [True, False])
def test_rosbags_reads_it(recorded: Path, closed: bool) -> None:
    highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed")
    path = recorded if closed else unfinished(recorded)
    session = open_session(path)
    with highlevel.AnyReader([path]) as reader:
        assert {c.topic: c.msgcount for c in reader.connections} == COUNTS
        connections = {c.topic: c for c in reader.connections}

        def messages(topic: str) -> list[tuple[int, object]]:
            found = reader.messages([connections[topic]])
            return [(t, reader.deserialize(raw, c.msgtype)) for c, t, raw in found]

        poses = session.poses("Rigid Body 1")
        for i, (t, message) in enumerate(messages("/poses/Rigid_Body_1")):
            stamp, at, turn = message.header.stamp, message.pose.position, message.pose.orientation
            assert t == poses.t_ns[i] == stamp.sec * 10**9 + stamp.nanosec
            assert message.header.frame_id == "world"
            assert [at.x, at.y, at.z] == poses.positions[i].tolist()
            assert [turn.x, turn.y, turn.z, turn.w] == poses.quaternions[i].tolist()
        wrenches = session.wrenches()
        for i, (t, message) in enumerate(messages("/wrench")):
            force, torque = message.wrench.force, message.wrench.torque
            assert t == wrenches.t_ns[i]
            assert [force.x, force.y, force.z] == wrenches.wrench[i, :3].tolist()
            assert [torque.x, torque.y, torque.z] == wrenches.wrench[i, 3:].tolist()
        for i, (_, message) in enumerate(messages("/wrench/status")):
            assert (message.status, message.valid) == (wrenches.status[i], wrenches.valid[i])
        for i, (_, message) in enumerate(messages("/poses/gripper/tracking")):
            assert (message.sequence, message.state) == (i, session.poses("gripper").states[i])


def test_rerun_reads_it(recorded: Path, tmp_path: Path) -> None:
    rerun = pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    pytest.importorskip("datafusion", reason="rerun-sdk[catalog] is not installed")
    session, converted = open_session(recorded), tmp_path / "door.rrd"
    program = Path(sys.executable).with_name("rerun")
    subprocess.run([program, "mcap", "convert", str(recorded), "-o", str(converted)], check=True, capture_output=True)
    with rerun.server.Server(datasets={"door": [str(converted)]}) as server:
        dataset = server.client().get_dataset("door")

        def rows(topic: str) -> list[dict[str, Any]]:
            table = dataset.filter_contents(topic).reader(index="message_log_time").to_arrow_table()
            return sorted(table.to_pylist(), key=lambda row: row["message_log_time"])

        poses = session.poses("gripper")
        found = rows("/poses/gripper")
        assert len(found) == len(poses)
        for i, row in enumerate(found):
            # It keeps positions and rotations in single precision.
            assert row["message_log_time"].value == poses.t_ns[i]
            position, rotation = (
                row[f"/poses/gripper:InstancePoses3D:{name}"][0] for name in ("translations", "quaternions")
            )
            assert position == poses.positions[i].astype("f4").tolist()
            assert rotation == poses.quaternions[i].astype("f4").tolist()
        wrenches = session.wrenches()
        found = rows("/wrench")
        assert len(found) == len(wrenches)
        for i, row in enumerate(found):
            told = row["/wrench:geometry_msgs.msg.WrenchStamped:message"][0]["wrench"]
            load = [told[kind][axis] for kind in ("force", "torque") for axis in "xyz"]
            assert load == wrenches.wrench[i].tolist()
