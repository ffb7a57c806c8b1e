"""`ident sessions`, `ident info` and `ident report`, as a person meets them."""

from pathlib import Path

import pytest

from ident.cli import main
from sessions import Recorder


def test_sessions_are_listed_with_what_is_wrong(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (recorded.parent / "empty.mcap").touch()
    (recorded.parent / "cut.mcap").write_bytes(recorded.read_bytes()[:-9000])
    monkeypatch.setenv("IDENT_SESSIONS", str(recorded.parent))
    assert main(["sessions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("door.mcap") and "2023-11-14 22:13 UTC" in line for line in lines)
    assert any(line.startswith("empty.mcap") and "is empty" in line for line in lines)
    assert any(line.startswith("cut.mcap") and "not ended properly" in line for line in lines)


def test_a_folder_without_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", str(tmp_path)]) == 0
    assert "No sessions" in capsys.readouterr().out
    assert main(["sessions", str(tmp_path / "nowhere")]) == 1
    assert "There is no folder" in capsys.readouterr().err


def test_info_says_what_is_in_a_session(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(recorded)]) == 0
    shown = capsys.readouterr().out
    for words in ("door", "gripper", "120.0 Hz", "wrench", "1000.0 Hz", "hinge", "Everything is there."):
        assert words in shown


def test_info_of_a_damaged_session_has_another_status(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded.write_bytes(recorded.read_bytes()[:-9000])
    assert main(["info", str(recorded)]) == 1
    assert "not ended properly" in capsys.readouterr().out
    assert main(["info", "nothing-of-this-name"]) == 1
    assert "`ident sessions` lists all" in capsys.readouterr().err


def test_a_report_is_written_beside_the_session(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(recorded)]) == 0
    assert recorded.with_suffix(".html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["report", str(recorded), "-o", str(tmp_path / "no" / "where.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_an_empty_session_has_info_and_a_report(tmp_path: Path) -> None:
    Recorder(tmp_path / "empty.mcap", metadata={}).close()
    assert main(["info", str(tmp_path / "empty.mcap")]) == 0
    assert main(["report", str(tmp_path / "empty.mcap")]) == 0
