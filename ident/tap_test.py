"""The tap test: knocks on the table tell the constant offset between motion capture and force/torque sensor."""

import re
import time
from pathlib import Path

from devices.latency import LatencyResult, tap_offset
from devices.sim import SimulatedRig
from ident.errors import IdentError
from ident.model.file import write_text
from ident.rig import Rig

SIMULATED_TAPS = 20


def tap_test(rig: Rig, seconds: float, sim: SimulatedRig | None = None, taps: int = SIMULATED_TAPS) -> LatencyResult:
    """Listen while the operator, or the simulated one, hits the table, and find the offset."""
    wrenches = rig.wrenches
    if wrenches is None:
        raise IdentError("The rig has no force/torque sensor, so there is no offset to find.")
    t0_ns = rig.clock.now_ns()
    if sim is not None:
        sim.perform({"kind": "tap", "taps": taps})
        time.sleep(0.2)
    else:
        print(f"Hit the table with the gripper twenty times within {seconds:g} s …", flush=True)
        time.sleep(seconds)
    t1_ns = rig.clock.now_ns()
    poses, forces = rig.body.window(t0_ns, t1_ns), wrenches.window(t0_ns, t1_ns)
    keep = poses.measured
    return tap_offset(
        poses.t_ns[keep], poses.positions[keep], forces.t_ns[forces.valid], forces.wrench[forces.valid, :3]
    )


def store_latency(path: Path, seconds: float) -> None:
    """Put the sensor's latency into the ``[ft]`` table of a rig file, in the place of a former one."""
    text = path.read_text(encoding="utf-8")
    line = f"latency_s = {seconds:.6f}"
    table = re.search(r"(?m)^\[ft\][^\n]*\n?((?:(?!\s*\[).*\n?)*)", text)
    if table is None:
        raise IdentError(f"{path} has no line [ft] to store the latency under. Write {line} into it by hand.")
    start, end = table.span(1)
    kept, count = re.subn(r"(?m)^\s*latency_s\s*=.*$", line, text[start:end])
    newline = "" if text[:start].endswith("\n") else "\n"
    write_text(path, text[:start] + newline + (kept if count else f"{line}\n{kept}") + text[end:])
