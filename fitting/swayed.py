"""Where an axis is when the hand that moved it swayed, and perhaps slid once along what it held.

Least squares count every sample alike, but a hand sways at the pace of the movement, and its slow waves pass for
another axis. Here they are expected, and so is one slide along the radius and back, wherever in the take it explains
the residuals: generalised least squares over blocks of time, averaged over the slides that there may have been. Only
the place of the axis is asked. Its direction is told by orientations and by long arms, and least squares are as good.
"""

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fitting.columns import PLACE, SHIFT, TILT
from fitting.joint import PLAY_M, PLAY_RAD, Joint, Part, resettled
from fitting.motion import ROTARY, Motion, Solution, Take
from fitting.se3 import Array, complete_axis, cross
from fitting.spectrum import edges
from fitting.uncertainty import Response, linear, units_of

_SLOWEST, _QUICKEST = 1280.0, 150.0
"""Samples in a wave of the play, about: at 120 Hz 0.1 to 0.8 Hz. What is slower is another grip."""
_WAVES = np.linspace(0.0, 3.0, 91)[1:]
"""Of the quickest, the waves that are looked at: none of them is cut off sharply, or the next would count as quiet."""
_SLIDE_M = 9e-4
"""Standard deviation of how far a hand slides."""
_LENGTHS, _MIDDLES = (0.12, 0.2, 0.3), np.linspace(0.15, 0.85, 29)
"""Shares of a take for which a slide lasts, and where in the take it may be."""
_RAMP = 0.4
"""Share of a slide in which it comes, and in which it goes."""
_NONE = 100.0
"""How much more likely, before looking, no slide is than any."""
_SHOWN = 2.0
"""Slow noise over the other, in the variance of the place, from which on a hand swayed."""
_RESTLESS = 0.6
"""Share of what a hand was seen to sway that is believed, where it is more than the usual."""
_LEAST = 600
"""Samples of a take below which it is too short for such waves."""
_FREE = 1e-9
RADIUS, PATH = 0, 1


@dataclass(frozen=True)
class _Course:
    """Residuals in one channel by blocks of time (m), in units of the noise: of one grip, or of all in a take."""

    channel: int
    samples: int
    """Of the whole take."""
    sums: Array
    tilted: Array
    """(m, 2) derivatives by the axis' tilt."""
    rates: Array
    """(m, p) derivatives by its shift, and by the place of each grip's start (two each)."""
    used: Array
    scale: Array
    """(m,) what an error of a metre adds to the sums."""
    times: Array
    """(m,) share of the take."""
    sway: Array
    """(m,) metres that a usual hand plays."""
    grips: NDArray[np.int64]
    blocks: NDArray[np.int64]

    @classmethod
    def joined(cls, grips: "list[_Course]") -> "_Course":
        blocks = {f.name: np.concatenate([getattr(one, f.name) for one in grips]) for f in fields(cls)[2:]}
        return cls(grips[0].channel, grips[0].samples, **blocks)

    @property
    def weight(self) -> Array:
        """(m, m) inverse of the covariance of the sums."""
        expected = self.scale * self.sway * max(1.0, _RESTLESS * self._seen / float(self.sway.max()))
        covariance = np.diag(self.used) + _alike(self.times, self.samples) * np.outer(expected, expected)
        return np.asarray(np.linalg.inv(covariance))

    @property
    def _seen(self) -> float:
        """Metres of sway in most of the blocks: a slide is none."""
        moves = 1.4826 * float(np.median(np.abs(self.sums / self.scale)))
        return math.sqrt(max(moves**2 - float(np.median(self.used / self.scale**2)), 0.0))


def placed(joint: Joint) -> Joint:
    """The rotary joint with its axis where a swaying hand leaves it; as it is, where no sway is to be seen."""
    shown = [response.shown for response in joint.responses]
    slow, quick = (sum((one[which] for one in shown), np.zeros((4, 4))) for which in (0, 1))
    long = all(len(_whole(part.take)[0]) >= _LEAST for part in joint.parts)
    if not long or np.trace(slow[2:, 2:]) <= _SHOWN * np.trace(quick[2:, 2:]):
        return joint
    courses = _courses(joint)
    x, doubt, operators = _solved(courses)
    responses = _answering(joint, courses, operators)
    covariance = _spread(joint, slow + quick, responses)
    covariance[2:, 2:] += doubt
    return replace(joint, motion=_moved(joint, x), covariance=covariance, responses=responses)


def _whole(take: Take) -> tuple[Take, int]:
    """The take as recorded, and the first sample of this piece in it."""
    first = 0
    while take.cut_from is not None:
        take, samples = take.cut_from
        first += samples.start
    return take, first


def _courses(joint: Joint) -> list[_Course]:
    """Residuals of each take, along the radius and along the path."""
    solution = Solution(joint.motion, joint.residuals)
    found: dict[tuple[int, int], list[_Course]] = {}
    for k, part in enumerate(joint.parts):
        for course in _of_grip(joint, solution, k, part):
            found.setdefault((id(_whole(part.take)[0]), course.channel), []).append(course)
    return [_Course.joined(grips) for grips in found.values()]


def _of_grip(joint: Joint, solution: Solution, k: int, part: Part) -> list[_Course]:
    wp, wo = _weights(part)
    scores = linear(ROTARY, solution, k, part.take, wp, wo, part.strayed)
    units = units_of(solution, k, wp, wo)
    take, offset = _whole(part.take)
    first = edges(len(part.take))
    middles = (offset + 0.5 * (first + np.append(first[1:], len(part.take)))) / len(take)
    radius = float(np.linalg.norm(cross(joint.motion.axis, joint.motion.starts[k].p0 - joint.motion.center)))
    courses = []
    for channel, play in ((RADIUS, PLAY_M), (PATH, math.hypot(PLAY_M, radius * PLAY_RAD))):
        used = joint.responses[k].used[:, channel]
        there = np.flatnonzero(used * units[channel])
        sums = scores.sums[there, channel]
        rates = np.zeros((len(there), 2 + 2 * len(joint.parts)))
        rates[:, :2], rates[:, 2 + 2 * k : 4 + 2 * k] = sums[:, SHIFT : SHIFT + 2], sums[:, PLACE : PLACE + 2]
        course = _Course(
            channel,
            len(take),
            sums=sums[:, -2],
            tilted=sums[:, TILT : TILT + 2],
            rates=rates,
            used=used[there],
            scale=used[there] * units[channel],
            times=middles[there],
            sway=np.full(len(there), play),
            grips=np.full(len(there), k),
            blocks=there,
        )
        if len(there):
            courses.append(course)
    return courses


def _weights(part: Part) -> tuple[Array, Array]:
    return (part.positions | part.strayed) / part.noise.position**2, part.orientations / part.noise.orientation**2


def _played(waves: Array) -> Array:
    """Share of the power at waves, in those of the quickest, that is not too slow for a hand's play."""
    slow = (waves * (_SLOWEST / _QUICKEST)) ** 4
    return np.asarray(slow / (1.0 + slow))


def _alike(times: Array, samples: int) -> Array:
    """Correlation (m, m) of a hand's play at times of a take of so many samples."""
    power = _played(_WAVES) / (1.0 + _WAVES**8)
    phase = (2.0 * math.pi * samples / _QUICKEST) * times[:, None] * _WAVES
    waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=1) * np.tile(np.sqrt(power / power.sum()), 2)
    return np.asarray(waves @ waves.T)


def _slides(times: Array) -> Array:
    """Courses (m, s) of the slides that there may have been, by 1."""
    lengths, middles = (one.ravel() for one in np.meshgrid(_LENGTHS, _MIDDLES))
    inside = (0.5 * lengths - np.abs(times[:, None] - middles)) / (_RAMP * lengths)
    share = np.clip(inside, 0.0, 1.0)
    return np.asarray(share**3 * (10.0 - 15.0 * share + 6.0 * share**2))


def _solved(courses: list[_Course]) -> tuple[Array, Array, list[Array]]:
    """Shift and places (p,), averaged over slides along the radius; what is open between these (2, 2) of the shift.

    And what the sums of each course do to the shift: (m, 2).
    """
    told = [(one, weight, weight @ one.rates) for one in courses for weight in (one.weight,)]
    information = sum((one.rates.T @ weighed for one, _, weighed in told), np.zeros((1, 1)))
    inverse = np.linalg.inv(information + np.diag(_FREE * np.maximum(np.diag(information), 1.0)))
    still = inverse @ sum((weighed.T @ one.sums for one, _, weighed in told), np.zeros(1))
    x, doubt, operators = still.copy(), np.zeros((2, 2)), [weighed @ inverse[:, :2] for *_, weighed in told]
    for radial, weight, _ in told:
        if radial.channel != RADIUS:
            continue
        slides = _slides(radial.times) * radial.scale[:, None]
        weighed = weight @ slides
        mixed = radial.rates.T @ weighed
        taken = inverse @ mixed
        known = (slides * weighed).sum(axis=0) - (mixed * taken).sum(axis=0) + _SLIDE_M**-2
        seen = weighed.T @ (radial.sums - radial.rates @ still)
        far, shift = seen / known, taken[:2]
        belief = 0.5 * seen * far - 0.5 * np.log(known * _SLIDE_M**2)
        top = max(float(belief.max()), 0.0)
        chance = np.exp(belief - top)
        chance /= chance.sum() + _NONE * len(chance) * math.exp(-top)
        moved = shift @ (chance * far)
        x -= taken @ (chance * far)
        doubt += (shift * (chance * far**2)) @ shift.T - np.outer(moved, moved)
        for operator, (one, _, rates) in zip(operators, told, strict=True):
            left = (weighed if one is radial else 0.0) - rates @ taken
            operator -= (left * (chance / known)) @ shift.T
    return x, doubt, operators


def _moved(joint: Joint, x: Array) -> Motion:
    """The motion with axis and starts elsewhere, and the coordinates that go with these."""
    sides = complete_axis(joint.motion.axis)[:, :2]
    places = x[2:].reshape(-1, 2)
    starts = tuple(
        replace(start, p0=start.p0 + sides @ place) for start, place in zip(joint.motion.starts, places, strict=True)
    )
    motion = replace(joint.motion, center=joint.motion.center + sides @ x[:2], starts=starts)
    return resettled(motion, joint.parts)[0]


def _answering(joint: Joint, courses: list[_Course], operators: list[Array]) -> tuple[Response, ...]:
    """Responses of the new place: to its own sums, and through the tilt that it was found with."""
    both = list(zip(courses, operators, strict=True))
    through = sum((operator.T @ one.tilted for one, operator in both), np.zeros((2, 2)))
    gains = [response.gain.copy() for response in joint.responses]
    for k, gain in enumerate(gains):
        gain[:, :, 2:] = -gain[:, :, :2] @ through.T
        for one, operator in both:
            own = one.grips == k
            gain[one.blocks[own], one.channel, 2:] += (one.scale[:, None] * operator)[own]
    return tuple(
        replace(response, gain=gain, slow=_not_slower(response))
        for response, gain in zip(joint.responses, gains, strict=True)
    )


def _not_slower(response: Response) -> Array:
    """The slow power (b, 5) along radius and path, without what would be slower than a hand plays."""
    slow = response.slow.copy()
    slow[:, : PATH + 1] *= _played(np.arange(len(slow)) * 0.5 * _QUICKEST / response.samples)[:, None]
    return slow


def _spread(joint: Joint, before: Array, responses: tuple[Response, ...]) -> Array:
    """Covariance (4, 4) of tilt and new place, as much wider than the noise that is shown as the former one was."""
    after = sum((sum(response.shown) for response in responses), np.zeros((4, 4)))
    wider = [
        math.sqrt(max(float(np.trace(joint.covariance[part, part]) / np.trace(before[part, part])), 1.0))
        for part in (slice(0, 2), slice(2, 4))
    ]
    return np.asarray(after * np.outer(np.repeat(wider, 2), np.repeat(wider, 2)))
