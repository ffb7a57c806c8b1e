"""CSV: gripper frames that move the joints, one row each, for a robot that only follows a trajectory."""

import csv
import io
from collections.abc import Mapping

import numpy as np

from fitting.se3 import quaternion_from_rotation
from ident.export.links import Rendered
from ident.joints.problems import ModelError
from ident.tree import KinematicTree

Moves = Mapping[str, tuple[float, float]]


def render(
    tree: KinematicTree,
    *,
    handle_joints: bool = False,
    handle: str | None = None,
    move: Moves | None = None,
    steps: int = 50,
) -> Rendered:
    """Write gripper paths as a table: position in metres, quaternion xyzw, joint coordinates in radians and metres.

    Without ``handle`` every handle has its paths; without ``move``, each joint on the way to it is taken from its lower
    to its upper limit while the others stay at 0.
    """
    del handle_joints
    handles = [handle] if handle is not None else [h.name for h in tree.handles]
    if not handles:
        raise ModelError(f"{tree.name} has no handle, so there is no gripper path. Name a joint's frame with --handle.")
    units = {c: k.unit for n in tree.nodes.values() for c, k in zip(n.coordinate_names, n.coordinates, strict=True)}
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    joints = [f"{name}_{units[name]}" for name in tree.joint_names]
    writer.writerow(["handle", "moved", "step", "x_m", "y_m", "z_m", "qx", "qy", "qz", "qw", *joints])
    skipped: list[str] = []
    for name in handles:
        for moves in [move] if move is not None else _each_joint(tree, name, skipped):
            poses = tree.gripper_path(name, moves, steps=steps)
            quaternions = quaternion_from_rotation(poses[:, :3, :3])
            for i in range(steps):
                q = [a + (b - a) * i / (steps - 1) for a, b in (moves.get(n, (0.0, 0.0)) for n in tree.joint_names)]
                numbers = [*poses[i, :3, 3], *quaternions[i], *q]
                writer.writerow([name, "+".join(moves), i, *(repr(float(v)) for v in numbers)])
    lost = ["the tree itself: joints, axes, limits, uncertainty; these are only the gripper's frames", *skipped]
    return Rendered(table.getvalue(), tuple(lost))


def _each_joint(tree: KinematicTree, handle: str, skipped: list[str]) -> list[Moves]:
    found: list[Moves] = []
    for node in tree.path(handle):
        for name in set(node.coordinate_names) & set(tree.joint_names):
            if np.isfinite(tree.limits[name]).all():
                found.append({name: tree.limits[name]})
            else:
                skipped.append(f"{name}: no path, because it has no stops; say how far with --move")
    return found
