"""RDT records and requests: exact bytes, round trips, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.netft import rdt, status

U32 = st.integers(0, 2**32 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)


def test_start_request_is_eight_known_bytes() -> None:
    assert rdt.encode_request(rdt.Request(rdt.Command.REALTIME)) == bytes.fromhex("1234 0002 00000000")
    assert rdt.encode_request(rdt.Request(rdt.Command.BIAS)) == bytes.fromhex("1234 0042 00000000")


def test_record_is_thirty_six_known_bytes() -> None:
    expected = bytes.fromhex("00000001 00000007 80020000 00000001 ffffffff 7fffffff 80000000 00000000 000f4240")
    counts = (1, -1, 2**31 - 1, -(2**31), 0, 1_000_000)
    assert rdt.encode_record(1, 7, 0x80020000, counts) == expected
    assert rdt.encode_records(1, 7, 0x80020000, counts) == expected


@settings(deadline=None)
@given(st.sampled_from(rdt.Command), U32)
def test_requests_survive_the_round_trip(command: rdt.Command, count: int) -> None:
    request = rdt.Request(command, count)
    assert rdt.decode_request(rdt.encode_request(request)) == request


@settings(deadline=None)
@given(st.lists(st.tuples(U32, U32, U32, st.tuples(I32, I32, I32, I32, I32, I32)), min_size=1, max_size=40))
def test_records_survive_the_round_trip(rows: list[tuple[int, int, int, tuple[int, ...]]]) -> None:
    datagram = b"".join(rdt.encode_record(*row) for row in rows)
    decoded = rdt.decode_records(datagram)
    assert [
        (int(r["rdt_sequence"]), int(r["ft_sequence"]), int(r["status"]), tuple(map(int, r["counts"]))) for r in decoded
    ] == rows
    assert decoded.tobytes() == datagram


def test_counts_saturate_and_sequences_wrap() -> None:
    record = rdt.decode_records(rdt.encode_records(2**32 + 1, 2**32, 0, [[2**40, -(2**40), 0, 0, 0, 0]]))[0]
    assert int(record["rdt_sequence"]) == 1
    assert int(record["ft_sequence"]) == 0
    assert list(record["counts"][:2]) == [2**31 - 1, -(2**31)]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_malformed(datagram: bytes) -> None:
    try:
        decoded = rdt.decode_records(datagram)
    except rdt.Malformed:
        assert len(datagram) % 36 or not datagram
    else:
        assert decoded.tobytes() == datagram


@pytest.mark.parametrize(
    ("datagram", "says"),
    [
        (b"", "0 bytes"),
        (bytes(9), "9 bytes"),
        (bytes.fromhex("4321 0002 00000000"), "0x4321 at byte 0"),
        (bytes.fromhex("1234 0099 00000000"), "0x0099 at byte 2"),
    ],
)
def test_bad_requests_say_where(datagram: bytes, says: str) -> None:
    with pytest.raises(rdt.Malformed, match=says):
        rdt.decode_request(datagram)


def test_truncated_record_says_where() -> None:
    with pytest.raises(rdt.Malformed, match="41 bytes ends 5 bytes into"):
        rdt.decode_records(bytes(41))


def words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def test_netbox_status_words() -> None:
    table = status.NETBOX
    assert table.describe(0) == "ok"
    assert table.describe(0x80020000) == "transducer saturated"
    assert table.describe(0x80000000) == "error"
    assert table.describe(1) == "unknown bit 0"
    seen = words(0, 0x00010000, 0x80010000, 0x80000000, 0x80020000, 0x80030000, 0x00000004)
    assert table.valid(seen).tolist() == [True, True, True, False, False, False, False]
    assert table.saturated(seen).tolist() == [False, False, False, False, True, True, False]


def test_axia_status_words_differ() -> None:
    table = status.AXIA
    assert table.describe(0xC0000000) == "force or torque out of range"
    assert table.describe(0x80000006) == "strain gauge broken, supply voltage out of range"
    seen = words(0, 0xC0000000, 0x88000000, 1, 0x80010000)
    assert table.valid(seen).tolist() == [True, False, False, False, False]
    assert table.saturated(seen).tolist() == [False, True, True, False, False]
