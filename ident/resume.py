"""A session read back as a measurement: the state that its events lead to, and the data of its takes."""

from pathlib import Path

from ident.config import RigConfig
from ident.errors import IdentError
from ident.recorded import recorded_rig
from ident.takes import TakeData, take_data
from ident.workflow.events import event_from_dict
from ident.workflow.machine import fold
from ident.workflow.state import WEIGHT, State, Take, step_of
from sessions import Session, open_session


def restore(path: Path) -> tuple[Session, State, dict[int, TakeData]]:
    """Read a session: where the measurement stood, and every take that has an end."""
    session = open_session(path)
    return session, *measurement_of(session)


def measurement_of(session: Session) -> tuple[State, dict[int, TakeData]]:
    """Return where the measurement of a session stood, and every take that has an end."""
    events, path = session.events(), session.path
    if not events:
        raise IdentError(f"{path} holds no measurement to go on with: it has no workflow events.")
    try:
        state = fold(event_from_dict(entry.content) for entry in events)
    except (KeyError, TypeError, ValueError) as error:
        raise IdentError(f"{path} was written by another version of ident, or is damaged: {error!r}.") from None
    config = recorded_rig(session)
    return state, {t.id: _data(session, config, t) for t in state.takes if t.t1_ns}


def _data(session: Session, config: RigConfig, take: Take) -> TakeData:
    window = take.t0_ns, take.t1_ns
    poses, reference = session.poses(config.mocap.body, *window), config.mocap.reference
    if take.samples:
        # It was closed, and has the samples that it had then; of one that was only stopped, all are taken.
        poses = poses.first(take.samples)
    if step_of(take.target) == WEIGHT:
        return take_data(poses, *window, None, session.wrenches(*window))
    return take_data(poses, *window, None if reference is None else session.poses(reference, *window))
