"""Solid little things in a 3-D axes: arrows, frames, sectors, rods, cones. Every point is in root, metres."""

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from fitting.se3 import Array, complete_axis, transform

FRAME_COLORS = ("#d03b3b", "#3c9d4e", "#3565c0")
"""x, y, z."""
_LIGHT = np.array([0.4, -0.6, 0.7])
"""Direction that light comes from, of unit length within a percent."""


def line(ax: Any, points: ArrayLike, color: str, **style: Any) -> None:
    """Draw a polyline through (n, 3)."""
    ax.plot(*np.asarray(points, dtype=float).T, color=color, **style)


def arrow(
    ax: Any, start: Array, end: Array, color: str, *, width: float = 2.0, head: float = 0.0, zorder: int = 5
) -> None:
    """Draw an arrow with a solid head of ``head`` metres, by default a sixth of its length."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length == 0.0:
        return
    head = min(head or length / 6.0, length)
    neck = end - along / length * head
    line(ax, [start, neck], color, linewidth=width, solid_capstyle="round", zorder=zorder)
    cone(ax, neck, end, color, zorder=zorder)


def cone(ax: Any, base: Array, tip: Array, color: str, *, zorder: int = 5) -> None:
    """Draw a solid cone, a third as wide as long, for the head of an arrow."""
    along = tip - base
    length = float(np.linalg.norm(along))
    if length == 0.0:
        return
    rim = _circle(base, along / length, 0.3 * length, 20)
    faces = [np.array([tip, rim[i], rim[i + 1]]) for i in range(len(rim) - 1)]
    ax.add_collection3d(Poly3DCollection(faces, facecolor=color, edgecolor="none", zorder=zorder))


def triad(ax: Any, child2root: Array, size: float, *, width: float = 1.6, zorder: int = 6) -> None:
    """Draw the three axes of a frame."""
    origin = child2root[:3, 3]
    for k, color in enumerate(FRAME_COLORS):
        end = origin + size * child2root[:3, k]
        line(ax, [origin, end], color, linewidth=width, solid_capstyle="round", zorder=zorder)


def sector(ax: Any, joint2root: Array, radius: float, lower: float, upper: float, color: str, *, head: float) -> Array:
    """Draw what a turn sweeps, with a bold edge; return the edge (n, 3)."""
    if not np.isfinite([lower, upper]).all():
        lower, upper = 0.0, 2.0 * np.pi
    angle = np.linspace(lower, upper, max(12, int(abs(upper - lower) / 0.04)))
    edge = transform(joint2root, radius * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=-1))
    center = joint2root[:3, 3]
    face = np.concatenate([[center], edge])
    ax.add_collection3d(Poly3DCollection([face], facecolor=color, edgecolor="none", alpha=0.13, zorder=1))
    line(ax, edge, color, linewidth=1.5, solid_capstyle="butt", zorder=4)
    for end in (edge[0], edge[-1]):
        line(ax, [center, end], color, linewidth=0.8, alpha=0.8, zorder=3)
    # A head at the upper limit, as large as a short arc allows: this way q grows.
    head = min(head, 0.3 * radius * abs(upper - lower))
    tangent = edge[-1] - edge[-2]
    cone(ax, edge[-1] - tangent / np.linalg.norm(tangent) * head, edge[-1], color)
    return edge


def bar(ax: Any, joint2root: Array, lower: float, upper: float, cap: float, color: str) -> Array:
    """Draw the stretch of a slide, with crosses for stops; return its ends (2, 3)."""
    stops = np.isfinite([lower, upper])
    ends = [lower if stops[0] else -0.5, upper if stops[1] else 0.5]
    points = transform(joint2root, np.array([[0.0, 0.0, e] for e in ends]))
    line(ax, points, color, linewidth=1.5, solid_capstyle="butt", zorder=4)
    for point, stop in zip(points, stops, strict=True):
        if stop:
            ring = _circle(point, joint2root[:3, 2], cap, 24)
            disc = Poly3DCollection([ring], facecolor=color, edgecolor=color, alpha=0.35, linewidth=1.0, zorder=3)
            ax.add_collection3d(disc)
    return points


def rod(ax: Any, joint2root: Array, radius: float, lower: float, upper: float, color: str) -> Array:
    """Draw a cylinder about the z-axis; return its two ends (2, 3)."""
    low, high = max(lower, -0.5), min(upper, 0.5)
    if high - low < 2.0 * radius:
        low, high = 0.5 * (low + high) - radius, 0.5 * (low + high) + radius
    ends = transform(joint2root, np.array([[0.0, 0.0, low], [0.0, 0.0, high]]))
    rims = [_circle(end, joint2root[:3, 2], radius, 25) for end in ends]
    axis = joint2root[:3, 2]
    base = np.array(to_rgb(color))
    sides = [np.array([rims[0][i], rims[0][i + 1], rims[1][i + 1], rims[1][i]]) for i in range(24)]
    normals = [side.mean(axis=0) - ends.mean(axis=0) for side in sides]
    # Faces of one kind in one collection: matplotlib mixes up those with different numbers of corners.
    for faces, outward in ((sides, normals), (rims, [-axis, axis])):
        shades = [0.8 + 0.2 * float(n @ _LIGHT) / float(np.linalg.norm(n)) for n in outward]
        colors = [tuple(shade * (0.3 + 0.7 * base)) for shade in shades]
        ax.add_collection3d(Poly3DCollection(faces, facecolors=colors, edgecolor="none", zorder=4))
    return ends


def cube(ax: Any, joint2root: Array, size: float, color: str) -> None:
    """Draw a cube around an origin."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2.0
    p = transform(joint2root, corners)
    faces = [p[[0, 1, 3, 2]], p[[4, 5, 7, 6]], p[[0, 1, 5, 4]], p[[2, 3, 7, 6]], p[[0, 2, 6, 4]], p[[1, 3, 7, 5]]]
    ax.add_collection3d(Poly3DCollection(faces, facecolor=color, edgecolor="white", linewidth=0.4, alpha=0.8, zorder=4))


def cones(ax: Any, point: Array, axis: Array, lengths: tuple[float, float], tilts: Array, color: str) -> None:
    """Draw where the axis may be: an elliptic double cone with half-angles ``tilts`` (2, 3), radians times
    directions."""
    angle = np.linspace(0.0, 2.0 * np.pi, 41)[:, None]
    rim = np.cos(angle) * tilts[0] + np.sin(angle) * tilts[1]
    for way in lengths:
        edge = point + way * (axis + rim)
        faces = [np.array([point, edge[i], edge[i + 1]]) for i in range(len(edge) - 1)]
        ax.add_collection3d(Poly3DCollection(faces, facecolor=color, edgecolor="none", alpha=0.16, zorder=2))
        ax.add_collection3d(Line3DCollection([edge], colors=color, linewidths=0.8, alpha=0.6, zorder=2))


def ellipse(ax: Any, point: Array, half_axes: Array, color: str) -> None:
    """Draw a filled ellipse with half-axes (2, 3) in metres."""
    angle = np.linspace(0.0, 2.0 * np.pi, 41)[:, None]
    rim = point + np.cos(angle) * half_axes[0] + np.sin(angle) * half_axes[1]
    shape = Poly3DCollection([rim], facecolor=color, edgecolor=color, alpha=0.3, linewidth=0.9, zorder=2)
    ax.add_collection3d(shape)


def _circle(center: Array, axis: Array, radius: float, n: int) -> Array:
    basis = complete_axis(axis)
    angle = np.linspace(0.0, 2.0 * np.pi, n)[:, None]
    return np.asarray(center + radius * (np.cos(angle) * basis[:, 0] + np.sin(angle) * basis[:, 1]))
