"""Which force/torque sensors answer on the network."""

import errno
import fcntl
import ipaddress
import selectors
import socket
import struct
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from devices.errors import DeviceError
from devices.netft.http import fetch_calibration

# Linux's numbers; the socket module does not name them.
_SIOCGIFADDR = 0x8915
_SIOCGIFNETMASK = 0x891B
_SMALLEST_PREFIX = 24
"""Of a larger network only the 254 addresses around ours are asked."""


@dataclass(frozen=True, slots=True)
class FoundSensor:
    """A sensor that answered."""

    host: str
    product_name: str
    serial: str
    """Serial number of the calibration; empty where unknown."""


def discover(
    hosts: Iterable[str] = (), *, interface: str = "", timeout_s: float = 1.0, http_port: int = 80
) -> list[FoundSensor]:
    """The sensors that tell their calibration, by address.

    Asks `hosts`, and, if `interface` is the address of one of our network cards, every address of that card's own
    network, or the 254 around ours where it is larger; never anything beyond. Takes at most twice `timeout_s`, real
    seconds.
    """
    targets = list(dict.fromkeys([*hosts, *(_neighbours(interface) if interface else ())]))
    listening = _listening(targets, http_port, timeout_s)
    with ThreadPoolExecutor(max(1, len(listening))) as pool:
        answers = pool.map(lambda host: _ask(host, http_port, timeout_s), listening)
        return [found for found in answers if found is not None]


def _ask(host: str, port: int, timeout_s: float) -> FoundSensor | None:
    try:
        calibration = fetch_calibration(host, port, timeout_s)
    except DeviceError:
        # Whatever listens there is no sensor, or not a well one: `ident check` says what is wrong with a given one.
        return None
    return FoundSensor(host, calibration.product_name, calibration.serial)


def _listening(hosts: list[str], port: int, timeout_s: float) -> list[str]:
    """Those of the hosts that take a TCP connection, asked all at once."""
    found = set()
    with selectors.DefaultSelector() as selector, ExitStack() as open_sockets:
        for host in hosts:
            probe = open_sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            probe.setblocking(False)
            try:
                if probe.connect_ex((host, port)) in (0, errno.EINPROGRESS):
                    selector.register(probe, selectors.EVENT_WRITE, host)
            except socket.gaierror:
                continue
        deadline = time.monotonic() + timeout_s
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                selector.unregister(key.fileobj)
                if isinstance(key.fileobj, socket.socket) and not key.fileobj.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ERROR
                ):
                    found.add(key.data)
    return [host for host in hosts if host in found]


def _neighbours(interface: str) -> list[str]:
    """All host addresses of the network that one of our cards is on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        cards = []
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                address = socket.inet_ntoa(fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24])
                mask = socket.inet_ntoa(fcntl.ioctl(probe, _SIOCGIFNETMASK, request)[20:24])
            except OSError:
                # A card without an IPv4 address has no neighbours.
                continue
            cards.append(address)
            if address == interface:
                prefix = max(_SMALLEST_PREFIX, ipaddress.ip_network(f"0.0.0.0/{mask}").prefixlen)
                return [str(host) for host in ipaddress.ip_network(f"{address}/{prefix}", strict=False).hosts()]
    raise DeviceError(
        f"None of this machine's network cards has the address {interface}: they have {', '.join(cards)}. "
        "Name one of these."
    )
