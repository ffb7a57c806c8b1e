"""Recorded datagrams of several streams, merged in order of time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sessions import format as fmt
from sessions.runs import Run
from sessions.tables import Chunk, inside

AT_ONCE = 4096
"""Datagrams, at least, that are sorted and handed on together; a chunk of a quarter of a second holds a few hundred."""


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
    start: NDArray[np.intp]
    size: NDArray[np.intp]
    """(n,) where each one lies in ``octets``, and how long it is."""
    octets: bytes

    def __len__(self) -> int:
        return len(self.t_ns)

    @overload
    def __getitem__(self, index: int) -> Datagram: ...
    @overload
    def __getitem__(self, index: slice) -> "Datagrams": ...
    def __getitem__(self, index: int | slice) -> "Datagram | Datagrams":
        if isinstance(index, slice):
            t_ns, stream, start, size = (column[index] for column in (self.t_ns, self.stream, self.start, self.size))
            return Datagrams(self.names, t_ns, stream, start, size, self.octets)
        return Datagram(int(self.t_ns[index]), self.names[self.stream[index]], self.data(np.array([index]))[0])

    def __iter__(self) -> Iterator[Datagram]:
        data = self.data(np.arange(len(self)))
        for t_ns, stream, content in zip(self.t_ns.tolist(), self.stream.tolist(), data, strict=True):
            yield Datagram(t_ns, self.names[stream], content)

    def rows(self, prefix: str) -> NDArray[np.intp]:
        """Return which rows (m,) belong to streams whose names begin like this."""
        wanted = np.array([name.startswith(prefix) for name in self.names], dtype=bool)
        return np.flatnonzero(wanted[self.stream])

    def data(self, rows: NDArray[np.intp]) -> list[bytes]:
        """The bytes of some rows, each by itself."""
        octets, start = self.octets, self.start[rows]
        return [octets[a:b] for a, b in zip(start.tolist(), (start + self.size[rows]).tolist(), strict=True)]

    def packed(self, rows: NDArray[np.intp]) -> NDArray[np.void]:
        """The bytes of some rows, which must be of one size, as one array (m,)."""
        kind = np.dtype((np.void, int(self.size[rows[0]])))
        # Seen as one element at every byte, of which those are taken where a datagram starts.
        places = len(self.octets) - kind.itemsize + 1
        return np.ndarray(places, kind, self.octets, strides=(1,))[self.start[rows]]


def merged(chunks: Iterable[tuple[Chunk, int | None]], t0_ns: int | None, t1_ns: int | None) -> Iterator[Datagrams]:
    """Datagrams by the thousand, in order of time over all streams.

    Each chunk comes with the earliest time of those after it. Within a stream the order of recording is kept, even
    where stamps go back by some microseconds, since decoders depend on it.
    """
    reached: dict[str, int] = {}
    pieces = [_NOTHING]
    for chunk, next_ns in chunks:
        for topic, run in chunk:
            stream = topic.removeprefix(fmt.RAW)
            sorted_ns = np.maximum(np.maximum.accumulate(run.t_ns), reached.get(stream, 0))
            reached[stream] = int(sorted_ns[-1])
            wanted = np.flatnonzero(inside(run.t_ns, t0_ns, t1_ns))
            if len(wanted):
                pieces.append(_piece(run, wanted, sorted_ns[wanted], list(reached).index(stream)))
        if next_ns is not None and sum(len(piece.keys) for piece in pieces) < AT_ONCE:
            continue
        ready, rest = _sorted(pieces, tuple(reached), next_ns)
        if len(ready):
            yield ready
        pieces = [rest]


class _Piece(NamedTuple):
    """Datagrams of which not all earlier ones are known yet."""

    keys: NDArray[np.int64]
    """(n,) times by which they are sorted."""
    t_ns: NDArray[np.int64]
    stream: NDArray[np.intp]
    size: NDArray[np.intp]
    octets: bytes
    """One behind the other."""


_NOTHING = _Piece(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.intp), np.zeros(0, np.intp), b"")


def _piece(run: Run, wanted: NDArray[np.intp], keys: NDArray[np.int64], stream: int) -> _Piece:
    n, size = len(wanted), run.bodies.shape[1]
    bodies = run.bodies if n == len(run.bodies) else run.bodies[wanted]
    return _Piece(keys, run.t_ns[wanted], np.full(n, stream), np.full(n, size), bodies.tobytes())


def _sorted(pieces: list[_Piece], names: tuple[str, ...], next_ns: int | None) -> tuple[Datagrams, _Piece]:
    """Sort datagrams: those from before a time, and the others, which have to wait."""
    columns: list[NDArray[Any]] = [np.concatenate(column) for column in list(zip(*pieces, strict=True))[:-1]]
    keys, t_ns, stream, size = columns
    start = np.cumsum(size) - size
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    octets = b"".join(piece.octets for piece in pieces)
    everything = Datagrams(names, t_ns[order], stream[order], start[order], size[order], octets)
    ready = len(keys) if next_ns is None else int(np.searchsorted(keys, next_ns))
    late = everything[ready:]
    rest = b"".join(late.data(np.arange(len(late))))
    return everything[:ready], _Piece(keys[ready:], late.t_ns, late.stream, late.size, rest)
