"""The source's reference: what a probe on a bar's surface says about the bar's axis."""

import numpy as np
import pytest

from ident.study.ruler import Bar, Ruler
from ident.study.statistics import line_errors

TRUTH = {"axis": [0.0, 0.6, 0.8], "point": [0.3, 0.2, 1.0]}


def _errors(ruler: Ruler, bar: Bar) -> np.ndarray:
    rng = np.random.default_rng(1)
    found = (ruler.reference(TRUTH, bar, rng) for _ in range(400))
    errors = (line_errors(one["axis"], one["point"], TRUTH) for one in found)
    return np.array([(e.angle_deg, e.position_mm) for e in errors])


def test_an_exact_ruler_gives_the_axis() -> None:
    exact = Ruler(surface=0.0, marker_mm=0.0, around_deg=0.0, hand_mm=0.0)
    np.testing.assert_allclose(_errors(exact, Bar(15.0, 0.25)), 0.0, atol=1e-6)


def test_the_surface_is_not_the_middle() -> None:
    still = Ruler(around_deg=0.0, hand_mm=0.0)
    angle, position = _errors(still, Bar(15.0, 0.25)).mean(axis=0)
    assert angle == pytest.approx(0.0, abs=1e-5)
    assert position == pytest.approx(15.0 - 6.4, abs=0.01)


def test_a_short_bar_says_less_about_its_direction() -> None:
    long, short = (_errors(Ruler(), Bar(15.0, length))[:, 0].mean() for length in (0.25, 0.10))
    assert short == pytest.approx(2.5 * long, rel=0.15)


def test_an_edge_is_marked_where_it_is() -> None:
    angle, position = _errors(Ruler(), Bar(0.0, 0.38)).mean(axis=0)
    assert angle < 0.1
    assert position < 1.0
