"""What can be said about the takes of a joint or handle: from its fit, or from the movement alone."""

import math
from collections.abc import Sequence

from fitting.se3 import Array
from ident.habits import Jump, extent, largest_jump, off_path, swings_about_bar, swings_in_hand
from ident.joints.node import Node
from ident.takes import TakeData, peak_speed
from ident.workflow.plan import HANDLE_KINDS
from ident.workflow.quality import STILL_KINDS, Observation

THERE_AND_BACK = 2.5
"""A joint is moved there and back: its turns sum up to twice their range, and a little more."""


def observe(node: Node, takes: Sequence[TakeData], seen: Sequence[Array], best: str, *, tip_known: bool) -> Observation:
    """Observation of a fit; ``seen`` are the tip poses of each take in the parent's frame.

    Where the tip was not calibrated, poses beside the path say nothing about straying.
    """
    evidence = node.evidence
    if evidence is None:
        raise ValueError(f"{node.name} was not fitted")
    spans = dict(zip((c.name for c in node.coordinates), (hi - lo for lo, hi in node.limits), strict=True))
    has_position = node.kind != "prismatic"
    jump = _jump(node.kind, takes, seen)
    return Observation(
        kind=node.kind,
        samples=evidence.samples,
        measured=sum(t.measured for t in takes),
        inliers=evidence.inliers,
        longest_loss_s=max(t.longest_loss_s for t in takes),
        axis_std=evidence.axis_std if node.dof else math.nan,
        position_std=evidence.position_std if has_position else math.nan,
        arc=spans.get("turn", math.nan),
        travel=spans.get("slide", math.nan),
        grip=evidence.grip or "rigid",
        speed=max(peak_speed(t) for t in takes),
        duration_s=_shortest(takes),
        best_kind=best,
        jump_m=jump.metres,
        jump_rad=jump.radians,
        swing=_swing(node, takes, seen, evidence.inliers / max(evidence.samples, 1), tip_known),
        off_path=farthest_off(node, takes, seen) if tip_known else math.nan,
    )


def observe_unfitted(
    kind: str, takes: Sequence[TakeData], seen: Sequence[Array], reason: str, *, tip_known: bool
) -> Observation:
    """Observation of takes that gave no fit, and why."""
    jump = _jump(kind, takes, seen)
    sizes = [extent(s, may_bend=kind == "rotary") for s in seen]
    return Observation(
        kind=kind,
        samples=sum(t.samples for t in takes),
        measured=sum(t.measured for t in takes),
        inliers=0,
        longest_loss_s=max(t.longest_loss_s for t in takes),
        axis_std=math.nan,
        position_std=math.nan,
        travel=max(s.travel for s in sizes),
        bow=max(s.bow for s in sizes),
        speed=max(peak_speed(t) for t in takes),
        duration_s=_shortest(takes),
        jump_m=jump.metres,
        jump_rad=jump.radians,
        swing=_swing_unfitted(kind, takes, seen) if tip_known else math.nan,
        off_path=max(s.away for s in sizes) if tip_known else math.nan,
        failure=reason,
    )


def farthest_off(node: Node, takes: Sequence[TakeData], seen: Sequence[Array]) -> float:
    """How far (m) the tip went beside the path of a joint or handle, in the worst of the takes."""
    return max(off_path(node, t.t_ns, s) for t, s in zip(takes, seen, strict=True))


def _jump(kind: str, takes: Sequence[TakeData], seen: Sequence[Array]) -> Jump:
    """Largest step in any take; a gripper that is turned and slid along a bar on purpose makes such steps itself."""
    if kind in HANDLE_KINDS and kind not in STILL_KINDS:
        return Jump()
    jumps = [largest_jump(t.t_ns, s) for t, s in zip(takes, seen, strict=True)]
    return Jump(max(j.metres for j in jumps), max(j.radians for j in jumps))


def _swing(node: Node, takes: Sequence[TakeData], seen: Sequence[Array], explained: float, tip_known: bool) -> float:
    """Swings of the grip in the worst take.

    No more than those about the bar, since a wrong fit sees swings anywhere; and where the fit explains less than half
    of the samples, it does not tell how the part moved.
    """
    if node.kind in (*HANDLE_KINDS, *STILL_KINDS):
        return math.nan
    if tip_known and explained < 0.5:
        return _swing_unfitted(node.kind, takes, seen)
    found = []
    for take, poses in zip(takes, seen, strict=True):
        swings = swings_in_hand(node, take.t_ns, poses)
        found.append(min(swings, swings_about_bar(take.t_ns, poses)[0]) if tip_known else swings)
    return max(found)


def _swing_unfitted(kind: str, takes: Sequence[TakeData], seen: Sequence[Array]) -> float:
    """Swings about the bar where they are more than there and back, as a joint moves that turns about its bar."""
    if kind in (*HANDLE_KINDS, *STILL_KINDS):
        return math.nan
    found = [swings_about_bar(t.t_ns, s) for t, s in zip(takes, seen, strict=True)]
    return max(swings if swings > THERE_AND_BACK * span else 0.0 for swings, span in found)


def _shortest(takes: Sequence[TakeData]) -> float:
    return min(float(t.t_ns[-1] - t.t_ns[0]) * 1e-9 if t.measured else 0.0 for t in takes)
