"""MCAP records as bytes: the container's grammar (https://mcap.dev/spec), without files or threads.

A file is ``MAGIC``, a header, the data section (schemas, channels, metadata, chunks with their message
indexes), a data-end record, an optional summary, a footer and ``MAGIC`` again. Every record is an opcode
byte, a ``u64`` length and that many bytes; integers are little-endian, strings are ``u32`` length and UTF-8.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0C, 0x0D, 0x0E, 0x0F

RECORD_HEAD = struct.Struct("<BQ")
"""Opcode and length."""
MESSAGE_HEAD = struct.Struct("<BQHIQQ")
"""Opcode, length, channel, sequence, log time (ns), publish time (ns)."""
CHUNK_HEAD = struct.Struct("<QQQII")
"""First and last log time (ns), uncompressed size, CRC-32 of the uncompressed bytes, length of the
compression name.
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """One stream of messages of one kind."""

    id: int
    schema: int
    """0: without schema."""
    topic: str
    encoding: str
    """``cdr``, ``json`` or ``raw``."""
    metadata: Mapping[str, str]


def record(opcode: int, body: bytes) -> bytes:
    """One record with its head."""
    return RECORD_HEAD.pack(opcode, len(body)) + body


def text(value: str) -> bytes:
    """A string with its length."""
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def string_map(entries: Mapping[str, str]) -> bytes:
    """A map of strings with its length in bytes."""
    body = b"".join(text(key) + text(value) for key, value in entries.items())
    return struct.pack("<I", len(body)) + body


def header(library: str) -> bytes:
    """The first record.

    Profile ``ros2``: CDR messages with ROS 2 schemas, so that ROS tools take the file.
    """
    return record(HEADER, text("ros2") + text(library))


def schema(schema_id: int, name: str, encoding: str, definition: str) -> bytes:
    """The definition of a message type."""
    return record(SCHEMA, struct.pack("<H", schema_id) + text(name) + text(encoding) + text(definition))


def channel(entry: Channel) -> bytes:
    """The declaration of a channel."""
    body = struct.pack("<HH", entry.id, entry.schema) + text(entry.topic) + text(entry.encoding)
    return record(CHANNEL, body + string_map(entry.metadata))


def metadata(name: str, entries: Mapping[str, str]) -> bytes:
    """A named map of strings."""
    return record(METADATA, text(name) + string_map(entries))


def trailer(data_crc: int) -> bytes:
    """What completes a file without summary: the data's end, a footer that promises nothing, the magic."""
    return record(DATA_END, struct.pack("<I", data_crc)) + record(FOOTER, bytes(20)) + MAGIC


def closing(data_crc: int, data_end: int, groups: Mapping[int, bytes]) -> bytes:
    """The data's end, the summary made of ``groups`` (opcode → records), its offsets, the footer and the
    magic.

    ``data_end`` is the file offset at which these bytes will lie.
    """
    end = record(DATA_END, struct.pack("<I", data_crc))
    start = data_end + len(end)
    summary, offsets = b"", b""
    for opcode, records in groups.items():
        if records:
            place = struct.pack("<BQQ", opcode, start + len(summary), len(records))
            offsets += record(SUMMARY_OFFSET, place)
            summary += records
    head = RECORD_HEAD.pack(FOOTER, 20) + struct.pack("<QQ", start, start + len(summary))
    crc = zlib.crc32(summary + offsets + head)
    return end + summary + offsets + head + struct.pack("<I", crc) + MAGIC


class Cursor:
    """Reads fields off a record's body; running over its end raises ``struct.error``."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        """The next integers, by a ``struct`` layout without padding."""
        values = struct.unpack_from("<" + layout, self._data, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def text(self) -> str:
        """The next string."""
        (length,) = self.take("I")
        value = self._data[self._at : self._at + length]
        if len(value) < length:
            raise struct.error(f"a string of {length} bytes runs over the record's end")
        self._at += length
        return value.decode()

    def string_map(self) -> dict[str, str]:
        """The next map of strings."""
        (length,) = self.take("I")
        end = self._at + length
        entries = {}
        while self._at < end:
            key = self.text()
            entries[key] = self.text()
        return entries


def parse_head(head: bytes) -> tuple[int, int]:
    """Opcode and length of the record that starts here."""
    opcode, length = RECORD_HEAD.unpack(head)
    return int(opcode), int(length)


def parse_channel(body: bytes) -> Channel:
    """The inverse of :func:`channel`."""
    cursor = Cursor(body)
    channel_id, schema_id = cursor.take("HH")
    return Channel(channel_id, schema_id, cursor.text(), cursor.text(), cursor.string_map())


def parse_metadata(body: bytes) -> tuple[str, dict[str, str]]:
    """The inverse of :func:`metadata`."""
    cursor = Cursor(body)
    return cursor.text(), cursor.string_map()
