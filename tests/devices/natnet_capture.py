"""The real NatNet captures beside the project: where they are, and a small pcapng reader."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

FOLDER = Path(__file__).parents[2] / "../shared/data/natnet"


def capture(name: str) -> Path:
    """Path of a capture; skips the test where the captures are not at hand."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"the capture {name} is not beside this repository")
    return path


class Datagram(NamedTuple):
    t_ns: int
    source: tuple[str, int]
    target: tuple[str, int]
    data: bytes


def read_pcapng(path: Path) -> Iterator[Datagram]:
    """UDP over IPv4 over Ethernet, unfragmented, from the enhanced packet blocks of a little-endian file."""
    content = path.read_bytes()
    at = 0
    ns_per_tick = 1000
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        body = content[at + 8 : at + size - 4]
        at += size
        if kind == 1:
            ns_per_tick = _ns_per_tick(body[8:])
        if kind != 6:
            continue
        _, high, low, kept = struct.unpack_from("<IIII", body)
        packet = body[20 : 20 + kept]
        if packet[12:14] != b"\x08\x00" or packet[23] != 17:
            continue
        udp = 14 + 4 * (packet[14] & 15)
        source_port, target_port, length = struct.unpack_from(">HHH", packet, udp)
        yield Datagram(
            ((high << 32) | low) * ns_per_tick,
            (".".join(map(str, packet[26:30])), source_port),
            (".".join(map(str, packet[30:34])), target_port),
            packet[udp + 8 : udp + length],
        )


def _ns_per_tick(options: bytes) -> int:
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from("<HH", options, at)
        if code == 9:
            return 10 ** (9 - options[at + 4])
        if code == 0:
            break
        at += 4 + (size + 3) // 4 * 4
    return 1000
