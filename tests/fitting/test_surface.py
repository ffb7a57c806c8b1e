"""The public surface: every fitter recovers what made the data, and says how sure it is."""

import json

import numpy as np
import pytest

import fitting
from fitting.se3 import Array, frame, rotation_exp
from fitting.synthetic import axis_error, joint_poses


@pytest.mark.parametrize(("degrees", "radius"), [(20, 0.05), (60, 0.7), (90, 0.0)])
@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_rotary(degrees: float, radius: float, outliers: float) -> None:
    scene = joint_poses(1, turn=np.radians(degrees), radius=radius, outliers=outliers)
    fit = fitting.fit_rotary(scene.poses)
    assert fit, fit
    tilt, shift, squared = axis_error(fit, scene)
    assert tilt < np.radians(0.2)
    assert shift < 1e-3
    assert squared < 25.0
    assert fit.grip == "rigid"
    assert fit.radius == pytest.approx(radius, abs=1e-3)
    assert np.ptp(fit.angles[fit.inliers]) == pytest.approx(np.radians(degrees), rel=0.02)


@pytest.mark.parametrize(("turn", "slide"), [(1.0, 0.1), (1.0, 0.0), (0.0, 0.1)])
def test_cylindrical(turn: float, slide: float) -> None:
    scene = joint_poses(2, turn=turn, slide=slide, radius=0.0, outliers=0.2)
    fit = fitting.fit_cylindrical(scene.poses)
    assert fit, fit
    tilt, shift, _ = axis_error(fit, scene)
    assert tilt < np.radians(0.2)
    assert np.ptp(fit.slides[fit.inliers]) == pytest.approx(slide, abs=4e-3)
    if turn:
        assert shift < 1e-3
    else:
        assert fit.position_std > 0.5


def test_prismatic() -> None:
    scene = joint_poses(3, slide=0.3, outliers=0.3)
    fit = fitting.fit_prismatic(scene.poses)
    assert fit, fit
    assert axis_error(fit, scene)[0] < np.radians(0.1)
    assert fit.orientation_constant
    assert np.ptp(fit.coordinates[fit.inliers]) == pytest.approx(0.3, abs=4e-3)


def test_screw() -> None:
    scene = joint_poses(4, turn=2.0, radius=0.1, pitch=0.02)
    fit = fitting.fit_screw(scene.poses)
    assert fit, fit
    assert axis_error(fit, scene)[0] < np.radians(0.1)
    assert fit.pitch == pytest.approx(0.02, abs=2e-4)
    assert abs(fit.pitch - 0.02) < 5.0 * fit.pitch_std


def test_rigid_and_pivot() -> None:
    scene = joint_poses(5, outliers=0.3)
    rigid = fitting.fit_rigid(scene.poses)
    assert rigid, rigid
    assert rigid.position_std < 1e-4
    assert rigid.inliers.mean() == pytest.approx(0.7, abs=0.05)
    rng = np.random.default_rng(5)
    rotations = rotation_exp(0.4 * rng.normal(size=(400, 3)))
    body, world = np.array([0.1, 0.2, 0.05]), np.array([1.0, 2.0, 1.0])
    poses = frame(rotations, world - rotations @ body + 5e-4 * rng.normal(size=(400, 3)))
    pivot = fitting.fit_pivot(poses)
    assert pivot, pivot
    assert np.allclose(pivot.point, world, atol=5.0 * pivot.position_std)
    assert np.allclose(pivot.body_point, body, atol=5.0 * pivot.body_position_std)


def test_results_are_json() -> None:
    scene = joint_poses(6, turn=1.0, slide=0.05, radius=0.2)
    for fit in (fitting.fit_rotary(scene.poses), fitting.fit_cylindrical(scene.poses), fitting.fit_rigid(scene.poses)):
        assert json.loads(json.dumps(fit.to_dict()))["ok"] is bool(fit)


def _halves(poses: Array) -> list[Array]:
    return [poses[: len(poses) // 2], poses[len(poses) // 2 :]]


def test_several_takes_share_one_axis() -> None:
    scene = joint_poses(7, turn=1.2, radius=0.3)
    first, second = _halves(scene.poses)
    # A second grip: another body frame on the same joint.
    grip = frame(rotation_exp([0.3, -0.5, 0.8]), [0.02, -0.1, 0.05])
    fit = fitting.fit_rotary([first, second @ grip])
    assert fit, fit
    assert axis_error(fit, scene)[2] < 25.0
    assert len(fit.angles) == len(scene.poses)
    # A take in which nothing moved is no reason to fail.
    still = np.tile(first[:1], (50, 1, 1))
    more = fitting.fit_rotary([first, still, second @ grip])
    assert more, more
    assert len(more.inliers) == len(scene.poses) + 50
    assert fitting.fit_cylindrical([first, still, second @ grip])
    circle = fitting.fit_circle([first[:, :3, 3], (second @ grip)[:, :3, 3]])
    assert circle, circle
    assert axis_error(circle, scene)[2] < 25.0


@pytest.mark.parametrize("reach", [0.01, 0.2, 1.0])
def test_a_body_that_hardly_turned_has_no_pivot(reach: float) -> None:
    """Turns within their noise fit a point, but noise of the regressor draws it to the tracked origin."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        t = np.linspace(0.0, 1.0, 300)
        course = np.stack([np.sin(9.0 * t + 1.0), np.cos(7.0 * t), np.sin(4.0 * t)], axis=1)
        for turn, told in ((1e-3, False), (0.3, True)):
            R = rotation_exp(turn * course) @ rotation_exp(rng.normal(size=3))
            p = 5e-4 * rng.normal(size=(300, 3)) - R @ np.array([reach, 0.0, 0.0])
            fit = fitting.fit_pivot(frame(rotation_exp(2e-3 * rng.normal(size=(300, 3))) @ R, p))
            assert bool(fit) == told
            if fit:
                assert np.linalg.norm(fit.point) < 5.0 * fit.position_std


def test_a_handle_that_hardly_turns_claims_no_more_than_it_knows() -> None:
    """A turn of one degree at 30 cm: a part of the slide alone fits axes that are a quarter of a radian off."""
    squares = []
    for seed in (5007, 5008, 5031, 5037, 5044, 5045, 5054):
        scene = joint_poses(seed, turn=0.02, slide=0.1, radius=0.3, n=600, outliers=0.0 if seed == 5031 else 0.3)
        fit = fitting.fit_cylindrical(scene.poses)
        assert fit, fit
        squares.append(axis_error(fit, scene)[2])
    assert np.mean(squares) < 10.0
