"""Results as figures."""

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ident.study.statistics import Summary
from ident.study.thesis import Scored

OURS, THEIRS, PUBLISHED = "#1b6ca8", "#c8553d", "#333333"


def save_thesis_figure(scored: Sequence[Scored], path: Path, title: str) -> None:
    """Median and 95th percentile of each row, ours and the source's method, beside the published mean."""
    figure = Figure(figsize=(11, 0.34 * len(scored) + 1.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, scored, "axis angle error (°)", lambda s: (s.ours_angle, s.theirs_angle, s.row.angle_deg))
    _panel(right, scored, "axis position error (mm)", lambda s: (s.ours_position, s.theirs_position, s.row.position_mm))
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


Values = tuple[Summary, Summary, tuple[float, float] | None]


def _panel(ax: Axes, scored: Sequence[Scored], label: str, pick: Callable[[Scored], Values]) -> None:
    for y, s in enumerate(scored):
        ours, theirs, published = pick(s)
        for summary, color, marker, shift in ((ours, OURS, "o", -0.17), (theirs, THEIRS, "s", 0.17)):
            if summary.n:
                ax.plot([summary.median, summary.p95], [y + shift] * 2, color=color, lw=2, solid_capstyle="round")
                ax.plot(summary.median, y + shift, marker, color=color, ms=5)
        if published:
            ax.plot(published[0], y, "|", color=PUBLISHED, ms=15, mew=2)
        if y and s.row.table != scored[y - 1].row.table:
            ax.axhline(y - 0.5, color="0.6", lw=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel(label)
    ax.grid(axis="x", which="major", color="0.88")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
