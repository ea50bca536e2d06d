"""The linear kernel with few features is solved as a linear machine, and its multipliers tell the weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, Status

COSTS = [1e-3, 1.0, 1e4]


def _overlapping(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_svc_with_the_linear_kernel_is_linear_svc_with_the_hinge(C, layout):
    X, f = _overlapping(1500, 6)
    X, y = layout(X), np.where(f > 0.0, "up", "down")
    kernel = SVC(kernel="linear", C=C).fit(X, y)
    linear = LinearSVC(loss="hinge", C=C, tol=1e-8).fit(X, y)
    assert kernel.certificate_.status is Status.CONVERGED
    kernel.certificate_.verify(X, y)
    assert_allclose(
        np.asarray(kernel.coef_ if layout is not sparse.csr_matrix else kernel.coef_.todense()), linear.coef_, rtol=1e-5
    )
    assert_allclose(kernel.intercept_, linear.intercept_, atol=1e-5)


@pytest.mark.parametrize("C", COSTS)
def test_svr_with_the_linear_kernel_is_linear_svr(C):
    X, f = _overlapping(1500, 6)
    kernel = SVR(kernel="linear", C=C, epsilon=0.1).fit(X, f)
    linear = LinearSVR(loss="epsilon_insensitive", C=C, epsilon=0.1, tol=1e-8).fit(X, f)
    assert kernel.certificate_.status is Status.CONVERGED
    kernel.certificate_.verify(X, f)
    assert_allclose(kernel.coef_.ravel(), linear.coef_.ravel(), rtol=1e-5)


def test_weights_are_rows_in_the_flat_problem_too():
    X, f = _overlapping(1300, 4)
    y, weight = np.sign(f), np.random.default_rng(1).integers(0, 3, 1300)
    repeated = np.repeat(np.arange(1300), weight)
    once = SVC(kernel="linear", C=10.0).fit(X, y, sample_weight=weight)
    again = SVC(kernel="linear", C=10.0).fit(X[repeated], y[repeated])
    assert_allclose(once.coef_, again.coef_, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_duplicated_rows_and_constant_columns_in_any_scale_converge(scale):
    X, f = _overlapping(700, 5)
    X = scale * np.column_stack([np.vstack([X, X]), np.ones(1400), np.zeros(1400)])
    y = np.sign(np.tile(f, 2))
    model = SVC(kernel="linear", C=1.0 / scale**2).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    model.certificate_.verify(X, y)


@pytest.mark.slow
def test_a_budget_of_seconds_is_kept():
    X, f = _overlapping(30_000, 40)
    model = SVC(kernel="linear", C=1e3, max_seconds=1e-3)
    with pytest.warns(UserWarning, match="BUDGET"):
        model.fit(X, np.sign(f))
    model.certificate_.verify(X, np.sign(f))


def test_pair_steps_that_stall_on_few_rows_leave_the_end_to_the_reference():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 900)), rng.normal(size=120).round()
    model = SVR(kernel="linear", C=1e5, epsilon=0.1).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    for d, C, named in ((100, 1e6, "qp"), (6, 1e6, "multipliers")):
        for solver in ("auto", "blocks"):
            model = SVR(kernel="linear", C=C, epsilon=0.1, solver=solver).fit(X[:, :d], y)
            assert model.certificate_.status is Status.CONVERGED
            assert model.certificate_.solver == named
            model.certificate_.verify(X[:, :d], y)
