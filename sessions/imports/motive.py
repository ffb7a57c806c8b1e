"""Motive's CSV exports, formats 1.0 to 1.25: rigid bodies with quaternions or Euler angles, blanks where occluded."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sessions.errors import SessionError
from sessions.imports.recording import Recording, pose_window

_METRES = {
    **dict.fromkeys(("meters", "metres", "meter", "metre", "m"), 1.0),
    **dict.fromkeys(("centimeters", "centimetres", "centimeter", "cm"), 0.01),
    **dict.fromkeys(("millimeters", "millimetres", "millimeter", "mm"), 0.001),
    **dict.fromkeys(("inches", "inch", "in"), 0.0254),
    **dict.fromkeys(("feet", "foot", "ft"), 0.3048),
}
_KEYS = (
    "format version",
    "capture frame rate",
    "export frame rate",
    "capture start time",
    "rotation type",
    "length units",
    "coordinate space",
)
"""What is looked for in the first row, each followed by its value."""
_FIRST_CELL = "format version"
_BODY = "rigid body"
_HEADER_ROWS = 20
_LARGEST = 1e9
"""Frame numbers and seconds beyond this are damage: thirty years."""
_START = re.compile(r"(\d{4}-\d\d-\d\d)\s+(\d{1,2})[.:](\d\d)[.:](\d\d)(?:[.:](\d+))?\s*(.*)")


@dataclass(slots=True)
class _BodyColumns:
    """Where the numbers of one rigid body stand in a row."""

    rotation: dict[str, int] = field(default_factory=dict)
    position: dict[str, int] = field(default_factory=dict)
    error: int | None = None


def is_motive(text: str) -> bool:
    """Whether a text starts like an export of Motive."""
    return _begun(text).lstrip("\"' \t")[: len(_FIRST_CELL)].lower() == _FIRST_CELL


def _begun(text: str) -> str:
    """The text without what Excel and others put in front of it."""
    return re.sub(r"^[\ufeff\s]*(sep=.\s*)?", "", text)


def read(path: Path, text: str) -> Recording:
    """Read an export. Positions stay in Motive's own world frame (y up), in metres."""
    text = _begun(text)
    separator = _separator(text)
    rows = list(csv.reader(text.splitlines(), delimiter=separator))
    told = [cell.strip() for cell in rows[0]]
    # By name, since a take's name may hold commas.
    header = {key.lower(): value for key, value in pairwise(told) if key.lower() in _KEYS}
    notes: list[str] = []
    if separator != ",":
        notes.append(f"Columns are separated by {separator!r}; decimal commas were read as points.")
    scale = _scale(path, header, notes)
    axis_row = _axis_row(path, rows)
    bodies = _columns(path, rows[1 : axis_row + 1])
    timed = any("time" in cell.lower() for cell in rows[axis_row][1:2])
    numbers = _numbers(path, rows[axis_row + 1 :], axis_row + 2, len(rows[axis_row]), separator, notes, timed=timed)
    start_ns = _start_ns(header, notes)
    seconds = _seconds(header, numbers) if timed else _counted(path, header, numbers, notes)
    t_ns = start_ns + np.round(seconds * 1e9).astype(np.int64)
    if (np.diff(t_ns) <= 0).any():
        notes.append("Times do not always increase; samples are sorted by time.")
    if header.get("coordinate space", "global").lower() != "global":
        notes.append(f"Coordinates are {header['coordinate space']!r}, not global: poses may be relative to a parent.")
    recording = Recording({}, notes=notes, metadata={"kind": "Motive CSV", "version": header.get(_FIRST_CELL, "?")})
    order = np.argsort(t_ns, kind="stable")
    for name, columns in bodies.items():
        positions = scale * numbers[:, [columns.position[axis] for axis in "xyz"]]
        quaternions = _quaternions(path, header, numbers, columns, name, notes)
        error = 0.0 if columns.error is None else scale * numbers[:, columns.error][order]
        recording.bodies[name] = pose_window(
            name, t_ns[order], positions[order], quaternions[order], sequence=numbers[order, 0], mean_error=error
        )
    return recording


def _separator(text: str) -> str:
    """The character behind the first cell."""
    match = re.match(r"""["']?format version["']?\s*([,;\t|])""", text, re.IGNORECASE)
    return match[1] if match else ","


def _scale(path: Path, header: dict[str, str], notes: list[str]) -> float:
    """Metres per unit of length."""
    unit = header.get("length units")
    if unit is None:
        notes.append("The export does not say its unit of length; metres were assumed.")
        return 1.0
    if unit.lower() not in _METRES:
        raise SessionError(f"{path} has lengths in {unit!r}. Export again in metres, millimetres or centimetres.")
    if _METRES[unit.lower()] in (0.0254, 0.3048):
        notes.append(f"Lengths are in {unit.lower()}; they were converted to metres.")
    return _METRES[unit.lower()]


def _axis_row(path: Path, rows: Sequence[Sequence[str]]) -> int:
    """Index of the row ``Frame, Time (Seconds), X, Y, …``, the last before the numbers."""
    for index, row in enumerate(rows[:_HEADER_ROWS]):
        letters = [cell.strip().lower() for cell in row[1:]]
        if letters.count("x") and letters.count("y") and letters.count("z"):
            return index
    raise SessionError(
        f"{path} begins like a Motive export but has no row `Frame, Time (Seconds), X, Y, Z…` within its first "
        f"{_HEADER_ROWS}. Export it again with header information."
    )


def _columns(path: Path, header_rows: Sequence[Sequence[str]]) -> dict[str, _BodyColumns]:
    """Columns of each rigid body by name, from the rows of types, names, components and axes."""
    cells = [[cell.strip() for cell in row] for row in header_rows]
    kinds = next(
        (i for i, row in enumerate(cells) if {"rigid body", "marker", "bone"} & {c.lower() for c in row}), None
    )
    if kinds is None or kinds + 1 >= len(cells) - 1:
        raise SessionError(f"{path} does not say which columns belong to a rigid body. Export it again with headers.")
    types, names, components, axes = cells[kinds], cells[kinds + 1], cells[-2], cells[-1]
    bodies: dict[str, _BodyColumns] = {}
    for i, (kind, name, component, axis) in enumerate(zip(types, names, components, axes, strict=False)):
        if kind.lower() != _BODY:
            continue
        columns = bodies.setdefault(name, _BodyColumns())
        if component.lower() == "rotation":
            columns.rotation.setdefault(axis.lower(), i)
        elif component.lower() == "position":
            columns.position.setdefault(axis.lower(), i)
        elif "error" in component.lower() or "error" in axis.lower():
            columns.error = i
    bodies = {name: columns for name, columns in bodies.items() if set(columns.position) >= set("xyz")}
    if not bodies:
        other = sum(kind.lower() == "marker" for kind in types) // 3
        raise SessionError(
            f"{path} has no rigid body ({other} markers). In Motive, make a rigid body of the gripper's markers and "
            "export with `Rigid Bodies` ticked."
        )
    return bodies


def _numbers(
    path: Path,
    rows: Sequence[Sequence[str]],
    first_line: int,
    width: int,
    separator: str,
    notes: list[str],
    *,
    timed: bool,
) -> NDArray[np.float64]:
    """All rows as numbers; blanks and time codes are NaN, a cut-off last row is left out."""
    rows = [row for row in rows if row]
    if not rows:
        raise SessionError(f"{path} has headers but no frames.")
    width = max(width, *(len(row) for row in rows))
    if len(rows[-1]) < width and len(rows) > 1:
        notes.append(f"The last row is cut off ({len(rows[-1])} of {width} columns) and was left out.")
        rows = rows[:-1]
    table = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        for k, cell in enumerate(row):
            if cell and not cell.isspace() and ":" not in cell:
                try:
                    table[i, k] = float(cell if separator == "," else cell.replace(",", "."))
                except ValueError as error:
                    raise SessionError(
                        f"{path}, line {first_line + i}, column {k + 1}: {cell!r} is no number."
                    ) from error
    usable = (np.abs(table[:, : 2 if timed else 1]) < _LARGEST).all(axis=1)
    if not usable.all():
        raise SessionError(
            f"{path}, line {first_line + int(np.argmin(usable))}: frame number or time is missing or absurd."
        )
    return table


def _start_ns(header: dict[str, str], notes: list[str]) -> int:
    """Start of the capture in ns since 1970; the file does not tell its time zone, so UTC."""
    found = _START.match(header.get("capture start time", ""))
    if not found:
        notes.append("The export does not say when it was captured; times start at 0.")
        return 0
    day, hour, minute, second, fraction, half = found.groups()
    afternoon = half.lower().replace(".", "") == "pm"
    if half and not afternoon and half.lower().replace(".", "") != "am":
        # Windows writes the half of the day in the lab's own language.
        notes.append(f"The capture began at {hour}.{minute} {half!r}; if that is the afternoon, add 12 hours.")
    hours = int(hour) % 12 + 12 * afternoon if half else int(hour)
    try:
        start = datetime.fromisoformat(day).replace(hour=hours, minute=int(minute), second=int(second), tzinfo=UTC)
    except ValueError:
        notes.append(f"The capture's start {found[0]!r} is no time; times start at 0.")
        return 0
    return round(start.timestamp()) * 1_000_000_000 + int((fraction or "0").ljust(9, "0")[:9])


def _seconds(header: dict[str, str], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times (n,) in s: by frame number and rate where the column agrees, since some exports round it to ms."""
    told, frames, rate_hz = numbers[:, 1], numbers[:, 0], _rate_hz(header)
    if rate_hz is None:
        return told
    exact = told[0] + (frames - frames[0]) / rate_hz
    agrees = np.abs(told - exact) <= min(0.0011, 0.45 / rate_hz)
    return exact if agrees.all() else told


def _rate_hz(header: dict[str, str]) -> float | None:
    """Frames per second, where the export tells a rate that can be."""
    try:
        rate_hz = float((header.get("export frame rate") or header["capture frame rate"]).replace(",", "."))
    except (KeyError, ValueError):
        return None
    return rate_hz if 0.1 < rate_hz < 1e5 else None


def _counted(path: Path, header: dict[str, str], numbers: NDArray[np.float64], notes: list[str]) -> NDArray[np.float64]:
    """Times (n,) in s by the frame numbers alone."""
    rate_hz = _rate_hz(header)
    if rate_hz is None:
        raise SessionError(f"{path} has neither a column of times nor a frame rate. Export it again with `Time`.")
    notes.append(f"The export has no column of times: frames were taken to be {rate_hz:g} Hz apart.")
    return np.asarray((numbers[:, 0] - numbers[0, 0]) / rate_hz)


def _quaternions(
    path: Path, header: dict[str, str], numbers: NDArray[np.float64], columns: _BodyColumns, name: str, notes: list[str]
) -> NDArray[np.float64]:
    """Quaternions (n, 4) xyzw; Motive's Euler angles are degrees about the body's own, turned axes."""
    kind = header.get("rotation type", "Quaternion" if "w" in columns.rotation else "XYZ")
    if set(columns.rotation) >= set("xyzw"):
        return numbers[:, [columns.rotation[axis] for axis in "xyzw"]]
    if not columns.rotation:
        notes.append(f"Body {name!r} has no rotation: its orientation is constant, only positions can be fitted.")
        return np.tile([0.0, 0.0, 0.0, 1.0], (len(numbers), 1))
    order = re.search(r"[XYZ]{3}", kind.upper())
    if not order or set(order[0]) != set("XYZ") or not set("xyz") <= set(columns.rotation):
        raise SessionError(f"{path} has rotations of type {kind!r}. Export again with quaternions.")
    angles = numbers[:, [columns.rotation[axis.lower()] for axis in order[0]]]
    result = np.full((len(numbers), 4), np.nan)
    known = np.isfinite(angles).all(axis=1)
    if known.any():
        result[known] = Rotation.from_euler(order[0], angles[known], degrees=True).as_quat()
    return result
