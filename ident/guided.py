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
from sessions.catalogue import new_session_path


def guide(
    config: RigConfig,
    plan: Plan | None,
    *,
    sim: SimulatedRig | None,
    speed: float,
    folder: Path,
    session: Path | None = None,
    scene: str | None = None,
    seed: int = 1,
    resume: tuple[State, dict[int, TakeData]] | None = None,
) -> int:
    """Run the procedure in line mode; returns the exit status."""
    name = plan.name if plan is not None else "object"
    path = session or new_session_path(name, datetime.now(UTC))
    simulation = {"scene": scene, "seed": seed, "speed": speed} if scene else {}
    setup = Setup(
        config=config,
        session=path,
        folder=folder,
        speed=speed,
        metadata={"object": name, "operator": "person", **simulation},
        resume=resume,
    )
    shell = LineShell()
    status = 1
    try:
        with measurement(setup, shell.on_change) as m:
            if sim is not None:
                m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            status = shell.run(m.runner, plan)
    finally:
        if path.exists():
            print(f"Everything recorded is in {path}", file=sys.stderr)
            if status:
                print(f"Go on with: ident resume {path}", file=sys.stderr)
    return status
