"""Reading little-endian fields from a datagram that may lie about its own contents."""

from struct import Struct
from typing import NoReturn

_I32 = Struct("<i")

MOST_ITEMS = 4000
"""Items of varying size that one datagram may have: far more than real ones do, and soon read."""


class Malformed(ValueError):
    """A datagram that cannot be what it says; the message tells where."""


class Reader:
    """A cursor over one datagram; every read is bounded by the datagram's real length."""

    __slots__ = ("_spent", "at", "data", "end", "part")

    def __init__(self, data: bytes, at: int, part: str) -> None:
        self.data = data
        self.at = at
        self.end = len(data)
        self._spent = 0
        self.part = part
        """What is being read, for error messages."""

    def fail(self, problem: str) -> NoReturn:
        """Raise :class:`Malformed` for the present place."""
        raise Malformed(f"{self.part}: {problem} at byte {self.at} of {self.end}")

    def take(self, size: int) -> int:
        """Pass over ``size`` bytes and return where they began."""
        at = self.at
        if at + size > self.end:
            self.fail(f"{size} bytes expected, {self.end - at} left")
        self.at = at + size
        return at

    def i32(self) -> int:
        """Read a signed 32-bit integer."""
        at = self.at
        if at + 4 > self.end:
            self.fail(f"4 bytes expected, {self.end - at} left")
        self.at = at + 4
        value: int = _I32.unpack_from(self.data, at)[0]
        return value

    def count(self, item_size: int) -> int:
        """Read how many items follow, each of ``item_size`` bytes or more: what cannot fit is refused."""
        n = self.i32()
        if n < 0 or n * item_size > self.end - self.at:
            self.at -= 4
            self.fail(f"count {n} of items of {item_size} bytes or more, {self.end - self.at - 4} bytes left")
        return n

    def loop(self, item_size: int, cost: int = 1) -> int:
        """Read how many items of varying size follow, which must be read one by one, and charge for them."""
        n = self.count(item_size)
        self._spent += n * cost
        if self._spent > MOST_ITEMS:
            self.fail(f"count {n} makes more than {MOST_ITEMS} items in one datagram")
        return n

    def skip_text(self) -> None:
        """Pass over a NUL-terminated string."""
        stop = self.data.find(b"\0", self.at)
        if stop < 0:
            self.fail("string without an end")
        self.at = stop + 1

    def text(self) -> str:
        """Read a NUL-terminated string; bytes that are not UTF-8 come out as ``\\xNN``."""
        at = self.at
        self.skip_text()
        return self.data[at : self.at - 1].decode("utf-8", "backslashreplace")

    def floats(self, n: int) -> tuple[float, ...]:
        """Read ``n`` 32-bit floats."""
        at = self.take(4 * n)
        return Struct(f"<{n}f").unpack_from(self.data, at)

    def rest(self) -> bytes:
        """Read all that is left."""
        at, self.at = self.at, self.end
        return self.data[at:]


def text_bytes(text: str) -> bytes:
    """Return a NUL-terminated string."""
    data = text.encode("utf-8")
    if b"\0" in data:
        raise ValueError(f"{text!r} contains a NUL character, which ends a string in NatNet")
    return data + b"\0"
