"""Datagrams that are decoded together leave the same behind as those that are decoded one by one."""

from collections.abc import Callable
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.buffer import WrenchBuffer
from devices.clock import HostClock
from devices.natnet import NatNetConfig, packets
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import EchoResponse, Frame, LabeledMarker, MarkerSet, RigidBody, Sender, ServerInfo
from devices.natnet.types import Version
from devices.netft import NetFTConfig, SensorCalibration, encode_records
from devices.netft.intake import Intake
from devices.netft.status import TABLES
from sessions.datagrams import Datagram, Datagrams
from sessions.decode import Decoders

T0 = 1_700_000_000_000_000_000
HZ = 10_000_000
FRAME_NS = 8_333_333
NAMES = {1: "gripper", 2: "door", 7: "lamp"}
Change = Callable[[np.random.Generator, Frame], Frame | bytes | None]


def batch(datagrams: list[Datagram]) -> Datagrams:
    names = tuple(dict.fromkeys(d.stream for d in datagrams))
    sizes = np.array([len(d.data) for d in datagrams], dtype=np.intp)
    return Datagrams(
        names,
        np.array([d.t_ns for d in datagrams], dtype=np.int64),
        np.array([names.index(d.stream) for d in datagrams], dtype=np.intp),
        np.cumsum(sizes) - sizes,
        sizes,
        b"".join(d.data for d in datagrams),
    )


def greetings(version: Version, begin_ns: int) -> list[tuple[int, bytes]]:
    """What a server says first: who it is, what it tracks, and what its clock shows."""
    info = ServerInfo(Sender("Motive", (3, 0, 0, 0), (*version, 0, 0)), HZ, 1511, False)
    bodies = tuple(RigidBodyDescription(name, number) for number, name in NAMES.items())
    times = [begin_ns + i * 1_000_000 for i in range(8)]
    echoes = [EchoResponse(T0 + t_ns, HZ + t_ns // 100) for t_ns in times[2:]]
    said = [info, ModelDef(bodies), *echoes]
    return [(t_ns + 100_000, packets.encode(message, version)) for t_ns, message in zip(times, said, strict=True)]


def frame(number: int, ticks: int, rng: np.random.Generator) -> Frame:
    def body(i: int) -> RigidBody:
        turn = rng.normal(size=4)
        quaternion = tuple((turn / np.linalg.norm(turn)).astype(np.float32).tolist())
        position = tuple(rng.normal(size=3).astype(np.float32).tolist())
        return RigidBody(i, position, quaternion, float(np.float32(3e-4)))  # type: ignore[arg-type]

    sets = (MarkerSet("gripper", ((0.0, 0.0, 0.0),)),)
    markers = (LabeledMarker(1 << 16, (0.0, 0.0, 0.0)),)
    return Frame(
        number, sets, (), (body(1), body(7)), labeled_markers=markers, timestamp=number / 120, mid_exposure_ticks=ticks
    )


def with_body(change: dict[str, Any]) -> Change:
    return lambda _, frame: frame._replace(rigid_bodies=(frame.rigid_bodies[0]._replace(**change), *frame[3][1:]))


def mutated(rng: np.random.Generator, frame: Frame, version: Version) -> bytes:
    data = bytearray(packets.encode(frame, version))
    for _ in range(int(rng.integers(1, 4))):
        data[int(rng.integers(0, len(data)))] = int(rng.integers(0, 256))
    return bytes(data[: int(rng.integers(0, len(data)))]) if rng.random() < 0.3 else bytes(data)


CHANGES: dict[str, Change] = {
    "none": lambda _, frame: frame,
    "lost": lambda _, frame: None,
    "renumbered": lambda rng, frame: frame._replace(number=frame.number + int(rng.integers(-4000, 4000))),
    "no ticks": lambda _, frame: frame._replace(mid_exposure_ticks=0),
    "late ticks": lambda rng, frame: frame._replace(mid_exposure_ticks=int(rng.integers(0, 2**63)) * 2),
    "untracked": with_body({"params": 0}),
    "inaccurate": with_body({"mean_error": 0.5}),
    "frozen": with_body({"position": (1.0, 0.0, 0.0), "quaternion": (0.0, 0.0, 0.0, 1.0)}),
    "far": with_body({"position": (1e6, float("nan"), float("inf"))}),
    "unknown": with_body({"id": 99}),
    "twice": with_body({"id": 7}),
    "alone": lambda _, frame: frame._replace(rigid_bodies=frame.rigid_bodies[:1]),
    "all": lambda _, frame: frame._replace(rigid_bodies=(*frame.rigid_bodies, frame.rigid_bodies[0]._replace(id=2))),
    "markers": lambda _, frame: frame._replace(other_markers=((0.0, 0.0, 0.0),)),
    "flags": lambda rng, frame: frame._replace(params=int(rng.integers(0, 16))),
}


def natnet_stream(seed: int, version: Version, troubles: list[str], share: float) -> list[Datagram]:
    """Some seconds of a server's frames, a share of them with troubles; its greetings come again after silences."""
    rng = np.random.default_rng(seed)
    speed_of_clock = 1.0 + rng.normal(0.0, 5e-5)
    said, t_ns, held = greetings(version, 0), 10_000_000, "none"
    for number in range(400):
        t_ns += FRAME_NS
        if rng.random() < share / 10:
            t_ns += int(rng.choice([300_000_000, 700_000_000, 3_000_000_000]))
            said += greetings(version, t_ns)
            t_ns += 20_000_000
        ticks = HZ + round(t_ns / 100 * speed_of_clock)
        sent = frame(number + 1, ticks, rng)
        held = str(rng.choice(troubles)) if rng.random() < share else held if rng.random() < 0.5 else "none"
        changed = mutated(rng, sent, version) if held == "mutated" else CHANGES[held](rng, sent)
        if changed is not None:
            data = changed if isinstance(changed, bytes) else packets.encode(changed, version)
            said.append((t_ns + int(rng.exponential(1e5)), data))
        if number % 100 == 50:
            said.append((t_ns + 1, packets.encode(EchoResponse(T0 + t_ns - 500_000, ticks), version)))
    return [Datagram(T0 + after, "natnet/data", data) for after, data in said]


def left_behind(decoders: Decoders) -> dict[str, Any]:
    """All that decoding may change."""
    connection, stream = decoders._connection, decoders._stream
    windows = [buffer.window(-(2**62), 2**63 - 1) for buffer in decoders.buffers.values()]
    return {
        "buffers": [[np.asarray(column).tolist() for column in astuple(window)] for window in windows],
        "counter": vars(stream.counter),
        "envelope": vars(stream._envelope),
        "latency": list(stream._latency_ns),
        "health": repr(stream.health(T0 + 10**9)),
        "frames": (stream.frames, stream.unnamed, stream.unstamped, stream.time_source),
        "connection": (connection.state, connection.malformed, connection.last_malformed, connection.silences),
        "modes": (connection.recording, connection.edit_mode),
    }


def decoded(datagrams: list[Datagram], cuts: list[int], *, together: bool, speed: float) -> dict[str, Any]:
    config = NatNetConfig(bodies=("gripper", "door"), capacity=1000)
    told: list[str] = []
    decoders = Decoders(
        config,
        speed=speed,
        on_poses=None if together else lambda _: None,
        on_event=lambda event: told.append(event.message),
    )
    at = 0
    for cut in [*sorted(cuts), len(datagrams)]:
        if cut > at:
            decoders.feed(batch(datagrams[at:cut]))
            at = cut
    return {**left_behind(decoders), "told": told}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]),
    st.lists(st.sampled_from([*CHANGES, "mutated"]), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.01, 0.05, 0.4]),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from([1.0, 8.0]),
)
def test_frames_together_are_frames_one_by_one(
    seed: int, version: Version, troubles: list[str], share: float, cuts: list[int], speed: float
) -> None:
    datagrams = natnet_stream(seed, version, troubles, share)
    together = decoded(datagrams, cuts, together=True, speed=speed)
    assert repr(together) == repr(decoded(datagrams, [], together=False, speed=speed))


def test_usual_frames_are_taken_in_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test before would compare a thing with itself."""
    config = NatNetConfig(bodies=("gripper",), capacity=1000)
    decoders = Decoders(config)
    connection, singly = decoders._connection, []
    receive = connection.receive
    monkeypatch.setattr(connection, "receive", lambda data, *rest: (singly.append(data), receive(data, *rest))[1])
    decoders.feed(batch(natnet_stream(0, (4, 1), ["none"], 0.0)))
    assert len(decoders.buffers["gripper"]) == 400
    assert len(singly) < 100


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.002, 0.05]), st.lists(st.integers(0, 3000), max_size=6))
def test_records_in_columns_are_records_in_datagrams(seed: int, share: float, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    datagrams = []
    for number in range(1, 3000):
        strange, lost, odd, bad = rng.random(4) < share
        jump = int(rng.integers(-5, 5)) if strange else 0
        data = encode_records(number + jump, 7 * number, 0x80020000 if bad else 0, rng.integers(-9, 9, 6))
        if not lost:
            t_ns = T0 + number * 1_000_000 + int(rng.integers(0, 900_000))
            datagrams.append(Datagram(t_ns, "netft/rdt", data[:-1] if odd else data))
    settings_, calibration = NetFTConfig(capacity=5000), SensorCalibration(1e6, 1e6, rdt_rate_hz=1000)
    decoders = Decoders(NatNetConfig(), settings_, calibration)
    buffer = WrenchBuffer(settings_.capacity)
    intake = Intake(buffer, HostClock(), round(settings_.reorder_s * 1e9))
    intake.use(calibration, TABLES[calibration.product])
    for start, stop in pairwise([0, *sorted(cuts), len(datagrams)]):
        if some := datagrams[start:stop]:
            decoders.feed(batch(some))
            intake.feed([d.data for d in some], np.array([d.t_ns for d in some]))
    decoders.finish()
    intake.restart()
    assert intake.sequencer.account == decoders._intake.sequencer.account
    assert intake.malformed == decoders.malformed
    for column in ("t_ns", "wrench", "valid", "status", "sequence", "received_ns"):
        one_by_one, together = buffer.window(0, 2**62), decoders.wrenches.window(0, 2**62)
        np.testing.assert_array_equal(getattr(together, column), getattr(one_by_one, column), err_msg=column)
