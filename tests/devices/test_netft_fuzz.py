"""Hostile datagrams on the whole way from the socket to the buffer; `python -m bench.fuzz_netft` sends a million."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.buffer import WrenchBuffer
from devices.clock import HostClock
from devices.netft import encode_records
from devices.netft.intake import Intake
from devices.netft.receiver import Arrivals


def hostile(rng: np.random.Generator, number: int) -> bytes:
    """A block of records from a number on, then cut, prolonged, bit-flipped, replaced by noise or left alone."""
    numbers = number + np.arange(int(rng.choice([1, 1, 1, 5, 40])))
    data = bytearray(encode_records(numbers, 7 * numbers, 0, rng.integers(-(2**31), 2**31, (len(numbers), 6))))
    match rng.integers(8):
        case 0:
            del data[int(rng.integers(len(data))) :]
        case 1:
            data += rng.bytes(int(rng.integers(1, 80)))
        case 2 | 3:
            for place in rng.integers(0, len(data), 4):
                data[place] ^= 1 << int(rng.integers(8))
        case 4:
            data = bytearray(rng.bytes(int(rng.choice([0, 36, 37, 360, 1440]))))
    return bytes(data)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2**32 - 500]))
def test_every_datagram_is_delivered_or_counted(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    clock = HostClock()
    buffer = WrenchBuffer(8192)
    tapped: list[bytes] = []
    intake = Intake(buffer, clock, 60_000_000, tap=lambda _stream, _t_ns, datagram: tapped.append(datagram))
    datagrams: list[bytes] = []
    for _ in range(20):
        burst = []
        for _ in range(int(rng.integers(0, 8))):
            burst.append(hostile(rng, number))
            number += max(1, len(burst[-1]) // 36)
        intake.take(Arrivals(burst, [clock.now_ns()] * len(burst)))
        datagrams += burst
    intake.restart()
    good = [datagram for datagram in datagrams if datagram and len(datagram) % 36 == 0]
    account = intake.sequencer.account
    assert tapped == datagrams
    assert intake.malformed == len(datagrams) - len(good)
    assert account.received == sum(len(datagram) for datagram in good) // 36
    assert account.received == account.delivered + account.duplicates + account.late + account.implausible
    assert buffer.total == account.delivered
    window = buffer.window(0, 2**62)
    assert np.isfinite(window.wrench).all()
    assert (np.diff(window.t_ns) > 0).all()
