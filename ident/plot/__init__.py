"""Figures of models, made without a window and without global state."""

from ident.plot.figure import draw_model, save_model_figure

__all__ = ["draw_model", "save_model_figure"]
