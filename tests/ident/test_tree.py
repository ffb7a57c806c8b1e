import numpy as np
import pytest
from model_cases import door, random_q, random_tree

from fitting.se3 import exp, rotation_log
from ident.handles import Handle0
from ident.joints import Prismatic, Rotary
from ident.joints.problems import ModelError, OutOfLimitsError
from ident.tree import KinematicTree


@pytest.mark.parametrize("seed", range(20))
def test_pose_is_the_product_of_the_nodes_on_the_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    q = random_q(rng, tree, tree.coordinate_names)
    for name in tree.nodes:
        expected = np.eye(4)
        for node in tree.path(name):
            values = [np.array(q[c]) for c in node.coordinate_names]
            expected = expected @ (node.pose(node.pack(values)) if node.dof else node.pose())
        assert np.abs(tree.pose(name, q) - expected).max() < 1e-12


def test_many_configurations_at_once_equal_one_at_a_time() -> None:
    rng = np.random.default_rng(3)
    tree = random_tree(rng)
    configurations = [random_q(rng, tree) for _ in range(1100)]
    arrays = {n: np.array([c[n] for c in configurations]) for n in tree.joint_names}
    for name in tree.nodes:
        many = tree.pose(name, arrays)
        assert many.shape == (1100, 4, 4)
        for i in (0, 1023, 1024, 1099):
            assert np.abs(many[i] - tree.pose(name, configurations[i])).max() < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_jacobian_agrees_with_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    q = random_q(rng, tree, tree.coordinate_names)
    h = 1e-6
    for name in tree.nodes:
        jacobian = tree.jacobian(name, q, columns=tree.coordinate_names)
        assert tree.jacobian(name, q).shape == (6, len(tree.joint_names))
        for i, c in enumerate(tree.coordinate_names):
            a = tree.pose(name, {**q, c: q[c] + h}, check_limits=False)
            b = tree.pose(name, {**q, c: q[c] - h}, check_limits=False)
            turn = rotation_log(a[:3, :3] @ b[:3, :3].T)
            difference = np.concatenate([a[:3, 3] - b[:3, 3], turn]) / (2 * h)
            assert np.abs(difference - jacobian[:, i]).max() < 1e-6


def test_jacobian_of_many_configurations() -> None:
    tree = door()
    q = np.linspace(0.0, 1.7, 9)
    many = tree.jacobian("bar", {"hinge": q})
    assert many.shape == (9, 6, 2)
    assert np.allclose(many[4], tree.jacobian("bar", {"hinge": q[4]}))


@pytest.mark.parametrize("seed", range(12))
def test_coordinates_give_q_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hinge = Rotary(name="hinge", origin=exp(rng.normal(size=6)), limits=((0.0, 1.9),), radius_m=0.4)
    drawer = Prismatic(name="drawer", parent="hinge", origin=exp(rng.normal(size=6)), limits=((0.0, 0.4),))
    flap = Rotary(name="flap", parent="drawer", origin=exp(rng.normal(size=6)), limits=((-0.5, 1.2),))
    knob = Handle0(name="knob", parent="flap", origin=exp(rng.normal(size=6)))
    tree = KinematicTree("chain", (hinge, drawer, flap), (knob,))
    q = random_q(rng, tree)
    found, residual = tree.coordinates("knob", tree.pose("knob", q))
    assert residual < 1e-6
    assert found.keys() == q.keys()
    assert max(abs(found[n] - q[n]) for n in q) < 1e-8


def test_coordinates_use_the_freedom_of_the_handle() -> None:
    tree = door()
    q = {"hinge": 0.8, "bar.turn": 0.4, "bar.slide": 0.1}
    found = tree.coordinates("bar", tree.pose("bar", q))
    assert {n: pytest.approx(v, abs=1e-8) for n, v in q.items()} == found.q


def test_coordinates_stay_within_limits_and_say_what_is_left() -> None:
    tree = door()
    beyond = tree.pose("bar", {"hinge": 1.9}, check_limits=False)
    found = tree.coordinates("bar", beyond)
    assert found.q["hinge"] <= 1.7
    assert found.q["hinge"] == pytest.approx(1.7, abs=0.05)
    assert found.residual > 1.0
    assert 0.1 < found.position_error < 0.3


def test_coordinates_at_a_limit_are_exact() -> None:
    tree = door()
    for q in (0.0, 1.7):
        assert tree.coordinates("lever", tree.pose("lever", {"hinge": q, "lever": 0.0})).q == pytest.approx(
            {"hinge": q, "lever": 0.0}, abs=1e-8
        )


def test_coordinates_refuse_what_is_no_pose() -> None:
    for pose in (np.eye(3), 2 * np.eye(4), np.full((4, 4), np.nan)):
        with pytest.raises(ModelError, match="4×4"):
            door().coordinates("bar", pose)


def test_gripper_path_opens_the_door() -> None:
    tree = door()
    path = tree.gripper_path("bar", {"hinge": (0.0, 1.2)}, steps=30)
    assert path.shape == (30, 4, 4)
    assert np.allclose(path[0], tree.pose("bar", {}))
    assert np.allclose(path[-1], tree.pose("bar", {"hinge": 1.2}))
    radius = np.hypot(path[:, 0, 3], path[:, 1, 3])
    assert np.ptp(radius) < 1e-12
    with pytest.raises(OutOfLimitsError, match="hinge"):
        tree.gripper_path("bar", {"hinge": (0.0, 2.0)})


def test_out_of_limits_is_an_error_that_names_every_joint() -> None:
    tree = door()
    with pytest.raises(OutOfLimitsError) as caught:
        tree.pose("lever", {"hinge": 1.8, "lever": -0.1})
    assert {p.place for p in caught.value.problems} == {"hinge", "lever"}
    assert "1.8" in str(caught.value)
    with pytest.raises(OutOfLimitsError):
        tree.pose("lever", {"hinge": np.array([0.0, 5.0])})
    with pytest.raises(OutOfLimitsError):
        tree.pose("lever", {"hinge": float("nan")})
    assert tree.pose("lever", {"hinge": 1.8}, check_limits=False).shape == (4, 4)
    assert tree.pose("bar", {"hinge": 1.7 + 1e-12}).shape == (4, 4)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    tree = door()
    with pytest.raises(ModelError, match="hinge, lever, bar"):
        tree.pose("knob")
    with pytest.raises(ModelError, match=r"hinge, lever, bar\.turn, bar\.slide"):
        tree.pose("bar", {"door": 0.1})


def test_arrays_of_different_lengths_are_refused() -> None:
    for hinge, lever in ((np.zeros(3), np.zeros(4)), (np.zeros((2, 2)), 0.0)):
        with pytest.raises(ModelError, match="one length"):
            door().pose("lever", {"hinge": hinge, "lever": lever})


def test_root_is_a_frame() -> None:
    assert np.array_equal(door().pose("root"), np.eye(4))
    assert np.array_equal(door().uncertainty("root"), np.zeros((6, 6)))


def test_with_node_adds_or_replaces() -> None:
    tree = door()
    flap = Rotary(name="flap", limits=((0.0, 1.0),))
    assert tree.with_node(flap).joint_names == ("hinge", "lever", "flap")
    shorter = tree.with_node(Rotary(name="hinge", limits=((0.0, 1.0),)))
    assert shorter.joint_names == ("hinge", "lever")
    assert shorter.limits["hinge"] == (0.0, 1.0)
    assert tree.limits["hinge"] == (0.0, 1.7)
    with_handle = tree.with_node(Handle0(name="lever", parent="hinge"))
    assert with_handle.joint_names == ("hinge",)


def test_validate_lists_every_problem() -> None:
    tree = KinematicTree(
        "broken",
        (
            Rotary(name="a", parent="b", limits=((1.0, 0.0),)),
            Rotary(name="b", parent="a", limits=((0.0, float("nan")),)),
            Rotary(name="c", parent="nowhere", origin=np.diag([1.0, 1.0, 0.0, 1.0]), limits=((0.0, 1.0),)),
            Rotary(name="c", parent="knob", limits=((0.0, 1.0),)),
            Rotary(name="root", limits=((0.0, 1.0),)),
        ),
        (Handle0(name="knob", radius_m=-1.0),),
    )
    text = "\n".join(map(str, tree.validate()))
    for part in (
        "upside down",
        "not numbers",
        "a → b → a",
        "is a handle",
        "2 joints",
        "not a rotation",
        "radius",
        "root",
    ):
        assert part in text
    with pytest.raises(ModelError, match="on itself"):
        tree.pose("a")
    assert door().validate() == []
