"""Which NatNet servers answer on the network."""

import fcntl
import select
import socket
import struct
import time
from dataclasses import dataclass

from devices.natnet import packets
from devices.natnet.messages import Connect, Discovery, Sender, ServerInfo
from devices.natnet.reader import Malformed
from devices.natnet.sockets import StampedSocket, open_command_socket
from devices.natnet.types import NEWEST, OLDEST, Version

_SIOCGIFADDR = 0x8915
_SIOCGIFBRDADDR = 0x8919
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered."""

    address: str
    name: str
    """Name and version of the application, for example ``Motive 2.1``."""
    version: Version
    """NatNet version."""
    multicast: str | None
    """The group that it streams to; None for unicast, or where it does not tell (before 3.0)."""
    data_port: int


def discover(
    timeout_s: float = 1.0,
    interface: str = "",
    *,
    addresses: tuple[str, ...] = (),
    command_port: int = 1510,
) -> list[FoundServer]:
    """Return the servers that answer within ``timeout_s`` real seconds, by address.

    Asks this machine, every network that it is on (or the one of ``interface``, an address of a network card) by
    broadcast, and the given addresses one by one.
    """
    sender = Sender("ident", natnet_version=(*NEWEST, 0, 0))
    questions = [packets.encode(message, NEWEST) for message in (Discovery(sender), Connect(sender))]
    targets = {"127.0.0.1", *addresses, *_broadcast_addresses(interface)}
    asking = open_command_socket("", broadcast=True)
    found: dict[str, FoundServer] = {}
    deadline = time.monotonic() + timeout_s
    try:
        while (left := deadline - time.monotonic()) > 0.0:
            for target in sorted(targets):
                for question in questions:
                    asking.send(question, (target, command_port))
            _listen(asking, min(left, _POLL_S), found)
    finally:
        asking.close()
    return [found[address] for address in sorted(found)]


def _listen(asking: StampedSocket, seconds: float, found: dict[str, FoundServer]) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0.0:
        if not select.select([asking], [], [], left)[0]:
            return
        for arrival in asking.drain():
            try:
                message = packets.decode(arrival.data, OLDEST)
            except Malformed:
                continue
            if isinstance(message, ServerInfo):
                found[arrival.sender] = _described(arrival.sender, message)


def _described(address: str, info: ServerInfo) -> FoundServer:
    major, minor = info.sender.app_version[:2]
    group = ".".join(map(str, info.group)) if info.multicast else None
    return FoundServer(address, f"{info.sender.name} {major}.{minor}", info.version, group, info.data_port)


def _broadcast_addresses(interface: str) -> set[str]:
    """Return the broadcast addresses of all network cards, or of the one with a given address."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                address = fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24]
                broadcast = fcntl.ioctl(probe, _SIOCGIFBRDADDR, request)[20:24]
            except OSError:
                # A card without an IPv4 address has no broadcast address either.
                continue
            if any(broadcast) and interface in ("", socket.inet_ntoa(address)):
                found.add(socket.inet_ntoa(broadcast))
    return found
