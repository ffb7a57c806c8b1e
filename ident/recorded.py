"""What a session says of itself before anything is computed: its rig, its sensor, its events."""

from devices.netft import SensorCalibration
from ident.config import RigConfig, recorded_config
from ident.errors import IdentError
from ident.workflow.events import Event, TakeEnded, event_from_dict
from sessions import Session


def recorded_rig(session: Session) -> RigConfig:
    """Configuration of the rig that a session was recorded with."""
    document = session.documents().get("rig")
    if document is None:
        raise IdentError(f"{session.path} does not say with which rig it was recorded.")
    try:
        return recorded_config(document["config"])
    except (KeyError, TypeError, ValueError) as error:
        raise IdentError(f"{session.path} describes its rig in a way that cannot be read: {error}.") from None


def recorded_calibration(session: Session) -> SensorCalibration | None:
    """Counts and units of the force/torque sensor that a session was recorded with."""
    told = session.documents().get("rig", {}).get("ft_calibration")
    return None if told is None else SensorCalibration(**{**told, "bias_counts": tuple(told["bias_counts"])})


def log_of(session: Session) -> list[Event]:
    """The workflow's events of a session, to be played again."""
    log = [event_from_dict(entry.content) for entry in session.events()]
    if not log:
        raise IdentError(
            f"{session.path} holds no workflow events; `ident replay --serve` can still stream its datagrams."
        )
    return log


def start_of(log: list[Event], from_take: int) -> int | None:
    """Host time at which a take, counted from 1, began; None for the whole session."""
    if not from_take:
        return None
    for event in log:
        if isinstance(event, TakeEnded) and event.take + 1 == from_take:
            return event.t0_ns
    last = max((e.take + 1 for e in log if isinstance(e, TakeEnded)), default=0)
    raise IdentError(f"There is no finished take {from_take}; the session has takes 1 to {last}.")
