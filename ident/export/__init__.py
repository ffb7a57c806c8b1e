"""Exports: ``render(tree)`` gives the text in another format and a list of what that format cannot say."""

from collections.abc import Callable
from importlib import import_module

from ident.export.links import Rendered
from ident.joints.problems import ModelError
from ident.tree import KinematicTree

FORMATS = ("urdf", "mjcf", "sdf", "json", "csv")


def render(tree: KinematicTree, to: str, *, handle_joints: bool = False) -> Rendered:
    """Write a tree in one of FORMATS."""
    if to not in FORMATS:
        raise ModelError(f"{to!r} is no format that models are exported to; there are: {', '.join(FORMATS)}.")
    module = import_module(f"ident.export.{to if to not in ('json', 'csv') else to + '_text'}")
    write: Callable[..., Rendered] = module.render
    return write(tree, handle_joints=handle_joints)


__all__ = ["FORMATS", "Rendered", "render"]
