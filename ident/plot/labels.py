"""Labels that do not lie on each other: greedy placement around their anchors, in pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting.se3 import Array
from ident.plot.view import pixels

_DIRECTIONS = 16
_DISTANCES = (26.0, 38.0, 52.0, 70.0, 94.0)
"""Points between an anchor and the middle of its label."""
_CROWDED = 150.0
"""Cost of lying on everything that is drawn; a label has to lie on some of it now and then."""


@dataclass(frozen=True)
class Label:
    """A text that points at something."""

    text: str
    anchor: Array
    """(3,) in root, metres."""
    color: str


def place_labels(ax: Any, labels: Sequence[Label], avoid: Array, *, size: float = 9.0) -> list[Any]:
    """Annotate each anchor, away from the other labels, from their leaders and from the points to avoid (n, 3)."""
    if not labels:
        return []
    figure = ax.get_figure()
    figure.canvas.draw()
    scale = figure.dpi / 72.0
    anchors = pixels(ax, np.array([label.anchor for label in labels]))
    crowd = pixels(ax, avoid) if len(avoid) else np.zeros((0, 2))
    window = ax.get_window_extent()
    boxes: list[Array] = []
    artists = []
    # The most crowded anchors choose last from what is left; those at the rim find room easily, so they go first.
    centre = anchors.mean(axis=0)
    order = np.argsort(-np.linalg.norm(anchors - centre, axis=1))
    for i in order:
        label = labels[i]
        half = np.array([0.32 * size * len(label.text) + 3.0, 0.75 * size]) * scale
        best, best_cost = np.zeros(2), np.inf
        for distance in _DISTANCES:
            for angle in np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False):
                way = np.array([np.cos(angle), np.sin(angle)])
                offset = way * (distance * scale + np.abs(way) @ (half - half.min()))
                box = np.concatenate([anchors[i] + offset - half, anchors[i] + offset + half])
                cost = _cost(box, boxes, crowd, anchors, window) + 0.03 * distance
                # Outwards reads better than across the object.
                cost -= 0.8 * float(way @ (anchors[i] - centre)) / (float(np.linalg.norm(anchors[i] - centre)) or 1.0)
                if cost < best_cost:
                    best, best_cost = offset, cost
        boxes.append(np.concatenate([anchors[i] + best - half, anchors[i] + best + half]))
        artists.append(_annotate(ax, label, anchors[i], best / scale, size))
    return artists


def _annotate(ax: Any, label: Label, pixel: Array, offset: Array, size: float) -> Any:
    return ax.annotate(
        label.text,
        # As a share of the page: files of lines have other pixels than those in which the room was looked for.
        xy=tuple(pixel / ax.get_figure().bbox.size),
        xycoords="figure fraction",
        xytext=tuple(offset),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        color=label.color,
        fontweight="bold",
        annotation_clip=False,
        zorder=20,
        bbox={"boxstyle": "round,pad=0.22", "facecolor": "white", "edgecolor": "none", "alpha": 0.82},
        arrowprops={"arrowstyle": "-", "color": label.color, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 2},
    )


def _cost(box: Array, boxes: Sequence[Array], crowd: Array, anchors: Array, window: Any) -> float:
    cost = sum(30.0 for other in boxes if _overlap(box, other))
    cost += 4.0 * float(_inside(box, anchors).sum()) + _CROWDED * float(_inside(box, crowd).sum()) / max(len(crowd), 1)
    outside = max(window.x0 - box[0], box[2] - window.x1, window.y0 - box[1], box[3] - window.y1, 0.0)
    return float(cost + outside)


def _overlap(a: Array, b: Array) -> bool:
    return bool(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def _inside(box: Array, points: Array) -> Any:
    return (points[:, 0] > box[0]) & (points[:, 0] < box[2]) & (points[:, 1] > box[1]) & (points[:, 1] < box[3])
