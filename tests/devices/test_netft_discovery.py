"""Sensors are found among hosts that answer otherwise, slowly or not at all; nobody else is asked."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from devices.errors import DeviceError
from devices.netft import FoundSensor, SensorCalibration, discover, render_api

SENSOR = SensorCalibration(1e6, 1e6, product_name="Net F/T", serial="FT1")
PORT_USERS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")


def servers(port: int) -> list[socket.socket]:
    """Listening sockets on several addresses of the loopback, all on one port."""
    opened = []
    try:
        for address in PORT_USERS:
            opened.append(socket.create_server((address, port)))
            port = opened[0].getsockname()[1]
    except OSError:
        for server in opened:
            server.close()
        raise
    return opened


@pytest.fixture
def network() -> Iterator[int]:
    """A sensor on 127.0.0.1, a web site on .2, one that never answers on .3, a sensor on .4; all on one port."""
    while True:
        with contextlib.suppress(OSError):
            opened = servers(0)
            break
    body = render_api(SENSOR)
    answers = [b"HTTP/1.0 200 OK\r\n\r\n" + body, b"HTTP/1.0 404 Not Found\r\n\r\n", None]
    answers.append(answers[0])
    held: list[socket.socket] = []

    def serve(server: socket.socket, answer: bytes | None) -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            if answer is None:
                held.append(connection)
                continue
            with connection, contextlib.suppress(OSError):
                if connection.recv(1000):
                    connection.sendall(answer)

    threads = [threading.Thread(target=serve, args=pair) for pair in zip(opened, answers, strict=True)]
    for thread in threads:
        thread.start()
    yield opened[0].getsockname()[1]
    for server in opened:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    for thread in threads:
        thread.join()
    for connection in held:
        connection.close()


def test_given_hosts_are_asked_in_order_and_no_others(network: int) -> None:
    found = discover(["127.0.0.2", "127.0.0.1", "127.0.0.9", "127.0.0.1"], timeout_s=2.0, http_port=network)
    assert found == [FoundSensor("127.0.0.1", "Net F/T", "FT1")]


def test_nobody_is_asked_by_default(network: int) -> None:
    assert discover(timeout_s=0.5, http_port=network) == []


def test_a_network_is_asked_whole_but_only_around_our_address(network: int) -> None:
    found = discover(interface="127.0.0.1", timeout_s=1.0, http_port=network)
    assert [sensor.host for sensor in found] == ["127.0.0.1", "127.0.0.4"]


def test_unknown_cards_and_names_are_handled() -> None:
    with pytest.raises(DeviceError, match=r"has the address 192\.0\.2\.1: they have .*127\.0\.0\.1"):
        discover(interface="192.0.2.1")
    assert discover(["no-such-host.invalid"], timeout_s=0.2) == []
