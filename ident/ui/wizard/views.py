"""What each part of the screen says: pure functions of the measurement's state and of a look at the devices.

Every state has a mark and a word beside its colour, so that nothing is lost on a terminal without colours.
"""

import math
from collections.abc import Mapping
from typing import Any

from textual.content import Content

from ident.live import DeviceLive, LiveFit, LiveStatus, TakeLive, advice, progress_to_goal
from ident.live.status import NOT_SEEN_S, SIDES
from ident.workflow.answers import MOCAP
from ident.workflow.plan import Node
from ident.workflow.quality import QualityLimits
from ident.workflow.state import PLACE, STEPS, Phase, State, Step, step_of
from ident.workflow.texts import STEP_NAMES, Keys, instruction, progress

GOOD, BAD, NOTE, FAINT = "bold $text-success", "bold $text-error", "bold $text-warning", "$foreground 60%"
ALWAYS: Keys = (("m", "more"), ("?", "help"), ("q", "quit"))


def header(state: State, status: LiveStatus | None, width: int) -> Content:
    """Name of the object, and how far the measurement is."""
    done, total = progress(state)
    left = Content.assemble((" ident ", "bold reverse"), f" {state.plan.name}" if state.plan.nodes else "")
    take = status.take if status else None
    if take is not None:
        right = Content.assemble((f"● recording {take.seconds:.1f} s ", BAD))
    elif state.paused:
        right = Content.assemble(("‖ paused ", NOTE))
    elif state.plan.nodes:
        right = Content.assemble(f"{done} of {total} ", ("▰" * done, GOOD), ("▱" * (total - done), FAINT), " ")
        if right.cell_length + left.cell_length > width:
            right = Content(f"{done}/{total} ")
    else:
        right = Content("")
    return left.pad_right(max(1, width - left.cell_length - right.cell_length)).append(right)


def headline(state: State, status: LiveStatus | None) -> tuple[str, str]:
    """The few words that must be readable from afar, and their style."""
    if MOCAP in dict(state.lost) and state.phase is not Phase.FINISHED:
        return "motion capture is silent", BAD
    if state.phase is Phase.RECORDING and not state.paused:
        if status is None or status.take is None:
            return "recording", BAD
        said = advice(status.take)
        good = status.take.fit is not None and status.take.fit.good and said.startswith("good")
        return said, GOOD if good else (BAD if said == "markers not seen" else NOTE)
    title = instruction(state).title
    if state.phase is Phase.VERDICT and state.verdict is not None:
        return title, GOOD if state.verdict.good else NOTE
    if state.phase is Phase.FINISHED:
        return title, GOOD
    return title, NOTE if state.problems or state.paused else "bold $text-primary"


def body(state: State) -> Content:
    """What to do, in sentences."""
    said = Content(instruction(state).body)
    lost = dict(state.lost).get(MOCAP)
    return Content.assemble((lost, BAD), "\n", said) if lost else said


def object_rows(state: State) -> tuple[list[Content], int]:
    """The calibrations and the tree of joints, one row each, and the index of the present one."""
    steps = [step for step in state.steps if step.wanted]
    width = max([*(len(STEP_NAMES[step.name]) for step in steps), *(len(_label(state, node)) for node in state.plan)])
    rows = [_step_row(state, step, width) for step in steps if step.name != PLACE]
    current = next((i for i, step in enumerate(steps) if step.name == step_of(state.target)), 0)
    for node in state.plan.depth_first():
        if state.target is not None and state.target.node == node.name:
            current = len(rows)
        rows.append(_node_row(state, node, width))
    if state.step(PLACE).wanted:
        if step_of(state.target) == PLACE:
            current = len(rows)
        rows.append(_step_row(state, state.step(PLACE), width))
    return rows, current


def _label(state: State, node: Node) -> str:
    depth = len(state.plan.ancestors(node.name))
    return "  " * (depth - 1) + "└ " + node.name if depth else node.name


def _step_row(state: State, step: Step, width: int) -> Content:
    name, targets = STEP_NAMES[step.name], STEPS[step.name]
    if state.target in targets:
        part = f"{targets.index(state.target) + 1} of {len(targets)}" if len(targets) > 1 else ""
        return _row(_present_mark(state), name, width, part, here=True)
    if step.record is not None:
        return _row(("✓", GOOD), name, width, _found(step.record))
    if step.skipped:
        return _row(("–", NOTE), name, width, "skipped")
    return _row(("·", FAINT), name, width, "")


def _found(record: Mapping[str, Any]) -> str:
    """The one number of a calibration that tells the most."""
    if isinstance(std := record.get("position_std_m"), float):
        return f"± {std * 1e3:.2f} mm"
    if isinstance(mass := record.get("mass_kg"), float):
        return f"{mass * 1e3:.0f} g"
    return "calibrated" if "points_m" not in record else f"{len(record['points_m'])} points"


def _node_row(state: State, node: Node, width: int) -> Content:
    result = state.result(node.name)
    here = state.target is not None and state.target.node == node.name
    if here:
        mark = _present_mark(state)
    elif node.name in state.skipped:
        mark = ("–", NOTE)
    elif result is not None and result.accepted:
        mark = ("✓", GOOD) if result.verdict.good else ("!", NOTE)
    else:
        mark = ("·", FAINT)
    if result is not None:
        words = result.verdict.summary.split(", ")[0].removesuffix(" of turn").removesuffix(" of travel")
        found = result.verdict.found_out if node.kind == "auto" else ""
        text = ", ".join(part for part in (found, words) if part)
        if not result.verdict.good:
            text += ", as it is" if result.accepted else ", not good"
    elif node.name in state.skipped:
        text = "skipped"
    else:
        text = {"auto": "find out", "handle0": "handle", "handle1": "handle", "handle2": "handle"}.get(
            node.kind, node.kind
        )
    return _row(mark, _label(state, node), width, text, here=here)


def _present_mark(state: State) -> tuple[str, str]:
    return {
        Phase.RECORDING: ("●", BAD),
        Phase.WORKING: ("…", NOTE),
        Phase.VERDICT: ("?", NOTE),
    }.get(state.phase, ("▶", "bold $text-primary"))


def _row(mark: tuple[str, str], name: str, width: int, text: str, *, here: bool = False) -> Content:
    return Content.assemble(mark, " ", (f"{name:<{width}}", "bold" if here else ""), " ", (text, "" if here else FAINT))


def fit_rows(fit: LiveFit | None, limits: QualityLimits, width: int) -> list[Content]:
    """Numbers of a fit, each with a bar to its goal."""
    if fit is None or not fit.kind:
        return [Content.assemble(("The numbers come with the movement.", FAINT))]
    sure = fit.verdict.found_out.partition(", ")[2]
    rows = [Content.assemble(f"{'type':<9}", (f"{fit.kind:>9}", "bold"), (f"  {sure}" if sure else "", FAINT))]
    if math.isfinite(fit.sides):
        return [_bar("sides", f"{fit.sides:.0f}", fit.sides / SIDES, f"of {SIDES}", width)]
    only_turn = math.isfinite(fit.arc_goal)
    if math.isfinite(fit.axis_std):
        std, goal = math.degrees(fit.axis_std), limits.axis_std_deg
        rows.append(_number("axis", f"± {std:.2f}°", goal / max(std, 1e-9), f"≤ {goal:g}°", width, not only_turn))
    if math.isfinite(fit.position_std):
        std, goal = fit.position_std * 1e3, limits.position_std_mm
        rows.append(
            _number("position", f"± {std:.2f} mm", goal / max(std, 1e-9), f"≤ {goal:g} mm", width, not only_turn)
        )
    if math.isfinite(fit.arc):
        turned, goal = math.degrees(fit.arc), math.degrees(fit.arc_goal) if only_turn else limits.min_arc_deg
        rows.append(_number("turn", f"{turned:.1f}°", turned / goal, f"≥ {goal:g}°", width, fit.kind == "rotary"))
    if math.isfinite(fit.travel):
        slid, goal = fit.travel * 1e3, limits.min_travel_mm
        rows.append(_number("travel", f"{slid:.0f} mm", slid / goal, f"≥ {goal:g} mm", width, fit.kind == "prismatic"))
    if fit.samples:
        share, goal = fit.inliers / fit.samples, 1.0 - limits.max_outlier_share
        rows.append(_number("used", f"{share:.0%}", share / goal, f"≥ {goal:.0%}", width, not only_turn))
    return rows


def _number(label: str, value: str, share: float, goal: str, width: int, needed: bool) -> Content:
    """One number, with a bar where something is asked of it."""
    return _bar(label, value, share, goal, width) if needed else Content(f"{label:<9}{value:>9}")


def _bar(label: str, value: str, share: float, goal: str, width: int) -> Content:
    """One number with a bar that is full when the goal is reached."""
    length = max(4, min(40, width - 31))
    full = math.floor(length * min(1.0, max(0.0, share)))
    style = GOOD if share >= 1.0 else NOTE
    return Content.assemble(
        f"{label:<9}",
        (f"{value:>9}", style),
        "  ",
        ("█" * full, style),
        ("░" * (length - full), FAINT),
        (f"  {goal}", FAINT),
    )


def take_summary(take: TakeLive, limits: QualityLimits, width: int) -> Content:
    """How near the running take is to its goal, and one sentence: how precise, and what to do."""
    fit = take.fit
    parts: list[str] = []
    if fit is not None and math.isfinite(fit.axis_std):
        std = math.degrees(fit.axis_std)
        parts.append(f"axis ± {std:.1f}°" if std >= 0.1 else f"axis ± {std:.2f}°")
    if fit is not None and math.isfinite(fit.position_std):
        parts.append(f"position ± {fit.position_std * 1e3:.1f} mm")
    said = advice(take)
    sentence = f"{', '.join(parts)}; {said}" if parts else said
    share = 0.0 if fit is None or not fit.kind else progress_to_goal(fit, limits)
    style = GOOD if fit is not None and fit.good else NOTE
    return _bar("goal", f"{share:.0%}", share, "", width).append(Content.assemble("\n", (sentence, style)))


def verdict_line(fit: LiveFit) -> Content:
    """One sentence about a finished fit."""
    if fit.good:
        return Content.assemble(("✓ good", GOOD))
    finding = fit.verdict.findings[0]
    return Content.assemble((f"! {finding.message} {finding.remedy}", NOTE))


def unseen(take: TakeLive) -> bool:
    """Whether the cameras do not see the gripper in a running take."""
    return take.unseen_s > NOT_SEEN_S


def notice_line(state: State, notes: tuple[str, ...] = ()) -> Content:
    """What was noticed last, then what else is worth knowing: the plot, the disk, switches."""
    said = state.notice if state.notice not in dict(state.lost).values() else ""
    parts = [Content.assemble((f"! {said}", NOTE))] if said else []
    return Content(" │ ").join([*parts, *(Content.assemble((note, FAINT)) for note in notes if note)])


def status_line(status: LiveStatus | None, width: int) -> Content:
    """Rates, tracking, age of the last sample, load, samples of the take; fewer words where there is no room."""
    if status is None:
        return Content(" ")
    full = _status(status, brief=False)
    return full if full.cell_length <= width else _status(status, brief=True)


def _status(status: LiveStatus, *, brief: bool) -> Content:
    parts = [_device("mocap", status.mocap, brief=brief)]
    if status.ft is not None:
        load = f"{'net ' if status.load.net else ''}{status.load.force_n:.1f} N {status.load.torque_nm:.1f} Nm"
        parts.append(_device("F/T", status.ft, load))
    if status.take is not None:
        take = status.take
        all_seen = take.measured == take.samples
        words = f"{take.samples} samples" if all_seen else f"{take.measured} of {take.samples} seen"
        parts.append(Content.assemble((words, "" if all_seen else NOTE)))
    return Content(" ").append(Content(" │ ").join(parts))


def _device(name: str, device: DeviceLive, load: str = "", *, brief: bool = False) -> Content:
    mark, style = ("●", GOOD) if device.well else ("✗", BAD)
    age = "never" if math.isinf(device.age_s) else _age(device.age_s)
    # Where a load is shown it says that samples come; where all is well the mark says so too.
    words = load if load and device.well else (age if brief and device.well else f"{device.state} {age}")
    return Content.assemble((mark, style), f" {name} {device.rate_hz:.0f} Hz ", (words, "" if device.well else BAD))


def _age(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


def key_line(keys: Keys, width: int) -> Content:
    """Keys and what they do; a key stays with its words when the line is broken."""
    lines: list[Content] = []
    for key, what in keys:
        item = Content.assemble((f" {key} ", "bold reverse"), f" {what}  ")
        if lines and lines[-1].cell_length + item.cell_length <= width + 2:
            lines[-1] = lines[-1].append(item)
        else:
            lines.append(item)
    return Content("\n").join(lines)


def keys_now(state: State) -> Keys:
    """Keys that work in a state."""
    return tuple({**dict(instruction(state).keys), **dict(ALWAYS)}.items())
