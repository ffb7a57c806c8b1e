"""Was the take good enough? Limits with their unit and reason, and a verdict in words with the remedy."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


def _limit(value: float, unit: str, reason: str) -> float:
    declared: float = field(default=value, metadata={"unit": unit, "reason": reason})
    return declared


STILL_KINDS = ("fixed", "handle0")
"""Types for which the operator holds still: nothing has to move far or slowly."""


@dataclass(frozen=True)
class QualityLimits:
    """What a good take has; each can be changed under ``[quality]`` in the rig file."""

    axis_std_deg: float = _limit(0.35, "°", "three times this stays near 1°, which grippers tolerate")
    position_std_mm: float = _limit(1.6, "mm", "three times this stays within 5 mm, the width of a finger pad")
    min_samples: float = _limit(120.0, "samples", "one second at 120 Hz")
    min_arc_deg: float = _limit(12.0, "°", "a shorter arc does not tell a hinge from a slide")
    min_travel_mm: float = _limit(40.0, "mm", "a shorter slide does not tell its direction to 1°")
    max_outlier_share: float = _limit(0.35, "share", "more thrown away means that another movement was made")
    max_loss_s: float = _limit(0.5, "s", "a longer gap may hide an end stop or a slip")
    max_speed_m_s: float = _limit(2.5, "m/s", "faster than this, the frames lie two centimetres apart")
    min_duration_s: float = _limit(2.0, "s", "a quicker movement shakes the part and blurs its ends")


@dataclass(frozen=True)
class Observation:
    """What is known about the takes of one joint or handle when it has been fitted."""

    kind: str
    samples: int
    measured: int
    inliers: int
    longest_loss_s: float
    axis_std: float
    """Radians; NaN where the type has no axis."""
    position_std: float
    """Metres; NaN where the type has no position."""
    arc: float = math.nan
    """Radians; NaN where nothing turns."""
    travel: float = math.nan
    """Metres; NaN where nothing slides."""
    grip: str = "rigid"
    speed: float = 0.0
    """Fastest movement of the tracked body in m/s, the quickest hundredth left out."""
    duration_s: float = math.inf
    """Length of the shortest take in seconds."""
    best_kind: str = ""
    """What the data look like, where that is known and differs from ``kind``."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    code: str
    message: str
    remedy: str
    again: str = "redo"
    """``redo`` sets the take aside, ``add`` keeps it beside a further one."""
    suggests: str = ""
    """The type that the data look like, where that is what was found."""


@dataclass(frozen=True)
class Verdict:
    """Good, or what to do about it."""

    summary: str
    findings: tuple[Finding, ...] = ()

    @property
    def good(self) -> bool:
        """True when nothing was found."""
        return not self.findings

    @property
    def advice(self) -> str:
        """``accept``, ``redo`` or ``add``."""
        if self.good:
            return "accept"
        return "redo" if any(f.again == "redo" for f in self.findings) else "add"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"summary": self.summary, "findings": [asdict(f) for f in self.findings]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Verdict":
        """Inverse of :meth:`to_dict`."""
        names = {f.name for f in fields(Finding)}
        findings = tuple(
            Finding(**{k: str(v) for k, v in item.items() if k in names}) for item in data.get("findings", ())
        )
        return Verdict(summary=str(data.get("summary", "")), findings=findings)


def refused(reason: str) -> Verdict:
    """Verdict for takes that gave no fit at all."""
    return Verdict(summary="No fit.", findings=(Finding("no_fit", reason, ""),))


def assess(seen: Observation, limits: QualityLimits) -> Verdict:
    """Compare an observation with the limits; every finding at once, the most basic first."""
    findings = tuple(
        finding
        for check in (_samples, _tracking, _kind, _extent, _outliers, _grip, _speed, _precision)
        if (finding := check(seen, limits)) is not None
    )
    return Verdict(summary=_summary(seen), findings=findings)


def _summary(seen: Observation) -> str:
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
        f"The movement looks {seen.best_kind}, not {seen.kind}.",
        f"Change the type to {seen.best_kind}, or measure again with a cleaner movement.",
        suggests=seen.best_kind,
    )


def _extent(seen: Observation, limits: QualityLimits) -> Finding | None:
    turned = math.degrees(seen.arc) if math.isfinite(seen.arc) else math.inf
    slid = seen.travel * 1e3 if math.isfinite(seen.travel) else math.inf
    if seen.kind == "rotary" and turned < limits.min_arc_deg:
        return Finding(
            "short_arc",
            f"The arc of {turned:.1f}° is too short; {limits.min_arc_deg:.0f}° are needed.",
            "Open it further.",
        )
    if seen.kind == "prismatic" and slid < limits.min_travel_mm:
        return Finding(
            "short_travel",
            f"The travel of {slid:.0f} mm is too short; {limits.min_travel_mm:.0f} mm are needed.",
            "Pull it out further.",
        )
    return None


def _outliers(seen: Observation, limits: QualityLimits) -> Finding | None:
    share = 1.0 - seen.inliers / max(seen.samples, 1)
    if share <= limits.max_outlier_share:
        return None
    return Finding(
        "outliers",
        f"{share:.0%} of the samples do not fit the joint and were thrown away.",
        "Move only this joint, in one clean movement.",
    )


def _grip(seen: Observation, limits: QualityLimits) -> Finding | None:
    imprecise = _precision(seen, limits) is not None
    if seen.grip == "rigid" or not imprecise:
        return None
    return Finding(
        "loose_grip",
        f"The grip turned in the hand (grip: {seen.grip}).",
        "Clamp it firmly and measure again.",
    )


def _speed(seen: Observation, limits: QualityLimits) -> Finding | None:
    if seen.duration_s < limits.min_duration_s and seen.kind not in STILL_KINDS:
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
