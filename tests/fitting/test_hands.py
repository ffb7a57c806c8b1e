"""What hands do in good takes: creep along a handle and back, stray along a joint that also slides."""

import numpy as np

import fitting
from fitting.motion import Take
from fitting.se3 import Array, frame, rotation_exp
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


def test_the_end_of_an_arc_that_strayed_is_asked_from_the_better_axis() -> None:
    """Seen from the axis of the first part of an arc, the last part seems to have left its path in all directions."""
    off = []
    for seed in (2, 79, 132, 142):
        scene = joint_poses(seed, turn=2.6, radius=0.25, n=900)
        rng = np.random.default_rng(seed + 1000)
        time, poses = np.linspace(0.0, 1.0, 900), scene.poses.copy()
        waves = 2.0 * np.pi * (rng.uniform(0.7, 5.6, (3, 5)) * time[:, None, None] + rng.uniform(size=(3, 5)))
        poses[:, :3, 3] += 1.5e-4 * np.sqrt(0.4) * np.cos(waves).sum(axis=2)
        poses[:, :3, 3] += 4e-3 * np.clip((time - 0.6) / 0.067, 0.0, 1.0)[:, None] * scene.axis
        about = rng.normal(size=3)
        turns = np.radians(12.0) * np.sin(12.0 * time)[:, None] * about / np.linalg.norm(about)
        poses[:, :3, :3] = rotation_exp(turns) @ poses[:, :3, :3]
        fit = fitting.fit_rotary(poses)
        assert not isinstance(fit, fitting.FitFailure)
        assert fit.grip == "loose"
        assert not fit.inliers[620:].any()
        off.append(_off(fit, scene.axis, scene.point))
    # Asked once, they were 0.56 mm off in the mean.
    assert np.mean(off) < 2.5e-4


def test_a_piece_of_a_take_rests_where_the_take_does() -> None:
    still, back = np.zeros(300), np.linspace(1.0, 0.0, 300)
    way = np.concatenate([still, back[::-1], still + 1.0, back, still])
    points = np.stack([0.3 * np.sin(way), 0.3 * np.cos(way), 0.0 * way], axis=1)
    take = Take.of(frame(np.broadcast_to(np.eye(3), (len(way), 3, 3)), points))
    piece = take.piece(700, 1500)
    assert piece.moving.sum() == take.moving[700:].sum()
    # By itself, it would begin with a pause.
    assert Take(piece.R, piece.p).moving.sum() < piece.moving.sum()


def _off(fit: fitting.RotaryFit, axis: Array, point: Array) -> float:
    apart = fit.point - point
    return float(np.linalg.norm(apart - (apart @ axis) * axis))
