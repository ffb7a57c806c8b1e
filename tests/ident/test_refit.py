"""Refits of an archive, on two jobs, on a cluster, interrupted; and of recordings that come from elsewhere."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ident import refitting
from ident.cli import main
from ident.refitting import Change, RefitSettings, refit_archive
from sessions.imports import import_recording

KITCHEN = Path(__file__).parents[2] / "../shared/data/sturm/kitchen"


def pose_log(path: Path, kind: str, seed: int) -> Path:
    """A door of 0.4 m through 80°, or a drawer of 0.3 m, with half a millimetre and a tenth of a degree of noise."""
    rng = np.random.default_rng(seed)
    n = 300
    share = np.linspace(0.0, 1.0, n)
    angles = np.radians(80.0) * share if kind == "rotary" else np.zeros(n)
    turns = Rotation.from_rotvec(np.outer(angles, [0.0, 0.0, 1.0])) * Rotation.from_rotvec(rng.normal(0, 2e-3, (n, 3)))
    circle = 0.4 * np.stack([np.cos(angles), np.sin(angles), np.zeros(n)], axis=1)
    slide = np.outer(0.3 * share, [1.0, 0.0, 0.0])
    places = (circle if kind == "rotary" else slide) + rng.normal(0.0, 5e-4, (n, 3))
    np.savetxt(path, np.hstack([places, turns.as_quat()]))
    return path


@pytest.fixture
def archive(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "archive"
    folder.mkdir()
    for seed, kind in enumerate(("rotary", "prismatic", "rotary", "prismatic")):
        log = pose_log(tmp_path / f"{kind}{seed}.log", kind, seed)
        import_recording(log, folder / f"{kind}{seed}.mcap")
    return sorted(folder.iterdir())


def refitted(paths: list[Path], out: Path, jobs: int = 1, dask: str | None = None) -> dict[str, list[Change]]:
    return {p.name: rows for p, rows in refit_archive(paths, RefitSettings(), out, jobs=jobs, dask=dask)}


def test_an_imported_recording_is_fitted_as_one_joint_of_unknown_type(archive: list[Path], tmp_path: Path) -> None:
    for name, rows in refitted(archive, tmp_path / "out").items():
        (row,) = rows
        assert row.error == ""
        assert row.node == "joint"
        assert name.startswith(row.kind)
        assert row.residual_mm is not None
        assert 0.3 < row.residual_mm < 1.0


def test_two_jobs_give_what_one_gives(archive: list[Path], tmp_path: Path) -> None:
    paths = archive[:2]
    assert refitted(paths, tmp_path / "two", jobs=2) == refitted(paths, tmp_path / "one")


def test_an_interrupted_refit_goes_on_where_it_stopped(
    archive: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    begun = refit_archive(archive, RefitSettings(), out)
    first, rows = next(begun)
    begun.close()
    worked: list[str] = []
    task = refitting._task

    def counted(path: Path, settings: RefitSettings) -> tuple[Path, list[Change]]:
        worked.append(path.name)
        return task(path, settings)

    monkeypatch.setattr("ident.refitting._task", counted)
    again = refitted(archive, out)
    assert again[first.name] == rows
    assert len(again) == len(archive)
    assert first.name not in worked
    worked.clear()
    assert refitted(archive, out) == again
    assert worked == []


def test_a_broken_session_is_a_row_and_is_tried_again(archive: list[Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(b"\x89MCAP0\r\n" + bytes(100))
    found = refitted([broken, archive[0]], tmp_path / "out")
    assert found["broken.mcap"][0].error
    assert not found[archive[0].name][0].error
    assert len(list((tmp_path / "out" / "sessions").glob("*.json"))) == 1


def test_the_command_prints_the_fits(archive: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = archive[0].parent
    assert main(["refit", str(folder), "--jobs", "2", "--out", str(tmp_path / "out"), "--type", "joint=auto"]) == 0
    printed = capsys.readouterr().out
    assert "residual mm" in printed
    assert printed.count("prismatic") >= 2
    assert "4 sessions, 0 failures" in printed
    assert len((tmp_path / "out" / "refit.csv").read_text().splitlines()) == 5


def test_a_cluster_gives_the_same_though_a_worker_is_killed(archive: list[Path], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the cluster extra")
    expected = refitted(archive, tmp_path / "alone")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        victim = next(iter(cluster.workers.values()))
        found: dict[str, list[Change]] = {}
        for path, rows in refit_archive(archive, RefitSettings(), tmp_path / "cluster", dask=cluster.scheduler_address):
            found[path.name] = rows
            if len(found) == 1:
                os.kill(victim.pid, 9)
    assert found == expected


@pytest.mark.parametrize(
    ("name", "kind", "residual_mm"),
    [("M2U00394", "prismatic", 1.6), ("M2U00407", "prismatic", 1.6), ("M2U00389", "rotary", 2.5)],
)
def test_real_tracks_come_out_with_the_known_residuals(
    name: str, kind: str, residual_mm: float, tmp_path: Path
) -> None:
    log = KITCHEN / f"{name}.log"
    if not log.exists():
        pytest.skip(f"the recorded tracks are not here: {log}")
    import_recording(log, tmp_path / "track.mcap")
    ((row,),) = refitted([tmp_path / "track.mcap"], tmp_path / "out").values()
    assert row.kind == kind
    assert row.residual_mm is not None
    assert row.residual_mm < residual_mm
