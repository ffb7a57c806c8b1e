"""Results as figures."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fitting.se3 import Array
from ident.study.scores import Score, Scored
from ident.study.sweep import ARCS_DEG, PARAMETERS, Cell
from ident.study.tables import number

OURS, THEIRS, PUBLISHED = "#1b6ca8", "#c8553d", "#333333"


def save_thesis_figure(scored: Sequence[Scored], path: Path, title: str) -> None:
    """Median and 95th percentile of each row, ours and the source's method, beside the published mean."""
    figure = Figure(figsize=(11, 0.34 * len(scored) + 1.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, scored, "axis angle error (°)", lambda s: s.angle)
    _panel(right, scored, "axis position error (mm)", lambda s: s.position)
    left.set_yticks(range(len(scored)), [s.row.title for s in scored])
    left.invert_yaxis()
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    marks = [
        Line2D([], [], color=OURS, marker="o", label="ours: median, line to 95th percentile"),
        Line2D([], [], color=THEIRS, marker="s", label="the source's method, same data"),
        Line2D([], [], color=PUBLISHED, marker="|", ls="", ms=11, mew=2, label="published mean"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130)


def _panel(ax: Axes, scored: Sequence[Scored], label: str, pick: Callable[[Scored], Score]) -> None:
    for y, s in enumerate(scored):
        score = pick(s)
        for summary, color, marker, shift in ((score.ours, OURS, "o", -0.17), (score.theirs, THEIRS, "s", 0.17)):
            if summary.n:
                ax.plot([summary.median, summary.p95], [y + shift] * 2, color=color, lw=2, solid_capstyle="round")
                ax.plot(summary.median, y + shift, marker, color=color, ms=5)
        if score.published:
            ax.plot(score.published[0], y, "|", color=PUBLISHED, ms=15, mew=2)
        if y and s.row.table != scored[y - 1].row.table:
            ax.axhline(y - 0.5, color="0.6", lw=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel(label)
    ax.grid(axis="x", which="major", color="0.88")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def save_sweep_figure(cells: Sequence[Cell], path: Path, what: str, title: str) -> None:
    """Heat maps of error, claimed uncertainty and limit over arc and each parameter; ``what`` angle or position."""
    unit = "deg" if what == "angle" else "mm"
    keys = (f"{what}_{unit}", f"claimed_{what}_{unit}", f"limit_{what}_{unit}")
    heads = ("median error", "claimed (median σ)", "limit: white noise, rigid grip")
    values = [v for c in cells for k in keys if math.isfinite(v := getattr(c, k)) and v > 0.0]
    norm = LogNorm(max(min(values), 1e-3), min(max(values), 1e3))
    figure = Figure(figsize=(10.5, 2.15 * len(PARAMETERS) + 1.0), layout="constrained")
    axes = figure.subplots(len(PARAMETERS), 3, squeeze=False)
    for index, (row, parameter) in enumerate(zip(axes, PARAMETERS.values(), strict=True)):
        for ax, key, head in zip(row, keys, heads, strict=True):
            table = np.array(
                [
                    [getattr(c, key) for c in cells if c.parameter == parameter and c.value == value]
                    for value in parameter.values
                ]
            )
            image = ax.imshow(table, norm=norm, cmap="YlOrRd", aspect="auto")
            _annotate(ax, table, norm)
            ax.set_xticks(range(len(ARCS_DEG)), [f"{a:g}°" for a in ARCS_DEG])
            ax.set_yticks(range(len(parameter.values)), [f"{v:g}" for v in parameter.values])
            ax.tick_params(length=0, labelsize=8)
            if not index:
                ax.set_title(head, fontsize=10)
        row[0].set_ylabel(parameter.title, fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("arc")
    figure.colorbar(image, ax=axes, label=f"axis {what} ({'°' if what == 'angle' else 'mm'})", aspect=50, pad=0.01)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=120)


def _annotate(ax: Axes, table: Array, norm: LogNorm) -> None:
    for (y, x), value in np.ndenumerate(table):
        dark = math.isfinite(value) and float(norm(value)) > 0.7
        ax.text(x, y, number(float(value)), ha="center", va="center", fontsize=8, color="white" if dark else "black")
