"""A session in a few numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from devices.buffer import PoseWindow, WrenchWindow

if TYPE_CHECKING:
    from sessions.reader import Session
    from sessions.take import Take

_SILENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream of samples or datagrams."""

    name: str
    count: int
    rate_hz: float
    """Of samples by their median interval, of datagrams on average; 0 with fewer than two."""
    gaps: int
    """Of samples by the device's own count; of datagrams, silences of half a second and ten usual intervals."""
    longest_gap_s: float
    share_good: float
    """Of the samples: tracked poses, valid wrenches; 1 for datagrams."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What `ident info` shows."""

    path: Path
    parts: int
    size: int
    """Bytes of all parts."""
    t0_ns: int
    duration_s: float
    streams: tuple[StreamInfo, ...]
    takes: tuple["Take", ...]
    events: int
    documents: tuple[str, ...]
    closed: bool
    problems: tuple[str, ...]
    """Whole sentences; empty in a healthy session."""


def summarise(session: "Session") -> SessionInfo:
    """Read a session through and describe it."""
    streams = []
    for body in session.bodies:
        poses = session.poses(body)
        streams.append(_samples(body, poses, poses.measured))
    wrenches = session.wrenches()
    if len(wrenches):
        streams.append(_samples("wrench", wrenches, wrenches.valid))
    streams += [_datagrams(stream, session.datagram_times(stream)) for stream in session.streams]
    return SessionInfo(
        path=session.path,
        parts=len(session.part_paths),
        size=session.size,
        t0_ns=session.t0_ns,
        duration_s=(session.t1_ns - session.t0_ns) / 1e9,
        streams=tuple(streams),
        takes=session.takes(),
        events=len(session.events()),
        documents=tuple(session.documents()),
        closed=session.closed,
        problems=_problems(session),
    )


def _samples(name: str, window: PoseWindow | WrenchWindow, good: NDArray[np.bool_]) -> StreamInfo:
    count = len(window)
    typical = float(np.median(np.diff(window.t_ns))) / 1e9 if count > 1 else 0.0
    gaps = window.gaps
    longest = max((gap.seconds for gap in gaps), default=0.0)
    share = float(good.mean()) if count else 1.0
    return StreamInfo(name, count, 1.0 / typical if typical > 0 else 0.0, len(gaps), longest, share)


def _datagrams(name: str, t_ns: NDArray[np.int64]) -> StreamInfo:
    steps = np.diff(t_ns) / 1e9
    span = float(steps.sum())
    typical = span / max(1, len(steps))
    silences = steps[steps > max(_SILENCE_S, 10 * typical)]
    longest = float(silences.max(initial=0.0))
    return StreamInfo(name, len(t_ns), len(steps) / span if span > 0 else 0.0, len(silences), longest, 1.0)


def _problems(session: "Session") -> tuple[str, ...]:
    problems = [f"Part {number} is missing beside {session.path.name}." for number in session.missing_parts]
    if not session.closed:
        problems.append("The recording was not ended properly (or is still going on).")
    lost = sum(damage.length for damage in session.damage)
    if lost:
        places = "; ".join(str(damage) for damage in session.damage[:5])
        problems.append(f"{lost} of {session.size} bytes are unreadable: {places}.")
    return tuple(problems)
