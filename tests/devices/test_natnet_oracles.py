"""The decoder against public clients, each where it is right."""

import contextlib
import io
import warnings
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from natnet_capture import capture
from natnet_messages import body_descriptions, frames, several

from devices.natnet import packets
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.library import LibraryDecoder
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.types import Version


def natnet_frame(datagram: bytes, version: Version) -> Any:
    natnet = pytest.importorskip("natnet")
    buffer = natnet.packet_buffer.PacketBuffer(datagram)
    buffer.pointer = 4
    return natnet.data_frame.DataFrame.read_from_buffer(buffer, natnet.Version(*version))


def sdk() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("natnetsdk.NatNetClient")


def sdk_frame(datagram: bytes, version: Version) -> Any:
    client = object.__new__(sdk().NatNetClient)
    client.new_frame_listener = client.rigid_body_listener = None
    unpack = client._NatNetClient__unpack_mocap_data
    with contextlib.redirect_stdout(io.StringIO()):
        return unpack(datagram[4:], len(datagram) - 4, *version)[1]


def poses(bodies: tuple[RigidBody, ...]) -> list[tuple[Any, ...]]:
    return [(b.id & 0xFFFFFFFF, b.position, b.quaternion, b.mean_error, b.tracking_valid) for b in bodies]


@pytest.mark.parametrize("version", [(2, 7), (2, 9), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)])
def test_natnet_reads_the_same_poses_markers_and_times(version: Version) -> None:
    @settings(max_examples=15, deadline=None)
    @given(frames(version))
    def check(frame: Frame) -> None:
        datagram = packets.encode(frame, version)
        ours = packets.decode(datagram, version)
        assert isinstance(ours, Frame)
        theirs = natnet_frame(datagram, version)
        assert theirs.prefix.frame_number == ours.number & 0xFFFFFFFF
        assert [(b.id_num, b.pos, b.rot, b.marker_error, b.tracking_valid) for b in theirs.rigid_bodies] == poses(
            ours.rigid_bodies
        )
        assert [(s.id_num, len(s.rigid_bodies)) for s in theirs.skeletons] == [
            (s.id & 0xFFFFFFFF, len(s.rigid_bodies)) for s in ours.skeletons
        ]
        assert [m.pos for m in theirs.labeled_markers] == [m.position for m in ours.labeled_markers]
        assert [(s.model_name, s.marker_pos_list) for s in theirs.marker_sets] == [tuple(s) for s in ours.marker_sets]
        if version >= (3, 0):
            suffix = theirs.suffix
            assert (suffix.timecode, suffix.timecode_sub) == (ours.timecode, ours.timecode_sub)
            assert suffix.timestamp == ours.timestamp
            assert suffix.stamp_camera_mid_exposure == ours.mid_exposure_ticks
        if (3, 0) <= version < (4, 1) and frame.ptp is None:
            assert theirs.suffix.param == ours.params & 0xFFFF

    check()


@pytest.mark.parametrize("version", [(3, 0), (3, 1), (4, 1)])
def test_the_sdk_reads_the_same_poses_and_flags(version: Version) -> None:
    @settings(max_examples=15, deadline=None)
    @given(frames(version))
    def check(frame: Frame) -> None:
        datagram = packets.encode(frame, version)
        ours = packets.decode(datagram, version)
        assert isinstance(ours, Frame)
        theirs = sdk_frame(datagram, version)
        assert theirs.prefix_data.frame_number == ours.number
        assert [
            (b.id_num & 0xFFFFFFFF, b.pos, b.rot, b.error, b.tracking_valid)
            for b in theirs.rigid_body_data.rigid_body_list
        ] == poses(ours.rigid_bodies)
        suffix = theirs.suffix_data
        assert suffix.timestamp == ours.timestamp
        # The SDK takes ticks for signed numbers.
        assert suffix.stamp_camera_mid_exposure % 2**64 == ours.mid_exposure_ticks
        assert (suffix.is_recording, suffix.tracked_models_changed) == (ours.recording, ours.models_changed)

    check()


@pytest.mark.parametrize("version", [(3, 0), (4, 0), (4, 1), (4, 2)])
def test_natnet_reads_the_same_model_definitions(version: Version) -> None:
    natnet = pytest.importorskip("natnet")

    @settings(max_examples=15, deadline=None)
    @given(several(body_descriptions(version)))
    def check(bodies: tuple[RigidBodyDescription, ...]) -> None:
        datagram = packets.encode(ModelDef(bodies), version)
        assert packets.decode(datagram, version) == ModelDef(bodies)
        buffer = natnet.packet_buffer.PacketBuffer(datagram)
        buffer.pointer = 4
        theirs = natnet.data_descriptions.DataDescriptions.read_from_buffer(buffer, natnet.Version(*version))
        assert [(b.name, b.id_num, b.pos) for b in theirs.rigid_bodies] == [
            (b.name, b.id & 0xFFFFFFFF, b.offset) for b in bodies
        ]

    check()


MODELS = ModelDef((RigidBodyDescription("gripper", 3), RigidBodyDescription("door", 4)))


@pytest.mark.parametrize("version", [(2, 6), (2, 7), (2, 9)])
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_natnetclient_reads_the_same_poses(version: Version, data: st.DataObject) -> None:
    pytest.importorskip("natnetclient")
    drawn = data.draw(frames(version))
    bodies = tuple(body._replace(id=3 + i) for i, body in enumerate(drawn.rigid_bodies[:2]))
    frame = Frame(drawn.number, rigid_bodies=bodies, timestamp=drawn.timestamp, params=drawn.params & 3)
    decoder = LibraryDecoder()
    decoder.take_models(packets.encode(MODELS, version), version)
    theirs = decoder.decode_frame(packets.encode(frame, version), version)
    assert poses(theirs.rigid_bodies) == poses(bodies)
    assert (theirs.number, theirs.timestamp, theirs.recording, theirs.models_changed) == (
        frame.number,
        frame.timestamp,
        frame.recording,
        frame.models_changed,
    )


@pytest.mark.parametrize(("name", "version"), [("1.7.2", (2, 7)), ("1.9.0", (2, 9))])
def test_natnet_agrees_on_captures_of_motive_1(name: str, version: Version) -> None:
    datagram = capture(f"motive-1.x/frame-motive-{name}-001.bin").read_bytes()
    ours = packets.decode(datagram, version)
    assert isinstance(ours, Frame)
    (theirs,) = natnet_frame(datagram, version).rigid_bodies
    assert [(theirs.id_num, theirs.pos, theirs.rot, theirs.marker_error, theirs.tracking_valid)] == poses(
        ours.rigid_bodies
    )
