import numpy as np

from bench.calibration_rigs import Rig
from calibration import pivoting_progress, two_rotations_progress


def test_two_rotations_go_from_nothing_to_good_enough() -> None:
    rig = Rig(1)
    screws, handle = rig.about_screws(), rig.about_handle()
    start = two_rotations_progress(screws[:5])
    assert not start.done
    assert start.std is None
    assert "screws" in start.advice
    half = two_rotations_progress(screws)
    assert half.covered == (1.0, 0.0)
    assert "handle" in half.advice
    some = two_rotations_progress(screws[:200], handle[:200], goal=1e-6)
    assert some.std is not None
    assert not some.done
    assert "turn further" in some.advice
    end = two_rotations_progress(screws, handle)
    assert end.done
    assert end.std is not None
    assert end.std < some.std
    np.testing.assert_allclose(np.linalg.norm(end.seen, axis=1), 1.0)


def test_a_small_turn_is_told_in_degrees() -> None:
    rig = Rig(2)
    little = two_rotations_progress(rig.about_screws(arc=0.12))
    assert 0.0 < little.covered[0] < 1.0
    assert "7° so far" in little.advice


def test_pivoting_goes_from_nothing_to_good_enough() -> None:
    rig = Rig(3)
    poses = rig.pivoting(n=5000)
    assert not pivoting_progress(poses[:10]).done
    early = pivoting_progress(rig.pivoting(tilt=0.05))
    assert early.covered[0] < 1.0
    assert "% so far" in early.advice
    end = pivoting_progress(poses)
    assert end.done
    assert "stop here" in end.advice


def test_trouble_is_told_while_it_happens() -> None:
    rig = Rig(4)
    poses = rig.pivoting()
    poses[400:, :3, 3] += 0.02
    told = pivoting_progress(poses)
    assert not told.done
    assert "did not stay" in told.advice
