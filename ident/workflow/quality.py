"""What is asked of a take: limits with their unit and reason, what is observed, and a verdict with its remedies."""

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
    """What a good take has, and errors that no take shows; each can be changed under ``[quality]`` in the rig file."""

    axis_std_deg: float = _limit(0.42, "°", "99 of 100 axes then lie within 1°, which grippers tolerate")
    position_std_mm: float = _limit(2.0, "mm", "99 of 100 axes then lie within 5 mm, the width of a finger pad")
    min_samples: float = _limit(120.0, "samples", "one second at 120 Hz")
    min_arc_deg: float = _limit(12.0, "°", "a shorter arc does not tell a hinge from a slide")
    min_bow_mm: float = _limit(5.0, "mm", "a path straighter than this shows no axis by itself")
    min_travel_mm: float = _limit(40.0, "mm", "a shorter slide does not tell its direction to 1°")
    min_handle_turn_deg: float = _limit(12.0, "°", "a gripper that turns less does not show the bar's axis")
    min_handle_slide_mm: float = _limit(12.0, "mm", "less is the play of a grip, not a slide from end to end")
    max_outlier_share: float = _limit(0.5, "share", "where most is thrown away, another movement was made")
    max_off_path_mm: float = _limit(15.0, "mm", "a loose mechanism gives way by up to 13 mm, another joint by more")
    max_off_handle_mm: float = _limit(6.0, "mm", "a gripper on a bar stays on it to 2 mm, unless the part moves")
    max_swing_deg: float = _limit(50.0, "° in all", "a firm grip may turn once by 15°, a loose one swings to and fro")
    max_jump_deg: float = _limit(
        6.0, "° in 70 ms", "joints that shake turn the gripper by up to 3°, a slip by 8° and more"
    )
    max_jump_mm: float = _limit(30.0, "mm in 70 ms", "joints that stick and jump make up to 20 mm")
    max_loss_s: float = _limit(0.5, "s", "a longer gap may hide an end stop or a slip")
    max_speed_m_s: float = _limit(2.5, "m/s", "faster than this, the frames lie two centimetres apart")
    min_duration_s: float = _limit(2.0, "s", "a quicker movement shakes the part and blurs its ends")
    distortion_mm: float = _limit(0.1, "mm rms per axis", "smooth bend of the tracked volume that calibration leaves")
    play_mm: float = _limit(0.15, "mm rms per axis", "slow play of a firm grip and its mechanism")
    play_deg: float = _limit(0.1, "° rms per axis", "slow play of a firm grip, as orientation")
    creep_mm: float = _limit(0.3, "mm rms", "slow sliding along the gripped bar, twice the play across it")
    unseen_turn_deg: float = _limit(0.3, "°", "a turn of the grip in the hand that passes for play")
    seat_mm: float = _limit(
        0.3, "mm rms each way", "how a bar sits in the groove; more if that differs by its diameter"
    )


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
    found_out: bool = False
    """The operator left it to the data what type it is."""
    probability: float = math.nan
    """Of ``best_kind``, or of ``kind`` where that was found out; NaN where it was not computed."""
    jump_m: float = 0.0
    """Largest sudden step of the tip in metres; 0 where steps are part of the movement."""
    jump_rad: float = 0.0
    """Largest sudden turn of the gripper in radians; 0 where such turns are part of the movement."""
    swing: float = math.nan
    """Radians that the gripper swung to and fro on the part, summed; NaN where it is meant to turn."""
    off_path: float = math.nan
    """Metres by which the tip went to and fro beside the path; NaN where the tip is not known."""
    bow: float = math.nan
    """Metres by which the path is bent, where there is no fit that gives an arc."""
    failure: str = ""
    """Why there is no fit; empty where there is one."""


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
    found_out: str = ""
    """The type and how sure it is, in words, where the operator left it to the data."""

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
        found_out = {"found_out": self.found_out} if self.found_out else {}
        return {"summary": self.summary, "findings": [asdict(f) for f in self.findings], **found_out}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Verdict":
        """Inverse of :meth:`to_dict`."""
        names = {f.name for f in fields(Finding)}
        findings = tuple(
            Finding(**{k: str(v) for k, v in item.items() if k in names}) for item in data.get("findings", ())
        )
        return Verdict(str(data.get("summary", "")), findings, str(data.get("found_out", "")))


def refused(reason: str) -> Verdict:
    """Verdict for takes that gave no fit at all."""
    return Verdict(summary="No fit.", findings=(Finding("no_fit", reason, ""),))
