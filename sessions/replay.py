"""Playing a session's datagrams again: paced like the recording, faster, or as fast as possible."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sessions.datagrams import Datagrams
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
    deliver: Callable[[Datagrams], None],
    *,
    speed: float | None = 1.0,
    t0_ns: int | None = None,
    t1_ns: int | None = None,
    streams: Iterable[str] | None = None,
    stop: threading.Event | None = None,
    start: float | None = None,
) -> Played:
    """Hand a session's datagrams to ``deliver`` in order of time, many at once.

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
            first_ns = int(batch.t_ns[0])
            start = time.monotonic() if start is None else start
        if speed is not None and start is not None:
            due = start + (int(batch.t_ns[0]) - first_ns) / 1e9 / speed
            halt.wait(max(0.0, due - time.monotonic()))
        if halt.is_set():
            break
        deliver(batch)
        last_ns, count = int(batch.t_ns[-1]), count + len(batch)
    span_s = (last_ns - first_ns) / 1e9 if first_ns is not None and count else 0.0
    return Played(count, span_s, time.monotonic() - begun)


def _slices(batches: Iterable[Datagrams]) -> Iterator[Datagrams]:
    """Cut batches so that none spans more than a slice of time."""
    for batch in batches:
        reached_ns = np.maximum.accumulate(batch.t_ns)
        start = 0
        while start < len(batch):
            stop = int(np.searchsorted(reached_ns, reached_ns[start] + _SLICE_NS, side="right"))
            yield batch[start:stop]
            start = stop
