"""The wizard under full load: 360 Hz poses and 7000 Hz wrenches, a take of more than 36 000 samples.

Prints how often the live fit was renewed once the take was that long, and how long a key waited for its answer on the
screen. Run it alone on the machine: ``python -m bench.wizard``.
"""

import asyncio
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from textual import events

from devices.sim import SimulatedRig
from ident.description import plan_from_tables
from ident.live.watch import Live
from ident.measure import Measurement, Setup, measurement
from ident.simulated import simulated_config
from ident.ui.wizard.app import StateChanged, WizardApp
from ident.ui.wizard.dialogs import Help
from ident.workflow import events as ev
from ident.workflow.state import Phase

SAMPLES = 36_000
POSES_HZ, WRENCHES_HZ = 360, 7000


async def main(samples: int = SAMPLES) -> None:
    folder = Path(tempfile.mkdtemp())
    app: WizardApp | None = None
    with SimulatedRig(object="door", mocap_hz=POSES_HZ, ft_hz=WRENCHES_HZ) as sim:
        plan, _ = plan_from_tables(sim.description())
        setup = Setup(simulated_config(sim), folder / "bench.mcap", folder)
        with measurement(setup, lambda state: app.post_message(StateChanged(state)) if app else None) as m:
            limits = m.rig.config.limits()
            with Live(m.rig, m.runner, limits) as live:
                app = WizardApp(m.runner, live.status, limits)
                m.runner.post(ev.Described(plan=plan.to_dict()))
                async with app.run_test(size=(120, 40)):
                    await _measure(app, m, live, sim, samples)


async def _measure(app: WizardApp, m: Measurement, live: Live, sim: SimulatedRig, samples: int) -> None:
    while m.runner.state.phase is not Phase.READY:
        await asyncio.sleep(0.05)
    m.runner.post(ev.Skip())
    m.runner.post(ev.Proceed())
    stop = threading.Event()
    hand = threading.Thread(target=_keep_moving, args=(sim, stop))
    hand.start()
    while live.track is None or live.track.samples < samples:
        await asyncio.sleep(0.2)
    waits: list[float] = []
    fits = [live.track]
    begun = time.monotonic()
    while time.monotonic() - begun < 20.0:
        waits.append(await _key(app))
        for _ in range(20):
            await asyncio.sleep(0.005)
            if live.track is not fits[-1]:
                fits.append(live.track)
    rate = (len(fits) - 1) / (time.monotonic() - begun)
    ms = np.array(waits) * 1e3
    track = live.track
    print(f"take of {track.samples} samples: {rate:.1f} live fits a second; {track.fit and track.fit.verdict.summary}")
    print(
        f"{len(ms)} keys: median {np.median(ms):.0f} ms, p99 {np.percentile(ms, 99):.0f} ms, longest {ms.max():.0f} ms"
    )
    stop.set()
    await asyncio.to_thread(hand.join)


def _keep_moving(sim: SimulatedRig, stop: threading.Event) -> None:
    while not stop.is_set():
        sim.perform({"kind": "joint", "name": "hinge", "style": "careful"})


async def _key(app: WizardApp) -> float:
    """Seconds from a key to the window that it opens."""
    began = time.monotonic()
    app.post_message(events.Key("question_mark", "?"))
    while not (isinstance(app.screen, Help) and app.screen.is_mounted):
        await asyncio.sleep(0.001)
    waited = time.monotonic() - began
    app.post_message(events.Key("escape", None))
    while isinstance(app.screen, Help):
        await asyncio.sleep(0.001)
    return waited


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES))
