"""Time in the simulated world: it may run faster than real time, and its clocks drift as real ones do."""

import time

from devices.sim.disturbances import Disturbances
from devices.sim.randomness import CLOCK, generator

TICKS_HZ = 3_312_787
"""Nominal frequency of the mocap server's clock, as a real server reports it; never the 10 MHz that clients assume."""


class WorldClock:
    """Seconds of the simulated world since its start, and the mocap server's ticks.

    Host time is real time × speed. The world's sampling runs ``sample_drift_ppm`` fast against it, the tick clock
    ``ticks_drift_ppm``.
    """

    def __init__(self, seed: int, speed: float, disturbances: Disturbances) -> None:
        self.rate = speed * (1.0 + 1e-6 * disturbances.sample_drift_ppm)
        """World seconds per real second."""
        self._ticks_per_second = TICKS_HZ * (
            (1.0 + 1e-6 * disturbances.ticks_drift_ppm) / (1.0 + 1e-6 * disturbances.sample_drift_ppm)
        )
        self._first_tick = int(generator(seed, CLOCK).integers(10**9, 10**12))
        self._start_ns = time.monotonic_ns()

    def now(self) -> float:
        """World seconds."""
        return 1e-9 * (time.monotonic_ns() - self._start_ns) * self.rate

    def until(self, world_s: float) -> float:
        """Real seconds from now to a world time; negative if it has passed."""
        return (world_s - self.now()) / self.rate

    def ticks(self, world_s: float) -> int:
        """The mocap server's clock at a world time."""
        return self._first_tick + round(world_s * self._ticks_per_second)
