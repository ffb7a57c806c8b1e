"""SDF 1.11: links and joints for Gazebo."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from fitting.se3 import Array
from ident.export.links import EFFORT, INERTIA, MASS, VELOCITY, Link, Rendered, number, numbers, plan, rpy
from ident.export.shapes import Shape
from ident.tree import ROOT, KinematicTree

SUFFIX = "_link"
"""SDF wants the names of joints and links to differ; a joint's own frame is that of its child link."""


def render(tree: KinematicTree, *, handle_joints: bool = False) -> Rendered:
    """Write a tree as SDF. The frame of every joint and handle bears its name; links have the suffix ``_link``."""
    links, lost = plan(tree, handle_joints=handle_joints)
    sdf = Element("sdf", version="1.11")
    model = SubElement(sdf, "model", name=tree.name)
    taken = {ROOT, *(link.joint for link in links)}
    names = {ROOT: ROOT, **{link.name: _free(link.name + SUFFIX, taken) for link in links}}
    SubElement(model, "link", name=ROOT)
    world = SubElement(model, "joint", name=_free("world_joint", taken), type="fixed")
    SubElement(world, "parent").text = "world"
    SubElement(world, "child").text = ROOT
    for link in links:
        _add_joint(model, link, names)
        _add_link(model, link, names[link.name])
    lost.append(f"masses, which were not measured: every link has {MASS:g} kg and {INERTIA:g} kg m²")
    lost.append(f"largest forces and speeds, which were not measured: {EFFORT:g} N or Nm, {VELOCITY:g} m/s or rad/s")
    lost.append(f"that a link and its joint have one name: links have the suffix {SUFFIX}")
    indent(sdf)
    return Rendered(tostring(sdf, encoding="unicode") + "\n", tuple(lost))


def _add_joint(model: Element, link: Link, names: dict[str, str]) -> None:
    kinds = {"fixed": "fixed", "turn": "revolute", "slide": "prismatic"}
    joint = SubElement(model, "joint", name=link.joint, type=kinds[link.motion])
    _add_pose(joint, link.origin, names[link.parent])
    SubElement(joint, "parent").text = names[link.parent]
    SubElement(joint, "child").text = names[link.name]
    if link.motion == "fixed":
        return
    axis = SubElement(joint, "axis")
    SubElement(axis, "xyz").text = numbers(link.axis)
    limit = SubElement(axis, "limit")
    for tag, value in (("lower", link.lower), ("upper", link.upper)):
        if np.isfinite(value):
            SubElement(limit, tag).text = number(value)
    SubElement(limit, "effort").text = number(EFFORT)
    SubElement(limit, "velocity").text = number(VELOCITY)
    if link.damping or link.friction:
        dynamics = SubElement(axis, "dynamics")
        SubElement(dynamics, "damping").text = number(link.damping)
        SubElement(dynamics, "friction").text = number(link.friction)
    if link.mimic is not None:
        mimic = SubElement(axis, "mimic", joint=link.mimic[0])
        SubElement(mimic, "multiplier").text = number(link.mimic[1])
        SubElement(mimic, "offset").text = number(0.0)
        SubElement(mimic, "reference").text = number(0.0)


def _add_link(model: Element, link: Link, name: str) -> None:
    element = SubElement(model, "link", name=name)
    _add_pose(element, np.eye(4), link.joint)
    inertial = SubElement(element, "inertial")
    SubElement(inertial, "mass").text = number(MASS)
    inertia = SubElement(inertial, "inertia")
    for tag in ("ixx", "iyy", "izz"):
        SubElement(inertia, tag).text = number(INERTIA)
    for i, shape in enumerate(link.shapes):
        _add_visual(element, shape, f"visual_{i + 1}")


def _add_visual(element: Element, shape: Shape, name: str) -> None:
    visual = SubElement(element, "visual", name=name)
    _add_pose(visual, shape.pose)
    geometry = SubElement(SubElement(visual, "geometry"), shape.kind)
    if shape.kind == "box":
        SubElement(geometry, "size").text = numbers(np.array(shape.size))
    else:
        SubElement(geometry, "radius").text = number(shape.size[0])
        SubElement(geometry, "length").text = number(shape.size[1])


def _add_pose(element: Element, pose: Array, relative_to: str | None = None) -> None:
    child = SubElement(element, "pose", {"relative_to": relative_to} if relative_to else {})
    child.text = numbers(np.concatenate([pose[:3, 3], rpy(pose[:3, :3])]))


def _free(wish: str, taken: set[str]) -> str:
    name, k = wish, 2
    while name in taken:
        name, k = f"{wish}_{k}", k + 1
    taken.add(name)
    return name
