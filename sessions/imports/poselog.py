"""Plain pose logs: one sample a line, ``x y z qx qy qz qw`` in metres, with or without a time in front."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sessions.errors import SessionError
from sessions.imports.recording import Recording, pose_window

_LAYOUTS = {
    3: ("x", "y", "z"),
    4: ("t", "x", "y", "z"),
    7: ("x", "y", "z", "qx", "qy", "qz", "qw"),
    8: ("t", "x", "y", "z", "qx", "qy", "qz", "qw"),
}
_ALIASES = {
    **dict.fromkeys(("time", "timestamp", "stamp", "seconds", "secs", "time_s", "t_s", "time(s)", "time[s]"), "t"),
    **{f"{before}{axis}": axis for before in ("t", "p", "p_", "pos_", "position_", "position.") for axis in "xyz"},
    **{f"{before}{axis}": f"q{axis}" for before in ("q_", "quat_", "rot_", "orientation.") for axis in "xyzw"},
}
_FAR_M = 50.0
"""Nobody opens a door further away than this: the log is in millimetres."""
_TIME_UNITS_NS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))
"""A first time at least so large is in units of so many ns: epoch times in ns, µs, ms, else seconds."""
_LAST_TIME = 2**62
_REMARK = ("#", "%", "//")
DEFAULT_BODY = "gripper"


def read(path: Path, text: str, rate_hz: float) -> Recording:
    """Read a log; without times, samples are ``rate_hz`` apart, starting at 0."""
    notes: list[str] = []
    remarks: list[list[str]] = []
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(_REMARK):
            remarks.append(_cells(line.lstrip().lstrip("#%/")))
        elif line.strip():
            lines.append((number, _cells(line)))
    if not lines:
        raise SessionError(f"{path} holds no samples.")
    layout, lines = _layout(path, lines, remarks)
    table = _numbers(path, lines, len(layout), notes)
    column = {name: table[:, i] for i, name in enumerate(layout)}
    told = [cells[layout.index("t")] for _, cells in lines[: len(table)]] if "t" in layout else None
    t_ns = _times(told, len(table), rate_hz, notes)
    if "qx" in column:
        quaternions = np.column_stack([column[name] for name in ("qx", "qy", "qz", "qw")])
        _check_unit(path, quaternions, lines)
    else:
        notes.append("The log has no orientations: they are constant, only positions can be fitted.")
        quaternions = np.tile([0.0, 0.0, 0.0, 1.0], (len(table), 1))
    unused = [name for name in layout if name not in _LAYOUTS[8]]
    if unused:
        notes.append(f"The columns {', '.join(unused)} were left out.")
    positions = np.column_stack([column[name] for name in ("x", "y", "z")])
    farthest_m = float(np.nanmax(np.abs(positions), initial=0.0))
    if farthest_m > _FAR_M:
        notes.append(
            f"Positions reach {farthest_m:.0f} m: if they are millimetres, divide them by 1000 and import again."
        )
    order = np.argsort(t_ns, kind="stable")
    window = pose_window(DEFAULT_BODY, t_ns[order], positions[order], quaternions[order])
    return Recording({DEFAULT_BODY: window}, notes=notes, metadata={"kind": "pose log"}, named=False)


def _cells(line: str) -> list[str]:
    """Cells of a line, separated by commas, semicolons or blanks; with semicolons, commas are decimal."""
    if ";" in line:
        return [cell.strip().replace(",", ".") for cell in line.strip().strip(";").split(";")]
    return [cell for cell in re.split(r"\s*,\s*|\s+", line.strip().strip(",")) if cell]


def _layout(
    path: Path, lines: list[tuple[int, list[str]]], remarks: Sequence[list[str]]
) -> tuple[tuple[str, ...], list[tuple[int, list[str]]]]:
    """Names of the columns, by a first line, a remark that names them, or their number; and the lines of numbers."""
    number, first = lines[0]
    if not any(_is_number(cell) for cell in first):
        names = _names(first)
        lines = lines[1:]
        if not {"x", "y", "z"} <= set(names) or ("qx" in names and not {"qy", "qz", "qw"} <= set(names)):
            raise SessionError(f"{path}, line {number}: columns {' '.join(names)} lack some of x y z qx qy qz qw.")
        if not lines:
            raise SessionError(f"{path} has column names but no samples.")
        return names, lines
    for remark in remarks:
        names = _names(remark)
        if len(names) == len(first) and {"x", "y", "z"} <= set(names) and ("qx" in names) == ("qw" in names):
            return names, lines
    if len(first) not in _LAYOUTS:
        raise SessionError(
            f"{path}, line {number} has {len(first)} columns. A pose log has `x y z qx qy qz qw`, perhaps a time in "
            "front, or positions alone; other orders need a first line with the columns' names."
        )
    return _LAYOUTS[len(first)], lines


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    plain = (cell.lower().strip("\"'") for cell in cells)
    return tuple(_ALIASES.get(cell, cell) for cell in plain)


def _numbers(path: Path, lines: Sequence[tuple[int, list[str]]], width: int, notes: list[str]) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for number, cells in lines:
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            bad = next(cell for cell in cells if not _is_number(cell))
            raise SessionError(f"{path}, line {number}: {bad!r} is no number.") from error
        if len(row) != width:
            if number == lines[-1][0] and rows:
                notes.append(f"The last line is cut off ({len(row)} of {width} columns) and was left out.")
                break
            raise SessionError(f"{path}, line {number} has {len(row)} columns where the others have {width}.")
        rows.append(row)
    return np.array(rows)


def _times(told: Sequence[str] | None, count: int, rate_hz: float, notes: list[str]) -> NDArray[np.int64]:
    """Times in ns, exactly as written: a float cannot hold the nanoseconds of an epoch."""
    assumed = np.round(np.arange(count) * (1e9 / rate_hz)).astype(np.int64)
    if told is None:
        notes.append(f"The log has no times: {rate_hz:g} Hz was assumed.")
        return assumed
    values = [Decimal(cell) for cell in told]
    if not all(value.is_finite() and 0 <= value < _LAST_TIME for value in values):
        notes.append(f"The log's times are not usable (negative or missing): {rate_hz:g} Hz was assumed.")
        return assumed
    unit_ns = next(unit for least, unit in _TIME_UNITS_NS if values[0] >= least)
    if any(later < earlier for earlier, later in pairwise(values)):
        notes.append("Times do not always increase; samples are sorted by time.")
    return np.array([min(round(value * unit_ns), 2**62) for value in values], dtype=np.int64)


def _check_unit(path: Path, quaternions: NDArray[np.float64], lines: Sequence[tuple[int, list[str]]]) -> None:
    norms = np.linalg.norm(np.clip(quaternions, -1e6, 1e6), axis=1)
    bad = (np.abs(norms - 1.0) > 0.05) & (norms > 1e-6)
    if bad.any():
        i = int(np.argmax(bad))
        raise SessionError(
            f"{path}, line {lines[i][0]}: the last four columns have length {norms[i]:.3f} and are no unit quaternion. "
            "The order must be `x y z qx qy qz qw`, or a first line must name the columns."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
