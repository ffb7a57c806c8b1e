"""The command line as a person meets it."""

import subprocess
import sys
from pathlib import Path

import pytest

from ident.cli import COMMANDS, main

LAZY = "import sys; import ident.cli; print([m for m in sys.modules if m in {'numpy', 'scipy', 'matplotlib', 'rich'}])"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in COMMANDS)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_command_has_a_manual_page_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"ident {verb}" in shown
    assert "example" in shown


def test_the_command_line_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chek"]) == 2
    assert "Did you mean `ident check`?" in capsys.readouterr().err


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ident 0.")


def test_a_broken_rig_file_ends_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rig.toml"
    path.write_text("[mocap]\nserve = 'x'\n")
    assert main(["check", "--rig", str(path)]) == 1
    assert "line 2: 'mocap.serve' is unknown" in capsys.readouterr().err


def test_new_writes_a_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "object.toml"
    assert main(["new", "--template", "door", str(path)]) == 0
    assert main(["new", "--template", "door", str(path)]) == 1
    assert "exists already" in capsys.readouterr().err
