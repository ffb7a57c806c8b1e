"""Recorded datagrams of several streams, merged in order of time."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sessions import format as fmt
from sessions.runs import Run
from sessions.tables import Chunk, inside


class Datagram(NamedTuple):
    """One raw datagram as it came over the wire."""

    t_ns: int
    """Host time of receipt (or sending)."""
    stream: str
    """For example ``natnet/data``."""
    data: bytes


def merged(
    chunks: Iterable[tuple[Chunk, int | None]], t0_ns: int | None, t1_ns: int | None
) -> Iterator[list[Datagram]]:
    """Datagrams in lists of a chunk's size, in order of time over all streams.

    Each chunk comes with the earliest time of those after it. Within a stream the order of recording is kept, even
    where stamps go back by some microseconds, since decoders depend on it.
    """
    reached: dict[str, int] = {}
    waiting: list[Datagram] = []
    keys = np.zeros(0, np.int64)
    for chunk, next_ns in chunks:
        pieces = [keys]
        for topic, run in chunk:
            stream = topic.removeprefix(fmt.RAW)
            times = np.maximum.accumulate(np.append(reached.get(stream, 0), run.t_ns))[1:]
            reached[stream] = int(times[-1])
            wanted = inside(run.t_ns, t0_ns, t1_ns)
            waiting += _datagrams(run, stream, wanted.tolist())
            pieces.append(times[wanted])
        keys = np.concatenate(pieces)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        waiting = [waiting[i] for i in order.tolist()]
        ready = len(waiting) if next_ns is None else int(np.searchsorted(keys, next_ns))
        if ready:
            yield waiting[:ready]
        waiting, keys = waiting[ready:], keys[ready:]


def _datagrams(run: Run, stream: str, wanted: list[bool]) -> Iterator[Datagram]:
    length = run.bodies.shape[1]
    data = run.bodies.tobytes()
    for i, (t_ns, use) in enumerate(zip(run.t_ns.tolist(), wanted, strict=True)):
        if use:
            yield Datagram(t_ns, stream, data[i * length : (i + 1) * length])
