"""The log of a session: the events of its workflow, as they are played again."""

from ident.errors import IdentError
from ident.workflow.events import Event, TakeEnded, event_from_dict
from sessions import Session


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
