"""JSON: the model file itself, which says everything."""

from ident.export.links import Rendered
from ident.model.file import model_text
from ident.tree import KinematicTree


def render(tree: KinematicTree, *, handle_joints: bool = False) -> Rendered:
    """Write a tree as its model file; ``handle_joints`` changes nothing, the file says both."""
    del handle_joints
    return Rendered(model_text(tree), ())
