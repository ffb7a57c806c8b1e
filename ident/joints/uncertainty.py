"""How the uncertainty of every joint on the way adds up in one frame."""

from collections.abc import Mapping, Sequence

import numpy as np

from fitting.se3 import Array, skew
from ident.joints.node import Node


def frame_covariance(nodes: Sequence[Node], q: Mapping[str, float]) -> Array:
    """Covariance (6, 6) of the error twist ``[v, ω]`` of the last node's frame at q, in root axes, first
    order.

    Each node's origin has its own error. A node that was measured while its ancestors stood at known
    coordinates was measured against the room: there, their errors do not move it, so its own frame
    compensates for them (``Evidence.measured_at``).
    """
    maps = _error_maps(nodes)
    total = _map_to_end(nodes, maps, q)
    result = np.zeros((6, 6))
    for i, node in enumerate(nodes):
        block = total[:, 6 * i : 6 * i + 6]
        result += block @ node.covariance() @ block.T
    return result


def _error_maps(nodes: Sequence[Node]) -> list[Array]:
    """For each node, the (6, 6·m) map from all m nodes' own errors to its origin's error twist, in parent axes."""
    maps: list[Array] = []
    for i, node in enumerate(nodes):
        own = np.zeros((6, 6 * len(nodes)))
        own[:, 6 * i : 6 * i + 6] = np.eye(6)
        measured_at = node.evidence.measured_at if node.evidence is not None else {}
        if i and measured_at:
            before = nodes[:i]
            link2root = _link_poses(before, measured_at)[-1]
            error = _map_to_end(before, maps, measured_at)
            # The same error at the node's origin instead of the link's, seen from the link.
            back = link2root[:3, :3].T
            moved = np.zeros((6, 6))
            moved[:3, :3] = moved[3:, 3:] = back
            moved[:3, 3:] = -skew(node.point) @ back
            own -= moved @ error
        maps.append(own)
    return maps


def _map_to_end(nodes: Sequence[Node], maps: Sequence[Array], q: Mapping[str, float]) -> Array:
    """(6, 6·m) map from all nodes' own errors to the error twist of the last node's frame, in root axes."""
    links = _link_poses(nodes, q)
    end = links[-1][:3, 3]
    total = np.zeros_like(maps[0])
    parent2root = np.eye(4)
    for node, own, link in zip(nodes, maps, links, strict=False):
        turn = parent2root[:3, :3]
        arm = end - (parent2root @ node.origin)[:3, 3]
        carry = np.zeros((6, 6))
        carry[:3, :3] = carry[3:, 3:] = turn
        carry[:3, 3:] = -skew(arm) @ turn
        total += carry @ own
        parent2root = link
    return total


def _link_poses(nodes: Sequence[Node], q: Mapping[str, float]) -> list[Array]:
    poses, at = [], np.eye(4)
    for node in nodes:
        values = [np.asarray(q.get(name, 0.0), dtype=float) for name in node.coordinate_names]
        at = at @ (node.pose(node.pack(values)) if node.dof else node.pose())
        poses.append(at)
    return poses
