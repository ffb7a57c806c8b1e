"""A session in a few numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from devices.ring import find_gaps
from devices.samples import PoseState
from sessions import format as fmt
from sessions.runs import Run

if TYPE_CHECKING:
    from sessions.reader import Session
    from sessions.take import Take

_SILENCE_NS = 500_000_000
_KEPT = 100
"""Intervals of a run that are kept for the median."""
_MODULUS = 1 << 32
"""Devices count modulo this."""
_WRENCH = "wrench"


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream of samples or datagrams."""

    name: str
    count: int
    rate_hz: float
    """Of samples by their median interval, of datagrams on average; 0 with fewer than two."""
    gaps: int
    """Of samples by the device's own count; of datagrams, silences of more than half a second."""
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
    """Read a session through, once, and describe it."""
    tallies: dict[str, _Tally] = {}
    for topic, run in session.runs():
        name, kind = _stream_of(topic, session)
        if kind is not None:
            tallies.setdefault(name, _Tally(name, kind)).add(run)
    order = [*session.bodies, _WRENCH, *session.streams]
    return SessionInfo(
        path=session.path,
        parts=len(session.part_paths),
        size=session.size,
        t0_ns=session.t0_ns,
        duration_s=(session.t1_ns - session.t0_ns) / 1e9,
        streams=tuple(tallies[name].result() for name in order if name in tallies),
        takes=session.takes(),
        events=len(session.events()),
        documents=tuple(session.documents()),
        closed=session.closed,
        problems=_problems(session),
    )


def _stream_of(topic: str, session: "Session") -> tuple[str, "np.dtype[Any] | str | None"]:
    """Name of the stream that a topic tells about, and how to read it: companion topics tell all about samples."""
    if topic == fmt.WRENCH_STATUS:
        return _WRENCH, fmt.STATUS
    if topic.startswith(fmt.RAW):
        return topic.removeprefix(fmt.RAW), "raw"
    if topic.startswith(fmt.POSES) and topic.endswith(fmt.TRACKING_SUFFIX):
        return session.body_of(topic), fmt.TRACKING
    return "", None


class _Tally:
    """Counts one stream run by run, so that memory does not grow with the session."""

    def __init__(self, name: str, kind: "np.dtype[Any] | str") -> None:
        self._name, self._kind = name, kind
        self._count = self._good = self._gaps = self._longest_ns = 0
        self._first_ns = 0
        self._steps: list[NDArray[np.int64]] = []
        self._last: tuple[NDArray[np.int64], NDArray[np.int64]] = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def add(self, run: Run) -> None:
        """Take in the next run; gaps between runs count too."""
        sequence, good = self._content(run)
        t_ns = np.concatenate([self._last[0], run.t_ns])
        numbers = np.concatenate([self._last[1], sequence])
        self._last = t_ns[-1:], numbers[-1:]
        if not self._count:
            self._first_ns = int(t_ns[0])
        self._count += len(run.t_ns)
        self._good += good
        gaps = self._gaps_in(t_ns, numbers)
        self._gaps += len(gaps)
        self._longest_ns = max([self._longest_ns, *gaps])
        steps = np.diff(t_ns)
        self._steps.append(steps[:: 1 + len(steps) // _KEPT])

    def result(self) -> StreamInfo:
        """The stream's description."""
        share = self._good / self._count if self._count else 1.0
        span_ns = int(self._last[0][0]) - self._first_ns if self._count else 0
        mean_hz = (self._count - 1) / span_ns * 1e9 if span_ns > 0 else 0.0
        if self._kind == "raw":
            # A stream of a message now and then is silent most of the time.
            silences = (self._gaps, self._longest_ns / 1e9) if mean_hz > 20.0 else (0, 0.0)
            return StreamInfo(self._name, self._count, mean_hz, *silences, share)
        steps = np.concatenate(self._steps)
        usual_ns = float(np.median(steps)) if len(steps) else 0.0
        rate_hz = 1e9 / usual_ns if usual_ns > 0 else 0.0
        return StreamInfo(self._name, self._count, rate_hz, self._gaps, self._longest_ns / 1e9, share)

    def _content(self, run: Run) -> tuple[NDArray[np.int64], int]:
        """Device's numbers, and how many samples are good."""
        body = None if isinstance(self._kind, str) else run.view(self._kind)
        if body is None:
            return run.sequence, len(run.t_ns)
        good = body["valid"] if self._kind is fmt.STATUS else body["state"] == PoseState.MEASURED
        return body["sequence"].astype(np.int64), int(good.sum())

    def _gaps_in(self, t_ns: NDArray[np.int64], numbers: NDArray[np.int64]) -> list[int]:
        """Lengths in ns: of samples by the device's count, of datagrams by silence."""
        if self._kind == "raw":
            steps = np.diff(t_ns)
            return [int(step) for step in steps[steps > _SILENCE_NS]]
        return [gap.stop_ns - gap.start_ns for gap in find_gaps(t_ns, numbers, _MODULUS)]


def _problems(session: "Session") -> tuple[str, ...]:
    problems = [f"Part {number} is missing beside {session.path.name}." for number in session.missing_parts]
    if not session.closed:
        problems.append("The recording was not ended properly (or is still going on).")
    lost = sum(damage.length for damage in session.damage)
    if lost:
        places = "; ".join(str(damage) for damage in session.damage[:5])
        problems.append(f"{lost} of {session.size} bytes are unreadable: {places}.")
    return tuple(problems)
