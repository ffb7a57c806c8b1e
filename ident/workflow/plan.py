"""What the operator says about the object: its joints and handles, and who hangs on whom."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

ROOT = "root"
"""Name of the frame on which the first joints hang."""

JOINT_KINDS = ("rotary", "prismatic", "fixed", "auto")
"""``auto`` leaves it to the data: the wizard compares the candidates and proposes one."""

HANDLE_KINDS = ("handle0", "handle1", "handle2")
"""Handles by the degrees of freedom between gripper and grip."""


@dataclass(frozen=True)
class Node:
    """One joint or handle of the object."""

    name: str
    kind: str
    parent: str = ROOT
    radius_m: float | None = None
    """Radius of a handle's bar, as the operator gives it."""

    @property
    def is_handle(self) -> bool:
        """True for handles, on which nothing can hang."""
        return self.kind in HANDLE_KINDS


@dataclass(frozen=True)
class Plan:
    """The object as described, in the operator's order."""

    name: str = "object"
    nodes: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, name: str) -> bool:
        return any(node.name == name for node in self.nodes)

    def node(self, name: str) -> Node:
        """Node of that name; KeyError where there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def children(self, name: str) -> tuple[Node, ...]:
        """Nodes that hang directly on ``name``."""
        return tuple(node for node in self.nodes if node.parent == name)

    def depth_first(self) -> tuple[Node, ...]:
        """Every node after its parent, a whole branch before the next: the order of measurement."""
        order: list[Node] = []
        waiting = list(reversed(self.children(ROOT)))
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting.extend(reversed(self.children(node.name)))
        return tuple(order)

    def ancestors(self, name: str) -> tuple[Node, ...]:
        """Joints between the root and ``name``, the root's child first."""
        chain: list[Node] = []
        parent = self.node(name).parent
        while parent != ROOT:
            node = self.node(parent)
            chain.append(node)
            parent = node.parent
        return tuple(reversed(chain))

    def descendants(self, name: str) -> tuple[Node, ...]:
        """Every node that hangs on ``name``, directly or not."""
        found = [name]
        for node in self.depth_first():
            if node.parent in found:
                found.append(node.name)
        return tuple(self.node(other) for other in found[1:])

    def with_node(self, node: Node) -> "Plan":
        """Add a node at the end."""
        return replace(self, nodes=(*self.nodes, node))

    def with_kind(self, name: str, kind: str) -> "Plan":
        """Change the type of a node."""
        return replace(self, nodes=tuple(replace(n, kind=kind) if n.name == name else n for n in self.nodes))

    def renamed(self, name: str, new: str) -> "Plan":
        """Rename a node, and the parent of those that hang on it."""

        def mend(node: Node) -> Node:
            return replace(
                node,
                name=new if node.name == name else node.name,
                parent=new if node.parent == name else node.parent,
            )

        return replace(self, nodes=tuple(mend(node) for node in self.nodes))

    def without(self, name: str) -> "Plan":
        """Remove a node and all that hangs on it."""
        gone = {name, *(node.name for node in self.descendants(name))}
        return replace(self, nodes=tuple(node for node in self.nodes if node.name not in gone))

    def problems(self) -> tuple[str, ...]:
        """Everything that keeps this plan from being measured; empty when it is sound."""
        return tuple(dict.fromkeys(message for _, message in self.located_problems()))

    def located_problems(self) -> list[tuple[int | None, str]]:
        """Problems, each with the index of the node that was written wrongly."""
        found: list[tuple[int | None, str]] = []
        if not self.name.strip() or self.name.startswith(".") or set("/\\\0") & set(self.name):
            found.append((None, f"'{self.name}' cannot name the object's files; leave out slashes and a leading dot"))
        if not self.nodes:
            found.append((None, "the object has no joints; add at least one"))
        names = [node.name for node in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.name in names[:index]:
                found.append((index, f"two nodes are called '{node.name}'; names must differ"))
            found += [(index, message) for message in _node_problems(node)]
            if node.parent != ROOT and node.parent not in names:
                known = ", ".join([ROOT, *dict.fromkeys(names)])
                found.append(
                    (
                        index,
                        f"'{node.name}' hangs on '{node.parent}', which does not exist; there are {known}",
                    )
                )
            elif node.parent in names and self.node(node.parent).is_handle:
                found.append((index, f"'{node.name}' hangs on the handle '{node.parent}'; only joints carry others"))
        return found + self._cycles(names)

    def _cycles(self, names: list[str]) -> list[tuple[int | None, str]]:
        parents = {node.name: node.parent for node in reversed(self.nodes)}
        found: list[tuple[int | None, str]] = []
        seen: set[str] = set()
        for index, start in enumerate(names):
            path: list[str] = []
            at = start
            while at in parents and at not in path:
                path.append(at)
                at = parents[at]
            if at in path and at not in seen:
                loop = path[path.index(at) :]
                seen.update(loop)
                found.append((index, f"{' → '.join([*loop, at])} is a cycle; one of them must hang on '{ROOT}'"))
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for the event log."""
        return {
            "name": self.name,
            "nodes": [{"name": n.name, "kind": n.kind, "parent": n.parent, "radius_m": n.radius_m} for n in self.nodes],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Plan":
        """Inverse of :meth:`to_dict`; what is missing or of another type becomes a problem of the plan."""

        def text(item: Mapping[str, Any], key: str, default: str = "") -> str:
            return str(item.get(key, default))

        return Plan(
            name=text(data, "name", "object"),
            nodes=tuple(
                Node(text(n, "name"), text(n, "kind"), text(n, "parent", ROOT), n.get("radius_m"))
                for n in data.get("nodes") or ()
            ),
        )


def _node_problems(node: Node) -> list[str]:
    found: list[str] = []
    if node.name == ROOT:
        found.append(f"'{ROOT}' names the base of the object; choose another name")
    if not node.name.replace("_", "").replace("-", "").isalnum():
        found.append(f"'{node.name}' is no usable name; use letters, digits, _ and -")
    if node.kind not in JOINT_KINDS + HANDLE_KINDS:
        kinds = JOINT_KINDS + HANDLE_KINDS
        found.append(f"'{node.name}' has the unknown type '{node.kind}'; known are {', '.join(kinds)}")
    if node.radius_m is not None and not 0.0 < node.radius_m < 1.0:
        found.append(f"'{node.name}' has a radius of {node.radius_m} m; give 0 to 1 m")
    return found
