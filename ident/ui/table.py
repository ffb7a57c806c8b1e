"""Tables for the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ident.demo import AXIS_GOAL_DEG, POSITION_GOAL_MM, Row
from ident.rig import DeviceStatus


def print_comparison(rows: Sequence[Row]) -> None:
    """Truth against identified, one line per joint and handle, and a verdict."""
    table = Table(title="Truth against identified", title_justify="left")
    table.add_column("")
    table.add_column("type")
    table.add_column("axis error", justify="right")
    table.add_column("position error", justify="right")
    table.add_column("range found", justify="right")
    table.add_column("true range", justify="right")
    table.add_column("within")
    for row in rows:
        position = "–" if row.position_error_mm != row.position_error_mm else f"{row.position_error_mm:.2f} mm"
        table.add_row(
            row.name,
            row.kind,
            f"{row.axis_error_deg:.3f}°",
            position,
            row.limits,
            row.truth or "–",
            "yes" if row.within else "NO",
        )
    console = Console()
    console.print(table)
    good = sum(row.within for row in rows)
    console.print(f"{good} of {len(rows)} within {AXIS_GOAL_DEG:g}° and {POSITION_GOAL_MM:g} mm.")


def print_statuses(statuses: Sequence[DeviceStatus]) -> None:
    """One line per device, then what to do about what is wrong."""
    table = Table(title="Rig", title_justify="left")
    for heading in ("device", "address", "state"):
        table.add_column(heading)
    table.add_column("rate", justify="right")
    table.add_column("details")
    for status in statuses:
        table.add_row(status.device, status.address, status.state, f"{status.rate_hz:.0f} Hz", status.details)
    console = Console()
    console.print(table)
    for status in statuses:
        if status.problem:
            console.print(f"{status.device}: {status.problem}")
