"""The button on the gripper, a foot pedal or a key: one press starts, the next stops, a long one asks for a redo.

A driver only reports presses; what a press starts or stops is the workflow's business. Three sources:

- a switch between two pins of a serial port, read as the state of CTS or DSR;
- a microcontroller that sends one byte for each edge: bit 7 is 1 for pressed and 0 for released, bits 6 to 0 count
  the edges modulo 128, so that a lost byte is noticed;
- a key, which the user interface passes on to `KeyTrigger`: a driver never reads the terminal.
"""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Protocol

import serial

from devices.clock import HostClock
from devices.driver import State, ThreadedDriver
from devices.errors import DeviceError
from devices.samples import DeviceEvent, Press

_POLL_S = 0.005
"""Real time between looks at a line: a press is dated to within this."""
_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class TriggerConfig:
    """Which port the button is on, and what counts as a press."""

    port: str
    kind: Literal["cts", "dsr", "bytes"] = "bytes"
    """A modem line of the port, or a microcontroller's edge messages."""
    inverted: bool = False
    """The switch opens when pressed."""
    baud: int = 115200
    debounce_s: float = 0.03
    """Host time within which further edges are bouncing contacts."""
    long_s: float = 0.8
    """Host time from which a press is a long one."""
    name: str = "trigger"
    """Name of the device in the rig, for messages."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, all at once."""
        problems = []
        if self.kind not in ("cts", "dsr", "bytes"):
            problems.append(f'kind is {self.kind!r}, "cts", "dsr" or "bytes" expected')
        if not 0 <= self.debounce_s < self.long_s:
            problems.append(f"debounce_s is {self.debounce_s}, from 0 to below long_s ({self.long_s}) expected")
        if self.baud <= 0:
            problems.append(f"baud is {self.baud}, more than 0 expected")
        if problems:
            raise DeviceError(f"Trigger {self.name!r}: {'; '.join(problems)}.")


@dataclass(frozen=True, slots=True)
class TriggerHealth:
    """How the trigger is doing."""

    state: State
    presses: int
    missed: int
    """Edges that the microcontroller counted and that did not arrive."""
    repeated: int
    """Edges that arrived twice."""
    last_error: str


class PressDetector:
    """From levels to presses, debounced. Pure; host time in ns.

    A press is known when the button is let go, which tells short from long, and dated to when it began. A button that
    is down from the start is no press: nobody knows since when.
    """

    def __init__(self, debounce_s: float, long_s: float) -> None:
        self._debounce_ns = round(debounce_s * 1e9)
        self._long_ns = round(long_s * 1e9)
        self.forget(down=False)

    def forget(self, *, down: bool) -> None:
        """Begin anew, with the button up or down for an unknown time."""
        self._down = self._level = down
        self._began_ns: int | None = None
        self._edge_ns = self._level_ns = -(1 << 62)

    def feed(self, t_ns: int, pressed: bool, source: str) -> Press | None:
        """Take the level at a host time, changed or not; the press that it ends."""
        if pressed != self._level:
            self._level, self._level_ns = pressed, t_ns
        if pressed == self._down or t_ns - self._edge_ns < self._debounce_ns:
            return None
        self._edge_ns, self._down = self._level_ns, pressed
        if pressed:
            self._began_ns = self._level_ns
            return None
        began_ns, self._began_ns = self._began_ns, None
        if began_ns is None:
            return None
        return Press(began_ns, source, long=self._level_ns - began_ns >= self._long_ns)

    def tick(self, t_ns: int, source: str) -> Press | None:
        """Let time pass without news of the level, so that the last of bouncing edges counts."""
        return self.feed(t_ns, self._level, source)


class EdgeDecoder:
    """A microcontroller's bytes, one an edge; counts those lost and those that came twice. Pure."""

    def __init__(self) -> None:
        self.missed = self.repeated = 0
        self._counter: int | None = None

    def feed(self, byte: int) -> bool | None:
        """Whether the button is pressed after this edge; None if the edge is known already."""
        counter = byte & 0x7F
        step = 1 if self._counter is None else (counter - self._counter) % 128
        if step == 0:
            self.repeated += 1
            return None
        self.missed += step - 1
        self._counter = counter
        return bool(byte & 0x80)


def encode_edge(pressed: bool, counter: int) -> bytes:
    """The byte that a microcontroller sends for its edge number `counter`."""
    return bytes([pressed << 7 | counter % 128])


class KeyTrigger:
    """A key as a trigger. A terminal tells no release, so that a second key stands for the long press."""

    def __init__(
        self, clock: HostClock, on_press: Callable[[Press], None], key: str = "space", long_key: str = "r"
    ) -> None:
        self._clock = clock
        self._on_press = on_press
        self._keys = {key: False, long_key: True}

    def feed(self, key: str) -> bool:
        """Take a key from the user interface; whether it was the trigger's."""
        if key not in self._keys:
            return False
        self._on_press(Press(self._clock.now_ns(), f"key {key}", long=self._keys[key]))
        return True


class Port(Protocol):
    """What the driver needs of a serial port."""

    @property
    def cts(self) -> bool:
        """State of the line Clear To Send."""

    @property
    def dsr(self) -> bool:
        """State of the line Data Set Ready."""

    def read(self, size: int = 1, /) -> bytes:
        """Wait for bytes for a short while."""

    def close(self) -> None:
        """Give the port back."""


def _open(config: TriggerConfig) -> Port:
    port: Port = serial.Serial(config.port, config.baud, timeout=0.01)
    return port


class Trigger(ThreadedDriver):
    """A button or pedal on a serial port. `on_press` and `on_event` are called on the driver's thread."""

    def __init__(
        self,
        config: TriggerConfig,
        clock: HostClock,
        *,
        on_press: Callable[[Press], None],
        on_event: Callable[[DeviceEvent], None] | None = None,
        open_port: Callable[[TriggerConfig], Port] = _open,
    ) -> None:
        super().__init__(f"trigger {config.port}", "trigger")
        self.config = config
        self._clock = clock
        self._on_press = on_press
        self._on_event = on_event
        self._open_port = open_port
        self._detector = PressDetector(config.debounce_s, config.long_s)
        self._edges = EdgeDecoder()
        self._presses = self._missed = self._repeated = 0

    def health(self) -> TriggerHealth:
        """How the trigger is doing."""
        return TriggerHealth(
            state=self._state,
            presses=self._presses,
            missed=self._missed + self._edges.missed,
            repeated=self._repeated + self._edges.repeated,
            last_error=self._last_error,
        )

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    with closing(self._open_port(self.config)) as port:
                        self._greet()
                        self._listen(port)
                except (serial.SerialException, OSError) as error:
                    self._lose(f"The trigger's port {self.config.port} fails: {error}. Check its cable and name.")
                    self._stopping.wait(_RETRY_S)
        finally:
            if not self._stopping.is_set():
                self._state = "failed"
                self._last_error = "The trigger's driver ended by an error of its own. Use the key, or start it again."
                self._tell("lost", self._last_error)

    def _listen(self, port: Port) -> None:
        # What happened while the port was closed is unknown.
        self._detector.forget(down=self.config.kind != "bytes" and self._level(port))
        self._missed, self._repeated = self._missed + self._edges.missed, self._repeated + self._edges.repeated
        self._edges = EdgeDecoder()
        source = f"{self.config.name} {self.config.kind}"
        while not self._stopping.is_set():
            if self.config.kind == "bytes":
                self._take_bytes(port.read(1), source)
            else:
                self._emit(self._detector.feed(self._clock.now_ns(), self._level(port), source))
                time.sleep(_POLL_S)

    def _level(self, port: Port) -> bool:
        return (port.cts if self.config.kind == "cts" else port.dsr) != self.config.inverted

    def _take_bytes(self, data: bytes, source: str) -> None:
        now_ns = self._clock.now_ns()
        for byte in data:
            missed = self._edges.missed
            pressed = self._edges.feed(byte)
            if self._edges.missed > missed:
                # Which edges belong together is no longer known: better no press than one that nobody made.
                self._detector.forget(down=False)
                self._tell(
                    "warning",
                    f"{self._edges.missed - missed} edges of the trigger were lost on {self.config.port}: "
                    "a press may have gone unnoticed. Look at the screen before you go on.",
                )
            if pressed is not None:
                self._emit(self._detector.feed(now_ns, pressed != self.config.inverted, source))
        self._emit(self._detector.tick(now_ns, source))

    def _emit(self, press: Press | None) -> None:
        if press is not None:
            self._presses += 1
            self._on_press(press)

    def _greet(self) -> None:
        if self._state == "lost":
            self._tell("resumed", f"The trigger on {self.config.port} is back.")
        self._state = "streaming"
        self._last_error = ""
        self._ready.set()

    def _lose(self, problem: str) -> None:
        if problem != self._last_error and not self._stopping.is_set():
            self._tell("lost", problem)
        self._state = "lost"
        self._last_error = problem

    def _tell(self, kind: str, message: str) -> None:
        if self._on_event is not None:
            self._on_event(DeviceEvent(self._clock.now_ns(), self.config.name, kind, message))
