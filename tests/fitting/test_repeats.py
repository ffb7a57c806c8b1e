"""A tracker that has lost its body repeats the last pose digit for digit: that is one measurement."""

from typing import Any

import numpy as np
import pytest

import fitting
from fitting.se3 import Array
from fitting.synthetic import axis_error, joint_poses

FITTERS: dict[str, dict[str, float]] = {
    "fit_rotary": {"turn": 1.2},
    "fit_cylindrical": {"turn": 1.2, "slide": 0.1},
    "fit_screw": {"turn": 1.2, "pitch": 0.05},
}


def _stuck(poses: Array, seed: int) -> tuple[Array, Array]:
    """The poses as a tracker tells them that sticks for a third of the time, and which (n,) were measured."""
    rng, measured = np.random.default_rng(seed), np.ones(len(poses), dtype=bool)
    while measured.mean() > 0.7:
        first = int(rng.integers(1, len(poses) - 60))
        measured[first : first + int(rng.integers(5, 60))] = False
    last = np.maximum.accumulate(np.where(measured, np.arange(len(poses)), 0))
    return poses[last], measured


@pytest.mark.parametrize("name", FITTERS)
def test_repeated_poses_count_once(name: str) -> None:
    fitter: Any = getattr(fitting, name)
    for seed in range(4):
        scene = joint_poses(seed, radius=0.2, n=900, **FITTERS[name])
        told, measured = _stuck(scene.poses, seed)
        fit, rest = fitter(told), fitter(scene.poses[measured])
        assert fit, fit
        np.testing.assert_array_equal(fit.covariance, rest.covariance)
        np.testing.assert_array_equal(fit.inliers[measured], rest.inliers)
        np.testing.assert_array_equal(fit.angles[measured], rest.angles)
        assert fit.samples == len(told)
        # They tell of the pose that they repeat.
        repeated = ~measured[1:]
        np.testing.assert_array_equal(fit.angles[1:][repeated], fit.angles[:-1][repeated])
        assert axis_error(fit, scene)[2] < 25.0


def test_places_that_repeat_while_orientations_go_on_are_no_rest_of_the_tip() -> None:
    for seed in range(4):
        scene = joint_poses(seed, turn=1.5, radius=0.2, n=900)
        told, _ = _stuck(scene.poses, seed)
        poses = scene.poses.copy()
        poses[:, :3, 3] = told[:, :3, 3]
        fit = fitting.fit_rotary(poses)
        assert fit, fit
        assert fit.grip == "rigid"
        assert axis_error(fit, scene)[2] < 25.0


@pytest.mark.parametrize("name", ["fit_circle", "fit_line"])
def test_gaps_that_a_sticking_tracker_leaves_are_no_jumps(name: str) -> None:
    fitter: Any = getattr(fitting, name)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, measured = 900, np.ones(900, dtype=bool)
        for _ in range(9):
            first = int(rng.integers(1, n - 40))
            measured[first : first + 40] = False
        there_and_back = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n)
        if name == "fit_line":
            path = 0.4 * there_and_back[:, None] * np.array([0.0, 0.6, 0.8])
        else:
            path = 0.3 * np.stack([np.cos(there_and_back), np.sin(there_and_back), 0.0 * there_and_back], axis=1)
        points = path + 5e-4 * rng.normal(size=(n, 3))
        points = points[np.maximum.accumulate(np.where(measured, np.arange(n), 0))]
        fit = fitter(points)
        assert fit, fit
        assert fit.inliers[measured].mean() > 0.95, seed


def test_what_repeats_beside_outliers_counts_once() -> None:
    rng = np.random.default_rng(3)
    scene = joint_poses(3, turn=1.2, radius=0.3, n=600)
    points, stuck = scene.points.copy(), np.zeros(600, dtype=bool)
    points[200:350], stuck[201:350] = points[200], True
    gross = rng.random(600) < 0.2
    points[gross] += rng.uniform(-0.3, 0.3, (int(gross.sum()), 3))
    fit = fitting.fit_circle(points)
    rest = fitting.fit_circle(points[~stuck | gross])
    assert fit, fit
    assert rest, rest
    np.testing.assert_allclose(fit.covariance, rest.covariance, rtol=0.1)


def test_responses_of_several_takes_know_all_their_samples() -> None:
    takes = []
    for seed, n in ((1, 700), (1, 900)):
        told, _ = _stuck(joint_poses(seed, turn=1.2, radius=0.2, n=n).poses, seed)
        takes.append(told)
    fit = fitting.fit_rotary(takes)
    assert fit, fit
    assert [one.samples for one in fit.responses] == [700, 900]
    assert fit.samples == 1600


def test_selection_tells_of_all_samples() -> None:
    told, _ = _stuck(joint_poses(2, turn=1.2, radius=0.2, n=900).poses, 2)
    found = fitting.select(told)
    assert isinstance(found, fitting.Selection)
    assert found.kind == "rotary"
    assert all(one.fit.samples == 900 for one in found.candidates if one.fit)


def test_a_knob_that_always_is_in_one_place_is_none_that_sticks() -> None:
    scene = joint_poses(3, turn=1.2, radius=0.0, n=300, position_noise=0.0)
    poses = scene.poses.copy()
    poses[:, :3, 3] = poses[0, :3, 3]
    fit = fitting.fit_rotary(poses)
    assert fit, fit
    assert fit.grip == "rigid"
