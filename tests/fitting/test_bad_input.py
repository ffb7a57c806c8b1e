"""Bad input gets a FitFailure or a ValueError that says where; never a crash, a NaN or a warning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fitting
from fitting import FitFailure
from fitting.se3 import Array, frame, rotation_exp
from fitting.synthetic import joint_poses, strange_points, strange_poses

POINT_FITTERS = [fitting.fit_line, fitting.fit_circle]
POSE_FITTERS = [
    fitting.fit_prismatic,
    fitting.fit_rotary,
    fitting.fit_cylindrical,
    fitting.fit_screw,
    fitting.fit_rigid,
    fitting.fit_pivot,
    fitting.fit_free,
]
Fitter = Callable[..., Any]


def _sound(result: Any) -> None:
    """A failure with words, or a result in which every number is finite."""
    if isinstance(result, FitFailure):
        assert not result
        assert len(result.reason) > 10
        return
    _finite(result.to_dict())


def _finite(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _finite(item)
    elif isinstance(value, list):
        assert np.isfinite(np.asarray(value, dtype=float)).all()
    elif isinstance(value, float):
        assert np.isfinite(value)


@pytest.mark.parametrize("fit", POINT_FITTERS)
def test_points_that_say_nothing(fit: Fitter) -> None:
    rng = np.random.default_rng(0)
    assert not fit(np.zeros((0, 3)))
    assert not fit(rng.normal(size=(2, 3)))
    assert not fit(np.tile([1.0, 2.0, 3.0], (50, 1)))
    _sound(fit(np.repeat(rng.normal(size=(4, 3)), 20, axis=0)))
    _sound(fit(rng.uniform(-1.0, 1.0, (500, 3))))


@pytest.mark.parametrize("fit", POINT_FITTERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named(fit: Fitter, bad: float) -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    points[17, 1] = bad
    result = fit(points)
    assert not result
    assert "Row 17" in result.reason


def test_collinear_points_are_no_circle() -> None:
    x = np.linspace(0.0, 0.3, 400)
    exact = np.stack([x, 2.0 * x, 0.0 * x], axis=1)
    noisy = exact + 5e-4 * np.random.default_rng(1).normal(size=(400, 3))
    for points in (exact, noisy):
        result = fitting.fit_circle(points)
        assert not result
        assert "straight" in result.reason


def test_millimetres_get_a_hint() -> None:
    scene = joint_poses(1, turn=1.0, radius=0.3)
    poses = scene.poses.copy()
    poses[:, :3, 3] *= 1000.0
    for result in (fitting.fit_circle(poses[:, :3, 3]), fitting.fit_rotary(poses), fitting.fit_line(poses[:, :3, 3])):
        assert not result
        assert "millimetres" in result.reason


def test_all_outliers() -> None:
    rng = np.random.default_rng(2)
    points = rng.uniform(-1.0, 1.0, (600, 3))
    assert not fitting.fit_circle(points)
    assert not fitting.fit_line(points)
    assert not fitting.fit_rotary(frame(rotation_exp(rng.normal(size=(600, 3))), points))


@pytest.mark.parametrize("fit", POSE_FITTERS)
def test_poses_that_say_nothing(fit: Fitter) -> None:
    rng = np.random.default_rng(3)
    assert not fit(np.zeros((0, 4, 4)))
    assert not fit(np.tile(np.eye(4), (2, 1, 1)))
    _sound(fit(np.tile(np.eye(4), (60, 1, 1))))
    _sound(fit(frame(rotation_exp(rng.normal(size=(60, 3))), rng.normal(size=(60, 3)))))
    broken = joint_poses(3, turn=1.0, n=60).poses.copy()
    broken[23, :3, :3] *= 1.1
    result = fit(broken)
    assert not result
    assert "Row 23" in result.reason
    mirrored = joint_poses(3, turn=1.0, n=60).poses.copy()
    mirrored[5, :3, 0] *= -1.0
    assert "Row 5" in fit(mirrored).reason


@pytest.mark.parametrize(
    "wrong", [np.zeros((10, 2)), np.zeros(3), np.zeros((10, 3), dtype=complex), np.array(["a"] * 3), [], [[1.0, 2.0]]]
)
def test_wrong_shapes_and_types_raise(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"needed|No takes"):
        fitting.fit_circle(wrong)
    with pytest.raises(ValueError, match=r"needed|No takes"):
        fitting.fit_rotary(wrong)


def test_wrong_noise_raises() -> None:
    with pytest.raises(ValueError, match="noise"):
        fitting.fit_line(np.zeros((10, 3)), noise=-1.0)


def test_a_million_points() -> None:
    scene = joint_poses(4, turn=1.0, radius=0.3, n=10_000)
    points = np.tile(scene.points, (100, 1))
    fit = fitting.fit_circle(points)
    assert fit, fit
    assert fit.radius == pytest.approx(0.3, abs=1e-3)


def test_same_seed_same_result() -> None:
    scene = joint_poses(5, turn=1.0, radius=0.3, outliers=0.3, n=300)
    first, second = (fitting.fit_rotary(scene.poses, rng=7) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def _exactly_noiseless() -> Array:
    return joint_poses(6, turn=1.0, radius=0.3, position_noise=0.0, orientation_noise=0.0, n=200).poses


def test_exact_data() -> None:
    fit = fitting.fit_rotary(_exactly_noiseless())
    assert fit, fit
    assert fit.radius == pytest.approx(0.3, abs=1e-6)
    assert fit.inliers.all()
    _sound(fit)


NUMBERS = st.one_of(
    st.floats(-1.0, 1.0), st.floats(-1e7, 1e7), st.sampled_from([0.0, 1.0, np.nan, np.inf, 1e-300, 1e300])
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(hnp.arrays(float, st.tuples(st.integers(0, 40), st.just(3)), elements=NUMBERS))
def test_any_points(points: Array) -> None:
    for fit in POINT_FITTERS:
        _sound(fit(points))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    hnp.arrays(float, st.tuples(st.integers(0, 40), st.just(6)), elements=st.floats(-4.0, 4.0)),
    st.sampled_from([1e-9, 1e-4, 0.1, 1.0, 1000.0]),
)
def test_any_poses(numbers: Array, scale: float) -> None:
    poses = frame(rotation_exp(numbers[:, :3]), scale * numbers[:, 3:])
    for fit in POSE_FITTERS[:-1]:
        _sound(fit(poses))


def test_a_screw_without_bounds_leaves_more_than_a_number_holds() -> None:
    """A pitch from turns of nearly nothing: squares of the residuals in units of the noise overflow."""
    numbers = np.zeros((7, 6))
    numbers[0, 1], numbers[1, :2], numbers[2, 0] = 1e-24, 1.0, 1.54001352e-172
    numbers[4, 4], numbers[6, 3] = 1.83766880e-125, 1.0
    poses = frame(rotation_exp(numbers[:, :3]), 0.1 * numbers[:, 3:])
    for fit in POSE_FITTERS[:-1]:
        _sound(fit(poses))


def test_exact_but_for_a_few() -> None:
    """Information of 10¹⁸ and more: rounding made variances negative."""
    numbers = np.full((12, 6), 2.5)
    numbers[4, 0], numbers[5, 0], numbers[6, 3], numbers[7, 4], numbers[9, 4] = 0.0, 1.0, 0.0, 0.0, 0.0
    for fit in POSE_FITTERS[:-1]:
        _sound(fit(frame(rotation_exp(numbers[:, :3]), numbers[:, 3:])))


@pytest.mark.parametrize("seed", range(4))
def test_strange_input(seed: int) -> None:
    """The long run of this is in ``bench/fuzz_fitting.py``."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        points, poses = strange_points(rng), strange_poses(rng)
        for fit in POINT_FITTERS:
            _sound(fit(points))
        for fit in POSE_FITTERS[:-1]:
            _sound(fit(poses))
    _sound(fitting.fit_free(poses))
    choice = fitting.select(poses)
    assert isinstance(choice.reason, str)


def test_poses_of_which_none_is_near_the_median() -> None:
    """Three places, each off along another axis: the median of each coordinate is that of the two other places."""
    places = 0.3 * np.repeat(np.eye(3), 10, axis=0) + 1e-12 * np.arange(30)[:, None]
    found = fitting.fit_free(frame(translation=places))
    assert found == FitFailure("Only 0 of 30 poses lie on one smooth path.")


def test_takes_of_two_places_that_show_no_axis() -> None:
    """Rounding makes six different samples of them, and a circle through both places; it says nothing of its axis."""
    places = np.ones((20, 3))
    places[:, 0] += 1e-9
    places[:, 1] += np.array([0, 1, 2, 3, 4]).repeat(4) * 2.0**-52
    places[18] = 1.0001
    failure = fitting.fit_circle([places, np.zeros((5, 3))])
    assert failure == FitFailure("The takes together do not show one axis. Turn the joint further in each of them.")


def test_information_that_rounding_made_impossible() -> None:
    """Differences of large sums can be correlated by more than one; a screw of three such takes overflowed."""
    from fitting.dense import inverted

    for size in (2, 5, 8):
        for beyond in (1e-12, 1e-9, 1e-6, 1e-3):
            matrix = np.full((size, size), 1.0 + beyond)
            matrix[np.arange(size), np.arange(size)] = 1.0
            assert np.abs(inverted(matrix, 1e-10)).max() < 1e30


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_place_that_the_tracker_repeats_counts_once(share: float) -> None:
    """Digit for digit the same place while the hand goes on: 300 copies of one measurement are one measurement."""
    others = 0
    for seed in range(8):
        arc = joint_poses(seed, turn=1.0, radius=0.3, n=1000)
        way = joint_poses(seed, slide=0.3, n=1000)
        first = 100 + 60 * seed
        held = slice(first, first + int(share * 1000))
        copies = np.r_[first + 1 : held.stop]
        for fit, scene in ((fitting.fit_circle, arc), (fitting.fit_line, way)):
            points = scene.points.copy()
            points[held] = points[first]
            found = fit(points)
            rest = fit(np.delete(scene.points, copies, axis=0))
            assert len(found.inliers) == 1000
            assert found.inliers[held].all() == found.inliers[first]
            # A take that lacks them jumps over the gap, across which the other knows how long it was.
            others += (np.delete(found.inliers, copies) != rest.inliers).any()
            assert found.axis == pytest.approx(rest.axis, abs=0.1 * rest.axis_std)
            assert found.axis_std == pytest.approx(rest.axis_std, rel=0.02)
            if others == 0:
                assert found.axis == pytest.approx(rest.axis, abs=1e-12)
                assert found.covariance == pytest.approx(rest.covariance, rel=1e-9)
    assert others <= 1


@pytest.mark.parametrize("fitter", [*POINT_FITTERS, *POSE_FITTERS])
def test_the_largest_numbers_of_both_signs_are_too_large(fitter: Fitter) -> None:
    poses = joint_poses(1, turn=1.0, n=60).poses
    poses[3, 0, 3], poses[7, 0, 3] = 1e308, -1e308
    result = fitter(poses[:, :3, 3] if fitter in POINT_FITTERS else poses)
    assert not result
    assert "10⁶" in result.reason


def test_a_movement_far_below_any_noise_says_nothing_loudly() -> None:
    for scale in (1e-90, 1e-150, 1e-200, 1e-300):
        for turn in (0.0, 1.0):
            poses = joint_poses(2, turn=turn, slide=0.1, n=40).poses
            poses[:, :3, 3] *= scale
            for fitter in POSE_FITTERS:
                _sound(fitter(poses))


def test_a_live_fit_wants_real_numbers() -> None:
    live = fitting.Online(fitting.fit_line)
    with pytest.raises(ValueError, match="real numbers"):
        live.feed(np.ones((4, 3)) * 1j)


@pytest.mark.parametrize("noise", [1e300, 1e-300, -1.0, float("nan"), "a", [1.0], 1j])
def test_noise_that_is_none_is_named(noise: Any) -> None:
    for fitter in (fitting.fit_line, fitting.fit_circle):
        with pytest.raises(ValueError, match=r"noise is .* positive standard deviation in metres"):
            fitter(np.eye(3), noise=noise)
    for pose_fitter in (fitting.fit_rotary, fitting.fit_cylindrical, fitting.fit_pivot, fitting.fit_free):
        with pytest.raises(ValueError, match="noise is"):
            pose_fitter(np.tile(np.eye(4), (30, 1, 1)) + 0.0, noise=noise)


@pytest.mark.parametrize("rng", ["a", 1.5, -1])
def test_seeds_that_are_none_are_named(rng: Any) -> None:
    points = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=r"rng is .*: give a seed"):
        fitting.fit_circle(points, rng=rng)


def test_ragged_rows_and_odd_samples_are_named() -> None:
    with pytest.raises(ValueError, match="points has rows of different lengths"):
        fitting.fit_line([[1.0, 2.0, 3.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"samples has the shape \(\)"):
        fitting.Online(fitting.fit_line).feed(3.0)
    with pytest.raises(ValueError, match="capacity is 'a'"):
        fitting.Online(fitting.fit_line, capacity="a")  # type: ignore[arg-type]
