"""Frames that are read by the shape of an earlier one come out as those that are walked through, broken ones too."""

import runpy
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from natnet_capture import capture, read_pcapng
from natnet_messages import VERSIONS, frames

from devices.natnet import Malformed, packets
from devices.natnet.frames import decode_frame
from devices.natnet.messages import Frame, LabeledMarker, MarkerSet, RigidBody
from devices.natnet.shapes import FrameDecoder
from devices.natnet.types import Version

BENCH = Path(__file__).parents[2] / "bench" / "fuzz_natnet.py"


def walked(data: bytes, version: Version) -> str:
    """What the walk through all sections finds; as text, since NaN differs from itself."""
    try:
        return repr(decode_frame(data, version, with_markers=False))
    except Malformed as error:
        return str(error)


def by_shape(decoder: FrameDecoder, data: bytes, version: Version) -> str:
    try:
        return repr(decoder.decode_frame(data, version))
    except Malformed as error:
        return str(error)


def test_real_frames_come_out_the_same() -> None:
    decoder = FrameDecoder()
    frames_of_motive = [
        d.data
        for d in read_pcapng(capture("motive-2.1_natnet-3.0/raw/traffic.pcapng"))
        if packets.message_id(d.data) == packets.FRAME_ID
    ]
    assert len(frames_of_motive) > 500
    for data in frames_of_motive:
        assert by_shape(decoder, data, (3, 0)) == walked(data, (3, 0))


@pytest.mark.parametrize("version", [*VERSIONS, (4, 9)])
def test_changed_bytes_change_the_same(version: Version) -> None:
    @settings(max_examples=40, deadline=None)
    @given(frames(version), st.lists(st.tuples(st.integers(4, 2**16), st.integers(0, 255)), min_size=1, max_size=20))
    def check(frame: Frame, changes: list[tuple[int, int]]) -> None:
        data = packets.encode(frame, version)
        decoder = FrameDecoder()
        assert by_shape(decoder, data, version) == walked(data, version)
        assert by_shape(decoder, data, version) == walked(data, version)
        for at, value in changes:
            broken = bytearray(data)
            broken[4 + at % (len(data) - 4)] = value
            assert by_shape(decoder, bytes(broken), version) == walked(bytes(broken), version)

    check()


def test_every_count_name_and_mark_is_looked_at() -> None:
    """Each 32-bit word of a frame is replaced in turn, at every byte."""
    body = RigidBody(3, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), 0.001)
    sets, markers = (MarkerSet("a", ((0.0, 0.0, 0.0),)),), (LabeledMarker(1, (0.0, 0.0, 0.0)),)
    for version in VERSIONS[5:]:
        data = packets.encode(Frame(5, sets, (), (body, body), labeled_markers=markers), version)
        decoder = FrameDecoder()
        decoder.decode_frame(data, version)
        for at in range(4, len(data) - 3):
            for value in (0, 1, 2, -1, 2**31 - 1):
                broken = bytearray(data)
                struct.pack_into("<i", broken, at, value)
                assert by_shape(decoder, bytes(broken), version) == walked(bytes(broken), version)
                decoder.decode_frame(data, version)


def test_hostile_datagrams_come_out_the_same() -> None:
    decoder = FrameDecoder()
    for data, version in runpy.run_path(str(BENCH))["hostile"](seed=3, count=3000):
        if len(data) >= 4:
            assert by_shape(decoder, data, version) == walked(data, version)
