"""The relay that makes a network bad, against a sender of numbered datagrams."""

import contextlib
import socket

import pytest

from devices.sim.relay import Impairments, LossyRelay

N = 2000


def through(impairments: Impairments) -> tuple[list[int], LossyRelay]:
    """Numbers 0 … N−1 as they arrive, and the relay that they went through."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
        LossyRelay(bound(device), impairments) as relay,
    ):
        client.sendto(b"hello", relay.address)
        request, sender = device.recvfrom(100)
        assert request == b"hello"
        client.settimeout(0.02)
        arrived: list[int] = []
        for number in range(N):
            device.sendto(number.to_bytes(4, "big"), sender)
            if number % 50 == 49:
                arrived += receive(client, relay, number + 1, len(arrived))
        return arrived, relay


def bound(device: socket.socket) -> tuple[str, int]:
    device.bind(("127.0.0.1", 0))
    device.settimeout(10)
    return device.getsockname()


def receive(client: socket.socket, relay: LossyRelay, sent: int, before: int) -> list[int]:
    """Everything that the relay passed on of the datagrams sent so far."""
    numbers: list[int] = []
    while (c := relay.counts).received < sent or before + len(numbers) < sent - c.lost + c.duplicated:
        with contextlib.suppress(TimeoutError):
            numbers.append(int.from_bytes(client.recv(100), "big"))
    return numbers


def test_a_perfect_relay_changes_nothing() -> None:
    arrived, relay = through(Impairments())
    assert arrived == list(range(N))
    assert relay.counts.lost == relay.counts.duplicated == relay.counts.held == 0


def test_counts_say_what_was_done() -> None:
    arrived, relay = through(Impairments(loss=0.05, duplicates=0.01, reordered=0.02, jitter_s=0.002))
    assert relay.counts.received == N
    assert relay.counts.lost == N - len(set(arrived))
    assert relay.counts.duplicated == len(arrived) - len(set(arrived))
    assert relay.counts.lost == pytest.approx(0.05 * N, rel=0.4)
    assert relay.counts.held > 0
    assert arrived != sorted(arrived)


def test_the_same_seed_loses_the_same_datagrams() -> None:
    first, _ = through(Impairments(loss=0.1, seed=4))
    second, _ = through(Impairments(loss=0.1, seed=4))
    assert first == second
