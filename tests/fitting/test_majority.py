"""A slide whose hand strayed far for half of the movement: rests at both ends are most of what is on the line."""

import numpy as np
import pytest

from fitting import fit_line, fit_prismatic
from fitting.majority import clear_majority
from fitting.se3 import Array, frame


def _smooth(t: Array, begin: float, end: float) -> Array:
    s = np.clip((t - begin) / (end - begin), 0.0, 1.0)
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s**2))


def _strayed(seed: int, *, out: float = 0.12, n: int = 900) -> Array:
    """Poses of a slide along x, there and back, that swings away by ``out`` metres on both ways; it shakes a little."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, n)
    x = 0.25 * (_smooth(t, 0.12, 0.42) - _smooth(t, 0.58, 0.88))
    away = out * (_smooth(t, 0.14, 0.2) - _smooth(t, 0.36, 0.42))
    away += 0.8 * out * (_smooth(t, 0.6, 0.66) - _smooth(t, 0.8, 0.86))
    shake = np.convolve(rng.normal(size=n + 40), np.hanning(41) / np.linalg.norm(np.hanning(41)), mode="valid")
    points = np.stack([x, away + 7e-4 * shake, 0.3 * away], axis=1)
    return frame(np.broadcast_to(np.eye(3), (n, 3, 3)), points + rng.normal(scale=5e-4, size=(n, 3)))


def _tilt(direction: Array) -> float:
    return float(np.degrees(np.arccos(min(1.0, abs(direction[0])))))


@pytest.mark.parametrize("out", [0.05, 0.12, 0.2])
def test_rests_at_both_ends_tell_the_slide(out: float) -> None:
    for seed in range(6):
        poses = _strayed(seed, out=out)
        fit = fit_prismatic(poses)
        assert fit, fit
        assert _tilt(fit.direction) < 0.6
        assert len(fit.inliers) == len(fit.coordinates) == len(poses)
        assert not fit.inliers[(poses[:, 1, 3] > 0.02)].any()


def test_one_such_take_does_not_spoil_another() -> None:
    fit = fit_prismatic([_strayed(1), _strayed(2, out=0.0)])
    assert fit, fit
    assert _tilt(fit.direction) < 0.3
    assert fit.inliers[900:].mean() > 0.8


def test_nobody_else_is_asked_where_a_line_holds_the_take() -> None:
    points = _strayed(3, out=0.0)[:, :3, 3]
    line = fit_line(points)
    assert line, line
    assert clear_majority(points, line.inliers, line) is None
    posed = fit_prismatic(_strayed(3, out=0.0))
    assert posed, posed
    np.testing.assert_array_equal(posed.inliers, line.inliers)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros((2, 3)), np.zeros((50, 3))])
def test_what_shows_no_direction_has_no_majority(points: Array) -> None:
    assert clear_majority(points) is None
