"""A session in a few numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sessions.reader import Session
    from sessions.take import Take


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream of samples or datagrams."""

    name: str
    count: int
    rate_hz: float
    """From the median interval; 0 with fewer than two samples."""
    gaps: int
    """Intervals longer than 2.5 times the median, at least 5 ms."""
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
        streams.append(_stream(body, poses.t_ns, poses.measured))
    wrenches = session.wrenches()
    if len(wrenches):
        streams.append(_stream("wrench", wrenches.t_ns, wrenches.valid))
    for stream in session.streams:
        times = session.datagram_times(stream)
        streams.append(_stream(stream, times, np.ones(len(times), dtype=bool)))
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


def _stream(name: str, t_ns: NDArray[np.int64], good: NDArray[np.bool_]) -> StreamInfo:
    steps = np.diff(t_ns) / 1e9
    if not len(steps):
        return StreamInfo(name, len(t_ns), 0.0, 0, 0.0, float(good.mean()) if len(good) else 1.0)
    typical = float(np.median(steps))
    gaps = steps[steps > max(2.5 * typical, 0.005)]
    rate = 1.0 / typical if typical > 0 else 0.0
    return StreamInfo(name, len(t_ns), rate, len(gaps), float(gaps.max(initial=0.0)), float(good.mean()))


def _problems(session: "Session") -> tuple[str, ...]:
    problems = [f"Part {number} is missing beside {session.path.name}." for number in session.missing_parts]
    if not session.closed:
        problems.append("The recording was not ended properly (or is still going on).")
    lost = sum(damage.length for damage in session.damage)
    if lost:
        places = "; ".join(str(damage) for damage in session.damage[:5])
        problems.append(f"{lost} of {session.size} bytes are unreadable: {places}.")
    return tuple(problems)
