"""Scenes and disturbances as files: what is shipped, what is refused and how."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from devices.errors import DeviceError
from devices.sim import Disturbances, SceneError, load_scene, shipped_scenes
from devices.sim.scene_file import parse_scene
from devices.sim.simulation import SimulationConfig

REPO = Path(__file__).parents[2]
DOOR = (REPO / "devices/sim/scenes/door.toml").read_text()


def test_shipped_scenes_are_what_they_promise() -> None:
    assert shipped_scenes() == ("cabinet", "door", "testbench")
    door, cabinet, bench = (load_scene(name) for name in ("door", "cabinet", "testbench"))
    assert np.degrees(door.joint("lever").upper) == pytest.approx(20.0)
    assert door.joint("lever").parent == "hinge"
    assert [j.type for j in cabinet.joints] == ["prismatic"] * 3
    turn, slide = bench.joints
    assert turn.axis == slide.axis
    assert turn.point == slide.point
    assert {h.radius for h in cabinet.handles} == {0.0075}


@pytest.mark.parametrize("name", ["cabinet", "door", "testbench"])
def test_description_and_truth_agree(name: str) -> None:
    scene = load_scene(name)
    truth, description = scene.truth(), scene.description()
    assert [j["name"] for j in truth["joints"]] == [j["name"] for j in description["joint"]]
    assert all(np.linalg.norm(j["axis"]) == pytest.approx(1.0) for j in truth["joints"] + truth["handles"])
    assert all(h["dof"] == 2 for h in description["handle"])


def test_links_move_with_all_their_ancestors() -> None:
    scene = load_scene("door")
    q = {"hinge": 0.7, "lever": 0.2}
    hinge = scene.motion("hinge", q)
    both = scene.motion("lever", q)
    lever_alone = scene.motion("lever", {"lever": 0.2})
    assert both == pytest.approx(hinge @ lever_alone)
    on_axis = np.append(scene.joint("hinge").point, 1.0)
    assert hinge @ on_axis == pytest.approx(on_axis)


def test_a_scene_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(DOOR.replace('name = "door"', 'name = "mine"'))
    assert load_scene(path).name == "mine"


def test_the_manual_knows_every_disturbance_and_its_scene_can_be_used() -> None:
    manual = (REPO / "docs/simulation.md").read_text()
    assert [f.name for f in fields(Disturbances) if f"`{f.name}`" not in manual] == []
    example = manual.split("```toml\n")[1].split("```")[0]
    assert parse_scene(example, "manual").handle("bar").radius == 0.015


def test_every_problem_of_a_scene_is_listed_at_once() -> None:
    broken = (
        DOOR.replace('type = "rotary"', 'type = "round"', 1)
        .replace('parent = "lever"', 'parent = "nobody"')
        .replace("dimple = [0.30, 0.60, 0.80]", "dimple = [0.30, 0.60]")
        .replace("range_deg = 20.0", "range_deg = -20.0")
    )
    with pytest.raises(SceneError) as refused:
        parse_scene(broken, "broken.toml")
    for part in ("round", "nobody", "dimple", "range_deg"):
        assert part in str(refused.value)


def test_cycles_and_double_names_are_refused() -> None:
    with pytest.raises(SceneError, match="cycle"):
        parse_scene(DOOR.replace('parent = "root"', 'parent = "lever"', 1), "x")
    with pytest.raises(SceneError, match="two nodes are named 'lever'"):
        parse_scene(DOOR.replace('name = "hinge"', 'name = "lever"'), "x")


@pytest.mark.parametrize(
    ("name", "message"),
    [("fridge", "cabinet, door, testbench"), ("missing.toml", "cannot be read"), ("/", "path of a .toml")],
)
def test_scenes_that_are_not_there(name: str, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        load_scene(name)


def test_text_that_is_not_toml() -> None:
    with pytest.raises(SceneError, match="not TOML"):
        parse_scene("joint = [", "x")


def test_disturbances_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "quiet.toml"
    path.write_text("position_noise_mm = 0\nocclusion_flagged = false\n")
    quiet = Disturbances.from_file(path)
    assert quiet.position_noise_mm == 0.0
    assert quiet.occlusion_flagged is False
    assert quiet.mass_kg == Disturbances().mass_kg
    path.write_text('position_noise = 1\ntremor_mm = "much"\nbody_turned = 3\n')
    with pytest.raises(DeviceError) as refused:
        Disturbances.from_file(path)
    for part in ("position_noise", "tremor_mm", "body_turned"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"natnet_version": (5, 0)}, "5.0"),
        ({"speed": 1000.0}, "speed"),
        ({"mocap_hz": 0}, "mocap rate"),
        ({"ft_hz": 9000}, "F/T rate"),
        ({"extra_bodies": 99}, "99"),
        ({"seed": -1}, "seed"),
    ],
)
def test_configurations_that_cannot_work_are_refused(options: dict, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        SimulationConfig(**options)
