"""Columns far from zero, such as dates: a free intercept makes good what is subtracted from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import LinearSVC, LinearSVR, LogisticRegression
from maxmargin.data.arrays import centred_rows
from maxmargin.errors import NotConvergedWarning
from maxmargin.solvers.common import centring as nearby
from maxmargin.solvers.common.centring import Nearby, far_columns

FAR = [(1e6, 1.0), (-1e9, 0.1), (1e5, 0.0), (1.7e9, 1e6)]  # mean and spread
MACHINES = [
    (LinearSVR, {"epsilon": 0.1}),
    (LinearSVC, {"loss": "hinge"}),
    (LinearSVC, {}),
    (LogisticRegression, {}),
]


def table(mean, spread, n=200, seed=0):
    """Rows with one column far from zero that counts for the labels like the others, and the same rows centred."""
    rng = np.random.default_rng(seed)
    near = rng.normal(size=(n, 5))
    scores = near @ rng.normal(size=5) + rng.normal(size=n)
    near[:, 2] *= spread
    X = near.copy()
    X[:, 2] += mean
    near[:, 2] = X[:, 2] - mean  # as rounded
    return X, near, scores


def targets(machine, scores):
    return scores if machine is LinearSVR else np.where(scores > 0.0, 1, -1)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_far_columns_are_found(layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 1] += 1e6
    X[:, 3] = 1.0  # what people add for an intercept
    X[:, 4] = -1e5
    X[:, 5] = 0.0
    centre = far_columns(layout(X))
    assert set(np.flatnonzero(centre)) == {1, 4}
    np.testing.assert_allclose(centre[[1, 4]], [1e6, -1e5], rtol=1e-6)
    moved = centred_rows(layout(X), centre)
    np.testing.assert_array_equal(moved.toarray() if sparse.issparse(moved) else moved, X - centre)


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.empty((0, 3)), np.empty((4, 0)), np.eye(4)])
def test_none_is_far(X):
    assert far_columns(X) is None
    assert far_columns(sparse.csr_matrix(X)) is None


def test_a_sparse_column_with_a_zero_is_not_far():
    X = sparse.csr_matrix(np.array([[1e6, 1.0], [0.0, 2.0], [1e6, 0.5]]))
    assert far_columns(X) is None


def test_rows_without_an_entry_are_centred_as_well():
    X = sparse.csr_matrix(np.array([[1e6, 1.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(centred_rows(X, np.array([1e6, 0.0])).toarray(), np.array([[0.0, 1.0], [-1e6, 2.0]]))


@pytest.mark.parametrize("stream", [None, "cached-loops"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e6])
@pytest.mark.parametrize(("machine", "settings"), MACHINES)
@pytest.mark.parametrize(("mean", "spread"), FAR)
@pytest.mark.slow
def test_fits_converge_and_agree_with_centred_rows(mean, spread, machine, settings, C, stream):
    X, near, scores = table(mean, spread)
    y = targets(machine, scores)
    fit = machine(C=C, tol=1e-4, stream=stream, **settings).fit(X, y)
    best = machine(C=C, tol=1e-6, **settings).fit(near, y).certificate_
    assert fit.certificate_.status.name == "CONVERGED"
    assert fit.certificate_.verify(X, y).status.name == "CONVERGED"
    assert best.dual * (1.0 - 1e-6) <= fit.certificate_.primal <= best.primal * (1.0 + 2e-4)


@pytest.mark.parametrize("solver", ["dcd", "multipliers", "qp"])
def test_all_solvers_see_the_rows_from_nearby(solver):
    X, near, scores = table(1e6, 1.0)
    y = targets(LinearSVC, scores)
    far, centred = (LinearSVC(loss="hinge", solver=solver, max_iter=2000).fit(rows, y) for rows in (X, near))
    assert far.certificate_.status is centred.certificate_.status
    np.testing.assert_allclose(far.coef_, centred.coef_, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(far.decision_function(X), centred.decision_function(near), atol=1e-3)


def test_a_solver_with_an_intercept_of_its_own_gives_that_of_the_rows():
    X, near, scores = table(1e6, 1.0)
    y = targets(LinearSVC, scores)
    far, centred = (LinearSVC(loss="hinge", solver="subgradient", tol=5e-2).fit(rows, y) for rows in (X, near))
    np.testing.assert_allclose(far.decision_function(X), centred.decision_function(near), atol=1e-3)


def test_a_warm_start_goes_on_from_the_same_point():
    X, _, scores = table(1e6, 1.0)
    y = targets(LinearSVC, scores)
    model = LinearSVC(loss="hinge", warm_start=True, tol=1e-5).fit(X, y)
    first = model.certificate_
    again = model.fit(X, y).certificate_
    assert again.status.name == "CONVERGED"
    assert again.passes <= first.passes
    assert again.primal <= first.primal * (1.0 + 1e-5)


def test_classes_and_weights():
    X, _, scores = table(1e6, 1.0, n=300)
    y = np.digitize(scores, [-1.0, 1.0])
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for stream in (None, "cached-loops"):
        model = LinearSVC(loss="hinge", C=100.0, stream=stream, tol=1e-4).fit(X, y, sample_weight=weight)
        assert model.certificate_.status.name == "CONVERGED"
        assert model.certificate_.verify(X, y).status.name == "CONVERGED"


def test_an_l1_penalty_has_feasible_multipliers():
    X, near, scores = table(1e6, 1.0)
    y = targets(LinearSVC, scores)
    far, centred = (LinearSVC(penalty="l1", C=0.1).fit(rows, y) for rows in (X, near))
    assert far.certificate_.gap < np.inf
    np.testing.assert_allclose(far.coef_, centred.coef_, rtol=1e-3, atol=1e-6)


def test_large_tables_are_not_copied(monkeypatch):
    X, _, _ = table(1e6, 1.0)
    assert Nearby.of(X) is not None
    monkeypatch.setattr(nearby, "_MOST_BYTES", X.nbytes - 1)
    assert Nearby.of(X) is None


def test_a_penalised_intercept_sees_the_rows_as_they_are():
    X, _, scores = table(50.0, 0.01)
    y = targets(LinearSVC, scores)
    fit = LinearSVC(loss="hinge", intercept="augmented").fit(X, y)
    moved = LinearSVC(loss="hinge", intercept="augmented").fit(X - far_columns(X), y)
    assert fit.certificate_.status.name == "CONVERGED"
    assert abs(fit.certificate_.primal - moved.certificate_.primal) > 1e-3  # another problem


def test_a_source_far_from_zero_and_a_resumed_training(tmp_path):
    X, _, scores = table(1e6, 1.0, n=400)
    y = targets(LinearSVR, scores)
    with maxmargin.open([(X, y)], memory="4KB") as source:
        settings = {"C": 1e4, "stream": "cached-loops", "memory": "40KB", "tol": 1e-5, "checkpoint": tmp_path}
        with pytest.warns(NotConvergedWarning, match="BUDGET"):
            LinearSVR(**settings, max_iter=18).fit(source)
        model = LinearSVR(**settings).fit(source)
        assert model.certificate_.status.name == "CONVERGED"
        assert model.certificate_.verify(source).status.name == "CONVERGED"


def test_rows_that_do_not_count_do_not_decide():
    X, _, scores = table(0.0, 1.0, n=400)
    y, weight = targets(LinearSVC, scores), np.ones(400)
    X[:200, 2], weight[:200] = 1e9, 0.0
    assert far_columns(X, weight) is None
    for stream in (None, "cached-loops"):
        model = LinearSVC(loss="hinge", C=100.0, tol=1e-4, stream=stream).fit(X, y, sample_weight=weight)
        assert model.certificate_.status.name == "CONVERGED"


def test_sparse_rows_do_not_become_dense():
    X = sparse.csr_matrix(np.full((30, 40), 1e6) + np.random.default_rng(0).normal(size=(30, 40)))
    assert far_columns(X) is None
    assert far_columns(X.toarray()) is not None
