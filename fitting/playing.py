"""What may be play: movements too small for the joint that would explain them to be told from a simpler one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fitting.agreement import Noise
from fitting.explained import Explained
from fitting.leaving import GIVES_WAY, went
from fitting.motion import Take
from fitting.noise import correlation_time
from fitting.result import FitFailure, Mask
from fitting.se3 import Array, rotation_log

_SLID, _TURNED = 1.5e-3, float(np.radians(0.7))
"""Metres and radians below which the single coordinate of a joint plays only."""
_SLID_TOO, _TURNED_TOO = 1e-3, float(np.radians(0.7))
"""The same for each of two, and for the advance of a screw."""
_HELD_M, _HELD_RAD = 5e-3, float(np.radians(2.0))
"""A part that is held, or leant on, moves by so much: whether it has a joint cannot be told from that."""
_BOTH_M, _BOTH_RAD = 2e-3, float(np.radians(1.5))
"""A joint that turns or slides strays by so much in the other way."""
_ROSE = 6e-4
"""Metres by which a hinge rises as it turns, for all that can be told."""
_LIFTED, _SAGGED = 0.006, 0.0025
"""Shares of the way up to which a turning joint that also slides may play, and certainly does."""
_BEYOND, _NOISE = 7.0, 5.5
"""Standard deviations of the noise that a slide must span to be told, and to be seen: noise alone spans five."""
_BURSTS = 0.1
"""Share of the samples at each end of a movement that may be bursts along it."""
_SPREAD = 2.56
"""Standard deviations between these ends in a normal distribution."""
_STRAIGHT = 1.5
"""Metres: no door is held so far from its hinges; a rotary joint with a larger radius is a drawer."""
_STEEPEST = 0.25
"""Metres per radian: a screw that advances more is a drawer whose gripper turned a little."""
_CERTAIN = 3.0
"""Standard deviations by which the pitch of a screw must differ from nothing."""
_OVER = 0.4
"""Radians by which no gripper turns in the hand."""
_STRETCHES = 24
"""Stretches of a take whose means show what is slow in it."""
_ELSEWHERE = 0.5
"""Share of the stretches that a rigid body must spend where it is."""
_AWAY_M, _AWAY_RAD = 0.01, float(np.radians(4.0))
"""Metres and radians beyond which a stretch is somewhere else."""
_LONGEST = 20.0
"""Samples over which noise remembers itself; what is slower is seen in stretches."""
_RESTS, _RESTS_ONLY = 0.7, 0.8
"""Shares of the samples that a body which is pushed now and then spends where it is: if it ends there, and if not."""
_LEFT = 0.2
"""Share of the slow movement that a joint may leave: play goes all ways, and the best joint explains half of it."""


def span(values: Array, beyond: float = 0.005) -> float:
    """Range of values without a share of them at each end."""
    low, high = np.quantile(values, [beyond, 1.0 - beyond])
    return max(float(high - low), 1e-12)


def staying(name: str, fit: Any, takes: list[Take]) -> Any:
    """The fit, unless the body moved in a way that such a joint does not allow, however widely its samples scatter."""
    if name == "rigid" and fit and not _stays(fit, takes):
        return FitFailure("It was in several places: nothing rigid is.")
    if name == "rigid" and fit and (far := _went(fit, takes)) > GIVES_WAY:
        return FitFailure(f"It went away by {1e3 * far:.0f} mm step by step, and came back: nothing rigid does.")
    if name == "prismatic" and fit and fit.rotation > _OVER:
        return FitFailure(f"It turned by {np.degrees(fit.rotation):.0f}° as it slid: nothing that only slides does.")
    return fit


def possible(name: str, fit: Any, takes: list[Take]) -> Any:
    """The fit, unless no such joint was moved: a coordinate that only plays is none."""
    if isinstance(fit, FitFailure):
        return fit
    if name == "rigid":
        return fit
    if getattr(fit, "radius", 0.0) > _STRAIGHT:
        return FitFailure(f"The radius would be {fit.radius:.0f} m: that is a straight line.")
    if name == "screw" and not _CERTAIN * fit.pitch_std < abs(fit.pitch) < _STEEPEST:
        return FitFailure(f"It would advance by {1e3 * fit.pitch:.1f} ± {1e3 * fit.pitch_std:.1f} mm for each radian.")
    turn, slide = _moved(name, fit)
    slid, turned = (_SLID, _TURNED) if name in ("prismatic", "rotary") else (_SLID_TOO, _TURNED_TOO)
    if name == "cylindrical":
        # A door that is lifted by its play is no handle.
        slid = max(slid, _SAGGED * _reach(takes))
    if name != "screw" and slide < max(slid, _NOISE * fit.noise):
        return FitFailure(f"It slid by {1e3 * slide:.1f} mm only, which is play.")
    if turn < turned:
        return FitFailure(f"It turned by {np.degrees(turn):.1f}° only, which is play.")
    return fit


def doubts(name: str, fit: Any, takes: list[Take]) -> list[str]:
    """Simpler joints that may have played as a fit says that this one has moved."""
    if isinstance(fit, FitFailure) or name == "rigid":
        return []
    turn, slide = _moved(name, fit)
    angle, way = _moved(name, fit, _BURSTS)
    # Slides are as wide as their noise on top of what they are.
    way = np.sqrt(max(way**2 - (_SPREAD * fit.noise) ** 2, 0.0))
    still, steady = name == "rotary" or way < _HELD_M, name == "prismatic" or angle < _HELD_RAD
    around = name == "prismatic" or fit.radius * angle < _HELD_M
    rivals = ["rigid"] if still and steady and around else []
    if name == "prismatic" and slide < _BEYOND * fit.noise:
        rivals.append("rigid")
    if name == "screw" and slide < _ROSE:
        rivals.append("rotary")
    if name == "cylindrical" and slide < max(_BOTH_M, _LIFTED * _reach(takes), _BEYOND * fit.noise):
        rivals.append("rotary")
    if name in ("screw", "cylindrical") and turn < _BOTH_RAD:
        rivals.append("prismatic")
    return rivals


def only_plays(joint: Explained, rigid: Explained, noise: Noise) -> bool:
    """Whether a joint leaves too much of what a body that is held moved slowly: then it is not what moved."""
    return _left(joint, rigid, joint.used, noise) > _LEFT


def bursts_only(joint: Explained, rigid: Explained, noise: Noise) -> bool:
    """Whether a body rested but for a few stretches, and came back from each: these are accidents, not a joint's."""
    at_rest = rigid.followed[joint.used]
    few = max(len(at_rest) // _STRETCHES, 1)
    back = len(at_rest) > 0 and min(at_rest[:few].mean(), at_rest[-few:].mean()) > 0.5
    if not len(at_rest) or at_rest.mean() <= (_RESTS if back else _RESTS_ONLY):
        return False
    # A movement of a few times its noise is within reach of rest all along.
    return _left(joint, rigid, joint.used & rigid.followed, noise) > _LEFT


def _left(joint: Explained, rigid: Explained, used: Mask, noise: Noise) -> float:
    """Share of the slow movement of a body that a joint leaves, in standard deviations."""
    scale = np.repeat([1.0 / noise.position, 1.0 / noise.orientation], 3)
    moved = _slow_power(rigid.residuals * scale, used)
    return _slow_power(joint.residuals * scale, used) / max(moved, 1e-300)


def worth_one(found: Sequence[Explained]) -> float:
    """Samples that together are worth one, by what is slow in the residuals of the best explanation."""
    best = min(found, key=lambda one: one.cost)
    e, used = best.residuals, best.used
    tau = min(correlation_time(e[:, :3], used, 3), _LONGEST)
    return max(tau, _slowness(e[:, :3], used), _slowness(e[:, 3:], used))


def _slowness(residuals: Array, used: Mask) -> float:
    """Samples that are worth one where means over stretches are asked: of residuals (n, k) of one unit; 1 if white."""
    count = int(used.sum())
    if count < 4 * _STRETCHES:
        return 1.0
    power = float((residuals[used] ** 2).sum()) / count
    return max(_slow_power(residuals, used) / max(power, 1e-300), 1.0)


def _slow_power(residuals: Array, used: Mask) -> float:
    """Mean over stretches of their squared mean residual (k,), times their number of samples."""
    own = residuals[used]
    if len(own) < _STRETCHES:
        return 0.0
    edges = np.linspace(0, len(own), _STRETCHES + 1).astype(int)
    sums = np.add.reduceat(own, edges[:-1], axis=0)
    return float(((sums**2).sum(axis=1) / np.diff(edges)).mean())


def _moved(name: str, fit: Any, beyond: float = 0.005) -> tuple[float, float]:
    """How far a fit turned (rad) and slid (m), without a share of its samples at each end; infinite what it cannot."""
    angles = getattr(fit, "angles", None)
    # An angle that only the position tells is as wide as that is near to the axis.
    seen = fit.inliers & getattr(fit, "orientations", fit.inliers)
    turn = np.inf if angles is None else span(angles[seen if seen.any() else fit.inliers], beyond)
    if name == "screw":
        return turn, abs(fit.pitch) * turn
    slides = fit.coordinates if name == "prismatic" else getattr(fit, "slides", None)
    return turn, np.inf if slides is None else span(slides[fit.inliers], beyond)


def _reach(takes: list[Take]) -> float:
    """How far (m) the positions reach, without the outermost tenth of them."""
    p = np.concatenate([take.p for take in takes])
    return float(np.linalg.norm(np.subtract(*np.quantile(p, [0.95, 0.05], axis=0))))


def _went(fit: Any, takes: list[Take]) -> float:
    """How far (m) a body went from where it rests, and came back."""
    masks = np.split(fit.inliers, np.cumsum([len(take) for take in takes])[:-1])
    return max(
        went(take.moves, mask, back=True) if mask.any() else 0.0 for take, mask in zip(takes, masks, strict=True)
    )


def _stays(fit: Any, takes: list[Take]) -> bool:
    """Whether a rigid body is most of the time where it is: scatter may be wide, but does not move."""
    for take in takes:
        if len(take) < 4 * _STRETCHES:
            continue
        edges = np.linspace(0, len(take), _STRETCHES + 1).astype(int)[1:-1]
        vectors = rotation_log(take.R @ fit.frame[:3, :3].T)
        middles = np.array(
            [
                [np.linalg.norm(np.median(p, axis=0)), np.linalg.norm(np.median(v, axis=0))]
                for p, v in zip(np.split(take.p - fit.point, edges), np.split(vectors, edges), strict=True)
            ]
        )
        there = (middles[:, 0] < max(_AWAY_M, fit.noise)) & (middles[:, 1] < _AWAY_RAD)
        if there.mean() < _ELSEWHERE:
            return False
    return True
