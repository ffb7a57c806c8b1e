"""Hypothesis strategies for NatNet messages that a given protocol version can carry in full."""

from typing import Any

from hypothesis import strategies as st

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
from devices.natnet.messages import (
    AnalogDevice,
    Asset,
    BodyMarker,
    Connect,
    Disconnect,
    DisconnectByTimeout,
    Discovery,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    LabeledMarker,
    MarkerSet,
    Message,
    MessageString,
    Request,
    RequestFrame,
    RequestModelDef,
    Response,
    RigidBody,
    Sender,
    ServerInfo,
    Skeleton,
    Unrecognized,
)
from devices.natnet.types import Version

VERSIONS: tuple[Version, ...] = (
    (2, 5), (2, 6), (2, 7), (2, 9), (2, 11), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2),
)  # fmt: skip

f32 = st.floats(width=32, allow_nan=False)
i32 = st.integers(-(2**31), 2**31 - 1)
u32 = st.integers(0, 2**32 - 1)
i16 = st.integers(-(2**15), 2**15 - 1)
u64 = st.integers(0, 2**64 - 1)
byte = st.integers(0, 255)
four = st.tuples(byte, byte, byte, byte)
vector = st.tuples(f32, f32, f32)
quaternion = st.tuples(f32, f32, f32, f32)
text = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)


def several(items: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=most).map(tuple)


def rigid_bodies(version: Version) -> st.SearchStrategy[RigidBody]:
    old = version < (3, 0)
    return st.builds(
        RigidBody,
        i32,
        vector,
        quaternion,
        f32,
        i16 if version >= (2, 6) else st.just(1),
        several(st.builds(BodyMarker, vector, i32, f32)) if old else st.just(()),
    )


def markers(version: Version) -> st.SearchStrategy[LabeledMarker]:
    return st.builds(
        LabeledMarker,
        i32,
        vector,
        f32,
        i16 if version >= (2, 6) else st.just(0),
        f32 if version >= (3, 0) else st.just(0.0),
    )


@st.composite
def frames(draw: st.DrawFn, version: Version) -> Frame:
    bodies, labeled = rigid_bodies(version), markers(version)
    analog = several(st.builds(AnalogDevice, i32, several(several(f32))))
    ticks = st.tuples(u64, u64, u64) if version >= (3, 0) else st.just((0, 0, 0))
    timestamp = st.just(0.0) if version < (2, 6) else f32 if version < (2, 7) else st.floats(allow_nan=False)
    ptp = st.just(None) if version < (4, 0) else st.tuples(u32, u32)
    exposure, received, transmit = draw(ticks)
    return Frame(
        number=draw(i32),
        marker_sets=draw(several(st.builds(MarkerSet, text, several(vector)))),
        other_markers=draw(several(vector)),
        rigid_bodies=draw(several(bodies)),
        skeletons=draw(several(st.builds(Skeleton, i32, several(bodies)), 2)),
        assets=draw(several(st.builds(Asset, i32, several(bodies, 2), several(labeled, 2)), 2))
        if version >= (4, 1)
        else (),
        labeled_markers=draw(several(labeled)),
        force_plates=draw(analog) if version >= (2, 9) else (),
        devices=draw(analog) if version >= (2, 11) else (),
        latency=draw(f32) if version < (3, 0) else 0.0,
        timecode=draw(u32),
        timecode_sub=draw(u32),
        timestamp=draw(timestamp),
        mid_exposure_ticks=exposure,
        camera_data_received_ticks=received,
        transmit_ticks=transmit,
        ptp=draw(ptp | st.none() if version == (4, 0) else ptp),
        params=draw(i16) if version >= (2, 6) else 0,
    )


def body_descriptions(version: Version) -> st.SearchStrategy[RigidBodyDescription]:
    place = st.builds(MarkerPlace, vector, i32, text if version >= (4, 0) else st.just(""))
    return st.builds(
        RigidBodyDescription,
        text,
        i32,
        i32,
        vector,
        quaternion if version >= (4, 2) else st.just((0.0, 0.0, 0.0, 1.0)),
        several(place) if version >= (3, 0) else st.just(()),
    )


def descriptions(version: Version) -> st.SearchStrategy[Description]:
    bodies = body_descriptions(version)
    kinds: list[st.SearchStrategy[Description]] = [
        st.builds(MarkerSetDescription, text, several(text)),
        bodies,
        st.builds(SkeletonDescription, text, i32, several(bodies, 2)),
        st.builds(CameraDescription, text, vector, quaternion),
    ]
    if version >= (3, 0):
        matrix = st.tuples(f32, f32).map(lambda pair: pair * 72)
        corners = st.tuples(f32, f32).map(lambda pair: pair * 6)
        plate = st.builds(ForcePlateDescription, i32, text, f32, f32, vector, matrix, corners, i32, i32, several(text))
        kinds += [plate, st.builds(DeviceDescription, i32, text, text, i32, i32, several(text))]
    if version >= (4, 1):
        marker = st.builds(AssetMarkerDescription, text, i32, vector, f32, i16)
        kinds.append(st.builds(AssetDescription, text, i32, i32, several(bodies, 2), several(marker, 2)))
        kinds.append(st.builds(UnknownDescription, st.integers(7, 1000), st.binary(max_size=20)))
    return st.one_of(kinds)


def messages(version: Version) -> st.SearchStrategy[Message]:
    sender = st.builds(Sender, text, four, four)
    server = st.builds(ServerInfo, sender, u64, st.integers(0, 65535), st.booleans(), four)
    return st.one_of(
        frames(version),
        st.builds(ModelDef, several(descriptions(version))),
        st.builds(Connect),
        st.builds(Connect, sender),
        st.builds(Connect, sender, st.booleans(), four),
        server if version >= (3, 0) else st.builds(ServerInfo, sender),
        st.builds(Request, text),
        st.builds(Response, st.binary(max_size=30)),
        st.builds(MessageString, text),
        st.builds(Unrecognized, st.binary(max_size=10)),
        st.builds(EchoRequest, u64),
        st.builds(EchoResponse, u64, u64),
        st.builds(Discovery, sender | st.none()),
        st.sampled_from([RequestModelDef(), RequestFrame(), Disconnect(), KeepAlive(), DisconnectByTimeout()]),
    )
