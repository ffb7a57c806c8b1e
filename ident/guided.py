"""A measurement with a person: one of the workflow's shells around one rig and one session."""

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from calibration import CalibrationFailure, CalibrationStore, Load, Record, SensorAlignment, Tip
from calibration.records import Kind
from devices.sim import SimulatedRig
from ident.calibrating import rig_identity
from ident.config import RigConfig
from ident.errors import IdentError
from ident.identify import calibration_record, tip_of
from ident.measure import Measurement, Setup, measurement
from ident.preparing import TOLD, tell
from ident.simulated import SimulatedHand
from ident.takes import TakeData
from ident.ui.line import LineShell
from ident.weighing import weight_of, weight_record
from ident.workflow import events as ev
from ident.workflow.plan import Plan
from ident.workflow.state import WEIGHT, State
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
    """Measure tip and weight again, although calibrations of this rig are stored."""


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
    if sys.stderr.isatty():
        print("Connecting to the rig …", file=sys.stderr)
    status = 1
    try:
        with measurement(setup, shell.on_change) as m:
            m.runner.offers = (WEIGHT,)
            if not m.fits.ready:
                tell(TOLD)
            if simulation is not None:
                m.runner.hand = SimulatedHand(simulation.rig, m.rig.mocap.ticks_to_host, m.runner.post)
            elif not interface.recalibrate:
                _recall(m)
            status = shell.run(m, plan)
            if simulation is None:
                _remember(m)
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
    if interface.shell == "line":
        return LineShell()
    from ident.ui.wizard import WizardShell, possible, wanted  # a second of imports that line mode does without

    if interface.shell == "auto" and not wanted():
        return LineShell()
    if not possible():
        raise IdentError(
            "The wizard reads standard input and draws on standard error; one is no terminal. Use --ui line."
        )
    return WizardShell(plot=interface.plot, plot_file=folder / PLOT_NAME, auto_end=interface.auto_end)


def _recall(m: Measurement) -> None:
    """Use the stored calibrations of this rig that still hold; say why where one does not."""
    store, state = CalibrationStore(), m.runner.state
    if state.calibration is None and (tip := _stored(m, store, "tip")) is not None:
        found = tip.calibration()
        if isinstance(found, Tip):
            m.runner.post(ev.CalibrationGiven(calibration={**calibration_record(found), **_since(tip)}))
    if m.rig.wrenches is None or state.step(WEIGHT).record is not None:
        return
    sensor, load = _stored(m, store, "sensor"), _stored(m, store, "load")
    if sensor is None or load is None:
        return
    mounted, hanging = sensor.calibration(), load.calibration()
    if isinstance(mounted, SensorAlignment) and isinstance(hanging, Load):
        record = {**weight_record(mounted, hanging), **_since(load)}
        m.runner.post(ev.CalibrationGiven(calibration=record, what=WEIGHT))


def _stored(m: Measurement, store: CalibrationStore, kind: Kind) -> Record | None:
    found = store.find(kind, rig_identity(m.rig))
    if not isinstance(found, CalibrationFailure):
        return found
    if found.cause != "none-stored":
        print(found.reason, file=sys.stderr)
    return None


def _since(record: Record) -> dict[str, str]:
    return {"stored": record.created.isoformat()}


def _remember(m: Measurement) -> None:
    """Store the calibrations that were measured in this session, for the next one."""
    state, store = m.runner.state, CalibrationStore()
    tip, weight = state.calibration, state.step(WEIGHT).record
    found = [
        *([tip_of(tip)] if tip is not None and "stored" not in tip else []),
        *(weight_of(weight) if weight is not None and "stored" not in weight else []),
    ]
    for calibration in found:
        store.save(calibration, rig_identity(m.rig))
