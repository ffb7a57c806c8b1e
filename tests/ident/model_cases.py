"""Trees for tests: random ones of every joint and handle type, and a door with uncertainty."""

from dataclasses import replace

import numpy as np

from fitting.se3 import Array, complete_axis, exp, frame
from ident.handles import Handle, Handle2, handle_types
from ident.joints import Evidence, Joint, Rotary, joint_types
from ident.joints.node import Node
from ident.tree import KinematicTree


def random_frame(rng: np.random.Generator) -> Array:
    """A frame within about a metre, in any orientation; now and then at gimbal lock or at the identity."""
    twist = np.concatenate([rng.uniform(-1, 1, 3), rng.normal(size=3) * rng.choice([0.1, 3.0])])
    f = exp(twist)
    special = rng.random()
    if special < 0.1:
        f[:3, :3] = complete_axis([1.0, 0.0, 0.0], [0.0, 0.0, rng.choice([-1.0, 1.0])])
    elif special < 0.15:
        f[:3, :3] = np.eye(3)
    return f


def random_limits(rng: np.random.Generator, node: type[Node]) -> tuple[tuple[float, float], ...]:
    pairs = []
    for c in node.coordinates:
        span = rng.uniform(0.05, 0.6) if c.unit == "m" else rng.uniform(0.2, 3.0)
        low = 0.0 if rng.random() < 0.7 else -rng.uniform(0.0, span)
        pairs.append((float(low), float(low + span)))
    return tuple(pairs)


def random_evidence(rng: np.random.Generator, axis: Array, point: Array) -> Evidence:
    basis = complete_axis(axis)[:, :2].T
    half = rng.normal(size=(4, 4)) * np.array([2e-3, 2e-3, 1e-3, 1e-3])[:, None]
    covariance = half @ half.T
    return Evidence(
        method="fit_rotary",
        samples=1200,
        inliers=int(rng.integers(600, 1201)),
        rms=float(rng.uniform(1e-4, 1e-3)),
        noise=float(rng.uniform(1e-4, 1e-3)),
        axis_std=float(np.sqrt(covariance[0, 0] + covariance[1, 1])),
        position_std=float(np.sqrt(covariance[2, 2] + covariance[3, 3])),
        point=point + 0.1 * axis,
        basis=basis,
        covariance=covariance,
        grip="rigid",
        source={"session": "a.mcap", "takes": ["1"]},
    )


def random_tree(rng: np.random.Generator, *, depth: int = 8, nodes: int = 14, coupled: bool = True) -> KinematicTree:
    """A tree of all joint and handle types, at most ``depth`` joints deep.

    Without ``coupled``, types whose motions depend on each other are left out.
    """
    depth_of = {"root": 0}
    joints: list[Joint] = []
    handles: list[Handle] = []
    for i in range(nodes):
        open_parents = [n for n, d in depth_of.items() if d < depth]
        # The newest parents are likelier, so that trees get deep.
        parent = open_parents[-1] if rng.random() < 0.6 else str(rng.choice(open_parents))
        is_handle = rng.random() < 0.25
        types = [
            t
            for t in (handle_types() if is_handle else joint_types()).values()
            if coupled or len(t.example().primitives()) == len(t.coordinates)
        ]
        cls = types[int(rng.integers(len(types)))]
        node = replace(
            cls.example(),
            name=f"{cls.kind}_{i}",
            parent=parent,
            origin=random_frame(rng),
            limits=random_limits(rng, cls),
        )
        if isinstance(node, Joint) and rng.random() < 0.3:
            node = replace(node, child=random_frame(rng))
        if rng.random() < 0.5:
            node = replace(node, evidence=random_evidence(rng, node.axis, node.point))
        if isinstance(node, Joint):
            joints.append(node)
            depth_of[node.name] = depth_of[parent] + 1
        else:
            handles.append(node)  # type: ignore[arg-type]
    return KinematicTree(f"random {rng.integers(1000)}", tuple(joints), tuple(handles))


def random_q(rng: np.random.Generator, tree: KinematicTree, names: tuple[str, ...] | None = None) -> dict[str, float]:
    names = tree.joint_names if names is None else names
    return {n: float(rng.uniform(*tree.limits[n])) for n in names}


def door() -> KinematicTree:
    """A door with its lever and a bar to pull, as an identification would leave it."""
    hinge = Rotary(name="hinge", origin=frame(None, [0.0, 0.0, 1.0]), limits=((0.0, 1.7),), radius_m=0.75)
    hinge = replace(hinge, evidence=random_evidence(np.random.default_rng(1), hinge.axis, hinge.point))
    lever = Rotary(
        name="lever",
        parent="hinge",
        origin=frame(complete_axis([0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]), [0.72, 0.05, 0.0]),
        limits=((0.0, 0.35),),
        radius_m=0.11,
    )
    bar = Handle2(
        name="bar",
        parent="hinge",
        origin=frame(complete_axis([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]), [0.75, 0.06, -0.2]),
        limits=((0.0, 1.0), (0.0, 0.25)),
        radius_m=0.015,
    )
    return KinematicTree("door", (hinge, lever), (bar,), provenance={"session": "door.mcap"})
