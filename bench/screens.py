"""Pictures for the README, taken from a simulated measurement: ``python -m bench.screens [FOLDER]``.

Writes ``wizard.svg`` (the wizard while the door's hinge is being turned), ``live.png`` (the live plot at the same
moment) and ``door.png`` (the figure of the finished model).
"""

import asyncio
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from devices.sim import SimulatedRig
from ident.description import plan_from_tables
from ident.measure import Setup, measurement
from ident.simulated import SimulatedHand, simulated_config
from ident.ui.wizard import WizardShell
from ident.workflow.state import WEIGHT, Phase, State

SAMPLES = 560
"""Poses of the hinge's take after which the pictures are taken: it is nearly open."""
PATIENCE_S = 120.0


async def main(target: Path) -> None:
    """Identify the door, and take the pictures on the way."""
    with tempfile.TemporaryDirectory() as place, SimulatedRig(object="door", seed=1) as sim:
        folder = Path(place)
        shell = WizardShell(plot="png", plot_file=folder / "live.png")
        plan, _ = plan_from_tables(sim.description())
        with measurement(Setup(simulated_config(sim), folder / "door.mcap", folder), shell.on_change) as m:
            m.runner.offers = (WEIGHT,)
            m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            with shell.opened(m, plan) as app:
                async with app.run_test(size=(92, 26)) as pilot:
                    while m.runner.state.phase is not Phase.FINISHED:
                        await _until(lambda: _is_up_to_us(m.runner.state))
                        if _in_hinge_take(m.runner.state):
                            await _until(lambda: _samples(shell) > SAMPLES or not _in_hinge_take(m.runner.state))
                            await asyncio.sleep(1.0)
                            # Whoever looks at it may have no network: fonts of this computer serve as well.
                            picture = re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(), flags=re.DOTALL)
                            (target / "wizard.svg").write_text(picture, encoding="utf-8")
                            shutil.copy(folder / "live.png", target / "live.png")
                            await _until(lambda: not _in_hinge_take(m.runner.state))
                        elif _asks(m.runner.state):
                            before = m.runner.state
                            await pilot.press("enter")
                            await _until(lambda before=before: m.runner.state is not before)
        shutil.copy(folder / "door.png", target / "door.png")


def _is_up_to_us(state: State) -> bool:
    return state.phase is Phase.FINISHED or _asks(state) or _in_hinge_take(state)


def _asks(state: State) -> bool:
    return state.phase in (Phase.READY, Phase.VERDICT, Phase.REVIEW) and not state.lost


def _in_hinge_take(state: State) -> bool:
    return state.recording is not None and state.recording.target.node == "hinge"


def _samples(shell: WizardShell) -> int:
    track = shell.live.track if shell.live is not None else None
    return track.samples if track is not None and track.take.target.node == "hinge" else 0


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the measurement does not go on")
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images")))
