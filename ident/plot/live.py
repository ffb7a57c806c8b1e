"""The measurement as it runs, in one picture: the tree so far over the takes, and the take over time."""

import math
from typing import Any

import numpy as np

from fitting.se3 import Array
from ident.identify import node_of
from ident.plot.figure import COLORS, draw_model
from ident.plot.snapshot import GAP_S, Snapshot
from ident.tree import KinematicTree

_DARK, _SOFT, _LOST = "#222a35", "#5b6472", "#c0392b"
_AXES = ("#c0392b", "#17876a", "#1f6fb4")


def draw_live(figure: Any, snapshot: Snapshot) -> None:
    """Draw a snapshot into an empty figure."""
    figure.text(0.02, 0.965, snapshot.title, fontsize=14, fontweight="bold", color=_DARK, va="center")
    figure.text(0.02, 0.93, snapshot.subtitle, fontsize=9, color=_SOFT, va="center")
    timed = len(snapshot.t) > 1 or len(snapshot.wrench_t) > 1
    ax = figure.add_axes((0.0, 0.02, 0.58 if timed else 1.0, 0.88), projection="3d")
    draw_space(ax, snapshot)
    if timed:
        rows = [figure.add_axes((0.66, y, 0.31, 0.235)) for y in (0.675, 0.375, 0.075)]
        draw_position(rows[0], snapshot)
        draw_force(rows[1], snapshot)
        draw_torque(rows[2], snapshot)
        rows[2].set_xlabel("seconds since the start", fontsize=8, color=_SOFT)


def draw_space(ax: Any, snapshot: Snapshot) -> None:
    """Draw the tree so far over its takes: samples by whether they were used, axes with their uncertainty, limits."""
    tree = KinematicTree(snapshot.title)
    for record in snapshot.nodes:
        tree = tree.with_node(node_of(record))
    loose = snapshot.takes.get("")
    if tree.nodes:
        drawn = {name: [points] for name, points in snapshot.takes.items() if name in tree.nodes}
        draw_model(ax, tree, dict(snapshot.q), drawn)
    if loose is not None and len(loose):
        ax.scatter(*loose.T, s=3.0, color=COLORS[0], alpha=0.6, linewidths=0, depthshade=False)
        if not tree.nodes:
            _equal(ax, loose)
    if not tree.nodes and (loose is None or not len(loose)):
        ax.set_axis_off()


def _equal(ax: Any, points: Array) -> None:
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = max(0.55 * float(np.ptp(points, axis=0).max()), 0.02)
    ax.set_box_aspect((1, 1, 1))
    for set_limits, m in zip((ax.set_xlim, ax.set_ylim, ax.set_zlim), middle, strict=True):
        set_limits(m - half, m + half)
    ax.tick_params(labelsize=7, colors=_SOFT)


def draw_position(ax: Any, snapshot: Snapshot) -> None:
    """Draw the tip's position over time, relative to where the take began, in millimetres."""
    if len(snapshot.t):
        moved = (snapshot.position - snapshot.position[0]) * 1e3
        _lines(ax, snapshot.t, moved, ("x", "y", "z"))
    _finish(ax, snapshot, "moved, mm")


def draw_force(ax: Any, snapshot: Snapshot) -> None:
    """Draw the force over time, newtons, in the sensor's frame."""
    _lines(ax, snapshot.wrench_t, snapshot.wrench[:, :3], ("Fx", "Fy", "Fz"))
    _finish(ax, snapshot, "force, N")


def draw_torque(ax: Any, snapshot: Snapshot) -> None:
    """Draw the torque over time, newton metres, in the sensor's frame."""
    _lines(ax, snapshot.wrench_t, snapshot.wrench[:, 3:], ("Tx", "Ty", "Tz"))
    _finish(ax, snapshot, "torque, Nm")


def _lines(ax: Any, t: Array, values: Array, names: tuple[str, ...]) -> None:
    steps = np.diff(t)
    if len(steps):
        # A gap is shown as a gap: no line where nothing was measured.
        gaps = np.flatnonzero(steps > max(5.0 * float(np.median(steps)), GAP_S)) + 1
        t, values = np.insert(t, gaps, np.nan), np.insert(values, gaps, np.nan, axis=0)
    for column, (name, color) in enumerate(zip(names, _AXES, strict=True)):
        if len(t):
            ax.plot(t, values[:, column], color=color, linewidth=1.1, label=name)


def _finish(ax: Any, snapshot: Snapshot, label: str) -> None:
    latest = max([*snapshot.t[-1:], *snapshot.wrench_t[-1:], 1.0])
    ax.set_xlim(0.0, math.ceil(float(latest) * 2.0) / 2.0)
    ax.margins(y=0.14)  # room for the words of the marks
    ax.set_ylabel(label, fontsize=8, color=_SOFT)
    ax.tick_params(labelsize=7, colors=_SOFT)
    ax.grid(visible=True, color="#e3e6ea", linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#b8bec7")
    for t, word in snapshot.marks:
        color = _LOST if word == "lost" else _SOFT
        ax.axvline(t, color=color, linewidth=0.8, linestyle=(0, (3, 2)))
        ax.annotate(word, (t, 1.0), xycoords=("data", "axes fraction"), xytext=(2, -1), textcoords="offset points",
                    fontsize=6.5, color=color, va="top", ha="left",
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4})  # fmt: skip
    if ax.get_lines():
        handles, names = ax.get_legend_handles_labels()
        ax.legend(handles, names, loc="upper right", fontsize=6.5, ncols=3, frameon=False, handlelength=1.0,
                  borderaxespad=0.1, bbox_to_anchor=(1.0, 1.13))  # fmt: skip
