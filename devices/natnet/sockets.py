"""The UDP sockets of a NatNet client: bound for Linux, with kernel receive stamps and drop counts."""

import socket
import struct
from typing import NamedTuple

# Linux's numbers; the socket module does not name them.
_SO_TIMESTAMPNS = 35
_SO_RXQ_OVFL = 40
_IP_MULTICAST_ALL = 49

_TIMESPEC = struct.Struct("@ll")
_COUNT = struct.Struct("@I")
_CONTROL_SIZE = socket.CMSG_SPACE(_TIMESPEC.size) + socket.CMSG_SPACE(_COUNT.size)
_LONGEST = 65535
_RECEIVE_BUFFER = 8 << 20
"""Bytes wished for; the kernel gives what its limit allows."""
MOST_AT_ONCE = 256
"""Datagrams per round, so that timers run under a flood too."""


class Arrival(NamedTuple):
    """One datagram."""

    data: bytes
    sender: str
    """Address it came from."""
    realtime_ns: int
    """Wall clock (CLOCK_REALTIME) at receipt in the kernel; 0 where the kernel gave none."""


class StampedSocket:
    """A UDP socket whose datagrams carry kernel receive stamps."""

    def __init__(self, bound: socket.socket) -> None:
        self.kernel_drops = 0
        """Datagrams that the kernel dropped because we read too slowly."""
        self._socket = bound
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
        self._socket.setblocking(False)
        self._buffer = bytearray(_LONGEST)

    def fileno(self) -> int:
        """Return the descriptor, for ``select``."""
        return self._socket.fileno()

    def send(self, data: bytes, address: tuple[str, int]) -> None:
        """Send a datagram; one that the network refuses is lost like any other."""
        try:
            self._socket.sendto(data, address)
        except OSError:
            # To a datagram protocol an unreachable network is one that loses datagrams: the silence tells.
            return

    def drain(self) -> list[Arrival]:
        """Return what waits in the socket, without waiting for more; fewer than ``MOST_AT_ONCE`` are all."""
        arrivals: list[Arrival] = []
        while len(arrivals) < MOST_AT_ONCE:
            try:
                size, control, _flags, sender = self._socket.recvmsg_into([self._buffer], _CONTROL_SIZE)
            except BlockingIOError:
                break
            stamp = 0
            for _level, kind, value in control:
                if kind == _SO_TIMESTAMPNS:
                    seconds, nanoseconds = _TIMESPEC.unpack(value)
                    stamp = seconds * 1_000_000_000 + nanoseconds
                elif kind == _SO_RXQ_OVFL:
                    (self.kernel_drops,) = _COUNT.unpack(value)
            arrivals.append(Arrival(bytes(self._buffer[:size]), sender[0], stamp))
        return arrivals

    def close(self) -> None:
        """Close the socket; more than once does no harm."""
        self._socket.close()


def local_address_towards(server: str) -> str:
    """Return the address of the network card that leads to a server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((server, 9))
        address: str = probe.getsockname()[0]
        return address


def open_command_socket(interface: str, *, broadcast: bool = False) -> StampedSocket:
    """Return a socket on a free port of one network card, or of all if none is named."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if broadcast:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        raw.bind((interface, 0))
    except OSError:
        raw.close()
        raise
    return StampedSocket(raw)


def open_multicast_socket(group: str, port: int, interface: str) -> StampedSocket:
    """Return a socket that receives a multicast group through one network card.

    Linux delivers multicast to sockets bound to the group's address (or to all), never to the card's own.
    """
    raw = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        raw.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        raw.bind((group, port))
        membership = socket.inet_aton(group) + socket.inet_aton(interface)
        raw.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError:
        raw.close()
        raise
    return StampedSocket(raw)
