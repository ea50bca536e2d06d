"""Lambda and C are two ways to write one problem."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxmargin import LinearSVC
from maxmargin.errors import ParameterError
from maxmargin.objective import C_from_lambda, lambda_from_C


def test_the_two_are_inverse():
    assert lambda_from_C(C_from_lambda(0.03, 70), 70) == pytest.approx(0.03)


def test_the_mean_form_has_the_same_minimiser(rng):
    X, y = rng.normal(size=(50, 2)), np.array([1, -1] * 25)
    lam = 0.05
    model = LinearSVC(C=C_from_lambda(lam, 50), loss="hinge", fit_intercept=False).fit(X, y)
    w = model.coef_[0]

    def mean_form(v):
        return lam / 2 * v @ v + np.mean(np.maximum(0, 1 - y * (X @ v)))

    assert all(mean_form(w) <= mean_form(w + 0.01 * rng.normal(size=2)) for _ in range(200))
    assert_allclose(model.certificate_.primal * lam, mean_form(w), rtol=1e-9)


@pytest.mark.parametrize("lam, n", [(0.0, 5), (-1.0, 5), (1.0, 0), (float("nan"), 5)])
def test_values_that_are_not_positive_are_refused(lam, n):
    with pytest.raises(ParameterError, match="must be positive"):
        C_from_lambda(lam, n)
    with pytest.raises(ParameterError, match="must be positive"):
        lambda_from_C(lam, n)
