"""Quantiles of χ², against SciPy's."""

import pytest
from scipy.special import chdtr, chdtri

from fitting.noise import chi2_median, chi2_quantile, truncated_mean


@pytest.mark.parametrize("freedom", range(1, 13))
@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9, 0.9995, 1.0 - 1e-9])
def test_quantiles_and_truncated_means_are_those_of_scipy(freedom: int, probability: float) -> None:
    quantile = chdtri(freedom, 1.0 - probability)
    assert chi2_quantile(freedom, probability) == pytest.approx(quantile, rel=1e-9)
    mean = freedom * chdtr(freedom + 2, quantile) / probability
    assert truncated_mean(freedom, probability) == pytest.approx(mean, rel=1e-9)


def test_the_median_of_two_squares_is_known_exactly() -> None:
    assert chi2_median(2) == pytest.approx(1.3862943611198906, rel=1e-15)
