"""Which joint it was, live fits, free joints, and lazy loading."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fitting
from fitting.se3 import Array, rotation_exp
from fitting.synthetic import axis_error, joint_poses


@pytest.mark.parametrize("outliers", [0.0, 0.3])
@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("rotary", {"turn": np.radians(15), "radius": 0.1}),
        ("rotary", {"turn": 0.5, "radius": 0.0}),
        ("prismatic", {"slide": 0.05}),
        ("rigid", {}),
        ("cylindrical", {"turn": 0.3, "slide": 0.05, "radius": 0.01}),
        ("screw", {"turn": 1.0, "radius": 0.05, "pitch": 0.02}),
        ("screw", {"turn": 9.0, "radius": 0.05, "pitch": 0.02}),
    ],
)
def test_select_names_the_joint(kind: str, scene: dict[str, Any], outliers: float) -> None:
    for seed in range(2):
        choice = fitting.select(joint_poses(seed, n=400, outliers=outliers, **scene).poses)
        assert isinstance(choice, fitting.Selection)
        assert choice.kind == kind, choice.reason
        assert choice.fit
        assert sum(choice.probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "scene"),
    [("rotary", {"turn": 0.6, "radius": 0.4}), ("prismatic", {"slide": 0.3}), ("rigid", {})],
)
def test_select_without_orientations(kind: str, scene: dict[str, Any]) -> None:
    """A tracked point whose orientation is always the same: it was not measured, and says nothing."""
    for seed in range(3):
        poses = joint_poses(50 + seed, n=300, outliers=0.1, **scene).poses.copy()
        poses[:, :3, :3] = poses[0, :3, :3]
        choice = fitting.select(poses)
        assert isinstance(choice, fitting.Selection)
        assert choice.kind == kind, choice.to_dict()
        assert not next(c for c in choice.candidates if c.kind == "cylindrical").fit


def test_select_asks_the_movement_not_the_rest() -> None:
    """A door that stood still in the middle of its take for twice as long as it moved."""
    scene = joint_poses(7, turn=1.2, radius=0.4, n=400)
    rng = np.random.default_rng(7)
    rest = np.repeat(scene.poses[200:201], 800, axis=0)
    rest[:, :3, 3] += 5e-4 * rng.normal(size=(800, 3))
    poses = np.concatenate([scene.poses[:200], rest, scene.poses[200:]])
    choice = fitting.select(poses)
    assert isinstance(choice, fitting.Selection)
    assert choice.kind == "rotary", choice.to_dict()
    assert choice.fit
    assert choice.fit.inliers.shape == (1200,)


@pytest.mark.parametrize(
    ("kind", "turn", "slide"), [("rotary", 0.4, 0.0), ("prismatic", 0.0, 0.06), ("cylindrical", 0.5, 0.1)]
)
@pytest.mark.parametrize("outliers", [0.0, 0.15])
def test_a_joint_that_rests_most_of_the_time_is_no_rigid_body(
    kind: str, turn: float, slide: float, outliers: float
) -> None:
    """Opened and shut in a fifth of the take, after which all is as it was before."""
    for seed in range(4):
        still = joint_poses(seed, n=900, radius=0.2, position_noise=3e-4)
        rng = np.random.default_rng(seed)
        way = np.sin(np.pi * np.linspace(0.0, 1.0, 180)) ** 2
        angles, slides = np.zeros((2, 900))
        angles[300:480], slides[345:525] = turn * way, slide * way
        A = rotation_exp(angles[:, None] * still.axis)
        arm = still.poses[:, :3, 3] - still.point
        poses = still.poses.copy()
        poses[:, :3, 3] = still.point + (A @ arm[:, :, None])[:, :, 0] + slides[:, None] * still.axis
        poses[:, :3, :3] = A @ poses[:, :3, :3]
        bad = rng.random(900) < outliers
        poses[bad, :3, 3] += rng.uniform(-0.3, 0.3, (int(bad.sum()), 3))
        choice = fitting.select(poses)
        assert choice.kind == kind, choice.to_dict()


def test_bursts_beside_a_long_rest_are_no_joint() -> None:
    """A rigid body whose tracker scatters at the end of the take, then drifts off as a joint would, and jumps back."""
    noise = {"position_noise": 1.2e-4, "orientation_noise": np.radians(0.15)}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        poses = joint_poses(seed, n=1300, **noise).poses.copy()
        way, about = rng.normal(size=(2, 3))
        drift = np.linspace(0.0, 1.0, 100)[:, None]
        poses[1110:1170, :3, 3] += 0.1 * rng.normal(size=(60, 3))
        poses[1110:1170, :3, :3] = rotation_exp(0.3 * rng.normal(size=(60, 3))) @ poses[1110:1170, :3, :3]
        poses[1180:1280, :3, 3] += 0.05 * drift * way / np.linalg.norm(way)
        poses[1180:1280, :3, :3] = rotation_exp(0.3 * drift * about / np.linalg.norm(about)) @ poses[1180:1280, :3, :3]
        choice = fitting.select(poses)
        assert choice.kind == "rigid", choice.to_dict()


def test_an_excursion_that_comes_back_is_no_joint() -> None:
    """A rigid part that somebody leant on for a moment: it gave way by 2 to 3 mm, and came back."""
    for seed in range(6):
        poses = joint_poses(600 + seed, n=1200, position_noise=2e-4).poses.copy()
        rng = np.random.default_rng(seed)
        way = rng.normal(size=3)
        start, length = rng.integers(200, 700), rng.integers(120, 240)
        lean = np.sin(np.pi * np.arange(length) / length) * rng.uniform(2e-3, 3e-3)
        poses[start : start + length, :3, 3] += lean[:, None] * way / np.linalg.norm(way)
        choice = fitting.select(poses)
        assert isinstance(choice, fitting.Selection)
        assert choice.kind == "rigid", choice.to_dict()


def test_excursions_that_go_different_ways_are_no_joint() -> None:
    """Each goes step by step and comes back, as a drawer would; but no drawer slides in three directions."""
    for seed in range(12):
        scene = joint_poses(seed, n=900)
        rng = np.random.default_rng(seed)
        poses = scene.poses.copy()
        for first, away in zip((90, 390, 690), np.linalg.qr(rng.normal(size=(3, 3)))[0], strict=True):
            poses[first : first + 60, :3, 3] += 0.03 * np.sin(np.linspace(0.0, np.pi, 60))[:, None] * away
        assert fitting.select(poses).kind == "rigid", seed


@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_a_drawer_that_is_opened_three_times_is_one(outliers: float) -> None:
    for seed in range(6):
        scene = joint_poses(seed, n=900, outliers=outliers)
        poses = scene.poses.copy()
        for first, far in ((90, 0.06), (390, 0.1), (690, 0.15)):
            poses[first : first + 90, :3, 3] += far * np.sin(np.linspace(0.0, np.pi, 90))[:, None] * scene.axis
        assert fitting.select(poses).kind == "prismatic", seed


def test_a_hinge_tracked_on_its_axis_is_rotary() -> None:
    """Nothing but the orientations move, and the gripper turns in the hand beside."""
    for seed in range(4):
        poses = joint_poses(620 + seed, turn=1.0, radius=0.0, n=1200).poses.copy()
        way = np.random.default_rng(seed).normal(size=3)
        slow = np.radians(6.0) * np.sin(2.0 * np.pi * np.linspace(0.0, 1.0, 1200))
        poses[:, :3, :3] = poses[:, :3, :3] @ rotation_exp(slow[:, None] * way / np.linalg.norm(way))
        choice = fitting.select(poses)
        assert isinstance(choice, fitting.Selection)
        assert choice.kind == "rotary", choice.to_dict()


def test_select_among_given_candidates() -> None:
    poses = joint_poses(1, turn=1.0, radius=0.3, n=300).poses
    choice = fitting.select(poses, candidates=["prismatic", "rotary"])
    assert isinstance(choice, fitting.Selection)
    assert choice.kind == "rotary"
    with pytest.raises(ValueError, match="Unknown candidates"):
        fitting.select(poses, candidates=["hinge"])


def test_select_uses_fits_that_are_there() -> None:
    scene = joint_poses(4, turn=0.8, radius=0.3, n=600)
    fit = fitting.fit_rotary(scene.poses)
    chosen = fitting.select(scene.poses, known={"rotary": fit})
    assert isinstance(chosen, fitting.Selection)
    assert chosen.kind == "rotary"
    assert chosen.candidates[0].fit is fit
    # A rest outvotes the movement: what was fitted to both is not what is compared.
    rests = np.concatenate([scene.poses, np.repeat(scene.poses[-1:], 1800, axis=0)])
    chosen = fitting.select(rests, known={"rotary": fit})
    assert isinstance(chosen, fitting.Selection)
    assert chosen.candidates[0].fit is not fit


def test_select_does_not_guess() -> None:
    """A thousandth of a radian on 10 cm is noise: whatever moved, it cannot be seen."""
    choice = fitting.select(joint_poses(1, turn=1e-3, radius=0.1, n=300).poses, candidates=["prismatic", "rotary"])
    assert not choice
    assert "explains" in choice.reason or "enough" in choice.reason


def test_online_agrees_with_the_whole_take() -> None:
    scene = joint_poses(2, turn=1.0, radius=0.3, n=3000)
    online = fitting.Online(fitting.fit_rotary, capacity=128)
    assert not online.fit()
    uncertain = []
    for k in range(0, 3000, 250):
        online.feed(scene.poses[k : k + 250])
        assert 1 <= len(online.indices) <= 128
        fit = online.fit()
        if fit:
            uncertain.append(fit.axis_std)
    assert online.count == 3000
    final = online.fit()
    assert final, final
    assert axis_error(final, scene)[2] < 25.0
    assert len(final.inliers) == len(online.indices)
    assert uncertain[-1] < uncertain[0]
    online.feed(np.full((4, 4), np.nan))
    assert online.count == 3000


def test_a_free_joint_follows_any_path() -> None:
    scene = joint_poses(3, turn=1.2, radius=0.3, n=400)
    fit = fitting.fit_free(scene.poses)
    assert fit, fit
    assert fit.rms < 1.5e-3
    middle = fit.coordinates[200]
    assert np.linalg.norm(fit.pose(middle)[:3, 3] - scene.points[200]) < 4e-3


def test_importing_loads_neither_numba_nor_scikit_learn() -> None:
    """The first command of the day must not wait for compilers."""
    code = "import fitting, sys; print([m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_noise_that_explains_everything_does_not_judge() -> None:
    """With a third of the samples wrong, a resting body of half a metre of noise has the most inliers."""
    for seed in range(3):
        scene = joint_poses(seed, turn=3.8, slide=0.1, radius=0.7, n=600, outliers=0.35, position_noise=2.5e-4)
        choice = fitting.select(scene.poses)
        assert choice.kind == "cylindrical", choice.reason


def test_play_is_no_joint() -> None:
    """A body that is held still by a hand: it plays slowly by parts of a millimetre and of a degree."""
    for seed in range(4):
        scene = joint_poses(seed, n=800, position_noise=2e-4, orientation_noise=np.radians(0.05))
        rng = np.random.default_rng(seed)
        t = np.linspace(0.0, 1.0, 800)[:, None]
        poses = scene.poses.copy()
        poses[:, :3, 3] += 1.5e-4 * np.sin(2.0 * np.pi * (rng.uniform(1.0, 6.0, 3) * t + rng.uniform(size=3)))
        choice = fitting.select(poses)
        assert choice.kind == "rigid", choice.reason


def test_a_drawer_whose_gripper_turns_with_it_is_a_drawer() -> None:
    """The turn follows the slide, as a screw's would, but the positions run straight."""
    for seed in range(4):
        rng = np.random.default_rng(100 + seed)
        scene = joint_poses(seed, slide=0.2, n=600)
        about = np.cross(scene.axis, rng.normal(size=3)) + 0.5 * scene.axis
        turn = np.radians(5.0) * scene.slides[:, None] / 0.2 * about / np.linalg.norm(about)
        poses = scene.poses.copy()
        poses[:, :3, :3] = rotation_exp(turn) @ poses[:, :3, :3]
        choice = fitting.select(poses)
        assert choice.kind == "prismatic", choice.to_dict()


def test_a_hinge_whose_grip_turned_half_way_is_a_hinge() -> None:
    """It was held in two ways, and must be asked with one of them: between the two no orientation agrees."""
    for seed in range(6):
        rng = np.random.default_rng(200 + seed)
        scene = joint_poses(seed, turn=np.radians(29), radius=0.25, n=300)
        about = np.cross(scene.axis, rng.normal(size=3))
        course = np.clip((np.linspace(0.0, 1.0, 300) - 0.4) / 0.2, 0.0, 1.0)
        poses = scene.poses.copy()
        poses[:, :3, :3] @= rotation_exp(np.radians(12) * course[:, None] * about / np.linalg.norm(about))
        choice = fitting.select(poses)
        assert choice.kind == "rotary", choice.to_dict()


def test_a_hinge_whose_gripper_turns_slowly_all_along_is_a_hinge() -> None:
    """Its orientations turn about another axis than its circle, faster and faster: no screw, and no handle."""
    for seed in range(6):
        rng = np.random.default_rng(300 + seed)
        noise = {"position_noise": 3e-4, "orientation_noise": np.radians(0.05)}
        scene = joint_poses(seed, turn=0.8, radius=0.4, n=600, **noise)
        about = scene.poses[0, :3, :3].T @ np.cross(scene.axis, rng.normal(size=3))
        course = np.radians(5.0) * np.linspace(0.0, 1.0, 600)[:, None] ** 2
        poses = scene.poses.copy()
        poses[:, :3, :3] @= rotation_exp(course * about / np.linalg.norm(about))
        choice = fitting.select(poses)
        assert choice.kind == "rotary", choice.to_dict()


def _swaying(poses: Array, rng: np.random.Generator) -> Array:
    """The same poses (n, 4, 4) with slow play of parts of a millimetre and of a degree."""
    t = np.linspace(0.0, 1.0, len(poses))[:, None]
    place, turn = (np.sin(2.0 * np.pi * (rng.uniform(1.0, 6.0, 3) * t + rng.uniform(size=3))) for _ in range(2))
    poses = poses.copy()
    poses[:, :3, 3] += 1.5e-4 * place
    poses[:, :3, :3] @= rotation_exp(np.radians(0.1) * turn)
    return poses


def test_a_drawer_whose_gripper_turns_askew_with_it_is_a_drawer() -> None:
    """Half along the slide and half across it, in slow noise, where many parameters weigh as much as all samples."""
    for seed in range(6):
        rng = np.random.default_rng(300 + seed)
        noise = {"position_noise": 3.5e-4, "orientation_noise": np.radians(0.04), "phi": 0.8}
        scene = joint_poses(seed, slide=0.052, n=1200, **noise)
        across = np.cross(scene.axis, rng.normal(size=3))
        about = scene.poses[0, :3, :3].T @ (across / np.linalg.norm(across) + scene.axis) / np.sqrt(2.0)
        poses = scene.poses.copy()
        poses[:, :3, :3] @= rotation_exp(np.radians(6.0) * (scene.slides / 0.052)[:, None] * about)
        choice = fitting.select(_swaying(poses, rng))
        assert choice.kind == "prismatic", choice.to_dict()


def test_a_short_hinge_is_no_drawer() -> None:
    """Slow noise straightens its path of a centimetre, but no gripper turns so far in the hand."""
    noise = {"position_noise": 2.7e-4, "orientation_noise": np.radians(0.04), "phi": 0.95}
    for seed in range(4, 8):
        poses = joint_poses(seed, turn=0.4, radius=0.033, n=400, **noise).poses
        choice = fitting.select(_swaying(poses, np.random.default_rng(seed)))
        assert choice.kind == "rotary", choice.to_dict()


@pytest.mark.parametrize(("turn", "slide"), [(60.0, 0.008), (2.2, 0.12)])
def test_a_handle_may_turn_first_and_slide_afterwards(turn: float, slide: float) -> None:
    """The smaller movement comes after the larger one is over, and is no pause of it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        still = joint_poses(seed, n=400, radius=0.05)
        t = np.linspace(0.0, 1.0, 400)
        A = rotation_exp(np.radians(turn) * np.clip(2.0 * t, 0.0, 1.0)[:, None] * still.axis)
        arm = still.poses[:, :3, 3] - still.point
        slides = slide * np.clip(2.0 * t - 1.0, 0.0, 1.0)[:, None] * still.axis
        poses = still.poses.copy()
        poses[:, :3, 3] = still.point + (A @ arm[:, :, None])[:, :, 0] + slides
        poses[:, :3, :3] = rotation_exp(np.radians(0.02) * rng.normal(size=(400, 3))) @ A @ poses[:, :3, :3]
        choice = fitting.select(poses)
        assert choice.kind == "cylindrical", choice.to_dict()
        assert choice.fit.inlier_share > 0.8


@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("rotary", {"turn": 0.4, "radius": 0.022, "position_noise": 8e-4}),
        ("prismatic", {"slide": 0.057, "orientation_noise": np.radians(0.26), "phi": 0.8}),
        ("cylindrical", {"turn": 1.3, "slide": 0.05, "radius": 0.5, "position_noise": 2e-4}),
    ],
)
def test_wrong_orientations_alone_do_not_change_the_joint(kind: str, scene: dict[str, Any]) -> None:
    """A quarter of the orientations is wrong, and all positions are right."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        poses = joint_poses(seed, n=600, **scene).poses.copy()
        bad = rng.random(600) < 0.25
        poses[bad, :3, :3] = rotation_exp(rng.normal(size=(int(bad.sum()), 3))) @ poses[bad, :3, :3]
        choice = fitting.select(poses)
        assert choice.kind == kind, choice.to_dict()


@pytest.mark.parametrize("frozen", [False, True])
def test_a_screw_that_turned_on_unseen_is_a_screw(frozen: bool) -> None:
    """Three turns there and back; in a gap it turned on by half a turn or more, which its angles alone do not show."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        still = joint_poses(seed, n=600, radius=0.05)
        turns = 6.0 * np.pi * np.sin(np.pi * np.linspace(0.0, 1.0, 600))
        A = rotation_exp(turns[:, None] * still.axis)
        poses = still.poses.copy()
        poses[:, :3, 3] += ((A - np.eye(3)) @ (still.poses[0, :3, 3] - still.point)[:, None])[:, :, 0]
        poses[:, :3, 3] += 2e-3 * turns[:, None] * still.axis
        poses[:, :3, :3] = A @ poses[:, :3, :3]
        for first in (60, 150, 400, 510):
            if frozen:
                poses[first : first + 40] = poses[first]
            else:
                poses[first : first + 40, :3, 3] += rng.uniform(-0.3, 0.3, (40, 3))
                spoilt = rotation_exp(0.5 * rng.normal(size=(40, 3))) @ poses[first : first + 40, :3, :3]
                poses[first : first + 40, :3, :3] = spoilt
        choice = fitting.select(poses)
        assert choice.kind == "screw", choice.to_dict()
        assert abs(choice.fit.pitch) == pytest.approx(2e-3, rel=0.02)
        assert np.ptp(choice.fit.angles[choice.fit.inliers]) == pytest.approx(6.0 * np.pi, rel=0.02)


def test_probabilities_rank_the_candidates() -> None:
    for seed in range(3):
        choice = fitting.select(joint_poses(seed, turn=0.05, slide=0.004, radius=0.05, n=300).poses)
        shares = list(choice.probabilities.values())
        assert shares == sorted(shares, reverse=True)
        assert choice.kind == (next(iter(choice.probabilities)) if shares[0] >= 0.95 else None)


@pytest.mark.parametrize("fitter", [fitting.fit_circle, fitting.fit_rotary])
def test_samples_may_come_one_by_one(fitter: Any) -> None:
    scene = joint_poses(6, turn=1.5, radius=0.3, n=300)
    samples = scene.points if fitter is fitting.fit_circle else scene.poses
    single, several = fitting.Online(fitter), fitting.Online(fitter)
    for sample in samples:
        single.feed(sample)
    several.feed(samples)
    assert single.count == several.count == 300
    fit, same = single.fit(), several.fit()
    assert fit, fit
    np.testing.assert_array_equal(fit.covariance, same.covariance)
    assert len(single.indices) == (300 if fitter is fitting.fit_circle else len(fit.inliers))
