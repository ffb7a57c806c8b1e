"""Moving about in the measurement: what is open, what comes next, what has to be dropped on the way."""

from collections.abc import Iterable
from dataclasses import replace

from ident.workflow.effects import AbandonTake, Effect, SolveCalibration, SolveNode
from ident.workflow.state import PLACE, STEPS, TIP, WEIGHT, Phase, Result, State, Target, step_of

Outcome = tuple[State, tuple[Effect, ...]]


def targets(state: State) -> tuple[Target, ...]:
    """Everything that is to be measured, in order."""

    def calibration(*names: str) -> tuple[Target, ...]:
        return tuple(target for name in names if state.step(name).wanted for target in STEPS[name])

    nodes = tuple(Target("movement", node.name) for node in state.plan.depth_first())
    return (*calibration(TIP, WEIGHT), *nodes, *calibration(PLACE))


def say(state: State, notice: str) -> Outcome:
    """Answer an event that cannot be followed."""
    return replace(state, notice=notice), ()


def is_open(state: State, target: Target) -> bool:
    """Whether a target still has to be measured."""
    if not target.node:
        name = step_of(target)
        possible = name != PLACE or state.calibration is not None
        missing = target == STEPS[name][-1] or not state.used_takes(target)
        return possible and missing and not state.step(name).done
    result = state.result(target.node)
    return target.node not in state.skipped and reachable(state, target.node) and not (result and result.accepted)


def reachable(state: State, node: str) -> bool:
    """Whether all ancestors are measured, so that it is known where this node's parent stands."""
    return all(state.result(a.name) is not None and a.name not in state.skipped for a in state.plan.ancestors(node))


def advance(state: State) -> Outcome:
    """Go to the first open target, or to the review."""
    for target in targets(state):
        if is_open(state, target):
            return enter(state, target)
    return replace(state, phase=Phase.REVIEW, target=None, verdict=None, waiting=""), ()


def enter(state: State, target: Target) -> Outcome:
    """Go to a target: compute it where its takes are there already, else ask for a take."""
    state = replace(state, target=target, verdict=None)
    if target.purpose == "movement" and state.result(target.node) is None and state.used_takes(target):
        return solve(state)
    # The same points with another tip: touched once is enough.
    if target == STEPS[PLACE][-1] and all(state.used_takes(point) for point in STEPS[PLACE]):
        return solve(state)
    return replace(state, phase=Phase.READY, waiting=""), ()


def solve(state: State) -> Outcome:
    """Ask for the calculation that the present target needs."""
    work = state.work + 1
    if state.target is not None and state.target.node:
        state = replace(state, phase=Phase.WORKING, waiting="fit", work=work)
        return state, (SolveNode(work, state.target.node),) if state.target else ()
    state = replace(state, phase=Phase.WORKING, waiting="calibration", work=work)
    return state, (SolveCalibration(work, step_of(state.target)),)


def show(state: State, target: Target) -> Outcome:
    """Go to a target that may be finished already, and show its verdict."""
    if target.node:
        result = state.result(target.node)
        verdict = result.verdict if result else None
    else:
        name = step_of(target)
        verdict = state.step(name).verdict if target == STEPS[name][-1] else None
    if verdict is None:
        return enter(state, target)
    return replace(state, phase=Phase.VERDICT, target=target, verdict=verdict, waiting=""), ()


def drop(state: State, nodes: Iterable[str]) -> State:
    """Forget the results of these nodes; their takes stay."""
    gone = set(nodes)
    return replace(state, results=tuple(r for r in state.results if r.node not in gone))


def drop_with_descendants(state: State, node: str) -> State:
    """Forget the result of a node and of all that was measured relative to it."""
    return drop(state, [node, *(d.name for d in state.plan.descendants(node))])


def set_aside(state: State, ids: Iterable[int]) -> State:
    """Keep these takes, but use them no more."""
    gone = set(ids)
    return replace(state, takes=tuple(replace(t, used=False) if t.id in gone else t for t in state.takes))


def leave(state: State) -> Outcome:
    """Stop what is under way, so that another step can begin; a running take is kept but not used."""
    if state.phase is Phase.RECORDING:
        take = state.takes[-1].id
        return replace(set_aside(state, [take]), phase=Phase.READY), (AbandonTake(take),)
    if state.phase is Phase.WORKING:
        if state.waiting == "take":
            state = set_aside(state, [state.takes[-1].id])
        return replace(state, phase=Phase.READY, waiting="", work=state.work + 1), ()
    return state, ()


def with_result(state: State, result: Result) -> State:
    """Put a result in the place of the former one."""
    others = tuple(r for r in state.results if r.node != result.node)
    return replace(state, results=(*others, result))
