"""The driver of a network force/torque sensor: keeps it streaming, and says when it does not."""

import time
from collections.abc import Callable

from devices.buffer import WrenchBuffer
from devices.clock import HostClock
from devices.driver import ThreadedDriver
from devices.errors import DeviceError
from devices.netft.api import SensorCalibration
from devices.netft.config import NetFTConfig, NetFTHealth
from devices.netft.http import fetch_calibration
from devices.netft.intake import Columns, Intake, Tap
from devices.netft.rdt import Command, Request
from devices.netft.receiver import RdtSocket
from devices.netft.status import TABLES
from devices.samples import DeviceEvent

_BATCH_S = 0.008
"""Real seconds to let datagrams gather: kernel stamps do not suffer, and the overhead is shared."""
_POLL_S = 0.05
_LOST_HOST_S = 0.6
_LOST_REAL_S = 0.5
"""A stream is lost after 0.6 s of host time, but never under 0.5 s of real time: the machine may be busy."""
_RETRY_S = (0.1, 2.0)
"""Shortest and longest real time between attempts to get the stream back."""
_REPEAT_NS = 5_000_000_000
"""Host time that passes before the same warning about the status is given again."""


class NetFT(ThreadedDriver):
    """A Net F/T box or Ethernet Axia, streaming into `buffer` in newtons and newton metres, sensor frame.

    Callbacks run on the receive thread. `tap` gets every datagram of the sensor before it is decoded,
    `on_wrenches` every decoded batch, `on_event` what the operator should know.
    """

    def __init__(
        self,
        config: NetFTConfig,
        clock: HostClock,
        *,
        tap: Tap | None = None,
        on_event: Callable[[DeviceEvent], None] | None = None,
        on_wrenches: Columns | None = None,
    ) -> None:
        super().__init__(f"netft {config.host}", "force/torque samples")
        self.config = config
        self.buffer = WrenchBuffer(config.capacity)
        self._clock = clock
        self._on_event = on_event
        self._intake = Intake(
            self.buffer,
            clock,
            round(config.reorder_s * 1e9),
            late_ns=round(config.latency_s * 1e9),
            tap=tap,
            on_wrenches=on_wrenches,
            on_trouble=self._warn_about_status,
        )
        self._calibration = config.calibration
        if config.calibration is not None:
            self._intake.use(config.calibration, TABLES[config.product or config.calibration.product])
        self._lost_after_s = self._patience_s()
        self._socket: RdtSocket | None = None
        self._foreign = self._kernel_drops = self._reconnects = self._takeovers = 0
        self._unreachable = False  # whether since the loss something says that the sensor could not be reached
        self._lost_ns = 0
        self._lost_sequence = 0
        self._warned_ns: dict[bool, int] = {}

    # For the caller's thread.

    @property
    def calibration(self) -> SensorCalibration:
        """Counts, units and settings that the sensor told; `DeviceError` before it did."""
        if self._calibration is None:
            raise DeviceError(
                f"The sensor at {self.config.host} has not told its calibration. {self._last_error}".rstrip()
            )
        return self._calibration

    def bias(self) -> None:
        """Ask the sensor to take the present load as zero."""
        connection = self._socket
        if connection is None or self._state != "streaming":
            raise DeviceError(
                f"The sensor at {self.config.host} is not streaming, so that its bias cannot be set. "
                "Run `ident check`, then try again."
            )
        connection.request(Request(Command.BIAS))
        self._tell("changed", "The force/torque sensor was biased: the present load reads zero from now on.")

    def health(self) -> NetFTHealth:
        """How the sensor and its stream are doing."""
        connection = self._socket
        intake = self._intake
        return NetFTHealth(
            state=self._state,
            rate_hz=self.buffer.rate(self._clock.now_ns()),
            account=intake.sequencer.account,
            malformed=intake.malformed,
            foreign=self._foreign + (connection.foreign if connection else 0),
            kernel_drops=self._kernel_drops + (connection.kernel_drops if connection else 0),
            invalid=intake.invalid,
            saturated=intake.saturated,
            reconnects=self._reconnects,
            takeovers=self._takeovers,
            status=intake.status,
            status_text=intake.table.describe(intake.status),
            last_error=self._last_error,
        )

    # On the receive thread.

    def _run(self) -> None:
        retry_s = _RETRY_S[0]
        try:
            while not self._stopping.is_set():
                try:
                    self._calibrate()
                    if self._receive(self._connect()):
                        retry_s = _RETRY_S[0]
                except DeviceError as error:
                    self._unreachable = True
                    self._complain(str(error))
                except OSError as error:
                    self._unreachable = True
                    self._complain(
                        f"The force/torque sensor {self.config.host} cannot be reached: {error.strerror or error}. "
                        "Check its address and this computer's network."
                    )
                self._stopping.wait(retry_s)
                retry_s = min(2 * retry_s, _RETRY_S[1])
        finally:
            self._hang_up()
            if not self._stopping.is_set():
                # An error of ours or of a callback: nobody must go on believing in the last sample.
                self._state = "failed"
                self._last_error = "The force/torque driver ended by an error of its own. Start it again."
                self._ready.set()
                self._tell("lost", self._last_error)

    def _calibrate(self) -> None:
        if self.config.calibration is not None:
            return
        found = fetch_calibration(
            self.config.host, self.config.http_port, self.config.http_timeout_s, self._stopping.is_set
        )
        if self._calibration is not None and found.scale.tolist() != self._calibration.scale.tolist():
            self._tell(
                "changed",
                f"The force/torque sensor came back with another calibration: {found.counts_per_newton:g} "
                f"counts/N and {found.counts_per_newton_metre:g} counts/Nm. Check its configuration.",
            )
        self._calibration = found
        self._lost_after_s = self._patience_s()
        self._intake.use(found, TABLES[self.config.product or found.product])

    def _patience_s(self) -> float:
        """Real seconds of silence after which the stream is lost: three datagrams at least, at any rate."""
        rate_hz = self._calibration.rdt_rate_hz if self._calibration else None
        interval_s = (40.0 if self.config.mode == "buffered" else 1.0) / (rate_hz or 1000.0)
        return max(_LOST_REAL_S, self._clock.real_s(max(_LOST_HOST_S, min(3.0 * interval_s, 10.0))))

    def _connect(self) -> RdtSocket:
        """Ask for the stream on a new socket, unless the old stream turns out to live again."""
        if self._socket is not None:
            if self._socket.wait(self._lost_after_s / 2):
                self._unreachable = True
                return self._socket
            self._hang_up()
        self._intake.restart()
        self._socket = RdtSocket(self.config.host, self.config.rdt_port)
        self._socket.request(Request(Command[self.config.mode.upper()]))
        return self._socket

    def _hang_up(self) -> None:
        connection, self._socket = self._socket, None
        if connection is None:
            return
        self._foreign += connection.foreign
        self._kernel_drops += connection.kernel_drops
        try:
            if self._stopping.is_set():
                connection.request(Request(Command.STOP))
        except OSError as error:
            self._last_error = f"The stream of {self.config.host} could not be stopped: {error}."
        finally:
            connection.close()

    def _receive(self, connection: RdtSocket) -> bool:
        """Take records until they stop coming or we are stopped; whether any came."""
        alive = False
        alive_at = time.monotonic()
        while not self._stopping.is_set():
            if connection.wait(_POLL_S):
                self._stopping.wait(_BATCH_S)
                if self._intake.take(connection.drain()):
                    alive_at = time.monotonic()
                    if not alive:
                        alive = True
                        self._greet()
                    continue
            self._intake.flush(self._clock.now_ns())
            silent_s = time.monotonic() - alive_at
            if silent_s > self._lost_after_s:
                if alive:
                    self._lose(silent_s)
                else:
                    self._complain(
                        f"No records from {self.config.host}:{self.config.rdt_port} (UDP) {silent_s:.1f} s "
                        "after asking for them. Check that RDT is enabled on the sensor's web page and that "
                        "no firewall blocks UDP, then run `ident check`."
                    )
                break
        return alive

    def _greet(self) -> None:
        """Records come, for the first time or again."""
        first = not self._ready.is_set()
        self._state = "streaming"
        self._last_error = ""
        self._ready.set()
        calibration = self.calibration
        if first:
            name = " ".join(filter(None, [calibration.product_name or "sensor", calibration.serial]))
            self._tell("connected", f"Force/torque samples come from {self.config.host} ({name}).")
        else:
            self._reconnects += 1
            silent_s = (self._clock.now_ns() - self._lost_ns) / 1e9
            self._tell("resumed", f"Force/torque samples come again after {silent_s:.1f} s.{self._suspicion()}")

    def _suspicion(self) -> str:
        """A sentence about another client, if the sensor could be reached all the time and measured on."""
        advance = (self._intake.sequence - self._lost_sequence) % (1 << 32)
        if self._unreachable or not 0 < advance < 1 << 31:
            return ""
        self._takeovers += 1
        return (
            f" The sensor had measured on meanwhile ({advance} samples): another program has probably taken "
            f"its stream over ({self._takeovers} times so far). Close other clients of {self.config.host}."
        )

    def _lose(self, silent_s: float) -> None:
        self._state = "lost"
        self._unreachable = self.config.calibration is not None  # then no web server tells
        self._lost_ns = self._clock.now_ns() - round(silent_s * self._clock.speed * 1e9)
        self._lost_sequence = self._intake.sequence
        self._last_error = (
            f"No force/torque samples from {self.config.host} for {silent_s * self._clock.speed:.1f} s. "
            "Check the sensor's power and cable and that no other program reads it; trying to get it back."
        )
        self._tell("lost", self._last_error)

    def _complain(self, problem: str) -> None:
        """Keep the reason why there are no samples; tell it unless it was told last."""
        if problem != self._last_error and not self._stopping.is_set():
            self._last_error = problem
            self._tell("warning", problem)

    def _warn_about_status(self, status: int) -> None:
        saturated = bool(status & self._intake.table.saturation)
        now_ns = self._clock.now_ns()
        if now_ns - self._warned_ns.get(saturated, now_ns - _REPEAT_NS) < _REPEAT_NS:
            return
        self._warned_ns[saturated] = now_ns
        text = self._intake.table.describe(status)
        advice = "Grip more gently." if saturated else "Look at the sensor's web page."
        self._tell("warning", f"The force/torque sensor says: {text} (status 0x{status:08X}). {advice}")

    def _tell(self, kind: str, message: str) -> None:
        if self._on_event is not None:
            self._on_event(DeviceEvent(self._clock.now_ns(), self.config.name, kind, message))
