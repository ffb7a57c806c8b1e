"""Which joint explains the poses: candidates ranked by BIC, or "not moved enough to tell"."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitting import checks
from fitting.agreement import SMALLEST_TURN, Noise
from fitting.cylinder import cylindrical_of, fitted_joint
from fitting.explained import Explained, bends, explained
from fitting.joint import Joint
from fitting.leaving import GIVES_WAY, away, excursions, went
from fitting.motion import (
    CYLINDRICAL,
    PRISMATIC,
    ROTARY,
    SCREW,
    Kind,
    Take,
)
from fitting.places import explained_by_places, orientations_measured
from fitting.playing import bursts_only, doubts, only_plays, possible, staying, worth_one
from fitting.prismatic import fit_prismatic
from fitting.ransac import smallest_noise
from fitting.repeats import without_repeats
from fitting.result import Fit, FitFailure, Mask, of_samples
from fitting.rigid import RigidFit, fit_rigid
from fitting.rotary import fit_rotary, rotary_of
from fitting.screw import screw_of
from fitting.se3 import Array, frame, rotation_log
from fitting.segments import outvoting_rests

_RIGID = Kind(turns=False, slides=False)
_KINDS = {"rigid": _RIGID, "prismatic": PRISMATIC, "rotary": ROTARY, "screw": SCREW, "cylindrical": CYLINDRICAL}
_FITTERS: dict[str, Callable[..., Any]] = {"rigid": fit_rigid, "prismatic": fit_prismatic, "rotary": fit_rotary}
_OF_CYLINDER: dict[str, Callable[..., Any]] = {"screw": screw_of, "cylindrical": cylindrical_of}
"""Fitters that begin with a cylindrical joint, which is fitted once for both."""
_SUPPORTED = 0.7
"""Share of the samples, over that of the best candidate, from which the noise of another one counts."""
_WIDE = 5.0
"""Noise, over that of the best candidate, up to which another one says how far the movement went."""
_PLAY = 1e-3
"""Real joints have play and flex: so large a share of the movement is no reason to prefer another joint type."""
_CLEAR = 20.0
_GENERALITY = {"rigid": 0.0, "prismatic": _CLEAR, "rotary": _CLEAR, "screw": 2.0 * _CLEAR, "cylindrical": 3.0 * _CLEAR}
"""BIC that a joint is charged for all that it can do more than others: play and misfit feed the general one first."""
_MILD = 4.0
"""Difference in BIC for a factor of e in probability. By the letter 2, but no model of a hand is that exact."""
_PLAYS = 9.0
"""Odds at best for a joint whose movement may be the play of a simpler one."""
_RESTS = 0.5
"""Share of the samples in one place from which these would outvote those of a movement."""
_MOST = 0.65
"""Share of the samples of several excursions that a joint must explain to be what made them."""
_STILL = Noise(0.003, 0.02)
"""Metres and radians by which samples of a body at rest scatter at most."""
_SURE = 0.95
"""Probability below which the data do not tell."""


@dataclass(frozen=True)
class Candidate:
    """One joint type with its fit (or why there is none), its BIC (smaller is better) and its probability."""

    kind: str
    fit: Fit | FitFailure
    bic: float
    probability: float


@dataclass(frozen=True)
class Selection:
    """Candidates, best first. ``kind`` is None when the data do not tell; ``reason`` then says why."""

    kind: str | None
    candidates: tuple[Candidate, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.kind is not None

    @property
    def fit(self) -> Fit | FitFailure:
        """The fit of the chosen kind, or a failure with the reason."""
        return self.candidates[0].fit if self.kind is not None else FitFailure(self.reason)

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each candidate."""
        return {c.kind: c.probability for c in self.candidates}

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form, without the fits' arrays."""
        ranked = [{"kind": c.kind, "bic": c.bic, "probability": c.probability} for c in self.candidates]
        return {"kind": self.kind, "reason": self.reason, "candidates": ranked}


def select(
    poses: Any,
    candidates: Sequence[str] | None = None,
    noise: float | None = None,
    rng: np.random.Generator | int | None = None,
    known: Mapping[str, Any] | None = None,
) -> Selection | FitFailure:
    """Rank joint types for poses (n, 4, 4), body to world, metres, or a list of takes of one joint.

    candidates: names out of rigid, prismatic, rotary, screw, cylindrical; None means all.
    known: fits of candidates to these very takes that are there already, which saves making them again.
    All are judged at one noise level, that of the most general candidate that explains the data, and each coordinate
    that a candidate gives to every sample costs as much as it could have said.
    """
    names = list(_KINDS) if candidates is None else list(candidates)
    unknown = [name for name in names if name not in _KINDS]
    if unknown or not names:
        raise ValueError(f"Unknown candidates {unknown}: choose out of {', '.join(_KINDS)}.")
    checked = checks.as_pose_takes(poses)
    if isinstance(checked, FitFailure):
        return checked
    generator = checks.generator(rng)
    checked, numbers = without_repeats(checked)
    there = known if numbers is None else None
    moving, gone = (list(each) for each in zip(*[_moving(Take.of(take)) for take in checked], strict=True))
    fits, free, takes = _asked(names, checked, moving, noise, generator, there)
    telling = np.concatenate([one[mask] for one, mask in zip(gone, moving, strict=True)])
    # A type that was not asked may be what explains them.
    accidents = set(names) == set(_KINDS) and not _explain(fits, takes, telling)
    if accidents:
        moving = [np.ones_like(mask) for mask in moving]
        fits, free, takes = _asked(names, checked, moving, noise, generator, there)
    turns = orientations_measured(takes)
    fits = {name: fit if accidents and name == "rigid" else staying(name, fit, takes) for name, fit in fits.items()}
    common = _common_noise(fits, takes, noise)
    if common is None:
        reasons = " ".join(f"{name}: {fit.reason}" for name, fit in fits.items() if isinstance(fit, FitFailure))
        return FitFailure(f"No joint type explains these poses. {reasons}")
    fits = {name: possible(name, fit, takes) for name, fit in fits.items()}
    if not turns:
        # Each at the common noise: who was in at a noise of its own is not who agrees now.
        likely = [name for name, fit in fits.items() if fit]
        fits |= _asked(likely, checked, moving, common.position, generator, None)[0]
    if turns:
        fits, found, rivals = _judged(fits, free, takes, common, noise)
    else:
        found = {name: explained_by_places(_KINDS[name], fit, takes, common) for name, fit in fits.items()}
        rivals = {name: doubts(name, fit, takes) for name, fit in fits.items()}
    tau = worth_one(list(found.values()))
    scores = {name: one.score(tau) for name, one in found.items()}
    return _ranked({name: _of_all(fit, moving, numbers) for name, fit in fits.items()}, scores, rivals)


def _moving(take: Take) -> tuple[Mask, Mask]:
    """Samples (n,) that are asked: where a joint rests, every type explains as much as the rigid one.

    And those of excursions from where the body rests most of the time, if there are several.
    """
    every, rests = np.ones(len(take), dtype=bool), outvoting_rests(take.moves)
    long = bool(rests.any())
    if long:
        # Who only bursts away from his place rests all the time.
        moved = went(take.moves, rests, back=False) > 0.0
    else:
        still = fit_rigid(frame(take.R, take.p))
        if isinstance(still, FitFailure) or still.inlier_share < _RESTS or not _rests(still):
            return every, ~every
        rests = still.inliers
        moved = went(take.moves, rests, back=True) > GIVES_WAY
    if not moved:
        return every, ~every
    from fitting.rival_kernels import plausible

    gone = away(take.moves, rests)
    several = np.count_nonzero(np.diff(gone.astype(int), prepend=0) > 0) > 1
    # Outliers are nowhere that a joint would go.
    telling = gone & plausible(np.ascontiguousarray(take.p.T)) if several else ~every
    return ~rests if long else excursions(gone), telling


def _asked(
    names: list[str],
    whole: list[Array],
    moving: list[Mask],
    noise: float | None,
    rng: np.random.Generator,
    known: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], Joint | FitFailure, list[Take]]:
    """As :func:`_fitted`, for the samples of takes that are asked, and these."""
    asked = [take[mask] for take, mask in zip(whole, moving, strict=True)]
    takes = [Take.of(take) for take in asked]
    same = known if all(mask.all() for mask in moving) else None
    return *_fitted(names, asked, noise, rng, orientations_measured(takes), same or {}), takes


def _explain(fits: Mapping[str, Any], takes: list[Take], gone: Mask) -> bool:
    """Whether some joint goes where most of the samples (n,) of excursions are, if any: accidents go all ways."""
    if not gone.any():
        return True
    joints = {name: possible(name, fit, takes) for name, fit in fits.items() if name != "rigid"}
    return any(fit and fit.inliers[gone].mean() >= _MOST for fit in joints.values())


def _rests(still: RigidFit) -> bool:
    """Whether a body scatters about its place as one that rests does: a movement may pass for wide noise."""
    return still.noise < _STILL.position and still.orientation_noise < _STILL.orientation


def _fitted(
    names: list[str],
    takes: list[Array],
    noise: float | None,
    rng: np.random.Generator,
    turns: bool,
    known: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[dict[str, Any], Joint | FitFailure]:
    """Fit the candidates; without orientations (``turns`` false) only those that positions can show.

    Gives as well the joint that turns and slides freely, with which some of them begin.
    """
    unseen = FitFailure("The recording has no orientations, and positions alone do not show such a joint.")
    fits: dict[str, Any] = {
        name: known[name] if name in known else _FITTERS[name](takes, noise=noise, rng=rng)
        for name in names
        if name in _FITTERS
    }
    rest = [name for name in names if name in _OF_CYLINDER]
    free = fitted_joint(CYLINDRICAL, takes, noise, rng, "a cylindrical joint") if rest and turns else unseen
    for name in rest:
        fits[name] = free if isinstance(free, FitFailure) else _OF_CYLINDER[name](free, checks.as_noise(noise))
    return {name: fits[name] for name in names}, free


def _of_all(fit: Any, moving: list[Mask], numbers: NDArray[np.int64] | None) -> Any:
    """A fit of the moving samples as one of all: rests are not used, and the joint stays where it was before.

    numbers: of ``without_repeats``.
    """
    if isinstance(fit, FitFailure):
        return fit
    if not all(mask.all() for mask in moving):
        before = np.cumsum([0, *(mask.sum() for mask in moving)])
        held = [k + np.maximum(np.cumsum(mask) - 1, 0) for k, mask in zip(before, moving, strict=False)]
        fit = of_samples(fit, np.concatenate(held), np.concatenate(moving))
    return fit if numbers is None else of_samples(fit, numbers)


def _judged(
    fits: dict[str, Any], free: Joint | FitFailure, takes: list[Take], common: Noise, noise: float | None
) -> tuple[dict[str, Any], dict[str, Explained], dict[str, list[str]]]:
    """The fits that stay possible, how well each explains the poses, and which simpler joints may play as it moved."""
    straight = explained(PRISMATIC, fits["prismatic"], takes, common) if "prismatic" in fits else None
    found = {
        name: straight if straight and name == "prismatic" else explained(_KINDS[name], fit, takes, common, straight)
        for name, fit in fits.items()
    }
    if isinstance(free, Joint) and "rotary" in fits and getattr(fits["rotary"], "grip", "loose") == "loose":
        # A small circle in the noise, or none at all, may hide a hinge that the orientations show.
        hinge = possible("rotary", rotary_of(free, checks.as_noise(noise)), takes)
        shown = explained(ROTARY, hinge, takes, common, straight)
        if shown.cost < found["rotary"].cost:
            fits["rotary"], found["rotary"] = hinge, shown
    for name in ("rotary", "screw", "cylindrical"):
        both = fits.get("prismatic") and fits.get(name)
        if both and bends(found[name], found["prismatic"], takes, common):
            fits[name] = FitFailure("The positions run straight where its path would bend.")
    rivals = {name: doubts(name, fit, takes) for name, fit in fits.items()}
    for name in [name for name, fit in fits.items() if fit and name != "rigid"]:
        if fits.get("rigid") and bursts_only(found[name], found["rigid"], common):
            fits[name] = FitFailure("It rests but for a few moments, and comes back from each: bursts.")
        elif fits.get("rigid") and "rigid" in rivals[name] and only_plays(found[name], found["rigid"], common):
            fits[name] = FitFailure("It leaves most of the movement, which goes all ways: play.")
    return fits, found, rivals


def _ranked(fits: dict[str, Any], scores: dict[str, float], rivals: dict[str, list[str]]) -> Selection:
    charged = {name: score + _GENERALITY[name] for name, score in scores.items()}
    there = [name for name in scores if fits[name]]
    for name in sorted(there, key=lambda name: -_GENERALITY[name]):
        for simpler in rivals[name]:
            if simpler in there:
                charged[simpler] = min(charged[simpler], charged[name] + _MILD * float(np.log(_PLAYS)))
    best = min((charged[name] for name in there), default=0.0)
    weights = {name: float(np.exp((best - charged[name]) / _MILD)) if name in there else 0.0 for name in scores}
    total = sum(weights.values()) or 1.0
    ranked = tuple(
        Candidate(name, fits[name], charged[name], weights[name] / total)
        for name in sorted(scores, key=lambda name: (name not in there, charged[name]))
    )
    if there and ranked[0].probability >= _SURE:
        return Selection(ranked[0].kind, ranked, f"{ranked[0].kind}: the simplest joint that explains the movement")
    likely = " or ".join(c.kind for c in ranked if c.probability > 1.0 - _SURE) or "none of " + ", ".join(scores)
    return Selection(None, ranked, f"Not moved enough to tell: it could be {likely}. Move the joint further.")


def _common_noise(fits: dict[str, Any], takes: list[Take], noise: float | None) -> Noise | None:
    """The smallest noise with which a well-supported candidate explains the data."""
    good = [fit for fit in fits.values() if isinstance(fit, Fit)]
    if not good:
        return None
    # A noise of half a metre explains everything: who explains half as much must do so four times as tightly.
    best = min(good, key=lambda fit: fit.noise / max(fit.inlier_share, 1e-3) ** 2)
    supported = [fit for fit in good if fit.inlier_share >= _SUPPORTED * best.inlier_share]
    turns = [fit.orientation_noise for fit in supported if hasattr(fit, "orientation_noise")]
    widest = max(supported, key=lambda fit: fit.inlier_share if fit.noise < _WIDE * best.noise else 0.0).inliers
    p, R = np.concatenate([take.p for take in takes])[widest], np.concatenate([take.R for take in takes])[widest]
    extent = float(np.linalg.norm(np.ptp(p, axis=0)))
    turn = float(np.quantile(np.linalg.norm(rotation_log(R @ R[0].T), axis=1), 0.95))
    position = noise or max(min(fit.noise for fit in supported), smallest_noise(takes[0].p), _PLAY * extent)
    return Noise(position, max(min(turns, default=0.0), SMALLEST_TURN, _PLAY * turn))
