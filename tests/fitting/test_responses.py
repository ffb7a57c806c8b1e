"""What an error in a part of a take does to the axis: as stated, and as it comes out when the error is made."""

import numpy as np
import pytest

from fitting import fit_rotary
from fitting.onset import unseen_turns
from fitting.se3 import Array, rotation_exp
from fitting.spectrum import edges
from fitting.synthetic import joint_poses

NOISE = 1e-4


def _axis_change(before: object, after: object, basis: Array) -> Array:
    """Tilt and shift (4,) along the basis from one fit to another."""
    axis, moved = before.axis, after.axis  # type: ignore[attr-defined]
    offset = after.point - before.point  # type: ignore[attr-defined]
    offset = offset - (offset @ axis) / (moved @ axis) * moved
    return np.concatenate([basis @ (moved - axis), basis @ offset])


def _spoiled(poses: Array, where: slice, channel: int, size: float, axis: Array, point: Array) -> Array:
    """The take with an error of one channel during a part of it."""
    result = poses.copy()
    arms = poses[where, :3, 3] - point
    outward = arms - np.outer(arms @ axis, axis)
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    sides = [outward, np.cross(axis, outward), np.broadcast_to(axis, outward.shape)]
    if channel < 3:
        result[where, :3, 3] += size * sides[channel]
    else:
        result[where, :3, :3] = rotation_exp(size * sides[channel - 3]) @ result[where, :3, :3]
    return result


@pytest.mark.parametrize("channel", range(5))
@pytest.mark.parametrize("reverse", [False, True])
def test_an_error_moves_the_axis_as_stated(channel: int, reverse: bool) -> None:
    poses = joint_poses(5, turn=np.radians(60.0), radius=0.3, n=640, position_noise=NOISE).poses
    poses = poses[::-1].copy() if reverse else poses
    before = fit_rotary(poses)
    assert before, before
    (response,) = before.responses
    first = edges(len(poses))
    where = slice(int(first[20]), int(first[30]))
    size = 0.1 * NOISE if channel < 3 else 0.05 * before.orientation_noise
    after = fit_rotary(_spoiled(poses, where, channel, size, before.axis, before.point))
    assert after, after
    stated = size * response.gain[20:30, channel].sum(axis=0)
    found = _axis_change(before, after, before.basis)
    scale = np.sqrt(np.diag(before.covariance))
    # On this take nobody changes sides because of the error, so that only the least squares are at work.
    np.testing.assert_allclose(found / scale, stated / scale, atol=0.1 * np.abs(stated / scale).max() + 0.01)


def test_a_turn_is_dated_back_to_where_it_began() -> None:
    n, began = 800, 300
    time = np.arange(n)
    turn = np.radians(8.0) * np.clip((time - began) / 250.0, 0.0, 1.0) ** 3
    noise = np.radians(0.1) * np.random.default_rng(1).standard_normal(n)
    firm = turn + noise < np.radians(0.4)
    left_out = unseen_turns((turn + noise)[:, None], firm & (time < 500), np.ones(n, dtype=bool))
    assert np.argmax(left_out) == pytest.approx(began, abs=40)
    assert not left_out[:200].any()


def test_a_grip_that_held_loses_nothing() -> None:
    turns = np.radians(0.1) * np.random.default_rng(2).standard_normal((600, 3))
    everything = np.ones(600, dtype=bool)
    assert not unseen_turns(turns, everything, everything).any()
    accidents = everything.copy()
    accidents[::50] = False
    assert not unseen_turns(turns, accidents, everything).any()
