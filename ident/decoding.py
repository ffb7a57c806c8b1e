"""Reading and decoding a whole session in another process, begun before this one has loaded what fits it.

Light to import, since both processes still have everything else before them.
"""

import gc
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ident.aside import aside, worthwhile

if TYPE_CHECKING:
    from ident.streams import Windows
    from ident.workflow.quality import QualityLimits
    from sessions import Session
    from sessions.datagrams import Datagrams
    from sessions.replay import Played


class Decoded(NamedTuple):
    """A session with what was read of it, and of each take that has an end what its streams hold."""

    session: "Session"
    played: "Played"
    limits: "QualityLimits"
    takes: "list[Windows]"


class Decoding(NamedTuple):
    """The work of the other process."""

    begun: float
    """``time.monotonic`` when it began."""
    result: Callable[[], Decoded]
    """Waits for it; whatever went wrong there is raised here."""


@contextmanager
def decoding(path: Path, from_take: int, *, wanted: bool) -> Iterator[Decoding | None]:
    """Decode a session meanwhile, if that is wanted and gains anything."""
    if not (wanted and worthwhile()):
        yield None
        return
    begun = time.monotonic()
    with aside(lambda: _decoded(path, from_take)) as result:
        yield Decoding(begun, result)


def _decoded(path: Path, from_take: int) -> Decoded:
    from ident.log import log_of, start_of
    from ident.streams import Streams
    from ident.workflow.events import TakeEnded
    from sessions import open_session
    from sessions.replay import play

    gc.freeze()
    gc.enable()
    session = open_session(path)
    log = log_of(session)
    begin_ns, streams, takes = start_of(log, from_take), Streams(session), []
    waiting = deque(event for event in log if isinstance(event, TakeEnded))

    def feed(batch: "Datagrams") -> None:
        streams.feed(batch)
        # The buffers hold no more than the longest take: each is taken out when it has ended.
        while waiting and waiting[0].t_ns <= batch.t_ns[-1]:
            takes.append(streams.windows(waiting.popleft()))

    if begin_ns is not None:
        play(session, feed, speed=None, t1_ns=begin_ns - 1)
    played = play(session, feed, speed=None, t0_ns=begin_ns)
    streams.finish()
    takes += [streams.windows(ended) for ended in waiting]
    return Decoded(session, played, streams.limits, takes)
