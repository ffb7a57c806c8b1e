"""Raw Data Transfer, the UDP protocol of ATI's network force/torque sensors: bytes to arrays and back, pure.

Big-endian. A request is 8 bytes: u16 0x1234, u16 command, u32 sample count (0 = endless). The sensor answers
the sender with datagrams of one 36-byte record, or of several in buffered mode.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEADER = 0x1234
REQUEST_SIZE = 8
RECORD = np.dtype(
    [
        ("rdt_sequence", ">u4"),  # restarts at 1 with each request
        (
            "ft_sequence",
            ">u4",
        ),  # internal sample counter; steps by internal rate / RDT rate; not reset by requests
        ("status", ">u4"),
        ("counts", ">i4", (6,)),  # Fx Fy Fz Tx Ty Tz
    ]
)
RECORD_SIZE = RECORD.itemsize
MAX_DATAGRAM = 65507
"""The largest payload that UDP can carry over IPv4."""

_REQUEST = struct.Struct(">HHI")
_RECORD = struct.Struct(">III6i")


class Malformed(ValueError):
    """Bytes or a document that are not what the sensor's protocol describes; the message says where."""


class Command(IntEnum):
    """What a request asks for."""

    STOP = 0
    SINGLE_BLOCK = 1
    """Ethernet Axia's other name for REALTIME."""
    REALTIME = 2
    """One record a datagram."""
    BUFFERED = 3
    """Several records a datagram."""
    MULTI_UNIT = 4
    RESET_LATCH = 0x41
    """Forget the latched threshold condition."""
    BIAS = 0x42
    """Take the present load as zero."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a client."""

    command: Command
    sample_count: int = 0
    """Records wanted; 0 means endless."""


def encode_request(request: Request) -> bytes:
    """The 8 bytes of a request."""
    if not 0 <= request.sample_count < 1 << 32:
        raise ValueError(f"sample count {request.sample_count} does not fit into 32 bits")
    return _REQUEST.pack(HEADER, request.command, request.sample_count)


def decode_request(datagram: bytes) -> Request:
    """The request in a datagram, or `Malformed`."""
    if len(datagram) != REQUEST_SIZE:
        raise Malformed(f"request of {len(datagram)} bytes, {REQUEST_SIZE} expected")
    header, command, count = _REQUEST.unpack(datagram)
    if header != HEADER:
        raise Malformed(f"request header 0x{header:04X} at byte 0, 0x{HEADER:04X} expected")
    try:
        return Request(Command(command), count)
    except ValueError:
        raise Malformed(f"unknown command 0x{command:04X} at byte 2") from None


def encode_record(rdt_sequence: int, ft_sequence: int, status: int, counts: tuple[int, ...]) -> bytes:
    """The 36 bytes of one record with six counts, each a signed 32-bit integer. Sequences wrap at 2³²."""
    return _RECORD.pack(rdt_sequence & 0xFFFFFFFF, ft_sequence & 0xFFFFFFFF, status & 0xFFFFFFFF, *counts)


def encode_records(rdt_sequence: ArrayLike, ft_sequence: ArrayLike, status: ArrayLike, counts: ArrayLike) -> bytes:
    """The bytes of n records: sequences and status (n,) or scalar, counts (n, 6), saturated at 32 bits."""
    values = np.atleast_2d(np.asarray(counts, dtype=np.int64))
    records = np.empty(len(values), dtype=RECORD)
    records["rdt_sequence"] = np.asarray(rdt_sequence, dtype=np.int64) & 0xFFFFFFFF
    records["ft_sequence"] = np.asarray(ft_sequence, dtype=np.int64) & 0xFFFFFFFF
    records["status"] = np.asarray(status, dtype=np.int64) & 0xFFFFFFFF
    records["counts"] = np.clip(values, -(1 << 31), (1 << 31) - 1)
    return records.tobytes()


def check_size(size: int) -> None:
    """Raise `Malformed` unless a datagram of that many bytes is a whole number of records."""
    if not size:
        raise Malformed(f"empty datagram, records of {RECORD_SIZE} bytes expected")
    if size % RECORD_SIZE:
        raise Malformed(f"datagram of {size} bytes ends {size % RECORD_SIZE} bytes into a {RECORD_SIZE}-byte record")
    if size > MAX_DATAGRAM:
        raise Malformed(f"datagram of {size} bytes, UDP carries at most {MAX_DATAGRAM}")


def decode_records(datagram: bytes) -> NDArray[np.void]:
    """The records in a datagram as an array of `RECORD`, or `Malformed`.

    A record has no checksum of its own, so that any multiple of 36 bytes is a valid one: plausibility is the
    sequence accounting's task.
    """
    check_size(len(datagram))
    return np.frombuffer(datagram, dtype=RECORD)
