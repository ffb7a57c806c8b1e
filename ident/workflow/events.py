"""Everything that can happen during a measurement. The log of these is the session's save file.

Events of the operator are answers and key presses; events of the workstation report what an effect brought.
Each has the host time at which it happened, and survives a round trip through JSON.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events."""

    t_ns: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data, with the class's name as ``event``."""
        return {"event": type(self).__name__, **asdict(self)}


# --- the operator ---


@dataclass(frozen=True, kw_only=True)
class Described(Event):
    """The object's joints and handles (a :class:`~ident.workflow.plan.Plan` as plain data)."""

    plan: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Proceed(Event):
    """Trigger, pedal, space or Enter: do the obvious next thing."""

    take: int | None = None
    """Set where a movement ended by itself: then it stops that take, and is nothing to any other state."""


@dataclass(frozen=True, kw_only=True)
class Redo(Event):
    """Set the last take of this target aside and measure again."""

    take: int | None = None
    """Set where a movement broke off by itself: then only that take is given up, while it is running."""


@dataclass(frozen=True, kw_only=True)
class AddTake(Event):
    """Keep what is there and measure once more."""


@dataclass(frozen=True, kw_only=True)
class Accept(Event):
    """Take the fit as it is."""


@dataclass(frozen=True, kw_only=True)
class Skip(Event):
    """Leave this target, and what hangs on it, for later."""


@dataclass(frozen=True, kw_only=True)
class Back(Event):
    """One step back; nothing is deleted."""


@dataclass(frozen=True, kw_only=True)
class GoTo(Event):
    """Jump to a joint or handle."""

    node: str


@dataclass(frozen=True, kw_only=True)
class MeasureLimits(Event):
    """Find this joint's limits by hand: hold it at each end."""


@dataclass(frozen=True, kw_only=True)
class MarkPoints(Event):
    """Say where on the object the model is: touch three points that can be touched again later."""


@dataclass(frozen=True, kw_only=True)
class Place(Event):
    """Where an ancestor stands while its child is measured: ``lower``, ``upper`` or ``last``."""

    node: str
    at: str


@dataclass(frozen=True, kw_only=True)
class ChangeType(Event):
    """The joint is of another type; its takes are fitted again."""

    node: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Rename(Event):
    """Give a joint or handle another name."""

    node: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Insert(Event):
    """A joint or handle that was forgotten."""

    name: str
    kind: str
    parent: str
    radius_m: float | None = None


@dataclass(frozen=True, kw_only=True)
class Remove(Event):
    """Take a joint or handle, and what hangs on it, out of the plan; its takes stay in the session."""

    node: str


@dataclass(frozen=True, kw_only=True)
class Remark(Event):
    """A note for whoever reads the session later."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Pause(Event):
    """Nothing counts until :class:`Resume`."""


@dataclass(frozen=True, kw_only=True)
class Resume(Event):
    """Go on after a pause."""


# --- the workstation ---


@dataclass(frozen=True, kw_only=True)
class RigChecked(Event):
    """Result of the rig check: sentences about what is wrong."""

    problems: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    """Calibrations beside the tip that this rig can have, and that are offered unless one is given."""
    gravity: tuple[float, ...] = ()
    """In the world, m/s²."""


@dataclass(frozen=True, kw_only=True)
class CalibrationGiven(Event):
    """A stored calibration of the same rig, found again or chosen."""

    calibration: dict[str, Any]
    what: str = "tip"


@dataclass(frozen=True, kw_only=True)
class TakeEnded(Event):
    """The data of a take are complete: its window of host time and what it holds."""

    take: int
    t0_ns: int
    t1_ns: int
    samples: int
    measured: int
    longest_loss_s: float = 0.0
    loads: int = 0
    """Poses at which the load is known, in a take that is about the load."""


@dataclass(frozen=True, kw_only=True)
class Calibrated(Event):
    """The takes of a calibration gave a result."""

    work: int
    calibration: dict[str, Any]
    verdict: dict[str, Any]
    what: str = "tip"
    anew: bool = False
    """What was found with another tip is computed again; sessions of before kept it."""


@dataclass(frozen=True, kw_only=True)
class Fitted(Event):
    """The takes of a node gave a joint or handle (as plain data of the model file)."""

    work: int
    node: str
    takes: tuple[int, ...]
    model: dict[str, Any]
    verdict: dict[str, Any]
    ended_at: float = 0.0
    """Coordinate at which the last take left the joint (rad or m)."""


@dataclass(frozen=True, kw_only=True)
class Failed(Event):
    """A calibration or fit gave no result, and why."""

    work: int
    reason: str
    verdict: dict[str, Any] = field(default_factory=dict)
    """What was wrong with the takes, where that could be told (a Verdict as plain data)."""


@dataclass(frozen=True, kw_only=True)
class Saved(Event):
    """The model is on disk."""

    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SaveFailed(Event):
    """The model could not be written."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class DeviceChanged(Event):
    """A device was lost or came back."""

    device: str
    lost: bool
    message: str


@dataclass(frozen=True, kw_only=True)
class Interrupted(Event):
    """The program ended in the middle; written on resuming."""

    note: str = field(default="resumed after an interruption")


def _all_events(base: type[Event]) -> dict[str, type[Event]]:
    return {cls.__name__: cls for cls in base.__subclasses__()}


EVENTS = _all_events(Event)


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Inverse of ``Event.to_dict``; unknown fields of later versions are left out."""
    cls = EVENTS[data["event"]]
    known = {f.name for f in fields(cls)}
    values = {key: value for key, value in data.items() if key in known}
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
    return cls(**values)
