"""An ATI Net F/T box for the simulated world: RDT over UDP and ``netftapi2.xml`` over HTTP."""

import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from devices.errors import DeviceError
from devices.netft.api import SensorCalibration, render_api
from devices.netft.rdt import RECORD_SIZE, Command, Malformed, decode_request, encode_records
from devices.sim.frames import Array
from devices.sim.sockets import Address, receive_all, send
from devices.sim.world import World

_INTERNAL_HZ = 7000
"""The box counts its own samples at this rate, whatever rate it sends."""
_RANGE = np.array([130.0, 130.0, 400.0, 10.0, 10.0, 10.0])
"""N and Nm, an ATI Gamma SI-130-10."""
_SATURATED = 1 << 31 | 1 << 17
_BUFFERED_RECORDS = 40
"""Records per datagram in buffered mode."""


@dataclass
class _Client:
    address: Address
    per_datagram: int
    left: int | None
    """Records still to send; None is endless."""
    sent: int = 0


class NetFTServer:
    """Streams to the client that asked last; a new one takes the stream over."""

    def __init__(self, world: World, rdt: socket.socket, *, torque_unit: str = "Nm") -> None:
        self.socket = rdt
        self.muted = False
        self.calibration = SensorCalibration(
            counts_per_force=1e6,
            counts_per_torque=1e6 if torque_unit == "Nm" else 1e3,
            force_unit="N",
            torque_unit=torque_unit,
            product_name="ident simulated Net F/T",
            serial="SIM-0001",
            rdt_rate_hz=float(world.rates.ft_hz),
            user_filter="0",
            bias_counts=(0.0,) * 6,
        )
        self._world = world
        self._bias = world.gripper.bias.copy()
        self._client: _Client | None = None
        self._next = world.rates.first_record(0)
        self._load = np.zeros(6)
        step = _INTERNAL_HZ / world.rates.ft_hz
        self._sequence_step = int(step) if step.is_integer() else 1

    @property
    def next_record(self) -> int:
        """Records before this one were sent."""
        return self._next

    def answer(self) -> None:
        """Handle every request that has arrived."""
        for datagram, sender in receive_all(self.socket):
            try:
                request = decode_request(datagram)
            except Malformed:
                continue
            match request.command:
                case Command.STOP:
                    if self._client is not None and self._client.address == sender:
                        self._client = None
                case Command.REALTIME | Command.SINGLE_BLOCK:
                    self._client = _Client(sender, 1, request.sample_count or None)
                case Command.BUFFERED | Command.MULTI_UNIT:
                    self._client = _Client(sender, _BUFFERED_RECORDS, request.sample_count or None)
                case Command.BIAS:
                    # The load without its noise, so that a bias at whatever moment gives the same values.
                    self._bias = -self._load
                case Command.RESET_LATCH:
                    pass

    def emit(self, now: float) -> None:
        """Send every record whose time has come by a world time."""
        end = int(np.floor(now * self._world.rates.ft_hz)) + 1
        while self._next < end:
            segment = next((s for s in self._world.segments if s.record <= self._next < s.end_record), None)
            if segment is None:
                return
            first, stop = self._next - segment.record, min(end, segment.end_record) - segment.record
            client = self._client
            if client is not None and client.per_datagram > 1 and stop < len(segment.measured.wrench):
                stop -= (stop - first) % client.per_datagram
                if stop <= first:
                    return
            self._load = segment.measured.load[stop - 1]
            if client is not None:
                self._send(client, segment.measured.wrench[first:stop])
            self._next += stop - first

    def _send(self, client: _Client, wrench: Array) -> None:
        n = len(wrench) if client.left is None else min(len(wrench), client.left)
        biased = wrench[:n] + self._bias
        status = np.where(np.any(np.abs(biased) > _RANGE, axis=-1), _SATURATED, 0)
        per_newton, per_newton_metre = self.calibration.counts_per_newton, self.calibration.counts_per_newton_metre
        counts = np.rint(np.clip(biased, -_RANGE, _RANGE) * np.repeat([per_newton, per_newton_metre], 3))
        data = encode_records(
            client.sent + 1 + np.arange(n), (self._next + np.arange(n)) * self._sequence_step, status, counts
        )
        client.sent += n
        if client.left is not None:
            client.left -= n
            if client.left <= 0:
                self._client = None
        if self.muted:
            return
        size = RECORD_SIZE * client.per_datagram
        for i in range(0, len(data), size):
            send(self.socket, data[i : i + size], client.address)


class CalibrationPage:
    """The box's HTTP server, in its own thread."""

    def __init__(self, host: str, port: int, calibration: SensorCalibration) -> None:
        page = render_api(calibration)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Answer with the calibration, or 404."""
                found = self.path.split("?")[0] == "/netftapi2.xml"
                body = page if found else b"not found\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/xml" if found else "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Stay silent: stderr is for problems."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise DeviceError(
                f"TCP port {port} for HTTP cannot be opened on {host}: {error.strerror}. Choose another port."
            ) from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="sim-http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
