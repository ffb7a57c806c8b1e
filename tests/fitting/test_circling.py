"""The point of the body that stays on a circle: a tip without calibration."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitting import FitFailure, fit_rotary
from fitting.circling import circling_point
from fitting.se3 import Array, frame

AXIS = np.array([0.2, -0.3, 0.9]) / np.linalg.norm([0.2, -0.3, 0.9])
CENTER = np.array([0.4, 0.1, 0.8])
TIP = np.array([0.03, -0.16, 0.09])


def turning(rng: np.random.Generator, arc: float, slack: float, *, noise: float = 4e-4, n: int = 500) -> Array:
    """Body poses of a joint that turns by ``arc`` while the grip turns about the tip by up to ``slack``, radians."""
    s = np.linspace(0.0, 1.0, n)
    joint = Rotation.from_rotvec(arc * s[:, None] * AXIS)
    held = Rotation.random(random_state=rng)
    bar, screws = held.as_matrix()[:, 2], held.as_matrix()[:, 0]
    swing = slack * np.sin(2 * np.pi * 1.7 * s)[:, None] * bar + slack * np.sin(2 * np.pi * 2.9 * s)[:, None] * screws
    body = joint * Rotation.from_rotvec(swing) * held
    tips = CENTER + joint.apply(np.array([0.35, 0.1, -0.2]) + rng.normal(scale=0.02, size=3))
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = (Rotation.from_rotvec(rng.normal(scale=1e-3, size=(n, 3))) * body).as_matrix()
    poses[:, :3, 3] = tips - body.apply(TIP) + rng.normal(scale=noise, size=(n, 3))
    return poses


def axis_error_deg(axis: Array) -> float:
    return float(np.degrees(np.arcsin(np.linalg.norm(np.cross(axis, AXIS)))))


@pytest.mark.parametrize("seed", range(5))
def test_a_grip_that_turns_shows_the_tip(seed: int) -> None:
    poses = turning(np.random.default_rng(seed), 1.2, 0.14)
    point = circling_point(poses)
    assert not isinstance(point, FitFailure)
    np.testing.assert_allclose(point, TIP, atol=0.004)
    at_tip, at_body = fit_rotary(poses @ frame(None, point)), fit_rotary(poses)
    assert not isinstance(at_tip, FitFailure)
    assert axis_error_deg(at_tip.axis) < 0.2
    assert isinstance(at_body, FitFailure) or axis_error_deg(at_tip.axis) < axis_error_deg(at_body.axis)


def test_stretches_off_the_path_do_no_harm() -> None:
    poses = turning(np.random.default_rng(3), 1.2, 0.14)
    poses[100:180, :3, 3] += [0.02, 0.01, -0.03]
    point = circling_point(poses)
    assert not isinstance(point, FitFailure)
    np.testing.assert_allclose(point, TIP, atol=0.005)


def test_a_firm_grip_leaves_the_tip_open_and_the_axis_where_it_was() -> None:
    poses = turning(np.random.default_rng(4), 1.2, 0.0)
    point = circling_point(poses)
    assert not isinstance(point, FitFailure)
    fit = fit_rotary(poses @ frame(None, point))
    assert not isinstance(fit, FitFailure)
    assert axis_error_deg(fit.axis) < 0.1


def test_takes_with_different_grips_share_the_tip() -> None:
    rng = np.random.default_rng(5)
    point = circling_point([turning(rng, 0.8, 0.0), turning(rng, 0.9, 0.14)])
    assert not isinstance(point, FitFailure)
    np.testing.assert_allclose(point, TIP, atol=0.004)


@pytest.mark.parametrize("poses", [np.tile(np.eye(4), (40, 1, 1)), np.tile(np.eye(4), (3, 1, 1))])
def test_no_movement_no_point(poses: Array) -> None:
    assert isinstance(circling_point(poses), FitFailure)
