"""Was the take good enough? An observation held against the limits, in words with the reason and the remedy."""

import math
from collections.abc import Callable

from ident.workflow.plan import HANDLE_KINDS
from ident.workflow.quality import STILL_KINDS, Finding, Observation, QualityLimits, Verdict


def assess(seen: Observation, limits: QualityLimits) -> Verdict:
    """Compare an observation with the limits: what went wrong in the movement, the most basic first.

    Where nothing of that kind is found, what the fit itself complains about. Its complaints are consequences, and
    would only hide the cause from an operator who reads one line.
    """
    causes = _found((_tracking, _extent, _speed, _slip, _grip, _stray, _kind), seen, limits)
    hidden = {code for finding in causes for code in _EXPLAINS.get(finding.code, ())}
    findings = tuple(f for f in causes if f.code not in hidden)
    complaints = (_samples, _outliers, _harmful_grip, _precision, _failure)
    found_out = ", ".join(filter(None, (seen.kind, _sure(seen)))) if seen.found_out else ""
    return Verdict(_summary(seen), findings or _found(complaints, seen, limits), found_out)


def _sure(seen: Observation) -> str:
    """How sure it is that the movement looks as it does; empty where that was not computed."""
    if not math.isfinite(seen.probability):
        return ""
    if seen.probability > 0.99:
        return "over 99 % sure"
    return f"{100.0 * seen.probability:.0f} % sure"


_EXPLAINS = {
    "short_arc": ("other_type", "loose_grip"),
    "short_travel": ("other_type", "loose_grip"),
    "slipped": ("too_quick", "strayed", "other_type", "loose_grip"),
    "strayed": ("other_type",),
}
"""What one fault makes look like another: the first is told, the others are not."""


def _found(
    checks: tuple[Callable[[Observation, QualityLimits], Finding | None], ...], seen: Observation, limits: QualityLimits
) -> tuple[Finding, ...]:
    return tuple(finding for check in checks if (finding := check(seen, limits)) is not None)


def _summary(seen: Observation) -> str:
    if seen.failure:
        return "No fit."
    parts: list[str] = []
    if math.isfinite(seen.arc):
        parts.append(f"{math.degrees(seen.arc):.1f}° of turn")
    if math.isfinite(seen.travel):
        parts.append(f"{seen.travel * 1e3:.0f} mm of travel")
    if math.isfinite(seen.axis_std):
        parts.append(f"axis ± {math.degrees(seen.axis_std):.2f}°")
    if math.isfinite(seen.position_std):
        parts.append(f"position ± {seen.position_std * 1e3:.2f} mm")
    parts.append(f"{seen.inliers} of {seen.samples} samples used")
    if seen.grip != "rigid" and seen.kind not in HANDLE_KINDS:
        # Worth a remark only: a turn that matters shows in how well the axis is known.
        parts.append("the grip turned")
    return ", ".join(parts)


def _samples(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.measured >= limits.min_samples:
        return None
    return Finding(
        "few_samples",
        f"Only {seen.measured} samples were measured; {limits.min_samples:.0f} are needed.",
        "Move more slowly, and check that the markers are seen.",
    )


def _tracking(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.longest_loss_s <= limits.max_loss_s:
        return None
    return Finding(
        "tracking_lost",
        f"Tracking was lost for {seen.longest_loss_s:.1f} s.",
        "Turn the markers towards the cameras and measure again.",
    )


def _kind(seen: Observation, _: QualityLimits) -> Finding | None:
    if not seen.best_kind or seen.best_kind == seen.kind:
        return None
    return Finding(
        "other_type",
        f"The movement looks {seen.best_kind}, not {seen.kind}{f' ({sure})' if (sure := _sure(seen)) else ''}.",
        f"Change the type to {seen.best_kind}, or measure again with a cleaner movement.",
        suggests=seen.best_kind,
    )


def _extent(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.kind in STILL_KINDS:
        return None
    turned = math.degrees(seen.arc) if math.isfinite(seen.arc) else math.inf
    slid = seen.travel * 1e3 if math.isfinite(seen.travel) else math.inf
    bow = seen.bow * 1e3 if math.isfinite(seen.bow) else math.inf
    if seen.kind not in ("rotary", "prismatic"):
        return _handle_extent(turned, slid, limits)
    if seen.kind == "rotary" and turned < limits.min_arc_deg:
        return Finding(
            "short_arc",
            f"The arc of {turned:.1f}° is too short; {limits.min_arc_deg:.0f}° are needed.",
            "Open it further.",
        )
    if seen.kind == "rotary" and bow < limits.min_bow_mm:
        return Finding(
            "short_arc",
            f"The path of {slid:.0f} mm is bent by {bow:.1f} mm only, too little to show its axis by itself.",
            "Open it further, and hold the gripper firmly.",
        )
    if seen.kind == "prismatic" and slid < limits.min_travel_mm:
        return Finding(
            "short_travel",
            f"The travel of {slid:.0f} mm is too short; {limits.min_travel_mm:.0f} mm are needed.",
            "Pull it out further.",
        )
    return None


def _handle_extent(turned: float, slid: float, limits: QualityLimits) -> Finding | None:
    if turned < limits.min_handle_turn_deg:
        return Finding(
            "short_arc",
            f"The gripper turned by {turned:.1f}° about the handle; {limits.min_handle_turn_deg:.0f}° are needed.",
            "Turn it as far as it goes both ways.",
        )
    if slid < limits.min_handle_slide_mm:
        return Finding(
            "short_travel",
            f"The gripper slid by {slid:.0f} mm along the handle; {limits.min_handle_slide_mm:.0f} mm are needed.",
            "Slide it from end to end.",
        )
    return None


def _slip(seen: Observation, limits: QualityLimits) -> Finding | None:
    turned, moved = math.degrees(seen.jump_rad), seen.jump_m * 1e3
    if _hasty(seen, limits):  # Then every movement is a jump.
        return None
    if turned <= limits.max_jump_deg and moved <= limits.max_jump_mm:
        return None
    return Finding(
        "slipped",
        f"The grip slipped: it jumped by {moved:.0f} mm and {turned:.0f}° at once.",
        "Clamp it firmly and measure again.",
    )


def _stray(seen: Observation, limits: QualityLimits) -> Finding | None:
    joint = seen.kind in ("rotary", "prismatic")
    most = limits.max_off_path_mm if joint or seen.kind in STILL_KINDS else limits.max_off_handle_mm
    off = seen.off_path * 1e3
    if not off > most:
        return None
    what = "It moved" if seen.kind in STILL_KINDS else "The movement strayed into another direction"
    return Finding(
        "strayed",
        f"{what} by {off:.0f} mm; up to {most:.0f} mm is good.",
        "Move only this joint." if joint else "Let the part rest, and move only the gripper on it.",
    )


def _outliers(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.failure:
        return None
    share = 1.0 - seen.inliers / max(seen.samples, 1)
    if share <= limits.max_outlier_share:
        return None
    return Finding(
        "outliers",
        f"{share:.0%} of the samples do not fit the joint and were thrown away.",
        "Move only this joint, in one clean movement.",
    )


def _grip(seen: Observation, limits: QualityLimits) -> Finding | None:
    swing = math.degrees(seen.swing)
    if not swing > limits.max_swing_deg:
        return None
    reason = f"The grip turned to and fro in the hand, by {swing:.0f}° in all."
    return Finding("loose_grip", reason, "Clamp it firmly and measure again.")


def _harmful_grip(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.grip == "rigid" or _precision(seen, limits) is None:
        return None
    reason = f"The grip turned in the hand, which leaves the axis known to ± {math.degrees(seen.axis_std):.2f}°."
    return Finding("loose_grip", reason, "Clamp it firmly and measure again.")


def _hasty(seen: Observation, limits: QualityLimits) -> bool:
    return seen.duration_s < limits.min_duration_s and seen.kind not in STILL_KINDS


def _speed(seen: Observation, limits: QualityLimits) -> Finding | None:
    if _hasty(seen, limits):
        reason = f"The movement took {seen.duration_s:.1f} s; {limits.min_duration_s:.0f} s and more are good."
    elif seen.speed > limits.max_speed_m_s:
        reason = f"The movement was quick ({seen.speed:.1f} m/s; up to {limits.max_speed_m_s:.1f} m/s is good)."
    else:
        return None
    return Finding("too_quick", reason, "Move more slowly.")


def _precision(seen: Observation, limits: QualityLimits) -> Finding | None:
    axis = math.degrees(seen.axis_std) if math.isfinite(seen.axis_std) else 0.0
    position = seen.position_std * 1e3 if math.isfinite(seen.position_std) else 0.0
    if axis <= limits.axis_std_deg and position <= limits.position_std_mm:
        return None
    return Finding(
        "imprecise",
        f"The axis is known to ± {axis:.2f}° and ± {position:.1f} mm; "
        f"the goal is ± {limits.axis_std_deg:.2f}° and ± {limits.position_std_mm:.1f} mm.",
        "Add a take, with a longer movement and a firm grip.",
        again="add",
    )


def _failure(seen: Observation, _: QualityLimits) -> Finding | None:
    return Finding("no_fit", seen.failure, "") if seen.failure else None
