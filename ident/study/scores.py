"""Rows of the source's tables with the errors of all trials, and who was better."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ident.study.statistics import Summary
from ident.study.thesis import Row

CLEAR = 2.0
"""Standard errors from which a mean difference between both methods on the same takes is more than chance."""


@dataclass(frozen=True)
class Score:
    """One error (axis angle in degrees or axis position in mm) of one row over all trials."""

    unit: str
    ours: Summary
    theirs: Summary
    difference: Summary
    """Ours less that of the source's method, take by take."""
    by_ruler: Summary
    """Errors of the source's method against a reference that is taken as the source took it."""
    published: tuple[float, float] | None
    """Mean and standard deviation."""

    @property
    def ratio(self) -> float:
        """Mean error of the source's method here over what it published."""
        return self.theirs.mean / self.published[0] if self.published else math.nan

    @property
    def ruler_ratio(self) -> float:
        """The same, where the error is measured as the source measured it."""
        return self.by_ruler.mean / self.published[0] if self.published else math.nan

    @property
    def standing(self) -> str:
        """``better`` than both the published figure and the source's method, ``as good``, or ``worse``.

        As good: no worse than published, and on the same takes both methods differ by no more than chance.
        """
        if not self.ours.n or not self.theirs.n:
            return "better"
        if self.published and self.ours.mean > self.published[0]:
            return "worse"
        if self.ours.mean <= self.theirs.mean:
            return "better"
        chance = CLEAR * self.difference.std / math.sqrt(self.difference.n) if self.difference.n > 1 else 0.0
        return "as good" if self.difference.mean <= chance else "worse"


@dataclass(frozen=True)
class Scored:
    """A row with its errors over all trials."""

    row: Row
    angle: Score
    position: Score
    failed: int
    """Trials without a fit of ours."""
    asked_again: float
    """Share of the trials in which our verdict on the first take was not good."""
    claimed_angle: float
    """Median of the standard deviation that our fits claim, degrees."""
    claimed_position: float
    """The same of the position, mm."""


def scored(row: Row, results: Sequence[dict[str, Any]]) -> Scored:
    """Put the results of a row together."""

    def column(who: str, index: int) -> list[float]:
        return [math.nan if r[who] is None or r[who][index] is None else float(r[who][index]) for r in results]

    def score(unit: str, index: int, published: tuple[float, float] | None) -> Score:
        ours, theirs = column("ours", index), column("theirs", index)
        differences = (a - b for a, b in zip(ours, theirs, strict=True))
        by_ruler = Summary.of(column("by_ruler", index))
        return Score(unit, Summary.of(ours), Summary.of(theirs), Summary.of(differences), by_ruler, published)

    return Scored(
        row,
        score("°", 0, row.angle_deg),
        score(" mm", 1, row.position_mm),
        sum(r["ours"] is None for r in results),
        float(np.mean([r["again"] for r in results])),
        Summary.of(column("claimed", 0)).median,
        Summary.of(column("claimed", 1)).median,
    )
