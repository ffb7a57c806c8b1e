"""Studies: the source's method, trials that resume, the tables of the source."""

import json
import math
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from fitting.se3 import complete_axis, frame, rotation_exp
from ident.cli import main
from ident.study import source_method as source
from ident.study import thesis
from ident.study.scores import scored
from ident.study.statistics import Errors, Summary, line_errors
from ident.study.tables import not_better, number, thesis_markdown, thesis_rows, worse, write_csv
from ident.study.trials import Task, run_tasks

AXIS = np.array([0.25, -0.4, 0.8817]) / np.linalg.norm([0.25, -0.4, 0.8817])
TRUTH = {"type": "rotary", "axis": AXIS, "point": [0.5, 0.9, 0.9]}


def arc(angles, radius=0.3):
    basis = complete_axis(AXIS)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=-1)
    return np.asarray(TRUTH["point"]) + radius * ring @ basis.T


def test_its_circle_and_line_are_exact_on_clean_data():
    rng = np.random.default_rng(0)
    circle = source.fit_circle(arc(np.linspace(0.0, 1.5, 200)), rng)
    assert line_errors(circle.direction, circle.point, TRUTH) == Errors(
        pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6)
    )
    line = source.fit_line(np.array([0.1, 0.2, 0.3]) + np.outer(np.linspace(0, 0.3, 200), AXIS), rng)
    assert line_errors(line.direction, line.point, TRUTH).angle_deg == pytest.approx(0, abs=1e-6)


def test_its_ransac_drops_what_leaves_the_plane():
    rng = np.random.default_rng(0)
    points = arc(np.linspace(0.0, 2.0, 300))
    points[100:160] += 0.04 * AXIS
    robust, plain = (source.fit_circle(points, rng, robust=r) for r in (True, False))
    assert line_errors(robust.direction, robust.point, TRUTH).angle_deg < 1e-6
    assert line_errors(plain.direction, plain.point, TRUTH).angle_deg > 1.0


def test_its_tip_is_where_both_axes_meet():
    tip, spot = np.array([0.1, -0.05, 0.12]), np.array([0.4, 0.5, 0.6])
    turns = []
    for axis in ([1.0, 0.0, 0.0], [0.0, 0.3, 1.0]):
        rotations = rotation_exp(np.outer(np.linspace(-0.8, 0.8, 150), axis))
        turns.append(frame(rotations, spot - rotations @ tip))
    assert source.find_tip(turns[0], turns[1], np.random.default_rng(0)) == pytest.approx(tip, abs=1e-9)


SEED_OF = attrgetter("trial_seed")
"""A function that worker processes can import."""


def refuse(task: Task) -> None:
    raise AssertionError(f"{task} was made already")


def test_trials_resume_and_do_not_depend_on_the_number_of_jobs(tmp_path):
    tasks = [Task("a", trial, seed=3) for trial in range(6)]
    one = run_tasks(SEED_OF, tasks[:3], tmp_path / "one")
    counted: list[int] = []
    one = run_tasks(SEED_OF, tasks, tmp_path / "one", on_done=counted.append)
    assert counted == [3, 1, 1, 1]
    assert one == run_tasks(SEED_OF, list(reversed(tasks)), tmp_path / "two", jobs=2)[::-1]
    assert run_tasks(refuse, tasks, tmp_path / "two") == one
    assert len(set(one)) == 6


def test_every_row_belongs_to_an_experiment_and_every_experiment_to_a_row():
    assert {row.experiment for row in thesis.ROWS} == set(thesis.EXPERIMENTS)


@pytest.mark.parametrize("name", ["outliers prismatic", "bar"])
def test_a_trial_gives_the_same_again_and_errors_of_both_methods(name):
    task = Task(name, 0, seed=5)
    result = thesis.run_trial(task)
    assert json.loads(json.dumps(result)) == thesis.run_trial(task)
    for row in thesis.ROWS:
        if row.experiment == name:
            assert result[row.key]["ours"][0] < 1.0
            assert math.isfinite(result[row.key]["theirs"][0])


def results(*pairs):
    return [
        {"ours": [a, 0.5], "theirs": [b, 6.0], "by_ruler": [b, 9.0], "claimed": [0.1, None], "again": a > b}
        for a, b in pairs
    ]


def test_tables_say_where_ours_is_not_better(tmp_path):
    row = thesis.ROWS[0]
    best = scored(row, results((0.1, 0.5), (0.2, 0.4), (0.1, 0.3)))
    equal = scored(row, results((0.2, 0.1), (0.1, 0.2), (0.3, 0.27)))
    worst = scored(row, results((0.3, 0.1), (0.31, 0.1), (0.3, 0.11)))
    unlike = scored(row, [*results((0.9, 1.5), (0.8, 1.0)), {**results((0, 1))[0], "ours": None}])
    assert [s.angle.standing for s in (best, equal, worst, unlike)] == ["better", "as good", "worse", "worse"]
    assert (worse([best, equal]), worse([unlike])) == (False, True)
    assert not_better([best]) == []
    assert not_better([worst]) == ["rotary, tip calibrated, worse: ours 0.30°, its method 0.10°, published 0.54°"]
    assert "**rotary, tip calibrated (worse)**" in thesis_markdown([worst])
    assert "None." in thesis_markdown([best])
    assert (unlike.failed, worst.asked_again) == (1, 1.0)
    assert best.angle.ratio == pytest.approx(0.4 / 0.539)
    assert best.position.ratio == pytest.approx(6.0 / 8.2)
    write_csv(tmp_path / "t.csv", thesis_rows([best, worst]), {"seed": 1})
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 3


def test_summary_and_numbers():
    summary = Summary.of([1.0, 2.0, 3.0, math.nan])
    assert (summary.n, summary.mean, summary.std, summary.median) == (3, 2.0, 1.0, 2.0)
    assert Summary.of([]).n == 0
    assert [number(v) for v in (0.0486, 12.66, 0.0, math.nan, 123.4)] == ["0.049", "13", "0", "–", "123"]


def test_thesis_writes_tables_and_figure(tmp_path, monkeypatch, capsys):
    kept = tuple(row for row in thesis.ROWS if row.experiment == "bar once")
    monkeypatch.setattr(thesis, "ROWS", kept)
    monkeypatch.setattr(thesis, "EXPERIMENTS", {"bar once": thesis.EXPERIMENTS["bar once"]})
    status = main(["study", "thesis", "--trials", "2", "--seed", "3", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert status == (1 if "worse" in out else 0)
    assert {p.name for p in Path(tmp_path).iterdir()} == {"thesis.md", "thesis.csv", "thesis.png", "trials"}
    assert "seed 3" in (tmp_path / "thesis.md").read_text()


def test_nonsense_is_refused(tmp_path, capsys):
    assert main(["study", "thesis", "--trials", "0", "--out", str(tmp_path)]) == 1
    assert "--trials" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("experiment", "trial", "seed", "node", "most"),
    [
        pytest.param("door once", 18, 11, "lever", 1.0, id="quiet rest of a lever that plays: 47°"),
        pytest.param("outliers prismatic", 43, 77, "slide", 0.5, id="most on the line only while resting: 13°"),
        pytest.param("outliers prismatic", 18, 1, "slide", 0.5, id="the same: no fit"),
    ],
)
def test_takes_that_were_once_far_off(experiment, trial, seed, node, most):
    found = thesis.run_trial(Task(experiment, trial, seed))[node]
    assert found["ours"] is not None
    assert found["ours"][0] < most
