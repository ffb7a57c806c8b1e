"""A covariance is one: symmetric, without negative variances, whatever rounding did."""

import numpy as np

from fitting.result import AxisFit


def test_rounding_below_zero_is_no_variance() -> None:
    rounded = np.diag([-1e-18, 1e-8, 1e-9, 1e-9])
    rounded[0, 1] = 1e-12
    fit = AxisFit(np.ones(3, bool), 1e-3, 1e-3, np.eye(3)[:2], rounded)
    assert np.linalg.eigvalsh(fit.covariance)[0] > -1e-24
    np.testing.assert_array_equal(fit.covariance, fit.covariance.T)
    assert fit.axis_std > 0.0
    assert fit.to_dict()["position_std"] > 0.0
