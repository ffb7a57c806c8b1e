"""One growing MCAP file that is complete after every write.

After each chunk the file ends in a minimal trailer, which the next chunk overwrites: whoever opens the file
at any moment, also after the writing process was killed, finds a valid MCAP without summary. Closing replaces
the trailer by a full summary with indexes. Nothing before the trailer is ever written twice.
"""

import fcntl
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard
from numpy.typing import NDArray

from sessions import format as fmt
from sessions import records
from sessions.errors import SessionError

LIBRARY = "ident sessions"
_COMPRESSION = "zstd"


class PartWriter:
    """Writes one file of a session; used by one thread at a time.

    ``entries`` are the session's metadata, written first. Raises ``SessionError`` when the file exists
    (unless ``overwrite``), is being recorded by someone else, or cannot be written; plain ``OSError`` from a
    full disk comes out of :meth:`write_chunk` after the file was cut back to its last complete chunk.
    """

    def __init__(self, path: Path, entries: Mapping[str, str], *, overwrite: bool = False) -> None:
        self.path = path
        self._fd = _claim(path, overwrite=overwrite)
        self._end = 0
        self._crc = 0
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._schemas: dict[int, bytes] = {}
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._chunk_index: list[bytes] = []
        self._first_ns: int | None = None
        self._last_ns = 0
        head = records.MAGIC + records.header(LIBRARY)
        meta = records.metadata(fmt.SESSION_METADATA, entries)
        place = struct.pack("<QQ", len(head), len(meta)) + records.text(fmt.SESSION_METADATA)
        self._metadata_index = records.record(records.METADATA_INDEX, place)
        self._append(head + meta)

    @property
    def size(self) -> int:
        """Bytes written so far, without the trailer."""
        return self._end

    def add_channel(self, channel: records.Channel) -> None:
        """Declare a channel, and its schema before it where it is the first to use that one."""
        declared = b""
        if channel.schema and channel.schema not in self._schemas:
            name, definition = fmt.SCHEMAS[channel.schema]
            declared = records.schema(channel.schema, name, "ros2msg", definition)
            self._schemas[channel.schema] = declared
        self._channels.append(records.channel(channel))
        self._append(declared + self._channels[-1])

    def write_chunk(self, batches: Sequence[NDArray[Any]]) -> int:
        """Write message records as one chunk with its indexes; returns the bytes added.

        Each batch holds records of one channel, as made by :func:`sessions.format.new_messages`.
        """
        data = b"".join(batch.tobytes() for batch in batches)
        indexes, sizes, first, last = _index(batches)
        packed = self._compressor.compress(data)
        head = records.CHUNK_HEAD.pack(first, last, len(data), zlib.crc32(data), len(_COMPRESSION))
        body = head + _COMPRESSION.encode() + struct.pack("<Q", len(packed)) + packed
        chunk = records.record(records.CHUNK, body)
        start = self._end
        self._append(chunk + b"".join(indexes.values()))
        for channel, count in sizes.items():
            self._counts[channel] = self._counts.get(channel, 0) + count
        self._first_ns = first if self._first_ns is None else min(first, self._first_ns)
        self._last_ns = max(last, self._last_ns)
        self._chunk_index.append(_chunk_index(start, len(chunk), indexes, (first, last), len(packed), len(data)))
        return self._end - start

    def sync(self) -> None:
        """Return once everything written is on the disk itself."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Replace the trailer by the summary, put everything on the disk and let the file go. Idempotent."""
        if self._fd < 0:
            return
        try:
            self._write(records.closing(self._crc, self._end, self._summary()))
            os.fsync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1

    def abandon(self) -> None:
        """Let the file go as it is: complete, without summary. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _summary(self) -> dict[int, bytes]:
        counts = b"".join(struct.pack("<HQ", channel, n) for channel, n in self._counts.items())
        totals = (
            sum(self._counts.values()),
            len(self._schemas),
            len(self._channels),
            0,
            1,
            len(self._chunk_index),
        )
        span = (self._first_ns or 0, self._last_ns)
        statistics = struct.pack("<QHIIIIQQI", *totals, *span, len(counts)) + counts
        return {
            records.SCHEMA: b"".join(self._schemas.values()),
            records.CHANNEL: b"".join(self._channels),
            records.STATISTICS: records.record(records.STATISTICS, statistics),
            records.CHUNK_INDEX: b"".join(self._chunk_index),
            records.METADATA_INDEX: self._metadata_index,
        }

    def _append(self, data: bytes) -> None:
        crc = zlib.crc32(data, self._crc)
        try:
            self._write(data + records.trailer(crc))
        except OSError:
            self._cut_back()
            raise
        self._crc = crc
        self._end += len(data)

    def _write(self, data: bytes) -> None:
        rest, at = memoryview(data), self._end
        while rest:
            written = os.pwrite(self._fd, rest, at)
            rest, at = rest[written:], at + written

    def _cut_back(self) -> None:
        """After a failed write: give the space back, and close the data with the trailer where that still
        goes.
        """
        os.ftruncate(self._fd, self._end)
        try:
            self._write(records.trailer(self._crc))
        except OSError:
            os.ftruncate(self._fd, self._end)


def _claim(path: Path, *, overwrite: bool) -> int:
    """Open the file for this process alone; the lock goes with the process, however that ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SessionError(
            f"Cannot write {path}: {error.strerror}. Choose another folder or fix its permissions."
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise SessionError(
            f"{path} is being recorded by another process. Stop that one, or choose another name."
        ) from error
    size = os.fstat(fd).st_size
    if size and not overwrite:
        os.close(fd)
        raise SessionError(
            f"{path} exists already ({size} bytes) and a session is never overwritten unasked. "
            "Choose another name, or move the file away."
        )
    os.ftruncate(fd, 0)
    return fd


def _index(batches: Sequence[NDArray[Any]]) -> tuple[dict[int, bytes], dict[int, int], int, int]:
    """Message indexes and counts by channel, and the first and last log time in ns."""
    entries: dict[int, list[bytes]] = {}
    counts: dict[int, int] = {}
    offset, firsts, lasts = 0, [], []
    for batch in batches:
        channel = int(batch["channel"][0])
        times = batch["log_time"]
        table = fmt.index_entries(times, offset, batch.dtype.itemsize)
        entries.setdefault(channel, []).append(table.tobytes())
        counts[channel] = counts.get(channel, 0) + len(batch)
        firsts.append(int(times.min()))
        lasts.append(int(times.max()))
        offset += batch.nbytes
    indexes = {}
    for channel, tables in entries.items():
        table_bytes = b"".join(tables)
        body = struct.pack("<HI", channel, len(table_bytes)) + table_bytes
        indexes[channel] = records.record(records.MESSAGE_INDEX, body)
    return indexes, counts, min(firsts), max(lasts)


def _chunk_index(
    start: int,
    length: int,
    indexes: Mapping[int, bytes],
    span_ns: tuple[int, int],
    packed: int,
    unpacked: int,
) -> bytes:
    offset, places = start + length, b""
    for channel, index in indexes.items():
        places += struct.pack("<HQ", channel, offset)
        offset += len(index)
    head = struct.pack("<QQQQI", *span_ns, start, length, len(places)) + places
    tail = struct.pack("<Q", offset - start - length) + records.text(_COMPRESSION)
    return records.record(records.CHUNK_INDEX, head + tail + struct.pack("<QQ", packed, unpacked))
