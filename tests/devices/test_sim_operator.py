"""How the simulated operator moves, without sockets: each style shows what it is named for, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from devices.sim import Disturbances, load_scene
from devices.sim.measurement import Measured, Rates
from devices.sim.styles import STYLES
from devices.sim.world import World

NONE = Disturbances.none()
RATES = Rates()


def take(world: World, **movement: object) -> Measured:
    return world.begin(movement).stretches[1]


def tip(world: World, measured: Measured) -> np.ndarray:
    poses = np.tile(np.eye(4), (len(measured.position), 1, 1))
    poses[:, :3, 3] = measured.position
    poses[:, :3, :3] = Rotation.from_quat(measured.quaternion).as_matrix()
    return poses @ world.gripper.tip2body


def world(scene: str = "testbench", seed: int = 1, disturbances: Disturbances = NONE, rates: Rates = RATES) -> World:
    return World(load_scene(scene), seed, disturbances, rates)


def angles(world: World, tips: np.ndarray, name: str) -> np.ndarray:
    """Turn of the gripper about a rotary joint since the first pose, radians."""
    turned = Rotation.from_matrix(tips[:, :3, :3] @ tips[0, :3, :3].T).as_rotvec()
    axis = np.asarray(world.scene.joint(name).axis)
    return turned @ axis


@pytest.mark.parametrize("seed", range(5))
def test_a_normal_take_covers_the_whole_range_in_six_to_ten_seconds(seed: int) -> None:
    for scene in ("door", "cabinet", "testbench"):
        w = world(scene, seed, Disturbances())
        for joint in w.scene.joints:
            job = w.begin({"kind": "joint", "name": joint.name})
            assert 5.5 < len(job.stretches[1].position) / 120 < 10.5
            assert job.info["to"] == joint.upper
            assert job.info["configuration"][joint.name] == pytest.approx(0.0, abs=1e-9)


def test_calibration_movements_last_about_eight_seconds_and_turn_about_one_axis() -> None:
    w = world()
    for kind, column in (("about_screws", 0), ("about_handle", 2)):
        tips = tip(w, take(w, kind=kind))
        assert 6.0 < len(tips) / 120 < 10.0
        assert np.ptp(tips[:, :3, 3], axis=0).max() < 1e-9
        turned = Rotation.from_matrix(tips[0, :3, :3].T @ tips[:, :3, :3]).as_rotvec()
        assert np.degrees(np.ptp(turned[:, column])) > 70.0
        assert np.abs(np.delete(turned, column, axis=1)).max() < 1e-9


def test_pivoting_keeps_the_tip_and_leans_in_all_directions() -> None:
    w = world()
    tips = tip(w, take(w, kind="pivot"))
    assert tips[:, :3, 3] == pytest.approx(np.tile(w.scene.bench.dimple, (len(tips), 1)), abs=1e-9)
    turned = Rotation.from_matrix(tips[0, :3, :3].T @ tips[:, :3, :3]).as_rotvec()
    assert np.degrees(np.ptp(turned, axis=0)).min() > 30.0


def test_free_movement_turns_gravity_around_the_sensor_with_holds() -> None:
    w = world()
    measured = take(w, kind="free")
    still = np.linalg.norm(np.diff(measured.load[:, :3], axis=0), axis=1) < 1e-6
    directions = measured.load[:-1, :3][still]
    directions = directions / np.linalg.norm(directions, axis=1)[:, None]
    assert np.linalg.norm(measured.load[:-1, :3][still], axis=1) == pytest.approx(0.5 * 9.80665, abs=1e-3)
    assert np.linalg.svd(directions, compute_uv=False).min() > 0.2 * np.sqrt(len(directions))


def test_taps_are_seen_by_both_devices_at_the_same_time() -> None:
    w = world(rates=Rates(240, 4800))
    measured = take(w, kind="tap", taps=3)
    height = tip(w, measured)[:, 2, 3]
    push = np.linalg.norm(measured.load[:, :3] - measured.load[0, :3], axis=1)
    struck = push > 0.7 * push.max()
    times = (np.flatnonzero(struck) + w.rates.first_record(0)) / 4800
    lowest = np.flatnonzero(
        (height[1:-1] < height[:-2]) & (height[1:-1] <= height[2:]) & (height[1:-1] < 0.01 + height.min())
    )
    assert len(lowest) == 3
    assert all(np.abs(times - (i + 1) / 240).min() < 0.006 for i in lowest)


def test_short_takes_are_short() -> None:
    w = world()
    assert np.ptp(angles(w, tip(w, take(w, kind="joint", name="turn", style="short")), "turn")) < np.radians(12.0)


def test_quick_takes_have_few_samples() -> None:
    w = world()
    assert len(take(w, kind="joint", name="turn", style="quick").position) < 120


@pytest.mark.parametrize("seed", range(3))
def test_a_loose_grip_turns_about_the_bar_while_the_tip_stays_on_it(seed: int) -> None:
    w = world(seed=seed)
    tips = tip(w, take(w, kind="joint", name="slide", style="loose"))
    turned = Rotation.from_matrix(tips[0, :3, :3].T @ tips[:, :3, :3]).as_rotvec()
    assert 13.0 < np.degrees(np.abs(turned[:, 2]).max()) < 25.0
    assert np.abs(turned[:, :2]).max() < 1e-9
    axis = np.asarray(w.scene.joint("slide").axis)
    path = tips[:, :3, 3] - tips[0, :3, 3]
    assert np.abs(path - (path @ axis)[:, None] * axis).max() < 1e-9


@pytest.mark.parametrize(
    ("scene", "joint"), [("testbench", "turn"), ("testbench", "slide"), ("door", "hinge"), ("cabinet", "top")]
)
def test_straying_leaves_the_joint(scene: str, joint: str) -> None:
    for style in ("stray", "stark_outliers"):
        w = world(scene)
        straight = tip(w, take(w, kind="joint", name=joint))
        crooked = tip(w, take(w, kind="joint", name=joint, style=style))
        q = w.scene.joint(joint)
        assert departure(q.type, q.axis, q.point, straight) < 1e-6
        assert departure(q.type, q.axis, q.point, crooked) > 0.008


@pytest.mark.parametrize("seed", range(3))
def test_a_slip_is_sudden(seed: int) -> None:
    w = world(seed=seed)
    tips = tip(w, take(w, kind="joint", name="slide", style="slip"))
    turned = Rotation.from_matrix(tips[0, :3, :3].T @ tips[:, :3, :3]).as_rotvec()[:, 2]
    assert np.degrees(np.abs(np.diff(turned)).max()) > 1.0
    assert departure("prismatic", w.scene.joint("slide").axis, (), tips) > 0.008


def departure(kind: str, axis: tuple, point: tuple, tips: np.ndarray) -> float:
    """How far the tip leaves the circle or the line, metres."""
    p = tips[:, :3, 3] - (point if kind == "rotary" else tips[0, :3, 3])
    along = p @ np.asarray(axis)
    across = p - along[:, None] * np.asarray(axis)
    if kind == "prismatic":
        return float(np.linalg.norm(across, axis=1).max())
    return float(max(np.ptp(along), np.ptp(np.linalg.norm(across, axis=1))))


def test_an_occluded_take_repeats_poses_to_the_bit_and_says_so() -> None:
    measured = take(world(disturbances=Disturbances()), kind="joint", name="turn", style="occluded")
    hidden = ~measured.valid
    assert 0.35 < hidden.mean() < 0.85
    again = np.flatnonzero(hidden[1:]) + 1
    assert np.array_equal(measured.position[again], measured.position[again - 1])
    assert np.array_equal(measured.quaternion[again], measured.quaternion[again - 1])


def test_old_servers_do_not_flag_repeated_poses() -> None:
    silent = replace(Disturbances(), occlusion_flagged=False)
    measured = take(world(disturbances=silent), kind="joint", name="turn", style="occluded")
    assert measured.valid.all()
    assert (np.diff(measured.position, axis=0) == 0.0).all(axis=1).mean() > 0.3


def test_noise_has_the_stated_size() -> None:
    d = replace(NONE, position_noise_mm=0.4, orientation_noise_deg=0.07, force_noise_n=0.05, torque_noise_nm=0.002)
    w = world(disturbances=d)
    measured = take(w, kind="hold", joint="turn", seconds=60)
    assert 1e3 * measured.position.std(axis=0) == pytest.approx(0.4, rel=0.05)
    turned = (Rotation.from_quat(measured.quaternion[0]).inv() * Rotation.from_quat(measured.quaternion)).as_rotvec()
    assert np.degrees(turned.std(axis=0)) == pytest.approx(0.07, rel=0.05)
    noise = (measured.wrench - measured.load).std(axis=0)
    assert noise == pytest.approx([0.05] * 3 + [0.002] * 3, rel=0.03)


def test_slow_noise_has_its_size_and_time_constant() -> None:
    w = world(disturbances=replace(NONE, correlated_position_mm=0.5, correlation_s=0.1))
    x = take(w, kind="hold", joint="turn", seconds=120).position
    x = x - x.mean(axis=0)
    assert 1e3 * x.std(axis=0) == pytest.approx(0.5, rel=0.15)
    assert (x[1:] * x[:-1]).sum() / (x**2).sum() == pytest.approx(np.exp(-1 / 12), abs=0.02)


def test_lost_frames_have_the_stated_share() -> None:
    measured = take(world(disturbances=replace(NONE, lost_frames=0.1)), kind="hold", joint="turn", seconds=60)
    assert measured.lost.mean() == pytest.approx(0.1, abs=0.02)


def test_pushing_at_an_end_stop_shows_in_the_force() -> None:
    w = world("cabinet", disturbances=replace(NONE, end_force_n=10.0))
    pushed = take(w, kind="joint", name="top").load
    w = world("cabinet")
    gentle = take(w, kind="joint", name="top").load
    assert np.abs(pushed).max() > np.abs(gentle).max() + 1.5


def test_starting_a_drawer_takes_more_force_than_keeping_it_moving() -> None:
    w = world("cabinet")
    load = take(w, kind="joint", name="bottom").load
    pull = np.linalg.norm(load[:, :3] - load[0, :3], axis=1)
    start = pull[300:1200].max()
    moving = np.median(pull[1500:2500])
    assert start > 1.3 * moving


@pytest.mark.parametrize("style", sorted(STYLES))
@pytest.mark.parametrize("scene", ["door", "cabinet", "testbench"])
def test_every_style_gives_finite_continuous_takes(scene: str, style: str) -> None:
    w = world(scene, 7, Disturbances())
    nodes = [("joint", j.name) for j in w.scene.joints] + [("handle", h.name) for h in w.scene.handles]
    for kind, name in nodes:
        measured = take(w, kind=kind, name=name, style=style)
        assert np.isfinite(measured.position).all()
        assert np.isfinite(measured.wrench).all()
        assert np.linalg.norm(measured.quaternion, axis=1) == pytest.approx(1.0)
        assert np.abs(measured.load[:, :3]).max() < (400.0 if style == "quick" else 130.0)


def test_an_approach_belongs_to_the_window_only_when_asked_for() -> None:
    w = world("cabinet")
    plain = w.begin({"kind": "joint", "name": "top"})
    assert plain.recorded == slice(1, 2)
    whole = w.begin({"kind": "joint", "name": "top", "approach": True})
    assert len(whole.stretches) == 3
    assert whole.recorded == slice(0, 3)


@pytest.mark.parametrize(("mocap_hz", "ft_hz"), [(120, 1000), (360, 7000), (100, 1000), (240, 1500), (7, 1000)])
def test_frames_and_records_stay_in_step_whatever_the_rates(mocap_hz: int, ft_hz: int) -> None:
    w = world(rates=Rates(mocap_hz, ft_hz))
    w.begin({"kind": "hold", "joint": "turn"})
    w.extend(5 * mocap_hz)
    for before, after in zip(list(w.segments), list(w.segments)[1:], strict=False):
        assert after.frame == before.end_frame
        assert after.record == before.end_record
        # Records of a segment begin within one sample after half a frame before its first frame.
        lead = after.frame / mocap_hz - 0.5 / mocap_hz
        assert -1e-9 <= after.record / ft_hz - lead < 1.0 / ft_hz


def test_grippers_differ_by_seed_and_stay_in_bounds() -> None:
    offsets = set()
    for seed in range(20):
        gripper = world(seed=seed, disturbances=Disturbances()).gripper
        offset = np.linalg.norm(gripper.body2tip[:3, 3])
        assert offset == pytest.approx(0.18)
        offsets.add(tuple(gripper.tip2body[:3, 3]))
        aligned = gripper.tip2sensor[:3, :3]
        assert np.degrees(Rotation.from_matrix(aligned).magnitude()) == pytest.approx(0.3, abs=1e-6)
        assert np.abs(gripper.bias[:3]).max() <= 5.0
    assert len(offsets) == 20
    wild = world(seed=3, disturbances=replace(Disturbances(), sensor_tilt_deg=180.0, body_offset_m=0.4)).gripper
    assert np.linalg.norm(wild.body2tip[:3, 3]) == pytest.approx(0.4)
    assert np.degrees(Rotation.from_matrix(wild.tip2sensor[:3, :3]).magnitude()) > 5.0
