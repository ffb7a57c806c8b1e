"""The tap test on simulated knocks: a hand that swings, hits, bounces and swings back."""

from dataclasses import dataclass

import numpy as np
import pytest

from devices.clock import EchoSync, SequenceClock
from devices.errors import DeviceError
from devices.latency import LatencyResult, tap_offset

START_NS = 1_700_000_000_000_000_000
FINE_HZ = 8000.0


@dataclass
class Knocking:
    """Streams of poses and forces of some knocks, the poses stamped ``offset_s`` late."""

    seed: int = 0
    offset_s: float = 0.0
    taps: int = 10
    mocap_hz: float = 120.0
    force_hz: float = 1000.0
    noise_m: float = 0.0004
    contact_s: float = 0.012
    strength: float = 1.0

    def streams(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        speed, contact = self.swing(rng)
        place = (np.cumsum(speed) - speed / 2) / FINE_HZ
        # The sensor feels the table and, against it, the inertia of the 0.4 kg that hang on it.
        force = 0.8 * contact - 0.4 * np.gradient(speed) * FINE_HZ
        times = np.arange(len(place)) / FINE_HZ
        pose_s = np.arange(rng.uniform(0.0, 0.01), times[-1], 1.0 / self.mocap_hz)
        wrench_s = np.arange(rng.uniform(0.0, 0.001), times[-1], 1.0 / self.force_hz)
        up, felt = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        positions = np.interp(pose_s, times, place)[:, None] * up
        positions += rng.normal(scale=self.noise_m, size=positions.shape)
        forces = self.strength * np.interp(wrench_s, times, force)[:, None] * felt + np.array([0.0, 0.0, -5.0])
        forces += rng.normal(scale=0.05, size=forces.shape)
        stamps = (START_NS + (t * 1e9).astype(np.int64) for t in (pose_s + self.offset_s, wrench_s))
        pose_ns, wrench_ns = stamps
        return pose_ns, positions, wrench_ns, forces

    def swing(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Velocity along the knock, and the acceleration that the table gives."""
        speeds, contacts = [np.zeros(4000)], [np.zeros(4000)]
        for _ in range(self.taps):
            down, up = rng.uniform(0.3, 0.45), rng.uniform(0.08, 0.14)
            fall = -down * _minimum_jerk(np.linspace(0.0, 1.0, 1600))
            phase = np.linspace(0.0, np.pi, round(self.contact_s * FINE_HZ))
            hit = -0.5 * (down - up) - 0.5 * (down + up) * np.cos(phase)
            s = np.linspace(0.0, 1.0, 3600)
            bell = s**2 * (1.0 - s) ** 2
            back = up * (1.0 - _minimum_jerk(s))
            back -= (fall.sum() + hit.sum() + back.sum()) * bell / bell.sum()
            pause = np.zeros(round(rng.uniform(2000, 4000)))
            speeds += [fall, hit, back, pause]
            pulse = np.sin(phase) * (down + up) * np.pi / (2.0 * self.contact_s)
            contacts += [np.zeros_like(fall), pulse, np.zeros(len(back) + len(pause))]
        return np.concatenate(speeds), np.concatenate(contacts)


def _minimum_jerk(s: np.ndarray) -> np.ndarray:
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def offset_of(knocking: Knocking) -> LatencyResult:
    return tap_offset(*knocking.streams())


@pytest.mark.parametrize("seed", range(6))
def test_the_offset_is_found_within_half_a_millisecond(seed: int) -> None:
    offset_s = float(np.random.default_rng(seed + 100).uniform(-0.08, 0.08))
    result = offset_of(Knocking(seed, offset_s))
    assert result.taps == 10
    assert abs(result.offset_ns / 1e9 - offset_s) < 0.0005
    assert 50_000 < result.sigma_ns < 300_000
    assert result.rms_m == pytest.approx(0.0004, rel=0.15)
    assert result.explained > 0.95


@pytest.mark.parametrize(
    "knocking",
    [
        Knocking(1, 0.0123, mocap_hz=360.0, taps=5),
        Knocking(2, -0.0087, force_hz=7000.0),
        Knocking(3, 0.031, contact_s=0.025, noise_m=0.0001, taps=5),
        Knocking(4, 0.031, contact_s=0.004, noise_m=0.0001, taps=5),
        Knocking(5, 0.005, noise_m=0.0001, taps=1),
        Knocking(6, 0.005, strength=-3.0, noise_m=0.0001),
    ],
)
def test_it_holds_for_other_rates_knocks_and_directions(knocking: Knocking) -> None:
    assert abs(offset_of(knocking).offset_ns / 1e9 - knocking.offset_s) < 0.0005


@pytest.mark.parametrize("seed", range(3))
def test_one_event_has_one_time_after_sync_and_tap_test(seed: int) -> None:
    """Clocks that drift by 100 ppm against each other, start anywhere, and delay by unknown constants."""
    rng = np.random.default_rng(seed)
    pose_ns, positions, wrench_ns, forces = Knocking(seed).streams()

    def ticks(true_ns: int) -> int:
        return 10**12 + round((true_ns - START_NS) * 3_312_787e-9 * (1.0 + 100e-6))

    sync = EchoSync(3_312_787)
    for sent_ns in range(START_NS - 60_000_000_000, int(pose_ns[-1]), 1_000_000_000):
        there, back = (300_000 + int(rng.exponential(200_000)) for _ in range(2))
        sync.add(sent_ns, ticks(sent_ns + there), sent_ns + there + back)
    exposed_ns = np.array([sync.to_host(ticks(t + 1_700_000)) for t in pose_ns.tolist()])

    # The sensor's clock drifts the other way; its filter delays by 3 ms, the network by 0.2 ms and jitter.
    clock = SequenceClock()
    sampled_ns = wrench_ns[0] + ((wrench_ns - wrench_ns[0]) * (1.0 - 100e-6)).astype(np.int64)
    forces = np.column_stack([np.interp(sampled_ns - 3_000_000, wrench_ns, f) for f in forces.T])
    received_ns = sampled_ns + 200_000 + rng.exponential(300_000, len(sampled_ns)).astype(np.int64)
    stamped_ns = clock.stamp(np.arange(len(sampled_ns)), np.maximum.accumulate(received_ns))

    kept = stamped_ns > stamped_ns[0] + 300_000_000
    result = tap_offset(exposed_ns, positions, stamped_ns[kept], forces[kept])
    # An event shows in the poses 1.7 ms late, and in the wrenches 3.2 ms late.
    assert abs(result.offset_ns - (1_700_000 - 3_200_000)) < 500_000


def test_its_standard_deviation_is_honest() -> None:
    errors = []
    for seed in range(16):
        result = offset_of(Knocking(seed, 0.01, taps=4, noise_m=0.0003))
        errors.append((result.offset_ns - 10_000_000) / result.sigma_ns)
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.5


def test_no_knock_no_offset() -> None:
    pose_ns, positions, wrench_ns, forces = Knocking().streams()
    with pytest.raises(DeviceError, match=r"No knock was found .*`ident check --latency`"):
        tap_offset(pose_ns, positions, wrench_ns, 0.05 * forces)


def test_knocks_that_the_poses_do_not_show_are_refused() -> None:
    pose_ns, positions, wrench_ns, forces = Knocking().streams()
    still = np.random.default_rng(1).normal(scale=0.0004, size=positions.shape)
    with pytest.raises(DeviceError, match="do not show in the poses"):
        tap_offset(pose_ns, still, wrench_ns, forces)


def test_an_offset_beyond_reach_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"within ±100 ms"):
        offset_of(Knocking(3, 0.17))


def test_missing_streams_are_named() -> None:
    pose_ns, positions, wrench_ns, forces = Knocking(taps=1).streams()
    with pytest.raises(DeviceError, match=f"got 0 and {len(wrench_ns)}"):
        tap_offset(pose_ns[:0], positions[:0], wrench_ns, forces)
