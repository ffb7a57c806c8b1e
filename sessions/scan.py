"""What is in a file, whatever state it is in: one pass over the heads of its records.

The summary at the end is never trusted, since it is missing after a crash and wrong after damage. A pass over
the heads alone takes about a microsecond a record, some ten thousand of them in an hour of recording.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import zstandard

from sessions import format as fmt
from sessions import records
from sessions.errors import SessionError

MAX_CHUNK = 256 << 20
"""Bytes of a chunk, packed or unpacked, beyond which its head is taken for damaged."""
_MAX_SMALL = 4 << 20
"""The same for schemas, channels and metadata."""
_CHUNK_MARK = re.compile(rb"\x04\x00\x00\x00zstd")
_MARK_OFFSET = records.RECORD_HEAD.size + records.CHUNK_HEAD.size - 4


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of a file that could not be read."""

    path: Path
    offset: int
    length: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path.name}: {self.length} bytes at {self.offset} unreadable ({self.reason})"


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """Where a chunk's compressed data lie, and what the head says about them."""

    path: Path
    offset: int
    packed: int
    unpacked: int
    crc: int
    compression: str
    t0_ns: int
    t1_ns: int
    """Log times of the first and the last message."""


@dataclass(slots=True)
class Scan:
    """The contents of one file."""

    path: Path
    size: int
    metadata: dict[str, str] = field(default_factory=dict)
    channels: dict[int, records.Channel] = field(default_factory=dict)
    chunks: list[ChunkRef] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    closed: bool = False
    """Whether the recorder ended the file itself, with a summary."""


def scan(path: Path) -> Scan:
    """Look through a file; raises ``SessionError`` only when nothing of a session can be read from it."""
    try:
        with path.open("rb") as file:
            return _scan(path, file)
    except OSError as error:
        raise SessionError(
            f"Cannot read {path}: {error.strerror}. Check the path; `ident sessions` lists all."
        ) from error


def _scan(path: Path, file: BinaryIO) -> Scan:
    size = file.seek(0, 2)
    file.seek(0)
    start = file.read(len(records.MAGIC))
    if size == 0:
        raise SessionError(f"{path} is empty (0 bytes): nothing was recorded in it.")
    if start != records.MAGIC[: len(start)]:
        raise SessionError(
            f"{path} is no MCAP file (it starts with {start[:8]!r}). "
            "For Motive CSV, pose logs and ROS bags use `ident import`."
        )
    result = Scan(path, size)
    at = len(records.MAGIC)
    while at < size and not result.closed:
        file.seek(at)
        head = file.read(records.RECORD_HEAD.size)
        step = _record(result, file, at, head)
        if step is None:
            resumed = _next_chunk(file, at + 1, size)
            reason = "cut off" if resumed == size else "damaged"
            result.damage.append(Damage(path, at, resumed - at, reason))
            at = resumed
        elif step == 0:
            break
        else:
            at += step
    return result


def _record(result: Scan, file: BinaryIO, at: int, head: bytes) -> int | None:
    """Take in the record at ``at``; its length in the file, 0 at the end of data, None when it is damaged."""
    if len(head) < records.RECORD_HEAD.size:
        return None
    opcode, length = records.parse_head(head)
    total = len(head) + length
    if not 0 < opcode <= records.DATA_END or at + total > result.size:
        return None
    try:
        if opcode == records.CHUNK:
            result.chunks.append(_chunk_head(result.path, file.read(64), at, length))
        elif opcode in (records.CHANNEL, records.METADATA):
            if length > _MAX_SMALL:
                return None
            _declaration(result, opcode, file.read(length))
        elif opcode == records.DATA_END:
            result.closed = _has_summary(file, at + total)
            return 0
    except (struct.error, UnicodeDecodeError, ValueError):
        return None
    return total


def _declaration(result: Scan, opcode: int, body: bytes) -> None:
    if opcode == records.CHANNEL:
        channel = records.parse_channel(body)
        result.channels.setdefault(channel.id, channel)
    else:
        name, entries = records.parse_metadata(body)
        if name == fmt.SESSION_METADATA and not result.metadata:
            result.metadata = entries


def _chunk_head(path: Path, head: bytes, at: int, length: int) -> ChunkRef:
    t0_ns, t1_ns, unpacked, crc, name_length = records.CHUNK_HEAD.unpack_from(head)
    name_end = records.CHUNK_HEAD.size + name_length
    compression = head[records.CHUNK_HEAD.size : name_end].decode()
    (packed,) = struct.unpack_from("<Q", head, name_end)
    if compression not in ("", "lz4", "zstd") or name_end + 8 + packed != length or t0_ns > t1_ns:
        raise ValueError("inconsistent chunk head")
    if max(packed, unpacked) > MAX_CHUNK:
        raise ValueError("chunk too large")
    return ChunkRef(path, at + 9 + name_end + 8, packed, unpacked, crc, compression, t0_ns, t1_ns)


def _has_summary(file: BinaryIO, at: int) -> bool:
    """Whether something else than the recorder's provisional footer follows the data's end."""
    file.seek(at)
    head = file.read(1)
    return bool(head) and head[0] != records.FOOTER


def _next_chunk(file: BinaryIO, at: int, size: int) -> int:
    """Offset of the next thing that looks like a whole chunk of ours; ``size`` when there is none."""
    block, overlap = 1 << 20, 64
    while at < size:
        file.seek(at)
        data = file.read(block)
        for mark in _CHUNK_MARK.finditer(data):
            start = at + mark.start() - _MARK_OFFSET
            if start >= at and _is_chunk(file, start, size):
                return start
        if len(data) < block:
            break
        at += block - overlap
    return size


def _is_chunk(file: BinaryIO, start: int, size: int) -> bool:
    file.seek(start)
    head = file.read(records.RECORD_HEAD.size)
    opcode, length = records.parse_head(head)
    if opcode != records.CHUNK or start + len(head) + length > size:
        return False
    try:
        _chunk_head(Path(), file.read(64), start, length)
    except (struct.error, UnicodeDecodeError, ValueError):
        return False
    return True


def unpack(file: BinaryIO, ref: ChunkRef) -> bytes:
    """The message records of a chunk; raises ``ValueError`` with the reason when they are damaged.

    The sizes in both heads must agree before anything is allocated, so damage cannot ask for more than it
    holds.
    """
    file.seek(ref.offset)
    data = file.read(ref.packed)
    if ref.compression == "zstd":
        try:
            if zstandard.frame_content_size(data) != ref.unpacked:
                raise ValueError("sizes disagree")
            data = zstandard.ZstdDecompressor(max_window_size=MAX_CHUNK).decompress(data)
        except zstandard.ZstdError as error:
            raise ValueError(f"cannot be unpacked: {error}") from error
    elif ref.compression:
        raise ValueError(f"packed with {ref.compression}, which this program does not read")
    if len(data) != ref.unpacked:
        raise ValueError("sizes disagree")
    if ref.crc and zlib.crc32(data) != ref.crc:
        raise ValueError("checksum is wrong")
    return data


def unpack_all(refs: Iterable[ChunkRef], damage: list[Damage]) -> Iterator[tuple[ChunkRef, bytes]]:
    """Each readable chunk; the others are added to ``damage``, once."""
    for path, group in groupby(refs, key=lambda ref: ref.path):
        with path.open("rb") as file:
            for ref in group:
                try:
                    data = unpack(file, ref)
                except ValueError as error:
                    found = Damage(path, ref.offset, ref.packed, str(error))
                    if found not in damage:
                        damage.append(found)
                    continue
                yield ref, data
