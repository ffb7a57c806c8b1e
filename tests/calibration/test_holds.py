import numpy as np
import pytest

from bench.calibration_rigs import Weight
from calibration import Hold, Load, SensorAlignment, align_sensor, coverage, find_holds, hold_still, identify_load
from fitting import se3


@pytest.mark.parametrize("seed", range(6))
def test_every_pause_of_a_free_movement_becomes_a_hold(seed: int) -> None:
    weight = Weight(seed)
    holds = find_holds(*weight.free_movement(n=8))
    assert len(holds) == 8
    assert all(hold.valid and hold.stop_ns - hold.start_ns > 0.5e9 for hold in holds)
    turns, wrenches = np.stack([h.rotation for h in holds]), np.stack([h.wrench for h in holds])
    alignment = align_sensor(turns, wrenches[:, :3])
    assert isinstance(alignment, SensorAlignment)
    error = np.linalg.norm(se3.rotation_log(weight.sensor2body @ alignment.rotation.T))
    assert error < np.radians(0.5)
    load = identify_load(turns @ alignment.rotation, wrenches)
    assert isinstance(load, Load)
    assert load.mass == pytest.approx(weight.mass, rel=0.01)
    assert np.linalg.norm(load.com - weight.com) < 0.001
    assert load.residual < 0.05
    assert coverage(turns).complete


def test_gaps_outliers_and_saturation_do_not_hide_or_forge_holds() -> None:
    weight = Weight(11)
    t, poses, wrenches = weight.free_movement(n=7)
    rng = np.random.default_rng(0)
    poses[rng.random(len(t)) < 0.02, :3, 3] += 0.2
    wrenches[200:205] = np.nan
    valid = np.ones(len(t), dtype=bool)
    valid[20:60] = False
    holds = find_holds(t, poses, wrenches, valid=valid)
    assert len(holds) == 7
    assert [hold.valid for hold in holds] == [False] + [True] * 6


def test_moving_without_a_pause_has_no_holds() -> None:
    weight = Weight(12)
    assert find_holds(*weight.free_movement(n=6, hold_s=0.0)) == ()
    assert find_holds(np.zeros(0), np.zeros((0, 4, 4)), np.zeros((0, 6))) == ()


def test_missing_sides_are_named() -> None:
    weight = Weight(15)
    turns, _ = weight.holds(4)
    seen = coverage(turns)
    assert not seen.complete
    assert set(seen.missing) == {"-y", "-z"}
    assert "-y" in seen.advice
    nothing = coverage(np.zeros((0, 3, 3)))
    assert len(nothing.missing) == 6


def test_sides_follow_the_rigs_gravity() -> None:
    upright = coverage(np.eye(3)[None], gravity=(0.0, -9.8, 0.0))
    assert upright.seen == ("-y",)


def test_a_hold_is_refused_when_it_moved_or_saturated() -> None:
    weight = Weight(14)
    t, poses, wrenches = weight.free_movement(n=2, hold_s=1.5)
    still = slice(0, 150)
    assert isinstance(hold_still(t[still], poses[still], wrenches[still]), Hold)
    refused = hold_still(t, poses, wrenches)
    assert not refused
    assert refused.cause == "moved"
    refused = hold_still(t[still], poses[still], wrenches[still], valid=np.arange(150) < 100)
    assert not refused
    assert refused.cause == "saturated"
    refused = hold_still(t[:10], poses[:10], wrenches[:10])
    assert not refused
    assert refused.cause == "too-few"


def test_streams_of_different_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="3 times"):
        find_holds([1, 2, 3], np.zeros((2, 4, 4)), np.zeros((3, 6)))
