"""What no take can show of itself, declared instead: it widens the claim of a fit where it would hurt.

A fit states what its residuals show. Four things leave none, or too little to be told in one take:

- a tracked volume that is bent a little, everywhere differently but smoothly, and the same in every take;
- a tip that is not quite where its calibration says, and sits a little differently in each grip: it moves when the
  gripper turns in the hand;
- slow play of the hand: what is slower than the take passes for another axis. The fit contains what it saw; here it is
  made up to what is declared;
- a grip that has begun to turn where the firm part of a take ends.

Each is taken through the very least squares that made the axis (``fitting.uncertainty.Response``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fitting.result import Mask
from fitting.se3 import Array
from fitting.spectrum import edges, in_cosines
from ident.joints.evidence import Evidence
from ident.joints.rotary import Rotary
from ident.workflow.quality import QualityLimits

if TYPE_CHECKING:
    from fitting.uncertainty import Response

SEAT = (0.0003, math.radians(0.3))
"""How far (m, rad) a bar sits differently in the groove from one grip to the next: no take can show it, so that a tip
found on one bar is known no better."""
CREST_M = 1.0
"""Metres from crest to crest of the distortion: about the distance in which other cameras take over."""
PACE = 75.0
"""Samples per half wave of the quickest play: 0.6 s at 120 Hz, since hands play below 1 Hz."""
REACH = 640.0
"""Samples per half wave of the slowest: a hand in a groove goes to and fro within ten seconds."""
MOSTLY = 0.85
"""Share of a take from which on the grip counts as firm: the rest are accidents, not a turn."""
BORDER = 0.1
"""Share of a take within which a turn that has begun dies away into the firm part."""
GAP = 1.0 / 16.0
"""Share of a take up to which samples that do not count are an accident: no grip turns and is back so soon."""
UNSEEN = 1.5
"""Turn, in standard deviations of the orientations, that passes for their noise."""
Node = TypeVar("Node")


def widened(node: Node, takes: Sequence[Array], declared: QualityLimits, tip: Array | None = None) -> Node:
    """Return a rotary joint with the declared errors' share in the covariance of its evidence, others as they are.

    takes: tip poses (n, 4, 4) in the parent's frame that it was fitted to; tip: covariance (3, 3) of the tip in its own
    frame, m². Only a rotary joint is widened: the direction of a slide is told by hundreds of millimetres of travel.
    """
    evidence = node.evidence if isinstance(node, Rotary) else None
    if not isinstance(node, Rotary) or evidence is None or evidence.covariance is None or not evidence.responses:
        return node
    grips = np.split(np.concatenate([*takes]), np.cumsum([one.samples for one in evidence.responses])[:-1])
    blocks = [_Blocks.of(evidence, grip, one) for grip, one in zip(grips, evidence.responses, strict=True)]
    covariance = evidence.covariance + _distorted(blocks, 1e-3 * declared.distortion_mm)
    if tip is not None:
        covariance += _misplaced(blocks, tip, 1e-3 * declared.seat_mm)
    unseen = max(math.radians(declared.unseen_turn_deg), UNSEEN * evidence.fit.orientation_noise)
    for one in blocks:
        covariance += _played(one, declared) + _turning(one, unseen)
    return node.with_evidence(
        covariance=covariance,
        axis_std=float(np.sqrt(covariance[0, 0] + covariance[1, 1])),
        position_std=float(np.sqrt(covariance[2, 2] + covariance[3, 3])),
    )


@dataclass(frozen=True)
class _Blocks:
    """One take in blocks of time: where each was, and what an error in it does to the axis."""

    samples: int
    places: Array
    """(b, 3) metres."""
    turns: Array
    """(b, 3, 3) orientations of the tip."""
    radii: Array
    """(b,) metres from the axis."""
    sides: Array
    """(b, 3, 3) unit vectors along the radius, the path and the axis, as rows."""
    gain: Array
    slow: Array

    @classmethod
    def of(cls, evidence: Evidence, take: Array, response: "Response") -> "_Blocks":
        basis = np.asarray(evidence.basis)
        axis = np.cross(basis[0], basis[1])
        first = edges(len(take))
        middle = (first + np.append(first[1:], len(take))) // 2
        arms = take[middle, :3, 3] - evidence.point
        arms -= np.outer(arms @ axis, axis)
        radii = np.linalg.norm(arms, axis=1)
        outward = arms / np.maximum(radii, 1e-6)[:, None]
        sides = np.stack([outward, np.cross(axis, outward), np.broadcast_to(axis, outward.shape)], axis=1)
        place, turn = take[middle, :3, 3], take[middle, :3, :3]
        return cls(len(take), place, turn, radii, sides, response.gain, response.slow)

    @property
    def moved(self) -> Array:
        """(b, 3, 4) what a move (m) of a block along the parent's axes does."""
        return np.asarray(np.einsum("bsi,bsp->bip", self.sides, self.gain[:, :3]))


def _distorted(blocks: Sequence[_Blocks], rms: float) -> Array:
    """Covariance (4, 4) from a bent volume: waves of one length from all directions, independent by axis (m rms)."""
    places, moved = np.concatenate([b.places for b in blocks]), np.concatenate([b.moved for b in blocks])
    apart = ((places[:, None] - places) ** 2).sum(axis=2)
    alike = np.exp(-((2.0 * np.pi / CREST_M) ** 2) * apart / 6.0)
    return np.asarray(rms**2 * np.einsum("bip,biq->pq", moved, np.einsum("bc,ciq->biq", alike, moved)))


def _misplaced(blocks: Sequence[_Blocks], tip: Array, seat: float) -> Array:
    """Covariance (4, 4) from a tip that is elsewhere (m², the same in all takes) and how it sits in each grip (m)."""
    each = [np.einsum("bij,bip->pj", b.turns, b.moved) for b in blocks]
    whole = np.sum(each, axis=0)
    return np.asarray(whole @ tip @ whole.T + seat**2 * sum(one @ one.T for one in each))


def _played(one: _Blocks, declared: QualityLimits) -> Array:
    """Covariance (4, 4) from slow play of a hand, as far as the fit does not contain it already."""
    place, creep, turn = 1e-3 * declared.play_mm, 1e-3 * declared.creep_mm, math.radians(declared.play_deg)
    ahead = math.hypot(place, float(np.median(one.radii)) * turn)
    blocks = len(one.gain)
    quickest = max(one.samples / PACE, 1.0)
    half_waves = np.arange(blocks)
    shape = one.samples / quickest / (1.0 + (half_waves / quickest) ** 4)
    expected = np.outer(shape, np.square([place, ahead, creep, turn, turn]))
    # Across the bar, what is slower is another seat.
    sways = (half_waves * REACH / one.samples) ** 4
    expected[:, :2] *= (sways / (1.0 + sways))[:, None]
    missing = np.maximum(expected - one.slow, 0.0)
    waves = np.tensordot(in_cosines(blocks), one.gain, 1) * math.sqrt(blocks / one.samples)
    return np.asarray(np.einsum("kc,kcp,kcq->pq", missing, waves, waves))


def _turning(one: _Blocks, turn: float) -> Array:
    """Covariance (4, 4) from grips that had begun to turn (rad) where the part of a take ends that held."""
    held = _without_gaps(np.any(one.gain[:, 1] != 0.0, axis=1))
    result = np.zeros((4, 4))
    if held.mean() > MOSTLY:
        return result
    reach = max(BORDER * len(held), 1.0)
    for border in np.flatnonzero(held[1:] != held[:-1]) + 0.5:
        inside = np.arange(len(held)) - border
        inside = inside if held[int(border + 0.5)] else -inside
        share = np.where((inside > 0.0) & held, np.maximum(1.0 - inside / reach, 0.0), 0.0)
        error = turn * (one.radii * share) @ one.gain[:, 1]
        result += np.outer(error, error)
    return result


def _without_gaps(held: Mask) -> Mask:
    """What held (b,), short gaps within it closed."""
    whole = held.copy()
    for first, last in pairwise(np.flatnonzero(held[1:] != held[:-1]) + 1):
        whole[first:last] |= last - first <= GAP * len(held)
    return whole
