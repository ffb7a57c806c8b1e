"""Damaged, foreign and future files: a clear message or the readable part, and never anything else."""

import random
import runpy
import struct
import tracemalloc
from pathlib import Path

import pytest
from mcap.writer import Writer

from sessions import Recorder, SessionError, open_session

HELP = runpy.run_path(str(Path(__file__).with_name("mutations.py")))


@pytest.fixture
def long_session(tmp_path: Path, make_pose) -> Path:
    """Eight chunks of 50 poses."""
    path = tmp_path / "long.mcap"
    with Recorder(path, metadata={}) as recorder:
        for start in range(0, 400, 50):
            recorder.poses([make_pose(i) for i in range(start, start + 50)])
            recorder.sync()
    return path


def chunk_offsets(path: Path) -> list[int]:
    from sessions.scan import scan

    return [chunk.offset for chunk in scan(path).chunks]


def test_a_cut_off_tail_is_measured_and_the_rest_read(long_session: Path) -> None:
    data = long_session.read_bytes()
    cut = chunk_offsets(long_session)[5] + 100
    long_session.write_bytes(data[:cut])
    session = open_session(long_session)
    assert session.poses("gripper").sequence.tolist() == list(range(250))
    assert not session.closed
    (damage,) = session.damage
    assert damage.offset + damage.length == cut
    assert "cut off" in str(damage)


def test_one_flipped_bit_costs_one_chunk(long_session: Path) -> None:
    data = bytearray(long_session.read_bytes())
    data[chunk_offsets(long_session)[2] + 200] ^= 4
    long_session.write_bytes(data)
    session = open_session(long_session)
    assert session.poses("gripper").sequence.tolist() == [*range(100), *range(150, 400)]
    assert len(session.damage) == 1
    assert long_session.read_bytes() == data


def test_reading_goes_on_after_a_broken_record_length(long_session: Path) -> None:
    data = bytearray(long_session.read_bytes())
    head = data.rindex(b"\x06", 0, chunk_offsets(long_session)[2] - 50)
    data[head + 5] = 0x7F
    long_session.write_bytes(data)
    session = open_session(long_session)
    assert session.poses("gripper").sequence.tolist() == [*range(100), *range(150, 400)]
    assert [d.reason for d in session.damage] == ["damaged"]


def test_mutated_sessions_never_raise_anything_else(recorded: Path, tmp_path: Path) -> None:
    original = recorded.read_bytes()
    rng = random.Random(8)
    victim = tmp_path / "victim.mcap"
    refused = 0
    for _ in range(300):
        data = HELP["mutated"](original, rng)
        victim.write_bytes(data)
        refused += HELP["read_everything"](victim) is None
        assert victim.read_bytes() == data
    assert refused < 200


def test_damage_asks_for_no_memory(long_session: Path, tmp_path: Path) -> None:
    """A chunk whose head claims 200 MB is refused before anything of that size is made."""
    data = bytearray(long_session.read_bytes())
    offset = chunk_offsets(long_session)[0]
    struct.pack_into("<Q", data, offset - 8 - 4 - 4 - 4 - 8, 200 << 20)
    long_session.write_bytes(data)
    tracemalloc.start()
    try:
        assert len(open_session(long_session).poses("gripper")) == 350
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.mcap"
    path.touch()
    with pytest.raises(SessionError, match="is empty"):
        open_session(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"nowhere\.mcap: No such file"):
        open_session(tmp_path / "nowhere.mcap")
    with pytest.raises(SessionError, match="directory"):
        open_session(tmp_path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    path.write_text("Format Version,1.23\n")
    with pytest.raises(SessionError, match="ident import"):
        open_session(path)


def test_a_foreign_mcap_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start("ros2", "other")
        schema = writer.register_schema("x", "jsonschema", b"{}" * 4096)
        channel = writer.register_channel("/x", "json", schema)
        for i in range(10):
            writer.add_message(channel, i, b"{}", i)
        writer.finish()
    with pytest.raises(SessionError, match="another program"):
        open_session(path)


def test_a_session_of_a_future_version_is_refused(recorded: Path) -> None:
    data = recorded.read_bytes()
    marker = b"format" + struct.pack("<I", 1)
    assert data.count(marker + b"1") == 1
    recorded.write_bytes(data.replace(marker + b"1", marker + b"9"))
    with pytest.raises(SessionError, match="format 9"):
        open_session(recorded)
