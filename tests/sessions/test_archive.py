"""Work over many sessions: in parallel, resumed, with failures kept apart."""

import csv
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sessions.archive import work_through, write_table

JOB = """
from pathlib import Path
from sessions import open_session

def count(path):
    marks = Path(path).parent / "done"
    marks.mkdir(exist_ok=True)
    (marks / path.name).write_text((marks / path.name).read_text() + "x" if (marks / path.name).exists() else "x")
    session = open_session(path)
    return [{"session": path.name, "body": body, "poses": len(session.poses(body))} for body in session.bodies]
"""
Job = Callable[[Path], Sequence[dict[str, Any]]]


@pytest.fixture
def archive(tmp_path: Path, record: Callable[[Path], None]) -> list[Path]:
    """Five sessions, of which one is broken."""
    paths = [tmp_path / f"{i}.mcap" for i in range(5)]
    for path in paths:
        record(path)
    paths[2].write_bytes(b"broken")
    return paths


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job in a module that other processes can import."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "counting_job.py").write_text(JOB)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(__file__).parents[2]}")
    found: Job = importlib.import_module("counting_job").count
    return found


def times_done(archive: list[Path]) -> list[int]:
    marks = [path.parent / "done" / path.name for path in archive]
    return [len(mark.read_text()) if mark.exists() else 0 for mark in marks]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_session_is_done_and_failures_are_kept_apart(archive: list[Path], job: Job, jobs: int) -> None:
    progress: list[tuple[int, int]] = []
    journal = archive[0].parent / "refit.jsonl"
    outcomes = work_through(
        archive, job, journal, settings={}, jobs=jobs, on_progress=lambda n, of, _: progress.append((n, of))
    )
    assert [o.path for o in outcomes] == archive
    assert [len(o.rows) for o in outcomes] == [2, 2, 0, 2, 2]
    assert "is no MCAP file" in outcomes[2].error
    assert progress == [(i, 5) for i in range(1, 6)]
    assert outcomes[0].rows[0] == {"session": "0.mcap", "body": "gripper", "poses": 40}


def test_an_interrupted_run_goes_on_where_it_stopped(archive: list[Path], job: Job, record) -> None:
    journal = archive[0].parent / "refit.jsonl"
    work_through(archive[:3], job, journal, settings={"noise": 1})
    journal.write_text(journal.read_text() + '{"cut off')
    outcomes = work_through(archive, job, journal, settings={"noise": 1})
    assert times_done(archive) == [1, 1, 2, 1, 1]
    assert [bool(o.error) for o in outcomes] == [False, False, True, False, False]
    archive[2].unlink()
    record(archive[2])
    work_through(archive, job, journal, settings={"noise": 1})
    assert times_done(archive) == [1, 1, 3, 1, 1]
    work_through(archive, job, journal, settings={"noise": 2})
    assert times_done(archive) == [2, 2, 4, 2, 2]


def test_a_dask_cluster_gives_the_same(archive: list[Path], job: Job) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    alone = work_through(archive, job, archive[0].parent / "alone.jsonl", settings={})
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        spread = work_through(archive, job, archive[0].parent / "dask.jsonl", settings={}, dask=address)
    assert spread == alone


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_results_become_a_table(tmp_path: Path, suffix: str) -> None:
    rows = [{"session": "a", "axis_deg": 0.1}, {"session": "b", "error": "no fit"}]
    path = tmp_path / f"table.{suffix}"
    if suffix == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        write_table(rows, path)
        assert parquet.read_table(path).to_pylist() == [
            {"session": "a", "axis_deg": 0.1, "error": None},
            {"session": "b", "axis_deg": None, "error": "no fit"},
        ]
    else:
        write_table(rows, path)
        with path.open(newline="") as file:
            assert list(csv.DictReader(file))[1] == {"session": "b", "axis_deg": "", "error": "no fit"}
