"""Fetching ``netftapi2.xml`` from a sensor: bounded in bytes and real time, whatever the other side does."""

import errno
import os
import select
import socket
import time
from collections.abc import Callable

from devices.errors import DeviceError
from devices.netft.api import MAX_DOCUMENT, SensorCalibration, parse_api
from devices.netft.rdt import Malformed

_MAX_HEAD = 16 * 1024
_POLL_S = 0.1
"""How often a waiting fetch looks whether it was cancelled."""


def fetch_calibration(
    host: str, port: int = 80, timeout_s: float = 2.0, cancelled: Callable[[], bool] = lambda: False
) -> SensorCalibration:
    """The calibration that the sensor at `host` tells, or `DeviceError`.

    `timeout_s` (real seconds) bounds the whole exchange, so that a server that drips bytes cannot stretch it.
    """
    url = f"http://{host}:{port}/netftapi2.xml"
    try:
        return parse_api(_get(host, port, timeout_s, cancelled))
    except Malformed as error:
        raise DeviceError(
            f"{url} is not the answer of an ATI sensor: {error}. "
            "Open the address in a browser and check that it is the sensor's."
        ) from error
    except TimeoutError:
        problem = f"no whole answer within {timeout_s:g} s"
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
    raise DeviceError(
        f"No calibration from {url}: {problem}. Check the sensor's power, its cable and its address, "
        "then run `ident check`."
    )


def _get(host: str, port: int, timeout_s: float, cancelled: Callable[[], bool]) -> bytes:
    """Body of the answer to an HTTP/1.0 request, which servers end by closing instead of by chunks."""
    deadline = time.monotonic() + timeout_s
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        _connect(connection, (host, port), deadline, cancelled)
        connection.sendall(
            f"GET /netftapi2.xml HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("ascii", "replace")
        )
        received = bytearray()
        while not _complete(received):
            part = _receive(connection, deadline, cancelled)
            if not part:
                break
            received += part
    head, separator, body = bytes(received).partition(b"\r\n\r\n")
    first_line = head.split(b"\r\n", 1)[0][:80].decode("latin-1")
    if not separator or not first_line.startswith("HTTP/"):
        raise Malformed(f"the answer begins with {first_line!r} instead of an HTTP header")
    if first_line.split(" ", 2)[1:2] != ["200"]:
        raise Malformed(f"the server answers {first_line!r}")
    return body


def _connect(
    connection: socket.socket, address: tuple[str, int], deadline: float, cancelled: Callable[[], bool]
) -> None:
    connection.setblocking(False)
    problem = connection.connect_ex(address)
    if problem == errno.EINPROGRESS:
        while not select.select([], [connection], [], _POLL_S)[1]:
            if time.monotonic() > deadline or cancelled():
                raise TimeoutError
        problem = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if problem:
        raise OSError(problem, os.strerror(problem))
    connection.settimeout(_POLL_S)


def _receive(connection: socket.socket, deadline: float, cancelled: Callable[[], bool]) -> bytes:
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or cancelled():
            raise TimeoutError
        connection.settimeout(min(_POLL_S, remaining))
        try:
            return connection.recv(65536)
        except TimeoutError:
            continue


def _complete(received: bytearray) -> bool:
    """Whether everything has come that the header promises; raises `Malformed` above the limits."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        if len(received) > _MAX_HEAD:
            raise Malformed(f"an HTTP header of more than {_MAX_HEAD} bytes")
        return False
    if len(received) - end - 4 > MAX_DOCUMENT:
        raise Malformed(f"netftapi2.xml of more than {MAX_DOCUMENT} bytes")
    for line in bytes(received[:end]).split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return len(received) - end - 4 >= int(value[:20])
    return False
