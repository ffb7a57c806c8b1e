"""Bytes to messages and back, on real captures, on generated messages and on broken datagrams."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from natnet_capture import capture, read_pcapng
from natnet_messages import VERSIONS, frames, messages

from devices.natnet import Malformed, packets
from devices.natnet.descriptions import ModelDef, RigidBodyDescription, UnknownDescription
from devices.natnet.frames import decode_frame
from devices.natnet.messages import (
    Connect,
    Discovery,
    Frame,
    LabeledMarker,
    MarkerSet,
    Request,
    RigidBody,
    Sender,
    ServerInfo,
)
from devices.natnet.types import Version

V3 = "motive-2.1_natnet-3.0"
CLOCK_HZ = 3_312_787
FRAME_LINES = (
    "FrameID", "Timestamp", "Software", "System", "Timecode", "Other Marker", "Rigid Bod", "\t", "Skeletons",
    "Labeled Marker", "Force Plate", "Device",
)  # fmt: skip


def two(value: float) -> str:
    """Two decimals as the official client's C library prints them: 17 digits, then ties away from zero."""
    return str(Decimal(f"{value:.17g}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def as_sample_client_prints(frame: Frame) -> list[str]:
    """The lines that the official client printed for a frame, but for the one that depends on its own clock."""
    software = (frame.transmit_ticks - frame.camera_data_received_ticks) / CLOCK_HZ * 1000
    system = (frame.transmit_ticks - frame.mid_exposure_ticks) / CLOCK_HZ * 1000
    lines = [
        f"FrameID : {frame.number}",
        f"Timestamp : {two(frame.timestamp)}",
        f"Software latency : {two(software)} milliseconds",
        f"System latency : {two(system)} milliseconds",
        "Timecode : 00:00:00:00.0",
        f"Other Markers [Count={len(frame.other_markers)}]",
        *(f"Other Marker {i} : " + "\t".join(f"{two(v)}" for v in p) for i, p in enumerate(frame.other_markers)),
        f"Rigid Bodies [Count={len(frame.rigid_bodies)}]",
    ]
    for body in frame.rigid_bodies:
        lines.append(f"Rigid Body [ID={body.id}  Error={two(body.mean_error)}  Valid={body.tracking_valid:d}]")
        lines.append("\tx\ty\tz\tqx\tqy\tqz\tqw")
        lines.append("\t" + "\t".join(f"{two(v)}" for v in (*body.position, *body.quaternion)))
    lines += [f"Skeletons [Count={len(frame.skeletons)}]", f"Labeled Markers [Count={len(frame.labeled_markers)}]"]
    lines += [
        f"Labeled Marker [ModelID={m.model_id}, MarkerID={m.marker_id}, Occluded={m.occluded:d}, "
        f"PCSolved={m.point_cloud_solved:d}, ModelSolved={m.model_filled:d}] [size={two(m.size)}] "
        f"[pos={two(m.position[0])},{two(m.position[1])},{two(m.position[2])}]"
        for m in frame.labeled_markers
    ]
    return [*lines, f"Force Plate [Count={len(frame.force_plates)}]", f"Device [Count={len(frame.devices)}]"]


def printed_frames() -> Iterator[list[str]]:
    lines = capture(f"{V3}/raw/SampleClient_output.txt").read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("FrameID")]
    for start in starts:
        stop = next(i for i in range(start, len(lines)) if lines[i].startswith("Device [Count"))
        # Another thread of that client printed remarks in between.
        yield [line for line in lines[start : stop + 1] if line.startswith(FRAME_LINES)]


def test_every_captured_frame_says_what_the_official_client_printed() -> None:
    decoded = {}
    for datagram in read_pcapng(capture(f"{V3}/raw/traffic.pcapng")):
        message = packets.decode(datagram.data, (3, 0))
        if isinstance(message, Frame):
            decoded[message.number] = message
    printed = list(printed_frames())
    assert len(decoded) == 518
    assert len(printed) == 251
    for lines in printed:
        assert as_sample_client_prints(decoded[int(lines[0].split(":")[1])]) == lines


def test_every_captured_datagram_is_encoded_to_the_same_bytes() -> None:
    kinds = set()
    for datagram in read_pcapng(capture(f"{V3}/raw/traffic.pcapng")):
        message = packets.decode(datagram.data, (3, 0))
        kinds.add(type(message))
        encoded = packets.encode(message, (3, 0))
        if isinstance(message, ServerInfo):
            # The server leaves junk behind its name.
            assert (encoded[:10], encoded[260:]) == (datagram.data[:10], datagram.data[260:])
        elif not isinstance(message, Request):  # one of which has junk that is no text
            assert encoded == datagram.data
    assert len(kinds) >= 9


@pytest.mark.parametrize(
    ("name", "version"), [("1.7.2-001", (2, 7)), ("1.7.2-002", (2, 7)), ("1.9.0-001", (2, 9)), ("1.9.0-002", (2, 9))]
)
def test_frames_of_motive_1_decode_whole(name: str, version: Version) -> None:
    data = capture(f"motive-1.x/frame-motive-{name}.bin").read_bytes()
    frame = packets.decode(data, version)
    assert isinstance(frame, Frame)
    (body,) = frame.rigid_bodies
    assert body.tracking_valid
    assert sum(v * v for v in body.quaternion) == pytest.approx(1.0, abs=1e-5)
    assert [m.position for m in body.markers] == list(frame.marker_sets[0].markers)
    assert 0.0 < body.mean_error < 0.001
    assert frame.timestamp > 0.0
    assert packets.encode(frame, version) == data


def test_handshake_of_a_real_server() -> None:
    info = packets.decode(capture(f"{V3}/serverinfo_packet_v3.bin").read_bytes(), (2, 5))
    assert info == ServerInfo(Sender("Motive", (2, 1, 0, 0), (3, 0, 0, 0)), CLOCK_HZ, 1511, True, (239, 255, 42, 99))
    models = packets.decode(capture(f"{V3}/modeldef_packet_v3.bin").read_bytes(), (3, 0))
    assert isinstance(models, ModelDef)
    body = models.descriptions[0]
    assert isinstance(body, RigidBodyDescription)
    assert (body.name, body.id, len(body.markers)) == ("RaceQuad", 2, 5)


def test_an_occluded_marker_says_so() -> None:
    frame = packets.decode(capture(f"{V3}/mocapframe_packet_occluded_v3.bin").read_bytes(), (3, 0))
    assert isinstance(frame, Frame)
    assert [m.occluded for m in frame.labeled_markers] == [True, False, False, False]


@pytest.mark.parametrize("version", VERSIONS)
def test_encoding_is_undone_by_decoding(version: Version) -> None:
    @settings(max_examples=40, deadline=None)
    @given(messages(version))
    def check(message: packets.Message) -> None:
        datagram = packets.encode(message, version)
        assert packets.decode(datagram, version) == message
        assert packets.encode(packets.decode(datagram, version), version) == datagram

    check()


@pytest.mark.parametrize("version", VERSIONS)
def test_without_markers_the_rest_of_a_frame_is_the_same(version: Version) -> None:
    @settings(max_examples=15, deadline=None)
    @given(frames(version))
    def check(frame: Frame) -> None:
        bare = decode_frame(packets.encode(frame, version), version, with_markers=False)
        assert bare == frame._replace(marker_sets=(), other_markers=(), labeled_markers=())

    check()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(VERSIONS).flatmap(lambda v: st.tuples(st.just(v), messages(v))), st.data())
def test_a_cut_datagram_is_decoded_or_malformed(case: tuple[Version, packets.Message], data: st.DataObject) -> None:
    version, message = case
    datagram = packets.encode(message, version)
    cut = datagram[: data.draw(st.integers(0, len(datagram)))]
    with suppress(Malformed):
        packets.decode(cut, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_frame_cut_anywhere_is_malformed(version: Version) -> None:
    body = RigidBody(7, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0))
    frame = Frame(1, (MarkerSet("a", ((0.0, 0.0, 0.0),)),), ((1.0, 1.0, 1.0),), (body,), ())
    datagram = packets.encode(frame, version)
    # From 4.0 on the pair of precision time may be missing, so that a cut of just its length can look whole.
    for size in range(len(datagram) - (0 if version < (4, 0) else 9)):
        with pytest.raises(Malformed):
            packets.decode(datagram[:size], version)


@pytest.mark.parametrize("count", [-1, 2**31 - 1, 10**6])
@pytest.mark.parametrize("version", [(2, 9), (3, 0), (4, 1)])
def test_a_hostile_count_is_refused_with_its_place(version: Version, count: int) -> None:
    datagram = bytearray(packets.encode(Frame(1, rigid_bodies=()), version))
    place = 4 + 4 + 2 * (8 if version >= (4, 1) else 4)
    struct.pack_into("<i", datagram, place, count)
    with pytest.raises(Malformed, match=rf"rigid bodies: count {count} .* at byte {place} of {len(datagram)}"):
        packets.decode(bytes(datagram), version)


def test_the_byte_count_of_the_header_is_not_trusted() -> None:
    frame = Frame(5, labeled_markers=(LabeledMarker(1, (0.0, 0.0, 0.0)),))
    datagram = bytearray(packets.encode(frame, (3, 0)))
    for lie in (0, 3, 65535):
        struct.pack_into("<H", datagram, 2, lie)
        assert packets.decode(bytes(datagram), (3, 0)) == frame


def test_a_frame_of_another_version_is_malformed_instead_of_wrong() -> None:
    body = RigidBody(7, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), 0.0003)
    layouts = [(2, 6), (2, 7), (2, 9), (2, 11), (3, 0), (4, 1)]
    for spoken in layouts:
        datagram = packets.encode(Frame(5, rigid_bodies=(body,), timestamp=1.5), spoken)
        for assumed in layouts:
            if assumed != spoken:
                with pytest.raises(Malformed):
                    packets.decode(datagram, assumed)


def test_precision_time_is_told_by_the_bytes_that_are_left() -> None:
    with_pair = packets.encode(Frame(5, ptp=(7, 8), params=2), (4, 0))
    without = packets.encode(Frame(5, params=2), (4, 0))
    assert len(with_pair) == len(without) + 8
    for datagram, pair in ((with_pair, (7, 8)), (without, None)):
        frame = packets.decode(datagram, (4, 0))
        assert isinstance(frame, Frame)
        assert (frame.ptp, frame.models_changed) == (pair, True)


def test_of_a_newer_version_what_is_safe_is_decoded() -> None:
    body = RigidBody(7, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0))
    known = Frame(5, rigid_bodies=(body,), mid_exposure_ticks=77, ptp=(0, 0), params=2)
    datagram = packets.encode(known, (4, 2))
    assert packets.decode(datagram, (4, 9)) == known
    # A labeled-marker section with a layout of its own is stepped over by its size.
    place = datagram.index(struct.pack("<2i", 1, 38)) + 8 + 38 + 16
    foreign = datagram[:place] + struct.pack("<2i", 1, 30) + bytes(30) + datagram[place + 8 :]
    assert packets.decode(foreign, (4, 9)) == known
    with pytest.raises(Malformed, match=r"labeled markers|frame suffix|force plates|devices"):
        packets.decode(foreign, (4, 2))


def test_a_version_that_is_too_old_is_named() -> None:
    datagram = packets.encode(Frame(5), (3, 0))
    with pytest.raises(Malformed, match=r"NatNet 1\.8 is older than 2\.5"):
        packets.decode(datagram, (1, 8))


def test_an_unknown_description_costs_only_itself_or_ends_cleanly() -> None:
    strange = UnknownDescription(42, b"\1\2\3")
    body = RigidBodyDescription("gripper", 3)
    models = ModelDef((strange, body))
    assert packets.decode(packets.encode(models, (4, 1)), (4, 1)) == models
    unsized = packets.encode(ModelDef((body, strange), unread=2), (3, 0))
    assert packets.decode(unsized, (3, 0)) == ModelDef((body, strange), unread=2)


def test_a_description_that_is_not_readable_costs_only_itself() -> None:
    body = RigidBodyDescription("gripper", 3)
    datagram = packets.encode(ModelDef((UnknownDescription(1, b"no name"), body)), (4, 1))
    models = packets.decode(datagram, (4, 1))
    assert isinstance(models, ModelDef)
    assert models.descriptions == (UnknownDescription(1, b"no name"), body)


@pytest.mark.parametrize("datagram", [b"", b"\7", b"\7\0\0", b"\x4d\0\0\0", b"\xff\xff\xff\xff"])
def test_what_is_no_message_is_malformed(datagram: bytes) -> None:
    with pytest.raises(Malformed, match="header"):
        packets.decode(datagram, (3, 0))


def test_greetings_of_other_clients_are_understood() -> None:
    assert packets.decode(b"\0\0\5\0Ping\0", (3, 0)) == Connect()
    assert packets.decode(b"\x0e\0\0\0", (3, 0)) == Discovery()


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        packets.encode(Frame(1, marker_sets=(MarkerSet("a\0b", ()),)), (3, 0))
    with pytest.raises(ValueError, match="255 bytes"):
        packets.encode(Connect(Sender("x" * 256)), (3, 0))
    too_long = Frame(1, other_markers=((0.0, 0.0, 0.0),) * 6000)
    with pytest.raises(ValueError, match="more than a datagram"):
        packets.encode(too_long, (3, 0))
