"""A small NatNet server on loopback for tests, built from the encoder; it can misbehave on demand."""

import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

from devices.natnet import packets
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import (
    Connect,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    Message,
    Request,
    RequestModelDef,
    Response,
    RigidBody,
    Sender,
    ServerInfo,
)
from devices.natnet.types import Version

GROUP = (239, 255, 42, 98)


class Server:
    """Streams ``bodies`` at 250 Hz to whoever said hello; its clock has its own rate and zero."""

    def __init__(
        self,
        version: Version = (3, 0),
        port: int = 0,
        *,
        bodies: tuple[str, ...] = ("gripper", "object"),
        multicast: bool = False,
        clock_hz: int = 3_312_787,
        exposure_s: float = 0.005,
        rate: float = 250.0,
        first_number: int = 1000,
        speed: float = 1.0,
    ) -> None:
        self.version = version
        self.bodies = bodies
        self.multicast = multicast
        self.clock_hz = clock_hz
        self.exposure_s = exposure_s
        self.speed = speed
        self.period_s = 1.0 / rate
        self.number = first_number
        self.moving = True
        self.valid = True
        self.silent = False
        self.mute_echo = False
        self.stamped = True
        self.change: Callable[[Frame], Frame] = lambda frame: frame
        self.clients: set[tuple[str, int]] = set()
        self.received: list[Message] = []
        self.sent: dict[int, int] = {}
        """Frame number to wall time of sending, nanoseconds."""
        self.announced = version
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self.port: int = self._socket.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("", 0))
            self.data_port: int = probe.getsockname()[1]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def ticks(self, wall_ns: int) -> int:
        """The server's clock: 50 ppm fast, with its own zero."""
        return 10**11 + int(wall_ns % 10**15 * (1.0 + 50e-6) * self.speed * self.clock_hz / 1e9)

    def send(self, data: bytes) -> None:
        """Send raw bytes where frames go."""
        places = [(".".join(map(str, GROUP)), self.data_port)] if self.multicast else list(self.clients)
        for place in places:
            self._socket.sendto(data, place)

    def frame(self) -> Frame:
        self.number += 1
        exposure_ns = time.time_ns() - int(self.exposure_s * 1e9)
        ticks = self.ticks(exposure_ns) if self.stamped and self.version >= (3, 0) else 0
        step = self.number if self.moving else 0
        bodies = tuple(
            RigidBody(10 + i, (0.001 * step, float(i), 0.5), (0.0, 0.0, 0.0, 1.0), 0.0004, int(self.valid))
            for i in range(len(self.bodies))
        )
        return self.change(
            Frame(self.number, rigid_bodies=bodies, timestamp=self.number * self.period_s, mid_exposure_ticks=ticks)
        )

    def models(self) -> ModelDef:
        return ModelDef(tuple(RigidBodyDescription(name, 10 + i) for i, name in enumerate(self.bodies)))

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            wait_s = max(0.0, due - time.monotonic())
            if select.select([self._socket], [], [], wait_s)[0]:
                self._answer(*self._socket.recvfrom(65535))
            if time.monotonic() >= due:
                due += self.period_s
                if not self.silent:
                    data = packets.encode(self.frame(), self.version)
                    self.sent[self.number] = time.time_ns()
                    self.send(data)

    def _answer(self, data: bytes, client: tuple[str, int]) -> None:
        message = packets.decode(data, self.version)
        self.received.append(message)
        reply: Message | None = None
        match message:
            case Connect():
                self.clients.add(client)
                sender = Sender("Motive", (2, 1, 0, 0), (*self.announced, 0, 0))
                reply = ServerInfo(sender, self.clock_hz, self.data_port, self.multicast, GROUP)
            case RequestModelDef():
                reply = self.models()
            case EchoRequest(stamp) if not self.mute_echo:
                reply = EchoResponse(stamp, self.ticks(time.time_ns()))
            case Request(command):
                self.version = tuple(map(int, command.split(",")[1].split(".")))
                reply = Response(b"\0\0\0\0")
            case KeepAlive() | _:
                pass
        if reply is not None:
            self._socket.sendto(packets.encode(reply, self.version), client)
