"""Hostile datagrams on the whole way from the socket to the buffer; `python -m bench.fuzz_netft` sends a million."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.buffer import WrenchBuffer
from devices.clock import HostClock
from devices.netft import encode_records
from devices.netft.intake import Intake
from devices.netft.receiver import Arrivals

numbers = st.integers(0, 2**32 - 1)
records = st.builds(encode_records, numbers, numbers, numbers, st.lists(numbers, min_size=6, max_size=6))
blocks = st.lists(records, max_size=41).map(b"".join)
damaged = st.builds(lambda block, tail: block + tail, blocks, st.binary(max_size=50))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(records | blocks | damaged | st.binary(max_size=300), max_size=6), max_size=12))
def test_every_datagram_is_delivered_or_counted(bursts: list[list[bytes]]) -> None:
    clock = HostClock()
    buffer = WrenchBuffer(4096)
    tapped: list[bytes] = []
    intake = Intake(buffer, clock, 60_000_000, tap=lambda _stream, _t_ns, datagram: tapped.append(datagram))
    for burst in bursts:
        now_ns = clock.now_ns()
        intake.take(Arrivals(burst, [now_ns] * len(burst)))
    intake.restart()
    datagrams = [datagram for burst in bursts for datagram in burst]
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
