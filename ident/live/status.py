"""One look at a running measurement, and what to tell the operator about it."""

import math
from dataclasses import dataclass

from ident.joints.node import Node
from ident.workflow.quality import QualityLimits, Verdict

NOT_SEEN_S = 0.25
"""Host seconds without a measured pose after which the operator is told; a blink of the markers is less."""

REST_S = 1.0
"""Host seconds of rest at the end of a movement after which a good take may end by itself."""
SIDES = 6
"""Sides of the gripper that point down when it is weighed."""
HOLD_S = 2.0
"""Host seconds that a still hold lasts, as the operator is asked."""


@dataclass(frozen=True)
class DeviceLive:
    """How one device is doing now."""

    rate_hz: float
    state: str
    """``tracking``, ``not tracked``, ``frozen``, ``inaccurate``, ``streaming``, ``not valid`` or ``silent``."""
    age_s: float
    """Host seconds since its last sample; infinite where there was none."""

    @property
    def well(self) -> bool:
        """Whether its samples can be used."""
        return self.state in ("tracking", "streaming")


@dataclass(frozen=True)
class LiveFit:
    """The fit to what there is of a running take, in the frame of the parent link."""

    kind: str
    """Type that was fitted; empty where there is no fit yet."""
    verdict: Verdict
    samples: int = 0
    inliers: int = 0
    axis_std: float = math.nan
    """Radians; NaN where the type has no axis."""
    position_std: float = math.nan
    """Metres; NaN where the type has no position."""
    arc: float = math.nan
    """Radians so far; NaN where nothing turns."""
    travel: float = math.nan
    """Metres so far; NaN where nothing slides."""
    arc_goal: float = math.nan
    """Radians of turn that are all that is asked for; NaN where the limits say what is."""
    sides: float = math.nan
    """Sides of the gripper, of six, that have pointed down; NaN where it is not weighed."""
    node: Node | None = None
    looks_like: str = ""
    """The joint type that explains the take best, where it tells."""

    @property
    def good(self) -> bool:
        """Whether the take would be accepted if it ended now."""
        return self.verdict.good


@dataclass(frozen=True)
class TakeLive:
    """The running take."""

    take: int
    seconds: float
    """Host time since its start."""
    samples: int
    measured: int
    unseen_s: float = 0.0
    """Host seconds since the last measured pose."""
    resting_s: float = 0.0
    """Host seconds for which the gripper has not moved, after it had."""
    moves: bool = True
    """False where the operator shall hold still."""
    fit: LiveFit | None = None


@dataclass(frozen=True)
class Load:
    """How large force and torque are."""

    force_n: float = 0.0
    torque_nm: float = 0.0
    net: bool = False
    """Whether bias and the gripper's weight are taken out."""


@dataclass(frozen=True)
class LiveStatus:
    """Everything on the status line."""

    mocap: DeviceLive
    ft: DeviceLive | None = None
    load: Load = Load()
    take: TakeLive | None = None


_ADVICE = {
    "no_fit": "keep moving",
    "few_samples": "keep moving",
    "tracking_lost": "redo: markers were hidden",
    "other_type": "another type?",
    "short_arc": "open it further",
    "short_travel": "pull it further",
    "outliers": "move only this joint",
    "slipped": "redo: the grip slipped",
    "strayed": "move only this joint",
    "loose_grip": "hold it firmly",
    "too_quick": "slower",
    "imprecise": "further, and back",
    "few_sides": "next side down",
}
_EARLY = ("few_samples", "outliers")


def advice(take: TakeLive) -> str:
    """A few words for a glance from two metres away: what to do now."""
    if take.unseen_s > NOT_SEEN_S:
        return "markers not seen"
    if not take.moves:
        return "good: stop" if take.fit is not None and take.fit.good else "hold still"
    if take.fit is None:
        return "move it"
    if take.fit.good:
        return "good: stop" if math.isfinite(take.fit.sides) else "good: go to the end"
    codes = [finding.code for finding in take.fit.verdict.findings]
    # The rest before a movement counts as samples that do not fit; early in a take that says nothing.
    first = next((code for code in codes if code not in _EARLY), codes[0])
    return _ADVICE.get(first, "keep moving")


def finished(take: TakeLive) -> bool:
    """Whether a take may end by itself: good enough, and the hand rests.

    Precision alone does not end it, since the limits of a joint are the ends of its movement.
    """
    if take.fit is None or not take.fit.good or take.unseen_s > NOT_SEEN_S:
        return False
    return take.resting_s >= REST_S if take.moves else take.seconds >= HOLD_S


def progress_to_goal(fit: LiveFit, limits: QualityLimits) -> float:
    """How near the take is to being good enough: the weakest of precision, extent and samples; 1 only where it is."""
    if fit.good:
        return 1.0
    if math.isfinite(fit.sides):
        return _short_of(fit.sides / SIDES)
    if math.isfinite(fit.arc_goal):
        return _short_of(fit.arc / fit.arc_goal)
    shares = [fit.samples / limits.min_samples]
    if math.isfinite(fit.axis_std):
        shares.append(limits.axis_std_deg / max(math.degrees(fit.axis_std), 1e-9))
    if math.isfinite(fit.position_std):
        shares.append(limits.position_std_mm / max(fit.position_std * 1e3, 1e-9))
    if fit.kind == "rotary":
        shares.append(math.degrees(fit.arc) / limits.min_arc_deg)
    if fit.kind == "prismatic":
        shares.append(fit.travel * 1e3 / limits.min_travel_mm)
    return _short_of(min(shares))


def _short_of(share: float) -> float:
    """Keep the bar from being full where something else is not good yet."""
    return min(0.99, max(0.0, share))
