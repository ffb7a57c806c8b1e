"""A scripted operator: does what each state asks for, and follows the advice it gets."""

from ident.workflow import events as ev
from ident.workflow.state import Phase, State

MOST_ATTEMPTS = 5
"""After so many takes of one target the operator accepts what there is, or goes on without it."""


def answer(state: State) -> ev.Event | None:
    """What the operator does now; None means wait."""
    if state.lost and state.phase is not Phase.REVIEW:
        return None
    match state.phase:
        case Phase.CHECK if state.problems:
            return ev.Proceed()
        case Phase.READY | Phase.REVIEW:
            return ev.Proceed()
        case Phase.VERDICT:
            return _decide(state)
        case _:
            return None


def _decide(state: State) -> ev.Event:
    attempts = sum(take.target == state.target for take in state.takes)
    if state.verdict is None or attempts < MOST_ATTEMPTS:
        return ev.Proceed()
    has_result = state.target is not None and state.result(state.target.node) is not None
    return ev.Accept() if has_result else ev.Skip()
