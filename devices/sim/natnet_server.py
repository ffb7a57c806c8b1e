"""A NatNet server for the simulated world: commands, clock, model definitions and frames over real sockets."""

import math
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.natnet.descriptions import MarkerPlace, ModelDef, RigidBodyDescription
from devices.natnet.messages import (
    Connect,
    Disconnect,
    DisconnectByTimeout,
    Discovery,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    Message,
    Request,
    RequestFrame,
    RequestModelDef,
    Response,
    RigidBody,
    Sender,
    ServerInfo,
    Unrecognized,
)
from devices.natnet.packets import Malformed, decode, encode
from devices.natnet.types import Version
from devices.sim.frames import frames
from devices.sim.randomness import GRIPPER, generator
from devices.sim.sockets import Address, receive_all, send
from devices.sim.timing import TICKS_HZ, WorldClock
from devices.sim.world import Segment, World

VERSIONS: tuple[Version, ...] = ((2, 7), (2, 9), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2))
GROUP = "239.255.42.99"
_CLIENT_TIMEOUT_S = 5.0
"""Real seconds without a word from a unicast client until it is dropped."""
_CAMERA_SHARE = 0.4
"""Share of the exposure-to-transmit delay that passes before the cameras' data are in."""
_COMMANDS: dict[str, float] = {"UnitsToMillimeters": 1000.0}


@dataclass
class _Client:
    version: Version
    heard: float
    """Real time of the last message, monotonic seconds."""


@dataclass
class _Body:
    """A body that stands still: name, id, and a stretch of measurements to repeat."""

    name: str
    id: int
    poses: list[tuple[tuple[float, float, float], tuple[float, float, float, float]]] = field(default_factory=list)


class NatNetServer:
    """Answers on one command socket; sends frames to each unicast client, or to a multicast group."""

    def __init__(
        self,
        world: World,
        clock: WorldClock,
        command: socket.socket,
        *,
        seed: int,
        version: Version = (4, 1),
        multicast: str | None = None,
        data_port: int = 1511,
        reference: bool = False,
        extra_bodies: int = 0,
    ) -> None:
        self.socket = command
        self.muted = False
        self._world, self._clock = world, clock
        self._version, self._multicast, self._data_port = version, multicast, data_port
        self._clients: dict[Address, _Client] = {}
        self._bodies = self._fixed_bodies(reference, extra_bodies)
        self._markers = generator(seed, GRIPPER, 1).uniform(-0.06, 0.06, (5, 3)).round(4)
        self._changed = False
        self._next = 0
        """Number of the next frame to send."""
        self._last = b""

    @property
    def next_frame(self) -> int:
        """Frames before this one were sent."""
        return self._next

    def due(self) -> float:
        """World time at which the next frame is to be sent."""
        segment = self._segment()
        if segment is None:
            return self._next / self._world.rates.mocap_hz
        return self._next / self._world.rates.mocap_hz + float(segment.measured.delay[self._next - segment.frame])

    def answer(self) -> None:
        """Handle every message that has arrived."""
        for datagram, sender in receive_all(self.socket):
            client = self._clients.get(sender)
            try:
                message = decode(datagram, client.version if client else self._version)
            except Malformed:
                continue
            if client is not None:
                client.heard = time.monotonic()
            self._handle(message, sender)

    def emit(self, now: float) -> None:
        """Send every frame that is due by a world time."""
        self._drop_silent_clients()
        while (segment := self._segment()) is not None and self.due() <= now:
            self._send_frame(segment, self._next - segment.frame)
            self._next += 1

    def redefine(self) -> None:
        """Move a marker, as someone who creates the body anew would; the next frame says that models changed."""
        self._markers[0] += 0.01
        self._changed = True

    def _handle(self, message: Message, sender: Address) -> None:
        reply: Message | None = None
        match message:
            case Connect(bitstream=wish):
                reply = self._connect(sender, wish)
            case Discovery():
                reply = self._server_info(self._version)
            case RequestModelDef():
                reply = self._models()
            case EchoRequest(stamp):
                reply = EchoResponse(stamp, self._clock.ticks(self._clock.now()))
            case RequestFrame():
                if self._last:
                    send(self.socket, self._last, sender)
            case Request(command):
                reply = self._command(command, sender)
            case Disconnect():
                self._clients.pop(sender, None)
            case KeepAlive():
                pass
            case _:
                reply = Unrecognized()
        if reply is not None:
            client = self._clients.get(sender)
            send(self.socket, encode(reply, client.version if client else self._version), sender)

    def _connect(self, sender: Address, wish: tuple[int, int, int, int] | None) -> ServerInfo:
        version = self._version
        if wish is not None and version >= (4, 0) and wish[:2] in VERSIONS:
            version = wish[:2]
        if self._multicast is None:
            self._clients[sender] = _Client(version, time.monotonic())
        return self._server_info(version)

    def _server_info(self, version: Version) -> ServerInfo:
        group = socket.inet_aton(self._multicast or GROUP)
        sender = Sender("ident simulated Motive", (3, 1, 0, 0), (*version, 0, 0))
        return ServerInfo(
            sender,
            clock_hz=TICKS_HZ,
            data_port=self._data_port,
            multicast=self._multicast is not None,
            group=(group[0], group[1], group[2], group[3]),
        )

    def _command(self, text: str, sender: Address) -> Message:
        name, _, argument = text.partition(",")
        client = self._clients.get(sender)
        if name == "Bitstream" and client is not None and self._version >= (4, 0):
            major, _, minor = argument.partition(".")
            wanted = (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
            if wanted in VERSIONS:
                client.version = wanted
                return Response(struct.pack("<i", 0))
            return Response(struct.pack("<i", 1))
        values = {**_COMMANDS, "FrameRate": float(self._world.rates.mocap_hz)}
        return Response(struct.pack("<f", values[name])) if name in values else Unrecognized()

    def _models(self) -> ModelDef:
        places = tuple(
            MarkerPlace((float(x), float(y), float(z)), i + 1, f"Marker {i + 1}")
            for i, (x, y, z) in enumerate(self._markers)
        )
        gripper = RigidBodyDescription("gripper", 1, markers=places)
        return ModelDef((gripper, *(RigidBodyDescription(b.name, b.id, markers=places) for b in self._bodies)))

    def _fixed_bodies(self, reference: bool, extra: int) -> list[_Body]:
        names = (["object"] if reference else []) + [f"body{i + 1}" for i in range(extra)]
        bodies = []
        for i, name in enumerate(names):
            place = np.add(self._world.scene.rest, (0.5 * math.cos(i), 0.3 + 0.1 * i, -0.4))
            positions, turns = self._world.reference(frames(None, place), 1009, i)
            poses: Any = list(zip(map(tuple, positions.tolist()), map(tuple, turns.tolist()), strict=True))
            bodies.append(_Body(name, i + 2, poses))
        return bodies

    def _segment(self) -> Segment | None:
        for segment in self._world.segments:
            if segment.frame <= self._next < segment.end_frame:
                return segment
        return None

    def _send_frame(self, segment: Segment, i: int) -> None:
        if segment.measured.lost[i] or self.muted or not (self._clients or self._multicast):
            return
        frame = self._frame(segment, i)
        self._changed = False
        encoded: dict[Version, bytes] = {}
        if self._multicast is not None:
            self._last = encode(frame, self._version)
            send(self.socket, self._last, (self._multicast, self._data_port))
        for address, client in self._clients.items():
            if client.version not in encoded:
                encoded[client.version] = self._last = encode(frame, client.version)
            send(self.socket, encoded[client.version], address)

    def _frame(self, segment: Segment, i: int) -> Frame:
        m, number = segment.measured, self._next
        exposed = number / self._world.rates.mocap_hz
        delay = float(m.delay[i])
        x, y, z = m.position[i].tolist()
        qx, qy, qz, qw = m.quaternion[i].tolist()
        bodies = [RigidBody(1, (x, y, z), (qx, qy, qz, qw), float(m.mean_error[i]), int(m.valid[i]))]
        for body in self._bodies:
            position, turn = body.poses[number % len(body.poses)]
            bodies.append(RigidBody(body.id, position, turn, 2.5e-4, 1))
        return Frame(
            number=number,
            rigid_bodies=tuple(bodies),
            latency=delay,
            timestamp=exposed,
            mid_exposure_ticks=self._clock.ticks(exposed),
            camera_data_received_ticks=self._clock.ticks(exposed + _CAMERA_SHARE * delay),
            # The moment itself and not the planned one, so that receive stamps can be held against it.
            transmit_ticks=self._clock.ticks(self._clock.now()),
            params=2 if self._changed else 0,
        )

    def _drop_silent_clients(self) -> None:
        silent = [a for a, c in self._clients.items() if time.monotonic() - c.heard > _CLIENT_TIMEOUT_S]
        for address in silent:
            version = self._clients.pop(address).version
            send(self.socket, encode(DisconnectByTimeout(), version), address)
