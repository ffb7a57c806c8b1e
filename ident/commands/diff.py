"""Compare two models joint by joint: axes in degrees and millimetres, limits, structure.

Joints and handles are matched by name. The distance of prismatic axes is not given, because a drawer's axis may lie
anywhere. σ says how many standard deviations of both fits the axes are apart. Exit status 0 if the models are the
same within --axis degrees, --position mm and --limit degrees or mm, else 1.

examples:
  ident diff monday.model.json tuesday.model.json
  ident diff a.model.json b.model.json --axis 0.5 --position 2 --limit 3
"""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ident.model.compare import Difference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("first", type=Path, help="a *.model.json")
    parser.add_argument("second", type=Path, help="another one")
    parser.add_argument("--axis", type=float, default=0.0, metavar="DEG", help="allowed angle (default: 0)")
    parser.add_argument("--position", type=float, default=0.0, metavar="MM", help="allowed distance (default: 0)")
    parser.add_argument("--limit", type=float, default=0.0, metavar="DEG|MM", help="allowed limit change (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Print a table; exit status 1 if anything differs by more than allowed."""
    from rich.console import Console
    from rich.table import Table

    from ident.model import load_model
    from ident.model.compare import compare

    differences = compare(load_model(args.first), load_model(args.second))
    table = Table(box=None, pad_edge=False)
    for title, justify in (("", "left"), ("axis", "right"), ("position", "right"), ("σ", "right"), ("limits", "left")):
        table.add_column(title, justify="right" if justify == "right" else "left")
    for d in differences:
        spans = [f"{name} {_limit(unit, low)} / {_limit(unit, high)}" for name, unit, low, high in d.limits]
        table.add_row(
            d.name,
            _number(math.degrees(d.axis), "{:.3f}°"),
            _number(1000 * d.position, "{:.2f} mm"),
            _number(d.sigmas, "{:.1f}"),
            "; ".join([*([d.remark] if d.remark else []), *spans]),
        )
    Console(highlight=False, soft_wrap=True).print(table)
    return 1 if any(_differs(d, args) for d in differences) else 0


def _differs(d: "Difference", args: argparse.Namespace) -> bool:
    # Rounding in the last digits is not a difference.
    slack = 1e-9
    limits = (
        abs(math.degrees(v) if unit == "rad" else 1000 * v) > args.limit + slack
        for _, unit, low, high in d.limits
        for v in (low, high)
    )
    return (
        bool(d.remark)
        or math.degrees(d.axis) > args.axis + 1e-5
        or (not math.isnan(d.position) and 1000 * d.position > args.position + slack)
        or any(limits)
    )


def _limit(unit: str, value: float) -> str:
    return f"{math.degrees(value):+.2f}°" if unit == "rad" else f"{1000 * value:+.1f} mm"


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else form.format(value)
