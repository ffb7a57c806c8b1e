"""A folder of sessions, some of them broken."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sessions import SessionError
from sessions.catalogue import find_session, list_sessions, new_session_path, session_files, session_folder

NOON = datetime(2026, 5, 6, 12, 0, tzinfo=UTC)


def test_a_folder_is_listed_with_its_broken_files(recorded: Path, tmp_path: Path, record) -> None:
    (tmp_path / "empty.mcap").touch()
    (tmp_path / "notes.txt").write_text("not a session")
    (tmp_path / "cut.mcap").write_bytes(recorded.read_bytes()[:-5000])
    (tmp_path / "sub").mkdir()
    record(tmp_path / "sub" / "drawer.mcap")
    (tmp_path / "sub" / "alone.part2.mcap").write_bytes(b"\x89MCAP0\r\n")
    listed = {entry.path.name: entry for entry in list_sessions(tmp_path)}
    assert set(listed) == {"empty.mcap", "cut.mcap", "door.mcap", "drawer.mcap", "alone.part2.mcap"}
    assert "is empty" in listed["empty.mcap"].error
    assert listed["alone.part2.mcap"].error
    assert not listed["cut.mcap"].closed
    door = listed["door.mcap"]
    assert (door.name, door.takes, door.documents, door.closed) == ("door", ("hinge",), ("rig",), True)
    assert list_sessions(tmp_path / "nowhere") == ()


def test_the_folder_comes_from_argument_then_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IDENT_SESSIONS", raising=False)
    assert session_folder() == Path.home() / "ident" / "sessions"
    monkeypatch.setenv("IDENT_SESSIONS", str(tmp_path))
    assert session_folder() == tmp_path
    assert session_folder("/elsewhere") == Path("/elsewhere")


def test_new_paths_are_free_and_harmless(tmp_path: Path) -> None:
    path = new_session_path("../my door!", NOON, tmp_path)
    assert path == tmp_path / "2026-05-06_12-00_my-door.mcap"
    path.touch()
    assert new_session_path("my door", NOON, tmp_path).name == "2026-05-06_12-00_my-door-2.mcap"


def test_a_session_is_found_by_name_or_path(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENT_SESSIONS", str(recorded.parent))
    assert find_session("door") == find_session("door.mcap") == find_session(recorded) == recorded
    assert list(session_files([recorded, recorded.parent])) == [recorded, recorded]
    with pytest.raises(SessionError, match="`ident sessions` lists all"):
        find_session("window")
