"""The UDP socket to a sensor: requests out, datagrams in with the kernel's own receive stamps."""

import select
import socket
import struct
from dataclasses import dataclass, field

from devices.netft.rdt import Request, encode_request

# Linux's numbers; the socket module does not name them.
_SO_TIMESTAMPNS = 35
_SO_RXQ_OVFL = 40

_TIMESPEC = struct.Struct("@ll")
_COUNT = struct.Struct("@I")
_CONTROL_SIZE = socket.CMSG_SPACE(_TIMESPEC.size) + socket.CMSG_SPACE(_COUNT.size)
_RECEIVE_BUFFER = 4 << 20
"""Bytes: about half a second of the fastest stream, in which the process may be busy elsewhere."""
_LONGEST = 1500
"""Bytes. A sensor sends at most one Ethernet frame; what is longer arrives cut, and counts as malformed."""
_MOST_AT_ONCE = 4096


@dataclass(slots=True)
class Arrivals:
    """Datagrams in order of arrival, with their kernel stamps."""

    datagrams: list[bytes] = field(default_factory=list)
    realtime_ns: list[int] = field(default_factory=list)
    """Wall clock (CLOCK_REALTIME) at receipt in the kernel; 0 where the kernel gave none."""


class RdtSocket:
    """A socket that talks to one sensor and to nobody else."""

    def __init__(self, host: str, port: int) -> None:
        self.server = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        self.foreign = 0
        """Datagrams ignored because they came from another address than the sensor's."""
        self.kernel_drops = 0
        """Datagrams that the kernel dropped because we read too slowly."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            self._socket.setblocking(False)
            self._socket.bind(("", 0))
        except OSError:
            self._socket.close()
            raise

    def request(self, request: Request) -> None:
        """Send a request."""
        self._socket.sendto(encode_request(request), self.server)

    def wait(self, timeout_s: float) -> bool:
        """Whether a datagram is there within that many real seconds."""
        return bool(select.select([self._socket], [], [], timeout_s)[0])

    def drain(self) -> Arrivals:
        """Everything that waits in the socket, without waiting for more."""
        arrivals = Arrivals()
        receive = self._socket.recvmsg
        for _ in range(_MOST_AT_ONCE):
            try:
                datagram, control, _flags, sender = receive(_LONGEST, _CONTROL_SIZE)
            except BlockingIOError:
                break
            stamp = 0
            for _level, kind, value in control:
                if kind == _SO_TIMESTAMPNS:
                    seconds, nanoseconds = _TIMESPEC.unpack(value)
                    stamp = seconds * 1_000_000_000 + nanoseconds
                elif kind == _SO_RXQ_OVFL:
                    (self.kernel_drops,) = _COUNT.unpack(value)
            if sender != self.server:
                self.foreign += 1
                continue
            arrivals.datagrams.append(datagram)
            arrivals.realtime_ns.append(stamp)
        return arrivals

    def close(self) -> None:
        """Close the socket; more than once does no harm."""
        self._socket.close()
