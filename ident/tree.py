"""The kinematic tree of an object: joints and handles under a root frame, and what a planner asks of it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitting.se3 import Array
from ident.handles import Handle
from ident.joints import Joint
from ident.joints.chain import Chain
from ident.joints.frames import is_frame
from ident.joints.node import Node
from ident.joints.problems import ModelError, OutOfLimitsError, Problem
from ident.joints.solve import solve
from ident.joints.uncertainty import frame_covariance

ROOT = "root"
Configuration = Mapping[str, ArrayLike]
"""Coordinates by name, radians and metres; missing ones are at 0."""
LIMIT_TOLERANCE = 1e-9
"""Rounding that is not yet out of limits, radians or metres."""
POSITION_NOISE = 0.0005
"""Standard deviation per axis (m) of a gripper position from motion capture."""
ANGLE_NOISE = 0.002
"""Standard deviation per axis (rad) of a gripper orientation."""


@dataclass(frozen=True)
class Coordinates:
    """Where the joints must be, given a pose: unpacks as ``q, residual``."""

    q: dict[str, float]
    """Coordinates of the joints on the way and of the handle itself, radians and metres."""
    residual: float
    """Distance that remains, in standard deviations of the model and the measurement together."""
    position_error: float
    """Metres between the frame and the pose."""
    angle_error: float
    """Radians between the frame and the pose."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.q, self.residual))


@dataclass(frozen=True)
class KinematicTree:
    """An identified object. Each joint's child link and each handle has the name of its joint or handle."""

    name: str
    joints: tuple[Joint, ...] = ()
    handles: tuple[Handle, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where the model comes from: session, date, software version."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the model file that this version does not know; kept as they are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "handles", tuple(self.handles))

    def __hash__(self) -> int:
        return hash((self.name, self.joints, self.handles))

    # Structure ------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Joints, then handles, by name."""
        return MappingProxyType({n.name: n for n in (*self.joints, *self.handles)})

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move, in the tree's order: the columns of a Jacobian."""
        return tuple(c for j in self.joints for c in j.coordinate_names)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Every name that a configuration may have: joints, then ``<handle>.turn``, ``<handle>.slide``."""
        return self.joint_names + tuple(c for h in self.handles for c in h.coordinate_names)

    @cached_property
    def limits(self) -> Mapping[str, tuple[float, float]]:
        """(lower, upper) of every coordinate, radians or metres."""
        return MappingProxyType(
            {c: pair for n in self.nodes.values() for c, pair in zip(n.coordinate_names, n.limits, strict=True)}
        )

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Root, joints' child links and handles."""
        return (ROOT, *self.nodes)

    def __getitem__(self, name: str) -> Node:
        try:
            return self.nodes[name]
        except KeyError:
            known = ", ".join(self.nodes) or "none"
            raise ModelError(f"There is no joint or handle named {name!r} in {self.name}; it has: {known}.") from None

    def with_node(self, node: Joint | Handle) -> Self:
        """Return the tree with one more joint or handle, or with that of the same name replaced."""
        joints = tuple(j for j in self.joints if j.name != node.name or isinstance(node, Joint))
        handles = tuple(h for h in self.handles if h.name != node.name or isinstance(node, Handle))
        if isinstance(node, Joint):
            return replace(self, joints=_put(joints, node), handles=handles)
        return replace(self, joints=joints, handles=_put(handles, node))

    def path(self, frame: str) -> tuple[Node, ...]:
        """Joints and handle on the way from the root to a frame."""
        way: list[Node] = []
        at = frame
        while at != ROOT:
            way.append(self[at])
            at = way[-1].parent
            if len(way) > len(self.nodes):
                raise ModelError(f"{self.name}: {frame} hangs, through its parents, on itself.")
        return tuple(reversed(way))

    def validate(self) -> list[Problem]:
        """List every problem of the tree; empty when it can be used."""
        found = [Problem("name", "the model has no name")] if not self.name else []
        count: dict[str, int] = {}
        for n in (*self.joints, *self.handles):
            count[n.name] = count.get(n.name, 0) + 1
        found += [Problem(name, f"{k} joints or handles of this name") for name, k in count.items() if k > 1]
        for n in (*self.joints, *self.handles):
            found += name_problems(n.name)
            found += [Problem(n.name, text) for text in n.problems()]
        found += parent_problems(
            {n.name: n.parent for n in (*self.joints, *self.handles)}, {h.name for h in self.handles}
        )
        return found

    # Questions ------------------------------------------------------------------------------------

    def pose(self, frame: str, q: Configuration | None = None, *, check_limits: bool = True) -> Array:
        """frame2root (4, 4) at q; with arrays of n values in q, (n, 4, 4)."""
        chain = self._chain(frame)
        values, many = self._values(chain, q, check_limits)
        return chain.poses(values) if many else chain.pose(values[0])

    def jacobian(
        self,
        frame: str,
        q: Configuration | None = None,
        *,
        columns: Sequence[str] | None = None,
        check_limits: bool = True,
    ) -> Array:
        """(6, k), or (n, 6, k) with arrays in q: velocity of the frame's origin, then its angular velocity.

        In root axes, per unit of each coordinate in ``columns``, by default ``joint_names``.
        """
        chain = self._chain(frame)
        values, many = self._values(chain, q, check_limits)
        wanted = self.joint_names if columns is None else tuple(columns)
        self._check_names(wanted)
        local = chain.jacobian(values)
        result = np.zeros((len(local), 6, len(wanted)))
        for i, name in enumerate(wanted):
            if name in chain.names:
                result[:, :, i] = local[:, :, chain.names.index(name)]
        return result if many else result[0]

    def coordinates(
        self,
        frame: str,
        pose: ArrayLike,
        *,
        start: Configuration | None = None,
        noise: tuple[float, float] | None = None,
    ) -> Coordinates:
        """Where the joints on the way must be, within limits, for ``frame`` to be at ``pose`` (4, 4) in root.

        ``noise`` is the standard deviation of the given pose per axis, in metres and radians; together with
        the model's own covariance it weighs position against orientation.
        """
        target = np.asarray(pose, dtype=float)
        if target.shape != (4, 4) or not np.isfinite(target).all() or not is_frame(target):
            raise ModelError("The pose must be one 4×4 frame: a rotation, a translation in metres, last row 0 0 0 1.")
        chain = self._chain(frame)
        position_noise, angle_noise = noise or (POSITION_NOISE, ANGLE_NOISE)
        measured = np.diag(np.repeat([position_noise, angle_noise], 3) ** 2)
        middle = {n: float(m) for n, m in zip(chain.names, np.clip(0.0, *chain.limits.T), strict=True)}
        covariance = measured + frame_covariance(chain.nodes, middle) if chain.nodes else measured
        first = None if start is None else self._values(chain, start, check_limits=False)[0][0]
        found = solve(chain, target, covariance, first)
        return Coordinates(
            q={name: float(v) for name, v in zip(chain.names, found.q, strict=True)},
            residual=found.residual,
            position_error=found.position_error,
            angle_error=found.angle_error,
        )

    def gripper_path(
        self,
        handle: str,
        move: Mapping[str, tuple[float, float]],
        *,
        steps: int = 50,
        q: Configuration | None = None,
    ) -> Array:
        """Gripper frames (steps, 4, 4) in root that take joints from one coordinate to another, all at once.

        ``move`` gives (from, to) of each joint in radians or metres; joints not named stay as in ``q``.
        """
        if steps < 2:
            raise ModelError(f"A path has at least 2 steps, not {steps}.")
        moving = {name: np.linspace(a, b, steps) for name, (a, b) in move.items()}
        poses = self.pose(handle, {**(q or {}), **moving})
        return np.array(np.broadcast_to(poses, (steps, 4, 4)))

    def uncertainty(self, frame: str, q: Mapping[str, float] | None = None, *, check_limits: bool = True) -> Array:
        """Covariance (6, 6) of the frame's error at q: metres then radians, in root axes."""
        chain = self._chain(frame)
        values = self._values(chain, q, check_limits)[0][0]
        if not chain.nodes:
            return np.zeros((6, 6))
        return frame_covariance(chain.nodes, dict(zip(chain.names, values.tolist(), strict=True)))

    # Inside ---------------------------------------------------------------------------------------

    @cached_property
    def _chains(self) -> dict[str, Chain]:
        return {}

    def _chain(self, frame: str) -> Chain:
        chain = self._chains.get(frame)
        if chain is None:
            chain = self._chains[frame] = Chain(self.path(frame))
        return chain

    def _check_names(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if name not in self.limits]
        if unknown:
            known = ", ".join(self.coordinate_names) or "none"
            raise ModelError(f"{self.name} has no coordinate {', '.join(map(repr, unknown))}; it has: {known}.")

    def _values(self, chain: Chain, q: Configuration | None, check_limits: bool) -> tuple[Array, bool]:
        """Configurations (n, len(chain.names)) of the chain, and whether q had arrays."""
        given = q or {}
        self._check_names(tuple(given))
        if not any(np.ndim(v) for v in given.values()):
            result, many = np.array([[float(np.asarray(given.get(c, 0.0))) for c in chain.names]]), False
        else:
            try:
                (length,) = np.broadcast_shapes(*(np.shape(v) for v in given.values()))
            except ValueError:
                shapes = ", ".join(f"{name} {np.shape(v)}" for name, v in given.items())
                raise ModelError(f"Coordinates are numbers or arrays of one length, not {shapes}.") from None
            result, many = np.zeros((length, len(chain.names))), True
            for i, c in enumerate(chain.names):
                result[:, i] = given.get(c, 0.0)
        if check_limits and chain.names:
            low, high = chain.limits.T
            bad = ~((result >= low - LIMIT_TOLERANCE) & (result <= high + LIMIT_TOLERANCE))
            if bad.any():
                self._raise_out_of_limits(chain, result, bad)
        return result, many

    def _raise_out_of_limits(self, chain: Chain, values: Array, bad: NDArray[np.bool_]) -> None:
        problems = []
        for i in np.flatnonzero(bad.any(axis=0)):
            worst = values[np.flatnonzero(bad[:, i])[0], i]
            low, high = chain.limits[i]
            problems.append(Problem(chain.names[i], f"{worst:.6g} is not within {low:.6g} … {high:.6g}"))
        raise OutOfLimitsError(
            "Out of limits. Choose coordinates within them, or ask with check_limits=False.", problems
        )


def load_model(path: str | os.PathLike[str]) -> KinematicTree:
    """Read a model file; raise ModelError with every problem and its line."""
    from ident.model.file import load_model as load  # the file format knows the tree, not the other way round

    return load(path)


def name_problems(name: str) -> list[Problem]:
    """List what is wrong with the name of a joint or handle."""
    if not name or name != name.strip() or any(ord(c) < 32 for c in name):
        return [Problem(repr(name), "a name is not empty and has no control characters or blanks at its ends")]
    if name == ROOT or "." in name:
        return [Problem(name, f"a name may not be {ROOT!r} nor have a dot in it")]
    return []


def parent_problems(parents: Mapping[str, str], handles: set[str]) -> list[Problem]:
    """List missing parents, handles that carry something, and cycles."""
    found = []
    for name, parent in parents.items():
        if parent in handles:
            found.append(Problem(name, f"its parent {parent!r} is a handle; nothing hangs on a handle"))
        elif parent != ROOT and parent not in parents:
            known = ", ".join([ROOT, *(n for n in parents if n not in handles and n != name)])
            found.append(Problem(name, f"its parent {parent!r} does not exist; there are: {known}"))
    done: set[str] = set()
    for name in parents:
        way: dict[str, None] = {}
        at = name
        while at in parents and at not in way and at not in done:
            way[at] = None
            at = parents[at]
        if at in way:
            names = list(way)
            cycle = names[names.index(at) :]
            found.append(Problem(at, f"a cycle: {' → '.join([*cycle, at])}"))
        done.update(way)
    return found


def _put(nodes: tuple[Any, ...], node: Any) -> tuple[Any, ...]:
    names = [n.name for n in nodes]
    if node.name not in names:
        return (*nodes, node)
    at = names.index(node.name)
    return (*nodes[:at], node, *nodes[at + 1 :])
