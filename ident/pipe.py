"""Words and arrays through a pipe to a process of our own: JSON and plain numbers, nothing that could be executed."""

import json
import struct
from collections.abc import Mapping
from io import RawIOBase
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
_LENGTH = struct.Struct("<I")
_TYPES = ("<f8", "<i8")


def pack(words: Mapping[str, Any], arrays: Mapping[str, Numbers]) -> bytes:
    """One message; the arrays are of 64-bit floats or integers."""
    columns = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [(name, array.dtype.str, array.shape) for name, array in columns.items()]
    head = json.dumps({"words": words, "arrays": shapes}).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *(array.tobytes() for array in columns.values())])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, Numbers]]:
    """Inverse of :func:`pack`."""
    at = _LENGTH.size + _LENGTH.unpack_from(message)[0]
    head = json.loads(message[_LENGTH.size : at])
    arrays: dict[str, Numbers] = {}
    for name, kind, shape in head["arrays"]:
        if kind not in _TYPES:
            raise ValueError(f"arrays of type {kind} are not sent")
        count = int(np.prod(shape))
        # A copy: compiled loops would be compiled once more for arrays that cannot be written to.
        arrays[name] = np.frombuffer(message, kind, count, at).reshape(shape).copy()
        at += 8 * count
    return head["words"], arrays


def write(stream: IO[bytes] | RawIOBase, message: bytes) -> None:
    """Send a message with its length before it."""
    rest = memoryview(_LENGTH.pack(len(message)) + message)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
    stream.flush()


def read(stream: RawIOBase) -> bytes | None:
    """Wait for a message; None where the stream has ended."""
    header = _exactly(stream, _LENGTH.size)
    return _exactly(stream, _LENGTH.unpack(header)[0]) if header else None


def split(received: bytearray) -> bytes | None:
    """Take the first whole message out of what was received so far; None where it is not whole yet."""
    if len(received) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
    if len(received) < end:
        return None
    message = bytes(received[_LENGTH.size : end])
    del received[:end]
    return message


def _exactly(stream: RawIOBase, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        piece = stream.read(size - len(parts))
        if not piece:
            return None
        parts += piece
    return bytes(parts)
