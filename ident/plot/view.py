"""Where to look from, and how much to show."""

from typing import Any

import numpy as np
from mpl_toolkits.mplot3d import proj3d  # type: ignore[import-untyped]

from fitting.se3 import Array

_MARGIN = 0.06
_FILL = 0.86
"""Share of the axes that the box fills; the rest is for ticks and their labels."""
_FLATTEST = 0.45
"""No side of the box is shorter than this share of the longest."""


def fit_view(
    ax: Any, points: Array, axes: Array, direction: tuple[float, float] | None = None, *, walls: bool = True
) -> None:
    """Show all points (n, 3) at equal scale, from where they spread most and no axis (k, 3) is seen end-on.

    ``direction`` gives elevation and azimuth in degrees instead. Without ``walls`` the points alone fill the axes.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, max(float((high - low).max()), 1e-3) * _FLATTEST) * (1.0 + 2.0 * _MARGIN)
    middle = 0.5 * (low + high)
    ax.set_xlim(*(middle[0] + size[0] * np.array([-0.5, 0.5])))
    ax.set_ylim(*(middle[1] + size[1] * np.array([-0.5, 0.5])))
    ax.set_zlim(*(middle[2] + size[2] * np.array([-0.5, 0.5])))
    elevation, azimuth = direction or best_view(points, axes)
    ax.view_init(elev=elevation, azim=azimuth)
    # From some distance, so that lengths near and far can be compared.
    ax.set_proj_type("persp", focal_length=2.0)
    ax.set_box_aspect(size / size.max())
    corners = middle + size * (np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - 0.5)
    flat = pixels(ax, corners if walls else points)
    window = ax.get_window_extent()
    spare = np.array([window.width, window.height]) / np.ptp(flat, axis=0)
    ax.set_box_aspect(size / size.max(), zoom=_FILL * float(spare.min()))


def pixels(ax: Any, points: Array) -> Array:
    """Where points (n, 3) appear in the figure, in pixels."""
    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    return np.asarray(ax.transData.transform(np.stack([x, y], axis=-1)))


def best_view(points: Array, axes: Array) -> tuple[float, float]:
    """Elevation and azimuth in degrees."""
    centred = points - points.mean(axis=0)
    best, score = (24.0, -60.0), -np.inf
    for elevation in (18.0, 26.0, 34.0):
        for azimuth in np.arange(-165.0, 181.0, 15.0):
            e, a = np.radians(elevation), np.radians(azimuth)
            towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
            right = np.array([-np.sin(a), np.cos(a), 0.0])
            up = np.cross(towards, right)
            flat = np.stack([centred @ right, centred @ up], axis=-1)
            spread = np.sqrt(max(float(np.linalg.det(flat.T @ flat / len(flat))), 0.0))
            # An axis seen end-on is a dot; one across the view leaves its sector edge-on: between is best.
            along = np.abs(axes @ towards) if len(axes) else np.array([0.5])
            seen = float(np.prod(np.clip(1.0 - ((along - 0.5) / 0.6) ** 2, 0.15, 1.0) ** (1.0 / len(along))))
            # The usual side wins unless another one is clearly better.
            habit = 1.0 + 0.12 * np.cos(np.radians(azimuth + 60.0))
            if spread * seen * habit > score:
                best, score = (float(elevation), float(azimuth)), spread * seen * habit
    return best


def style(ax: Any) -> None:
    """Pale walls, thin grid, few ticks."""
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((0.975, 0.978, 0.985, 1.0))
        axis.line.set_color("#b8bcc6")
        axis.line.set_linewidth(0.7)
        axis.set_tick_params(labelsize=7, colors="#667080", pad=-1)
        axis._axinfo["grid"].update(color="#e3e6ec", linewidth=0.6)  # noqa: SLF001 - the only way there is
        axis._axinfo["tick"].update(inward_factor=0.0, outward_factor=0.15)  # noqa: SLF001
        axis.set_major_locator(_locator())
    for name in "xyz":
        getattr(ax, f"set_{name}label")(f"{name} (m)", fontsize=8, color="#667080", labelpad=-3)


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])
