"""Frames shaped like an earlier one: where everything lies is found once, and after that only checked.

Which bytes of a frame are read as what depends on its length, its counts and its names alone. A server sends the
same ones again and again, so comparing these few bytes replaces the walk through all sections.
"""

from dataclasses import dataclass
from functools import cached_property
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from devices.natnet.frame_layout import BODY, TICKS, Layout, layout_of
from devices.natnet.frames import decode_frame
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.packets import FRAME_ID
from devices.natnet.reader import Reader
from devices.natnet.types import Version

_MOST_SHAPES = 32
_MOST_STRETCHES = 64
"""A frame with more of them is better walked through, and not worth the memory."""
_build = tuple.__new__
_BODY = np.dtype(
    [("id", "<i4"), ("position", "<f4", (3,)), ("quaternion", "<f4", (4,)), ("mean_error", "<f4"), ("params", "<i2")]
)
"""The same as ``BODY``."""


@dataclass(frozen=True)
class _Shape:
    """Where things lie in frames of one length."""

    version: Version
    fixed: tuple[tuple[int, int, bytes], ...]
    """Stretches (start, stop) that decide how the others are read, with their bytes."""
    bodies_at: int
    bodies_end: int
    suffix_at: int
    suffix: Struct
    """Time code, timestamp, ticks, perhaps the PTP pair, parameters, end mark."""

    def fits(self, data: bytes, version: Version) -> bool:
        """Whether a frame of the same length is to be read in the same way."""
        if version != self.version:
            return False
        for start, stop, content in self.fixed:  # noqa: SIM110 - a generator takes three times as long
            if data[start:stop] != content:
                return False
        return True

    @cached_property
    def columns(self) -> np.dtype[np.void]:
        """What matters of a frame, where it lies."""
        n, length = (self.bodies_end - self.bodies_at) // BODY.size, self.suffix_at + self.suffix.size
        places = {
            "kind": ("<u2", 0),
            "number": ("<i4", 4),
            "bodies": ((_BODY, (n,)), self.bodies_at),
            "exposure": ("<u8", self.suffix_at + Struct("<IId").size),
            "params": ("<i2", length - 6),
            "end": ("<i4", length - 4),
        }
        formats, offsets = zip(*places.values(), strict=True)
        names = list(places)
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": length})

    @cached_property
    def deciding(self) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        """Places of the bytes that decide, and these bytes: those of ``fixed``."""
        places = [np.arange(start, stop) for start, stop, _ in self.fixed]
        return np.concatenate(places), np.frombuffer(b"".join(content for *_, content in self.fixed), np.uint8)


class _Surveyor(Reader):
    """A reader that notes which bytes decide how the others are read."""

    __slots__ = ("bodies_at", "fixed")

    def __init__(self, data: bytes, at: int, part: str) -> None:
        super().__init__(data, at, part)
        self.fixed: list[tuple[int, int]] = []
        self.bodies_at = 0

    def count(self, item_size: int) -> int:
        """Read a count, as the reader does."""
        at = self.at
        n = super().count(item_size)
        self._note(at)
        if self.part == "rigid bodies":
            self.bodies_at = self.at
        return n

    def skip_text(self) -> None:
        """Pass over a string, as the reader does."""
        at = self.at
        super().skip_text()
        self._note(at)

    def _note(self, at: int) -> None:
        if self.fixed and self.fixed[-1][1] == at:
            at = self.fixed.pop()[0]
        self.fixed.append((at, self.at))


class FrameDecoder:
    """Decodes the frames of one stream without their markers, as ``decode_frame(…, with_markers=False)`` does."""

    def __init__(self) -> None:
        self._shapes: dict[int, _Shape] = {}

    def decode_frame(self, data: bytes, version: Version) -> Frame:
        """Decode a whole frame-of-data datagram, header included; raises ``Malformed``."""
        shape = self._shapes.get(len(data))
        if shape is None or not shape.fits(data, version):
            return self._walk(data, version)
        timecode, timecode_sub, timestamp, exposure, received, transmit, *ptp, params, end = shape.suffix.unpack_from(
            data, shape.suffix_at
        )
        if end != 0:
            return self._walk(data, version)
        bodies = tuple(
            [
                _build(RigidBody, (i, (x, y, z), (a, b, c, w), error, flags, ()))
                for i, x, y, z, a, b, c, w, error, flags in BODY.iter_unpack(data[shape.bodies_at : shape.bodies_end])
            ]
        )
        number = int.from_bytes(data[4:8], "little", signed=True)
        return Frame(
            number, (), (), bodies, (), (), (), (), (),
            0.0, timecode, timecode_sub, timestamp, exposure, received, transmit,
            (ptp[0], ptp[1]) if ptp else None, params,
        )  # fmt: skip

    def decode_frames(self, data: NDArray[np.void], version: Version) -> NDArray[np.void]:
        """Decode datagrams of one length, from the first on, as long as they are frames of a known shape.

        The fields ``number``, ``bodies``, ``exposure`` and ``params`` have the values that :meth:`decode_frame` finds.
        """
        shape = self._shapes.get(data.itemsize)
        if shape is None or shape.version != version:
            return data[:0]
        frames = data.view(shape.columns)
        places, content = shape.deciding
        octets = data.view(np.uint8).reshape(len(data), data.itemsize)
        strange = (octets[:, places] != content).any(axis=1) | (frames["end"] != 0) | (frames["kind"] != FRAME_ID)
        return frames[: int(np.append(strange, True).argmax())]

    def _walk(self, data: bytes, version: Version) -> Frame:
        """Decode section by section, and remember the shape where there is nothing but bodies and markers."""
        surveyor = _Surveyor(data, 4, "frame number")
        frame = decode_frame(data, version, with_markers=False, reader=surveyor)
        layout = layout_of(version)
        more = frame.skeletons or frame.assets or frame.force_plates or frame.devices
        if layout.ticks and not layout.newer and not more and len(surveyor.fixed) <= _MOST_STRETCHES:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[len(data)] = _shape(surveyor, frame, layout, version)
        return frame


def _shape(surveyor: _Surveyor, frame: Frame, layout: Layout, version: Version) -> _Shape:
    data = surveyor.data
    pair = "" if frame.ptp is None else "2I"
    suffix = Struct(f"{layout.stamp.format}{TICKS.format[1:]}{pair}hi")
    return _Shape(
        version,
        tuple((start, stop, data[start:stop]) for start, stop in surveyor.fixed),
        surveyor.bodies_at,
        surveyor.bodies_at + BODY.size * len(frame.rigid_bodies),
        len(data) - suffix.size,
        suffix,
    )
