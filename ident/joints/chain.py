"""The way from the root to one frame, folded into constant frames and elementary motions, for speed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fitting.se3 import Array, frame
from ident.joints.node import Node
from ident.joints.problems import NotPrimitiveError

_BLOCK = 1024
"""Configurations worked on at a time: their frames stay in the processor's second-level cache."""


@dataclass(frozen=True)
class Step:
    """A constant frame, then a motion about its z-axis."""

    constant: Array
    """(4, 4), relative to what came before."""
    column: int
    """Which coordinate of the chain drives it."""
    turn: bool
    ratio: float
    node: Node | None = None
    """Set for a joint that cannot be said in turns and slides: it is asked for its own motion."""
    columns: tuple[int, ...] = ()


class Chain:
    """Forward kinematics of the nodes from the root to one frame; configurations are (n, len(names))."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.names: tuple[str, ...] = tuple(c for node in nodes for c in node.coordinate_names)
        self.limits = np.array([pair for node in nodes for pair in node.limits], dtype=float).reshape(-1, 2)
        self.steps, self.last = _fold(nodes)
        self._single = None if any(s.node for s in self.steps) else _Single(self.steps, self.last)

    def pose(self, q: Array) -> Array:
        """Frame (4, 4) at one configuration (len(names),)."""
        return self.poses(q[None])[0] if self._single is None else self._single.pose(q)

    def poses(self, q: Array) -> Array:
        """Frames (n, 4, 4) at configurations (n, len(names))."""
        result = np.zeros((len(q), 4, 4))
        result[:, 3, 3] = 1.0
        for start in range(0, len(q), _BLOCK):
            part = q[start : start + _BLOCK]
            # axes[k] is the k-th column of the frame (x, y, z, position), with the configurations last in memory.
            result[start : start + len(part), :3, :] = self._columns(part).transpose(2, 1, 0)
        return result

    def _columns(self, q: Array) -> Array:
        n = len(q)
        axes = np.repeat(np.eye(4)[:, :3, None], n, axis=2)
        for step in self.steps:
            axes = (step.constant.T @ axes.reshape(4, 3 * n)).reshape(4, 3, n)
            if step.node is not None:
                motion = step.node.motion(step.node.pack([q[:, c] for c in step.columns]))
                axes = np.einsum("nkj,kin->jin", motion, axes)
            elif step.turn:
                angle = step.ratio * q[:, step.column]
                c, s = np.cos(angle), np.sin(angle)
                x = c * axes[0] + s * axes[1]
                axes[1] = c * axes[1] - s * axes[0]
                axes[0] = x
            else:
                axes[3] += (step.ratio * q[:, step.column]) * axes[2]
        return np.asarray((self.last.T @ axes.reshape(4, 3 * n)).reshape(4, 3, n))

    def jacobian(self, q: Array) -> Array:
        """(n, 6, len(names)) at configurations (n, len(names)): v then ω of the frame, in root axes."""
        n = len(q)
        result = np.zeros((n, 6, len(self.names)))
        tip = self.poses(q)[:, :3, 3]
        at = np.broadcast_to(np.eye(4), (n, 4, 4))
        column = 0
        for node in self.nodes:
            values = q[:, column : column + node.dof]
            own = values[:, 0] if node.dof == 1 else values
            here = node.pose(own) if node.dof else np.broadcast_to(node.pose(), (n, 4, 4))
            link = at @ here
            if node.dof:
                local = node.jacobian(own)
                v, w = at[:, :3, :3] @ local[:, :3], at[:, :3, :3] @ local[:, 3:]
                arm = (tip - link[:, :3, 3])[:, :, None]
                result[:, :3, column : column + node.dof] = v + np.cross(w, arm, axis=1)
                result[:, 3:, column : column + node.dof] = w
            at, column = link, column + node.dof
        return result


class _Single:
    """One configuration at a time: every motion is ``A + f·B + g·C`` with f, g = cos, sin or the slide."""

    def __init__(self, steps: Sequence[Step], last: Array) -> None:
        self.plan = [(s.column, s.turn, s.ratio) for s in steps]
        self.last = last
        self.constant = np.array([_part(s, 0) for s in steps]).reshape(-1, 4, 4)
        self.parts = np.array([[_part(s, 1), _part(s, 2)] for s in steps]).reshape(-1, 2, 4, 4)

    def pose(self, q: Array) -> Array:
        values = q.tolist()
        factors = [
            (math.cos(r * values[c]), math.sin(r * values[c])) if turn else (r * values[c], 0.0)
            for c, turn, r in self.plan
        ]
        result = np.eye(4)
        if factors:
            weights = np.array(factors)[:, :, None, None]
            local = self.constant + (weights * self.parts).sum(axis=1)
            for m in local:
                result = result.dot(m)
        return np.asarray(result.dot(self.last))


def _part(step: Step, which: int) -> Array:
    c = step.constant
    if step.turn:
        zero = np.zeros(4)
        columns = (
            (zero, zero, c[:, 2], c[:, 3]),
            (c[:, 0], c[:, 1], zero, zero),
            (c[:, 1], -c[:, 0], zero, zero),
        )[which]
        return np.stack(columns, axis=1)
    if which == 0:
        return c
    return np.outer(c[:, 2], [0.0, 0.0, 0.0, 1.0]) if which == 1 else np.zeros((4, 4))


def _fold(nodes: Sequence[Node]) -> tuple[list[Step], Array]:
    """Merge what is constant between two motions."""
    steps: list[Step] = []
    constant, first = frame(), 0
    for node in nodes:
        constant = constant @ node.origin
        columns = tuple(range(first, first + node.dof))
        try:
            for p in node.primitives():
                steps.append(Step(constant, columns[p.coordinate], p.motion == "turn", p.ratio))
                constant = frame()
        except NotPrimitiveError:
            steps.append(Step(constant, -1, False, 1.0, node, columns))
            constant = frame()
        constant = constant @ node.child
        first += node.dof
    return steps, constant
