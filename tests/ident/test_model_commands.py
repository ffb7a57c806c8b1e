"""The verbs about models, as they are typed."""

import json
import math
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from model_cases import door

from ident.cli import main
from ident.joints import Rotary
from ident.model import load_model, save_model
from ident.model.compare import compare
from ident.plot.window import build_window, open_window


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "door.model.json"
    save_model(door(), path)
    return path


def test_check_says_what_the_model_has(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "check", str(model)]) == 0
    assert "usable model: door, 2 joints, 1 handle" in capsys.readouterr().out


def test_check_names_the_line(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = model.read_text().replace('"parent": "hinge"', '"parent": "wall"', 1)
    model.write_text(text)
    line = 1 + text[: text.index('"wall"')].count("\n")
    assert main(["model", "check", str(model)]) == 1
    captured = capsys.readouterr()
    assert f"line {line}, joints/1/parent: its parent 'wall' does not exist" in captured.err
    assert "Traceback" not in captured.err


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "ident model"


@pytest.mark.parametrize("to", ["urdf", "mjcf", "sdf", "json", "csv"])
def test_export(to: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(model), "--to", to]) == 0
    printed = capsys.readouterr()
    assert main(["export", str(model), "--to", to, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == printed.out
    assert ("cannot say" in printed.err) == (to != "json")


def test_export_a_path(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", str(model), "--to", "csv", "--handle", "lever", "--move", "hinge=0:1", "--move", "lever=0.3:0"]
    assert main([*words, "--steps", "5"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 6
    assert rows[-1].startswith("lever,hinge+lever,4,")
    assert main([*words, "--move", "hinge=far"]) == 1
    assert "JOINT=FROM:TO" in capsys.readouterr().err


def test_query(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["query", str(model), "--frame", "bar", "--q", "hinge=0.4"]
    assert main([*words, "--json", "--uncertainty"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["position_m"] == pytest.approx(door().pose("bar", {"hinge": 0.4})[:3, 3].tolist())
    assert len(answer["position_std_m"]) == 3
    assert main(words) == 0
    assert "quaternion" in capsys.readouterr().out
    assert main(["query", str(model)]) == 0
    assert "bar.slide: 0 … 0.25" in capsys.readouterr().out
    assert main(["query", str(model), "--frame", "bar", "--q", "hinge=4"]) == 1
    assert "not within 0 … 1.7" in capsys.readouterr().err
    assert main(["query", str(model), "--frame", "bar", "--q", "hinge=4", "--beyond-limits"]) == 0
    assert main(["query", str(model), "--frame", "bar", "--q", "hinge"]) == 1


def test_diff(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(model), str(model)]) == 0
    hinge = door().joints[0]
    tilted = hinge.pose(0.0) @ Rotary(name="x", limits=((0.0, 1.0),)).pose(0.0)
    tilted[:3, 3] += [0.002, 0.0, 0.5]
    other = door().with_node(Rotary(name="hinge", origin=tilted, limits=((0.0, 1.6),)))
    save_model(other, tmp_path / "b.model.json")
    capsys.readouterr()
    assert main(["diff", str(model), str(tmp_path / "b.model.json")]) == 1
    out = capsys.readouterr().out
    assert "2.00 mm" in out
    assert "-5.73°" in out
    relaxed = ["--axis", "1", "--position", "600", "--limit", "6"]
    assert main(["diff", str(model), str(tmp_path / "b.model.json"), *relaxed]) == 0


def test_compare_says_what_is_missing_or_of_another_type() -> None:
    a = door()
    b = door().with_node(Rotary(name="flap", limits=((0.0, 1.0),)))
    (flap,) = [d for d in compare(a, b) if d.remark]
    assert flap.remark == "only in the second"
    assert math.isnan(flap.axis)


def test_import_a_urdf(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urdf = tmp_path / "door.urdf"
    assert main(["export", str(model), "--to", "urdf", "-o", str(urdf)]) == 0
    assert main(["import", str(urdf)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["import", str(urdf), "-o", str(tmp_path / "again.model.json")]) == 0
    assert "3 joints, 2 of which move" in capsys.readouterr().out
    assert load_model(tmp_path / "again.model.json").joint_names == ("hinge", "lever")


def test_show_without_a_display_writes_a_picture(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert open_window(door(), {}) == "there is no display"
    assert main(["show", str(model)]) == 0
    assert "no display" in capsys.readouterr().out
    assert (model.parent / "door.png").exists()
    assert main(["show", str(model), "-o", str(model.parent / "d.svg"), "--q", "hinge=0.5"]) == 0


def test_sliders_move_the_model() -> None:
    figure = Figure()
    FigureCanvasAgg(figure)
    sliders = build_window(figure, door(), {"hinge": 0.2})
    assert [s.label.get_text() for s in sliders] == ["hinge (rad)", "lever (rad)", "bar.turn (rad)", "bar.slide (m)"]
    ax = figure.axes[0]
    before = len(ax.collections), len(ax.lines)
    view = ax.elev, ax.azim, ax.get_xlim()
    sliders[0].set_val(1.0)
    assert (len(ax.collections), len(ax.lines)) == before
    assert (ax.elev, ax.azim, ax.get_xlim()) == view
