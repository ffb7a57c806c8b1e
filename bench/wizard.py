"""The wizard under full load: 360 Hz poses and 7000 Hz wrenches, a take of more than 36 000 samples.

``python -m bench.wizard [SAMPLES] [SECONDS] [BODIES] [PLOT]`` runs it on a pseudo-terminal and presses keys as an
operator would, from another process. Prints how often the live fit was renewed once the take was that long, and how
long a key waited until its answer was drawn. Run it alone: the simulated devices need a core of their own.
Fails where the fit comes less than ten times a second, and where one key in a hundred waits longer than 100 ms.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.full_load import FullLoad
from bench.terminal import Terminal

SAMPLES = 36_000
FEWEST_FITS_HZ = 10.0
LONGEST_WAIT_MS = 100.0
PATIENCE_S = 5.0


def main(samples: int = SAMPLES, seconds: float = 60.0, bodies: int = 1, plot: str = "off") -> int:
    """Watch one run, with so many tracked bodies and with or without the live plot."""
    with tempfile.TemporaryDirectory() as folder, FullLoad(Path(folder), bodies, plot, seconds, samples) as load:
        load.wait_until_begun()
        waits = _press_keys(load.terminal, seconds - 2.0)
        said = load.result()
    ms = np.array(waits) * 1e3
    p99 = float(np.percentile(ms, 99))
    print(f"take of {said['samples']} samples: {said['fits_hz']:.1f} live fits a second; {said['fit']} {said['note']}")
    print(f"{len(ms)} keys: median {np.median(ms):.0f} ms, p99 {p99:.0f} ms, longest {ms.max():.0f} ms")
    print(f"{said['share']:.0%} of one core; mocap {said['mocap_hz']:.0f} Hz, F/T {said['ft_hz']:.0f} Hz")
    return int(said["fits_hz"] < FEWEST_FITS_HZ or p99 > LONGEST_WAIT_MS)


def _press_keys(terminal: Terminal, seconds: float) -> list[float]:
    """Open and close the help at moments that have nothing to do with the wizard's own rhythm."""
    moments = random.Random(1)
    waits: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        terminal.drain(moments.uniform(0.15, 0.45))
        terminal.press("?")
        waits.append(terminal.wait_for("set the last take aside", PATIENCE_S))
        terminal.drain(moments.uniform(0.15, 0.45))
        terminal.press("x")
    return waits


if __name__ == "__main__":
    readers = (int, float, int, str)
    sys.exit(main(*(read(word) for read, word in zip(readers, sys.argv[1:], strict=False))))
