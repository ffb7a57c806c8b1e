"""The frame-of-data message, versions 2.5 to 4.2: :class:`Frame` to bytes."""

from collections.abc import Iterable
from struct import Struct

from devices.natnet.frame_layout import BODY, BODY_POSE, I32, PARAMS, PTP, TICKS, VECTOR, Layout, layout_of
from devices.natnet.messages import (
    AnalogDevice,
    Asset,
    Frame,
    LabeledMarker,
    RigidBody,
)
from devices.natnet.reader import text_bytes
from devices.natnet.types import Vector, Version

_PAIR = Struct("<ii")
_FLOAT = Struct("<f")


def encode_frame(frame: Frame, version: Version) -> bytes:
    """Encode a frame's payload; what the version cannot carry is left out."""
    layout = layout_of(version)

    def section(count: int, items: Iterable[bytes]) -> bytes:
        body = b"".join(items)
        return (_PAIR.pack(count, len(body)) if layout.sized else I32.pack(count)) + body

    def analog(devices: tuple[AnalogDevice, ...]) -> bytes:
        return section(len(devices), map(_analog_bytes, devices))

    parts = [
        I32.pack(frame.number),
        section(len(frame.marker_sets), (text_bytes(s.name) + _many_vectors(s.markers) for s in frame.marker_sets)),
        section(len(frame.other_markers), (VECTOR.pack(*p) for p in frame.other_markers)),
        section(len(frame.rigid_bodies), (_body_bytes(b, layout) for b in frame.rigid_bodies)),
        section(
            len(frame.skeletons),
            (I32.pack(s.id) + _many_bodies(s.rigid_bodies, layout) for s in frame.skeletons),
        ),
    ]
    if layout.assets:
        parts.append(section(len(frame.assets), (_asset_bytes(a, layout) for a in frame.assets)))
    parts.append(section(len(frame.labeled_markers), (_marker_bytes(m, layout) for m in frame.labeled_markers)))
    if layout.force_plates:
        parts.append(analog(frame.force_plates))
    if layout.devices:
        parts.append(analog(frame.devices))
    stamp: list[float] = [frame.timecode, frame.timecode_sub]
    if layout.body_markers:
        stamp.insert(0, frame.latency)
    if layout.params:
        stamp.append(frame.timestamp)
    parts.append(layout.stamp.pack(*stamp))
    if layout.ticks:
        parts.append(TICKS.pack(frame.mid_exposure_ticks, frame.camera_data_received_ticks, frame.transmit_ticks))
    if layout.ptp or (layout.ptp_possible and frame.ptp is not None):
        parts.append(PTP.pack(*(frame.ptp or (0, 0))))
    if layout.params:
        parts.append(PARAMS.pack(frame.params))
    parts.append(I32.pack(0))
    return b"".join(parts)


def _many_vectors(vectors: tuple[Vector, ...]) -> bytes:
    return I32.pack(len(vectors)) + b"".join(VECTOR.pack(*v) for v in vectors)


def _body_bytes(body: RigidBody, layout: Layout) -> bytes:
    if not layout.body_markers:
        return BODY.pack(body.id, *body.position, *body.quaternion, body.mean_error, body.params)
    n = len(body.markers)
    return b"".join(
        (
            BODY_POSE.pack(body.id, *body.position, *body.quaternion),
            _many_vectors(tuple(m.position for m in body.markers)),
            Struct(f"<{n}i").pack(*(m.label for m in body.markers)),
            Struct(f"<{n}f").pack(*(m.size for m in body.markers)),
            _FLOAT.pack(body.mean_error),
            PARAMS.pack(body.params) if layout.params else b"",
        )
    )


def _many_bodies(bodies: tuple[RigidBody, ...], layout: Layout) -> bytes:
    return I32.pack(len(bodies)) + b"".join(_body_bytes(b, layout) for b in bodies)


def _marker_bytes(marker: LabeledMarker, layout: Layout) -> bytes:
    values = (marker.id, *marker.position, marker.size, marker.flags, marker.residual)
    return layout.marker.pack(*values[: layout.marker_fields])


def _asset_bytes(asset: Asset, layout: Layout) -> bytes:
    markers = I32.pack(len(asset.markers)) + b"".join(_marker_bytes(m, layout) for m in asset.markers)
    return I32.pack(asset.id) + _many_bodies(asset.rigid_bodies, layout) + markers


def _analog_bytes(device: AnalogDevice) -> bytes:
    channels = (I32.pack(len(c)) + Struct(f"<{len(c)}f").pack(*c) for c in device.channels)
    return _PAIR.pack(device.id, len(device.channels)) + b"".join(channels)
