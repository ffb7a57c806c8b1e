"""Whether the grip held is told from the data: a firm hand plays, a loose one turns."""

from dataclasses import replace

import numpy as np
import pytest

import fitting
from fitting.between import apart, between
from fitting.grip import Gripped, gripped
from fitting.motion import Take
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


def test_single_bad_orientations_are_no_slip() -> None:
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=0.6, radius=0.2, n=500)
        rng = np.random.default_rng(seed)
        bad = rng.random(500) < 0.3
        poses = scene.poses.copy()
        poses[bad, :3, :3] = rotation_exp(0.5 * rng.normal(size=(int(bad.sum()), 3))) @ poses[bad, :3, :3]
        fit = fitting.fit_rotary(poses)
        assert fit, fit
        assert fit.grip == "rigid"
        # The positions of those poses are good, and count.
        assert fit.inliers[bad].mean() > 0.9
        assert not fit.orientations[bad].any()


def test_good_orientations_of_bad_positions_count() -> None:
    scene = joint_poses(3, turn=0.6, radius=0.2, n=500)
    rng = np.random.default_rng(3)
    bad = rng.random(500) < 0.3
    poses = scene.poses.copy()
    poses[bad, :3, 3] += rng.uniform(-0.3, 0.3, (int(bad.sum()), 3))
    fit = fitting.fit_rotary(poses)
    assert fit, fit
    assert fit.grip == "rigid"
    assert fit.orientations[bad].mean() > 0.8
    assert not fit.inliers[bad].any()


def test_positions_that_hardly_bend_do_not_overrule_poses() -> None:
    """10° on 3 cm: an arc of 5 mm, on which noise draws circles of its own."""
    for seed in range(4 * RUNS):
        scene = joint_poses(seed, turn=np.radians(10.0), radius=0.03, n=400)
        fit = fitting.fit_rotary(scene.poses)
        assert fit, fit
        assert fit.grip == "rigid"
        assert axis_error(fit, scene)[0] < 6.0 * fit.axis_std


def test_a_short_slip_is_told() -> None:
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=1.2, radius=0.3, n=600)
        slip = np.sin(np.pi * np.clip(np.linspace(-3.0, 5.0, 600), 0.0, 1.0)) ** 2
        fit = fitting.fit_rotary(_turned(scene.poses, seed, np.radians(15.0) * slip))
        assert fit, fit
        assert fit.grip == "partly"


def test_what_drifts_off_the_path_on_all_sides_does_not_pull_the_axis() -> None:
    """Bursts that leave along the axis and across it: on their way they pass as straying along the axis alone."""
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=2.0, radius=0.3, n=900)
        rng = np.random.default_rng(seed)
        poses = scene.poses.copy()
        for first in range(20, 860, 120):
            shape = np.sin(np.pi * np.arange(1, 41) / 41)[:, None]
            poses[first : first + 40, :3, 3] += 0.03 * shape * (scene.axis + 0.3 * rng.normal(size=3))
        fit = fitting.fit_rotary(poses)
        assert fit, fit
        assert axis_error(fit, scene)[1] < 4.0 * fit.position_std


def test_bursts_on_a_knob_are_no_travel() -> None:
    """The tracked point is on the axis, and for a third of the take the tracker drifts off by two centimetres."""
    for seed in range(4):
        scene = joint_poses(seed, turn=0.8, radius=0.0, n=360)
        poses = scene.poses.copy()
        shape = np.sin(np.pi * np.linspace(0.0, 1.0, 60))[:, None]
        for first in (60, 120):
            poses[first : first + 60, :3, 3] += 0.02 * shape * np.array([1.0, 0.5, -0.3])
        fit = fitting.fit_rotary(poses)
        assert fit, fit
        assert fit.grip == "rigid"
        assert axis_error(fit, scene)[2] < 25.0


def _turned_about(scene: Scene, angles: Array) -> Array:
    """The poses with the gripper turned in the hand by angles (n,) in rad, about the axis of the joint itself."""
    turned = scene.poses.copy()
    turned[:, :3, :3] = rotation_exp(angles[:, None] * scene.axis) @ turned[:, :3, :3]
    return turned


@pytest.mark.parametrize(("degrees", "radius"), [(20.0, 0.3), (45.0, 0.1)])
def test_a_steady_turn_about_the_joints_axis_does_not_move_it(degrees: float, radius: float) -> None:
    # Orientations then follow a smaller circle as well as a firm grip follows its own; only positions object.
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=np.radians(degrees), radius=radius, n=900)
        fit = fitting.fit_rotary(_turned_about(scene, np.radians(15.0) * np.linspace(0.0, 1.0, 900) ** 1.5))
        assert fit, fit
        assert fit.grip != "rigid"
        assert axis_error(fit, scene)[1] < 0.02


@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_a_sway_about_the_joints_axis_is_told_though_no_orientation_leaves_it(outliers: float) -> None:
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=np.radians(350.0), radius=0.05, n=600, orientation_noise=5e-4, outliers=outliers)
        sway = np.radians(7.5) * np.sin(np.linspace(0.0, 20.0, 600))
        fit = fitting.fit_rotary(_turned_about(scene, sway))
        assert fit, fit
        assert fit.grip != "rigid"


@pytest.mark.parametrize("seed", [62, 110, 556, 671, 932, 938, 1110])
def test_a_grip_that_turned_about_the_joints_axis_in_a_sixth_of_the_take_let_go(seed: int) -> None:
    """On 5 cm, by steps or slowly to and fro: a wide gate takes such poses for those of another radius."""
    rng = np.random.default_rng(seed)
    turn, n = float(rng.choice([1.2, 2.1, 3.5, 6.1])), 800
    scene = joint_poses(seed, turn=turn, radius=0.05, n=n, orientation_noise=5e-4, position_noise=8e-4)
    if seed % 2:
        course = sum(np.clip((np.linspace(0.0, 1.0, n) - at) / 0.03, 0.0, 1.0) for at in rng.uniform(0.1, 0.9, 3))
    else:
        course = np.convolve(np.cumsum(rng.normal(size=n)), np.ones(51) / 51.0, "same")
    fit = fitting.fit_rotary(_turned_about(scene, np.radians(15.0) * course / np.ptp(course)))
    assert fit, fit
    assert fit.grip != "rigid"
    assert axis_error(fit, scene)[1] < 0.002


@pytest.mark.parametrize("radius", [0.08, 0.25])
def test_places_that_drift_across_the_path_are_not_along_the_axis(radius: float) -> None:
    """Where the orientation of such a sample is right, it says where on the path its place should be."""
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=2.4, radius=radius, n=1200)
        rng = np.random.default_rng(seed)
        poses = scene.poses.copy()
        for first in range(40, 1100, 180):
            ramp = np.linspace(0.0, 1.0, 61)[1:, None]
            direction = rng.normal(size=3)
            poses[first : first + 60, :3, 3] += 0.04 * ramp * direction / np.linalg.norm(direction)
        rest = np.ones(1200, dtype=bool)
        for first in range(40, 1100, 180):
            rest[first : first + 60] = False
        fit, good = fitting.fit_rotary(poses), fitting.fit_rotary(scene.poses[rest])
        assert fit, fit
        assert good, good
        assert fit.grip == "rigid"
        assert fit.position_std < 1.5 * good.position_std
        assert axis_error(fit, scene)[1] < 5.0 * good.position_std


def test_a_grip_that_turned_with_the_joint_is_contradicted_though_its_positions_seem_slow() -> None:
    """Two grips were told, of which one turned with the joint about its axis: 78 times what positions allow."""
    for seed in range(RUNS):
        scene = joint_poses(seed, turn=2.1, radius=0.05, n=1100, position_noise=3e-4, orientation_noise=2e-4, phi=0.6)
        fit = fitting.fit_rotary(_turned_about(scene, np.radians(15.0) * scene.angles / 2.1))
        assert fit, fit
        assert fit.grip != "rigid"
        assert axis_error(fit, scene)[1] < 1e-3


@pytest.mark.parametrize(("degrees", "radius", "power"), [(49.0, 0.16, 6.0), (18.0, 0.49, 4.0), (107.0, 0.12, 8.0)])
def test_a_grip_that_gives_way_gradually_leads_no_further_astray_than_places(
    degrees: float, radius: float, power: float
) -> None:
    """It turns about the joint's own axis, at first by less than a tenth of a degree: no residual shows that."""
    errors, squares = [], []
    for seed in range(60):
        scene = joint_poses(seed, turn=np.radians(degrees), radius=radius, n=600, position_noise=2e-4)
        fit = fitting.fit_rotary(_turned_about(scene, np.radians(15.0) * np.linspace(0.0, 1.0, 600) ** power))
        circle = fitting.fit_circle(scene.points, noise=2e-4)
        assert fit, fit
        assert circle, circle
        assert fit.grip != "rigid"
        tilt, shift, square = axis_error(fit, scene)
        errors.append((tilt / circle.axis_std, shift / circle.position_std))
        squares.append(square)
    assert (np.sqrt(np.mean(np.square(errors), axis=0)) < 1.2).all()
    assert np.mean(squares) < 7.0


def test_between_is_where_positions_leave_it() -> None:
    """A joint on the circle's own axis, set off by some of its standard deviations, comes back as far as these ask."""
    scene = joint_poses(2, turn=np.radians(50.0), radius=0.16, n=600, position_noise=2e-4)
    one = gripped(Take.of(scene.poses), None, np.random.default_rng(0))
    assert isinstance(one, Gripped)
    circle, joint = one.circle, one.joint
    assert isinstance(circle, fitting.CircleFit)
    assert joint is not None
    shift = circle.basis.T @ np.linalg.eigh(circle.covariance[2:, 2:])[1][:, 0]
    for far in (0.5, 1.0, 2.0, 4.0):
        place = circle.center + far * circle.position_std * shift
        moved = replace(joint, motion=replace(joint.motion, axis=circle.axis, center=place))
        shown = between(moved, circle)
        before, after = apart(moved.motion, circle), apart(shown.motion, circle)
        np.testing.assert_allclose(after, min(before, 1.0 / before), rtol=0.02)
        assert (np.linalg.eigvalsh(shown.covariance) > 0.0).all()
        assert (np.linalg.eigvalsh(shown.body_covariance) > 0.0).all()
