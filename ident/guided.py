"""A measurement with a person: one of the workflow's shells around one rig and one session."""

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from calibration import CalibrationFailure, CalibrationStore, Tip
from devices.sim import SimulatedRig
from ident.calibrating import rig_identity
from ident.config import RigConfig
from ident.identify import calibration_record, tip_of
from ident.measure import Measurement, Setup, measurement
from ident.simulated import SimulatedHand
from ident.takes import TakeData
from ident.ui.line import LineShell
from ident.workflow import events as ev
from ident.workflow.plan import Plan
from ident.workflow.state import State
from sessions.catalogue import new_session_path

PLOT_NAME = "live.png"


@dataclass(frozen=True)
class Interface:
    """How the operator sees the measurement."""

    shell: Literal["auto", "wizard", "line"] = "auto"
    plot: Literal["window", "png", "off"] = "off"
    auto_end: bool = False
    """A take ends by itself once its precision is good enough."""
    recalibrate: bool = False
    """Measure the tip again, although a calibration of this rig is stored."""


@dataclass(frozen=True)
class Simulation:
    """The simulated rig behind a measurement, and what is needed to start it again."""

    rig: SimulatedRig
    scene: str
    seed: int
    speed: float

    @property
    def metadata(self) -> dict[str, object]:
        """For the session, so that it can be resumed."""
        return {"scene": self.scene, "seed": self.seed, "speed": self.speed}


def guide(
    config: RigConfig,
    plan: Plan | None,
    *,
    folder: Path,
    interface: Interface,
    session: Path | None = None,
    simulation: Simulation | None = None,
    resume: tuple[State, dict[int, TakeData]] | None = None,
) -> int:
    """Run the procedure; returns the exit status."""
    name = plan.name if plan is not None else "object"
    path = session or new_session_path(name, datetime.now().astimezone())
    setup = Setup(
        config=config,
        session=path,
        folder=folder,
        speed=simulation.speed if simulation else 1.0,
        metadata={"object": name, "operator": "person", **(simulation.metadata if simulation else {})},
        resume=resume,
    )
    shell = _shell(interface, folder)
    status = 1
    try:
        with measurement(setup, shell.on_change) as m:
            if simulation is not None:
                m.runner.hand = SimulatedHand(simulation.rig, m.rig.mocap.ticks_to_host, m.runner.post)
            else:
                _recall_tip(m, interface.recalibrate)
            status = shell.run(m, plan)
            if simulation is None:
                _remember_tip(m)
    finally:
        if path.exists():
            print(f"Everything recorded is in {path}", file=sys.stderr)
            if status:
                print(f"Go on with: ident resume {path}", file=sys.stderr)
    return status


class Shell(Protocol):
    """What shows a measurement to the operator and takes the answers."""

    def on_change(self, state: State) -> None:
        """Take a new state; called from any thread."""

    def run(self, measurement: Measurement, plan: Plan | None) -> int:
        """Guide one measurement; returns the exit status."""


def _shell(interface: Interface, folder: Path) -> Shell:
    from ident.ui.wizard import WizardShell, wanted  # a second of imports that line mode does without

    if interface.shell == "line" or (interface.shell == "auto" and not wanted()):
        return LineShell()
    return WizardShell(plot=interface.plot, plot_file=folder / PLOT_NAME, auto_end=interface.auto_end)


def _recall_tip(m: Measurement, recalibrate: bool) -> None:
    """Use the stored tip of this rig, where there is one that still holds; say why where there is none."""
    if recalibrate or m.runner.state.calibration is not None:
        return
    found = CalibrationStore().find("tip", rig_identity(m.rig))
    if isinstance(found, CalibrationFailure):
        if found.cause != "none-stored":
            print(found.reason, file=sys.stderr)
        return
    tip = found.calibration()
    if isinstance(tip, Tip):
        record = {**calibration_record(tip), "stored": found.created.isoformat()}
        m.runner.post(ev.CalibrationGiven(calibration=record))


def _remember_tip(m: Measurement) -> None:
    """Store a tip that was measured in this session, for the next one."""
    record = m.runner.state.calibration
    if record is not None and "stored" not in record:
        CalibrationStore().save(tip_of(record), rig_identity(m.rig))
