"""Presses from levels, edge bytes and keys; the driver through a pty and through a port with lines."""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.clock import HostClock
from devices.errors import DeviceError
from devices.samples import DeviceEvent, Press
from devices.trigger import EdgeDecoder, KeyTrigger, PressDetector, Trigger, TriggerConfig, encode_edge

MS = 1_000_000
PATIENCE_S = 20.0


def presses(levels: list[tuple[int, bool]], *, held: bool = False) -> list[tuple[int, bool]]:
    """Feed (milliseconds, level) pairs; (milliseconds, long) of each press."""
    detector = PressDetector(debounce_s=0.03, long_s=0.8)
    detector.forget(down=held)
    found = [detector.feed(ms * MS, level, "test") for ms, level in levels]
    found.append(detector.tick(10**9 * MS, "test"))
    return [(press.t_ns // MS, press.long) for press in found if press]


def test_a_press_is_dated_to_its_beginning() -> None:
    assert presses([(100, True), (300, False), (900, True), (1000, False)]) == [(100, False), (900, False)]


def test_a_long_press_is_told_apart() -> None:
    assert presses([(100, True), (900, False), (2000, True), (2799, False)]) == [(100, True), (2000, False)]


def test_bouncing_contacts_make_one_press() -> None:
    bounce = [(0, True), (2, False), (5, True), (9, False), (11, True), (200, False), (203, True), (206, False)]
    assert presses(bounce) == [(0, False)]


def test_a_tap_shorter_than_the_bouncing_still_counts() -> None:
    assert presses([(100, True), (110, False)]) == [(100, False)]


def test_a_button_held_from_the_start_is_no_press() -> None:
    assert presses([(0, True), (2000, False), (3000, True), (3100, False)], held=True) == [(3000, False)]


@settings(deadline=None)
@given(st.lists(st.integers(31, 5000), max_size=20))
def test_every_clean_press_is_found_once(gaps_ms: list[int]) -> None:
    levels, expected, now = [], [], 0
    for gap in gaps_ms:
        levels += [(now, True), (now + gap, False)]
        expected.append((now, gap >= 800))
        now += gap + 50
    assert presses(levels) == expected


def test_edge_bytes() -> None:
    assert encode_edge(True, 5) == b"\x85"
    assert encode_edge(False, 134) == b"\x06"
    decoder = EdgeDecoder()
    assert [decoder.feed(byte) for byte in (0x85, 0x06, 0x06, 0x89)] == [True, False, None, True]
    assert (decoder.missed, decoder.repeated) == (2, 1)


def test_the_edge_counter_wraps() -> None:
    decoder = EdgeDecoder()
    for counter in range(300):
        assert decoder.feed(encode_edge(counter % 2 == 0, counter)[0]) is (counter % 2 == 0)
    assert decoder.missed == 0


def test_keys_press_short_and_long() -> None:
    pressed: list[Press] = []
    trigger = KeyTrigger(HostClock(), pressed.append)
    assert [trigger.feed(key) for key in ("space", "x", "r")] == [True, False, True]
    assert [press.long for press in pressed] == [False, True]


class Recorded:
    """What a driver reports."""

    def __init__(self) -> None:
        self.presses: queue.Queue[Press] = queue.Queue()
        self.events: queue.Queue[DeviceEvent] = queue.Queue()


@contextlib.contextmanager
def pty() -> Iterator[tuple[int, str]]:
    master, slave = os.openpty()
    try:
        yield master, os.ttyname(slave)
    finally:
        for end in (master, slave):
            with contextlib.suppress(OSError):
                os.close(end)


def test_a_microcontroller_on_a_serial_line() -> None:
    told = Recorded()
    with pty() as (master, port):
        config = TriggerConfig(port, debounce_s=0.0)
        trigger = Trigger(config, HostClock(), on_press=told.presses.put, on_event=told.events.put)
        with trigger:
            trigger.wait_ready(PATIENCE_S)
            os.write(master, encode_edge(True, 0))
            os.write(master, encode_edge(False, 1))
            press = told.presses.get(timeout=PATIENCE_S)
            assert press.source == "trigger bytes"
            # Two edges are lost: the release that comes belongs to a press that nobody saw begin.
            os.write(master, encode_edge(True, 2) + encode_edge(False, 5))
            event = told.events.get(timeout=PATIENCE_S)
            assert (event.kind, "2 edges" in event.message) == ("warning", True)
            os.write(master, encode_edge(True, 6) + encode_edge(False, 7))
            assert told.presses.get(timeout=PATIENCE_S).t_ns > press.t_ns
            health = trigger.health()
            assert (health.state, health.presses, health.missed) == ("streaming", 2, 2)
            trigger.stop()
            trigger.stop()
        assert trigger.health().state == "stopped"


class Lines:
    """A port of which only the modem lines exist; a pty has none."""

    def __init__(self) -> None:
        self.cts = self.dsr = False
        self.broken = False
        self.seen = threading.Semaphore(0)

    def __getattribute__(self, name: str) -> object:
        if name in ("cts", "dsr"):
            if object.__getattribute__(self, "broken"):
                raise OSError("unplugged")
            object.__getattribute__(self, "seen").release()
        return object.__getattribute__(self, name)

    def read(self, size: int = 1, /) -> bytes:
        raise AssertionError("nobody reads bytes from a button")

    def close(self) -> None:
        pass

    def looked_at(self) -> None:
        """Wait until the driver has looked twice, and so once after any change made before."""
        for _ in range(2):
            while self.seen.acquire(blocking=False):
                pass
            assert self.seen.acquire(timeout=PATIENCE_S)


@pytest.mark.parametrize(("kind", "inverted"), [("cts", False), ("dsr", True)])
def test_a_switch_on_a_modem_line(kind: str, inverted: bool) -> None:
    told, lines = Recorded(), Lines()
    setattr(lines, kind, inverted)
    config = TriggerConfig("line", kind=kind, inverted=inverted, debounce_s=0.0, long_s=3600.0)  # type: ignore[arg-type]
    with Trigger(config, HostClock(), on_press=told.presses.put, open_port=lambda _config: lines):
        for _ in range(2):
            lines.looked_at()
            setattr(lines, kind, not inverted)
            lines.looked_at()
            setattr(lines, kind, inverted)
            assert not told.presses.get(timeout=PATIENCE_S).long


def test_an_unplugged_port_is_told_and_found_again() -> None:
    told, ports = Recorded(), queue.Queue[Lines]()
    first, second = Lines(), Lines()
    ports.put(first)

    def open_port(_config: TriggerConfig) -> Lines:
        try:
            return ports.get_nowait()
        except queue.Empty:
            raise OSError("no such device") from None

    config = TriggerConfig("line", kind="cts")
    with Trigger(
        config, HostClock(), on_press=told.presses.put, on_event=told.events.put, open_port=open_port
    ) as trigger:
        first.looked_at()
        first.broken = True
        assert "unplugged" in told.events.get(timeout=PATIENCE_S).message
        assert "no such device" in told.events.get(timeout=PATIENCE_S).message
        ports.put(second)
        assert told.events.get(timeout=PATIENCE_S).kind == "resumed"
        second.looked_at()
        assert trigger.health().state == "streaming"


def test_a_missing_port_is_told() -> None:
    with Trigger(TriggerConfig("/dev/no-such-port"), HostClock(), on_press=lambda _press: None) as trigger:
        eventually(lambda: trigger.health().state == "lost")
        with pytest.raises(DeviceError, match="no-such-port"):
            trigger.wait_ready(0)


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def test_bad_settings_are_told_all_at_once() -> None:
    with pytest.raises(DeviceError, match=r"kind is 'ri'.*debounce_s is 2.*baud is -1"):
        TriggerConfig("x", kind="ri", debounce_s=2, baud=-1)  # type: ignore[arg-type]
