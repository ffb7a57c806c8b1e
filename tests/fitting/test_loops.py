"""Compiled loops against what NumPy says."""

import numpy as np
import pytest

from fitting.dense import cosine_and_sine
from fitting.kernels import compacted, extent, largest, likeliest
from fitting.segment_kernels import block_medians
from fitting.spectrum import in_cosines
from fitting.spectrum_kernels import in_waves


def test_cosine_and_sine_are_exact_to_rounding_in_all_quarters() -> None:
    for angle in np.concatenate([np.linspace(-7.0, 7.0, 301), np.pi / 4.0 * np.arange(-9, 10)]).tolist():
        assert cosine_and_sine(angle) == pytest.approx((np.cos(angle), np.sin(angle)), abs=2e-15)


@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_extents_have_any_sign(shift: float) -> None:
    points = np.random.default_rng(1).normal(size=(3, 101)) + shift
    used = np.arange(101) % 3 > 0
    assert extent(points, used) == np.ptp(points[:, used], axis=1).max()
    assert largest(points) == np.abs(points).max()
    assert np.array_equal(compacted(points, used), points[:, used])
    assert extent(points, np.zeros(101, dtype=bool)) == 0.0


@pytest.mark.parametrize("size", [2, 3, 9, 16])
def test_medians_of_blocks(size: int) -> None:
    points = np.random.default_rng(size).normal(size=(3, 8 * size))
    places, _ = block_medians(points, 8, size)
    assert np.array_equal(places, np.sort(points.reshape(3, 8, size), axis=2)[:, :, size // 2].T)


@pytest.mark.parametrize("blocks", [2, 7, 64])
def test_waves_of_sums(blocks: int) -> None:
    sums = np.random.default_rng(blocks).normal(size=(blocks, 2, 5))
    waves = np.tensordot(in_cosines(blocks), sums, 1)
    assert in_waves(sums, in_cosines(blocks), 0.5) == pytest.approx(0.5 * waves, abs=1e-12)


def test_the_likeliest_are_tight_on_most() -> None:
    squares = np.full((3, 60), 1.0)
    squares[0, :20], squares[1, :50], squares[2, :50] = 3e-7, 1e-6, 1e-4
    assert likeliest(squares, (3, 0.3), 1e-18)[0].tolist() == [1, 0, 2]
