"""First-order covariances of frames against sampled joint errors."""

from dataclasses import replace

import numpy as np
import pytest
from model_cases import random_evidence, random_frame

from fitting.se3 import Array, exp, frame, inverse, rotation_log
from ident.handles import Handle2
from ident.joints import Joint, Prismatic, Rotary
from ident.joints.node import Node
from ident.tree import KinematicTree


def chain(rng: np.random.Generator) -> KinematicTree:
    joints: list[Joint] = [
        Rotary(name="hinge", origin=random_frame(rng), limits=((0.0, 1.5),)),
        Prismatic(name="drawer", parent="hinge", origin=random_frame(rng), limits=((0.0, 0.4),)),
        Rotary(name="flap", parent="drawer", origin=random_frame(rng), limits=((0.0, 1.5),)),
    ]
    bar = Handle2(name="bar", parent="flap", origin=random_frame(rng), limits=((0.0, 1.0), (0.0, 0.2)))
    nodes = [replace(n, evidence=random_evidence(rng, n.axis, n.point)) for n in (*joints, bar)]
    return KinematicTree("chain", tuple(nodes[:3]), (nodes[3],))  # type: ignore[arg-type]


def disturbed(node: Node, rng: np.random.Generator) -> Array:
    """The node's origin with its axis tilted and shifted as its covariance says."""
    evidence = node.evidence
    assert evidence is not None
    assert evidence.basis is not None
    assert evidence.covariance is not None
    tilt0, tilt1, shift0, shift1 = rng.multivariate_normal(np.zeros(4), evidence.covariance)
    b0, b1 = evidence.basis
    rotation = np.cross(np.cross(b0, b1), tilt0 * b0 + tilt1 * b1)
    turn = exp(np.concatenate([np.zeros(3), rotation]))
    about = frame(None, evidence.point)
    return frame(None, shift0 * b0 + shift1 * b1) @ about @ turn @ inverse(about) @ node.origin


def sampled(tree: KinematicTree, q: dict[str, float], measured_at: dict[str, float] | None, runs: int) -> Array:
    """Covariance of the handle's pose when every joint is measured with an error.

    With ``measured_at``, the measurement of a child is made in the room while its ancestors stand there, and its
    frame on its parent follows from the ancestors as they were identified, errors included.
    """
    rng = np.random.default_rng(0)
    true = tree.pose("bar", q)
    errors = []
    for _ in range(runs):
        changed: list[Node] = []
        believed = KinematicTree("believed")
        for node in tree.path("bar"):
            origin = disturbed(node, rng)
            if measured_at is not None:
                at = {n: v for n, v in measured_at.items() if n in believed.joint_names}
                parent_true = tree.pose(node.parent, at)
                origin = inverse(believed.pose(node.parent, at)) @ parent_true @ origin
            changed.append(replace(node, origin=origin))
            believed = believed.with_node(changed[-1])  # type: ignore[arg-type]
        now = believed.pose("bar", q)
        errors.append(np.concatenate([now[:3, 3] - true[:3, 3], rotation_log(now[:3, :3] @ true[:3, :3].T)]))
    return np.cov(np.array(errors).T)


@pytest.mark.parametrize("in_the_room", [False, True])
def test_uncertainty_agrees_with_monte_carlo(in_the_room: bool) -> None:
    tree = chain(np.random.default_rng(1))
    q = {"hinge": 1.1, "drawer": 0.3, "flap": 0.9}
    measured_at = {"hinge": 0.2, "drawer": 0.1, "flap": 0.0} if in_the_room else None
    if measured_at is not None:
        for node in tree.path("bar"):
            above = {n.name: measured_at[n.name] for n in tree.path(node.parent)}
            tree = tree.with_node(node.with_evidence(measured_at=above))  # type: ignore[arg-type]
    predicted = tree.uncertainty("bar", q)
    observed = sampled(tree, q, measured_at, 700)
    # Compared in the directions of the predicted covariance, so that no large component hides a small one.
    values, vectors = np.linalg.eigh(predicted)
    seen = vectors.T @ observed @ vectors
    solid = values > 1e-3 * values.max()
    assert np.sqrt(np.diag(seen)[solid] / values[solid]) == pytest.approx(1.0, rel=0.1)


def test_where_it_was_measured_only_its_own_error_remains() -> None:
    tree = chain(np.random.default_rng(4))
    at = {"hinge": 0.4, "drawer": 0.2, "flap": 0.7}
    for node in tree.path("bar"):
        above = {n.name: at[n.name] for n in tree.path(node.parent)}
        tree = tree.with_node(node.with_evidence(measured_at=above))  # type: ignore[arg-type]
    own = tree["bar"].covariance()
    turn = tree.pose("flap", at)[:3, :3]
    rotate = np.kron(np.eye(2), turn)
    assert np.allclose(tree.uncertainty("bar", at), rotate @ own @ rotate.T, atol=1e-15)
