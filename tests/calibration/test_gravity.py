import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bench.calibration_rigs import Rig, Weight, normalised
from calibration import (
    Load,
    SensorAlignment,
    Tip,
    align_by_axes,
    align_sensor,
    compensate,
    identify_load,
    tip_by_pivoting,
    tip_by_two_rotations,
)
from fitting import se3

Y_UP = np.array([0.0, -9.80665, 0.0])


def identify(weight: Weight, n: int = 8) -> tuple[Load, SensorAlignment]:
    turns, wrenches = weight.holds(n)
    load = identify_load(turns @ weight.sensor2body, wrenches, gravity=weight.gravity)
    assert isinstance(load, Load), load.reason
    alignment = align_sensor(turns, wrenches[:, :3], gravity=weight.gravity)
    assert isinstance(alignment, SensorAlignment), alignment.reason
    return load, alignment


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.80665), Y_UP, (1.0, 2.0, -9.0)])
def test_load_and_sensor_are_within_the_promised_error(gravity: tuple[float, float, float]) -> None:
    mass, com, angle, residual = [], [], [], []
    for seed in range(40):
        weight = Weight(seed, np.array(gravity))
        load, alignment = identify(weight)
        mass.append(abs(load.mass / weight.mass - 1))
        com.append(np.linalg.norm(load.com - weight.com))
        angle.append(np.linalg.norm(se3.rotation_log(weight.sensor2body @ alignment.rotation.T)))
        residual.append(load.residual)
    for errors, limit in ((mass, 0.01), (com, 0.001), (angle, np.radians(0.5)), (residual, 0.05)):
        assert np.median(errors) < limit
        assert np.percentile(errors, 95) < 2 * limit


def test_stated_covariances_are_honest() -> None:
    loads, sensors = [], []
    for seed in range(150):
        weight = Weight(5000 + seed)
        load, alignment = identify(weight, n=7)
        truth = np.concatenate([[weight.mass], weight.com, weight.bias])
        found = np.concatenate([[load.mass], load.com, load.force_bias, load.torque_bias])
        loads.append(normalised(truth - found, load.covariance))
        sensors.append(normalised(se3.rotation_log(weight.sensor2body @ alignment.rotation.T), alignment.covariance))
    assert np.mean(loads) == pytest.approx(10, rel=0.2)
    assert np.mean(sensors) == pytest.approx(3, rel=0.25)


def test_compensation_leaves_the_contact_force() -> None:
    weight = Weight(3)
    load, _ = identify(weight, n=12)
    turns = Rotation.random(50, random_state=1).as_matrix()
    contact = np.tile([1.0, -2.0, 3.0, 0.1, 0.2, -0.1], (50, 1))
    free = compensate(weight.wrench(turns, 0.0, 0.0) + contact, turns @ weight.sensor2body, load)
    assert np.abs(free - contact)[:, :3].max() < 0.1
    assert np.abs(free - contact)[:, 3:].max() < 0.01


def test_a_touched_hold_is_left_out_and_named() -> None:
    weight = Weight(4)
    turns, wrenches = weight.holds(12)
    wrenches[4, :3] += [1.5, 0.0, 0.0]
    load = identify_load(turns @ weight.sensor2body, wrenches)
    assert isinstance(load, Load)
    assert np.flatnonzero(~load.used).tolist() == [4]
    assert "Hold 5" in load.verdict
    assert load.mass == pytest.approx(weight.mass, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_a_clipped_sensor_is_refused(seed: int) -> None:
    weight = Weight(seed)
    turns, wrenches = weight.holds(12)
    middle = weight.bias[:3]
    limit = 0.5 * weight.mass * 9.80665
    wrenches[:, :3] = np.clip(wrenches[:, :3], middle - limit, middle + limit)
    for refused in (
        identify_load(turns @ weight.sensor2body, wrenches),
        align_sensor(turns, wrenches[:, :3]),
    ):
        assert not refused
        assert refused.cause == "saturated"


def test_invalid_samples_are_refused() -> None:
    weight = Weight(5)
    turns, wrenches = weight.holds(8)
    refused = identify_load(turns, wrenches, valid=np.arange(8) != 2)
    assert not refused
    assert refused.cause == "saturated"
    assert "hold 3" in refused.reason


def test_too_few_and_too_similar_holds_are_refused() -> None:
    weight = Weight(6)
    turns, wrenches = weight.holds(5)
    refused = identify_load(turns, wrenches)
    assert not refused
    assert refused.cause == "too-few"
    alike = se3.rotation_exp(0.05 * np.random.default_rng(1).normal(size=(8, 3)))
    refused = align_sensor(alike, weight.wrench(alike)[:, :3])
    assert not refused
    assert refused.cause == "too-little-rotation"


def test_gravity_in_the_wrong_direction_is_refused() -> None:
    weight = Weight(7)
    turns, wrenches = weight.holds(8)
    refused = identify_load(turns @ weight.sensor2body, wrenches, gravity=(0.0, 0.0, 9.80665))
    assert not refused
    assert "gravity" in refused.reason
    refused = align_sensor(turns, wrenches[:, :3], gravity=Y_UP)
    assert not refused
    assert refused.cause == "misfit"


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(n, 3, 3\)"):
        identify_load(np.eye(3), np.zeros((1, 6)))
    with pytest.raises(ValueError, match=r"\(1, 6\)"):
        identify_load(np.eye(3)[None], np.zeros((2, 6)))
    with pytest.raises(ValueError, match="Gravity"):
        identify_load(np.eye(3)[None], np.zeros((1, 6)), gravity=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="Rotation 0"):
        identify_load(2 * np.eye(3)[None], np.zeros((1, 6)))


def test_the_sensor_frame_can_come_from_the_axes() -> None:
    rig = Rig(1)
    tip = tip_by_two_rotations(rig.about_screws(), rig.about_handle(), near=rig.tip2body[:3, :3])
    assert isinstance(tip, Tip)
    mounting = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    alignment = align_by_axes(tip, mounting)
    assert isinstance(alignment, SensorAlignment)
    error = se3.rotation_log(rig.tip2body[:3, :3] @ mounting @ alignment.rotation.T)
    assert np.linalg.norm(error) < np.radians(0.1)
    pivoted = tip_by_pivoting(rig.pivoting())
    assert isinstance(pivoted, Tip)
    refused = align_by_axes(pivoted)
    assert not refused
    assert "two rotations" in refused.reason
