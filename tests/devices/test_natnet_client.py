"""The client through real loopback sockets, against a server that misbehaves on demand."""

import socket
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from natnet_server import Server

from devices.clock import HostClock
from devices.errors import DeviceError
from devices.natnet import Malformed, NatNetClient, NatNetConfig, discover, packets
from devices.natnet.messages import Connect, Disconnect, DisconnectByTimeout, Frame, KeepAlive
from devices.natnet.types import Version
from devices.samples import DeviceEvent, PoseSample, PoseState
from devices.sim.relay import Impairments, LossyRelay

PATIENCE_S = 15.0
ALL = (0, 2**62)


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that the other side will do; generous, since the machine may be busy."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s in vain for {what}"
        time.sleep(0.002)


class Events:
    """Collects what the driver tells."""

    def __init__(self) -> None:
        self.all: list[DeviceEvent] = []

    def __call__(self, event: DeviceEvent) -> None:
        self.all.append(event)

    def wait(self, kind: str, count: int = 1) -> DeviceEvent:
        until(lambda: self.kinds().count(kind) >= count, f"event {kind} number {count}")
        return [event for event in self.all if event.kind == kind][count - 1]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.all]


def client_of(server: Server, events: Events | None = None, **config: object) -> NatNetClient:
    settings = NatNetConfig(command_port=server.port, **config)  # type: ignore[arg-type]
    return NatNetClient(settings, HostClock(), on_event=events)


@pytest.mark.parametrize(
    ("version", "multicast"),
    [
        *(((2, 5), False), ((2, 7), False), ((3, 0), False), ((4, 0), False), ((4, 1), False), ((4, 2), False)),
        *(((3, 0), True), ((4, 1), True)),
    ],
)
def test_poses_arrive_with_names_and_times(version: Version, multicast: bool) -> None:
    events = Events()
    with Server(version, multicast=multicast) as server, client_of(server, events) as client:
        client.wait_ready(PATIENCE_S)
        until(lambda: len(client.buffers["gripper"]) > 60, "60 poses")
        health = client.health()
        assert client.bodies == ("gripper", "object")
        assert (health.state, health.version, health.server) == ("streaming", version, "Motive 2.1")
        assert health.multicast == multicast
        assert (health.lost_frames, health.duplicates, health.malformed, health.foreign) == (0, 0, 0, 0)
        window = client.buffers["gripper"].window(*ALL)
        assert window.measured.all()
        assert window.gaps == ()
        sent_ns = np.array([server.sent[number] for number in window.sequence.tolist()])
        assert np.median(np.abs(window.received_ns - sent_ns)) < 1_000_000
        exposure_ns = sent_ns - (int(server.exposure_s * 1e9) if version >= (3, 0) else 0)
        assert np.median(np.abs(window.t_ns - exposure_ns)) < 500_000
        assert health.time_source == ("exposure" if version >= (3, 0) else "receipt")
    assert events.kinds()[0] == "connected"
    assert "'gripper', 'object'" in events.all[0].message


def test_a_configured_group_is_listened_to() -> None:
    with Server((2, 9), multicast=True) as server:
        place = {"multicast": "239.255.42.98", "data_port": server.data_port, "interface": "127.0.0.1"}
        with client_of(server, **place) as client:
            client.wait_ready(PATIENCE_S)
            assert client.health().multicast


def test_a_server_that_comes_back_with_another_version_is_taken_up_again() -> None:
    events = Events()
    server = Server((3, 0), first_number=5000)
    with client_of(server, events, bodies=("gripper",)) as client:
        client.wait_ready(PATIENCE_S)
        until(lambda: len(client.buffers["gripper"]) > 20, "20 poses")
        server.close()
        lost = events.wait("lost")
        last_ns = int(client.buffers["gripper"].window(*ALL).received_ns[-1])
        assert (lost.t_ns - last_ns) / 1e9 < 2.0
        assert client.health().state == "lost"
        assert "No NatNet frames from 127.0.0.1 for" in lost.message
        assert "`ident check`" in lost.message
        with Server((4, 1), server.port, first_number=10) as second:
            events.wait("resumed")
            before = client.buffers["gripper"].total
            until(lambda: client.buffers["gripper"].total > before + 20, "20 more poses")
            health = client.health()
            assert (health.state, health.version, health.silences) == ("streaming", (4, 1), 1)
            window = client.buffers["gripper"].window(*ALL)
            assert len(window.gaps) == 1
            assert window.gaps[0].start_ns <= last_ns <= window.gaps[0].stop_ns
            newest = int(window.sequence[-1])
            assert abs(int(window.t_ns[-1]) - second.sent[newest] + 5_000_000) < 5_000_000


def test_a_version_that_changes_under_way_is_learnt_without_a_loss_of_the_stream() -> None:
    events = Events()
    with Server((3, 0), multicast=True) as server, client_of(server, events) as client:
        client.wait_ready(PATIENCE_S)
        server.version = server.announced = (4, 1)
        changed = events.wait("changed")
        assert "NatNet 4.1" in changed.message
        before = client.health().frames
        until(lambda: client.health().frames > before + 20, "frames of the new version")
        assert client.health().malformed > 0
        assert "lost" not in events.kinds()


def test_a_version_is_asked_for_where_the_server_can_be_asked() -> None:
    with Server((4, 1)) as server, client_of(server, version=(3, 1)) as client:
        client.wait_ready(PATIENCE_S)
        until(lambda: client.health().version == (3, 1), "the older version")
        before = client.health().frames
        until(lambda: client.health().frames > before + 20, "frames of it")


def test_a_version_newer_than_any_known_is_named_and_a_known_one_asked_for() -> None:
    events = Events()
    with Server((4, 2)) as server:
        server.announced = (4, 7)
        with client_of(server, events) as client:
            client.wait_ready(PATIENCE_S)
            assert "speaks NatNet 4.7, known are 2.5 to 4.2" in events.wait("warning").message
            until(lambda: client.health().version == (4, 2), "the version that we asked for")


def test_datagrams_of_others_and_junk_are_counted_and_do_no_harm() -> None:
    with Server() as server, client_of(server) as client:
        client.wait_ready(PATIENCE_S)
        frame = packets.encode(Frame(1), (3, 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind(("127.0.0.2", 0))
            for _ in range(5):
                stranger.sendto(frame, next(iter(server.clients)))
        for junk in (b"", b"x", b"\7\0\0\0", frame[:30], b"\xff" * 60_000, bytes(500)):
            server.send(junk)
        until(lambda: client.health().foreign == 5, "the stranger's datagrams")
        until(lambda: client.health().malformed >= 5, "the junk")
        assert client.health().last_malformed
        before = client.health().frames
        until(lambda: client.health().frames > before + 20, "more frames")
        assert client.health().silences == 0


def test_frozen_and_lost_bodies_are_marked() -> None:
    with Server() as server, client_of(server) as client:
        client.wait_ready(PATIENCE_S)
        server.moving = False
        until(lambda: client.health().bodies["gripper"].frozen > 10, "frozen poses")
        server.valid = False
        until(lambda: client.health().bodies["gripper"].untracked > 10, "untracked poses")
        now_ns = client._clock.now_ns()
        assert client.buffers["gripper"].latest(now_ns, 10**9).state is PoseState.UNTRACKED


def test_model_definitions_are_asked_for_again_when_they_change() -> None:
    events = Events()
    with Server() as server, client_of(server, events) as client:
        client.wait_ready(PATIENCE_S)
        server.bodies = ("gripper", "lamp")
        server.change = lambda frame: frame._replace(params=2)
        assert "'lamp'" in events.wait("changed").message
        server.change = lambda frame: frame
        until(lambda: "lamp" in client.buffers and len(client.buffers["lamp"]), "poses of the lamp")


def test_a_body_that_is_not_streamed_is_named_with_those_that_are() -> None:
    expected = r"'griper' is not streaming .*: 'gripper', 'object'.*`ident check`"
    with Server() as server, client_of(server, bodies=("griper", "object")) as client:
        until(lambda: client.bodies, "names")
        with pytest.raises(DeviceError, match=expected):
            client.wait_ready(PATIENCE_S)


def test_no_server_is_explained() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with NatNetClient(NatNetConfig(command_port=port), HostClock()) as client:
            expected = rf"No NatNet server answered at 127\.0\.0\.1:{port} within 0\.3 s\. .*`ident check`"
            with pytest.raises(DeviceError, match=expected):
                client.wait_ready(0.3)
            with pytest.raises(DeviceError, match="clock of the server"):
                client.ticks_to_host(5)


def test_a_server_without_frames_or_bodies_is_explained() -> None:
    with Server(bodies=()) as server:
        with client_of(server) as client, pytest.raises(DeviceError, match="streams no rigid body"):
            client.wait_ready(1.5)
        server.silent = True
        with client_of(server) as client, pytest.raises(DeviceError, match="sent no readable frames within"):
            client.wait_ready(0.5)


def test_a_server_that_answers_no_echo_is_timed_by_receipt() -> None:
    events = Events()
    with Server() as server:
        server.mute_echo = True
        with client_of(server, events) as client:
            client.wait_ready(PATIENCE_S)
            assert client.health().time_source == "receipt"
            assert "no usable exposure time" in events.wait("warning").message


def test_frames_without_ticks_are_timed_by_receipt() -> None:
    with Server() as server:
        server.stamped = False
        with client_of(server) as client:
            client.wait_ready(PATIENCE_S)
            assert client.health().time_source == "receipt"


def test_the_server_is_kept_awake_and_taken_leave_of() -> None:
    with Server() as server:
        client = client_of(server)
        client.start()
        client.start()
        client.wait_ready(PATIENCE_S)
        until(lambda: sum(isinstance(m, KeepAlive) for m in server.received) >= 2, "keep-alives")
        client.stop()
        client.stop()
        until(lambda: any(isinstance(m, Disconnect) for m in server.received), "the farewell")
        assert client.health().state == "stopped"
        assert sum(isinstance(m, Connect) for m in server.received) == 1
        client.start()
        client.wait_ready(PATIENCE_S)
        client.stop()


def test_a_server_that_drops_the_client_is_greeted_again() -> None:
    events = Events()
    with Server() as server, client_of(server, events) as client:
        client.wait_ready(PATIENCE_S)
        farewell = packets.encode(DisconnectByTimeout(), (3, 0))
        client_place = next(iter(server.clients))
        server.clients.clear()
        server._socket.sendto(farewell, client_place)
        until(lambda: server.clients, "another greeting")
        before = client.health().frames
        until(lambda: client.health().frames > before + 20, "more frames")
        assert "lost" not in events.kinds()


def test_on_a_bad_network_gaps_are_counted_exactly() -> None:
    """5 % loss, 3 % twice, reordering and 20 ms of jitter, for the answers of the server as well."""
    impairments = Impairments(loss=0.05, duplicates=0.03, reordered=0.05, jitter_s=0.02)
    with Server(rate=125.0) as server, LossyRelay(("127.0.0.1", server.port), impairments) as relay:
        config = NatNetConfig(command_port=relay.address[1], bodies=("gripper",))
        with NatNetClient(config, HostClock()) as client:
            client.wait_ready(PATIENCE_S)
            until(lambda: client.health().frames > 500, "500 frames")
    health = client.health()
    window = client.buffers["gripper"].window(*ALL)
    numbers = window.sequence.tolist()
    assert sorted(set(numbers)) == numbers
    assert health.frames == len(numbers)
    assert health.lost_frames == numbers[-1] - numbers[0] + 1 - len(numbers)
    assert sum(gap.missing for gap in window.gaps) == health.lost_frames
    assert 0.02 < health.lost_frames / len(numbers) < 0.1
    assert health.out_of_order > 0
    assert health.duplicates > 0
    assert health.malformed == 0


def test_raw_datagrams_and_samples_are_handed_on() -> None:
    raw: list[tuple[str, int, bytes]] = []
    samples: list[PoseSample] = []
    with Server() as server:
        client = NatNetClient(
            NatNetConfig(command_port=server.port, bodies=("object",)),
            HostClock(),
            tap=lambda *arrival: raw.append(arrival),
            on_poses=samples.extend,
        )
        with client:
            client.wait_ready(PATIENCE_S)
            until(lambda: len(samples) > 20, "20 samples")
    assert {stream for stream, _, _ in raw} == {"natnet/data", "natnet/command"}
    frames = [packets.decode(data, (3, 0)) for stream, _, data in raw if stream == "natnet/data"]
    numbers = [frame.number for frame in frames if isinstance(frame, Frame)]
    assert [sample.sequence for sample in samples] == numbers[-len(samples) :]


def test_a_failing_callback_stops_the_driver_and_says_so() -> None:
    events = Events()

    def fail(samples: Sequence[PoseSample]) -> None:
        raise OSError(28, "No space left on device")

    with Server() as server:
        client = NatNetClient(NatNetConfig(command_port=server.port), HostClock(), on_event=events, on_poses=fail)
        with client:
            assert "No space left" in events.wait("lost").message
            with pytest.raises(DeviceError, match="stopped: OSError"):
                client.wait_ready(PATIENCE_S)
            assert client.health().failure
            client._on_poses = None
            client.start()
            client.wait_ready(PATIENCE_S)
            assert not client.health().failure


def test_a_callback_may_ask_for_the_health() -> None:
    told = threading.Event()
    with Server() as server:
        config = NatNetConfig(command_port=server.port)
        client = NatNetClient(config, HostClock(), on_event=lambda _: (client.health(), told.set()))
        with client:
            client.wait_ready(PATIENCE_S)
        assert told.is_set()


def test_at_ten_times_the_speed_rates_read_as_they_are_and_nothing_is_lost() -> None:
    events = Events()
    with Server(rate=500.0, speed=10.0) as server:
        clock = HostClock(10.0)
        with NatNetClient(NatNetConfig(command_port=server.port), clock, on_event=events) as client:
            client.wait_ready(PATIENCE_S)
            until(lambda: len(client.buffers["gripper"]) > 300, "300 poses")
            assert client.buffers["gripper"].rate(clock.now_ns()) < 75.0
            assert events.kinds() == ["connected"]


def test_an_address_that_cannot_be_used_is_explained() -> None:
    with pytest.raises(DeviceError, match=r"cannot be used \(interface '192\.0\.2\.7'"):
        NatNetClient(NatNetConfig(interface="192.0.2.7"), HostClock()).start()


def test_a_wrong_configuration_names_every_problem() -> None:
    with pytest.raises(ValueError, match=r"command_port 0 .*; data_port 70000 .*; version .*; capacity"):
        NatNetConfig(command_port=0, data_port=70_000, version=(1, 9), capacity=1)


@pytest.mark.parametrize("multicast", [False, True])
def test_servers_are_found(multicast: bool) -> None:
    with Server(multicast=multicast) as server:
        (found,) = discover(0.3, command_port=server.port)
        assert (found.address, found.name, found.version) == ("127.0.0.1", "Motive 2.1", (3, 0))
        assert found.multicast == ("239.255.42.98" if multicast else None)


class TestLibraryDriver:
    """``driver = "natnetclient"``."""

    def test_it_streams_from_motive_1(self) -> None:
        pytest.importorskip("natnetclient")
        with Server((2, 7)) as server, client_of(server, driver="natnetclient") as client:
            client.wait_ready(PATIENCE_S)
            until(lambda: len(client.buffers["object"]) > 20, "20 poses")
            assert client.health().malformed == 0

    def test_what_breaks_the_library_is_counted_and_the_stream_goes_on(self) -> None:
        pytest.importorskip("natnetclient")
        with Server((2, 7)) as server, client_of(server, driver="natnetclient") as client:
            client.wait_ready(PATIENCE_S)
            server.send(packets.encode(Frame(1), (2, 7))[:-9])
            until(lambda: client.health().malformed > 0, "the broken frame")
            assert "natnetclient failed" in client.health().last_malformed
            before = client.health().frames
            until(lambda: client.health().frames > before + 20, "more frames")

    def test_a_version_that_it_cannot_read_gives_no_poses_instead_of_wrong_ones(self) -> None:
        pytest.importorskip("natnetclient")
        with Server((3, 0)) as server, client_of(server, driver="natnetclient") as client:
            with pytest.raises(DeviceError, match=r"natnetclient reads NatNet 2\.x only"):
                client.wait_ready(1.5)
            assert not any(len(buffer) for buffer in client.buffers.values())


def test_malformed_is_a_value_error() -> None:
    assert issubclass(Malformed, ValueError)
