"""Where the measurement stands: one frozen value, rebuilt from the event log at any time."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ident.workflow.plan import Plan
from ident.workflow.quality import Verdict


class Phase(StrEnum):
    """What the workstation is waiting for."""

    DESCRIBE = "describe"
    """The operator says what the object is."""
    CHECK = "check"
    """The devices are looked at."""
    READY = "ready"
    """The operator grips, and starts a take."""
    RECORDING = "recording"
    """The operator moves, and stops the take."""
    WORKING = "working"
    """Data are collected and fitted."""
    VERDICT = "verdict"
    """The fit is not good enough: the operator decides."""
    REVIEW = "review"
    """Everything is measured: look at it, then save."""
    SAVING = "saving"
    FINISHED = "finished"


@dataclass(frozen=True)
class Target:
    """What a take is for."""

    purpose: str
    """``movement``, ``lower_limit`` or ``upper_limit`` of a joint; else one of those in :data:`STEPS`."""
    node: str = ""
    """Joint or handle; empty for calibration."""


TIP, WEIGHT, PLACE = "tip", "weight", "place"
STEPS = {
    TIP: (Target("about_screws"), Target("about_handle")),
    WEIGHT: (Target("weight"),),
    PLACE: (Target("point_1"), Target("point_2"), Target("point_3")),
}
"""What is calibrated, and by which takes: the gripper's tip; the force/torque sensor with what hangs on it; where
on the object the model is."""
CALIBRATION = STEPS[TIP]


def step_of(target: Target | None) -> str:
    """Name of the calibration that a target belongs to; empty for joints and handles."""
    return next((name for name, targets in STEPS.items() if target in targets), "")


@dataclass(frozen=True)
class Step:
    """One calibration: whether it is part of this measurement, and what came of it."""

    name: str
    wanted: bool = False
    record: dict[str, Any] | None = None
    """As plain data, once it is found."""
    verdict: Verdict | None = None
    skipped: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing has to be measured for it any more."""
        return self.record is not None or self.skipped


@dataclass(frozen=True)
class Take:
    """One recorded movement. Takes are never deleted, only set aside."""

    id: int
    target: Target
    t0_ns: int
    t1_ns: int = 0
    """0 while it is being recorded."""
    used: bool = True
    """False once it was set aside."""
    places: tuple[tuple[str, str | float], ...] = ()
    """Where each ancestor stood: ``lower``, ``upper`` or a coordinate (rad, m)."""
    samples: int = 0
    measured: int = 0
    longest_loss_s: float = 0.0


@dataclass(frozen=True)
class Result:
    """A fitted joint or handle."""

    node: str
    takes: tuple[int, ...]
    model: dict[str, Any]
    verdict: Verdict
    ended_at: float = 0.0
    accepted: bool = False


@dataclass(frozen=True)
class State:
    """The whole measurement between two events."""

    phase: Phase = Phase.DESCRIBE
    plan: Plan = field(default_factory=Plan)
    target: Target | None = None
    takes: tuple[Take, ...] = ()
    results: tuple[Result, ...] = ()
    steps: tuple[Step, ...] = (Step(TIP, wanted=True), Step(WEIGHT), Step(PLACE))
    gravity: tuple[float, ...] = ()
    """In the world (m/s²), where the rig says so."""
    skipped: frozenset[str] = frozenset()
    placed: tuple[tuple[str, str], ...] = ()
    """Ancestors that do not stand at their lower end, as the operator said."""
    verdict: Verdict | None = None
    """What is wrong with the present target, in :attr:`Phase.VERDICT`."""
    waiting: str = ""
    """What :attr:`Phase.WORKING` waits for: ``take``, ``calibration`` or ``fit``."""
    work: int = 0
    """Number of the calculation that is waited for; results of earlier ones are ignored."""
    lost: tuple[tuple[str, str], ...] = ()
    """Devices that are silent, with their message."""
    problems: tuple[str, ...] = ()
    """What the rig check found."""
    paused: bool = False
    remarks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    notice: str = ""
    """Answer to the last event, where it could not be followed."""

    def step(self, name: str) -> Step:
        """What came of a calibration."""
        return next(step for step in self.steps if step.name == name)

    def with_step(self, name: str, **changes: Any) -> "State":
        """Change what is known of a calibration."""
        return replace(self, steps=tuple(replace(s, **changes) if s.name == name else s for s in self.steps))

    @property
    def calibration(self) -> dict[str, Any] | None:
        """The tip that is used, as plain data."""
        return self.step(TIP).record

    def result(self, node: str) -> Result | None:
        """Fit of a node, if there is one."""
        return next((r for r in self.results if r.node == node), None)

    def used_takes(self, target: Target) -> tuple[Take, ...]:
        """Finished takes of a target that count."""
        return tuple(t for t in self.takes if t.target == target and t.used and t.t1_ns)

    def place_of(self, node: str) -> str:
        """Where an ancestor stands, as the operator said."""
        return dict(self.placed).get(node, "lower")

    @property
    def recording(self) -> Take | None:
        """The take that is running."""
        return self.takes[-1] if self.phase is Phase.RECORDING and self.takes else None
