"""Recorded datagrams of several streams, merged in order of time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Datagrams(Sequence[Datagram]):
    """Datagrams in order of time, as columns: a datagram of its own is made only of those that are looked at."""

    names: tuple[str, ...]
    """Streams that the datagrams may be of."""
    t_ns: NDArray[np.int64]
    """(n,) host times of receipt (or sending)."""
    stream: NDArray[np.intp]
    """(n,) each one's place among the names."""
    data: list[bytes]

    def __len__(self) -> int:
        return len(self.data)

    @overload
    def __getitem__(self, index: int) -> Datagram: ...
    @overload
    def __getitem__(self, index: slice) -> "Datagrams": ...
    def __getitem__(self, index: int | slice) -> "Datagram | Datagrams":
        if isinstance(index, slice):
            return Datagrams(self.names, self.t_ns[index], self.stream[index], self.data[index])
        return Datagram(int(self.t_ns[index]), self.names[self.stream[index]], self.data[index])

    def __iter__(self) -> Iterator[Datagram]:
        names = self.names
        for t_ns, stream, data in zip(self.t_ns.tolist(), self.stream.tolist(), self.data, strict=True):
            yield Datagram(t_ns, names[stream], data)

    def rows(self, prefix: str) -> NDArray[np.intp]:
        """Return which rows (m,) belong to streams whose names begin like this."""
        wanted = np.array([name.startswith(prefix) for name in self.names], dtype=bool)
        return np.flatnonzero(wanted[self.stream])


def merged(chunks: Iterable[tuple[Chunk, int | None]], t0_ns: int | None, t1_ns: int | None) -> Iterator[Datagrams]:
    """Datagrams by the chunk, in order of time over all streams.

    Each chunk comes with the earliest time of those after it. Within a stream the order of recording is kept, even
    where stamps go back by some microseconds, since decoders depend on it.
    """
    reached: dict[str, int] = {}
    waiting = Datagrams((), np.zeros(0, np.int64), np.zeros(0, np.intp), [])
    keys = np.zeros(0, np.int64)
    for chunk, next_ns in chunks:
        pieces = [keys]
        times, streams, data = [waiting.t_ns], [waiting.stream], waiting.data
        for topic, run in chunk:
            stream = topic.removeprefix(fmt.RAW)
            sorted_ns = np.maximum.accumulate(np.append(reached.get(stream, 0), run.t_ns))[1:]
            reached[stream] = int(sorted_ns[-1])
            wanted = np.flatnonzero(inside(run.t_ns, t0_ns, t1_ns))
            pieces.append(sorted_ns[wanted])
            times.append(run.t_ns[wanted])
            streams.append(np.full(len(wanted), list(reached).index(stream)))
            data += _bodies(run, wanted)
        keys = np.concatenate(pieces)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        sorted_data = [data[i] for i in order.tolist()]
        waiting = Datagrams(tuple(reached), np.concatenate(times)[order], np.concatenate(streams)[order], sorted_data)
        ready = len(waiting) if next_ns is None else int(np.searchsorted(keys, next_ns))
        if ready:
            yield waiting[:ready]
        waiting, keys = waiting[ready:], keys[ready:]


def _bodies(run: Run, wanted: NDArray[np.intp]) -> list[bytes]:
    length = run.bodies.shape[1]
    data = run.bodies.tobytes()
    return [data[at : at + length] for at in (wanted * length).tolist()]
