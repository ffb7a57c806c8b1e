"""A recording made elsewhere as a measurement: nothing is known but that something moved, from beginning to end."""

from ident.errors import IdentError
from ident.takes import TakeData, take_data
from ident.workflow.plan import Node, Plan
from ident.workflow.state import State, Take, Target
from sessions import Session

JOINT = "joint"
"""Name of what moved, where only one body was tracked; otherwise it has the body's name."""


def imported_measurement(session: Session) -> tuple[State, dict[int, TakeData]]:
    """One joint of unknown type for each tracked body, with the body's origin as the tip; no calibration, no handles.

    Every take of the session, all of the recording after an import, counts as a movement of every joint.
    """
    bodies, spans = session.bodies, session.takes()
    if not bodies or not spans:
        raise IdentError(f"{session.path} holds neither workflow events nor poses: there is nothing to fit.")
    names = (JOINT,) if len(bodies) == 1 else bodies
    takes: list[Take] = []
    data: dict[int, TakeData] = {}
    for name, body in zip(names, bodies, strict=True):
        for span in spans:
            number = len(takes)
            takes.append(Take(number, Target("movement", name), span.t0_ns, span.t1_ns))
            data[number] = take_data(session.poses(body, span.t0_ns, span.t1_ns), span.t0_ns, span.t1_ns)
    plan = Plan(str(session.metadata.get("object") or session.path.stem), tuple(Node(name, "auto") for name in names))
    return State(plan=plan, takes=tuple(takes)), data
