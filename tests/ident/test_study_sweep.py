"""Studies: the limit, sweeps with honest claims, operator time, real recordings, the page."""

import math
from pathlib import Path

import numpy as np
import pytest

from fitting.se3 import quaternion_from_rotation
from fitting.synthetic import joint_poses
from ident.cli import main
from ident.joints.evidence import Evidence
from ident.study import reports, sweep, timing
from ident.study.limit import rotary_limit
from ident.study.trials import Task

REAL = Path(__file__).parents[2] / "../shared/data"


@pytest.mark.parametrize(("arc", "factor"), [(10, 880), (20, 220), (45, 44), (90, 11.6), (180, 3.5), (350, 2.0)])
def test_the_limit_of_positions_alone_is_the_known_one(arc, factor):
    angle, centre = rotary_limit(math.radians(arc), 0.3, 1200, 0.5e-3)
    assert centre == pytest.approx(factor * 0.5e-3 / math.sqrt(1200), rel=0.08)
    assert angle == pytest.approx(factor * 0.5e-3 / 0.3 / math.sqrt(1200), rel=0.08)


def test_orientations_make_a_short_lever_possible():
    angle, centre = rotary_limit(math.radians(20), 0.05, 1200, 0.5e-3, math.radians(0.1))
    assert math.degrees(angle) == pytest.approx(0.039, rel=0.05)
    assert centre == pytest.approx(0.2e-3, rel=0.05)


def test_a_claim_is_measured_in_its_own_units():
    evidence = Evidence(
        method="x",
        samples=10,
        inliers=10,
        rms=0.0,
        noise=0.0,
        point=np.array([0.0, 0.0, 0.5]),
        basis=np.eye(3)[:2],
        covariance=np.diag([0.01, 0.02, 1e-3, 2e-3]) ** 2,
    )
    axis = np.array([0.02, 0.0, 1.0]) / np.linalg.norm([0.02, 0.0, 1.0])
    tilt, shift = sweep.inside(evidence, {"axis": -axis, "point": [0.0, 0.004, 0.5]})
    assert tilt == pytest.approx(4.0, rel=1e-3)
    assert shift == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize("parameter", list(sweep.PARAMETERS))
def test_every_parameter_can_be_varied(parameter, monkeypatch):
    monkeypatch.setattr(sweep, "ARCS_DEG", (90.0,))
    value = sweep.PARAMETERS[parameter].values[1]
    (result,) = sweep.run_trial(Task("sweep", 0, 2, {"parameter": parameter, "value": value}))
    assert result is not None
    assert result["angle_deg"] < 2.0
    assert result["claimed_angle_deg"] > 0.0


def test_sweep_writes_tables_and_heat_maps(tmp_path, monkeypatch, capsys):
    few = {"noise": sweep.Parameter("noise", "noise (mm)", (0.4,))}
    for module in (sweep, reports):
        monkeypatch.setattr(module, "PARAMETERS", few)
        monkeypatch.setattr(module, "ARCS_DEG", (90.0, 150.0))
    from ident.study import figures

    monkeypatch.setattr(figures, "PARAMETERS", few)
    monkeypatch.setattr(figures, "ARCS_DEG", (90.0, 150.0))
    assert main(["study", "sweep", "--trials", "1", "--out", str(tmp_path)]) == 0
    assert "noise (mm)" in capsys.readouterr().out
    assert {"sweep.md", "sweep.csv", "sweep-angle.png", "sweep-position.png"} <= {p.name for p in tmp_path.iterdir()}


def test_time_counts_actions_and_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(timing, "OBJECTS", ("testbench",))
    assert main(["study", "time", "--trials", "1", "--out", str(tmp_path)]) == 0
    assert "testbench, simulated" in capsys.readouterr().out
    (row,) = timing.study_time(1, 1, tmp_path)
    assert row.joints == 3
    assert row.takes >= 5
    assert row.actions >= 2 * row.takes
    assert row.total_s < timing.PUBLISHED_S


def test_real_tracks_of_poses_and_positions(tmp_path, capsys):
    for i in range(3):
        scene = joint_poses(i, turn=1.2, slide=0.0, radius=0.4, n=300)
        np.savetxt(tmp_path / f"{i}.log", scene.points, header="x y z", comments="")
        rotations = quaternion_from_rotation(scene.poses[:, :3, :3])
        (tmp_path / "poses").mkdir(exist_ok=True)
        np.savetxt(tmp_path / "poses" / f"{i}.log", np.column_stack([scene.poses[:, :3, 3], rotations]))
    (tmp_path / "notes.txt").write_text("nothing to see")
    assert main(["study", "real", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert out.count("rotary") >= 6
    assert "notes" not in out


def test_real_refuses_what_holds_no_tracks(tmp_path, capsys):
    assert main(["study", "real", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "no tracks" in capsys.readouterr().err
    assert main(["study", "real", str(tmp_path / "absent"), "--out", str(tmp_path / "out")]) == 1


@pytest.mark.skipif(not (REAL / "hrl").exists(), reason="the public recordings are not on this machine")
def test_a_robot_opening_a_cabinet(tmp_path, capsys):
    assert main(["study", "real", str(REAL / "hrl"), "--out", str(tmp_path)]) == 0
    assert "| ikea_cabinet.csv | 921 | rotary |" in capsys.readouterr().out


def test_page_needs_results(tmp_path, capsys):
    assert main(["study", "page", "--out", str(tmp_path), "--to", str(tmp_path / "e.md")]) == 1
    (tmp_path / "time.md").write_text("<!-- study time, seed 1 -->\n\n| a |\n")
    assert main(["study", "page", "--out", str(tmp_path), "--to", str(tmp_path / "e.md")]) == 0
    assert "`study time, seed 1`" in (tmp_path / "e.md").read_text()
    capsys.readouterr()
