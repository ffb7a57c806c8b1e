"""Recordings of real mechanisms, which have no known truth: repeats agree, or they do not.

A folder of recordings is taken as repeats of one mechanism where their axes are near each other; each recording also
as two halves. Each is fitted with our robust fit and with plain least squares (the source's formulas without RANSAC).
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fitting import Fit, FitFailure, fit_circle, fit_line, fit_prismatic, fit_rotary, select
from fitting.se3 import Array, frame, rotation_from_quaternion
from ident.errors import IdentError
from ident.study import source_method as source

SEED = 7
ONE_MECHANISM_DEG = 15.0
"""Recordings of a folder whose axes differ by more than this from their mean are of several mechanisms."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A track: positions (n, 3) in metres, and poses (n, 4, 4) where orientations were recorded."""

    name: str
    positions: Array
    poses: Array | None


@dataclass(frozen=True, eq=False)
class Found:
    """One recording, fitted."""

    recording: Recording
    kind: str
    """What the data look like: rotary, prismatic, rigid, or empty where they do not tell."""
    ours: source.Axis | None
    plain: source.Axis
    rms_mm: float
    """Residual of our fit over the samples that it used."""
    inlier_share: float
    radius_m: float
    """Of our fit; NaN for a slide."""
    plain_radius_m: float
    halves_ours_deg: float
    """Angle between the axes of the first and the second half."""
    halves_plain_deg: float


@dataclass(frozen=True)
class Spread:
    """How far repeats of one mechanism disagree: rms distance from their mean; NaN where there is no such thing."""

    group: str
    repeats: int
    kind: str
    ours_deg: float
    plain_deg: float
    ours_mm: float
    plain_mm: float
    ours_radius_mm: float
    """Scatter of the radius, which does not depend on where the mechanism stood."""
    plain_radius_mm: float


def study_real(folder: Path, on_done: Callable[[int], None] = lambda _: None) -> tuple[list[Found], list[Spread]]:
    """Fit every recording below a folder."""
    groups: dict[str, list[tuple[Recording, str]]] = {}
    for path in track_files(folder):
        recording = read_track(path, folder)
        if recording is not None:
            group = groups.setdefault(str(path.parent.relative_to(folder)), [])
            group.append((recording, choose_kind(recording)))
        on_done(1)
    if not groups:
        raise IdentError(f"{folder} holds no tracks (.log, .csv or .txt with x y z, or x y z qx qy qz qw, in metres).")
    found, spreads = [], []
    for name, group in groups.items():
        kinds = [kind for _, kind in group if kind in ("rotary", "prismatic")]
        usual = max(kinds, key=kinds.count, default="rotary")
        fitted = [fit_recording(recording, kind, usual) for recording, kind in group]
        found += fitted
        spreads.append(spread(name, fitted))
    return found, spreads


def track_files(folder: Path) -> list[Path]:
    """Files that may be tracks."""
    return sorted(p for p in folder.rglob("*") if p.suffix in (".log", ".csv", ".txt") and p.is_file())


def read_track(path: Path, folder: Path) -> Recording | None:
    """Read a track; None where the file holds something else."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        return None
    cells = [re.split(r"[,\s]+", line.strip()) for line in lines]
    if cells and not _is_number(cells[0][0]):
        head = [name.split("_")[0].lower() for name in cells.pop(0)]
        if head[:3] != ["x", "y", "z"]:
            return None
        turned = head[3:7] == ["qx", "qy", "qz", "qw"]
    else:
        turned = bool(cells) and len(cells[0]) == 7
    if len(cells) < 30 or len({len(row) for row in cells}) != 1 or len(cells[0]) < 3:
        return None
    table = np.array(cells, dtype=float)
    poses = frame(rotation_from_quaternion(table[:, 3:7]), table[:, :3]) if turned else None
    return Recording(str(path.relative_to(folder)), table[:, :3], poses)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def choose_kind(recording: Recording) -> str:
    """What the data look like; empty where they do not tell."""
    poses = recording.poses
    if poses is None:
        # Positions alone are a body that never turns, as after `ident import`.
        poses = frame(np.broadcast_to(np.eye(3), (len(recording.positions), 3, 3)), recording.positions)
    chosen = select(poses, candidates=("rotary", "prismatic", "rigid"), rng=np.random.default_rng(SEED))
    return "" if isinstance(chosen, FitFailure) else chosen.kind or ""


def fit_recording(recording: Recording, kind: str, usual: str) -> Found:
    """Fit a recording and both its halves, as ``usual`` where its own data do not tell what it is."""
    rotary = (kind if kind in ("rotary", "prismatic") else usual) == "rotary"
    whole = _fit(recording.positions, recording.poses, rotary)
    n = len(recording.positions) // 2
    halves = [_fit(*_cut(recording, part), rotary) for part in (slice(None, n), slice(n, None))]
    axes = [half[0] for half in halves if half is not None]
    plain = _plain(recording.positions, rotary)
    return Found(
        recording,
        kind,
        None if whole is None else whole[0],
        plain,
        math.nan if whole is None else 1e3 * whole[1].rms,
        math.nan if whole is None else whole[1].inlier_share,
        float(getattr(whole[1], "radius", math.nan)) if whole is not None else math.nan,
        _radius(recording.positions, plain) if rotary else math.nan,
        _angle(axes[0], axes[1]) if len(axes) == 2 else math.nan,
        _angle(_plain(recording.positions[:n], rotary), _plain(recording.positions[n:], rotary)),
    )


def _cut(recording: Recording, part: slice) -> tuple[Array, Array | None]:
    return recording.positions[part], None if recording.poses is None else recording.poses[part]


def _fit(positions: Array, poses: Array | None, rotary: bool) -> tuple[source.Axis, Fit] | None:
    """Our fit: of the poses where there are some, else of the positions."""
    rng = np.random.default_rng(SEED)
    if rotary:
        turned = fit_circle(positions, rng=rng) if poses is None else fit_rotary(poses, rng=rng)
        return None if isinstance(turned, FitFailure) else (source.Axis(turned.axis, turned.point), turned)
    slid = fit_line(positions, rng=rng) if poses is None else fit_prismatic(poses, rng=rng)
    return None if isinstance(slid, FitFailure) else (source.Axis(slid.direction, slid.point), slid)


def _plain(positions: Array, rotary: bool) -> source.Axis:
    rng = np.random.default_rng(SEED)
    return (source.fit_circle if rotary else source.fit_line)(positions, rng, robust=False)


def _radius(positions: Array, axis: source.Axis) -> float:
    offsets = positions - axis.point
    return float(np.median(np.linalg.norm(offsets - np.outer(offsets @ axis.direction, axis.direction), axis=-1)))


def _angle(one: source.Axis, other: source.Axis) -> float:
    sine = float(np.linalg.norm(np.cross(one.direction, other.direction)))
    return math.degrees(math.atan2(sine, abs(float(one.direction @ other.direction))))


def spread(group: str, found: Sequence[Found]) -> Spread:
    """How far the recordings of a folder agree."""
    fitted = [f for f in found if f.ours is not None]
    told = [f.kind for f in found]
    kind = max(told, key=told.count)
    nothing = Spread(group, len(found), kind, *[math.nan] * 6)
    if len(fitted) < 2:
        return nothing
    ours = _scatter([f.ours for f in fitted if f.ours is not None])
    plain = _scatter([f.plain for f in fitted])
    if ours[0] > ONE_MECHANISM_DEG:
        return nothing
    if kind == "prismatic":
        return Spread(group, len(found), kind, ours[0], plain[0], *[math.nan] * 4)
    radii = (1e3 * float(np.std([f.radius_m for f in fitted])), 1e3 * float(np.std([f.plain_radius_m for f in fitted])))
    return Spread(group, len(found), kind, ours[0], plain[0], ours[1], plain[1], *radii)


def _scatter(axes: Sequence[source.Axis]) -> tuple[float, float]:
    """RMS angle (degrees) of the axes from their mean, and rms distance (mm) where they pass it."""
    directions = np.array([a.direction * (1.0 if a.direction @ axes[0].direction > 0 else -1.0) for a in axes])
    mean = directions.mean(axis=0)
    mean /= np.linalg.norm(mean)
    middle = np.mean([a.point for a in axes], axis=0)
    points = np.array(
        [a.point + ((middle - a.point) @ mean) / (d @ mean) * d for a, d in zip(axes, directions, strict=True)]
    )
    angles = np.degrees(np.arccos(np.clip(directions @ mean, -1.0, 1.0)))
    off = np.linalg.norm(points - points.mean(axis=0), axis=-1)
    return float(np.sqrt(np.mean(angles**2))), 1e3 * float(np.sqrt(np.mean(off**2)))
