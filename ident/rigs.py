"""Which rig a command works with: a file, or a simulated one that lives as long as the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devices.sim import SimulatedRig
from ident.config import RigConfig, load_rig
from ident.simulated import simulated_config

SIMULATED = "sim"


@contextmanager
def open_rig_config(
    rig: str, *, scene: str = "door", seed: int = 1, speed: float = 1.0
) -> Iterator[tuple[RigConfig, SimulatedRig | None]]:
    """Give the configuration of a rig, and the simulation behind it where there is one."""
    if rig != SIMULATED:
        yield load_rig(Path(rig)), None
        return
    with SimulatedRig(object=scene, seed=seed, speed=speed) as sim:
        yield simulated_config(sim), sim
