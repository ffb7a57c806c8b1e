"""Calibrating a rig over real sockets, and what becomes of the result when the rig changes."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calibration import CalibrationFailure, CalibrationStore, Tip
from devices.clock import HostClock
from devices.sim import SimulatedRig
from fitting.se3 import frame, rotation_exp
from ident.calibrating import Bench, calibrate_tip, calibrate_weight, keep, probe_points, rig_identity, stored_tip
from ident.cli import main
from ident.errors import IdentError
from ident.identify import calibration_record, tip_of
from ident.joints import Rotary
from ident.placing import in_world, marked_points, moved_root, place
from ident.rig import Listeners, Rig
from ident.simulated import simulated_config
from ident.tree import KinematicTree
from sessions import Recorder

SPEED = 5.0


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    clock = HostClock(SPEED)
    path = tmp_path_factory.mktemp("calibrate") / "s.mcap"
    with (
        SimulatedRig("door", seed=8, speed=SPEED) as sim,
        Recorder(path, metadata={}, now_ns=clock.now_ns) as recorder,
        Rig(simulated_config(sim), clock, Listeners(poses=recorder.poses)) as rig,
    ):
        yield Bench(rig, recorder, sim, out=io.StringIO(), source=io.StringIO())


@pytest.mark.parametrize(("method", "limit_mm"), [("two-rotations", 2.0), ("pivoting", 1.0)])
def test_the_tip_is_found(bench: Bench, method: str, limit_mm: float) -> None:
    assert bench.sim is not None
    tip = calibrate_tip(bench, method)
    assert isinstance(tip, Tip)
    truth = np.array(bench.sim.truth()["tip2body"])[:3, 3]
    assert np.linalg.norm(tip.offset - truth) * 1e3 < limit_mm


def test_sensor_and_weight_are_found_in_one_free_movement(bench: Bench) -> None:
    assert bench.sim is not None
    found = calibrate_weight(bench)
    assert not isinstance(found, CalibrationFailure), found
    alignment, load = found
    truth = bench.sim.truth()
    turned = alignment.rotation.T @ np.array(truth["sensor2body"])
    assert np.degrees(np.arccos(np.clip((np.trace(turned) - 1.0) / 2.0, -1.0, 1.0))) < 0.5
    assert load.mass == pytest.approx(truth["mass_kg"], rel=0.01)
    assert np.linalg.norm(load.com - np.array(truth["com_m"])) < 0.001


def test_a_stored_tip_is_refused_after_the_body_was_redefined(bench: Bench, tmp_path: Path) -> None:
    assert bench.sim is not None
    store = CalibrationStore(tmp_path)
    tip = calibrate_tip(bench, "pivoting")
    assert isinstance(tip, Tip)
    keep(tip, bench, store)
    np.testing.assert_allclose(stored_tip(bench, store).offset, tip.offset)
    points = probe_points(bench, tip, 3, None)
    assert not isinstance(points, CalibrationFailure)
    before = rig_identity(bench.rig)
    bench.sim.redefine_body()
    while rig_identity(bench.rig) == before:
        bench.sim.perform({"kind": "place", "joint": "hinge", "at": "lower"})
    with pytest.raises(IdentError, match="ident calibrate tip"):
        stored_tip(bench, store)


def test_a_tip_survives_the_event_log() -> None:
    tip = Tip("two-rotations", np.array([0.1, 0.0, 0.2]), np.eye(3), np.eye(6) * 1e-8, "Good.", (), {"play": 0.1})
    back = tip_of(calibration_record(tip))
    np.testing.assert_array_equal(back.offset, tip.offset)
    np.testing.assert_array_equal(back.covariance, tip.covariance)


def probed(positions: np.ndarray) -> list[object]:
    from calibration import ProbedPoint

    return [ProbedPoint(p, np.eye(3) * 1e-8, np.eye(3), np.eye(3) * 1e-8) for p in positions]


def test_a_model_is_where_it_was_on_its_object_after_the_cameras_moved() -> None:
    rng = np.random.default_rng(3)
    hinge = Rotary(name="hinge", origin=frame(rotation_exp([0.3, 0.1, 0.0]), [0.4, 0.2, 1.0]), limits=((0.0, 1.5),))
    world = KinematicTree("door", (hinge,))
    marks = np.array([[0.0, 0.0, 0.5], [0.6, 0.1, 0.5], [0.1, 0.2, 1.4]])
    first = place(world, probed(marks))  # type: ignore[arg-type]
    assert not isinstance(first, CalibrationFailure)
    placed, _ = first
    np.testing.assert_allclose(in_world(placed)["hinge"].origin, hinge.origin, atol=1e-9)
    # The cameras are calibrated anew: the same object, in another world frame.
    moved = frame(rotation_exp(rng.normal(size=3)), rng.normal(size=3))
    again = place(placed, probed(marks @ moved[:3, :3].T + moved[:3, 3]))  # type: ignore[arg-type]
    assert not isinstance(again, CalibrationFailure)
    replaced, _ = again
    np.testing.assert_allclose(marked_points(replaced), marked_points(placed))
    np.testing.assert_allclose(in_world(replaced)["hinge"].origin, moved @ hinge.origin, atol=1e-6)
    assert moved_root(world, np.eye(4)) == world


def test_the_store_can_be_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "list", "--store", str(tmp_path)]) == 0
    assert "no calibrations" in capsys.readouterr().out
    assert main(["calibrate", "show", "nothing", "--store", str(tmp_path)]) == 1
    assert "No calibration 'nothing'" in capsys.readouterr().err
    assert main(["calibrate", "tip"]) == 1
    assert "--rig" in capsys.readouterr().err
