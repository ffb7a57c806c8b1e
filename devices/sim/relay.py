"""A bad network between a device and its client: a UDP relay that loses, doubles, delays and reorders datagrams."""

import heapq
import random
import select
import socket
import threading
import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from devices.sim.sockets import Address, bind_udp, receive_all, send

_HOLD_S = (0.002, 0.006)
"""How much longer a datagram is held that others shall overtake, seconds."""


@dataclass(frozen=True, slots=True)
class Impairments:
    """What happens to datagrams from the device to the client; requests to the device pass unharmed."""

    loss: float = 0.0
    """Share that never arrives."""
    duplicates: float = 0.0
    """Share that arrives twice."""
    reordered: float = 0.0
    """Share that is held back so that later ones overtake it."""
    jitter_s: float = 0.0
    """Largest delay in real seconds, uniform; it keeps the order."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class RelayCounts:
    """Datagrams from the device so far."""

    received: int = 0
    lost: int = 0
    duplicated: int = 0
    held: int = 0


class LossyRelay:
    """Relays one device's UDP port. Every client address has its own socket towards the device, as behind a router."""

    def __init__(self, device: Address, impairments: Impairments, host: str = "127.0.0.1") -> None:
        self._device = device
        self._impairments = impairments
        self._random = random.Random(impairments.seed)
        self._front = bind_udp(host, 0, "the relay")
        self.address: Address = self._front.getsockname()
        """Where clients find the device."""
        self._backs: dict[socket.socket, Address] = {}
        self._by_client: dict[Address, socket.socket] = {}
        self._queue: list[tuple[float, int, bytes, Address]] = []
        self._entered = 0
        self._latest = 0.0
        self._counts = RelayCounts()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sim-relay", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def counts(self) -> RelayCounts:
        """What became of the datagrams so far."""
        return self._counts

    def close(self) -> None:
        """Stop relaying."""
        self._stopping.set()
        self._thread.join()
        for udp in (self._front, *self._backs):
            udp.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait = 0.02
            if self._queue:
                wait = min(wait, max(0.0, self._queue[0][0] - time.monotonic()))
            readable, _, _ = select.select((self._front, *self._backs), (), (), wait)
            for udp in readable:
                if udp is self._front:
                    self._forward()
                else:
                    for datagram, _ in receive_all(udp):
                        self._impair(datagram, self._backs[udp])
            now = time.monotonic()
            while self._queue and self._queue[0][0] <= now:
                _, _, datagram, client = heapq.heappop(self._queue)
                send(self._front, datagram, client)

    def _forward(self) -> None:
        for datagram, client in receive_all(self._front):
            back = self._by_client.get(client)
            if back is None:
                back = self._by_client[client] = bind_udp(self.address[0], 0, "the relay")
                self._backs[back] = client
            send(back, datagram, self._device)

    def _impair(self, datagram: bytes, client: Address) -> None:
        how, draw = self._impairments, self._random.random
        self._count("received")
        if draw() < how.loss:
            self._count("lost")
            return
        due = self._latest = max(self._latest, time.monotonic() + how.jitter_s * draw())
        if draw() < how.reordered:
            self._count("held")
            due += self._random.uniform(*_HOLD_S)
        self._enqueue(due, datagram, client)
        if draw() < how.duplicates:
            self._count("duplicated")
            self._enqueue(due, datagram, client)

    def _enqueue(self, due: float, datagram: bytes, client: Address) -> None:
        self._entered += 1
        heapq.heappush(self._queue, (due, self._entered, datagram, client))

    def _count(self, name: str) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})
