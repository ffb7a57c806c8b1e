"""What hands do in good takes: creep along a handle and back, stray along a joint that also slides."""

import numpy as np

import fitting
from fitting.se3 import Array, frame
from fitting.synthetic import joint_poses

NOISE = 4e-4


def _bump(s: Array, begin: float, end: float) -> Array:
    return np.asarray(np.clip(np.minimum(s - begin, end - s) / 0.05, 0.0, 1.0))


def _drawer(rng: np.random.Generator, creep: float) -> Array:
    """Poses of a drawer along x, with slow play, whose hand creeps sideways for a fifth of the way, metres."""
    n = 900
    s = np.linspace(0.0, 1.0, n)
    play = np.convolve(rng.normal(size=n + 80), np.hanning(81) / np.linalg.norm(np.hanning(81)), mode="valid")
    points = np.stack([0.4 * s, creep * _bump(s, 0.7, 0.9) + 1.5e-4 * play, np.zeros(n)], axis=1)
    return frame(np.broadcast_to(np.eye(3), (n, 3, 3)), points + rng.normal(scale=NOISE, size=(n, 3)))


def _tilt(direction: Array) -> float:
    return float(np.degrees(np.arccos(min(1.0, abs(direction[0])))))


def test_a_hand_that_creeps_tilts_a_drawer_less_than_its_line() -> None:
    ours, line = [], []
    for seed in range(30):
        poses = _drawer(np.random.default_rng(seed), 1.2e-3)
        slide, plain = fitting.fit_prismatic(poses), fitting.fit_line(poses[:, :3, 3])
        assert not isinstance(slide, fitting.FitFailure)
        assert not isinstance(plain, fitting.FitFailure)
        ours.append(_tilt(slide.direction))
        line.append(_tilt(plain.direction))
    assert np.mean(ours) < 0.95 * np.mean(line)


def test_white_noise_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    points = np.stack([np.linspace(0.0, 0.4, 900), np.zeros(900), np.zeros(900)], axis=1)
    poses = frame(np.broadcast_to(np.eye(3), (900, 3, 3)), points + rng.normal(scale=NOISE, size=(900, 3)))
    slide, line = fitting.fit_prismatic(poses), fitting.fit_line(poses[:, :3, 3])
    assert not isinstance(slide, fitting.FitFailure)
    assert not isinstance(line, fitting.FitFailure)
    np.testing.assert_allclose(slide.direction, line.direction, atol=1e-9)


def test_positions_that_stray_along_the_axis_still_tell_where_it_is() -> None:
    """A third of the take slid along the axis by 8 mm: no inliers, but as far from the axis as the others."""
    with_strays, without = [], []
    for seed in range(30):
        scene = joint_poses(seed, turn=0.9, radius=0.3, n=600)
        poses = scene.poses.copy()
        gone = slice(300, 500)
        poses[gone, :3, 3] += 8e-3 * scene.axis
        fit = fitting.fit_rotary(poses)
        rest = fitting.fit_rotary(np.delete(poses, np.arange(300, 500), axis=0))
        assert not isinstance(fit, fitting.FitFailure)
        assert not isinstance(rest, fitting.FitFailure)
        assert fit.inliers[gone].mean() < 0.05
        with_strays.append(_off(fit, scene.axis, scene.point))
        without.append(_off(rest, scene.axis, scene.point))
    assert np.sqrt(np.mean(np.square(with_strays))) < np.sqrt(np.mean(np.square(without)))


def _off(fit: fitting.RotaryFit, axis: Array, point: Array) -> float:
    apart = fit.point - point
    return float(np.linalg.norm(apart - (apart @ axis) * axis))
