"""The driver against a sensor that does exactly what each test tells it, over real sockets."""

import contextlib
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import pytest

from devices.clock import HostClock
from devices.errors import DeviceError
from devices.netft import (
    Command,
    NetFT,
    NetFTConfig,
    Request,
    SensorCalibration,
    decode_request,
    encode_records,
    render_api,
)
from devices.samples import DeviceEvent
from devices.sim.relay import Impairments, LossyRelay

PATIENCE_S = 20.0


class Sensor:
    """A Net F/T box on the loopback: tells its calibration, and sends what it is told to."""

    def __init__(self) -> None:
        self.calibration = SensorCalibration(1e6, 1e3, "N", "N-mm", "Net F/T", "FT1234", 1000.0)
        self.reply: bytes | None = None
        """What the web server answers instead of the calibration."""
        self.drip_s = 0.0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.settimeout(PATIENCE_S)
        self.web = socket.create_server(("127.0.0.1", 0))
        self.rdt_port: int = self.udp.getsockname()[1]
        self.http_port: int = self.web.getsockname()[1]
        self.client: tuple[str, int] = ("", 0)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Wakes the accept, which a close alone would not.
        with contextlib.suppress(OSError):
            self.web.shutdown(socket.SHUT_RDWR)
        self.web.close()
        self.udp.close()
        self._thread.join()

    def config(self, **changes: Any) -> NetFTConfig:
        return NetFTConfig(**{"host": "127.0.0.1", "rdt_port": self.rdt_port, "http_port": self.http_port} | changes)

    def _serve(self) -> None:
        while True:
            try:
                connection = self.web.accept()[0]
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                body = render_api(self.calibration)
                reply = self.reply
                if reply is None:
                    reply = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
                if not self.drip_s:
                    connection.sendall(reply)
                    continue
                for byte in reply:
                    connection.sendall(bytes([byte]))
                    time.sleep(self.drip_s)

    def request(self) -> Request:
        """The next request that a client sends; records go to this client from now on."""
        datagram, self.client = self.udp.recvfrom(64)
        return decode_request(datagram)

    def resume(self, driver: "Driver", records: list[bytes]) -> DeviceEvent:
        """Answer the driver's latest request until it says that samples come again."""
        while True:
            self.request()
            while select.select([self.udp], [], [], 0)[0]:
                self.request()
            self.send(*records)
            with contextlib.suppress(queue.Empty):
                return driver.event("resumed", patience_s=2.0)

    def send(self, *datagrams: bytes) -> None:
        for datagram in datagrams:
            self.udp.sendto(datagram, self.client)

    def records(self, numbers: Sequence[int], ft_offset: int = 0, status: int = 0) -> list[bytes]:
        return [
            encode_records(n, n + ft_offset, status, [n % 1000 * 1_000_000, 0, 0, 0, 0, 2_000_000]) for n in numbers
        ]


@pytest.fixture
def sensor() -> Iterator[Sensor]:
    with Sensor() as served:
        yield served


class Driver:
    """A started driver whose events, datagrams and batches are kept."""

    def __init__(self, config: NetFTConfig, speed: float = 1.0) -> None:
        self.events: queue.Queue[DeviceEvent] = queue.Queue()
        self.told: list[str] = []
        self.when_lost: Callable[[], None] = lambda: None
        """What happens in the very moment in which the driver notices the loss."""
        self.datagrams: list[bytes] = []
        self.delivered = 0
        self.netft = NetFT(
            config,
            HostClock(speed),
            tap=lambda _stream, _t_ns, datagram: self.datagrams.append(datagram),
            on_event=self._tell,
            on_wrenches=self._count,
        )

    def _tell(self, event: DeviceEvent) -> None:
        if event.kind == "lost":
            self.when_lost()
        self.events.put(event)

    def _count(self, t_ns: np.ndarray, *_: np.ndarray) -> None:
        self.delivered += len(t_ns)

    def __enter__(self) -> Self:
        self.netft.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.netft.stop()

    def event(self, kind: str, patience_s: float = PATIENCE_S) -> DeviceEvent:
        """The next event of that kind."""
        while True:
            event = self.events.get(timeout=patience_s)
            self.told.append(event.kind)
            if event.kind == kind:
                return event


def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def everything(netft: NetFT) -> Any:
    return netft.buffer.window(0, 2**62)


def test_samples_arrive_in_si_units(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        assert sensor.request() == Request(Command.REALTIME)
        sent = sensor.records(range(1, 101), ft_offset=5000)
        sensor.send(*sent)
        driver.netft.wait_ready(PATIENCE_S)
        eventually(lambda: len(driver.netft.buffer) == 100)
        window = everything(driver.netft)
        np.testing.assert_allclose(window.wrench[:, 0], np.arange(1, 101))
        np.testing.assert_allclose(window.wrench[:, 5], 2.0)
        assert window.sequence.tolist() == list(range(5001, 5101))
        assert window.valid.all()
        assert driver.datagrams == sent
        assert driver.delivered == 100
        assert "FT1234" in driver.event("connected").message
        assert driver.netft.calibration == sensor.calibration
        health = driver.netft.health()
        assert (health.state, health.status_text, health.kernel_drops) == ("streaming", "ok", 0)
        driver.netft.stop()
    assert sensor.request() == Request(Command.STOP)
    assert driver.netft.health().state == "stopped"


def test_buffered_datagrams_hold_many_records(sensor: Sensor) -> None:
    with Driver(sensor.config(mode="buffered")) as driver:
        assert sensor.request() == Request(Command.BUFFERED)
        records = sensor.records(range(1, 401))
        sensor.send(*(b"".join(records[i : i + 40]) for i in range(0, 400, 40)))
        eventually(lambda: len(driver.netft.buffer) == 400)
        assert driver.netft.health().account.lost == 0


@pytest.mark.parametrize("first", [1, 2**32 - 50])
def test_loss_repeats_and_reordering_are_counted_exactly(sensor: Sensor, first: int) -> None:
    numbers = [first + i for i in range(100) if i not in (20, 21, 70)]
    numbers[10], numbers[11] = numbers[11], numbers[10]
    numbers.insert(30, numbers[30])
    with Driver(sensor.config()) as driver:
        sensor.request()
        sensor.send(*sensor.records(numbers))
        eventually(lambda: len(driver.netft.buffer) == 97)
        account = driver.netft.health().account
        assert (account.delivered, account.lost, account.duplicates, account.out_of_order) == (97, 3, 1, 1)
        assert len(everything(driver.netft)) == 97


def test_junk_and_strangers_are_ignored_and_counted(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        sensor.request()
        stranger.sendto(sensor.records([1])[0], ("127.0.0.1", sensor.client[1]))
        sensor.send(b"", b"x", bytes(35), bytes(37), bytes(5000), *sensor.records([1, 2]))
        eventually(lambda: len(driver.netft.buffer) == 2)
        health = driver.netft.health()
        assert (health.malformed, health.foreign, health.account.received) == (5, 1, 2)


def test_saturation_is_told_once_and_counted(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        sensor.request()
        sensor.send(*sensor.records([1, 2]), *sensor.records([3, 4], status=0x80020000), *sensor.records([5]))
        eventually(lambda: len(driver.netft.buffer) == 5)
        event = driver.event("warning")
        assert "saturated" in event.message
        assert "0x80020000" in event.message
        assert everything(driver.netft).valid.tolist() == [True, True, False, False, True]
        health = driver.netft.health()
        assert (health.saturated, health.invalid, health.status) == (2, 2, 0)
    assert "warning" not in [event.kind for event in driver.events.queue]


@pytest.mark.parametrize(
    ("name", "product", "saturated"), [("Ethernet Axia80", None, 1), ("Net F/T", None, 0), ("", "axia", 1)]
)
def test_the_status_table_follows_the_product(sensor: Sensor, name: str, product: Any, saturated: int) -> None:
    sensor.calibration = SensorCalibration(1, 1, product_name=name)
    with Driver(sensor.config(product=product)) as driver:
        sensor.request()
        sensor.send(*sensor.records([1], status=0xC0000000))
        eventually(lambda: len(driver.netft.buffer) == 1)
        assert driver.netft.health().saturated == saturated
        assert driver.netft.health().invalid == 1


def test_bias_is_asked_of_the_sensor(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        with pytest.raises(DeviceError, match="not streaming"):
            driver.netft.bias()
        sensor.request()
        sensor.send(*sensor.records([1]))
        driver.netft.wait_ready(PATIENCE_S)
        driver.netft.bias()
        assert sensor.request() == Request(Command.BIAS)
        assert "biased" in driver.event("changed").message


def test_a_stream_taken_over_is_noticed_told_and_taken_back(sensor: Sensor) -> None:
    with Driver(sensor.config(), speed=10.0) as driver:
        sensor.request()
        sensor.send(*sensor.records(range(1, 11), ft_offset=100))
        driver.event("connected")
        lost = driver.event("lost")
        assert "127.0.0.1" in lost.message
        assert driver.netft.health().state == "lost"
        resumed = sensor.resume(driver, sensor.records(range(1, 6), ft_offset=900))
        assert "another program" in resumed.message
        eventually(lambda: len(driver.netft.buffer) == 15)
        health = driver.netft.health()
        assert (health.takeovers, health.reconnects, health.account.lost) == (1, 1, 0)


def test_an_interrupted_network_needs_no_new_request(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        driver.when_lost = lambda: sensor.send(*sensor.records(range(1001, 1011)))
        sensor.request()
        sensor.send(*sensor.records(range(1, 11)))
        assert "another program" not in driver.event("resumed").message
        eventually(lambda: len(driver.netft.buffer) == 20)
        health = driver.netft.health()
        assert (health.takeovers, health.account.lost) == (0, 990)


def test_a_sensor_that_comes_back_different_is_told(sensor: Sensor) -> None:
    with Driver(sensor.config(), speed=10.0) as driver:
        sensor.request()
        sensor.calibration = SensorCalibration(5e5, 1e6, "N", "Nm", "Net F/T", "FT9")
        sensor.send(*sensor.records(range(1, 11), ft_offset=10**6))
        driver.event("lost")
        # Another rate than before: every seventh of the internal samples, and both counters anew.
        sensor.resume(driver, [encode_records(n, 7 * n, 0, [500_000, 0, 0, 0, 0, 0]) for n in range(1, 11)])
        eventually(lambda: len(driver.netft.buffer) == 20)
        assert "changed" in driver.told
        assert driver.netft.calibration.serial == "FT9"
        np.testing.assert_allclose(everything(driver.netft).wrench[-1, 0], 1.0)
        assert driver.netft.health().takeovers == 0


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"HTTP/1.0 404 Not Found\r\n\r\n", "404"),
        (b"HTTP/1.0 200 OK\r\n\r\n<html>Hello", "not XML"),
        (b"HTTP/1.0 200 OK\r\n\r\n<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "document type"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + bytes(10**6), "more than 262144 bytes"),
        (b"A" * 10**6, "header of more than"),
        (b"", "instead of an HTTP header"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "instead of an HTTP header"),
    ],
)
def test_a_web_server_that_is_no_sensor_is_said(sensor: Sensor, reply: bytes, says: str) -> None:
    sensor.reply = reply
    with Driver(sensor.config()) as driver:
        assert says in driver.event("warning").message
        with pytest.raises(DeviceError, match=says):
            driver.netft.wait_ready(0)
        with pytest.raises(DeviceError, match=says):
            _ = driver.netft.calibration


def test_a_dripping_web_server_is_cut_off(sensor: Sensor) -> None:
    sensor.drip_s = 0.05
    with Driver(sensor.config(http_timeout_s=0.3)) as driver:
        assert "within 0.3 s" in driver.event("warning").message


def test_no_web_server_is_said_and_needed_only_without_a_given_calibration(sensor: Sensor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Driver(sensor.config(http_port=port)) as driver:
        assert "refused" in driver.event("warning").message
    with Driver(sensor.config(http_port=port, calibration=sensor.calibration)) as driver:
        sensor.request()
        sensor.send(*sensor.records([1]))
        driver.event("connected")


def test_an_unknown_host_and_a_wrong_name_are_said() -> None:
    with Driver(NetFTConfig("no-such-host.invalid")) as driver:
        assert "No calibration from http://no-such-host.invalid" in driver.event("warning").message
    with Driver(NetFTConfig("no-such-host.invalid", calibration=SensorCalibration(1, 1))) as driver:
        assert "no-such-host.invalid cannot be reached" in driver.event("warning").message


def test_a_silent_sensor_is_said(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        assert "No records from 127.0.0.1" in driver.event("warning").message


def test_starting_and_stopping_twice_does_no_harm(sensor: Sensor) -> None:
    with Driver(sensor.config()) as driver:
        driver.netft.start()
        for _ in range(2):
            while sensor.request().command != Command.REALTIME:
                pass
            sensor.send(*sensor.records([1]))
            driver.netft.wait_ready(PATIENCE_S)
            driver.netft.stop()
            driver.netft.stop()
            driver.netft.start()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("netft")]


def test_a_failing_tap_ends_the_driver_loudly(sensor: Sensor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("disk full")

    caught: queue.Queue[object] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda args: caught.put(args.exc_value))
    events: queue.Queue[DeviceEvent] = queue.Queue()
    netft = NetFT(sensor.config(), HostClock(), tap=fail, on_event=events.put)
    with netft:
        sensor.request()
        sensor.send(*sensor.records([1]))
        assert events.get(timeout=PATIENCE_S).kind == "lost"
        assert "disk full" in str(caught.get(timeout=PATIENCE_S))
        assert netft.health().state == "failed"


def test_bad_settings_are_told_all_at_once() -> None:
    with pytest.raises(DeviceError, match=r"rdt_port is 0.*http_port is 70000.*host is empty.*reorder_s is 3"):
        NetFTConfig("", 0, 70000, reorder_s=3)


def test_a_bad_network_is_accounted_for_exactly(sensor: Sensor) -> None:
    """5 % loss, 1 % twice, reordering and 20 ms of jitter: what the relay did is what the driver counts."""
    n = 3000
    impairments = Impairments(loss=0.05, duplicates=0.01, reordered=0.02, jitter_s=0.02)
    with (
        LossyRelay(("127.0.0.1", sensor.rdt_port), impairments) as relay,
        Driver(sensor.config(rdt_port=relay.address[1], calibration=sensor.calibration)) as driver,
    ):
        sensor.request()
        for start in range(1, n + 1, 50):
            sensor.send(*sensor.records(range(start, start + 50)))
            eventually(lambda sent=start + 49: relay.counts.received >= sent)

        def settled() -> bool:
            account = driver.netft.health().account
            arrived = account.delivered + account.duplicates + account.late
            return arrived == n - relay.counts.lost + relay.counts.duplicated

        eventually(settled)
        account, done = driver.netft.health().account, relay.counts
        assert account.delivered + account.late == n - done.lost
        assert account.duplicates == done.duplicated
        assert account.out_of_order > 0
        eventually(lambda: len(driver.netft.buffer) == account.delivered)  # counted just before they are kept
        sequence = everything(driver.netft).sequence
        assert (np.diff(sequence) > 0).all()
        assert account.lost == sequence[-1] - sequence[0] + 1 - account.delivered


def test_two_drivers_of_one_sensor_notice_each_other(sensor: Sensor) -> None:
    """The sensor serves who asked last, as the real ones do."""
    ended = threading.Event()

    def stream() -> None:
        sensor.udp.settimeout(0.002)
        asked = number = internal = 0
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                if sensor.request().command == Command.REALTIME:
                    asked, number = asked + 1, 0
            internal += 2
            if asked:
                number += 1
                sensor.send(encode_records(number, internal, 0, [0] * 6))

    server = threading.Thread(target=stream)
    with Driver(sensor.config(), speed=10.0) as first:
        server.start()
        try:
            first.event("connected")
            with Driver(sensor.config(), speed=10.0) as second:
                second.event("connected")
                first.event("lost")
                assert "another program" in first.event("resumed").message
                assert first.netft.health().takeovers >= 1
                second.event("lost")
        finally:
            ended.set()
            server.join()
