"""Exports against other programs' readers: the same frames and the same limits."""

import csv
import io
from xml.etree.ElementTree import Element, fromstring

import mujoco
import numpy as np
import pinocchio
import pytest
import yourdfpy
from model_cases import door, random_q, random_tree

from fitting.se3 import Array, frame, rotation_exp
from ident.export import FORMATS, render
from ident.export.mjcf import build_spec
from ident.handles import Handle
from ident.joints import Joint, Prismatic, Rotary
from ident.joints.problems import ModelError
from ident.model import parse_model
from ident.tree import KinematicTree

TREES = 200


def fixed_rpy(rpy: Array) -> Array:
    r, p, y = (rotation_exp(a * e) for a, e in zip(rpy, np.eye(3), strict=True))
    return y @ p @ r


def check_yourdfpy(text: str, tree: KinematicTree, q: dict[str, float], frames: dict[str, Array]) -> None:
    robot = yourdfpy.URDF.load(io.StringIO(text), load_meshes=False, build_scene_graph=True)
    robot.update_cfg(q)
    for name, expected in frames.items():
        assert np.abs(robot.get_transform(name, "root") - expected).max() < 1e-9
    for name in tree.joint_names:
        limit = robot.joint_map[name].limit
        assert (limit.lower, limit.upper) == tree.limits[name]


def check_pinocchio(text: str, tree: KinematicTree, q: dict[str, float], frames: dict[str, Array]) -> None:
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    values = pinocchio.neutral(model)
    for name, value in q.items():
        index = model.joints[model.getJointId(name)].idx_q
        values[index] = value
        assert (model.lowerPositionLimit[index], model.upperPositionLimit[index]) == tree.limits[name]
    for joint in fromstring(text).findall("joint[mimic]"):
        mimic = joint.find("mimic")
        assert mimic is not None
        index = model.joints[model.getJointId(joint.get("name", ""))].idx_q
        values[index] = float(mimic.get("multiplier", "")) * q[mimic.get("joint", "")]
    pinocchio.framesForwardKinematics(model, data, values)
    for name, expected in frames.items():
        assert np.abs(data.oMf[model.getBodyId(name)].homogeneous - expected).max() < 1e-9


def check_mujoco(text: str, tree: KinematicTree, q: dict[str, float], frames: dict[str, Array]) -> None:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for name, value in q.items():
        joint = model.joint(name)
        data.qpos[joint.qposadr[0]] = value
        assert tuple(joint.range) == tree.limits[name]
    for follower, leader, ratio in zip(model.eq_obj1id, model.eq_obj2id, model.eq_data[:, 1], strict=True):
        data.qpos[model.jnt_qposadr[follower]] = ratio * data.qpos[model.jnt_qposadr[leader]]
    mujoco.mj_kinematics(model, data)
    for name, expected in frames.items():
        body = data.body(name)
        assert np.abs(body.xpos - expected[:3, 3]).max() < 1e-9
        assert np.abs(body.xmat.reshape(3, 3) - expected[:3, :3]).max() < 1e-9


def check_sdf(text: str, tree: KinematicTree, q: dict[str, float], frames: dict[str, Array]) -> None:
    """Follow the poses of an SDF model by its own rules, since none of the other programs here reads SDF."""
    model = fromstring(text)[0]
    joints = {j.get("name"): j for j in model.findall("joint")}
    names = [e.get("name") for e in model]
    assert len(set(names)) == len(names)

    def pose_of(element: Element) -> tuple[Array, str | None]:
        pose = element.find("pose")
        assert pose is not None
        values = np.array((pose.text or "").split(), dtype=float)
        return frame(fixed_rpy(values[3:]), values[:3]), pose.get("relative_to")

    def joint_frame(name: str) -> Array:
        joint = joints[name]
        at, parent = pose_of(joint)
        before = np.eye(4)
        if parent != "root":
            (link,) = [e for e in model.findall("link") if e.get("name") == parent]
            offset, carrier = pose_of(link)
            assert np.array_equal(offset, np.eye(4))
            assert carrier is not None
            before = joint_frame(carrier)
        xyz = joint.findtext("axis/xyz")
        if xyz is None:
            return before @ at
        axis = np.array(xyz.split(), dtype=float)
        mimic = joint.find("axis/mimic")
        value = (
            q.get(name, 0.0) if mimic is None else float(mimic.findtext("multiplier") or 0) * q[mimic.get("joint", "")]
        )
        if joint.get("type") == "revolute":
            return before @ at @ frame(rotation_exp(value * axis))
        return before @ at @ frame(None, value * axis)

    for name, expected in frames.items():
        links = [e for e in model.findall("link") if e.get("name") == f"{name}_link"]
        assert np.abs(joint_frame(pose_of(links[0])[1] or "") - expected).max() < 1e-9
    for name in tree.joint_names:
        limit = joints[name].find("axis/limit")
        assert limit is not None
        assert (float(limit.findtext("lower") or "nan"), float(limit.findtext("upper") or "nan")) == tree.limits[name]


@pytest.mark.parametrize("block", range(4))
def test_random_trees_have_the_same_frames_and_limits_everywhere(block: int) -> None:
    for seed in range(block * TREES // 4, (block + 1) * TREES // 4):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng)
        q = random_q(rng, tree)
        frames = {name: tree.pose(name, q) for name in tree.nodes}
        urdf = render(tree, "urdf").text
        check_yourdfpy(urdf, tree, q, frames)
        check_pinocchio(urdf, tree, q, frames)
        check_mujoco(urdf, tree, q, frames)
        mjcf = render(tree, "mjcf").text
        check_mujoco(mjcf, tree, q, frames)
        check_sdf(render(tree, "sdf").text, tree, q, frames)


@pytest.mark.parametrize("seed", range(5))
def test_handles_may_become_joints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    q = random_q(rng, tree, tree.coordinate_names)
    frames = {name: tree.pose(name, q) for name in tree.nodes}
    check_pinocchio(render(tree, "urdf", handle_joints=True).text, tree, q, frames)
    check_mujoco(render(tree, "mjcf", handle_joints=True).text, tree, q, frames)
    check_sdf(render(tree, "sdf", handle_joints=True).text, tree, q, frames)


def test_what_a_format_cannot_say_is_listed() -> None:
    tree = door()
    lost = "\n".join(render(tree, "urdf").lost)
    for part in ("bar: the gripper's freedom", "covariances", "masses", "forces and speeds"):
        assert part in lost
    assert "gravity" in "\n".join(render(tree, "mjcf").lost)
    assert render(tree, "json").lost == ()
    assert "freedom" not in "\n".join(render(tree, "urdf", handle_joints=True).lost)


def test_joints_without_stops() -> None:
    tree = KinematicTree(
        "free",
        (
            Rotary(name="wheel", limits=((-np.inf, np.inf),)),
            Rotary(name="ratchet", limits=((0.0, np.inf),)),
            Prismatic(name="belt", limits=((-np.inf, np.inf),)),
        ),
    )
    urdf = render(tree, "urdf")
    robot = yourdfpy.URDF.load(io.StringIO(urdf.text), load_meshes=False)
    assert robot.joint_map["wheel"].type == "continuous"
    assert any("belt" in text for text in urdf.lost)
    assert any("ratchet" in text for text in urdf.lost)
    model = mujoco.MjModel.from_xml_string(render(tree, "mjcf").text)
    assert model.jnt_limited.tolist() == [False, True, False]
    locked = KinematicTree("locked", (Rotary(name="bolt", limits=((0.5, 0.5),)),))
    model = mujoco.MjModel.from_xml_string(render(locked, "mjcf").text)
    assert model.jnt_limited.all()
    assert model.jnt_range[0] == pytest.approx([0.5, 0.5])
    assert "lower" not in render(tree, "sdf").text.split('name="wheel"')[1].split("</joint>")[0]


def test_dynamics_are_exported_where_the_model_has_them() -> None:
    hinge = Rotary(name="hinge", limits=((0.0, 1.0),), extra={"dynamics": {"damping": 0.5, "friction": 2.0}})
    tree = KinematicTree("door", (hinge,))
    robot = yourdfpy.URDF.load(io.StringIO(render(tree, "urdf").text), load_meshes=False)
    assert float(robot.joint_map["hinge"].dynamics.damping) == 0.5
    assert float(robot.joint_map["hinge"].dynamics.friction) == 2.0
    model = mujoco.MjModel.from_xml_string(render(tree, "mjcf").text)
    assert model.dof_damping[0] == 0.5
    assert model.dof_frictionloss[0] == 2.0
    assert "<damping>0.5</damping>" in render(tree, "sdf").text


def test_names_that_xml_must_escape() -> None:
    tree = KinematicTree('a "door" & <window>', (Rotary(name="scharnier ö & <1>", limits=((0.0, 1.0),)),))
    robot = yourdfpy.URDF.load(io.StringIO(render(tree, "urdf").text), load_meshes=False)
    assert "scharnier ö & <1>" in robot.joint_map
    assert mujoco.MjModel.from_xml_string(render(tree, "mjcf").text).njnt == 1


def test_a_spec_to_attach_to_a_robot() -> None:
    spec = build_spec(door())
    assert {b.name for b in spec.bodies} >= {"root", "hinge", "lever", "bar"}
    assert spec.compile().njnt == 2


def test_json_is_the_model_itself() -> None:
    assert parse_model(render(door(), "json").text) == door()


def test_csv_has_the_gripper_frames() -> None:
    rows = list(csv.DictReader(io.StringIO(render(door(), "csv").text)))
    assert len(rows) == 50
    assert rows[0].keys() >= {"handle", "moved", "step", "x_m", "qw", "hinge_rad", "lever_rad"}
    last = rows[-1]
    assert float(last["hinge_rad"]) == 1.7
    expected = door().pose("bar", {"hinge": 1.7})[:3, 3]
    assert [float(last[k]) for k in ("x_m", "y_m", "z_m")] == pytest.approx(expected, abs=1e-15)


def test_what_cannot_be_exported_is_said() -> None:
    with pytest.raises(ModelError, match="urdf, mjcf, sdf, json, csv"):
        render(door(), "step")
    broken = KinematicTree("x", (Rotary(name="a", parent="b", limits=((0.0, 1.0),)),))
    for to in FORMATS:
        if to in ("urdf", "mjcf", "sdf"):
            with pytest.raises(ModelError, match="'b' does not exist"):
                render(broken, to)
    with pytest.raises(ModelError, match="no handle"):
        render(KinematicTree("x"), "csv")
    with pytest.raises(ModelError, match="world"):
        render(KinematicTree("x", (Rotary(name="world", limits=((0.0, 1.0),)),)), "mjcf")


def test_random_trees_have_every_type() -> None:
    kinds: set[str] = set()
    depth = 0
    for seed in range(TREES // 4):
        tree = random_tree(np.random.default_rng(seed))
        kinds |= {n.kind for n in tree.nodes.values()}
        depth = max(depth, *(len([n for n in tree.path(f) if isinstance(n, Joint)]) for f in tree.nodes))
        assert all(isinstance(h, Handle) for h in tree.handles)
    assert kinds >= {"rotary", "prismatic", "fixed", "handle0", "handle1", "handle2"}
    assert depth == 8
