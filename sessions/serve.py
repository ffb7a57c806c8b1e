"""A session as a rig: its datagrams go out on UDP again, so that another program or computer sees what was seen.

The NatNet side answers with the recorded server's own name and model definitions and keeps that server's clock: it
runs on from the session's time, so that exposure times mean the same again. The RDT side starts each client's
sequence at 1, as a sensor does, and keeps the recorded gaps.
"""

import select
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np

from devices.clock import EchoSync
from devices.natnet import packets
from devices.natnet.messages import (
    Connect,
    Disconnect,
    EchoRequest,
    EchoResponse,
    KeepAlive,
    Message,
    Request,
    RequestModelDef,
    Response,
    ServerInfo,
)
from devices.natnet.reader import Malformed
from devices.natnet.types import NEWEST, OLDEST, Version
from devices.netft import Command, SensorCalibration, decode_request
from devices.netft import Malformed as MalformedRequest
from devices.netft.rdt import RECORD, RECORD_SIZE
from devices.sim.netft_server import CalibrationPage
from devices.sim.sockets import Address, bind_udp, receive_all, send
from sessions.datagrams import Datagram
from sessions.errors import SessionError
from sessions.reader import Session
from sessions.replay import Played, play

_LEAD_S = 1.0
"""Real seconds between the first client's greeting and the first datagram: time for names and clock."""
_FRAMES, _COMMANDS, _RDT = "natnet/data", "natnet/command", "netft/rdt"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a served session listens; port 0 takes a free one."""

    host: str = "127.0.0.1"
    natnet: int = 1510
    rdt: int = 49152
    http: int = 80


class SessionServer:
    """Serves one session. ``place`` afterwards holds the ports that were opened.

    ``speed`` is session seconds per real second; ``calibration`` is what the sensor's web page tells. Raises
    ``SessionError`` when the session has no raw datagrams, ``DeviceError`` when a port is taken.
    """

    def __init__(
        self, session: Session, place: Place, calibration: SensorCalibration | None = None, *, speed: float = 1.0
    ) -> None:
        self._session, self._speed = session, speed
        first = next(session.datagrams(), None)
        if first is None:
            raise SessionError(
                f"{session.path} holds no raw datagrams (an imported recording has none), so it cannot be served."
            )
        self._first_ns = first.t_ns
        self._greeting = _Greeting(session)
        self._natnet = bind_udp(place.host, place.natnet, "NatNet")
        self._rdt = bind_udp(place.host, place.rdt, "RDT")
        self._page = CalibrationPage(place.host, place.http, calibration) if calibration else None
        natnet_port, rdt_port = (int(s.getsockname()[1]) for s in (self._natnet, self._rdt))
        self.place = Place(place.host, natnet_port, rdt_port, self._page.port if self._page else 0)
        self._viewers: set[Address] = set()
        self._reader: _RdtClient | None = None
        self._changed = threading.Condition()
        self._start: float | None = None
        self._stop = threading.Event()
        self._answering = threading.Thread(target=self._answer, name="serve", daemon=True)
        self._answering.start()

    def run(self, *, wait_for_client: bool = True) -> Played:
        """Play the session once, from when the first client greets (or at once), and return at its end."""
        with self._changed:
            if not wait_for_client:
                self._begin()
            self._changed.wait_for(lambda: self._start is not None or self._stop.is_set())
        if self._stop.is_set():
            return Played(0, 0.0, 0.0)
        return play(self._session, self._send, speed=self._speed, stop=self._stop, start=self._start)

    def close(self) -> None:
        """Stop playing and answering, and free the ports. Idempotent."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        self._answering.join()
        self._natnet.close()
        self._rdt.close()
        if self._page:
            self._page.close()
            self._page = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Set the moment of the first datagram; the served clock runs from now on, towards it."""
        if self._start is None:
            self._start = time.monotonic() + _LEAD_S
            self._changed.notify_all()

    def _session_ns(self) -> int:
        """The session's time now."""
        start = self._start or time.monotonic()
        return self._first_ns + round((time.monotonic() - start) * self._speed * 1e9)

    # Sending, on the caller's thread.

    def _send(self, batch: Sequence[Datagram]) -> None:
        with self._changed:
            viewers, reader = tuple(self._viewers), self._reader
        for datagram in batch:
            if datagram.stream == _FRAMES:
                for address in viewers:
                    send(self._natnet, datagram.data, address)
            elif datagram.stream == _RDT and reader is not None:
                send(self._rdt, reader.renumbered(datagram.data), reader.address)
            elif datagram.stream == _COMMANDS:
                self._greeting.follow(datagram.data)

    # Answering, on a thread of its own.

    def _answer(self) -> None:
        while not self._stop.is_set():
            readable, _, _ = select.select([self._natnet, self._rdt], [], [], 0.05)
            if self._natnet in readable:
                for data, sender in receive_all(self._natnet):
                    self._answer_natnet(data, sender)
            if self._rdt in readable:
                for data, sender in receive_all(self._rdt):
                    self._answer_rdt(data, sender)

    def _answer_natnet(self, data: bytes, sender: Address) -> None:
        try:
            message = packets.decode(data, OLDEST)
        except Malformed:
            return
        with self._changed:
            if isinstance(message, Connect):
                self._viewers.add(sender)
                self._begin()
            elif isinstance(message, Disconnect):
                self._viewers.discard(sender)
            now_ns = self._session_ns()
        answer = self._greeting.answer(message, now_ns)
        if answer:
            send(self._natnet, answer, sender)

    def _answer_rdt(self, data: bytes, sender: Address) -> None:
        try:
            request = decode_request(data)
        except MalformedRequest:
            return
        with self._changed:
            if request.command is Command.STOP:
                self._reader = None
            elif request.command in (Command.REALTIME, Command.SINGLE_BLOCK, Command.BUFFERED, Command.MULTI_UNIT):
                self._reader = _RdtClient(sender)
                if _FRAMES not in self._session.streams:
                    self._begin()


class _RdtClient:
    """The reader of the force/torque stream, for which the sequence begins at 1."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._shift: int | None = None

    def renumbered(self, data: bytes) -> bytes:
        """The same records, counted from the first that this client got."""
        if not data or len(data) % RECORD_SIZE:
            return data
        records = np.frombuffer(data, RECORD).copy()
        if self._shift is None:
            self._shift = 1 - int(records["rdt_sequence"][0])
        records["rdt_sequence"] = (records["rdt_sequence"].astype(np.int64) + self._shift) & 0xFFFFFFFF
        return records.tobytes()


class _Greeting:
    """What the recorded server said about itself, its bodies and its clock."""

    def __init__(self, session: Session) -> None:
        self._info: ServerInfo | None = None
        self._version: Version = OLDEST
        self._models = b""
        self._sync: EchoSync | None = None
        for datagram in session.datagrams(streams=[_COMMANDS]):
            self._learn(datagram)
        if not self.known and _FRAMES in session.streams:
            raise SessionError(f"{session.path} lacks the server's own description, so it cannot be served.")

    @property
    def known(self) -> bool:
        """Whether the session holds the server's answer to a greeting."""
        return self._info is not None

    def answer(self, message: Message, session_ns: int) -> bytes:
        """The answer to a client, empty where none is due."""
        reply: Message | None = None
        match message:
            case Connect() if self._info is not None:
                reply = self._info
            case RequestModelDef():
                return self._models
            case EchoRequest(stamp):
                reply = EchoResponse(stamp, self._ticks(session_ns))
            case Request():
                reply = Response((1).to_bytes(4, "little"))
            case KeepAlive() | _:
                return b""
        return packets.encode(reply, self._version)

    def follow(self, data: bytes) -> None:
        """Go along with definitions that changed during the session."""
        if data[:2] == (5).to_bytes(2, "little"):
            self._models = data

    def _learn(self, datagram: Datagram) -> None:
        try:
            message = packets.decode(datagram.data, self._version)
        except Malformed:
            return
        match message:
            case ServerInfo() if self._info is None:
                self._version = message.version
                self._info = replace(message, multicast=False, group=(0, 0, 0, 0))
                self._sync = EchoSync(message.clock_hz) if message.clock_hz > 0 else None
            case EchoResponse(stamp, ticks) if self._sync is not None:
                self._sync.add(stamp, ticks, datagram.t_ns)
            case Response() if message.code == 0 and self._info is not None and self._info.version > NEWEST:
                sender = self._info.sender._replace(natnet_version=(*NEWEST, 0, 0))
                self._info, self._version = replace(self._info, sender=sender), NEWEST
            case _ if not self._models:
                self.follow(datagram.data)

    def _ticks(self, session_ns: int) -> int:
        """The recorded server's clock at a time of the session."""
        sync = self._sync
        if sync is None or not sync.ready:
            return 0
        zero_ns = sync.to_host(0)
        per_second_ns = sync.to_host(sync.clock_hz * 1000) - zero_ns
        return max(0, round((session_ns - zero_ns) * sync.clock_hz * 1000 / per_second_ns))
