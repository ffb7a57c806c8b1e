"""Results as Markdown and CSV."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ident.study.scores import Score, Scored
from ident.study.statistics import Summary


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
    "the same by its ruler",
    "published",
    "here / published",
    "by its ruler / published",
)
_VERDICTS = ("", "first take not good", "claimed axis σ (°)", "claimed position σ (mm)", "no fit")


def thesis_markdown(rows: Sequence[Scored]) -> str:
    """The source's tables with ours and its method beside the published figures."""
    parts = []
    for table in dict.fromkeys(s.row.table for s in rows):
        own = [s for s in rows if s.row.table == table]
        parts.append(f"### {table}\n\nAxis angle, degrees:\n")
        parts.append(markdown(_HEAD, (_cells(s, s.angle) for s in own)))
        placed = [s for s in own if s.position.theirs.n]
        if placed:
            parts.append("Axis position, millimetres:\n")
            parts.append(markdown(_HEAD, (_cells(s, s.position) for s in placed)))
    parts += ["### What our verdicts said\n", markdown(_VERDICTS, (_verdict_cells(s) for s in rows))]
    told = "\n".join(f"- {line}" for line in not_better(rows)) or "None."
    parts.append(f"### Rows in which ours is not the best\n\n{told}\n")
    return "\n".join(parts)


def _cells(s: Scored, score: Score) -> list[str]:
    published = score.published
    told = f"{number(published[0])} ± {number(published[1])}" if published else s.row.remark or "–"
    name = s.row.title if score.standing == "better" else f"{s.row.title} ({score.standing})"
    return [
        f"**{name}**" if score.standing == "worse" else name,
        mean_text(score.ours),
        _tail(score.ours),
        mean_text(score.theirs),
        _tail(score.theirs),
        mean_text(score.by_ruler),
        told,
        number(score.ratio),
        number(score.ruler_ratio),
    ]


def _verdict_cells(s: Scored) -> list[str]:
    return [
        s.row.title,
        f"{100.0 * s.asked_again:.0f} %",
        number(s.claimed_angle),
        number(s.claimed_position) if s.position.ours.n else "–",
        str(s.failed),
    ]


def not_better(rows: Sequence[Scored]) -> list[str]:
    """Rows in which ours is worse, only as good, or sometimes gives no fit, with all figures."""
    found = []
    for s in rows:
        for score in (s.angle, s.position):
            if score.standing != "better":
                unit = score.unit
                other = f"published {number(score.published[0])}{unit}" if score.published else "nothing published"
                figures = f"ours {number(score.ours.mean)}{unit}, its method {number(score.theirs.mean)}{unit}, {other}"
                found.append(f"{s.row.title}, {score.standing}: {figures}")
        if s.failed:
            found.append(f"{s.row.title}: no fit of ours in {s.failed} trials, which its means leave out")
    return found


def worse(rows: Sequence[Scored]) -> bool:
    """Whether any row is worse than the published figure or clearly worse than the source's method."""
    return any(score.standing == "worse" for s in rows for score in (s.angle, s.position))


def thesis_rows(rows: Sequence[Scored]) -> list[dict[str, Any]]:
    """The same as flat records."""
    records = []
    for s in rows:
        record: dict[str, Any] = {"table": s.row.table, "row": s.row.title}
        for name, score in (("angle_deg", s.angle), ("position_mm", s.position)):
            for who, summary in (("ours", score.ours), ("theirs", score.theirs)):
                record |= {f"{who}_{name}_{key}": getattr(summary, key) for key in ("mean", "std", "median", "p95")}
            mean, std = score.published or (math.nan, math.nan)
            record |= {f"published_{name}": mean, f"published_{name}_std": std, f"ratio_{name}": score.ratio}
            record |= {f"by_ruler_{name}_mean": score.by_ruler.mean, f"ruler_ratio_{name}": score.ruler_ratio}
            record |= {f"standing_{name}": score.standing if score.ours.n else ""}
        record |= {
            "claimed_angle_deg": s.claimed_angle,
            "claimed_position_mm": s.claimed_position,
            "asked_again": s.asked_again,
            "failed": s.failed,
        }
        records.append(record)
    return records
