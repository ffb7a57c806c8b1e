"""A grip that turns once in the hand is two grips: short arcs keep their axis, and one firm grip stays one."""

import numpy as np
import pytest

from fitting import fit_rotary
from fitting.se3 import Array, rotation_exp
from fitting.synthetic import Scene, axis_error, joint_poses


def _there_and_back(seed: int, degrees: float, radius: float, turned: float) -> tuple[Scene, Array]:
    """A take out and back, and its poses with the gripper turned (degrees) about the axis between 0.3 and 0.6 of it."""
    noise = {"position_noise": 2e-4, "orientation_noise": np.radians(0.1), "phi": 0.97}
    half = joint_poses(seed, turn=np.radians(degrees), radius=radius, n=450, **noise)
    poses = np.concatenate([half.poses, half.poses[::-1]])
    t = np.clip((np.linspace(0.0, 1.0, len(poses)) - 0.3) / 0.3, 0.0, 1.0)
    turns = np.radians(turned) * (10.0 * t**3 - 15.0 * t**4 + 6.0 * t**5)
    result = poses.copy()
    result[:, :3, :3] = rotation_exp(turns[:, None] * half.axis) @ poses[:, :3, :3]
    return half, result


@pytest.mark.parametrize("degrees", [10.0, 20.0])
@pytest.mark.parametrize("turned", [-13.0, -4.0, 6.0])
def test_a_short_arc_keeps_its_axis_when_the_grip_turns_once(degrees: float, turned: float) -> None:
    places = []
    for seed in range(4):
        scene, poses = _there_and_back(seed, degrees, 0.05, turned)
        fit = fit_rotary(poses)
        assert fit, fit
        assert fit.grip == "partly"
        angle, place, _ = axis_error(fit, scene)
        assert np.degrees(angle) < 20.0 / degrees
        places.append(place)
        assert place < 4.0 * fit.position_std
        assert np.degrees(np.ptp(fit.angles)) == pytest.approx(degrees, rel=0.15)
    # One grip through both halves is off by 10 to 42 mm.
    assert np.median(places) < 0.004
    assert max(places) < 0.008


def test_a_firm_grip_is_one() -> None:
    for seed in range(4):
        _, poses = _there_and_back(seed, 10.0, 0.3, 0.0)
        fit = fit_rotary(poses)
        assert fit, fit
        assert fit.grip == "rigid"
        assert len(fit.responses) == 1


def test_two_takes_one_of_them_with_two_grips() -> None:
    scene, turned = _there_and_back(3, 20.0, 0.3, 8.0)
    _, firm = _there_and_back(3, 20.0, 0.3, 0.0)
    fit = fit_rotary([turned, firm])
    assert fit, fit
    assert [one.samples for one in fit.responses][-1] == len(firm)
    assert sum(one.samples for one in fit.responses) == len(turned) + len(firm)
    assert len(fit.angles) == len(turned) + len(firm)
    np.testing.assert_allclose(fit.angles[: len(turned)], fit.angles[len(turned) :], atol=np.radians(1.0))
    assert np.degrees(axis_error(fit, scene)[0]) < 0.3
