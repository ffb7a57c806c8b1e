import numpy as np
import pytest

from bench.calibration_rigs import Rig, normalised
from calibration import (
    ProbedPoint,
    Registration,
    Tip,
    probe_point,
    register_again,
    register_as_world,
    register_by_body,
    register_by_points,
    replacement,
    tip_by_pivoting,
)
from fitting import se3

MARKS = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.1, 0.4, 0.0]])


def calibrated(rig: Rig) -> Tip:
    tip = tip_by_pivoting(rig.pivoting(n=300))
    assert isinstance(tip, Tip)
    return tip


def probe(rig: Rig, tip: Tip, root2world: np.ndarray, marks: np.ndarray = MARKS) -> list[ProbedPoint]:
    points = []
    for mark in se3.transform(root2world, marks):
        tips = np.repeat(se3.frame(rig.random_rotation(), mark)[None], 60, axis=0)
        point = probe_point(rig.observe(tips), tip)
        assert isinstance(point, ProbedPoint), point.reason
        points.append(point)
    return points


def deviation(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    turn = se3.rotation_log(truth[:3, :3] @ found[:3, :3].T)
    return np.concatenate([truth[:3, 3] - found[:3, 3], turn])


def test_three_points_give_the_root_with_an_honest_covariance() -> None:
    first, again = [], []
    for seed in range(40):
        rig = Rig(seed)
        tip = calibrated(rig)
        root2world = se3.frame(rig.random_rotation(), rig.rng.uniform(-1.0, 1.0, 3))
        defined = register_by_points(probe(rig, tip, root2world))
        assert isinstance(defined, Registration), defined.reason
        first.append(normalised(deviation(root2world, defined.root2world), defined.covariance))
        found = register_again(MARKS, probe(rig, tip, root2world))
        assert isinstance(found, Registration), found.reason
        again.append(normalised(deviation(root2world, found.root2world), found.covariance))
        assert np.linalg.norm(found.root2world[:3, 3] - root2world[:3, 3]) < 0.002
    assert np.mean(first) == pytest.approx(6, rel=0.3)
    assert np.mean(again) == pytest.approx(6, rel=0.3)


def test_a_model_keeps_its_place_after_the_cameras_were_recalibrated() -> None:
    rig = Rig(5)
    tip = calibrated(rig)
    old_root = se3.frame(rig.random_rotation(), [0.5, 0.2, 0.1])
    then = register_by_points(probe(rig, tip, old_root))
    assert isinstance(then, Registration)
    recalibrated = se3.frame(rig.random_rotation(), [2.0, -1.0, 0.3])
    now = register_again(then.points, probe(rig, tip, recalibrated @ old_root))
    assert isinstance(now, Registration)
    hinge = np.array([1.0, 0.4, 0.8])
    moved = se3.transform(replacement(then, now), hinge)
    np.testing.assert_allclose(moved, se3.transform(recalibrated, hinge), atol=0.003)


def test_a_tracked_body_at_rest_is_a_root_and_a_moving_one_is_refused() -> None:
    rig = Rig(6)
    poses = rig.holding()
    found = register_by_body(poses)
    assert isinstance(found, Registration)
    truth = rig.grip2world @ se3.inverse(rig.tip2body)
    assert np.abs(deviation(truth, found.root2world)).max() < 0.001
    poses[:, :3, 3] += np.linspace(0.0, 0.02, len(poses))[:, None]
    refused = register_by_body(poses)
    assert not refused
    assert refused.cause == "moved"
    refused = register_by_body(poses[:4])
    assert not refused
    assert refused.cause == "too-few"


def test_the_world_is_a_root_that_says_what_it_is_worth() -> None:
    world = register_as_world()
    np.testing.assert_array_equal(world.root2world, np.eye(4))
    assert "recalibrated" in world.verdict


def test_collinear_and_swapped_points_are_refused() -> None:
    rig = Rig(7)
    tip = calibrated(rig)
    line = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.6, 0.01, 0.0]])
    refused = register_by_points(probe(rig, tip, np.eye(4), line))
    assert not refused
    assert refused.cause == "collinear"
    refused = register_again(MARKS, probe(rig, tip, np.eye(4), MARKS[[1, 0, 2]]))
    assert not refused
    assert refused.cause == "mismatch"
    assert "mm apart" in refused.reason


def test_a_tip_that_slides_while_probing_is_refused() -> None:
    rig = Rig(8)
    tips = np.repeat(rig.grip2world[None], 90, axis=0)
    tips[:, 0, 3] += np.linspace(0.0, 0.015, 90)
    refused = probe_point(rig.observe(tips), calibrated(rig))
    assert not refused
    assert refused.cause == "moved"


def test_wrong_numbers_of_points_are_errors() -> None:
    with pytest.raises(ValueError, match="three probed points"):
        register_by_points([])
    with pytest.raises(ValueError, match="at least three"):
        register_again(MARKS, [])
