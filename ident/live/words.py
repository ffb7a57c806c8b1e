"""What the live fit is asked and what it answers, as JSON-ready words, so that another process can compute it."""

from dataclasses import asdict
from typing import Any

from ident.identify import node_of, node_record
from ident.live.status import LiveFit
from ident.workflow.plan import Plan
from ident.workflow.quality import Verdict
from ident.workflow.state import TIP, Phase, Result, State, Take, Target

_NUMBERS = ("samples", "inliers", "axis_std", "position_std", "arc", "travel", "arc_goal", "sides")


def state_words(state: State) -> dict[str, Any]:
    """The part of a state that a fit depends on."""
    return {
        "phase": state.phase.value,
        "plan": state.plan.to_dict(),
        "takes": [asdict(take) for take in state.takes],
        "results": [{**asdict(result), "verdict": result.verdict.to_dict()} for result in state.results],
        "calibration": state.calibration,
        "gravity": state.gravity,
    }


def state_of(words: dict[str, Any]) -> State:
    """Inverse of :func:`state_words`."""
    return State(
        phase=Phase(words["phase"]),
        plan=Plan.from_dict(words["plan"]),
        takes=tuple(_take(take) for take in words["takes"]),
        results=tuple(
            Result(**{**result, "takes": tuple(result["takes"]), "verdict": Verdict.from_dict(result["verdict"])})
            for result in words["results"]
        ),
        gravity=tuple(words["gravity"]),
    ).with_step(TIP, record=words["calibration"])


def _take(words: dict[str, Any]) -> Take:
    places = tuple((name, at) for name, at in words["places"])
    return Take(**{**words, "target": Target(**words["target"]), "places": places})


def fit_words(fit: LiveFit) -> dict[str, Any]:
    """A live fit; its joint as a record of the model file."""
    return {
        "kind": fit.kind,
        "verdict": fit.verdict.to_dict(),
        "looks_like": fit.looks_like,
        "node": None if fit.node is None else node_record(fit.node),
        **{name: getattr(fit, name) for name in _NUMBERS},
    }


def fit_of(words: dict[str, Any]) -> LiveFit:
    """Inverse of :func:`fit_words`."""
    return LiveFit(
        kind=words["kind"],
        verdict=Verdict.from_dict(words["verdict"]),
        looks_like=words["looks_like"],
        node=None if words["node"] is None else node_of(words["node"]),
        **{name: words[name] for name in _NUMBERS},
    )
