"""The joint type that the documentation adds, under the same contract as those that are there."""

import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import mujoco
import numpy as np
import pytest
import test_export as exports
import test_joints as contract
import yourdfpy
from model_cases import random_q, random_tree

from fitting.se3 import exp
from ident.export import render
from ident.joints import Joint, base, joint_types
from ident.model import model_text, parse_model
from ident.plot.figure import save_model_figure
from ident.tree import KinematicTree

PAGE = Path(__file__).parents[2] / "docs" / "add-a-joint.md"


@pytest.fixture
def screw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Joint]:
    """The class of the page's code, registered for one test."""
    monkeypatch.setattr(base, "_types", dict(base._types))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "screw.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("screw", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return joint_types()["screw"]


def test_one_file_is_a_joint_type(screw: type[Joint]) -> None:
    contract.test_coordinate_is_the_inverse_of_pose(screw)
    contract.test_jacobian_agrees_with_finite_differences(screw)
    contract.test_simulate_fit_recover_save_load_export_reload(screw)
    contract.test_texts_for_the_operator(screw)
    contract.test_with_limits_moves_the_zero_to_the_lower_one(screw)


def test_its_own_numbers_are_in_the_file(screw: type[Joint]) -> None:
    tree = KinematicTree("clamp", (screw.example(),))
    text = model_text(tree)
    assert '"pitch_m_per_rad": 0.02' in text
    assert parse_model(text) == tree
    with pytest.raises(Exception, match="pitch_m_per_rad: is missing; every screw has it"):
        parse_model(text.replace('"pitch_m_per_rad": 0.02', '"x": 1'))


def test_figures_and_exports_know_it(screw: type[Joint], tmp_path: Path) -> None:
    tree = KinematicTree("clamp", (screw.example(),))
    save_model_figure(tree, tmp_path / "clamp.png")
    robot = yourdfpy.URDF.load(io.StringIO(render(tree, "urdf").text), load_meshes=False)
    assert robot.joint_map["spindle"].mimic is None
    (mimic,) = [j for j in robot.joint_map.values() if j.mimic is not None]
    assert mimic.mimic.joint == "spindle"
    assert mimic.mimic.multiplier == pytest.approx(0.02)
    model = mujoco.MjModel.from_xml_string(render(tree, "mjcf").text)
    assert model.neq == 1
    assert "<mimic" in render(tree, "sdf").text


def test_the_tree_moves_it(screw: type[Joint]) -> None:
    rng = np.random.default_rng(0)
    tree = KinematicTree("clamp", (screw.example(),))
    q = rng.uniform(0.0, 2.4, 700)
    assert np.abs(tree.pose("spindle", {"spindle": q}) - screw.example().pose(q)).max() < 1e-12
    pose = tree.pose("spindle", {"spindle": 1.5}) @ exp(np.zeros(6))
    assert tree.coordinates("spindle", pose).q["spindle"] == pytest.approx(1.5, abs=1e-8)


def test_random_trees_with_it_mean_the_same_in_other_programs(screw: type[Joint]) -> None:
    seen = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng)
        q = random_q(rng, tree)
        frames = {name: tree.pose(name, q) for name in tree.nodes}
        seen += sum(isinstance(j, screw) for j in tree.joints)
        urdf = render(tree, "urdf").text
        exports.check_yourdfpy(urdf, tree, q, frames)
        exports.check_pinocchio(urdf, tree, q, frames)
        exports.check_mujoco(render(tree, "mjcf").text, tree, q, frames)
        exports.check_sdf(render(tree, "sdf").text, tree, q, frames)
    assert seen > 10
