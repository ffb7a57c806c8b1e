"""The messages of a chunk, taken out as arrays.

The recorder writes the messages of a channel in a row, all of one length. Such a run is found and read at
once, which makes reading a hundred times faster than message by message; any other order is read correctly
too, only slower.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sessions import format as fmt
from sessions import records

_KEY = records.RECORD_HEAD.size + 2
"""Bytes that neighbours of one run share: opcode, length, channel."""
_BODY = records.MESSAGE_HEAD.size


@dataclass(frozen=True, slots=True)
class Run:
    """Messages of one channel that follow each other."""

    channel: int
    t_ns: NDArray[np.int64]
    """Log times."""
    publish_ns: NDArray[np.int64]
    sequence: NDArray[np.int64]
    bodies: NDArray[Any]
    """(n, length) bytes."""

    def view(self, kind: np.dtype[Any]) -> NDArray[Any] | None:
        """The bodies as a structured array; None when their length is another."""
        if self.bodies.shape[1] != kind.itemsize:
            return None
        return np.ascontiguousarray(self.bodies).view(kind)[:, 0]


def runs(data: bytes, channels: Container[int]) -> Iterator[Run]:
    """Runs of the wanted channels in file order; a record that runs over the end ends the iteration."""
    octets = np.frombuffer(data, np.uint8)
    at = 0
    while at + records.RECORD_HEAD.size <= len(data):
        opcode, length = records.RECORD_HEAD.unpack_from(data, at)
        total = records.RECORD_HEAD.size + length
        if at + total > len(data):
            return
        if opcode != records.MESSAGE or total < _BODY:
            at += total
            continue
        count = _run_length(octets, at, total)
        channel = int.from_bytes(data[at + 9 : at + 11], "little")
        if channel in channels:
            yield _run(octets[at : at + count * total].reshape(count, total), channel)
        at += count * total


def _run_length(octets: NDArray[np.uint8], at: int, total: int) -> int:
    """How many records from ``at`` on have the same key; looks ahead in growing steps."""
    most = (len(octets) - at) // total
    rows = octets[at : at + most * total].reshape(most, total)
    # The key as two overlapping words, since comparing words is several times faster than comparing bytes.
    low, high = rows[:, :8].view("<u8")[:, 0], rows[:, _KEY - 8 : _KEY].view("<u8")[:, 0]
    known, step = 1, 1
    while known < most:
        stop = min(known + step, most)
        same = (low[known:stop] == low[0]) & (high[known:stop] == high[0])
        if not same.all():
            return known + int(np.argmin(same))
        known, step = stop, step * 8
    return known


def _run(rows: NDArray[np.uint8], channel: int) -> Run:
    heads = np.ascontiguousarray(rows[:, :_BODY]).view(fmt.MESSAGE_HEAD)[:, 0]
    return Run(
        channel,
        heads["log_time"].astype(np.int64),
        heads["publish_time"].astype(np.int64),
        heads["sequence"].astype(np.int64),
        rows[:, _BODY:],
    )
