"""URDF: links and joints as ROS, pinocchio and most simulators read them."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from fitting.se3 import Array
from ident.export.links import (
    EFFORT,
    INERTIA,
    MASS,
    NO_STOP,
    VELOCITY,
    Link,
    Rendered,
    number,
    numbers,
    plan,
    rpy,
)
from ident.export.shapes import Shape
from ident.tree import ROOT, KinematicTree


def render(tree: KinematicTree, *, handle_joints: bool = False) -> Rendered:
    """Write a tree as URDF."""
    links, lost = plan(tree, handle_joints=handle_joints)
    robot = Element("robot", name=tree.name)
    # MuJoCo's reader merges links that do not move unless told otherwise, and handles are such links.
    SubElement(SubElement(robot, "mujoco"), "compiler", fusestatic="false", discardvisual="false")
    SubElement(robot, "link", name=ROOT)
    for link in links:
        _add_link(robot, link)
        _add_joint(robot, link, lost)
    lost.append(f"masses, which were not measured: every link has {MASS:g} kg and {INERTIA:g} kg m²")
    lost.append(f"largest forces and speeds, which were not measured: {EFFORT:g} N or Nm, {VELOCITY:g} m/s or rad/s")
    indent(robot)
    return Rendered(tostring(robot, encoding="unicode", xml_declaration=False) + "\n", tuple(lost))


def _add_link(robot: Element, link: Link) -> None:
    element = SubElement(robot, "link", name=link.name)
    inertial = SubElement(element, "inertial")
    SubElement(inertial, "mass", value=number(MASS))
    i, zero = number(INERTIA), number(0.0)
    SubElement(inertial, "inertia", ixx=i, iyy=i, izz=i, ixy=zero, ixz=zero, iyz=zero)
    for shape in link.shapes:
        _add_visual(element, shape)


def _add_visual(element: Element, shape: Shape) -> None:
    visual = SubElement(element, "visual")
    _add_origin(visual, shape.pose)
    geometry = SubElement(visual, "geometry")
    if shape.kind == "box":
        SubElement(geometry, "box", size=numbers(np.array(shape.size)))
    else:
        SubElement(geometry, "cylinder", radius=number(shape.size[0]), length=number(shape.size[1]))


def _add_joint(robot: Element, link: Link, lost: list[str]) -> None:
    bounded = np.isfinite([link.lower, link.upper])
    kind = {"fixed": "fixed", "turn": "revolute" if bounded.any() else "continuous", "slide": "prismatic"}[link.motion]
    joint = SubElement(robot, "joint", name=link.joint, type=kind)
    _add_origin(joint, link.origin)
    SubElement(joint, "parent", link=link.parent)
    SubElement(joint, "child", link=link.name)
    if link.motion == "fixed":
        return
    SubElement(joint, "axis", xyz=numbers(link.axis))
    limit = {"effort": number(EFFORT), "velocity": number(VELOCITY)}
    if kind != "continuous":
        limit["lower"], limit["upper"] = number(max(link.lower, -NO_STOP)), number(min(link.upper, NO_STOP))
        if not bounded.all():
            lost.append(f"{link.joint}: that it has no stop on one side or both; written as ±{NO_STOP:g}")
    SubElement(joint, "limit", limit)
    if link.damping or link.friction:
        SubElement(joint, "dynamics", damping=number(link.damping), friction=number(link.friction))
    if link.mimic is not None:
        SubElement(joint, "mimic", joint=link.mimic[0], multiplier=number(link.mimic[1]), offset=number(0.0))


def _add_origin(element: Element, pose: Array) -> None:
    SubElement(element, "origin", xyz=numbers(pose[:3, 3]), rpy=numbers(rpy(pose[:3, :3])))
