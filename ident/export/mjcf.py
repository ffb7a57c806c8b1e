"""MJCF: bodies and joints for MuJoCo."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from fitting.se3 import Array, quaternion_from_rotation
from ident.export.links import INERTIA, MASS, NO_STOP, Link, Rendered, number, numbers, plan
from ident.export.shapes import Shape
from ident.joints.problems import ModelError
from ident.tree import ROOT, KinematicTree

_NARROWEST = 1e-9
"""Least width (m, rad) of a range."""


def render(tree: KinematicTree, *, handle_joints: bool = False) -> Rendered:
    """Write a tree as MJCF: a body for every link, a site for every handle, no gravity.

    The text is written here and not by MuJoCo, which rounds to six digits.
    """
    if "world" in tree.nodes:
        raise ModelError("MuJoCo keeps the name 'world' for itself. Rename that joint or handle, then export again.")
    links, lost = plan(tree, handle_joints=handle_joints)
    model = Element("mujoco", model=tree.name)
    SubElement(model, "compiler", angle="radian", autolimits="true")
    SubElement(model, "option", gravity="0 0 0")
    bodies = {ROOT: SubElement(SubElement(model, "worldbody"), "body", name=ROOT)}
    equality = Element("equality")
    handles = {h.name for h in tree.handles}
    for link in links:
        body = bodies[link.name] = SubElement(bodies[link.parent], "body", {"name": link.name, **_place(link.origin)})
        _add_joint(body, link, lost)
        SubElement(body, "inertial", pos="0 0 0", mass=number(MASS), diaginertia=numbers(np.full(3, INERTIA)))
        for shape in link.shapes:
            _add_geom(body, shape)
        if link.name in handles:
            SubElement(body, "site", name=link.name, size="0.005")
        if link.mimic is not None:
            ratio = f"0 {number(link.mimic[1])} 0 0 0"
            SubElement(equality, "joint", joint1=link.joint, joint2=link.mimic[0], polycoef=ratio)
    if len(equality):
        model.append(equality)
    lost.append(f"masses, which were not measured: every body has {MASS:g} kg and {INERTIA:g} kg m²")
    lost.append("gravity, which is off: no measurement says which way is up")
    indent(model)
    return Rendered(tostring(model, encoding="unicode") + "\n", tuple(lost))


def build_spec(tree: KinematicTree, *, handle_joints: bool = False) -> Any:
    """Return the tree as a ``mujoco.MjSpec``, to be attached to a robot's spec or compiled; needs ``mujoco``."""
    import mujoco

    return mujoco.MjSpec.from_string(render(tree, handle_joints=handle_joints).text)


def _place(pose: Array) -> dict[str, str]:
    xyzw = quaternion_from_rotation(pose[:3, :3])
    return {"pos": numbers(pose[:3, 3]), "quat": numbers(xyzw[[3, 0, 1, 2]])}


def _add_joint(body: Element, link: Link, lost: list[str]) -> None:
    if link.motion == "fixed":
        return
    values = {"name": link.joint, "type": "hinge" if link.motion == "turn" else "slide", "axis": numbers(link.axis)}
    stops = np.isfinite([link.lower, link.upper])
    if stops.any():
        lower, upper = max(link.lower, -NO_STOP), min(link.upper, NO_STOP)
        # MuJoCo takes a range without width for no range at all.
        values["range"] = numbers(np.array([lower, max(upper, lower + _NARROWEST)]))
        if not stops.all():
            lost.append(f"{link.joint}: that it has no stop on one side; written as ±{NO_STOP:g}")
    if link.damping:
        values["damping"] = number(link.damping)
    if link.friction:
        values["frictionloss"] = number(link.friction)
    SubElement(body, "joint", values)


def _add_geom(body: Element, shape: Shape) -> None:
    half = [v / 2.0 for v in shape.size] if shape.kind == "box" else [shape.size[0], shape.size[1] / 2.0]
    look = {"contype": "0", "conaffinity": "0", "group": "2", "mass": "0", "rgba": "0.4 0.5 0.6 1"}
    SubElement(body, "geom", {"type": shape.kind, "size": numbers(np.array(half)), **_place(shape.pose), **look})
