"""Whether the grip held is told from the data: a firm hand plays, a loose one turns."""

import numpy as np
import pytest

import fitting
from fitting.se3 import Array, rotation_exp
from fitting.synthetic import Scene, axis_error, joint_poses

RUNS = 8


def _there_and_back(seed: int) -> tuple[Array, Scene]:
    """A lever of 20° on 8 cm, pressed and let go; its poses and truth."""
    one = joint_poses(seed, turn=np.radians(20.0), radius=0.08, n=450)
    other = joint_poses(seed, turn=np.radians(20.0), radius=0.08, n=450, position_noise=4e-4)
    return np.concatenate([one.poses, other.poses[::-1]]), one


def _turned(poses: Array, seed: int, angles: Array) -> Array:
    """The poses with the gripper turned in the hand by angles (n,) in rad, about a fixed direction of its own."""
    direction = np.random.default_rng(seed).normal(size=3)
    turned = poses.copy()
    turned[:, :3, :3] = poses[:, :3, :3] @ rotation_exp(angles[:, None] * direction / np.linalg.norm(direction))
    return turned


def _sway(seed: int, n: int, degrees: float) -> Array:
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 7.5, n)[:, None]
    waves = np.sin(2.0 * np.pi * rng.uniform(0.1, 0.8, 5) * t + rng.uniform(0.0, 2.0 * np.pi, 5)).sum(axis=1)
    return np.asarray(np.radians(degrees) * waves / np.abs(waves).max())


def test_slow_play_of_a_firm_hand_is_no_loose_grip() -> None:
    for seed in range(RUNS):
        poses, scene = _there_and_back(seed)
        fit = fitting.fit_rotary(_turned(poses, seed, _sway(seed, len(poses), 0.25)))
        assert fit, fit
        assert fit.grip == "rigid"
        assert axis_error(fit, scene)[0] < np.radians(1.5)


def test_a_grip_that_turns_to_and_fro_is_loose() -> None:
    for seed in range(RUNS):
        poses, _ = _there_and_back(seed)
        fit = fitting.fit_rotary(_turned(poses, seed, _sway(seed, len(poses), 15.0)))
        assert not fit or fit.grip != "rigid"


@pytest.mark.parametrize("degrees", [5.0, 15.0])
def test_a_grip_that_turned_once_is_not_called_rigid(degrees: float) -> None:
    for seed in range(RUNS):
        poses, _ = _there_and_back(seed)
        ramp = np.clip(np.linspace(-0.6, 2.5, len(poses)), 0.0, 1.0)
        fit = fitting.fit_rotary(_turned(poses, seed, np.radians(degrees) * ramp))
        assert not fit or fit.grip != "rigid"
