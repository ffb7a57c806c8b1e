"""What ATI's serial sensors send: bytes to readings, pure.

Three formats:

- CTL controller, text (``CD A``): ``0,  -102, 33, 4, 5, -6, 7`` and a line end; the first field is the error code.
- CTL controller, binary (``CD B``): one error byte, then six big-endian signed 16-bit integers, and nothing that
  marks where a record begins.
- Serial Axia, asked for ``c <#cdfxyztxyz``: a counter of lines, then six decimal counts, separated by blanks.
"""

import re
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BINARY_SIZE = 13
_BINARY = np.dtype([("error", "u1"), ("counts", ">i2", (6,))])
_HISTORY = 32 * BINARY_SIZE
"""Bytes by which the beginning of binary records is found."""
_LOCK = 6 * BINARY_SIZE
"""Bytes needed before binary records are believed."""
_LONGEST_LINE = 256
_ECHO = re.compile(rb"\A\s*QS[\r\n >]*")
"""The request for binary records, which the controller may repeat before the first one; an error byte ends it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One measurement as sent."""

    counts: tuple[int, ...]
    """Fx Fy Fz Tx Ty Tz."""
    status: int
    """The controller's error code; 0 means none. The Axia's lines carry none."""
    counter: int | None
    """The device's counter of lines, where it sends one."""
    trailing: int
    """Bytes of the same chunk that came after it, by which it is dated back."""


class Decoder(Protocol):
    """Turns a stream of bytes into readings, across any division into chunks."""

    malformed: int
    """Lines that are not readings, or times that binary records had to be found again."""

    def feed(self, chunk: bytes) -> list[Reading]:
        """Take the next bytes; the readings that they complete."""
        ...


class TextDecoder:
    """Lines of a CTL controller (first field: error code) or of a Serial Axia (first field: counter)."""

    def __init__(self, *, axia: bool) -> None:
        self.malformed = 0
        self._axia = axia
        separator = r"[ \t]+" if axia else r"[ \t]*,[ \t]*"
        self._pattern = re.compile(rb"\s*(\d{1,10})" + rf"{separator}(-?\d{{1,10}})".encode() * 6 + rb"\s*")
        self._rest = b""

    def feed(self, chunk: bytes) -> list[Reading]:
        """Take the next bytes; the readings that they complete."""
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        trailing = len(rest) + sum(len(line) + 1 for line in lines)
        readings = []
        for line in lines:
            trailing -= len(line) + 1
            fields = self._pattern.fullmatch(line)
            if fields:
                first, *counts = map(int, fields.groups())
                status, counter = (0, first) if self._axia else (first, None)
                readings.append(Reading(tuple(counts), status, counter, trailing))
            elif line.strip(b" \t>"):
                self.malformed += 1
        if len(rest) > _LONGEST_LINE:
            self.malformed += 1
            rest = b""
        self._rest = rest
        return readings


class BinaryDecoder:
    """Binary records of a CTL controller, whose beginning must be found by what makes sense.

    Of the thirteen ways to cut the stream, the right one has an error byte that hardly ever changes and values
    that change least. It is looked for anew whenever another way is clearly better, as after a lost byte.
    """

    def __init__(self) -> None:
        self.malformed = 0
        self._history = b""
        self._pending = b""
        self._locked = False

    def feed(self, chunk: bytes) -> list[Reading]:
        """Take the next bytes; the readings that they complete."""
        self._pending += chunk
        if not self._locked:
            if len(self._pending) < _LOCK:
                return []
            self._pending = _ECHO.sub(b"", self._pending, count=1)
            self._pending = self._pending[find_beginning(self._pending) :]
            self._locked = True
        whole = len(self._pending) - len(self._pending) % BINARY_SIZE
        if not whole:
            return []
        history = (self._history + self._pending[:whole])[-_HISTORY:]
        shift = find_beginning(history) if len(history) == _HISTORY else 0
        if shift:
            # Everything since the byte went missing is doubtful: begin again with what follows.
            self.malformed += 1
            self._history, self._pending, self._locked = b"", self._pending[-_LOCK:], False
            return []
        self._history = history
        records = np.frombuffer(self._pending[:whole], dtype=_BINARY)
        trailing = len(self._pending)
        self._pending = self._pending[whole:]
        return [
            Reading(tuple(counts), error, None, trailing - (i + 1) * BINARY_SIZE)
            for i, (error, counts) in enumerate(zip(records["error"].tolist(), records["counts"].tolist(), strict=True))
        ]


def find_beginning(data: bytes) -> int:
    """The offset (0 to 12) at which binary records most probably begin; 0 if nothing is clearly better."""
    restless = [_restlessness(data, offset) for offset in range(BINARY_SIZE)]
    best = int(np.argmin(restless))
    return best if restless[best] * 4 + 16 < restless[0] else 0


def _restlessness(data: bytes, offset: int) -> float:
    """How much the values change from record to record, in counts, plus punishments.

    A wrong cut takes low bytes for high ones, which multiplies the noise by 256, or for the error byte, which then
    changes all the time. An error that lasts must not make a wrong cut look right: it weighs little.
    """
    n = (len(data) - offset) // BINARY_SIZE
    records = np.frombuffer(data, dtype=_BINARY, count=n, offset=offset)
    counts: NDArray[np.float64] = records["counts"].astype(np.float64)
    change = np.abs(np.diff(counts, axis=0)).mean()
    error = records["error"]
    return float(change + 1000 * np.mean(error[1:] != error[:-1]) + 64 * np.mean(error != 0))
