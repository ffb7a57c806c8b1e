"""Where the measurement stands: one frozen value, rebuilt from the event log at any time."""

from dataclasses import dataclass, field
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
    """``about_screws``, ``about_handle``, ``movement``, ``lower_limit`` or ``upper_limit``."""
    node: str = ""
    """Joint or handle; empty for calibration."""


CALIBRATION = (Target("about_screws"), Target("about_handle"))


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
    calibration: dict[str, Any] | None = None
    calibration_verdict: Verdict | None = None
    calibration_skipped: bool = False
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
