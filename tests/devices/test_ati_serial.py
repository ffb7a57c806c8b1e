"""ATI serial sensors: exact bytes, and the driver against a simulated controller at the other end of a pty."""

import contextlib
import os
import queue
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.ati_serial import AtiSerial, AtiSerialConfig, BinaryDecoder, TextDecoder
from devices.clock import HostClock
from devices.errors import DeviceError
from devices.netft import SensorCalibration
from devices.samples import DeviceEvent

PATIENCE_S = 20.0
CALIBRATION = SensorCalibration(10.0, 500.0, "N", "Nm")
I16 = st.integers(-(2**15), 2**15 - 1)


def binary(values: np.ndarray, error: int = 0) -> bytes:
    return b"".join(struct.pack(">B6h", error, *row) for row in values.tolist())


def noise(n: int, seed: int = 1) -> np.ndarray:
    """What a sensor that is held still sends: constants with a few counts of noise."""
    rng = np.random.default_rng(seed)
    return rng.integers(-300, 300, 6) + rng.integers(-3, 4, (n, 6))


def test_a_ctl_line() -> None:
    (reading,) = TextDecoder(axia=False).feed(b"0,  -102,    33,     4,     5,    -6,     7\r\n")
    assert (reading.counts, reading.status, reading.counter) == ((-102, 33, 4, 5, -6, 7), 0, None)


def test_an_axia_line() -> None:
    (reading,) = TextDecoder(axia=True).feed(b"17 961 -959 963 960 966 965\r\n")
    assert (reading.counts, reading.status, reading.counter) == ((961, -959, 963, 960, 966, 965), 0, 17)


def test_a_binary_record() -> None:
    (*_, reading) = BinaryDecoder().feed(bytes.fromhex("00 ff9a 0021 0004 0005 fffa 8000") * 6)
    assert reading.counts == (-102, 33, 4, 5, -6, -32768)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), *[I16] * 6), max_size=20), st.lists(st.integers(1, 40), min_size=1))
def test_lines_do_not_depend_on_the_chunks(rows: list[tuple[int, ...]], sizes: list[int]) -> None:
    data = b"".join(b"%d, %d, %d, %d, %d, %d, %d\r\n" % row for row in rows)
    decoder = TextDecoder(axia=False)
    found = []
    position = 0
    while position < len(data):
        size = sizes[position % len(sizes)]
        found += decoder.feed(data[position : position + size])
        position += size
    assert [(reading.status, *reading.counts) for reading in found] == rows
    assert decoder.malformed == 0


def test_trailing_bytes_are_counted() -> None:
    line = b"0, 1, 2, 3, 4, 5, 6\r\n"
    readings = TextDecoder(axia=False).feed(line * 3 + b"0, 1")
    assert [reading.trailing for reading in readings] == [2 * len(line) + 5, len(line) + 5, 5]
    readings = BinaryDecoder().feed(binary(noise(10)) + b"\0")
    assert [reading.trailing for reading in readings] == [13 * i + 1 for i in range(9, -1, -1)]


@settings(deadline=None)
@given(st.binary(max_size=2000), st.booleans())
def test_any_bytes_make_readings_or_are_counted(data: bytes, axia: bool) -> None:
    for decoder in (TextDecoder(axia=axia), BinaryDecoder()):
        for start in range(0, len(data), 100):
            for reading in decoder.feed(data[start : start + 100]):
                assert len(reading.counts) == 6
                assert reading.trailing >= 0


def test_echo_and_prompt_are_no_errors_but_garbage_is() -> None:
    decoder = TextDecoder(axia=False)
    assert decoder.feed(b"> \r\n") == []
    assert decoder.malformed == 0
    decoder.feed(b"0, 1, 2, 3\r\nE01\r\n" + b"x" * 1000)
    assert decoder.malformed == 3


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 1000))
def test_binary_records_are_found_in_mid_stream(skipped: int, seed: int) -> None:
    values = noise(60, seed)
    decoder = BinaryDecoder()
    found = decoder.feed(binary(values)[skipped:])
    first = 1 if skipped else 0
    assert [reading.counts for reading in found] == [tuple(row) for row in values[first:].tolist()]


@settings(max_examples=25, deadline=None)
@given(st.integers(700, 760), st.integers(1, 12), st.integers(0, 1000))
def test_binary_records_are_found_again_after_lost_bytes(place: int, missing: int, seed: int) -> None:
    values = noise(300, seed)
    data = binary(values)
    data = data[:place] + data[place + missing :]
    decoder = BinaryDecoder()
    found = [reading for start in range(0, len(data), 26) for reading in decoder.feed(data[start : start + 26])]
    assert decoder.malformed >= 1
    assert [reading.counts for reading in found[-150:]] == [tuple(row) for row in values[-150:].tolist()]


def test_a_lasting_error_does_not_shift_binary_records() -> None:
    values = noise(200)
    decoder = BinaryDecoder()
    decoder.feed(binary(values[:100]))
    found = decoder.feed(binary(values[100:], error=2))
    assert [reading.status for reading in found] == [2] * 100
    assert decoder.malformed == 0


class Controller:
    """The device's end of a pty: keeps the commands, answers them, sends what it is told to."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        self.port = os.ttyname(slave)
        self._slave = slave
        self.commands: queue.Queue[bytes] = queue.Queue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._answer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            os.close(self.master)
            os.close(self._slave)

    def _answer(self) -> None:
        pending = b""
        while not self._ended.is_set():
            if select.select([self.master], [], [], 0.02)[0]:
                pending += os.read(self.master, 1024)
            while b"\r" in pending:
                command, _, pending = pending.partition(b"\r")
                echo = b"\r\n" if command[:1] in (b"Q", b"c") else b"\r\n>"
                os.write(self.master, command + echo)
                # Only now: whoever waits for the command writes to the same line.
                self.commands.put(command)

    def wait_for(self, command: bytes) -> list[bytes]:
        """All commands up to that one."""
        seen = []
        while not seen or seen[-1] != command:
            seen.append(self.commands.get(timeout=PATIENCE_S))
        return seen

    def send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.master, data[:500]) :]


@pytest.fixture
def controller() -> Iterator[Controller]:
    with Controller() as device:
        yield device


@contextlib.contextmanager
def driver(controller: Controller, **changes: Any) -> Iterator[tuple[AtiSerial, queue.Queue[DeviceEvent]]]:
    events: queue.Queue[DeviceEvent] = queue.Queue()
    config = AtiSerialConfig(**{"port": controller.port, "calibration": CALIBRATION} | changes)
    with AtiSerial(config, HostClock(), on_event=events.put) as sensor:
        yield sensor, events


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def test_a_ctl_controller_in_text(controller: Controller) -> None:
    with driver(controller, averaging=4) as (sensor, events):
        assert controller.wait_for(b"QS") == [b"", b"CD A", b"CD R", b"SA 4", b"QS"]
        controller.send(b"0, 100, -200, 300, 50, -100, 0\r\n" * 20 + b"2, 1, 1, 1, 1, 1, 1\r\n")
        sensor.wait_ready(PATIENCE_S)
        eventually(lambda: len(sensor.buffer) == 21)
        window = sensor.buffer.window(0, 2**62)
        np.testing.assert_allclose(window.wrench[0], [10, -20, 30, 0.1, -0.2, 0])
        assert window.valid.tolist() == [True] * 20 + [False]
        assert window.status[-1] == 2
        assert (np.diff(window.t_ns) >= 0).all()
        assert {events.get(timeout=PATIENCE_S).kind for _ in range(2)} == {"connected", "warning"}
        health = sensor.health()
        assert (health.received, health.invalid, health.state) == (21, 1, "streaming")
        sensor.bias()
        assert controller.wait_for(b"QS") == [b"", b"SB", b"QS"]
        assert events.get(timeout=PATIENCE_S).kind == "changed"
        sensor.stop()
        sensor.stop()
    assert controller.wait_for(b"")


def test_a_ctl_controller_in_binary(controller: Controller) -> None:
    values = noise(100)
    with driver(controller, format="ctl-binary") as (sensor, _):
        assert controller.wait_for(b"QS") == [b"", b"CD B", b"CD R", b"SA 1", b"QS"]
        controller.send(binary(values))
        eventually(lambda: len(sensor.buffer) == 100)
        np.testing.assert_allclose(sensor.buffer.window(0, 2**62).wrench, values * CALIBRATION.scale)


def test_a_serial_axia_counts_its_losses(controller: Controller) -> None:
    with driver(controller, format="axia") as (sensor, _):
        assert controller.wait_for(b"c <#cdfxyztxyz") == [b"", b"c <#cdfxyztxyz"]
        controller.send(b"".join(b"%d 10 20 30 40 50 60\r\n" % i for i in range(1, 51) if i not in (7, 8, 30)))
        eventually(lambda: len(sensor.buffer) == 47)
        assert sensor.health().lost == 3
        np.testing.assert_allclose(sensor.buffer.window(0, 2**62).wrench[0], [1, 2, 3, 0.08, 0.1, 0.12])


def test_silence_is_told_and_the_stream_asked_for_again(controller: Controller) -> None:
    with driver(controller) as (sensor, events):
        controller.wait_for(b"QS")
        controller.send(b"0, 1, 2, 3, 4, 5, 6\r\n")
        assert events.get(timeout=PATIENCE_S).kind == "connected"
        assert events.get(timeout=PATIENCE_S).kind == "lost"
        assert sensor.health().state == "lost"
        with pytest.raises(DeviceError, match="not streaming"):
            sensor.bias()
        controller.wait_for(b"QS")
        controller.send(b"0, 1, 2, 3, 4, 5, 6\r\n")
        assert events.get(timeout=PATIENCE_S).kind == "resumed"
        assert sensor.health().reconnects == 1


def test_a_port_that_goes_away_is_told(controller: Controller) -> None:
    with driver(controller) as (_, events):
        controller.wait_for(b"QS")
        controller.send(b"0, 1, 2, 3, 4, 5, 6\r\n")
        assert events.get(timeout=PATIENCE_S).kind == "connected"
        controller.unplug()
        event = events.get(timeout=PATIENCE_S)
        assert (event.kind, "Check the cable" in event.message) == ("lost", True)


def test_a_missing_port_is_told() -> None:
    with AtiSerial(AtiSerialConfig("/dev/no-such-port", CALIBRATION), HostClock()) as sensor:
        eventually(lambda: sensor.health().last_error != "")
        with pytest.raises(DeviceError, match="no-such-port"):
            sensor.wait_ready(0)


def test_bad_settings_are_told_all_at_once() -> None:
    with pytest.raises(DeviceError, match=r"format is 'morse'.*averaging is 3.*baud is 0"):
        AtiSerialConfig("x", CALIBRATION, format="morse", averaging=3, baud=0)  # type: ignore[arg-type]
