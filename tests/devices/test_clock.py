"""Host clock, echo sync and sequence clock, on simulated clocks and on the real capture."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from natnet_capture import capture, read_pcapng

from devices.clock import EchoSync, HostClock, SequenceClock
from devices.natnet import packets
from devices.natnet.messages import EchoRequest, EchoResponse, Frame

START_NS = 1_700_000_000_000_000_000


def test_host_time_is_wall_time_and_runs_at_its_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, wall = [5_000], [START_NS]
    monkeypatch.setattr(time, "monotonic_ns", lambda: monotonic[0])
    monkeypatch.setattr(time, "time_ns", lambda: wall[0])
    clock, fast = HostClock(), HostClock(10.0)
    monotonic[0] += 2_000
    wall[0] -= 3_600_000_000_000
    assert clock.now_ns() == START_NS + 2_000
    assert fast.now_ns() == START_NS + 20_000
    assert fast.real_s(0.8) == pytest.approx(0.08)


def test_a_kernel_stamp_is_converted_by_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, wall = [0], [START_NS]
    monkeypatch.setattr(time, "monotonic_ns", lambda: monotonic[0])
    monkeypatch.setattr(time, "time_ns", lambda: wall[0])
    clock, fast = HostClock(), HostClock(10.0)
    monotonic[0] = 1_000_000_000
    wall[0] = START_NS + 1_000_000_000 + 7_000_000_000  # The wall clock was stepped by 7 s.
    stamp = wall[0] - 300_000
    assert clock.from_kernel_stamp(stamp) == START_NS + 1_000_000_000 - 300_000
    assert fast.from_kernel_stamp(stamp) == START_NS + 10_000_000_000 - 3_000_000
    for nonsense in (0, wall[0] + 1, wall[0] - 60_000_000_000):
        assert clock.from_kernel_stamp(nonsense) == START_NS + 1_000_000_000


@pytest.mark.parametrize("speed", [0.0, -1.0, float("inf"), float("nan")])
def test_a_speed_is_a_positive_number(speed: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        HostClock(speed)


class SimulatedServer:
    """A clock with a frequency, a zero and a drift, behind a network with delays."""

    def __init__(self, drift: float, seed: int, clock_hz: int = 3_312_787) -> None:
        self.clock_hz = clock_hz
        self.drift = drift
        self.zero = 1_400_000_000_000
        self.rng = np.random.default_rng(seed)

    def ticks(self, host_ns: int) -> int:
        return self.zero + int((host_ns - START_NS) * 1e-9 * self.clock_hz * (1.0 + self.drift))

    def exchange(self, sync: EchoSync, sent_ns: int) -> None:
        there, back = (400_000 + int(self.rng.exponential(50_000)) for _ in range(2))
        if self.rng.random() < 0.2:
            there += int(self.rng.exponential(20_000_000))
        if self.rng.random() < 0.2:
            back += int(self.rng.exponential(20_000_000))
        sync.add(sent_ns, self.ticks(sent_ns + there), sent_ns + there + back)


@settings(max_examples=15, deadline=None)
@given(st.floats(-150e-6, 150e-6), st.integers(0, 10**6))
def test_ticks_are_mapped_within_a_tenth_of_a_millisecond(drift: float, seed: int) -> None:
    server = SimulatedServer(drift, seed)
    sync = EchoSync(server.clock_hz)
    times = [START_NS + i * 20_000_000 for i in range(16)]
    times += [START_NS + i * 1_000_000_000 for i in range(1, 180)]
    for sent_ns in times:
        server.exchange(sync, sent_ns)
        asked_ns = sent_ns + 900_000_000
        if sent_ns > START_NS + 5_000_000_000:
            allowed_ns = 100_000 if sent_ns > START_NS + 40_000_000_000 else 300_000
            assert abs(sync.to_host(server.ticks(asked_ns)) - asked_ns) < allowed_ns
    assert sync.drift_ppm == pytest.approx(drift * 1e6, abs=1.0)
    assert sync.steps == 0
    assert 800_000 <= sync.round_trip_ns < 1_000_000


def test_a_stepped_server_clock_starts_a_new_map() -> None:
    server = SimulatedServer(20e-6, seed=3)
    sync = EchoSync(server.clock_hz)
    for i in range(30):
        server.exchange(sync, START_NS + i * 1_000_000_000)
    server.zero = 7
    for i in range(30, 40):
        server.exchange(sync, START_NS + i * 1_000_000_000)
    asked_ns = START_NS + 40_500_000_000
    assert sync.steps == 1
    assert abs(sync.to_host(server.ticks(asked_ns)) - asked_ns) < 200_000


def test_an_exchange_that_ends_before_it_began_is_ignored() -> None:
    sync = EchoSync(1000)
    sync.add(START_NS, 5, START_NS - 1)
    assert not sync.ready
    with pytest.raises(ValueError, match="no echo exchange"):
        sync.to_host(5)
    with pytest.raises(ValueError, match="positive frequency"):
        EchoSync(0)


def test_the_real_capture_is_timed_to_the_exposure() -> None:
    """Exposure intervals of the 120 Hz capture are even to 0.01 ms where receive times jitter by 0.4 ms."""
    sync = EchoSync(3_312_787)
    asked: dict[int, int] = {}
    ticks_seen, receipts = [], []
    for datagram in read_pcapng(capture("motive-2.1_natnet-3.0/raw/traffic.pcapng")):
        match packets.decode(datagram.data, (3, 0)):
            case EchoRequest(stamp):
                asked[stamp] = datagram.t_ns
            case EchoResponse(stamp, ticks):
                sync.add(asked[stamp], ticks, datagram.t_ns)
            case Frame() as frame:
                ticks_seen.append(frame.mid_exposure_ticks)
                receipts.append(datagram.t_ns)
    exposures = [sync.to_host(ticks) for ticks in ticks_seen]
    latency_ms = (np.array(receipts) - np.array(exposures)) / 1e6
    assert len(exposures) == 518
    assert np.std(np.diff(exposures)) < 15_000
    assert 5.5 < latency_ms.min() < 6.0
    assert np.median(latency_ms) == pytest.approx(6.24, abs=0.1)
    assert abs(sync.drift_ppm) < 120.0


def received(true_ns: np.ndarray, rng: np.random.Generator, delay_ns: int = 200_000) -> np.ndarray:
    jitter = rng.exponential(80_000, len(true_ns)).astype(np.int64)
    return np.maximum.accumulate(true_ns + delay_ns + jitter)


def sampled(n: int, rate: float, drift: float = 0.0) -> np.ndarray:
    return START_NS + (np.arange(n) / rate * (1.0 + drift) * 1e9).astype(np.int64)


@pytest.mark.parametrize("first", [0, 2**32 - 5000])
def test_sequence_times_lie_on_the_lower_envelope(first: int) -> None:
    rng = np.random.default_rng(5)
    true_ns = sampled(7000 * 20, 7000.0, 100e-6)
    sequence = (np.arange(len(true_ns)) + first) % 2**32
    received_ns = received(true_ns, rng)
    clock = SequenceClock()
    error_ns = clock.stamp(sequence, received_ns) - true_ns - 200_000
    assert np.abs(error_ns[7000:]).max() < 20_000
    assert clock.rate_hz == pytest.approx(7000.0 / (1.0 + 100e-6), rel=2e-6)
    assert clock.splits == 0


def test_times_are_never_later_than_receipt() -> None:
    rng = np.random.default_rng(6)
    true_ns = sampled(3000, 1000.0)
    received_ns = received(true_ns, rng)
    assert np.all(SequenceClock().stamp(np.arange(3000), received_ns) <= received_ns)


def test_a_stall_of_the_network_does_not_shift_the_times() -> None:
    rng = np.random.default_rng(7)
    true_ns = sampled(10_000, 1000.0)
    received_ns = received(true_ns, rng)
    stall = slice(5000, 6500)
    received_ns[stall] = received_ns[6500]
    clock = SequenceClock()
    error_ns = clock.stamp(np.arange(10_000), received_ns) - true_ns - 200_000
    assert clock.splits == 0
    assert np.abs(error_ns[2000:]).max() < 100_000


def test_bursts_of_a_busy_sender_are_spread_out_again() -> None:
    """A simulated sensor at ten times the speed wakes up now and then and sends what is due."""
    rng = np.random.default_rng(11)
    true_ns = sampled(200_000, 1000.0)
    wake_ns = START_NS + np.cumsum(rng.exponential(100_000_000, 4000)).astype(np.int64)
    received_ns = wake_ns[np.searchsorted(wake_ns, true_ns)] + 100_000
    clock = SequenceClock(speed=10.0)
    stamps = clock.stamp(np.arange(200_000), received_ns)
    assert clock.splits == 0
    assert np.abs(stamps - true_ns)[20_000:].max() < 10_000_000
    assert np.abs(np.diff(stamps) - 1_000_000)[20_000:].max() < 10_000_000


@pytest.mark.parametrize(("stated", "step"), [(1000.0, 1), (1000.0, 7)])
def test_a_stated_rate_makes_times_good_at_once_even_in_bursts(stated: float, step: int) -> None:
    rng = np.random.default_rng(11)
    true_ns = sampled(20_000, 1000.0, 60e-6)
    wake_ns = START_NS + np.cumsum(rng.exponential(100_000_000, 4000)).astype(np.int64)
    received_ns = wake_ns[np.searchsorted(wake_ns, true_ns)] + 100_000
    clock = SequenceClock(speed=10.0)
    clock.expect(stated)
    stamps = clock.stamp(np.arange(20_000) * step, received_ns)
    assert clock.splits == 0
    assert np.abs(stamps - true_ns)[2000:].max() < 10_000_000
    assert clock.rate_hz == pytest.approx(1000.0 * step, rel=0.0006)


@pytest.mark.parametrize("stated", [500.0, 2000.0, 1030.0])
def test_a_wrong_statement_of_the_rate_is_found_out(stated: float) -> None:
    rng = np.random.default_rng(13)
    true_ns = sampled(30_000, 1000.0)
    clock = SequenceClock()
    clock.expect(stated)
    error_ns = clock.stamp(np.arange(30_000), received(true_ns, rng)) - true_ns - 200_000
    assert np.abs(error_ns[-10_000:]).max() < 100_000


def test_a_counter_that_jumps_ahead_begins_a_new_line() -> None:
    rng = np.random.default_rng(12)
    true_ns = sampled(10_000, 1000.0)
    sequence = np.arange(10_000) + 5000 * (np.arange(10_000) >= 5000)
    clock = SequenceClock()
    error_ns = clock.stamp(sequence, received(true_ns, rng)) - true_ns - 200_000
    assert clock.splits == 1
    assert np.abs(error_ns[6000:]).max() < 100_000


def test_a_counter_that_restarts_begins_a_new_line() -> None:
    rng = np.random.default_rng(8)
    true_ns = np.concatenate([sampled(5000, 1000.0), sampled(5000, 1000.0) + 8_000_000_000])
    sequence = np.concatenate([np.arange(5000) + 100_000, np.arange(5000)])
    clock = SequenceClock()
    error_ns = clock.stamp(sequence, received(true_ns, rng)) - true_ns - 200_000
    assert clock.splits == 1
    assert np.abs(error_ns[7000:]).max() < 100_000


def test_a_counter_that_stood_still_is_noticed() -> None:
    rng = np.random.default_rng(9)
    true_ns = np.concatenate([sampled(5000, 1000.0), sampled(8000, 1000.0) + 8_000_000_000])
    clock = SequenceClock()
    error_ns = clock.stamp(np.arange(13_000), received(true_ns, rng)) - true_ns - 200_000
    assert clock.splits == 1
    assert np.abs(error_ns[-4000:]).max() < 100_000


def test_lost_samples_leave_the_times_of_the_others_alone() -> None:
    rng = np.random.default_rng(10)
    true_ns = sampled(20_000, 1000.0)
    received_ns = received(true_ns, rng)
    kept = rng.random(20_000) > 0.3
    kept[8000:12_000] = False
    error_ns = SequenceClock().stamp(np.flatnonzero(kept), received_ns[kept]) - true_ns[kept] - 200_000
    assert np.abs(error_ns[1500:]).max() < 100_000


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["steady", "lossy", "restarted", "stood still", "jumped", "shuffled"]),
    st.sampled_from([1.0, 8.0]),
    st.sampled_from([0.0, 1000.0, 1300.0]),
)
def test_stamps_of_many_are_those_of_each(seed: int, trouble: str, speed: float, stated_hz: float) -> None:
    rng = np.random.default_rng(seed)
    sequence = np.arange(4000) * int(rng.choice([1, 7])) + int(rng.choice([0, 2**32 - 5000]))
    received_s = np.arange(4000) / 1000.0 + rng.exponential(rng.choice([1e-5, 1e-3, 1e-2]), 4000)
    match trouble:
        case "lossy":
            kept = rng.random(4000) > 0.05
            sequence, received_s = sequence[kept], received_s[kept]
        case "restarted":
            sequence[2000:] -= sequence[2000]
        case "stood still":
            received_s[2000:] += float(rng.choice([0.3, 3.0, 90.0]))
        case "jumped":
            sequence[2000:] += 10_000
        case "shuffled":
            sequence[rng.integers(0, 4000, 20)] += rng.integers(-30, 30, 20)
    sequence %= 2**32
    received_ns = START_NS + (received_s * 1e9).astype(np.int64)
    single, together = SequenceClock(speed=speed), SequenceClock(speed=speed)
    single.expect(stated_hz)
    together.expect(stated_hz)
    expected = [single.add(s, r) for s, r in zip(sequence.tolist(), received_ns.tolist(), strict=True)]
    found: list[int] = []
    while len(found) < len(sequence):
        some = slice(len(found), len(found) + int(rng.choice([1, 20, 600, 3000])))
        found += together.stamp(sequence[some], received_ns[some]).tolist()
    assert found == expected
    assert vars(together) == vars(single)
