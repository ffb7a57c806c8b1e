"""What the operator is told in each state: one instruction, one line of why, and the keys that work now."""

from dataclasses import dataclass

from ident.workflow.quality import Verdict
from ident.workflow.state import CALIBRATION, PLACE, TIP, WEIGHT, Phase, State, Target, step_of

Keys = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Instruction:
    """The text of one screen."""

    title: str
    """A few words, readable from two metres away."""
    body: str
    """What to do, in one or two sentences."""
    keys: Keys = ()
    """Key and what it does now."""


_TAKE_KEYS: Keys = (("Enter", "start"), ("b", "back"), ("s", "skip"))
_CALIBRATE = {
    "about_screws": (
        "Turn about screws",
        "Clamp the gripper on a fixed bar. Turn it about its clamping screws, as far as it goes, both ways.",
    ),
    "about_handle": (
        "Turn about the bar",
        "Stay on the same bar. Turn the gripper about the bar's own axis, as far as it goes, both ways.",
    ),
    "weight": (
        "Weigh the gripper",
        "Hold it in the air. Point each of its six sides down in turn, a second each. Skip it if forces do not matter.",
    ),
    "point_1": (
        "Touch point 1",
        "Rest the tip on a mark of the object that stays: the origin of the model. Hold it there for two seconds.",
    ),
    "point_2": (
        "Touch point 2",
        "Rest the tip on a second mark, far from the first: the model's x-axis goes there. Hold it for two seconds.",
    ),
    "point_3": (
        "Touch point 3",
        "Rest the tip on a third mark, off the line through both: the side of the y-axis. Hold it for two seconds.",
    ),
}
STEP_NAMES = {TIP: "gripper tip", WEIGHT: "gripper weight", PLACE: "place"}
_MOVE = {
    "rotary": "Grip {name} firmly. Turn it once, from one end to the other.",
    "prismatic": "Grip {name} firmly. Slide it once, from one end to the other.",
    "fixed": "Grip {name} and hold still for two seconds.",
    "auto": "Grip {name} firmly. Move it once, from one end to the other.",
    "handle0": "Grip {name} as a robot should. Hold still for two seconds.",
    "handle1": "Grip {name} lightly. Turn the gripper around it, as far as it goes both ways.",
    "handle2": "Grip {name} lightly. Turn the gripper around it and slide it along, both ways.",
}


def kept(state: State) -> str:
    """Say what is kept when the operator leaves now."""
    takes = sum(bool(take.t1_ns) for take in state.takes)
    return f"{takes} finished {'take is' if takes == 1 else 'takes are'} in the session."


def instruction(state: State) -> Instruction:
    """Text for the present state."""
    if state.paused:
        return Instruction("Paused", "Nothing is recorded.", (("p", "go on"),))
    match state.phase:
        case Phase.DESCRIBE:
            return Instruction("Describe the object", "Which joints and handles does it have, and who hangs on whom?")
        case Phase.CHECK:
            return _check(state)
        case Phase.READY:
            return _ready(state, state.target or CALIBRATION[0])
        case Phase.RECORDING:
            return Instruction(f"Recording {_subject(state)}", _movement(state), (("Enter", "stop"), ("r", "redo")))
        case Phase.WORKING:
            return Instruction(f"Computing {_subject(state)}", "One moment.")
        case Phase.VERDICT:
            return _verdict(state)
        case Phase.REVIEW:
            return _review(state)
        case Phase.SAVING:
            return Instruction("Saving", "One moment.")
        case Phase.FINISHED:
            return Instruction("Saved", "\n".join(state.files), (("q", "quit"),))


def progress(state: State) -> tuple[int, int]:
    """What is done and what there is in all: the calibrations, and each joint and handle."""
    steps = [step for step in state.steps if step.wanted]
    measured = sum(result.accepted for result in state.results)
    return measured + sum(step.done for step in steps), len(state.plan.nodes) + len(steps)


def _check(state: State) -> Instruction:
    if state.problems:
        keys = (("Enter", "check again"), ("a", "go on all the same"), ("b", "back"))
        return Instruction("The rig needs attention", "\n".join(state.problems), keys)
    return Instruction("Checking the rig", "Looking at each device.")


def _subject(state: State) -> str:
    target = state.target
    if target is None:
        return ""
    return target.node or f"the {STEP_NAMES[step_of(target)]}"


def _movement(state: State) -> str:
    target = state.target
    if target is None:
        return ""
    if not target.node:
        return _CALIBRATE[target.purpose][1]
    if target.purpose == "lower_limit":
        return f"Bring {target.node} to its lower end, where the movement began, and hold it there."
    if target.purpose == "upper_limit":
        return f"Bring {target.node} to its upper end and hold it there."
    return _MOVE[state.plan.node(target.node).kind].format(name=target.node)


def _ready(state: State, target: Target) -> Instruction:
    if not target.node:
        return Instruction(*_CALIBRATE[target.purpose], _TAKE_KEYS)
    if target.purpose != "movement":
        return Instruction(f"Limits of {target.node}", _movement(state), _TAKE_KEYS)
    sentences = [*_where_ancestors_stand(state, target.node), _movement(state)]
    keys: Keys = _TAKE_KEYS
    if state.result(target.node) is not None:
        keys = (("Enter", "start a further take"), ("a", "keep the fit"), ("b", "back"), ("s", "skip"))
    return Instruction(f"Measure {target.node}", " ".join(sentences), keys)


def _where_ancestors_stand(state: State, node: str) -> list[str]:
    places = {"lower": "at the lower end", "upper": "at the upper end", "last": "where the last take left it"}
    moving = [a.name for a in state.plan.ancestors(node) if a.kind != "fixed"]
    sentences = []
    for at, where in places.items():
        here = [name for name in moving if state.place_of(name) == at]
        if here:
            sentences.append(f"Leave {' and '.join(here)} {where}.")
    return sentences


def _verdict(state: State) -> Instruction:
    verdict = state.verdict
    subject = _subject(state)
    if verdict is None:
        return Instruction(subject, "")
    keys: Keys
    if verdict.good and step_of(state.target):
        return Instruction(f"{subject}: good", verdict.summary, (("Enter", "next"), ("r", "redo"), ("b", "back")))
    if verdict.good:
        keys = (("Enter", "next"), ("r", "redo"), ("t", "add a take"), ("l", "limits by hand"), ("b", "back"))
        return Instruction(f"{subject}: good", _with_type(verdict), keys)
    # What to do differently first: whoever looks for a second reads one line.
    sentences = [*(f"{f.message} {f.remedy}".strip() for f in verdict.findings), _with_type(verdict)]
    again = "add a take now" if verdict.advice == "add" else "redo now"
    title = f"{subject}: {_headline(verdict.findings[0].code)}"
    if name := step_of(state.target):
        accept: Keys = (("a", "accept all the same"),) if state.step(name).record is not None else ()
        return Instruction(title, "\n".join(sentences), (("Enter", again), *accept, ("s", "skip"), ("b", "back")))
    suggested = [f.suggests for f in verdict.findings if f.suggests]
    keys = (
        ("Enter", again),
        *((("y", f"it is {suggested[0]}"),) if suggested else ()),
        ("r", "redo"),
        ("t", "add a take"),
        ("a", "accept all the same"),
        ("l", "limits by hand"),
        ("s", "skip"),
        ("b", "back"),
    )
    return Instruction(title, "\n".join(sentences), keys)


def _with_type(verdict: Verdict) -> str:
    """The numbers of a fit, after the type where that was found out."""
    return f"It is {verdict.found_out}. {verdict.summary}" if verdict.found_out else verdict.summary


def _headline(code: str) -> str:
    return {
        "no_fit": "no fit",
        "few_samples": "too few samples",
        "tracking_lost": "tracking was lost",
        "other_type": "another type?",
        "short_arc": "open it further",
        "short_travel": "pull it further",
        "outliers": "not a clean movement",
        "slipped": "the grip slipped",
        "strayed": "it strayed",
        "loose_grip": "the grip turned",
        "too_quick": "too quick",
        "imprecise": "one more take",
    }.get(code, "look again")


def _review(state: State) -> Instruction:
    measured = [r.node for r in state.results if r.accepted]
    missing = [n.name for n in state.plan.depth_first() if n.name not in measured]
    body = f"Measured: {', '.join(measured) or 'nothing'}."
    if missing:
        body += f" Not in the model: {', '.join(missing)}."
    place = state.step(PLACE)
    keys: Keys = (("Enter", "save"), ("b", "back"))
    if place.record is not None and place.verdict is not None:
        body += f" {place.verdict.summary}"
    elif state.calibration is not None:
        body += " Three marked points tell later where on the object it is."
        keys = (("Enter", "save"), ("o", "mark three points"), ("b", "back"))
    return Instruction("Look at the model, then save it", body, keys)
