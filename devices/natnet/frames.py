"""The frame-of-data message, versions 2.5 to 4.2: bytes to :class:`Frame`.

Sections have a byte size from 4.1 on. For versions that we know the structure itself says where a section
ends, and a wrong size does no harm; for a newer version the size lets us step over what we do not know.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from devices.natnet.frame_layout import BODY, BODY_POSE, I32, PARAMS, PTP, TICKS, VECTOR, Layout, layout_of
from devices.natnet.messages import (
    AnalogDevice,
    Asset,
    BodyMarker,
    Frame,
    LabeledMarker,
    MarkerSet,
    RigidBody,
    Skeleton,
)
from devices.natnet.reader import Malformed, Reader
from devices.natnet.types import Vector, Version

_Item = TypeVar("_Item")

_build = tuple.__new__
"""Makes named tuples; their own constructors take nearly twice as long."""


def _bodies(reader: Reader, layout: Layout, n: int) -> tuple[RigidBody, ...]:
    if layout.body_markers:
        return tuple([_old_body(reader, layout) for _ in range(n)])
    at = reader.take(BODY.size * n)
    return tuple(
        [
            _build(RigidBody, (i, (x, y, z), (a, b, c, w), error, params, ()))
            for i, x, y, z, a, b, c, w, error, params in BODY.iter_unpack(reader.data[at : reader.at])
        ]
    )


def _old_body(reader: Reader, layout: Layout) -> RigidBody:
    at = reader.take(BODY_POSE.size)
    i, x, y, z, a, b, c, w = BODY_POSE.unpack_from(reader.data, at)
    n = reader.loop(20)
    positions = _vectors(reader, layout, n)
    at = reader.take(4 * n)
    labels = I32.iter_unpack(reader.data[at : reader.at])
    sizes = reader.floats(n)
    markers = tuple(
        BodyMarker(position, label, size) for position, (label,), size in zip(positions, labels, sizes, strict=True)
    )
    (error,) = reader.floats(1)
    params = PARAMS.unpack_from(reader.data, reader.take(2))[0] if layout.params else 1
    return RigidBody(i, (x, y, z), (a, b, c, w), error, params, markers)


def _markers(reader: Reader, layout: Layout, n: int) -> tuple[LabeledMarker, ...]:
    at = reader.take(layout.marker.size * n)
    items = layout.marker.iter_unpack(reader.data[at : reader.at])
    if layout.marker_fields < 7:
        return tuple([LabeledMarker(i, (x, y, z), *rest) for i, x, y, z, *rest in items])
    return tuple([_build(LabeledMarker, (i, (x, y, z), s, f, r)) for i, x, y, z, s, f, r in items])


def _skip_markers(reader: Reader, layout: Layout, n: int) -> tuple[LabeledMarker, ...]:
    reader.take(layout.marker.size * n)
    return ()


def _marker_sets(reader: Reader, layout: Layout, n: int) -> tuple[MarkerSet, ...]:
    return tuple([MarkerSet(reader.text(), _vectors(reader, layout, reader.count(12))) for _ in range(n)])


def _skip_marker_sets(reader: Reader, _: Layout, n: int) -> tuple[MarkerSet, ...]:
    for _item in range(n):
        reader.skip_text()
        reader.take(12 * reader.count(12))
    return ()


def _vectors(reader: Reader, _: Layout, n: int) -> tuple[Vector, ...]:
    at = reader.take(12 * n)
    return cast(tuple[Vector, ...], tuple(VECTOR.iter_unpack(reader.data[at : reader.at])))


def _skip_vectors(reader: Reader, _: Layout, n: int) -> tuple[Vector, ...]:
    reader.take(12 * n)
    return ()


def _skeletons(reader: Reader, layout: Layout, n: int) -> tuple[Skeleton, ...]:
    return tuple(
        Skeleton(reader.i32(), _bodies(reader, layout, reader.loop(layout.body_size, layout.body_cost)))
        for _ in range(n)
    )


def _assets(reader: Reader, layout: Layout, n: int) -> tuple[Asset, ...]:
    return tuple(
        Asset(
            reader.i32(),
            _bodies(reader, layout, reader.loop(layout.body_size, layout.body_cost)),
            _markers(reader, layout, reader.count(layout.marker.size)),
        )
        for _ in range(n)
    )


def _analog(reader: Reader, _: Layout, n: int) -> tuple[AnalogDevice, ...]:
    return tuple(
        AnalogDevice(reader.i32(), tuple(reader.floats(reader.count(4)) for _ in range(reader.loop(4))))
        for _ in range(n)
    )


def _section(
    reader: Reader,
    layout: Layout,
    part: str,
    item_size: int,
    cost: int,
    decode: Callable[[Reader, Layout, int], tuple[_Item, ...]],
) -> tuple[_Item, ...]:
    reader.part = part
    n = reader.loop(item_size, cost)
    if not layout.sized:
        return decode(reader, layout, n)
    size = reader.count(1)
    if not layout.newer:
        return decode(reader, layout, n)
    stop = reader.at + size
    try:
        items = decode(reader, layout, n)
        if reader.at != stop:
            reader.fail(f"{n} items do not fill {size} bytes, so this newer version has another layout")
    except Malformed:
        if part == "rigid bodies":
            raise
        items = ()
    reader.at = stop
    return items


def decode_frame(data: bytes, version: Version, *, with_markers: bool = True, reader: Reader | None = None) -> Frame:
    """Decode a whole frame-of-data datagram, header included; ``reader`` may be one that watches, behind the header.

    Without markers, marker sets and markers are stepped over instead of built: what a driver of rigid bodies
    needs. Of a version newer than we know, sections with another layout are left empty; without readable
    rigid bodies the datagram is malformed.
    """
    layout = layout_of(version)
    reader = reader or Reader(data, 4, "frame number")
    number = reader.i32()
    marker_size = layout.marker.size
    sets = _section(reader, layout, "marker sets", 5, 1, _marker_sets if with_markers else _skip_marker_sets)
    others = _section(reader, layout, "other markers", 12, 0, _vectors if with_markers else _skip_vectors)
    bodies = _section(reader, layout, "rigid bodies", layout.body_size, layout.body_cost, _bodies)
    skeletons = _section(reader, layout, "skeletons", 8, 1, _skeletons)
    assets = _section(reader, layout, "assets", 12, 1, _assets) if layout.assets else ()
    markers = _section(reader, layout, "labeled markers", marker_size, 0, _markers if with_markers else _skip_markers)
    plates = _section(reader, layout, "force plates", 8, 1, _analog) if layout.force_plates else ()
    devices = _section(reader, layout, "devices", 8, 1, _analog) if layout.devices else ()

    reader.part = "frame suffix"
    stamp = layout.stamp.unpack_from(data, reader.take(layout.stamp.size))
    latency = stamp[0] if layout.body_markers else 0.0
    timecode, timecode_sub = stamp[1:3] if layout.body_markers else stamp[:2]
    timestamp = stamp[-1] if layout.params else 0.0
    exposure, received, transmit = TICKS.unpack_from(data, reader.take(TICKS.size)) if layout.ticks else (0, 0, 0)
    return Frame(
        number, sets, others, bodies, skeletons, assets, markers, plates, devices,
        latency, timecode, timecode_sub, timestamp, exposure, received, transmit,
        *_end_of_frame(reader, layout),
    )  # fmt: skip


def _end_of_frame(reader: Reader, layout: Layout) -> tuple[tuple[int, int] | None, int]:
    """Read the PTP pair and the parameters; clients disagree about the pair, so the bytes left decide."""
    ptp = None
    left = reader.end - reader.at
    if (left == 14 and layout.ptp_possible) or (left > 14 and layout.newer):
        ptp = PTP.unpack_from(reader.data, reader.take(8))
    params = PARAMS.unpack_from(reader.data, reader.take(2))[0] if layout.params else 0
    if layout.newer:
        return ptp, params
    if reader.i32() != 0:
        reader.at -= 4
        reader.fail("end mark is not 0")
    if reader.at != reader.end:
        reader.fail(f"{reader.end - reader.at} bytes after the end mark")
    return ptp, params
