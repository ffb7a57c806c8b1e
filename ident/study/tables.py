"""Results as Markdown and CSV."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ident.study.statistics import Summary
from ident.study.thesis import Row, Scored


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
    """One line per row; what the study was is repeated in every line, so that tables can be put together."""
    text = StringIO()
    keys = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, [*keys, *about], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**{k: _cell(v) for k, v in row.items()}, **about})
    path.write_text(text.getvalue(), encoding="utf-8")


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return value


def number(value: float, digits: int = 2) -> str:
    """A number to so many significant digits, or a dash; never in powers of ten."""
    if not math.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 4)}f}"


def mean_text(summary: Summary) -> str:
    """Mean ± standard deviation."""
    return f"{number(summary.mean)} ± {number(summary.std)}" if summary.n else "–"


def _tail(summary: Summary) -> str:
    return f"{number(summary.median)} / {number(summary.p95)}" if summary.n else "–"


_HEAD = (
    "",
    "ours, mean ± σ",
    "median / p95",
    "its method here, mean ± σ",
    "median / p95",
    "published",
    "here / published",
)


def thesis_markdown(scored: Sequence[Scored]) -> str:
    """The source's tables with ours and its method beside the published figures."""
    parts = []
    for table in dict.fromkeys(s.row.table for s in scored):
        rows = [s for s in scored if s.row.table == table]
        parts.append(f"### {table}\n\nAxis angle, degrees:\n")
        parts.append(markdown(_HEAD, (_angle_cells(s) for s in rows)))
        placed = [s for s in rows if s.theirs_position.n]
        if placed:
            parts.append("Axis position, millimetres:\n")
            parts.append(markdown(_HEAD, (_position_cells(s) for s in placed)))
    parts += ["### What our verdicts said\n", markdown(_VERDICTS, (_verdict_cells(s) for s in scored))]
    worse = not_better(scored)
    told = "\n".join(f"- {line}" for line in worse) if worse else "None."
    parts.append(f"### Rows in which ours is not the best\n\n{told}\n")
    return "\n".join(parts)


_VERDICTS = ("", "first take not good", "claimed axis σ (°)", "claimed position σ (mm)", "no fit")


def _verdict_cells(s: Scored) -> list[str]:
    placed = s.ours_position.n > 0
    return [
        s.row.title,
        f"{100.0 * s.asked_again:.0f} %",
        number(s.claimed_angle),
        number(s.claimed_position) if placed else "–",
        str(s.ours_failed),
    ]


def _angle_cells(s: Scored) -> list[str]:
    return _cells(s.row, s.ours_angle, s.theirs_angle, s.row.angle_deg, s.ratios[0])


def _position_cells(s: Scored) -> list[str]:
    return _cells(s.row, s.ours_position, s.theirs_position, s.row.position_mm, s.ratios[1])


def _cells(row: Row, ours: Summary, theirs: Summary, published: tuple[float, float] | None, ratio: float) -> list[str]:
    words = row.remark or "–"
    told = f"{number(published[0])} ± {number(published[1])}" if published else words
    name = row.title if ours.mean <= _bar(theirs, published) else f"**{row.title} (not better)**"
    return [name, mean_text(ours), _tail(ours), mean_text(theirs), _tail(theirs), told, number(ratio)]


def _bar(theirs: Summary, published: tuple[float, float] | None) -> float:
    """What ours must not exceed: the better of the source's method on the same data and its published figure."""
    return min(theirs.mean, published[0]) if published else theirs.mean


def not_better(scored: Sequence[Scored]) -> list[str]:
    """Rows in which ours is not the best, with both figures."""
    found = []
    for s in scored:
        for what, ours, theirs, published in (
            ("°", s.ours_angle, s.theirs_angle, s.row.angle_deg),
            (" mm", s.ours_position, s.theirs_position, s.row.position_mm),
        ):
            if ours.n and ours.mean > _bar(theirs, published):
                other = f"published {published[0]}{what}" if published else "nothing published"
                found.append(
                    f"{s.row.title}: ours {number(ours.mean)}{what}, its method {number(theirs.mean)}{what}, {other}"
                )
    return found


def thesis_rows(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """The same as flat records."""
    rows = []
    for s in scored:
        record: dict[str, Any] = {"table": s.row.table, "row": s.row.title}
        for name, summary in (
            ("ours_angle_deg", s.ours_angle),
            ("theirs_angle_deg", s.theirs_angle),
            ("ours_position_mm", s.ours_position),
            ("theirs_position_mm", s.theirs_position),
        ):
            record |= {f"{name}_{key}": getattr(summary, key) for key in ("mean", "std", "median", "p95")}
        for name, published in (("angle_deg", s.row.angle_deg), ("position_mm", s.row.position_mm)):
            mean, std = published or (math.nan, math.nan)
            record |= {f"published_{name}": mean, f"published_{name}_std": std}
        record |= {
            "ratio_angle": s.ratios[0],
            "ratio_position": s.ratios[1],
            "claimed_angle_deg": s.claimed_angle,
            "claimed_position_mm": s.claimed_position,
            "asked_again": s.asked_again,
            "ours_failed": s.ours_failed,
            "theirs_failed": s.theirs_failed,
        }
        rows.append(record)
    return rows
