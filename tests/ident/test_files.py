"""Rig files and object descriptions: every problem at once, each with its line."""

from pathlib import Path

import pytest

from ident.config import load_rig
from ident.description import load_description, render_description
from ident.errors import IdentError
from ident.templates import RIG, TEMPLATES
from ident.workflow.quality import QualityLimits


def write(folder: Path, text: str) -> Path:
    path = folder / "file.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_reads_back_as_the_same_plan(name: str, tmp_path: Path) -> None:
    read = load_description(write(tmp_path, render_description(TEMPLATES[name])))
    assert read.depth_first() == TEMPLATES[name].depth_first()


def test_every_problem_of_a_description_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
name = "door"
colour = "red"

[[joint]]
name = "hinge"
type = "rotari"

[[joint]]
name = "lever"
parent = "hing"

[[joint]]
name = "lever"

[[joint]]
name = "a"
parent = "b"

[[joint]]
name = "b"
parent = "a"

[[handle]]
name = "grip"
dof = 3
radius_m = "wide"
""",
    )
    with pytest.raises(IdentError) as caught:
        load_description(path)
    lines = str(caught.value).splitlines()
    assert "7 problems" in lines[0]
    expected = [
        (2, "colour"),
        (4, "rotari"),
        (8, "does not exist"),
        (12, "two nodes"),
        (15, "cycle"),
        (25, "dof"),
        (26, "radius_m"),
    ]
    for line, (number, word) in zip(lines[1:], expected, strict=True):
        assert line.startswith(f"  line {number}:")
        assert word in line


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[[joint]\nname = 1", "not valid TOML"),
        ("joint = 3", "two brackets"),
        ("[[joint]]\ntype = 'rotary'", "name is missing"),
        ("", "no joints"),
        ("joint = [3]", "a joint is a table"),
    ],
)
def test_a_broken_description_is_refused_in_words(text: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(IdentError, match=word):
        load_description(write(tmp_path, text))


def test_a_missing_or_binary_file_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(IdentError, match="does not exist"):
        load_description(tmp_path / "nothing.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(IdentError, match="no text file"):
        load_description(binary)
    with pytest.raises(IdentError, match="cannot be read"):
        load_description(tmp_path)


def test_the_rig_file_to_start_from_is_valid(tmp_path: Path) -> None:
    config = load_rig(write(tmp_path, RIG))
    assert config.mocap.server == "192.168.1.10"
    assert config.limits().axis_std_deg == QualityLimits().axis_std_deg


def test_every_problem_of_a_rig_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
name = "lab"
[mocap]
command_port = 99999
bodi = "gripper"
[quality]
axis = 1.0
axis_std_deg = "small"
[trigger]
driver = "bytes"
""",
    )
    with pytest.raises(IdentError) as caught:
        load_rig(path)
    message = str(caught.value)
    for number, word in [(3, "99999"), (4, "bodi"), (6, "axis"), (7, "small"), (8, "trigger.port")]:
        assert any(line.startswith(f"  line {number}:") and word in line for line in message.splitlines()), message
