"""Covariance of a joint fitted to whole poses, under noise as slow as its takes show it."""

import math
from dataclasses import dataclass, replace

import numpy as np

from fitting.columns import PITCH, SHIFT, SIZE
from fitting.dense import completed, inverted
from fitting.motion import FARTHEST, Kind, Solution, Take
from fitting.motion_kernels import linearised
from fitting.result import Mask
from fitting.se3 import Array, cross
from fitting.spectrum import Scores, blocks_of, in_cosines, spread_and_power
from fitting.spectrum_kernels import in_blocks

_POOLED = np.delete(np.eye(6), 4, axis=0)
_POOLED[3, 4] = 1.0
"""Channels of ``motion_kernels.linearised`` that have one spectrum: the two turns across the axis."""
_DAMPING = 1e-10
_HALF = 0.5
"""Of what is known about a parameter, at most so much is taken for seeming."""
_CLEAR = 200.0
"""Variance of coordinates, in variances of their noise, from which on that noise changes nothing."""
_QUICKEST = 0.05
"""Noise that is all tremor hurts less than white noise of its size, but so little only if there is hardly any."""


@dataclass(frozen=True)
class Response:
    """What errors of one take, or of one grip in it, that its residuals do not show do to the axis of its joint.

    Channels: position along the radius (m), along the path less the radius times the turn about the axis (m), along
    the axis (m); orientation about the radius and about the path (rad).
    """

    gain: Array
    """(b, 5, 4): change of tilt and shift along the basis for an error of 1 during one of b blocks of time
    (``spectrum.edges``), by channels; zero where nothing was used."""
    slow: Array
    """(b, 5): power of slow noise, at 0 … b − 1 half waves in the take, that the covariance contains already."""
    quick: Array
    """(5,): variance of a sample's other noise that it contains."""
    used: Array
    """(b, 5): samples used."""
    samples: int
    """Samples of the take, or those of the grip."""

    @property
    def shown(self) -> tuple[Array, Array]:
        """Covariances (4, 4) of tilt and shift from the slow noise and from the other."""
        waves = np.tensordot(in_cosines(len(self.gain)), self.gain, 1) * math.sqrt(len(self.gain) / self.samples)
        each = self.quick / np.maximum(self.used, 1.0)
        return (
            np.einsum("kc,kcp,kcq->pq", self.slow, waves, waves),
            np.einsum("bc,bcp,bcq->pq", each, self.gain, self.gain),
        )


@dataclass(frozen=True)
class Uncertainty:
    """Covariance of the shared columns and the first take's own ones; what slowness costs each take's data."""

    covariance: Array
    slowness: tuple[tuple[float, float], ...]
    """Of each take, positions and orientations: variance of the axis over that from white noise of the same size."""
    responses: tuple[Response, ...]


def uncertainty(
    kind: Kind,
    solution: Solution,
    takes: list[Take],
    wp: list[Array],
    wo: list[Array],
    strayed: list[Mask],
    scale: list[float],
) -> Uncertainty:
    """Covariance of a solution for the weights wp, wo (n,) of each take, and who strayed, that it was made with.

    scale: variance of each take's positions, over that which its residuals show.
    """
    shared, own = kind.shared, kind.own
    size = len(shared)
    pieces = [linear(kind, solution, k, take, wp[k], wo[k], strayed[k]) for k, take in enumerate(takes)]
    # What is known without data: an axis is within reach, a tilt within a radian, a pitch within a metre per radian.
    prior = np.diag([FARTHEST**-2 if SHIFT <= c < PITCH else 1.0 for c in shared.tolist()])
    total = prior.copy()
    reduced = []
    for scores in pieces:
        H = scores.information.sum(axis=0)[own]
        own_inverse = inverted(np.ascontiguousarray(H[:, own]), _DAMPING)
        back = own_inverse @ H[:, shared]
        change = np.zeros((SIZE, size + len(own)))
        change[shared, range(size)] = 1.0
        change[own, :size] = -back
        change[own, range(size, size + len(own))] = 1.0
        sums = np.concatenate([scores.sums[:, :, :SIZE] @ change, scores.sums[:, :, SIZE:]], axis=2)
        information = change.T @ scores.information @ change
        total += information.sum(axis=0)[:size, :size]
        reduced.append((replace(scores, sums=sums, information=information), own_inverse, back))
    inverse = inverted(total, _DAMPING)
    known = _known(total, inverse, [_seeming(kind, solution, k, wp[k], wo[k]) for k in range(len(takes))])
    score = np.zeros((size + len(own), size + len(own)))
    slowness, responses = [], []
    score[:size, :size] = prior
    for k, (scores, own_inverse, _) in enumerate(reduced):
        absorbed = np.zeros_like(score)
        absorbed[:size, :size], absorbed[size:, size:] = inverse, own_inverse
        found, slow_power, quick_power = spread_and_power(scores, absorbed, _POOLED)
        units = units_of(solution, k, wp[k], wo[k])
        gain = units[:, None] * (scores.sums[:, :5, :size] @ inverse[:, :4])
        per_unit = np.repeat([scale[k], 1.0], [3, 2]) / np.maximum(units, _DAMPING) ** 2
        responses.append(
            Response(
                gain,
                slow_power[:, :5] * per_unit,
                quick_power[:5] * per_unit,
                np.minimum(scores.used[:, :5], scores.used[:, [0, 3, 0, 3, 3]]),
                len(takes[k]),
            )
        )
        slow = (found[:, :size, :size] * inverse).sum(axis=(1, 2))
        white = (scores.information[:, :size, :size] * inverse).sum(axis=(1, 2))
        slowness.append((_ratio(slow[:3], white[:3]), _ratio(slow[3:], white[3:])))
        found[:3] *= scale[k]
        part = found.sum(axis=0)
        score[:size, :size] += part[:size, :size]
        if k == 0:
            score[size:] += part[size:]
            score[:size, size:] += part[:size, size:]
    spreading = np.zeros_like(score)
    spreading[:size, :size], spreading[size:, size:] = known, reduced[0][1]
    spreading[size:, :size] = -reduced[0][2] @ known
    return Uncertainty(_positive(spreading @ score @ spreading.T), tuple(slowness), tuple(responses))


def _positive(covariance: Array) -> Array:
    """The covariance without what rounding made negative: data may be exact but for a few samples."""
    if covariance.diagonal().min() >= 0.0:
        return covariance
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _known(total: Array, inverse: Array, seeming: list[Array | None]) -> Array:
    """Inverse of the information in all, without the seeming one."""
    found = [one for one in seeming if one is not None]
    if not found:
        return inverse
    seemed = sum(found, np.zeros_like(total))
    share = float((inverse * seemed).sum())
    return inverted(total - seemed * min(1.0, _HALF / share), _DAMPING) if share > 0.0 else inverse


def _seeming(kind: Kind, solution: Solution, k: int, wp: Array, wo: Array) -> Array | None:
    """What the noise of the samples' own coordinates adds to the information (s, s) of a take about what is shared.

    A turn of a degree, seen with noise of a tenth, seems to be wider than it is, and to show where its axis is by as
    much more. None where the movement is far larger than its noise.
    """
    axis, start = solution.motion.axis, solution.motion.starts[k]
    place, turn = float(wp.max(initial=0.0)), float(wo.max(initial=0.0))
    used = (wp > 0.0) & (wo > 0.0)
    spans = np.var(start.q[used], axis=0) if used.any() else np.zeros(2)
    clear = spans * (turn, place) > _CLEAR
    if kind.screw or ((clear[0] or not kind.turns) and (clear[1] or not kind.slides)):
        return None
    frame, arm = completed(axis), start.p0 - solution.motion.center
    own, rates = [], []
    if kind.turns:
        own.append([*np.sqrt(place) * cross(axis, arm), *np.sqrt(turn) * axis])
        rate = np.zeros((6, 4))
        for c, b in enumerate(frame[:, :2].T):
            rate[:3, c], rate[3:, c] = np.sqrt(place) * cross(b, arm), np.sqrt(turn) * b
            rate[:3, 2 + c] = -np.sqrt(place) * cross(axis, b)
        rates.append(rate[:, : len(kind.shared)])
    if kind.slides:
        own.append([*np.sqrt(place) * axis, 0.0, 0.0, 0.0])
        rate = np.zeros((6, len(kind.shared)))
        rate[:3, :2] = np.sqrt(place) * frame[:, :2]
        rates.append(rate)
    L = np.array(own).T
    doubt = inverted(L.T @ L, _DAMPING)
    left = np.eye(6) - L @ doubt @ L.T
    table = np.array(rates)
    return np.asarray(np.count_nonzero(used) * np.einsum("kl,krc,rs,lsd->cd", doubt, table, left, table))


def units_of(solution: Solution, k: int, wp: Array, wo: Array) -> Array:
    """Weights (5,) per metre and radian of the channels in which errors are stated."""
    axis = solution.motion.axis
    arm = solution.motion.starts[k].p0 - solution.motion.center
    path = float(np.linalg.norm(cross(axis, arm)))
    place, turn = float(np.sqrt(wp.max(initial=0.0))), float(np.sqrt(wo.max(initial=0.0)))
    whole = np.hypot(place * path, turn)
    return np.array([place, place * turn / whole if whole > 0.0 else 0.0, place, turn, turn])


def _ratio(slow: Array, white: Array) -> float:
    return max(float(slow.sum() / white.sum()), _QUICKEST) if white.sum() > 0.0 else 1.0


def linear(kind: Kind, solution: Solution, k: int, take: Take, wp: Array, wo: Array, strayed: Mask) -> Scores:
    """The take's residuals and derivatives at the solution, summed in blocks of time."""
    motion = solution.motion
    start = motion.starts[k]
    active = np.zeros(SIZE, dtype=np.bool_)
    active[kind.shared] = active[kind.own] = True
    blocks, information = np.zeros((blocks_of(len(take)), 6, SIZE + 2)), np.zeros((6, SIZE, SIZE))
    linearised(
        completed(motion.axis),
        motion.center,
        motion.pitch,
        kind.turns,
        strayed | kind.slides,
        start.R0,
        start.p0,
        take.columns,
        0,
        start.q.copy(),
        wp,
        wo,
        active,
        np.empty((SIZE, SIZE)),
        np.empty(SIZE),
        np.empty((len(take), 6)),
        blocks,
        information,
    )
    information += np.tril(information, -1).transpose(0, 2, 1)
    used = np.concatenate([in_blocks(weights > 0.0, len(blocks), 3) for weights in (wp, wo)], axis=1)
    return Scores(blocks, information, used, len(take))
