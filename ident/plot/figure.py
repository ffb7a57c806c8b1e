"""The model in one picture: axes, limits, handles and frames over the measured data, with their uncertainty."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitting.se3 import Array, inverse
from ident.joints.marks import Arc, Bar, Block, Cylinder
from ident.joints.node import Node
from ident.joints.problems import ModelError
from ident.plot import shapes
from ident.plot.labels import Label, place_labels
from ident.plot.panel import draw_panel
from ident.plot.view import fit_view, style
from ident.tree import ROOT, Configuration, KinematicTree

COLORS = ("#1f6fb4", "#d1570f", "#17876a", "#b5529a", "#b8860b", "#5a52b8", "#3a9bc1", "#8a4b2d")
"""One per joint or handle; told apart also by people who do not see red and green."""
OUTLIER = "#9aa0aa"
MAGNIFICATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_WIDEST_CONE = 0.14
"""Half-angle (rad) up to which uncertainty is magnified, so that it can be seen at all."""
_SMALL = 0.35
"""Parts below this share of the whole are shown again, larger."""
_DETAIL_LEFT, _DETAIL_TOP = 0.735, 0.38
"""Where the closer look goes, in the figure: below the numbers, if they leave enough height."""
_GATE = 4.0
"""A sample farther from its joint than so many noise deviations is shown as an outlier."""

Takes = Mapping[str, Sequence[Array]]
"""Measured tip positions (n, 3) or poses (n, 4, 4) in root, by the name of the joint or handle they were made for."""


@dataclass
class Drawn:
    """What was drawn: for the view, the labels and the panel."""

    points: list[Array] = field(default_factory=list)
    """What must be seen."""
    crowd: list[Array] = field(default_factory=list)
    """Where labels had better not be."""
    axes: list[Array] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    colors: dict[str, str] = field(default_factory=dict)
    magnification: int = 1
    """How many times larger than life uncertainty is shown (two standard deviations)."""
    outliers: bool = False


def draw_model(
    ax: Any,
    tree: KinematicTree,
    q: Configuration | None = None,
    takes: Takes | None = None,
    *,
    only: Sequence[str] | None = None,
    walls: bool = True,
    direction: tuple[float, float] | None = None,
    keep_view: bool = False,
) -> Drawn:
    """Draw a tree at q into a 3-D axes, over measured takes where given.

    ``only`` names the joints and handles to draw, by default all. Without ``walls`` there are no axes of coordinates
    around them. ``direction`` gives elevation and azimuth in degrees.
    With ``keep_view`` limits and direction of the axes stay as they are, for drawing again while a joint moves.
    """
    ax.computed_zorder = False
    drawn = Drawn(colors={name: COLORS[i % len(COLORS)] for i, name in enumerate(tree.nodes)})
    names = tuple(tree.nodes) if only is None else tuple(only)
    size = extent(tree, names)
    drawn.magnification = _magnification(tree)
    for name in names:
        _draw_takes(ax, tree, name, (takes or {}).get(name, ()), drawn)
    for name in names:
        _draw_node(ax, tree, tree.nodes[name], q, size, drawn, link=tree.nodes[name].parent in names)
    if only is None:
        _draw_root(ax, size, drawn)
    style(ax) if walls else ax.set_axis_off()
    if not keep_view:
        fit_view(ax, np.concatenate(drawn.points), np.array(drawn.axes).reshape(-1, 3), direction, walls=walls)
    place_labels(ax, drawn.labels, np.concatenate([*drawn.points, *drawn.crowd]))
    return drawn


def save_model_figure(
    tree: KinematicTree,
    *paths: str | os.PathLike[str],
    q: Configuration | None = None,
    takes: Takes | None = None,
    title: str | None = None,
) -> None:
    """Write the picture of a tree as PNG (1600×1200), SVG or PDF, by the ending of each path."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for wanted in map(Path, paths):
        if wanted.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ModelError(
                f"{wanted} ends in none of .png, .svg and .pdf, which are the figures that can be written."
            )
    figure = Figure(figsize=(8.0, 6.0), dpi=200, facecolor="white")
    FigureCanvasAgg(figure)
    ax: Any = figure.add_axes((0.0, 0.02, 0.71, 0.92), projection="3d")
    drawn = draw_model(ax, tree, q, takes)
    figure.text(0.03, 0.955, title or tree.name, fontsize=15, fontweight="bold", color="#222a35", va="center")
    end = draw_panel(
        figure, tree, drawn.colors, drawn.magnification, with_data=bool(takes), with_outliers=drawn.outliers
    )
    detail = small_parts(tree)
    if detail and end > _DETAIL_TOP:
        inset = figure.add_axes((0.715, 0.145, 0.28, end - 0.18), projection="3d")
        draw_model(inset, tree, q, takes, only=detail, walls=False, direction=(ax.elev, ax.azim))
        figure.text(_DETAIL_LEFT, end - 0.025, "detail", fontsize=8, color="#5b6472", style="italic", va="center")
    for path in paths:
        try:
            figure.savefig(path, dpi=200)
        except OSError as error:
            raise ModelError(f"{path} cannot be written: {error.strerror}. Choose another folder.") from None


def _draw_node(
    ax: Any, tree: KinematicTree, node: Node, q: Configuration | None, size: float, drawn: Drawn, *, link: bool
) -> None:
    color = drawn.colors[node.name]
    parent2root = tree.pose(node.parent, q, check_limits=False)
    joint2root = parent2root @ node.origin
    child2root = tree.pose(node.name, q, check_limits=False)
    origin, axis = joint2root[:3, 3], joint2root[:3, 2]
    # The tree itself: a thin line from each link to what hangs on it.
    if link:
        shapes.line(ax, [parent2root[:3, 3], origin], "#8c93a0", linewidth=0.8, linestyle=(0, (3, 2)), zorder=2)
    anchor = origin
    reach = 0.2 * size
    # The axis is drawn around the origin of a turn, and beyond the far end of what slides.
    low, high = -0.6 * reach, reach
    for mark in node.marks():
        match mark:
            case Arc(radius=radius, lower=lower, upper=upper):
                edge = shapes.sector(ax, joint2root, radius, lower, upper, color, head=0.035 * size)
                drawn.points.append(edge)
                anchor = edge[len(edge) // 2] if len(node.marks()) == 1 else anchor
            case Bar(lower=lower, upper=upper):
                ends = shapes.bar(ax, joint2root, lower, upper, 0.03 * size, color)
                drawn.points.append(ends)
                anchor, low, high = ends.mean(axis=0), -0.3 * reach, min(upper, 0.5) + 0.6 * reach
            case Cylinder(radius=radius, lower=lower, upper=upper):
                ends = shapes.rod(ax, joint2root, radius, lower, upper, color)
                drawn.points.append(ends)
                anchor, low, high = ends.mean(axis=0), max(lower, -0.5) - 0.4 * reach, min(upper, 0.5) + 0.6 * reach
            case Block(size=edge_length):
                shapes.cube(ax, joint2root, edge_length, color)
    if node.dof:
        _draw_uncertainty(ax, tree, node, joint2root, q, (low, high), drawn)
        shapes.arrow(ax, origin + low * axis, origin + high * axis, color, width=1.5, head=0.045 * size)
        drawn.axes.append(axis)
        drawn.points.append(np.array([origin + low * axis, origin + high * axis]))
        drawn.crowd.append(origin + np.linspace(low, high, 25)[:, None] * axis)
    shapes.triad(ax, child2root, 0.07 * size)
    drawn.points.append(origin[None])
    drawn.labels.append(Label(node.name, anchor, color))


def _draw_uncertainty(
    ax: Any,
    tree: KinematicTree,
    node: Node,
    joint2root: Array,
    q: Configuration | None,
    reach: tuple[float, float],
    drawn: Drawn,
) -> None:
    """Two standard deviations of the axis against its parent link: a double cone for its tilt, an ellipse for its
    shift."""
    turn = tree.pose(node.parent, q, check_limits=False)[:3, :3]
    covariance = node.covariance()
    if not covariance.any():
        return
    scale = 2.0 * drawn.magnification
    axis, origin, color = joint2root[:3, 2], joint2root[:3, 3], drawn.colors[node.name]
    turn_axis = np.cross(np.eye(3), node.axis)
    tilts = _half_axes(turn_axis.T @ covariance[3:, 3:] @ turn_axis) @ turn.T
    shapes.cones(ax, origin, axis, reach, scale * tilts, color)
    across = np.eye(3) - np.outer(node.axis, node.axis)
    half = scale * _half_axes(across @ covariance[:3, :3] @ across) @ turn.T
    shapes.ellipse(ax, origin, half, color)
    drawn.points.append(origin + np.concatenate([half, -half]))


def _half_axes(covariance: Array) -> Array:
    """The two largest half-axes (2, 3) of one standard deviation."""
    values, vectors = np.linalg.eigh(covariance)
    half: Array = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return half[1:]


def _draw_takes(ax: Any, tree: KinematicTree, name: str, takes: Sequence[Array], drawn: Drawn) -> None:
    color = drawn.colors[name]
    for take in takes:
        points = np.asarray(take, dtype=float)
        points = points[:, :3, 3] if points.ndim == 3 else points.reshape(-1, 3)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            continue
        good = _inliers(tree, tree.nodes[name], points)
        # Wide and pale, so that the thin line of the model lies visibly in the middle of its data.
        ax.scatter(*points[good].T, s=20.0, color=color, alpha=0.14, linewidths=0, depthshade=False, zorder=2)
        if not good.all():
            drawn.outliers = True
            style_ = {"s": 7.0, "color": OUTLIER, "marker": "x", "linewidths": 0.7}
            ax.scatter(*points[~good].T, alpha=0.8, depthshade=False, zorder=4, **style_)
        low, high = np.percentile(points[good] if good.any() else points, [1, 99], axis=0)
        drawn.points.append(np.array([low, high]))
        drawn.crowd.append(points[:: max(1, len(points) // 40)])


def _inliers(tree: KinematicTree, node: Node, points: Array) -> Any:
    """Samples that lie on what the joint or handle allows the tip to do, within the noise that its fit found."""
    if node.evidence is None:
        return np.ones(len(points), dtype=bool)
    parent2root = tree.pose(node.parent, dict(node.evidence.measured_at), check_limits=False)
    local = (points - parent2root[:3, 3]) @ parent2root[:3, :3]
    to_joint = inverse(node.origin)
    local = local @ to_joint[:3, :3].T + to_joint[:3, 3]
    primitives = {p.motion for p in node.primitives()}
    radial = np.hypot(local[:, 0], local[:, 1])
    if primitives == {"turn"}:
        away = np.hypot(radial - np.median(radial), local[:, 2] - np.median(local[:, 2]))
    elif not primitives:
        away = np.linalg.norm(local, axis=1)
    elif primitives == {"slide"}:
        away = np.hypot(*(local[:, :2] - np.median(local[:, :2], axis=0)).T)
    else:
        away = np.abs(radial - np.median(radial))
    return away <= _GATE * np.sqrt(2.0) * max(node.evidence.noise, 1e-4)


def _draw_root(ax: Any, size: float, drawn: Drawn) -> None:
    """The root frame, unless it is so far away that the object would become a dot."""
    points = np.concatenate(drawn.points) if drawn.points else np.zeros((1, 3))
    low, high = points.min(axis=0) - 0.35 * size, points.max(axis=0) + 0.35 * size
    if (low <= 0.0).all() and (high >= 0.0).all():
        shapes.triad(ax, np.eye(4), 0.1 * size, width=2.2)
        drawn.points.append(np.zeros((1, 3)))
        drawn.labels.append(Label(ROOT, np.zeros(3), "#4a5260"))
    elif not drawn.points:
        drawn.points.append(points)


def extent(tree: KinematicTree, names: Sequence[str]) -> float:
    """Size in metres of some joints and handles, with their limits."""
    points = [np.zeros(3)] if not names else []
    for node in (tree.nodes[name] for name in names):
        joint2root = tree.pose(node.parent, {}, check_limits=False) @ node.origin
        corners = [np.zeros(3)]
        for mark in node.marks():
            if isinstance(mark, Arc):
                corners += [np.array([mark.radius, 0.0, 0.0]), np.array([0.0, mark.radius, 0.0])]
            elif isinstance(mark, Bar | Cylinder):
                corners += [np.array([0.0, 0.0, v]) for v in (mark.lower, mark.upper) if np.isfinite(v)]
        points += [joint2root[:3, :3] @ c + joint2root[:3, 3] for c in corners]
    return max(float(np.ptp(np.array(points), axis=0).max()), 0.05)


def small_parts(tree: KinematicTree) -> tuple[str, ...]:
    """Joints and handles that are small and close together on a large object: they deserve a closer look."""
    whole = extent(tree, tuple(tree.nodes))
    small = tuple(name for name in tree.nodes if extent(tree, (name,)) < _SMALL * whole)
    return small if 1 < len(small) < len(tree.nodes) and extent(tree, small) < _SMALL * whole else ()


def _magnification(tree: KinematicTree) -> int:
    """How much uncertainty must be magnified to be seen, the same for all joints."""
    widest = max((n.evidence.axis_std for n in tree.nodes.values() if n.evidence is not None and n.dof), default=0.0)
    fitting = [m for m in MAGNIFICATIONS if 2.0 * widest * m <= _WIDEST_CONE]
    return fitting[-1] if fitting and widest > 0.0 else 1
