"""Ten minutes at full load: 360 Hz NatNet with 20 bodies and 7000 Hz F/T over loopback, recorded, wizard and plot open.

``python -m bench.soak [SECONDS]`` runs the wizard on a pseudo-terminal with a take that lasts all the time, its live
fit and its live plot in ``png`` mode. It prints what was lost, how late the receive stamps are after the moment of
sending (each frame tells it), and the processor time and memory of the receiving process. Needs a quiet machine: the
simulated devices run on the same one. Fails on a loss, a p99 over 1 ms, a full core, and memory that grows after
the first minute.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.full_load import SESSION, FullLoad
from devices.natnet import packets
from devices.natnet.messages import Frame
from sessions import open_session

BODIES = 20
VERSION = (4, 1)
LATEST_MS = 1.0
GROWTH_MIB = 6.0
"""Growth of memory after the first minute that still counts as none: caches fill and the allocator breathes."""


def main(seconds: float) -> int:
    """Watch for a while and account for everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with FullLoad(folder, BODIES, "png", seconds, 360) as load:
            load.wait_until_begun()
            said = load.result(seconds)
            steps = [item for item in load.said() if "t" in item]
        if "seconds" not in said:
            print(f"The run did not end well: {load.terminal.last.decode(errors='replace')}")
            return 1
        late_ms, missing = _lateness(folder / SESSION, said)
    for item in steps:
        print(f"{item['t']:5.0f} s  {item['rss_mib']:6.1f} MiB  {item['share']:.0%} of one core so far")
    p50, p99 = np.percentile(late_ms, [50.0, 99.0])
    growth = said["rss_mib"] - next((item["rss_mib"] for item in steps if item["t"] >= 60.0), said["rss_mib"])
    print(
        f"{said['seconds']:.0f} s: mocap {said['mocap_hz']:.0f} Hz × {BODIES} bodies, {said['mocap_frames']} frames, "
        f"{said['mocap_lost']} lost, {said['mocap_kernel_drops']} dropped by the kernel, {missing} not in the session\n"
        f"F/T {said['ft_hz']:.0f} Hz, {said['ft_delivered']} samples, {said['ft_lost']} lost, "
        f"{said['ft_kernel_drops']} dropped by the kernel; recorder stalls: {said['stalls']}\n"
        f"receive stamp after sending: median {p50:.2f} ms, p99 {p99:.2f} ms, longest {late_ms.max():.1f} ms "
        f"({len(late_ms)} frames)\n"
        f"processor: {said['share']:.0%} of one core; memory {said['rss_mib']:.1f} MiB, "
        f"{growth:+.1f} MiB since the first minute\n"
        f"{said['fits_hz']:.1f} live fits a second in a take of {said['samples']} samples {said['note']}"
    )
    losses = ("mocap_lost", "mocap_kernel_drops", "ft_lost", "ft_kernel_drops")
    failed = any(said[name] for name in losses) or missing
    return int(failed or p99 > LATEST_MS or said["share"] >= 1.0 or growth > GROWTH_MIB)


def _lateness(session: Path, said: dict[str, Any]) -> tuple[NDArray[np.float64], int]:
    """Milliseconds from sending to the receive stamp of each recorded frame, and how many frames are missing."""
    slope = said["ticks_span_ns"] / said["ticks_span"]
    numbers: list[int] = []
    late: list[float] = []
    for datagram in open_session(session).datagrams(streams=["natnet/data"]):
        frame = packets.decode(datagram.data, VERSION)
        if isinstance(frame, Frame):
            numbers.append(frame.number)
            sent_ns = said["ticks_zero_ns"] + frame.transmit_ticks * slope
            late.append((datagram.t_ns - sent_ns) * 1e-6)
    return np.array(late), int(np.sum(np.diff(numbers) - 1))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
