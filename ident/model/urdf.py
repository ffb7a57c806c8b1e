"""A model of the tree that a URDF describes. Meshes are named, never opened."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitting.se3 import Array, complete_axis, frame, inverse, rotation_exp
from ident.joints import Fixed, Joint, Prismatic, Rotary
from ident.joints.problems import ModelError, Problem
from ident.model.file import MAX_BYTES, read_text
from ident.model.xml_tree import XmlElement, parse_xml
from ident.tree import ROOT, KinematicTree, parent_problems


@dataclass(frozen=True)
class Imported:
    """A model, and what of the file it does not hold."""

    tree: KinematicTree
    lost: tuple[str, ...]


@dataclass
class _Reading:
    """What was found so far."""

    problems: list[Problem] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def bad(self, element: XmlElement, place: str, message: str) -> None:
        self.problems.append(Problem(place, message, element.line))

    def numbers(self, element: XmlElement, place: str, key: str, count: int, default: str) -> Array:
        text = element.attributes.get(key, default)
        try:
            values = [float(v) for v in text.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(math.isfinite(v) and abs(v) < 1e6 for v in values):
            self.bad(element, place, f"{key} is {text[:40]!r}; expected {count} finite numbers")
            return np.array([float(v) for v in default.split()])
        return np.array(values)


def read_urdf(path: str | os.PathLike[str]) -> Imported:
    """Read a URDF file; raise ModelError with every problem and its line."""
    return parse_urdf(read_text(Path(path), MAX_BYTES), name=str(path))


def parse_urdf(text: str, name: str = "the URDF") -> Imported:
    """Read the text of a URDF. Frames bear the names of joints; the URDF's root link becomes ``root``."""
    robot = parse_xml(text, name)
    if robot.tag != "robot":
        raise ModelError(f"{name} is XML, but no URDF: its top element is <{robot.tag[:40]}>, not <robot>.")
    reading = _Reading()
    joints = _joints(robot, reading)
    if reading.problems:
        count = len(reading.problems)
        reading.problems.sort(key=lambda p: p.line or 0)
        said = "1 problem" if count == 1 else f"{count} problems"
        raise ModelError(f"{name} cannot be imported, it has {said}:", reading.problems)
    tree = KinematicTree(
        robot.attributes.get("name") or "imported", tuple(joints), provenance={"imported_from": Path(name).name}
    )
    problems = tree.validate()
    if problems:
        raise ModelError(f"{name} cannot be imported:", problems)
    return Imported(tree, tuple(reading.lost + _what_is_dropped(robot)))


def _joints(robot: XmlElement, reading: _Reading) -> list[Joint]:
    if any(c.tag.startswith("xacro:") for c in robot.children):
        reading.bad(robot, "robot", "has xacro macros; expand it first: xacro FILE.xacro > FILE.urdf")
    links = _links(robot, reading)
    names: dict[int, str] = {}
    carrier: dict[str, str] = {}
    elements = [e for e in robot.all("joint") if _ends(e, links, reading)]
    for element in elements:
        name = names[id(element)] = _name(element, set(names.values()), reading)
        child = _link(element, "child")
        if child in carrier:
            reading.bad(element, name, f"link {child!r} hangs already on joint {carrier[child]!r}")
        carrier.setdefault(child, name)
    roots = [link for link in links if link not in carrier]
    if len(roots) > 1:
        reading.bad(robot, "robot", f"has {len(roots)} links that hang on nothing: {', '.join(roots[:5])}")
    parents = {names[id(e)]: carrier.get(_link(e, "parent"), ROOT) for e in elements}
    by_name = {names[id(e)]: e for e in elements}
    for problem in parent_problems(parents, set()):
        reading.bad(by_name[problem.place], problem.place, problem.message)
    joints = [_joint(e, names[id(e)], parents[names[id(e)]], reading) for e in elements]
    return [j for j in joints if j is not None]


def _links(robot: XmlElement, reading: _Reading) -> list[str]:
    links: dict[str, None] = {}
    for element in robot.all("link"):
        name = element.attributes.get("name", "")
        if not name or name in links:
            reading.bad(element, "link", f"the name {name!r} is empty or there twice")
        links[name] = None
    if not links:
        reading.bad(robot, "robot", "has no link")
    return list(links)


def _ends(element: XmlElement, links: list[str], reading: _Reading) -> bool:
    """Check that a joint's two links exist."""
    known = set(links)
    name = element.attributes.get("name", "joint")
    good = True
    for end in ("parent", "child"):
        link = _link(element, end)
        if link not in known:
            reading.bad(element, name, f"its {end} link {link!r} does not exist")
            good = False
    return good


def _link(element: XmlElement, end: str) -> str:
    found = element.first(end)
    return "" if found is None else found.attributes.get("link", "")


def _name(element: XmlElement, taken: set[str], reading: _Reading) -> str:
    """The joint's name, changed where a model does not allow it."""
    given = element.attributes.get("name", "")
    name = "".join("_" if c == "." or ord(c) < 32 else c for c in given).strip()
    name = f"{name}_" if name == ROOT else name
    if not name or name in taken:
        reading.bad(element, given or "joint", "the name is empty or there twice")
        name = f"{name}#{element.line}"
    elif name != given:
        reading.lost.append(f"the name {given!r}, which is now {name!r}")
    return name


def _joint(element: XmlElement, name: str, parent: str, reading: _Reading) -> Joint | None:
    origin = element.first("origin") or XmlElement("origin", {}, element.line)
    xyz = reading.numbers(origin, name, "xyz", 3, "0 0 0")
    roll, pitch, yaw = reading.numbers(origin, name, "rpy", 3, "0 0 0")
    x, y, z = np.eye(3)
    turn = rotation_exp(yaw * z) @ rotation_exp(pitch * y) @ rotation_exp(roll * x)
    link2parent = frame(turn, xyz)
    extra = _extra(element, name)
    kind = element.attributes.get("type", "")
    if kind == "fixed":
        return Fixed(name=name, parent=parent, origin=link2parent, extra=extra)
    types: dict[str, type[Joint]] = {"revolute": Rotary, "continuous": Rotary, "prismatic": Prismatic}
    if kind not in types:
        reading.bad(element, name, f"the type {kind!r} has no counterpart; known are: {', '.join(types)}, fixed")
        return None
    about = element.first("axis") or XmlElement("axis", {}, element.line)
    axis = reading.numbers(about, name, "xyz", 3, "1 0 0")
    if np.linalg.norm(axis) < 1e-9:
        reading.bad(about, name, "the axis is zero")
        return None
    # In a model z is the axis: the joint's frame is turned so, and the child's turned back.
    upright = np.array_equal(axis / np.linalg.norm(axis), z)
    joint2link = np.eye(4) if upright else frame(complete_axis(axis, x if abs(axis[0]) < 0.9 else y))
    limits = (-math.inf, math.inf) if kind == "continuous" else _limits(element, name, reading)
    return types[kind](
        name=name,
        parent=parent,
        origin=link2parent @ joint2link,
        child=inverse(joint2link),
        limits=(limits,),
        extra=extra,
    )


def _limits(element: XmlElement, name: str, reading: _Reading) -> tuple[float, float]:
    limit = element.first("limit")
    if limit is None:
        reading.bad(element, name, "has no <limit>, which this type must have")
        return (0.0, 0.0)
    lower = float(reading.numbers(limit, name, "lower", 1, "0")[0])
    upper = float(reading.numbers(limit, name, "upper", 1, "0")[0])
    if lower > upper:
        reading.bad(limit, name, f"limits upside down: lower {lower:g} is above upper {upper:g}")
    return (lower, upper)


def _extra(element: XmlElement, name: str) -> dict[str, Any]:
    """What a model keeps without using it: the child link's own name, mimic, dynamics."""
    extra: dict[str, Any] = {}
    child = _link(element, "child")
    if child != name:
        extra["urdf_link"] = child
    mimic = element.first("mimic")
    if mimic is not None:
        extra["mimic"] = dict(mimic.attributes)
    dynamics = element.first("dynamics")
    if dynamics is not None:
        values = {k: _finite(v) for k, v in dynamics.attributes.items() if k in ("damping", "friction")}
        extra["dynamics"] = {k: v for k, v in values.items() if v is not None}
    return extra


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0.0 else None


def _what_is_dropped(robot: XmlElement) -> list[str]:
    lost = []
    meshes = sorted(
        {
            mesh.attributes.get("filename", "")[:80]
            for link in robot.all("link")
            for shape in (*link.all("visual"), *link.all("collision"))
            for geometry in shape.all("geometry")
            for mesh in geometry.all("mesh")
        }
    )
    lost += [f"the mesh {mesh!r}, which was not opened" for mesh in meshes]
    dropped = [tag for tag in ("visual", "collision", "inertial") if any(link.first(tag) for link in robot.all("link"))]
    if dropped:
        lost.append(f"of the links: {', '.join(dropped)}")
    if any(j.first("mimic") for j in robot.all("joint")):
        lost.append("that joints follow others: mimic is kept in the file and not acted upon")
    ignored = sorted({c.tag for c in robot.children} - {"link", "joint"})
    if ignored:
        lost.append(f"the elements {', '.join(tag[:40] for tag in ignored[:10])}")
    return lost
