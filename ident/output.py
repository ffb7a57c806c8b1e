"""What a finished measurement leaves on disk: model, URDF and figure, beside the session."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fitting.se3 import inverse
from ident.errors import IdentError
from ident.export import render
from ident.identify import tip_frame
from ident.model import save_model
from ident.model.file import write_text
from ident.placing import PLACEMENT, finished_model
from ident.plot.saving import save_figure
from ident.takes import TakeData
from ident.workflow.state import State

ENDINGS = (".model.json", ".urdf", ".png", ".svg", ".pdf")
"""The model, the same for other programs, and its figure for looking at, for pages and for papers."""


def prepare_folder(path: Path) -> Path:
    """Create the output folder and make sure that it can be written, before anything is measured."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise IdentError(
            f"The folder {path} cannot be written: {error.strerror or error}. Choose another one with --out."
        ) from None
    return path


class ModelWriter:
    """Saves the model of a state and its figures in one folder, as ``<object>`` with each of the :data:`ENDINGS`."""

    def __init__(self, folder: Path, provenance: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.provenance = dict(provenance or {})

    def __call__(self, state: State, data: Mapping[int, TakeData]) -> list[str]:
        """Write everything and return the paths."""
        tree = replace(finished_model(state), provenance=self.provenance)
        stem = self.folder / state.plan.name
        model, urdf, *figures = (stem.with_name(stem.name + end) for end in ENDINGS)
        save_model(tree, model)
        write_text(urdf, render(tree, "urdf").text)
        tip2body = tip_frame(state)
        placement = tree.extra.get(PLACEMENT)
        world2root = np.eye(4) if placement is None else inverse(np.asarray(placement["root2world"]))
        takes = {
            r.node: [world2root @ data[t].tip(tip2body) for t in r.takes if t in data]
            for r in state.results
            if r.accepted
        }
        save_figure(tree, figures, takes)
        return [str(path) for path in (model, urdf, *figures)]
