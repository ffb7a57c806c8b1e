import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from bench.calibration_rigs import Rig, Weight
from calibration import (
    CalibrationStore,
    Load,
    Record,
    RigIdentity,
    SensorAlignment,
    StoreError,
    Tip,
    align_sensor,
    describe,
    identify_load,
    register_by_body,
    tip_by_pivoting,
    tip_by_two_rotations,
)
from fitting import se3

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
MARKERS = ((0.05, 0.0, 0.01), (-0.04, 0.03, 0.0), (0.0, -0.06, 0.02), (-0.01, 0.03, -0.03))
RIG = RigIdentity("gripper", {"ft": "FT30291"}, MARKERS)


@pytest.fixture(scope="module")
def tip() -> Tip:
    rig = Rig(1)
    found = tip_by_two_rotations(rig.about_screws(), rig.about_handle())
    assert isinstance(found, Tip)
    return found


@pytest.fixture
def store(tmp_path: Path) -> CalibrationStore:
    return CalibrationStore(tmp_path / "calibrations")


def moved(rotation: np.ndarray, shift: np.ndarray) -> RigIdentity:
    markers = np.array(MARKERS) @ rotation.T + shift
    return RigIdentity("gripper", RIG.serials, tuple(tuple(m) for m in markers.tolist()))


def test_every_kind_comes_back_as_it_was(store: CalibrationStore, tip: Tip) -> None:
    weight = Weight(1)
    turns, wrenches = weight.holds(8)
    load, sensor = identify_load(turns @ weight.sensor2body, wrenches), align_sensor(turns, wrenches[:, :3])
    place, pivoted = register_by_body(Rig(2).holding()), tip_by_pivoting(Rig(2).pivoting())
    assert load
    assert sensor
    assert place
    assert pivoted
    for kind, saved in (("tip", tip), ("load", load), ("sensor", sensor), ("registration", place), ("tip", pivoted)):
        store.save(saved, RIG, now=NOW)
        record = store.find(kind, RIG, now=NOW)
        assert isinstance(record, Record)
        back = record.calibration()
        assert type(back) is type(saved)
        for name in (
            "offset",
            "rotation",
            "covariance",
            "mass",
            "com",
            "force_bias",
            "root2world",
            "points",
            "gravity",
        ):
            if getattr(saved, name, None) is not None:
                np.testing.assert_array_equal(getattr(back, name), getattr(saved, name))
        assert back.verdict == saved.verdict
        store.remove(store.entries()[0].name)
    assert isinstance(load, Load)
    assert isinstance(sensor, SensorAlignment)


def test_the_newest_that_fits_is_found(store: CalibrationStore, tip: Tip) -> None:
    store.save(tip, RIG, now=NOW - timedelta(days=3))
    store.save(tip, RIG, now=NOW - timedelta(days=1))
    store.save(tip, moved(np.eye(3), np.array([0.0, 0.0, 0.1])), now=NOW)
    record = store.find("tip", RIG, now=NOW)
    assert isinstance(record, Record)
    assert record.created == NOW - timedelta(days=1)
    assert len(store.entries()) == 3


@pytest.mark.parametrize(
    ("rig", "cause", "words"),
    [
        (moved(se3.rotation_exp([0.0, 0.0, 0.5]), np.zeros(3)), "redefined", "axes turned by 28.6°"),
        (moved(np.eye(3), np.array([0.0, 0.01, 0.0])), "redefined", "origin moved by 10.0 mm"),
        (RigIdentity("gripper", {}, (*MARKERS[:3], (0.0, 0.0, 0.0))), "markers-changed", "moved by"),
        (RigIdentity("gripper", {}, MARKERS[:3]), "markers-changed", "3 markers, it had 4"),
        (RigIdentity("gripper", {"ft": "FT1"}, MARKERS), "other-device", "FT30291"),
        (RigIdentity("glove", {}, MARKERS), "none-stored", "no tip calibration for 'glove'"),
    ],
)
def test_another_rig_is_refused_with_the_reason(
    store: CalibrationStore, tip: Tip, rig: RigIdentity, cause: str, words: str
) -> None:
    store.save(tip, RIG, now=NOW)
    refused = store.find("tip", rig, now=NOW)
    assert not refused
    assert refused.cause == cause
    assert words in refused.reason
    assert "Run `ident calibrate tip`" in refused.reason


def test_an_old_one_is_refused_and_all_reasons_are_given(store: CalibrationStore, tip: Tip) -> None:
    store.save(tip, RIG, now=NOW - timedelta(days=31))
    refused = store.find("tip", RIG, now=NOW)
    assert not refused
    assert refused.cause == "too-old"
    assert "31 days old" in refused.reason
    assert store.find("tip", RIG, now=NOW, max_age=timedelta(days=40))
    refused = store.find("tip", moved(np.eye(3), np.array([0.0, 0.01, 0.0])), now=NOW)
    assert not refused
    assert "redefined" in refused.reason
    assert "31 days" in refused.reason


def test_a_body_without_described_markers_is_accepted_by_name(store: CalibrationStore, tip: Tip) -> None:
    store.save(tip, RIG, now=NOW)
    assert store.find("tip", RigIdentity("gripper"), now=NOW)
    assert RigIdentity("gripper").fingerprint == "unknown"


def test_tiny_differences_of_a_description_do_not_matter(store: CalibrationStore, tip: Tip) -> None:
    store.save(tip, RIG, now=NOW)
    assert store.find("tip", moved(np.eye(3), np.full(3, 1e-5)), now=NOW)


def test_entries_are_named_shown_and_removed(store: CalibrationStore, tip: Tip) -> None:
    first = store.save(tip, RIG, now=NOW)
    second = store.save(tip, RIG, now=NOW)
    assert first != second
    record = store.get(second.stem).record
    assert record is not None
    text = describe(record)
    assert "gripper" in text
    assert tip.verdict in text
    assert "FT30291" in text
    with pytest.raises(StoreError, match="fits 2"):
        store.get("2026-05-04")
    with pytest.raises(StoreError, match="ident calibrate list"):
        store.get("nothing")
    assert store.remove(second.stem) == second
    assert [e.path for e in store.entries()] == [first]
    assert list(store.directory.glob("*.part")) == []


def test_names_of_bodies_cannot_leave_the_directory(store: CalibrationStore, tip: Tip) -> None:
    path = store.save(tip, RigIdentity("../../evil body"), now=NOW)
    assert path.parent == store.directory
    assert store.find("tip", RigIdentity("../../evil body"), now=NOW)


def test_damaged_files_are_named_and_skipped(store: CalibrationStore, tip: Tip) -> None:
    path = store.save(tip, RIG, now=NOW)
    good = json.loads(path.read_text())
    damage = {
        "cut": path.read_text()[:200],
        "rotation": json.dumps({**good, "values": {**good["values"], "rotation": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}}),
        "covariance": json.dumps({**good, "values": {**good["values"], "covariance": [[1.0]]}}),
        "version": json.dumps({**good, "version": 99}),
        "nan": path.read_text().replace(f"{good['values']['offset'][0]!r}", "NaN"),
    }
    for name, text in damage.items():
        (store.directory / f"{name}.json").write_text(text)
    problems = {e.name: e.problem for e in store.entries() if e.record is None}
    assert set(problems) == set(damage)
    assert "no rotation" in problems["rotation"]
    assert "6×6" in problems["covariance"]
    assert store.find("tip", RIG, now=NOW)


def test_a_directory_that_cannot_be_written_is_explained(tmp_path: Path, tip: Tip) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreError, match="cannot be written") as caught:
        CalibrationStore(blocked / "calibrations").save(tip, RIG, now=NOW)
    assert caught.value.explains_itself


def test_an_absent_directory_is_empty(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "none")
    assert store.entries() == ()
    assert not store.find("load", RIG, now=NOW)
    shutil.rmtree(tmp_path)
