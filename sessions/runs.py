"""The messages of a chunk, taken out as arrays.

The recorder writes the messages of a channel in a row, all of one length. Such a run is found and read at
once, which makes reading a hundred times faster than message by message; any other order is read correctly
too, only slower.
"""

import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sessions import format as fmt
from sessions import records

_HEAD = struct.Struct("<BQH")
"""What neighbours of one run share: opcode, length, channel."""
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
    at = 0
    while at + _HEAD.size <= len(data):
        opcode, length, channel = _HEAD.unpack_from(data, at)
        total = records.RECORD_HEAD.size + length
        if at + total > len(data):
            return
        if opcode != records.MESSAGE or total < _BODY:
            at += total
            continue
        count = _run_length(data, at, total)
        if channel in channels:
            yield _run(data, at, total, count, channel)
        at += count * total


def _run_length(data: bytes, at: int, total: int) -> int:
    """How many records from ``at`` on have the same key; looks ahead in growing steps."""
    most = (len(data) - at) // total
    # The key as two overlapping words, since comparing words is several times faster than comparing bytes.
    low = np.ndarray(most, "<u8", data, at, total)
    high = np.ndarray(most, "<u8", data, at + _HEAD.size - 8, total)
    known, step = 1, 64
    while known < most:
        stop = min(known + step, most)
        other = (low[known:stop] != low[0]) | (high[known:stop] != high[0])
        first = int(other.argmax())
        if other[first]:
            return known + first
        known, step = stop, step * 64
    return known


def _run(data: bytes, at: int, total: int, count: int, channel: int) -> Run:
    heads = np.ndarray(count, fmt.MESSAGE_HEAD, data, at, total)
    return Run(
        channel,
        heads["log_time"].astype(np.int64),
        heads["publish_time"].astype(np.int64),
        heads["sequence"].astype(np.int64),
        np.ndarray((count, total - _BODY), np.uint8, data, at + _BODY, (total, 1)),
    )
