"""What the reducer asks the shell to do. Each effect answers with an event."""

from dataclasses import dataclass

from ident.workflow.state import Target


@dataclass(frozen=True)
class CheckRig:
    """Look at the devices; answered by ``RigChecked``."""


@dataclass(frozen=True)
class BeginTake:
    """A take runs from now on."""

    take: int
    target: Target


@dataclass(frozen=True)
class EndTake:
    """Collect the data between start and ``t1_ns``; answered by ``TakeEnded``."""

    take: int
    t1_ns: int


@dataclass(frozen=True)
class AbandonTake:
    """The take ends without being used; its data stay in the session."""

    take: int


@dataclass(frozen=True)
class SolveCalibration:
    """Find the tip, the weight or the place; answered by ``Calibrated`` or ``Failed``."""

    work: int
    what: str


@dataclass(frozen=True)
class SolveNode:
    """Fit a joint or handle to its takes; answered by ``Fitted`` or ``Failed``."""

    work: int
    node: str


@dataclass(frozen=True)
class SaveModel:
    """Write model, exports and figure; answered by ``Saved`` or ``SaveFailed``."""


Effect = CheckRig | BeginTake | EndTake | AbandonTake | SolveCalibration | SolveNode | SaveModel
