"""The driver of a force/torque sensor on a serial line."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import serial

from devices.ati_serial.protocol import BinaryDecoder, Decoder, Reading, TextDecoder
from devices.buffer import WrenchBuffer
from devices.clock import HostClock, SequenceClock
from devices.driver import State, ThreadedDriver
from devices.errors import DeviceError
from devices.netft.api import SensorCalibration
from devices.netft.intake import Columns, Tap
from devices.samples import DeviceEvent

STREAM = "ati/serial"
"""Name under which raw bytes go to the tap."""
Format = Literal["ctl-ascii", "ctl-binary", "axia"]

_LOST_S = 0.6
"""Real seconds without a reading after which the stream counts as lost."""
_RETRY_S = 1.0
_LARGEST_GAP = 10_000
"""A longer jump of the counter is no loss but a restart or a damaged digit."""
_SETTLE_S = 0.2
"""Real seconds that a command may take to be answered."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    setup: tuple[bytes, ...]
    stream: bytes
    bias: bytes
    decoder: Callable[[], Decoder]


_STOP = b"\r"
_DIALECTS: dict[Format, _Dialect] = {
    "ctl-ascii": _Dialect((b"CD A\r", b"CD R\r"), b"QS\r", b"SB\r", lambda: TextDecoder(axia=False)),
    "ctl-binary": _Dialect((b"CD B\r", b"CD R\r"), b"QS\r", b"SB\r", BinaryDecoder),
    # A line end of two characters would end the stream with its second.
    "axia": _Dialect((), b"c <#cdfxyztxyz\r", b"bias on\r", lambda: TextDecoder(axia=True)),
}


@dataclass(frozen=True, slots=True)
class AtiSerialConfig:
    """Which port, what is on it, and how its counts become newtons; serial sensors cannot be asked for that."""

    port: str
    calibration: SensorCalibration
    """Counts per unit from the calibration sheet or the controller's display."""
    format: Format = "ctl-ascii"
    baud: int = 115200
    """What the controller is set to (``CB``); 115200 carries a few hundred readings a second."""
    averaging: int = 1
    """Readings that a CTL controller averages (``SA``): 1, 2, 4 … 128."""
    name: str = "force"
    """Name of the device in the rig, for messages."""
    latency_s: float = 0.0
    """How much later an event shows in these samples than in the other devices': their times are set back by it."""
    capacity: int = 1 << 17

    def __post_init__(self) -> None:
        """Refuse what cannot work, all at once."""
        problems = []
        if self.format not in _DIALECTS:
            problems.append(f"format is {self.format!r}, one of {', '.join(_DIALECTS)} expected")
        if self.averaging not in (1, 2, 4, 8, 16, 32, 64, 128):
            problems.append(f"averaging is {self.averaging}, a power of two up to 128 expected")
        if self.baud <= 0:
            problems.append(f"baud is {self.baud}, more than 0 expected")
        if problems:
            raise DeviceError(f"Force/torque sensor {self.name!r}: {'; '.join(problems)}.")


@dataclass(frozen=True, slots=True)
class AtiSerialHealth:
    """How the sensor and its stream are doing, since the driver was made."""

    state: State
    rate_hz: float
    received: int
    lost: int
    """Readings missing by the device's own counter; only the Axia sends one."""
    malformed: int
    """Lines that are no readings, or times that binary records had to be found again."""
    invalid: int
    """Readings with an error code."""
    reconnects: int
    status: int
    """The latest error code."""
    last_error: str


class AtiSerial(ThreadedDriver):
    """A CTL controller or a Serial Axia, streaming into `buffer` in newtons and newton metres, sensor frame.

    Callbacks run on the receive thread. `tap` gets the bytes as they come in.
    """

    def __init__(
        self,
        config: AtiSerialConfig,
        clock: HostClock,
        *,
        tap: Tap | None = None,
        on_event: Callable[[DeviceEvent], None] | None = None,
        on_wrenches: Columns | None = None,
    ) -> None:
        super().__init__(f"ati {config.port}", "force/torque samples")
        self.config = config
        self.calibration = config.calibration
        self.buffer = WrenchBuffer(config.capacity)
        self._clock = clock
        self._tap = tap
        self._on_event = on_event
        self._on_wrenches = on_wrenches
        self._dialect = _DIALECTS[config.format]
        self._decoder = self._dialect.decoder()
        self._times = SequenceClock(speed=clock.speed)
        self._bias_wanted = threading.Event()
        self._received = self._lost = self._invalid = self._reconnects = self._malformed = 0
        self._status = 0
        self._counter: int | None = None
        self._newest_ns = 0

    # For the caller's thread.

    def bias(self) -> None:
        """Ask the sensor to take the present load as zero; the stream pauses for it."""
        if self._state != "streaming":
            raise DeviceError(
                f"The sensor on {self.config.port} is not streaming, so that its bias cannot be set. "
                "Run `ident check`, then try again."
            )
        self._bias_wanted.set()

    def health(self) -> AtiSerialHealth:
        """How the sensor and its stream are doing."""
        return AtiSerialHealth(
            state=self._state,
            rate_hz=self.buffer.rate(self._clock.now_ns()),
            received=self._received,
            lost=self._lost,
            malformed=self._malformed + self._decoder.malformed,
            invalid=self._invalid,
            reconnects=self._reconnects,
            status=self._status,
            last_error=self._last_error,
        )

    # On the receive thread.

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    with serial.Serial(self.config.port, self.config.baud, timeout=0.05, write_timeout=1.0) as port:
                        self._receive(port)
                except (serial.SerialException, OSError) as error:
                    self._lose(f"The port {self.config.port} fails: {error}. Check the cable and the port's name.")
                    self._stopping.wait(_RETRY_S)
        finally:
            if not self._stopping.is_set():
                # An error of ours or of a callback: nobody must go on believing in the last sample.
                self._state = "failed"
                self._last_error = "The force/torque driver ended by an error of its own. Start it again."
                self._ready.set()
                self._tell("lost", self._last_error)

    def _receive(self, port: serial.Serial) -> None:
        """Ask for the stream and take readings until they stop coming."""
        self._command(port, _STOP)
        for command in self._dialect.setup:
            self._command(port, command)
        if self.config.format != "axia":
            self._command(port, b"SA %d\r" % self.config.averaging)
        self._begin(port)
        alive_at = time.monotonic()
        while not self._stopping.is_set():
            chunk = port.read(max(1, port.in_waiting))
            if self._take(chunk):
                alive_at = time.monotonic()
                self._greet()
            elif time.monotonic() - alive_at > _LOST_S:
                self._lose(
                    f"No readings from the force/torque sensor on {self.config.port} for {_LOST_S:g} s. Check its "
                    f"power and cable, that it is set to {self.config.baud} baud, and that it is a "
                    f"{self.config.format} device."
                )
                return
            if self._bias_wanted.is_set():
                self._bias_wanted.clear()
                self._command(port, _STOP)
                self._command(port, self._dialect.bias)
                self._begin(port)
                self._tell("changed", "The force/torque sensor was biased: the present load reads zero from now on.")
        port.write(_STOP)

    def _command(self, port: serial.Serial, command: bytes) -> None:
        """Send a command and throw its answer away, which ends with a prompt."""
        port.reset_input_buffer()
        port.write(command)
        deadline = time.monotonic() + _SETTLE_S
        while time.monotonic() < deadline and not port.read(max(1, port.in_waiting)).rstrip().endswith(b">"):
            pass

    def _begin(self, port: serial.Serial) -> None:
        self._malformed += self._decoder.malformed
        self._decoder = self._dialect.decoder()
        self._counter = None
        port.write(self._dialect.stream)

    def _take(self, chunk: bytes) -> int:
        """Decode bytes and store the readings; how many there were."""
        now_ns = self._clock.now_ns()
        if chunk and self._tap is not None:
            self._tap(STREAM, now_ns, chunk)
        readings = self._decoder.feed(chunk) if chunk else []
        if readings:
            self._deliver(readings, now_ns)
        return len(readings)

    def _deliver(self, readings: list[Reading], now_ns: int) -> None:
        # Ten bits a byte: what came after a reading in the same chunk took that long on the line.
        byte_ns = 10e9 / self.config.baud * self._clock.speed
        ages_ns = np.array([reading.trailing * byte_ns for reading in readings])
        # Adapters deliver in bursts: never before the reading that came earlier.
        places = np.arange(len(readings))
        received_ns = np.maximum(now_ns - ages_ns.astype(np.int64) - places, self._newest_ns + 1)
        received_ns = np.maximum.accumulate(received_ns) + places
        self._newest_ns = int(received_ns[-1])
        sequence = np.array([self._number(reading, i) for i, reading in enumerate(readings)], dtype=np.int64)
        # Without a counter of the device lost bytes would shift a line through our own: receipt must do.
        t_ns = self._times.stamp(sequence, received_ns) if self.config.format == "axia" else received_ns
        t_ns = t_ns - round(self.config.latency_s * 1e9)
        wrench = np.array([reading.counts for reading in readings]) * self.calibration.scale
        status = np.array([reading.status for reading in readings], dtype=np.int64)
        valid = status == 0
        self.buffer.extend(t_ns, sequence, wrench, status, valid, received_ns)
        self._received += len(readings)
        if not valid.all():
            self._invalid += int((~valid).sum())
            if self._status == 0:
                self._tell(
                    "warning",
                    f"The force/torque controller says error {status[~valid][0]}: the load is outside the "
                    "sensor's range, or its cable is loose. Grip more gently.",
                )
        self._status = int(status[-1])
        if self._on_wrenches is not None:
            self._on_wrenches(t_ns, sequence, wrench, status, valid, received_ns)

    def _number(self, reading: Reading, place: int) -> int:
        """The device's counter where it sends one, else our own; counts what is missing between."""
        if reading.counter is None:
            return self._received + place
        if self._counter is not None and 0 < reading.counter - self._counter < _LARGEST_GAP:
            self._lost += reading.counter - self._counter - 1
        self._counter = reading.counter
        return reading.counter

    def _greet(self) -> None:
        if self._state == "streaming":
            return
        first = not self._ready.is_set()
        self._reconnects += not first
        self._state = "streaming"
        self._last_error = ""
        self._ready.set()
        if first:
            self._tell("connected", f"Force/torque samples come from {self.config.port} ({self.config.format}).")
        else:
            self._tell("resumed", f"Force/torque samples come again from {self.config.port}.")

    def _lose(self, problem: str) -> None:
        """Keep the reason why there are no samples; tell it unless it was told last."""
        was_streaming = self._state == "streaming"
        if was_streaming:
            self._state = "lost"
        if problem != self._last_error and not self._stopping.is_set():
            self._last_error = problem
            self._tell("lost" if was_streaming else "warning", problem)

    def _tell(self, kind: str, message: str) -> None:
        if self._on_event is not None:
            self._on_event(DeviceEvent(self._clock.now_ns(), self.config.name, kind, message))
