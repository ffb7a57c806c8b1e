"""The latency that knocks tell: where it is kept, and what it does to the samples."""

from dataclasses import replace
from pathlib import Path

import pytest

from devices.clock import HostClock
from devices.sim import SimulatedRig
from devices.sim.disturbances import Disturbances
from ident.config import load_rig
from ident.errors import IdentError
from ident.rig import Rig
from ident.simulated import simulated_config
from ident.tap_test import store_latency, tap_test


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'name = "lab"\n\n[ft]\nhost = "10.0.0.2"\n',
            'name = "lab"\n\n[ft]\nlatency_s = 0.001500\nhost = "10.0.0.2"\n',
        ),
        ('[ft]\nhost = "a"\nlatency_s = 0.2\n\n[mocap]\nbody = "g"\n',) * 2,
        ("[ft]", "[ft]\nlatency_s = 0.001500\n"),
        ('[ft]  # the box\n[ft.calibration]\nserial = "FT1"\ncounts_per_force = 1.0\ncounts_per_torque = 1.0\n', None),
    ],
)
def test_it_is_stored_under_the_sensor_and_nothing_else_changes(tmp_path: Path, before: str, after: str | None) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(before)
    store_latency(path, 0.0015)
    stored = load_rig(path)
    assert stored.ft is not None
    assert stored.ft.latency_s == 0.0015
    if after is not None:
        assert path.read_text() == after.replace("0.2\n", "0.001500\n")
    store_latency(path, 0.0)
    path.write_text(path.read_text().replace("latency_s = 0.000000\n", ""))
    assert load_rig(path) == stored.model_copy(update={"ft": stored.ft.model_copy(update={"latency_s": 0.0})})


def test_a_rig_file_without_a_sensor_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text('[mocap]\nbody = "gripper"\n')
    with pytest.raises(IdentError, match=r"has no line \[ft\].*latency_s = 0.001500"):
        store_latency(path, 0.0015)


def test_one_event_has_one_time_in_both_streams(tmp_path: Path) -> None:
    """Drifting clocks, an exposure delay and a sensor that is set 8 ms early: knocks find it, over real sockets."""
    drifting = replace(Disturbances(), ticks_drift_ppm=100.0, sample_drift_ppm=-100.0, exposure_delay_ms=4.0)
    with SimulatedRig("door", seed=5, disturbances=drifting) as sim:
        config = simulated_config(sim)
        assert config.ft is not None
        early = config.model_copy(update={"ft": config.ft.model_copy(update={"latency_s": 0.008})})
        with Rig(early, HostClock()) as rig:
            found = tap_test(rig, 1.0, sim, taps=6)
        # The transport over loopback is under a millisecond; what was set is what is found missing.
        assert abs(found.offset_ns - 8e6) < 1.5e6
        latency_s = 0.008 - found.offset_ns * 1e-9
        right = config.model_copy(update={"ft": config.ft.model_copy(update={"latency_s": latency_s})})
        with Rig(right, HostClock()) as rig:
            rest = tap_test(rig, 1.0, sim, taps=6)
        assert abs(rest.offset_ns) < 3.5 * (rest.sigma_ns**2 + found.sigma_ns**2) ** 0.5
