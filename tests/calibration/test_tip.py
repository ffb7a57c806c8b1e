import numpy as np
import pytest

from bench.calibration_rigs import CLEAN, DIRTY, LOOSE, Conditions, Rig, about
from calibration import Tip, tip_by_pivoting, tip_by_two_rotations
from fitting import se3

PERFECT = Conditions(position_noise=0.0, rotation_noise=0.0)


@pytest.mark.parametrize("seed", range(5))
def test_perfect_data_give_the_truth(seed: int) -> None:
    rig = Rig(seed, PERFECT)
    tip = tip_by_two_rotations(rig.about_screws(), rig.about_handle(), near=rig.tip2body[:3, :3])
    assert isinstance(tip, Tip)
    np.testing.assert_allclose(tip.tip2body(), rig.tip2body, atol=1e-6)
    pivoted = tip_by_pivoting(rig.pivoting())
    assert isinstance(pivoted, Tip)
    np.testing.assert_allclose(pivoted.offset, rig.tip2body[:3, 3], atol=1e-6)
    assert pivoted.rotation is None


@pytest.mark.parametrize("conditions", [CLEAN, LOOSE, DIRTY])
def test_unseen_rigs_stay_within_the_promised_error(conditions: Conditions) -> None:
    turned, pivoted = [], []
    for seed in range(8):
        rig = Rig(1000 + seed, conditions)
        truth = rig.tip2body[:3, 3]
        tip = tip_by_two_rotations(rig.about_screws(), rig.about_handle())
        assert tip, tip.reason
        turned.append(np.linalg.norm(tip.offset - truth))
        tip = tip_by_pivoting(rig.pivoting())
        assert tip, tip.reason
        pivoted.append(np.linalg.norm(tip.offset - truth))
    assert np.median(turned) < 0.001
    assert max(turned) < 0.002
    assert np.median(pivoted) < 0.0005
    assert max(pivoted) < 0.001


def test_signs_without_a_hint_are_the_documented_ones() -> None:
    for seed in range(8):
        rig = Rig(seed)
        tip = tip_by_two_rotations(rig.about_screws(), rig.about_handle())
        assert isinstance(tip, Tip)
        assert tip.rotation is not None
        assert tip.rotation[:, 1] @ tip.offset > 0
        assert tip.rotation[:, 2].max() == np.abs(tip.rotation[:, 2]).max()
        np.testing.assert_allclose(tip.rotation.T @ tip.rotation, np.eye(3), atol=1e-12)
        assert np.linalg.det(tip.rotation) > 0


def test_what_is_known_of_the_groove_widens_the_covariance_where_it_acts() -> None:
    rig = Rig(2)
    screws, handle = rig.about_screws(), rig.about_handle()
    exact, seated = (tip_by_two_rotations(screws, handle, seat=s) for s in ((0.0, 0.0), (0.001, 0.01)))
    assert isinstance(exact, Tip)
    assert isinstance(seated, Tip)
    assert seated.rotation is not None
    added = seated.covariance - exact.covariance
    np.testing.assert_allclose(
        seated.rotation.T @ added[:3, :3] @ seated.rotation, np.diag([1e-6, 0.25e-6, 0.0]), atol=1e-12
    )
    np.testing.assert_allclose(
        seated.rotation.T @ added[3:, 3:] @ seated.rotation, np.diag([1e-4, 0.25e-4, 0.0]), atol=1e-12
    )


def test_same_data_same_result() -> None:
    rig = Rig(3, DIRTY)
    screws, handle = rig.about_screws(), rig.about_handle()
    first, second = tip_by_two_rotations(screws, handle), tip_by_two_rotations(screws, handle)
    assert isinstance(first, Tip)
    assert isinstance(second, Tip)
    np.testing.assert_array_equal(first.offset, second.offset)
    np.testing.assert_array_equal(first.covariance, second.covariance)


def test_dropouts_are_left_out() -> None:
    rig = Rig(4)
    screws = rig.about_screws()
    screws[100:200] = np.nan
    tip = tip_by_two_rotations(screws, rig.about_handle())
    assert isinstance(tip, Tip)
    assert np.linalg.norm(tip.offset - rig.tip2body[:3, 3]) < 0.0005


def test_too_little_rotation_is_refused() -> None:
    rig = Rig(5)
    refused = tip_by_two_rotations(rig.about_screws(arc=0.1), rig.about_handle())
    assert not refused
    assert refused.cause == "too-little-rotation"
    assert "screws" in refused.reason
    refused = tip_by_pivoting(rig.pivoting(tilt=0.05))
    assert not refused
    assert refused.cause == "too-little-rotation"


def test_pivoting_about_a_single_axis_is_refused() -> None:
    rig = Rig(6)
    refused = tip_by_pivoting(rig.observe(rig.grip2world @ about(0, rig.swing(1.0, 600))))
    assert not refused
    assert refused.cause == "too-little-rotation"


def test_parallel_axes_are_refused() -> None:
    rig = Rig(7)
    refused = tip_by_two_rotations(rig.about_screws(), rig.about_screws())
    assert not refused
    assert refused.cause == "parallel-axes"


def test_a_slipping_grip_is_refused() -> None:
    rig = Rig(8)
    tips = rig.grip2world @ about(2, rig.swing(1.5, 600))
    tips[300:] = tips[300:] @ se3.frame(se3.rotation_exp([0.15, 0.0, 0.0]), [0.0, 0.01, 0.0])
    refused = tip_by_two_rotations(rig.about_screws(), rig.observe(tips))
    assert not refused
    assert refused.cause == "slipping-grip"
    assert "handle" in refused.reason


def test_a_tip_that_moved_is_refused() -> None:
    rig = Rig(9)
    poses = rig.pivoting()
    poses[400:, :3, 3] += [0.01, 0.0, 0.0]
    refused = tip_by_pivoting(poses)
    assert not refused
    assert refused.cause == "tip-moved"


def test_wrong_shapes_name_the_row() -> None:
    with pytest.raises(ValueError, match=r"\(n, 4, 4\)"):
        tip_by_pivoting(np.zeros((5, 3)))
    poses = Rig(1).pivoting()
    poses[17, :3, :3] *= 2.0
    with pytest.raises(ValueError, match="Pose 17"):
        tip_by_pivoting(poses)
    refused = tip_by_pivoting(Rig(1).pivoting()[:5])
    assert not refused
    assert refused.cause == "too-few"
