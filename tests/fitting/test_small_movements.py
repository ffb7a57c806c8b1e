"""A handle that turns, or slides, by hardly more than its noise."""

import numpy as np
import pytest

import fitting
from fitting.synthetic import POSITION_NOISE, axis_error, joint_poses


def test_a_slide_beside_a_lost_turn_is_no_turn_about_something_far_away() -> None:
    for seed in range(25):
        scene = joint_poses(seed, turn=np.radians(0.5), slide=0.2, radius=0.05, n=2000)
        fit = fitting.fit_cylindrical(scene.poses, POSITION_NOISE)
        assert fit, fit
        tilt, shift, _ = axis_error(fit, scene)
        assert tilt < 4.0 * fit.axis_std
        assert shift < 4.0 * fit.position_std


@pytest.mark.parametrize(("turn", "slide"), [(np.radians(1.0), 0.2), (np.radians(60.0), 5e-4)])
def test_claims_are_honest_where_one_movement_is_small(turn: float, slide: float) -> None:
    squares = []
    for seed in range(80):
        scene = joint_poses(seed, turn=turn, slide=slide, radius=0.03, n=600)
        fit = fitting.fit_cylindrical(scene.poses)
        assert fit, fit
        squares.append(axis_error(fit, scene)[2])
    assert np.mean(squares) == pytest.approx(4.0, abs=0.4 + 3.0 * np.sqrt(8.0 / len(squares)))
