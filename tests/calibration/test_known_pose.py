import numpy as np
import pytest

from bench.calibration_rigs import CLEAN, LOOSE, Conditions, Rig, normalised
from calibration import Tip, tip_by_known_pose
from fitting import se3


@pytest.mark.parametrize("conditions", [CLEAN, LOOSE])
def test_the_known_pose_gives_tip_and_axes(conditions: Conditions) -> None:
    for seed in range(10):
        rig = Rig(seed, conditions)
        tip = tip_by_known_pose(rig.holding(), rig.grip2world)
        assert isinstance(tip, Tip), tip.reason
        assert np.linalg.norm(tip.offset - rig.tip2body[:3, 3]) < 0.001
        assert tip.rotation is not None
        assert np.linalg.norm(se3.rotation_log(rig.tip2body[:3, :3] @ tip.rotation.T)) < np.radians(0.5)


def test_its_covariance_is_honest() -> None:
    squares = []
    for seed in range(150):
        rig = Rig(7000 + seed)
        tip = tip_by_known_pose(rig.holding(), rig.grip2world)
        assert isinstance(tip, Tip), tip.reason
        assert tip.rotation is not None
        turn = se3.rotation_log(rig.tip2body[:3, :3] @ tip.rotation.T)
        squares.append(normalised(np.concatenate([rig.tip2body[:3, 3] - tip.offset, turn]), tip.covariance))
    assert np.mean(squares) == pytest.approx(6, rel=0.2)


def test_the_uncertainty_of_the_jig_is_carried_on() -> None:
    rig = Rig(3)
    exact = tip_by_known_pose(rig.holding(), rig.grip2world)
    rough = tip_by_known_pose(rig.holding(), rig.grip2world, known_covariance=1e-6 * np.eye(6))
    assert isinstance(exact, Tip)
    assert isinstance(rough, Tip)
    assert rough.position_std == pytest.approx(np.hypot(exact.position_std, np.sqrt(3e-6)), rel=0.05)


@pytest.mark.parametrize("kind", ["slide", "turn", "jump"])
def test_a_movement_during_the_hold_is_refused(kind: str) -> None:
    rig = Rig(4)
    tips = np.repeat(rig.grip2world[None], 120, axis=0)
    share = np.linspace(0.0, 1.0, 120)
    if kind == "slide":
        tips[:, :3, 3] += share[:, None] * [0.01, 0.0, 0.0]
    elif kind == "turn":
        tips = tips @ se3.frame(se3.rotation_exp(share[:, None] * [0.0, 0.1, 0.0]))
    else:
        tips[70:, :3, 3] += [0.0, 0.02, 0.0]
    refused = tip_by_known_pose(rig.observe(tips), rig.grip2world)
    assert not refused
    assert refused.cause == "moved"


def test_a_known_pose_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="Pose 0"):
        tip_by_known_pose(Rig(1).holding(), np.diag([2.0, 1.0, 1.0, 1.0]))
