"""A gripper's tip that is known to lie in the middle of the bar that it holds."""

import numpy as np
import pytest

from fitting import fit_cylindrical
from fitting.synthetic import Scene, axis_error, joint_poses


def _handle(seed: int, off: float = 0.0) -> Scene:
    """A gripper turns by 25° about a bar while it slides along it, its tip this far (m) from the bar's middle."""
    return joint_poses(seed, turn=np.radians(25.0), slide=0.05, pitch=0.15, radius=off, height=0.0, n=900, phi=0.95)


def test_a_tip_on_the_bar_tells_where_the_bar_is_and_where_it_points() -> None:
    rng = np.random.default_rng(5)
    told, alone = [], []
    for seed in range(40):
        scene = _handle(seed, abs(rng.normal(scale=4e-4)))
        for errors, beside in ((told, 4e-4), (alone, None)):
            fit = fit_cylindrical(scene.poses, beside=beside)
            assert fit, fit
            errors.append(axis_error(fit, scene))
            np.testing.assert_allclose(fit.basis @ fit.axis, 0.0, atol=1e-12)
            np.testing.assert_allclose(np.cross(*fit.basis), fit.axis, atol=1e-12)
    tilt, shift, _ = np.square(told).mean(axis=0)
    tilt_alone, shift_alone, _ = np.square(alone).mean(axis=0)
    assert shift < 0.5 * shift_alone
    assert tilt < tilt_alone
    # The last is squared already: its mean is 4 where claims are honest, ± 0.45 by chance.
    assert 2.5 < np.mean([error[2] for error in told]) < 5.5


def test_a_tip_that_is_clearly_elsewhere_is_believed() -> None:
    """A bar that lies deeper in the groove than that of the calibration."""
    scene = _handle(3, 0.012)
    told, alone = fit_cylindrical(scene.poses, beside=4e-4), fit_cylindrical(scene.poses)
    assert told, told
    assert alone, alone
    np.testing.assert_array_equal(told.axis, alone.axis)
    np.testing.assert_array_equal(told.point, alone.point)
    assert told.radius == pytest.approx(0.012, abs=3.0 * told.position_std)


@pytest.mark.parametrize("beside", [0.0, -1e-3, np.nan, np.inf])
def test_a_distance_that_is_none_is_named(beside: float) -> None:
    with pytest.raises(ValueError, match=f"beside is {beside}"):
        fit_cylindrical(_handle(1).poses, beside=beside)
