"""Sweep, real recordings and operator time as Markdown and flat records."""

import math
from collections.abc import Sequence
from typing import Any

from ident.study.real import Found, Spread
from ident.study.sweep import ARCS_DEG, PARAMETERS, Cell
from ident.study.tables import markdown, number
from ident.study.timing import BETWEEN_S, PUBLISHED_S, Effort
from ident.truth import AXIS_GOAL_DEG, POSITION_GOAL_MM

COVERAGE = (0.90, 0.98)
"""Share of true axes that an honest 95 % region contains."""


def sweep_markdown(cells: Sequence[Cell]) -> str:
    """How far to open, and whether the claimed uncertainty can be believed."""
    return "\n".join(
        [
            f"Arc from which on the median error stays within {AXIS_GOAL_DEG:g}° and {POSITION_GOAL_MM:g} mm:\n",
            markdown(("", "value: arc"), ((p.title, _arcs(cells, p.name)) for p in PARAMETERS.values())),
            "Share of trials whose 95 % region contains the true axis (direction / position):\n",
            markdown(("", "all arcs", "mean square", *(f"{a:g}°" for a in ARCS_DEG)), _coverage_rows(cells)),
        ]
    )


def _arcs(cells: Sequence[Cell], name: str) -> str:
    parts = []
    for value in PARAMETERS[name].values:
        row = [c for c in cells if c.parameter.name == name and c.value == value]
        bad = [c.arc_deg for c in row if not (c.angle_deg <= AXIS_GOAL_DEG and c.position_mm <= POSITION_GOAL_MM)]
        good = [c.arc_deg for c in row if c.arc_deg > max(bad, default=0.0)]
        parts.append(f"{value:g}: {f'{min(good):g}°' if good else 'none'}")
    return ", ".join(parts)


def _coverage_rows(cells: Sequence[Cell]) -> list[list[str]]:
    rows = []
    for parameter in PARAMETERS.values():
        for value in parameter.values:
            row = [c for c in cells if c.parameter.name == parameter.name and c.value == value]
            rows.append([f"{parameter.title} {value:g}", _coverage(row), _squares(row), *(_coverage([c]) for c in row)])
    arcs = ([c for c in cells if c.arc_deg == arc] for arc in ARCS_DEG)
    return [*rows, ["all", _coverage(cells), _squares(cells), *map(_coverage, arcs)]]


def _coverage(cells: Sequence[Cell]) -> str:
    """Shares inside of the regions for direction and position, marked where chance does not explain them."""
    trials = sum(c.fitted for c in cells)
    inside = sum(c.inside_angle for c in cells), sum(c.inside_position for c in cells)
    if not trials:
        return "–"
    marked = " (!)" if any(not plausible(count, trials) for count in inside) else ""
    return " / ".join(_percent(count / trials) for count in inside) + marked


def plausible(inside: int, trials: int) -> bool:
    """Whether so many of the trials may be inside where the true share is within ``COVERAGE`` (two standard errors)."""
    low, high = (trials * share for share in COVERAGE)
    below, above = (2.0 * math.sqrt(trials * share * (1.0 - share)) for share in COVERAGE)
    return low - below <= inside <= high + above


def _squares(cells: Sequence[Cell]) -> str:
    """Mean normalised squares over cells, each counted as often as it has trials."""
    trials = max(sum(c.fitted for c in cells), 1)
    parts = (
        sum(c.fitted * value for c in cells if math.isfinite(value := getattr(c, key))) / trials
        for key in ("square_angle", "square_position")
    )
    return " / ".join(number(part) for part in parts)


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %" if math.isfinite(share) else "–"


def sweep_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Cells as flat records."""
    return [{**vars(cell), "parameter": cell.parameter.name} for cell in cells]


def real_markdown(found: Sequence[Found], spreads: Sequence[Spread]) -> str:
    """Agreement of repeats, then each recording."""
    agreement = (
        [
            s.group,
            str(s.repeats),
            s.kind or "does not tell",
            f"{number(s.ours_deg)} / {number(s.plain_deg)}",
            f"{number(s.ours_mm)} / {number(s.plain_mm)}",
            f"{number(s.ours_radius_mm)} / {number(s.plain_radius_mm)}",
        ]
        for s in spreads
        if math.isfinite(s.ours_deg)
    )
    single = (
        [
            f.recording.name,
            str(len(f.recording.positions)),
            f.kind or "does not tell",
            number(f.rms_mm),
            _percent(f.inlier_share),
            number(f.radius_m, 3),
            f"{number(f.halves_ours_deg)} / {number(f.halves_plain_deg)}",
        ]
        for f in found
    )
    return "\n".join(
        [
            "Repeats of one mechanism, rms distance from their mean, ours / plain least squares:\n",
            markdown(("", "repeats", "type", "axis (°)", "position (mm)", "radius (mm)"), agreement),
            "Each recording; the last column is the angle between the axes of its two halves, ours / plain:\n",
            markdown(("", "samples", "type", "rms (mm)", "used", "radius (m)", "halves (°)"), single),
        ]
    )


def real_rows(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Recordings as flat records."""
    keys = ("kind", "rms_mm", "inlier_share", "radius_m", "plain_radius_m", "halves_ours_deg", "halves_plain_deg")
    return [{"recording": f.recording.name, **{key: getattr(f, key) for key in keys}} for f in found]


def time_markdown(efforts: Sequence[Effort]) -> str:
    """What an identification costs."""
    rows = [
        [
            e.what,
            str(e.joints),
            number(e.actions, 3),
            number(e.takes, 2),
            f"{e.moving_s:.0f}",
            f"{e.total_s:.0f}",
            f"{e.per_joint:.0f}",
        ]
        for e in efforts
    ]
    head = ("", "joints and handles", "actions", "takes", "moving (s)", "in all (s)", "per joint (s)")
    note = (
        f"Simulated operators: {BETWEEN_S:g} s are allowed between takes for reading and gripping (assumed). "
        f"The source needed {PUBLISHED_S:g} s for its test bench.\n"
    )
    return f"{markdown(head, rows)}\n{note}"


def time_rows(efforts: Sequence[Effort]) -> list[dict[str, Any]]:
    """Efforts as flat records."""
    return [{**vars(effort), "per_joint_s": effort.per_joint} for effort in efforts]
