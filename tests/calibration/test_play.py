import numpy as np
import pytest

from bench.calibration_rigs import CLEAN, LOOSE, Conditions, Rig, normalised
from calibration import Tip, tip_by_known_pose, tip_by_two_rotations
from calibration.play import settle
from calibration.rest import fit_rest
from fitting import se3


def square(rig: Rig, tip: object) -> float:
    """Normalised error squared of tip and axes over its expected mean."""
    assert isinstance(tip, Tip), tip
    assert tip.rotation is not None
    turn = se3.rotation_log(rig.tip2body[:3, :3] @ tip.rotation.T)
    return normalised(np.concatenate([rig.tip2body[:3, 3] - tip.offset, turn]), tip.covariance) / 6


@pytest.mark.parametrize("conditions", [CLEAN, LOOSE])
def test_a_jig_in_which_the_gripper_plays_claims_no_more_than_it_knows(conditions: Conditions) -> None:
    rigs = [Rig(7200 + seed, conditions) for seed in range(100)]
    squares = [square(rig, tip_by_known_pose(rig.holding(), rig.grip2world)) for rig in rigs]
    assert np.mean(squares) == pytest.approx(1.0, abs=0.3)


def test_two_turns_with_a_loose_grip_claim_no_more_than_they_know() -> None:
    rigs = [Rig(7400 + seed, LOOSE) for seed in range(40)]
    squares = [
        square(rig, tip_by_two_rotations(rig.about_screws(), rig.about_handle(), near=rig.tip2body[:3, :3]))
        for rig in rigs
    ]
    assert np.mean(squares) == pytest.approx(1.0, abs=0.3)


def test_white_noise_is_averaged_away() -> None:
    samples = 0.001 * np.random.default_rng(5).normal(size=(500, 3))
    _, covariance = settle(fit_rest(samples))
    assert np.sqrt(np.diag(covariance)) == pytest.approx(0.001 / np.sqrt(500), rel=0.15)


def test_slow_play_is_not() -> None:
    rng = np.random.default_rng(6)
    walk = np.repeat(0.001 * rng.normal(size=(25, 3)), 20, axis=0)
    _, covariance = settle(fit_rest(walk + 0.0002 * rng.normal(size=walk.shape)))
    # 25 places in 500 samples: the mean is known to 0.2 mm, not to the 0.05 mm of white noise.
    std = np.sqrt(np.diag(covariance))
    assert np.all((std > 0.00015) & (std < 0.0004))


def test_a_take_without_noise_is_known_exactly() -> None:
    rest, covariance = settle(fit_rest(np.full((40, 3), 0.25)))
    assert rest.mean == pytest.approx(0.25)
    assert np.all(np.diag(covariance) < 1e-12)


def test_how_the_gripper_lies_in_the_jig_is_added() -> None:
    rig = Rig(8)
    poses = rig.holding()
    exact = tip_by_known_pose(poses, rig.grip2world)
    seated = tip_by_known_pose(poses, rig.grip2world, seat=(0.0003, 0.002))
    assert isinstance(exact, Tip)
    assert isinstance(seated, Tip)
    assert np.diag(seated.covariance - exact.covariance) == pytest.approx([9e-8] * 3 + [4e-6] * 3)
