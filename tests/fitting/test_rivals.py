"""Takes of which several paths explain most samples: which one is told does not depend on luck."""

import numpy as np
import pytest

import fitting
from fitting.kernels import strays
from fitting.rival_kernels import RESTLESS, SCALES, unrest
from fitting.se3 import Array, rotation_exp
from fitting.segment_kernels import pace_of
from fitting.synthetic import Scene, axis_error, joint_poses

TURN, RADIUS, SAMPLES, NOISE = 0.6, 0.13, 300, 2e-4


def _disturbed(seed: int, kind: str) -> float:
    """The error, over its limit, of an axis from a short arc of which 30 % of the time is elsewhere, in one stretch."""
    scene = joint_poses(seed, turn=TURN, slide=0.0, radius=RADIUS, n=SAMPLES, position_noise=NOISE)
    rng = np.random.default_rng(seed)
    first, length = int(rng.integers(20, SAMPLES - 20 - int(0.3 * SAMPLES))), int(0.3 * SAMPLES)
    bad = np.zeros(SAMPLES, dtype=bool)
    bad[first : first + length] = True
    points, away = scene.points.copy(), rng.normal(size=3)
    away /= np.linalg.norm(away)
    tremble = NOISE * rng.normal(size=(length, 3))
    if kind == "offset":
        points[bad] += 12.0 * NOISE * away
    elif kind == "pile":
        points[bad] = points[0] + rng.uniform(0.02, 0.2) * away + tremble
    else:
        points[bad] = points[first] + tremble
    fit = fitting.fit_circle(points, rng=seed)
    rest = fitting.fit_circle(scene.points[~bad])
    assert fit, fit
    assert rest, rest
    return axis_error(fit, scene)[0] / rest.axis_std


@pytest.mark.parametrize("kind", ["offset", "pile", "stuck"])
def test_one_long_stretch_is_left_out(kind: str) -> None:
    for seed in range(60):
        assert _disturbed(seed, kind) < 6.0, seed


def test_slow_noise_gives_one_axis_for_every_seed() -> None:
    """A hook that slips: the noise is as slow as the movement, and many circles explain two thirds of it."""
    for number in range(5):
        scene = joint_poses(number, turn=1.2, slide=0.0, radius=0.4, n=120, position_noise=5e-4)
        rng = np.random.default_rng(number)
        slips = np.cumsum(rng.normal(size=(120, 3)), axis=0)
        slips -= np.linspace(slips[0], slips[-1], 120)
        axes = [fitting.fit_circle(scene.points + 6e-4 * slips, rng=seed) for seed in range(6)]
        assert all(axes)
        apart = [np.arccos(min(abs(float(fit.axis @ axes[0].axis)), 1.0)) for fit in axes if fit and axes[0]]
        assert max(apart) < np.radians(0.3)


def _hidden(seed: int, kind: str, turn: float, radius: float, samples: int) -> float:
    """The error, over its limit, of an axis of whose take 30 % is off by as much as the noise of single samples."""
    noise = 8e-4
    scene = joint_poses(seed, turn=turn, radius=radius, n=samples, position_noise=noise)
    rng = np.random.default_rng(seed)
    length = int(0.3 * samples)
    first = int(rng.integers(0, samples - length))
    bad = np.zeros(samples, dtype=bool)
    bad[first : first + length] = True
    points, away = scene.points.copy(), rng.normal(size=3)
    if kind == "drift":
        points[bad] += 2.8e-3 * np.outer(np.sin(np.linspace(0.0, np.pi, length)), away / np.linalg.norm(away))
    else:
        points[bad] = points[first] + noise * rng.normal(size=(length, 3))
    fit, rest = fitting.fit_circle(points), fitting.fit_circle(scene.points[~bad])
    assert fit, fit
    assert rest, rest
    return axis_error(fit, scene)[0] / rest.axis_std


@pytest.mark.parametrize(
    ("kind", "turn", "radius", "samples"),
    [("drift", 1.2, 0.12, 900), ("drift", 4.0, 0.2, 900), ("stuck", 1.2, 0.2, 600)],
)
def test_what_hides_in_the_noise_of_samples_is_left_out(kind: str, turn: float, radius: float, samples: int) -> None:
    errors = np.array([_hidden(seed, kind, turn, radius, samples) for seed in range(60)])
    assert errors.max() < 6.0
    assert np.sqrt((errors**2).mean()) < 1.45


def test_slow_noise_is_restless_at_the_pace_that_it_has() -> None:
    """A wave of a third of the noise is lost in the sums of many short parts, not in those of few long ones."""
    rng = np.random.default_rng(0)
    everybody, offsets = np.ones(1200, dtype=bool), rng.normal(size=(2, 1200))
    assert unrest(offsets, everybody, 1.0, SCALES) < 3.0
    offsets[0] += 0.33 * np.sin(np.linspace(0.0, 4.0 * np.pi, 1200))
    assert unrest(offsets, everybody, 1.0, 1) < unrest(offsets, everybody, 1.0, SCALES) > RESTLESS


def test_a_rest_that_ends_with_a_jump_is_a_halt() -> None:
    rng = np.random.default_rng(0)
    steady = np.outer(np.linspace(0.0, 0.5, 1200), [1.0, 0.0, 0.0]) + 5e-4 * rng.normal(size=(1200, 3))
    stuck, resting = steady.copy(), steady.copy()
    stuck[400:700] = steady[400] + 5e-4 * rng.normal(size=(300, 3))
    resting[700:] -= steady[700] - steady[400]
    resting[400:700] = stuck[400:700]
    assert [pace_of(np.ascontiguousarray(take.T))[2] for take in (steady, stuck, resting)] == [False, True, False]


def test_where_samples_are_lost_the_movement_goes_on() -> None:
    """There and back with every other sample lost: a gap on the way out and one on the way back are no excursion."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        points = np.zeros((3, 800))
        points[0] = 0.25 * (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, 800)))
        used = rng.random(800) < 0.48
        assert (
            strays(points + 4e-4 * rng.normal(size=points.shape), np.arange(points.shape[1]), used, 24e-4).sum() <= 5
        ), seed


def _paced(seed: int, pace: Array, turn: float, radius: float, noise: float = 4e-4) -> tuple[Scene, Array]:
    """A take of an arc at a pace (n,) from 0 to 1, and its points, which may be disturbed."""
    even = joint_poses(seed, turn=turn, radius=radius, n=len(pace), position_noise=0.0)
    middle, start = even.point + 0.1 * even.axis, even.points[0]
    points = middle + rotation_exp((turn * pace)[:, None] * even.axis) @ (start - middle)
    return even, points + noise * np.random.default_rng(seed).normal(size=points.shape)


def _smooth(n: int, rest: float = 0.0) -> Array:
    """Minimum jerk between rests of these shares."""
    time = np.clip((np.linspace(0.0, 1.0, n) - rest) / (1.0 - 2.0 * rest), 0.0, 1.0)
    return np.asarray(time**3 * (10.0 - 15.0 * time + 6.0 * time**2))


@pytest.mark.parametrize(("rest", "share"), [(0.05, 0.3), (0.15, 0.25)])
def test_the_rests_of_a_hand_vote_where_half_of_its_movement_strayed(rest: float, share: float) -> None:
    """In the middle of the movement a third of the time is most of the way."""
    n, lost, squares = 1200, 0, []
    for seed in range(40):
        scene, points = _paced(seed, _smooth(n, rest), 2.1, 0.2)
        rng = np.random.default_rng(seed)
        away, first = rng.normal(size=3), int(rng.integers(int(0.3 * n), int((0.7 - share) * n)))
        bad = slice(first, first + int(share * n))
        points[bad] += 0.01 * away / np.linalg.norm(away)
        fit = fitting.fit_circle(points)
        assert fit, fit
        lost += bool(fit.inliers[bad].mean() > 0.1)
        squares.append(axis_error(fit, scene)[2])
    assert lost <= 2
    assert 2.0 < np.median(squares) < 6.0


@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_rests_are_left_out_where_the_movement_speaks_for_itself(outliers: float) -> None:
    """A burst is no reason to ask a hand that pushed against the stop."""
    n, squares = 1500, []
    for seed in range(16):
        scene, points = _paced(seed, _smooth(n, 0.2), 2.1, 0.2)
        points[: n // 5] += 4e-4 * scene.axis
        points[700:775] += 0.02 * scene.axis
        rng = np.random.default_rng(seed)
        bad = rng.random(n) < outliers
        points[bad] += rng.uniform(-0.3, 0.3, (int(bad.sum()), 3))
        fit = fitting.fit_circle(points)
        assert fit, fit
        assert fit.inliers[: n // 5 - 60].mean() < 0.05, seed
        squares.append(axis_error(fit, scene)[2])
    assert np.mean(squares) < 6.0


@pytest.mark.parametrize("gaps", [3, 5])
def test_gaps_in_the_samples_are_no_excursions(gaps: int) -> None:
    """On a wide arc a gap on one side leads back from where one on the other side led."""
    for seed in range(20):
        _, points = _paced(seed, _smooth(1500), np.radians(300.0), 0.2, 3e-4)
        rng = np.random.default_rng(seed)
        there = np.ones(1500, dtype=bool)
        for first in rng.integers(200, 1200, gaps):
            there[first : first + 300 // gaps] = False
        fit = fitting.fit_circle(points[there])
        assert fit, fit
        assert fit.inliers.mean() > 0.97, seed


def test_what_moved_fast_comes_back_when_the_path_is_known() -> None:
    """In a passage ten times as fast, samples seem to be beside their neighbours; a burst is why it is looked at."""
    kept = []
    for seed in range(20):
        speed = np.ones(500)
        speed[100:140] = 12.0
        scene, points = _paced(seed, np.cumsum(speed) / speed.sum(), 4.0, 0.3, 2e-4)
        points[300:340] += 0.03 * scene.axis
        good = np.ones(500, dtype=bool)
        good[298:342] = False
        fit = fitting.fit_circle(points)
        assert fit, fit
        kept.append(fit.inliers[good].mean())
    assert np.mean(kept) > 0.95
    assert min(kept) > 0.88
