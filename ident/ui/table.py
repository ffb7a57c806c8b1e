"""Tables as plain text: they read the same on any terminal, in a pipe and in a log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A list of sessions needs neither devices nor fits, which take half a second to import.
    from ident.refitting import Change
    from ident.rig import DeviceStatus
    from ident.truth import Row


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Align columns; those whose index is in ``right`` to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        aligned = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "  ".join(aligned).rstrip()

    rule = ["─" * (len(header[-1]) if i == len(widths) - 1 else w) for i, w in enumerate(widths)]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def comparison_text(rows: Sequence["Row"]) -> str:
    """Truth against identified, one line per joint and handle, and a verdict."""
    from ident.truth import AXIS_GOAL_DEG, POSITION_GOAL_MM

    cells = [
        (
            row.name,
            row.kind,
            f"{row.axis_error_deg:.3f}°",
            "–" if row.position_error_mm != row.position_error_mm else f"{row.position_error_mm:.2f} mm",
            row.limits,
            row.truth or "–",
            "yes" if row.within else "NO",
        )
        for row in rows
    ]
    header = ("", "type", "axis off", "position off", "range", "true range", "within")
    good = sum(row.within for row in rows)
    verdict = f"{good} of {len(rows)} within {AXIS_GOAL_DEG:g}° and {POSITION_GOAL_MM:g} mm."
    return f"{table(header, cells, right=(2, 3, 4, 5))}\n\n{verdict}"


def changes_text(rows: Sequence["Change"]) -> str:
    """What a refit changed, one line per joint and handle."""

    def number(value: float | None, text: str) -> str:
        return "–" if value is None else format(value, text)

    cells = [
        (
            row.session,
            row.node,
            row.kind,
            number(row.axis_deg, ".3f"),
            number(row.position_mm, ".2f"),
            number(row.axis_std_deg, ".3f"),
            number(row.position_std_mm, ".2f"),
            number(row.residual_mm, ".2f"),
            "–" if row.samples is None else f"{row.samples_used} of {row.samples}",
            row.verdict_before,
            row.verdict_after,
        )
        for row in rows
        if not row.error
    ]
    header = (
        "session",
        "",
        "type",
        "axis moved °",
        "moved mm",
        "± °",
        "± mm",
        "residual mm",
        "samples",
        "before",
        "after",
    )
    return table(header, cells, right=(3, 4, 5, 6, 7, 8))


def status_text(statuses: Sequence["DeviceStatus"]) -> str:
    """One line per device, then what to do about what is wrong."""
    cells = [(s.device, s.address, s.state, f"{s.rate_hz:.0f} Hz", s.details) for s in statuses]
    problems = [f"{s.device}: {s.problem}" for s in statuses if s.problem]
    return "\n".join([table(("device", "address", "state", "rate", "details"), cells, right=(3,)), *problems])
