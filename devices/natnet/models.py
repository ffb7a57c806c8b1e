"""The model definitions: names and ids of what the server streams, bytes to :class:`ModelDef` and back."""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import cast

from devices.natnet.descriptions import (
    AssetDescription,
    AssetMarkerDescription,
    CameraDescription,
    Description,
    DeviceDescription,
    ForcePlateDescription,
    MarkerPlace,
    MarkerSetDescription,
    ModelDef,
    RigidBodyDescription,
    SkeletonDescription,
    UnknownDescription,
)
from devices.natnet.reader import Malformed, Reader, text_bytes
from devices.natnet.types import NEWEST, OLDEST, Quaternion, Vector, Version

_I32 = Struct("<i")
_ID_AND_PARENT = Struct("<2i")
_PLATE = Struct("<2f3f144f12f")
_ASSET_MARKER = Struct("<i3ffh")


def _vector(reader: Reader) -> Vector:
    return cast(Vector, reader.floats(3))


def _quaternion(reader: Reader) -> Quaternion:
    return cast(Quaternion, reader.floats(4))


def _texts(reader: Reader) -> tuple[str, ...]:
    return tuple(reader.text() for _ in range(reader.loop(1)))


def _marker_set(reader: Reader, _: Version) -> MarkerSetDescription:
    return MarkerSetDescription(reader.text(), _texts(reader))


def _rigid_body(reader: Reader, version: Version) -> RigidBodyDescription:
    name = reader.text()
    body_id, parent = reader.i32(), reader.i32()
    offset = _vector(reader)
    rotation = _quaternion(reader) if version >= (4, 2) else (0.0, 0.0, 0.0, 1.0)
    markers: tuple[MarkerPlace, ...] = ()
    if version >= (3, 0):
        n = reader.loop(16, 3)
        positions = [_vector(reader) for _ in range(n)]
        labels = [reader.i32() for _ in range(n)]
        names = [reader.text() if version >= (4, 0) else "" for _ in range(n)]
        markers = tuple(map(MarkerPlace, positions, labels, names))
    return RigidBodyDescription(name, body_id, parent, offset, rotation, markers)


def _rigid_bodies(reader: Reader, version: Version) -> tuple[RigidBodyDescription, ...]:
    return tuple(_rigid_body(reader, version) for _ in range(reader.loop(21)))


def _skeleton(reader: Reader, version: Version) -> SkeletonDescription:
    return SkeletonDescription(reader.text(), reader.i32(), _rigid_bodies(reader, version))


def _force_plate(reader: Reader, _: Version) -> ForcePlateDescription:
    plate_id, serial = reader.i32(), reader.text()
    width, length = reader.floats(2)
    return ForcePlateDescription(
        plate_id, serial, width, length, _vector(reader), reader.floats(144), reader.floats(12),
        reader.i32(), reader.i32(), _texts(reader),
    )  # fmt: skip


def _device(reader: Reader, _: Version) -> DeviceDescription:
    return DeviceDescription(reader.i32(), reader.text(), reader.text(), reader.i32(), reader.i32(), _texts(reader))


def _camera(reader: Reader, _: Version) -> CameraDescription:
    return CameraDescription(reader.text(), _vector(reader), _quaternion(reader))


def _asset_marker(reader: Reader) -> AssetMarkerDescription:
    name = reader.text()
    i, x, y, z, size, params = _ASSET_MARKER.unpack_from(reader.data, reader.take(_ASSET_MARKER.size))
    return AssetMarkerDescription(name, i, (x, y, z), size, params)


def _asset(reader: Reader, version: Version) -> AssetDescription:
    return AssetDescription(
        reader.text(), reader.i32(), reader.i32(), _rigid_bodies(reader, version),
        tuple(_asset_marker(reader) for _ in range(reader.loop(_ASSET_MARKER.size + 1))),
    )  # fmt: skip


_DECODERS: dict[int, tuple[str, Version, Callable[[Reader, Version], Description]]] = {
    0: ("marker set", OLDEST, _marker_set),
    1: ("rigid body", OLDEST, _rigid_body),
    2: ("skeleton", OLDEST, _skeleton),
    3: ("force plate", (3, 0), _force_plate),
    4: ("device", (3, 0), _device),
    5: ("camera", OLDEST, _camera),
    6: ("asset", (4, 1), _asset),
}


def _description(reader: Reader, version: Version) -> Description:
    """Read one description; in versions with sizes, one that is not readable costs only itself."""
    reader.part = "description type"
    kind = reader.i32()
    sized = version >= (4, 1)
    size = reader.count(1) if sized else 0
    start = reader.at
    name, since, decode = _DECODERS.get(kind, ("", NEWEST, None))
    if decode is None or version < since:
        data = reader.data[start : reader.take(size) + size] if sized else reader.rest()
        return UnknownDescription(kind, data)
    reader.part = f"{name} description"
    if not sized:
        return decode(reader, version)
    try:
        description = decode(reader, version)
    except Malformed:
        description = UnknownDescription(kind, reader.data[start : start + size])
        reader.at = start + size
    if version > NEWEST:
        reader.at = start + size
    return description


def decode_models(data: bytes, version: Version) -> ModelDef:
    """Decode a whole model-definition datagram, header included."""
    if version < OLDEST:
        raise Malformed(
            f"model definitions: NatNet {version[0]}.{version[1]} is older than {OLDEST[0]}.{OLDEST[1]}, "
            "the oldest that can be read"
        )
    reader = Reader(data, 4, "model definitions")
    n = reader.loop(4)
    descriptions: list[Description] = []
    while len(descriptions) < n:
        descriptions.append(_description(reader, version))
        if isinstance(descriptions[-1], UnknownDescription) and version < (4, 1):
            break
    if reader.at != reader.end and version <= NEWEST:
        reader.part = "model definitions"
        reader.fail(f"{reader.end - reader.at} bytes after the last description")
    return ModelDef(tuple(descriptions), n - len(descriptions))


def _many(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return _I32.pack(len(parts)) + b"".join(parts)


def _rigid_body_bytes(body: RigidBodyDescription, version: Version) -> bytes:
    parts = [
        text_bytes(body.name),
        _ID_AND_PARENT.pack(body.id, body.parent),
        Struct("<3f").pack(*body.offset),
    ]
    if version >= (4, 2):
        parts.append(Struct("<4f").pack(*body.rotation))
    if version >= (3, 0):
        parts.append(_many(Struct("<3f").pack(*m.position) for m in body.markers))
        parts.extend(_I32.pack(m.label) for m in body.markers)
    if version >= (4, 0):
        parts.extend(text_bytes(m.name) for m in body.markers)
    return b"".join(parts)


def _description_bytes(item: Description, version: Version) -> tuple[int, bytes]:
    """Return the kind and the body of one description."""
    match item:
        case MarkerSetDescription():
            return 0, text_bytes(item.name) + _many(map(text_bytes, item.markers))
        case RigidBodyDescription():
            return 1, _rigid_body_bytes(item, version)
        case SkeletonDescription():
            bodies = _many(_rigid_body_bytes(b, version) for b in item.rigid_bodies)
            return 2, text_bytes(item.name) + _I32.pack(item.id) + bodies
        case ForcePlateDescription():
            plate = _PLATE.pack(item.width, item.length, *item.origin, *item.calibration, *item.corners)
            kinds = _ID_AND_PARENT.pack(item.plate_type, item.channel_type)
            names = _many(map(text_bytes, item.channels))
            return 3, _I32.pack(item.id) + text_bytes(item.serial) + plate + kinds + names
        case DeviceDescription():
            kinds = _ID_AND_PARENT.pack(item.device_type, item.channel_type)
            names = text_bytes(item.name) + text_bytes(item.serial)
            return 4, _I32.pack(item.id) + names + kinds + _many(map(text_bytes, item.channels))
        case CameraDescription():
            return 5, text_bytes(item.name) + Struct("<7f").pack(*item.position, *item.quaternion)
        case AssetDescription():
            ids = _ID_AND_PARENT.pack(item.asset_type, item.id)
            bodies = _many(_rigid_body_bytes(b, version) for b in item.rigid_bodies)
            markers = _many(
                text_bytes(m.name) + _ASSET_MARKER.pack(m.id, *m.position, m.size, m.params) for m in item.markers
            )
            return 6, text_bytes(item.name) + ids + bodies + markers
        case UnknownDescription():
            return item.kind, item.data


def encode_models(models: ModelDef, version: Version) -> bytes:
    """Encode the payload of a model-definition message."""
    parts = [_I32.pack(len(models.descriptions) + models.unread)]
    for item in models.descriptions:
        kind, body = _description_bytes(item, version)
        parts.append(_I32.pack(kind))
        if version >= (4, 1):
            parts.append(_I32.pack(len(body)))
        parts.append(body)
    return b"".join(parts)
