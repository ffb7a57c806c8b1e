"""A window with the model and a slider for each coordinate."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ident.plot.figure import draw_model
from ident.tree import KinematicTree

_NO_STOP = {"rad": np.pi, "m": 0.5}
"""How far a slider goes where there is no stop."""


def open_window(tree: KinematicTree, q: Mapping[str, float]) -> str:
    """Show the model until the window is closed; return why not, where there is no display."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display"
    import matplotlib.pyplot as plt
    from matplotlib import get_backend

    try:
        figure = plt.figure(tree.name, figsize=(9.0, 7.0))
    except (ImportError, RuntimeError) as error:
        return f"matplotlib cannot open one ({error})"
    if get_backend().lower() == "agg":
        plt.close(figure)
        return "matplotlib found no graphical toolkit"
    sliders = build_window(figure, tree, q)
    plt.show()
    # The sliders live as long as the window.
    del sliders
    return ""


def build_window(figure: Any, tree: KinematicTree, q: Mapping[str, float]) -> list[Any]:
    """Fill a figure with the model and its sliders; the sliders must be kept for as long as the figure is used."""
    from matplotlib.widgets import Slider

    units = {c: k.unit for n in tree.nodes.values() for c, k in zip(n.coordinate_names, n.coordinates, strict=True)}
    names = [n for n in tree.coordinate_names if np.ptp(tree.limits[n]) > 0.0]
    strip = min(0.035, 0.4 / max(len(names), 1))
    bottom = 0.03 + strip * len(names)
    ax = figure.add_axes((0.0, bottom, 1.0, 0.98 - bottom), projection="3d")
    now = dict(q)
    draw_model(ax, tree, now)

    def redraw(name: str, value: float) -> None:
        now[name] = value
        for artist in (*ax.collections, *ax.lines, *ax.texts):
            artist.remove()
        draw_model(ax, tree, now, keep_view=True)
        figure.canvas.draw_idle()

    sliders = []
    for i, name in enumerate(names):
        low, high = (
            v if np.isfinite(v) else s * _NO_STOP[units[name]] for v, s in zip(tree.limits[name], (-1, 1), strict=True)
        )
        place = figure.add_axes((0.2, bottom - strip * (i + 1), 0.6, 0.7 * strip))
        start = float(np.clip(now.get(name, 0.0), low, high))
        slider = Slider(place, f"{name} ({units[name]})", low, high, valinit=start, valfmt="%.3f")
        slider.on_changed(partial(redraw, name))
        sliders.append(slider)
    return sliders
