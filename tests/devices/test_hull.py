"""The lower hull that is kept up to date is that of the points that are there."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from devices.hull import LowerHull

steps = st.lists(st.tuples(st.integers(-3, 20), st.integers(-50, 50)), min_size=1, max_size=60)


@given(steps, st.integers(2, 12))
def test_the_edge_is_the_line_closest_below_the_latest_points(way: list[tuple[int, int]], most: int) -> None:
    hull, at = LowerHull(most), 0
    for step, height in way:
        at += step
        hull.append((at, height))
        anew = LowerHull(most)
        for point in sorted(hull.points):
            anew.append(point)
        assert hull.edge() == anew.edge()
        left, right = hull.edge()
        mean = Fraction(sum(x for x, _ in hull.points), len(hull.points))
        if left != right:
            assert left[0] <= mean <= right[0]
            slope = Fraction(right[1] - left[1], right[0] - left[0])
            assert min(y - left[1] - slope * (x - left[0]) for x, y in hull.points) == 0


@given(steps)
def test_a_cleared_hull_begins_anew(way: list[tuple[int, int]]) -> None:
    used, new = LowerHull(8), LowerHull(8)
    used.append((100, 0))
    used.append((5, 3))
    used.clear()
    for point in way:
        used.append(point)
        new.append(point)
        assert used.edge() == new.edge()
