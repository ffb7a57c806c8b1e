"""Playing a session's datagrams again: paced like the recording, faster, or as fast as possible."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sessions.datagrams import Datagram
from sessions.reader import Session

_SLICE_NS = 20_000_000
"""Session time that is delivered at once: the granularity of the pacing."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a replay delivered."""

    datagrams: int
    session_s: float
    """Length of what was played, in the session's own time."""
    real_s: float

    @property
    def speed(self) -> float:
        """Session seconds per real second."""
        return self.session_s / self.real_s if self.real_s > 0 else 0.0


def play(
    session: Session,
    deliver: Callable[[list[Datagram]], None],
    *,
    speed: float | None = 1.0,
    t0_ns: int | None = None,
    t1_ns: int | None = None,
    streams: Iterable[str] | None = None,
    stop: threading.Event | None = None,
    start: float | None = None,
) -> Played:
    """Hand a session's datagrams to ``deliver`` in order of time, in lists.

    ``speed`` is session seconds per real second; None means without any waiting. ``stop`` ends the replay early;
    ``start`` is the ``time.monotonic`` at which the first datagram is due, by default now.
    """
    halt = stop or threading.Event()
    begun = time.monotonic()
    first_ns: int | None = None
    last_ns, count = 0, 0
    batches = session.datagram_batches(t0_ns, t1_ns, streams)
    for batch in batches if speed is None else _slices(batches):
        if first_ns is None:
            first_ns = batch[0].t_ns
            start = time.monotonic() if start is None else start
        if speed is not None and start is not None:
            due = start + (batch[0].t_ns - first_ns) / 1e9 / speed
            halt.wait(max(0.0, due - time.monotonic()))
        if halt.is_set():
            break
        deliver(batch)
        last_ns, count = batch[-1].t_ns, count + len(batch)
    span_s = (last_ns - first_ns) / 1e9 if first_ns is not None and count else 0.0
    return Played(count, span_s, time.monotonic() - begun)


def _slices(batches: Iterable[list[Datagram]]) -> Iterator[list[Datagram]]:
    """Cut lists so that none spans more than a slice of time."""
    for batch in batches:
        start = 0
        for i, datagram in enumerate(batch):
            if datagram.t_ns - batch[start].t_ns > _SLICE_NS:
                yield batch[start:i]
                start = i
        yield batch[start:]
