"""The lower hull of the latest points, kept up to date while points come and go."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

Point = tuple[int, int]
"""Counts and nanoseconds; whole numbers, so that nothing is rounded."""


@dataclass
class LowerHull:
    """The hull from below of the last so many points, which nearly always come from left to right.

    One point more or less then changes only an end of the hull, which is why it is not built anew with each.
    """

    most: int
    """Points that are kept, 2 or more."""
    points: deque[Point] = field(init=False)
    """In the order in which they came."""
    _hull: list[Point] = field(init=False)
    _sum: int = field(init=False)
    _ordered: bool = field(init=False)
    """Whether each point is right of the one before it."""

    def __post_init__(self) -> None:
        self.points = deque(maxlen=self.most)
        self.clear()

    def clear(self) -> None:
        """Forget all points."""
        self.points.clear()
        self._hull, self._sum, self._ordered = [], 0, True

    def append(self, point: Point) -> None:
        """Add a point; the oldest one goes if there are too many."""
        oldest = self.points[0] if len(self.points) == self.most else None
        self._ordered = self._ordered and (not self.points or point[0] > self.points[-1][0])
        self.points.append(point)
        self._sum += point[0] - (oldest[0] if oldest else 0)
        if not self._ordered:
            places = [x for x, _ in self.points]
            self._ordered = all(left < right for left, right in pairwise(places))
            self._hull = _built(sorted(self.points))
            return
        _push(self._hull, point)
        if oldest:
            # The corner right of it stays one; between them may now be others.
            corner = self._hull[1]
            self._hull[:2] = _built(takewhile(lambda p: p[0] <= corner[0], self.points))

    def edge(self) -> tuple[Point, Point]:
        """Return both ends of the edge under the points' mean; twice the last corner where all are left of that.

        Of all lines below the points it is the one with the smallest sum of distances.
        """
        mean = self._sum / len(self.points)
        for left, right in pairwise(self._hull):
            if right[0] >= mean:
                return left, right
        return self._hull[-1], self._hull[-1]


def _built(points: Iterable[Point]) -> list[Point]:
    """The corners below sorted points."""
    hull: list[Point] = []
    for point in points:
        _push(hull, point)
    return hull


def _push(hull: list[Point], point: Point) -> None:
    """Take in a point that is not left of any before it, nor below one at the same place."""
    x, y = point
    while len(hull) >= 2:
        (x0, y0), (x1, y1) = hull[-2:]
        if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
            break
        hull.pop()
    if not hull or hull[-1][0] != x:
        hull.append(point)
