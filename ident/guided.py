"""A measurement with a person: the shells of the workflow around one rig and one session."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from devices.sim import SimulatedRig
from ident.config import RigConfig
from ident.measure import Setup, measurement
from ident.simulated import SimulatedHand
from ident.takes import TakeData
from ident.ui.line import LineShell
from ident.workflow.plan import Plan
from ident.workflow.state import State
from sessions import session_folder


def guide(
    config: RigConfig,
    plan: Plan | None,
    *,
    sim: SimulatedRig | None,
    speed: float,
    folder: Path,
    session: Path | None = None,
    resume: tuple[State, dict[int, TakeData]] | None = None,
) -> int:
    """Run the procedure in line mode; returns the exit status."""
    name = plan.name if plan is not None else "object"
    path = session or session_folder() / f"{datetime.now(UTC):%Y-%m-%d_%H%M%S}_{name}.mcap"
    setup = Setup(
        config=config,
        session=path,
        folder=folder,
        speed=speed,
        metadata={"object": name, "speed": speed, "operator": "person"},
        resume=resume,
    )
    shell = LineShell()
    try:
        with measurement(setup, shell.on_change) as m:
            if sim is not None:
                m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            status = shell.run(m.runner, plan)
    finally:
        if path.exists():
            print(f"Session: {path}", file=sys.stderr)
            print(f"Go on later with: ident resume {path}", file=sys.stderr)
    return status
