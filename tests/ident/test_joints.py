"""One contract for every joint and handle type: simulate, fit, recover, save, load, export, reload."""

import io
from dataclasses import replace

import numpy as np
import pytest
import yourdfpy

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, exp, frame, rotation_log, rotation_z
from ident.export import render_urdf
from ident.handles import Handle, Handle1, Handle2, handle_types
from ident.joints import Fixed, Joint, Prismatic, Rotary, joint_types
from ident.joints.ends import direction, ends
from ident.joints.node import Node
from ident.model import model_text, parse_model
from ident.tree import KinematicTree

TYPES: list[type[Node]] = [*joint_types().values(), *handle_types().values()]


def between(node: Node, share: float) -> Array:
    return node.pack([np.asarray(lo + share * (hi - lo)) for lo, hi in node.limits]) if node.dof else np.zeros(0)


def tree_of(node: Node) -> KinematicTree:
    return KinematicTree("one").with_node(node)  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", TYPES)
def test_coordinate_is_the_inverse_of_pose(cls: type[Node]) -> None:
    node = cls.example()
    for child in (np.eye(4), exp([0.1, 0.2, 0.0, 0.3, 0.4, -0.2])):
        node = replace(node, child=child) if isinstance(node, Joint) else node
        for share in (0.0, 0.3, 1.0):
            q = between(node, share)
            assert np.abs(node.coordinate(node.pose(q)) - q).max(initial=0.0) < 1e-12
        many = np.stack([between(node, s) for s in (0.1, 0.5)])
        assert node.pose(many).shape == (2, 4, 4) if node.dof else (4, 4)


@pytest.mark.parametrize("cls", TYPES)
def test_jacobian_agrees_with_finite_differences(cls: type[Node]) -> None:
    node = cls.example()
    q, h = between(node, 0.4), 1e-6
    jacobian = node.jacobian(q)
    assert jacobian.shape == (6, node.dof)
    for i in range(node.dof):
        step = np.zeros(node.dof)
        step[i] = h
        step = step[0] if node.dof == 1 else step
        a, b = node.pose(q + step), node.pose(q - step)
        turn = rotation_log(a[:3, :3] @ b[:3, :3].T)
        assert np.concatenate([a[:3, 3] - b[:3, 3], turn]) / (2 * h) == pytest.approx(jacobian[:, i], abs=1e-8)


@pytest.mark.parametrize("cls", TYPES)
def test_simulate_fit_recover_save_load_export_reload(cls: type[Node]) -> None:
    rng = np.random.default_rng(5)
    truth = cls.example()
    takes = [truth.simulate(rng) for _ in range(2)]
    fitted = cls.fit(takes, name=truth.name, parent=truth.parent, rng=rng)
    assert not isinstance(fitted, FitFailure), fitted
    recovered(fitted, truth)
    assert fitted.evidence is not None
    assert 0.5 * 1200 < fitted.evidence.inliers <= fitted.evidence.samples == 1200
    assert fitted.covariance().any()
    assert fitted.trace(takes).shape == (1200,) if fitted.dof == 1 else (1200, fitted.dof)

    tree = tree_of(fitted)
    assert parse_model(model_text(tree)) == tree
    again = yourdfpy.URDF.load(io.StringIO(render_urdf(tree).text), load_meshes=False)
    moving = isinstance(fitted, Joint) and fitted.dof
    q = {fitted.name: 0.5 * (fitted.limits[0][0] + fitted.limits[0][1])} if moving else {}
    again.update_cfg(q)
    assert again.get_transform(fitted.name, "root") == pytest.approx(tree.pose(fitted.name, q), abs=1e-9)


def recovered(fitted: Node, truth: Node) -> None:
    angle = np.degrees(np.arccos(min(1.0, float(fitted.axis @ truth.axis))))
    across = (fitted.point - truth.point) - ((fitted.point - truth.point) @ truth.axis) * truth.axis
    assert angle < 0.2
    assert np.linalg.norm(across) < 0.001
    for (low, high), (true_low, true_high), c in zip(fitted.limits, truth.limits, fitted.coordinates, strict=True):
        tolerance = 0.002 if c.unit == "m" else 0.02
        assert low == 0.0
        assert high - low == pytest.approx(true_high - true_low, abs=tolerance)
    for share in (0.0, 0.5, 1.0):
        error = np.linalg.inv(truth.pose(between(truth, share))) @ fitted.pose(between(fitted, share))
        assert np.linalg.norm(error[:3, 3]) < 0.005
        assert np.linalg.norm(rotation_log(error[:3, :3])) < 0.03


@pytest.mark.parametrize("cls", TYPES)
def test_texts_for_the_operator(cls: type[Node]) -> None:
    assert "{name}" in cls.prompt
    assert cls.title
    assert cls.kind == cls.kind.lower()


@pytest.mark.parametrize("cls", [t for t in TYPES if t.coordinates])
def test_with_limits_moves_the_zero_to_the_lower_one(cls: type[Node]) -> None:
    node = cls.example()
    new = [(lo + 0.25 * (hi - lo), hi) for lo, hi in node.limits]
    moved = node.with_limits(*new) if node.dof > 1 else node.with_limits(*new[0])
    assert [lo for lo, _ in moved.limits] == [0.0] * node.dof
    assert moved.pose(between(moved, 0.0)) == pytest.approx(node.pose(between(node, 0.25)), abs=1e-12)
    assert moved.pose(between(moved, 1.0)) == pytest.approx(node.pose(between(node, 1.0)), abs=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_movement_away_from_the_start_is_positive(backwards: bool) -> None:
    rng = np.random.default_rng(2)
    for truth in (Rotary.example(), Prismatic.example()):
        take = truth.simulate(rng)
        take = take[::-1] if backwards else take
        fitted = type(truth).fit([take], name="x", parent="root", rng=rng)
        assert not isinstance(fitted, FitFailure)
        assert fitted.axis @ truth.axis == pytest.approx(-1.0 if backwards else 1.0, abs=1e-4)
        q = fitted.trace([take])
        assert np.median(q[:20]) == pytest.approx(0.0, abs=0.005)
        assert np.median(q[-20:]) == pytest.approx(fitted.upper, abs=0.005)


def test_a_take_that_returns_to_its_start() -> None:
    rng = np.random.default_rng(2)
    truth = Prismatic.example()
    there = truth.simulate(rng)
    fitted = Prismatic.fit([np.concatenate([there, there[::-1]])], name="x", parent="root", rng=rng)
    assert not isinstance(fitted, FitFailure)
    assert fitted.upper == pytest.approx(truth.upper, abs=0.002)
    assert fitted.axis @ truth.axis > 0.999


def test_a_lever_gripped_on_its_axis_takes_its_zero_from_the_gripper() -> None:
    rng = np.random.default_rng(3)
    lever = Rotary(name="lever", origin=Rotary.example().origin, limits=((0.0, 0.35),))
    for tilt in (0.0, np.pi / 2, np.pi):
        grip = exp([0.0, 0.0, 0.0, tilt, 0.0, 0.0])
        take = lever.simulate(rng) @ grip
        fitted = Rotary.fit([take], name="lever", parent="root", rng=rng)
        assert not isinstance(fitted, FitFailure)
        assert fitted.radius_m == 0.0
        assert fitted.upper == pytest.approx(0.35, abs=0.01)
        assert np.median(fitted.trace([take])[:50]) == pytest.approx(0.0, abs=0.01)
        assert np.median(fitted.trace([take])[-50:]) == pytest.approx(0.35, abs=0.01)


def test_takes_with_different_grips_share_the_axis() -> None:
    rng = np.random.default_rng(4)
    hinge = Rotary.example()
    takes = [hinge.simulate(rng), frame(None, [0, 0, 0.0]) @ replace(hinge, radius_m=0.2).simulate(rng)]
    turned = replace(hinge, origin=hinge.origin @ frame(rotation_z(0.4)), radius_m=0.3)
    takes.append(turned.simulate(rng))
    fitted = Rotary.fit(takes, name="hinge", parent="root", rng=rng)
    assert not isinstance(fitted, FitFailure)
    assert fitted.upper == pytest.approx(hinge.upper, abs=0.01)
    assert fitted.origin[:3, 0] == pytest.approx(hinge.origin[:3, 0], abs=0.01)


def test_resting_at_the_end_is_not_thrown_away() -> None:
    rng = np.random.default_rng(6)
    hinge = Rotary.example()
    there = hinge.simulate(rng)
    rests = np.repeat(there[-1:], 3 * len(there), axis=0)
    rests[:, :3, 3] += 5e-4 * rng.standard_normal((len(rests), 3))
    fitted = Rotary.fit([np.concatenate([there, rests])], name="hinge", parent="root", rng=rng)
    assert not isinstance(fitted, FitFailure)
    assert fitted.evidence is not None
    assert fitted.evidence.inliers > 0.9 * fitted.evidence.samples


def test_handle_frames_are_gripper_frames() -> None:
    rng = np.random.default_rng(4)
    for truth in (Handle1.example(), Handle2.example()):
        upside_down = replace(truth, origin=truth.origin @ exp([0, 0, 0, np.pi, 0, 0]))
        for handle in (truth, upside_down):
            fitted = type(truth).fit([handle.simulate(rng)], name="h", parent="root", rng=rng, radius_m=0.02)
            assert not isinstance(fitted, FitFailure)
            assert isinstance(fitted, Handle)
            assert fitted.radius_m == 0.02
            assert fitted.axis @ handle.axis > 0.999


def test_data_that_say_nothing_fail_with_a_reason() -> None:
    still = np.repeat(np.eye(4)[None], 300, axis=0)
    for cls in (Rotary, Prismatic, Handle2):
        failure = cls.fit([still], name="x", parent="root")
        assert isinstance(failure, FitFailure)
        assert len(failure.reason) > 10


def test_ends_are_the_plateaus_not_the_extremes() -> None:
    rng = np.random.default_rng(0)
    s = np.clip(np.linspace(-0.2, 1.2, 1200), 0, 1)
    values = 0.5 * s + 0.002 * rng.normal(size=1200)
    found = ends(values)
    assert found.lower == pytest.approx(0.0, abs=0.001)
    assert found.upper == pytest.approx(0.5, abs=0.001)
    assert direction([values]) == 1.0
    assert direction([values[::-1]]) == -1.0
    assert ends(np.linspace(0, 1, 500)).range == pytest.approx(1.0, abs=0.01)


def test_frames_are_exact_and_read_only() -> None:
    joint = Fixed(name="x", origin=frame(complete_axis([1.0, 2.0, 3.0])))
    with pytest.raises(ValueError, match="read-only"):
        joint.origin[0, 0] = 2.0
    assert replace(joint) == joint
    with pytest.raises(ValueError, match="4×4"):
        Fixed(name="x", origin=np.eye(3))
    with pytest.raises(ValueError, match="limits"):
        Rotary(name="x")


@pytest.mark.parametrize("truth", [Rotary.example(), Prismatic.example()])
def test_limits_stand_gross_outliers_and_stops_that_give_way(truth: Joint) -> None:
    rng = np.random.default_rng(6)
    take = truth.simulate(rng, samples=1000)
    wild = rng.random(len(take)) < 0.3
    take[wild, :3, 3] += rng.uniform(-0.1, 0.1, (wild.sum(), 3))
    # Near the upper stop the part bends aside: no evidence of the axis, but of where the movement ends.
    aside = np.cross(truth.axis, [0.3, 0.5, 0.8])
    take[-130:, :3, 3] += 0.006 * aside / np.linalg.norm(aside)
    fitted = type(truth).fit([take], name="x", parent="root", rng=rng)
    assert not isinstance(fitted, FitFailure)
    assert fitted.upper == pytest.approx(truth.upper, rel=0.02)
