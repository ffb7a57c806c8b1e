"""``object.toml``: the operator's description of an object, read and written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ident.toml_file import TomlFile
from ident.workflow.plan import ROOT, Node, Plan

Problem = tuple[tuple[str | int, ...], str]

_KEYS = {"joint": {"name", "type", "parent"}, "handle": {"name", "parent", "dof", "radius_m"}}


def load_description(path: Path) -> Plan:
    """Read an object description; raises one error that lists every problem with its line."""
    file = TomlFile(path)
    plan, problems = plan_from_tables(file.data, default_name=path.stem.removesuffix(".object"))
    if problems:
        raise file.refuse(problems)
    return plan


def plan_from_tables(data: Mapping[str, Any], default_name: str = "object") -> tuple[Plan, list[Problem]]:
    """Plan of the tables of an object description, and what is wrong with them."""
    problems: list[Problem] = [
        ((key,), f"'{key}' is unknown here; known are name, joint and handle")
        for key in data
        if key not in {"name", "joint", "handle"}
    ]
    nodes: list[Node] = []
    places: list[tuple[str | int, ...]] = []
    for table in ("joint", "handle"):
        items = data.get(table, [])
        if not isinstance(items, list):
            problems.append(((table,), f"write [[{table}]] with two brackets: there can be several"))
            continue
        for index, item in enumerate(items):
            node, found = _node(table, item)
            problems += [((table, index, *where), message) for where, message in found]
            if node is not None:
                nodes.append(node)
                places.append((table, index))
    name = data.get("name", default_name)
    if not isinstance(name, str) or not name:
        problems.append((("name",), 'name must be a text, such as "door"'))
        name = default_name
    plan = Plan(name, tuple(nodes))
    problems += [(places[at] if at is not None else (), message) for at, message in plan.located_problems()]
    return plan, problems


def _node(table: str, item: Any) -> tuple[Node | None, list[Problem]]:
    if not isinstance(item, Mapping):
        return None, [((), f"a {table} is a table with a name")]
    problems: list[Problem] = [
        ((key,), f"'{key}' is unknown for a {table}; known are {', '.join(sorted(_KEYS[table]))}")
        for key in item
        if key not in _KEYS[table]
    ]
    texts = {"name": item.get("name"), "parent": item.get("parent", ROOT), "type": item.get("type", "auto")}
    for key, value in texts.items():
        if not isinstance(value, str):
            problems.append(((key,), f'{key} must be a text, such as "hinge"' if key in item else "name is missing"))
    radius = item.get("radius_m")
    if radius is not None and (isinstance(radius, bool) or not isinstance(radius, int | float)):
        problems.append((("radius_m",), f"radius_m must be a number of metres, not {radius!r}"))
        radius = None
    dof = item.get("dof", 2)
    if table == "handle" and (isinstance(dof, bool) or dof not in (0, 1, 2)):
        problems.append((("dof",), f"dof must be 0, 1 or 2, not {dof!r}"))
        dof = 2
    if any(not isinstance(value, str) for value in texts.values()):
        return None, problems
    kind = f"handle{dof}" if table == "handle" else texts["type"]
    return Node(str(texts["name"]), str(kind), str(texts["parent"]), radius), problems


def render_description(plan: Plan) -> str:
    """Text of an ``object.toml`` that reads back as the same plan."""
    lines = [f'name = "{plan.name}"']
    for node in plan:
        if node.is_handle:
            lines += [
                "",
                "[[handle]]",
                f'name = "{node.name}"',
                f'parent = "{node.parent}"',
                f"dof = {node.kind[-1]}",
            ]
            if node.radius_m is not None:
                lines.append(f"radius_m = {node.radius_m}")
        else:
            lines += [
                "",
                "[[joint]]",
                f'name = "{node.name}"',
                f'type = "{node.kind}"',
                f'parent = "{node.parent}"',
            ]
    return "\n".join(lines) + "\n"
