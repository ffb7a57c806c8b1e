"""The column beside the picture: what each joint and handle is, in numbers, and what the signs mean."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ident.joints.node import Node
from ident.tree import KinematicTree

_LEFT = 0.735
_DARK, _SOFT = "#222a35", "#5b6472"


def draw_panel(
    figure: Any,
    tree: KinematicTree,
    colors: Mapping[str, str],
    magnification: int,
    *,
    with_data: bool,
    with_outliers: bool,
) -> float:
    """Write the column into the right quarter of a figure; return the height at which it ends."""
    from matplotlib.patches import Rectangle

    entries = {name: node_lines(node) for name, node in tree.nodes.items()}
    rows = sum(len(lines) + 1.9 for lines in entries.values())
    step = min(0.027, 0.78 / max(rows, 1.0))
    size = 8.2 * min(1.0, step / 0.024)
    y = 0.925
    for name, lines in entries.items():
        height = step * 0.55
        square = Rectangle(
            (_LEFT, y - height / 2),
            height * 0.75,
            height,
            transform=figure.transFigure,
            facecolor=colors[name],
            linewidth=0,
        )
        figure.add_artist(square)
        figure.text(
            _LEFT + 0.02,
            y,
            name,
            fontsize=size * 1.12,
            fontweight="bold",
            color=_DARK,
            va="center",
            fontfamily="sans-serif",
        )
        for text in lines:
            y -= step
            figure.text(_LEFT + 0.02, y, text, fontsize=size, color=_SOFT, va="center")
        y -= 1.9 * step
    _draw_key(figure, tree, magnification, with_data, with_outliers)
    return y + 1.4 * step


def node_lines(node: Node) -> list[str]:
    """Say in a few lines what a joint or handle is and how well it is known."""
    lines = [f"{node.kind} on {node.parent}"]
    for c, (low, high) in zip(node.coordinates, node.limits, strict=True):
        if not np.isfinite([low, high]).all():
            lines.append(f"{c.name}: no stop")
        elif c.unit == "rad":
            lines.append(f"{c.name}: {np.degrees(low):.1f} … {np.degrees(high):.1f}°")
        else:
            lines.append(f"{c.name}: {1000 * low:.0f} … {1000 * high:.0f} mm")
    e = node.evidence
    if e is not None:
        tilt = f"±{np.degrees(e.axis_std):.2g}°"
        shift = f", ±{1000 * e.position_std:.2g} mm" if node.kind != "prismatic" else ""
        lines.append(f"{'axis' if node.dof else 'frame'}: {tilt}{shift}")
        share = 100.0 * e.inliers / max(e.samples, 1)
        lines.append(f"rms {1000 * e.rms:.2f} mm, {share:.0f} % of {e.samples}")
    return lines


def _draw_key(figure: Any, tree: KinematicTree, magnification: int, with_data: bool, with_outliers: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    if with_data:
        handles.append(Line2D([], [], linewidth=5, alpha=0.3, color=_SOFT, label="measured tip"))
    if with_outliers:
        handles.append(
            Line2D([], [], marker="x", markersize=4, linestyle="", color="#9aa0aa", label="left out of the fit")
        )
    handles.append(Line2D([], [], color=_SOFT, linewidth=1.5, label="from limit to limit"))
    if any(n.evidence is not None and n.dof for n in tree.nodes.values()):
        shown = f"axis, 2σ × {magnification}" if magnification > 1 else "axis, 2σ"
        handles.append(Patch(facecolor=_SOFT, alpha=0.3, label=shown))
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(_LEFT - 0.012, 0.02),
        frameon=False,
        fontsize=7.5,
        labelcolor=_SOFT,
        handlelength=1.4,
        borderaxespad=0.0,
    )
