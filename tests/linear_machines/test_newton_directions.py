"""Newton directions are solutions of Newton's equations, whichever way they are found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from maxmargin.data import ArraySource
from maxmargin.data.rows import ArrayRows
from maxmargin.solvers.common.sampling import long_rows, sampled
from maxmargin.solvers.linear import newton_directions
from maxmargin.solvers.linear.newton_directions import Directions, RowProducts

N, D = 60, 9


def _system(X, c, scale):
    """The matrix of Newton's equations; without an intercept the last row says t = 0."""
    corner = np.sum(c) + scale**-2.0 if scale > 0.0 else 1.0
    edge = X.T @ c if scale > 0.0 else np.zeros(X.shape[1])
    return np.block([[np.eye(X.shape[1]) + X.T @ (c[:, None] * X), edge[:, None]], [edge[None], np.array([[corner]])]])


WAYS = {"by features": (10**9, 0), "by rows": (0, 10**9), "conjugate gradients": (0, 0)}
"""Features and rows up to which the first two ways are taken, so that each is taken once."""


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    features, rows = WAYS[request.param]
    monkeypatch.setattr(newton_directions, "MAX_FACTORED", features)
    monkeypatch.setattr(newton_directions, "_MAX_PRODUCTS", rows)
    return request.param


@pytest.mark.parametrize("scale", [np.inf, 1.0, 30.0, 0.0])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("n_active", [1, 5, N])
def test_all_ways_solve_the_equations(way, scale, layout, n_active, rng):
    X = rng.normal(size=(N, D)).astype(np.float32).astype(np.float64)
    c = np.zeros(N)
    c[rng.permutation(N)[:n_active]] = rng.uniform(0.1, 10.0, n_active)
    gradient = rng.normal(size=D)
    bias_gradient = float(rng.normal()) if scale > 0.0 else 0.0
    expected = np.linalg.solve(_system(X, c, scale), -np.append(gradient, bias_gradient))
    passes = ArrayRows(ArraySource(layout(X), np.ones(N), np.ones(N)))
    p, t = Directions(passes, scale).solve(c, gradient, bias_gradient, 1e-28)
    assert_allclose(np.append(p, t), expected, rtol=1e-6, atol=1e-8)


def test_a_free_intercept_without_curvature_stays(way, rng):
    passes = ArrayRows(ArraySource(rng.normal(size=(N, D)), np.ones(N), np.ones(N)))
    gradient = rng.normal(size=D)
    p, t = Directions(passes, np.inf).solve(np.zeros(N), gradient, 1e-9, 1e-28)
    assert t == 0.0
    assert_allclose(p, -gradient)


def test_products_of_rows_survive_growth_and_forgetting(rng):
    X = sparse.random(N, 40, density=0.2, format="csr", random_state=0)
    products = RowProducts(ArrayRows(ArraySource(X, np.ones(N), np.ones(N))), capacity=20)
    K = (X @ X.T).toarray()
    for _ in range(12):  # 20 rows at most are known at a time: some choices make it forget
        rows = rng.permutation(N)[: rng.integers(1, 18)]
        assert_allclose(products.among(rows), K[np.ix_(rows, rows)], atol=1e-14)


def test_a_sample_keeps_long_rows_and_counts_all(rng):
    squares = rng.uniform(0.5, 1.5, 1000)
    squares[[3, 500]] = 100.0
    is_long = long_rows(squares)
    assert np.flatnonzero(is_long).tolist() == [3, 500]
    rows = np.arange(100, 1000)
    chosen, count = sampled(rows, is_long, 10)
    assert 500 in chosen
    assert 3 not in chosen
    assert set(chosen) <= set(rows)
    assert np.sum(count) == pytest.approx(len(rows), abs=10)
    assert count[np.flatnonzero(chosen == 500)[0]] == 1.0


def test_never_too_many_rows_are_long(rng):
    squares = np.concatenate([np.full(900, 1.0), rng.uniform(50.0, 60.0, 100)])
    assert 0 < np.count_nonzero(long_rows(squares)) <= len(squares) // 16
