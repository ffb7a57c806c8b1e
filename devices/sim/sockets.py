"""Small helpers for the servers' non-blocking sockets."""

import socket
from collections.abc import Iterator

from devices.errors import DeviceError

Address = tuple[str, int]
_MOST_PER_TURN = 64
"""Datagrams handled before the caller gets its turn, so that a flood cannot stop the stream."""


def bind_udp(host: str, port: int, name: str) -> socket.socket:
    """A non-blocking UDP socket; port 0 takes a free one."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.bind((host, port))
    except OSError as error:
        udp.close()
        raise DeviceError(
            f"UDP port {port} for {name} cannot be opened on {host}: {error.strerror}. Choose another port."
        ) from error
    udp.setblocking(False)
    return udp


def free_udp_port(host: str) -> int:
    """A port that was free a moment ago, for a group that receivers bind themselves."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def receive_all(udp: socket.socket) -> Iterator[tuple[bytes, Address]]:
    """What has arrived, without waiting."""
    for _ in range(_MOST_PER_TURN):
        try:
            datagram, sender = udp.recvfrom(65535)
        except BlockingIOError:
            return
        except ConnectionError:
            continue  # an earlier datagram found its receiver gone; UDP tells it at the next call
        yield datagram, sender


def send(udp: socket.socket, datagram: bytes, address: Address) -> None:
    """Send without waiting; what cannot be sent is lost, as on any network."""
    try:
        udp.sendto(datagram, address)
    except OSError:
        return
