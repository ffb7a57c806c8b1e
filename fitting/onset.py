"""When a grip began to turn in the hand: before that could be told from its noise.

The part of a take in which the grip was firm ends where orientations no longer follow the joint. By then the gripper
has turned a little already, as much as passes for noise, and along a short arc that little is a large share of the
angle. A hand starts smoothly, with the cube of time (minimum jerk), a slipping one at once, with time itself: the root
of what is seen afterwards, extended back to zero, says when it began.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fitting.result import Mask
from fitting.se3 import Array

_BLOCK = 8
"""Samples whose mean counts as one."""
_SEEN = math.radians(0.5)
"""Radians from which a turn stands out from noise and slow play."""
_CLEAR = math.radians(2.0)
"""Radians of a turn that is no play."""
_SLOWLY = 0.08
"""Share of the path's samples between both from which on a grip gave way gradually. Steps and ramps over three tenths
of a take stay below 0.06; what creeps to an end, or begins slowly, takes 0.12 and more."""
_NEAR = 60
"""Samples of the firm stretch beside a border from whose orientation turns count."""
_RISE = 0.5
"""Share of the whole turn up to which it still grows as it began."""
_POWERS = (1.0, 3.0)
"""Of the time since its beginning with which a turn grows; the one that explains what is seen counts."""
_LEAST, _USUAL, _MOST = 0.02, 0.06, 0.2
"""Shares of the take for which a turn goes on unseen: bounds, and what is taken where it cannot be told."""


def unseen_turns(turns: Array, firm: Mask, path: Mask) -> Mask:
    """Samples (n,) of the ``firm`` ones in which the grip had begun to turn.

    turns: (n, k) radians by which orientations are ahead of positions or off the joint's; path: (n,) samples on its
    path, firm or not, which alone tell.
    """
    result = np.zeros(len(firm), dtype=bool)
    places = np.flatnonzero(path)
    if len(places) < 4 * _BLOCK:
        return result
    held = firm[places]
    if not held.any():
        return result
    away = np.linalg.norm(turns[places] - np.median(turns[places][held], axis=0), axis=1)
    for inside, beyond in _borders(held):
        if len(beyond) >= 2 * _BLOCK:
            result[places[inside[: _since(away[beyond], len(places))]]] = True
    return result & firm


def gradual(turns: Array, firm: Mask, path: Mask) -> bool:
    """Whether beside a ``firm`` stretch the grip turned on gradually: then it may have done so in it, unseen.

    turns, path: as for ``unseen_turns``.
    """
    places = np.flatnonzero(path)
    if len(places) < 4 * _BLOCK or not firm[places].any():
        return False
    for inside, beyond in _borders(firm[places]):
        blocks = len(beyond) // _BLOCK
        if blocks < 2:
            continue
        near = places[inside]
        start = np.median(turns[near[firm[near]][:_NEAR]], axis=0)
        means = (turns[places[beyond[: blocks * _BLOCK]]] - start).reshape(blocks, _BLOCK, -1).mean(axis=1)
        far = np.linalg.norm(means, axis=1)
        seen, clear = (int(np.argmax(far > limit)) if (far > limit).any() else blocks for limit in (_SEEN, _CLEAR))
        if (clear - seen) * _BLOCK > _SLOWLY * len(places):
            return True
    return False


def _borders(held: Mask) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Of each border of what held (n,): numbers of samples from it inwards, and beyond it, until it held again."""
    every = np.arange(len(held))
    for border in np.flatnonzero(held[1:] != held[:-1]) + 1:
        before, after = every[border - 1 :: -1], every[border:]
        inside, beyond = (before, after) if held[border - 1] else (after, before)
        again = held[beyond]
        yield inside, beyond[: int(np.argmax(again)) if again.any() else len(beyond)]


def _since(outside: Array, samples: int) -> int:
    """Samples before a border at which the turn began, from how it goes on (m,) beyond it."""
    bounds = (round(share * samples) for share in (_LEAST, _USUAL, _MOST))
    least, usual, most = (max(bound, 1) for bound in bounds)
    blocks = len(outside) // _BLOCK
    means = outside[: blocks * _BLOCK].reshape(blocks, _BLOCK).mean(axis=1)
    top = int(np.argmax(means > 0.9 * means.max()))
    rising = means[: top + 1]
    chosen = np.flatnonzero((rising > _SEEN) & (rising < max(_RISE * means.max(), 2.0 * _SEEN)))
    if len(chosen) < 3:
        return usual
    times, seen = (chosen + 0.5) * _BLOCK, rising[chosen]
    fits = [np.polyfit(times, seen ** (1.0 / power), 1) for power in _POWERS]
    misfits = [
        float(((np.maximum(np.polyval(fit, times), 0.0) ** power - seen) ** 2).sum())
        for fit, power in zip(fits, _POWERS, strict=True)
    ]
    slope, start = fits[int(np.argmin(misfits))]
    if slope <= 0.0:
        return usual
    return int(np.clip(math.ceil(start / slope), least, most))
