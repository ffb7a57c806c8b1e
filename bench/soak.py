"""Ten minutes at full load: 360 Hz NatNet with 20 bodies and 7000 Hz F/T over loopback, recorded, with a live plot.

``python -m bench.soak [SECONDS]`` prints what was lost, how late the receive stamps are, and the processor time and
memory of the receiving process. Needs a quiet machine: the simulated devices run on the same one.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

from devices.clock import HostClock
from devices.netft import NetFT, NetFTHealth
from devices.sim import SimulatedRig
from ident.rig import Listeners, Rig
from ident.simulated import simulated_config
from sessions import Recorder

BODIES = 20


def main(seconds: float) -> int:
    """Record for a while and account for everything."""
    clock = HostClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        SimulatedRig("door", mocap_hz=360, ft_hz=7000, extra_bodies=BODIES - 1) as sim,
        Recorder(Path(folder) / "soak.mcap", metadata={"purpose": "soak"}, now_ns=clock.now_ns) as recorder,
    ):
        listeners = Listeners(datagram=recorder.datagram, poses=recorder.poses, wrenches=recorder.wrench_columns)
        with Rig(simulated_config(sim), clock, listeners) as rig:
            time.sleep(2.0)
            lost = (rig.mocap.health().lost_frames, _ft(rig).account.lost)
            used, begun = time.process_time(), time.monotonic()
            while (left := seconds - (time.monotonic() - begun)) > 0.0:
                time.sleep(min(left, 30.0))
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(f"{time.monotonic() - begun:5.0f} s  {memory:6.1f} MiB at most", flush=True)
            share = (time.process_time() - used) / (time.monotonic() - begun)
            mocap, ft = rig.mocap.health(), _ft(rig)
            print(
                f"mocap {mocap.rate_hz:.0f} Hz, {mocap.frames} frames, {mocap.lost_frames - lost[0]} lost "
                f"(the rig itself drops 1 in 1000), {mocap.kernel_drops} dropped by the kernel\n"
                f"ft {ft.rate_hz:.0f} Hz, {ft.account.delivered} samples, {ft.account.lost - lost[1]} lost, "
                f"{ft.kernel_drops} dropped by the kernel\n"
                f"exposure to receipt: {mocap.latency_median_ms:.2f} ms median, {mocap.latency_max_ms:.2f} ms max\n"
                f"processor: {share:.0%} of one core; recorder stalls: {recorder.health().stalls}"
            )
            return int(mocap.kernel_drops + ft.kernel_drops + ft.account.lost - lost[1] > 0)


def _ft(rig: Rig) -> NetFTHealth:
    assert isinstance(rig.ft, NetFT)
    return rig.ft.health()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
