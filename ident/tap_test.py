"""The tap test: knocks on the table tell the constant offset between motion capture and force/torque sensor."""

import re
import time
from pathlib import Path

from devices.latency import LatencyResult, tap_offset
from devices.sim import SimulatedRig
from ident.errors import IdentError
from ident.model.file import write_text
from ident.rig import Rig

SIMULATED_TAPS = 10


def tap_test(rig: Rig, seconds: float, sim: SimulatedRig | None = None) -> LatencyResult:
    """Listen while the operator, or the simulated one, hits the table, and find the offset."""
    wrenches = rig.wrenches
    if wrenches is None:
        raise IdentError("The rig has no force/torque sensor, so there is no offset to find.")
    t0_ns = rig.clock.now_ns()
    if sim is not None:
        sim.perform({"kind": "tap", "taps": SIMULATED_TAPS})
        time.sleep(0.2)
    else:
        print(f"Hit the table with the gripper ten times within {seconds:g} s …", flush=True)
        time.sleep(seconds)
    t1_ns = rig.clock.now_ns()
    poses, forces = rig.body.window(t0_ns, t1_ns), wrenches.window(t0_ns, t1_ns)
    keep = poses.measured
    return tap_offset(
        poses.t_ns[keep], poses.positions[keep], forces.t_ns[forces.valid], forces.wrench[forces.valid, :3]
    )


def store_latency(path: Path, seconds: float) -> None:
    """Put the offset into a rig file, in the place of a former one."""
    text = path.read_text(encoding="utf-8")
    line = f"ft_latency_s = {seconds:.6f}"
    replaced, count = re.subn(r"(?m)^ft_latency_s\s*=.*$", line, text)
    write_text(path, replaced if count else f"{line}\n{text}")
