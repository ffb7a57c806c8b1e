"""Exports: ``render(tree, to)`` gives the text in another format and a list of what that format cannot say."""

from collections.abc import Callable
from importlib import import_module

from ident.export.links import Rendered
from ident.joints.problems import ModelError
from ident.tree import KinematicTree

FORMATS = {"urdf": "urdf", "mjcf": "mjcf", "sdf": "sdf", "json": "json_text", "csv": "csv_text"}
"""Each format and the module that writes it."""


def render(tree: KinematicTree, to: str, *, handle_joints: bool = False) -> Rendered:
    """Write a tree in one of FORMATS; with ``handle_joints`` the freedom of handles becomes joints."""
    if to not in FORMATS:
        raise ModelError(f"{to!r} is no format that models are exported to; there are: {', '.join(FORMATS)}.")
    write: Callable[..., Rendered] = import_module(f"ident.export.{FORMATS[to]}").render
    return write(tree, handle_joints=handle_joints)


def render_urdf(tree: KinematicTree) -> Rendered:
    """Write a tree as URDF."""
    return render(tree, "urdf")


__all__ = ["FORMATS", "Rendered", "render", "render_urdf"]
