"""The L1 penalty: sparse linear classifiers against the reference, closed forms and their certificates."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog

from maxmargin import LinearSVC, LogisticRegression, Status, load
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import CertificateError, ParameterError
from maxmargin.losses import HardMargin, Hinge, Logistic, Squared, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.penalties import L1, L2, Box, ElasticNet
from maxmargin.problems import Intercept, LinearProblem
from maxmargin.solvers import QP, SOLVERS, Automatic, SparseNewton, solver_class
from maxmargin.solvers.common.feasible import into_domain
from maxmargin.solvers.sparse import l1_model
from tests.problem_table import _data

DATA = _data()
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]
TOL = 1e-8


def words(value):
    return getattr(value, "words", None) or getattr(value, "name", None) or str(value)


def problem_of(name, loss, C=1.0, intercept=Intercept.FREE, strength=1.0, weight=None):
    X, y = DATA[name]
    weight = np.ones(len(y)) if weight is None else weight
    return LinearProblem(ArraySource(X, y, weight), loss, C, intercept, L1(strength))


def seen_by_certificate(problem, solution):
    return assess(problem, solution.alpha, solution.weights, solution.bias)


def check(problem, solution, tol=TOL):
    seen = seen_by_certificate(problem, solution)
    assert seen.reason == ""
    assert -seen.rounding <= seen.gap <= tol * seen.primal + seen.rounding
    return seen


@pytest.mark.parametrize("name", DATA)
def test_squared_hinge_reaches_the_reference_on_hard_data(name):
    problem = problem_of(name, SquaredHinge())
    seen = check(problem, SparseNewton(tol=TOL).solve(problem))
    reference = seen_by_certificate(problem, QP().solve(problem))
    # Each bounds the minimum from both sides, so that the intervals of the two must meet.
    assert seen.dual <= reference.primal + seen.rounding + reference.rounding
    assert reference.dual <= seen.primal + seen.rounding + reference.rounding
    assert seen.primal <= reference.primal * (1.0 + 1e-7) + seen.rounding


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=words)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=words)
@pytest.mark.parametrize("name", ["overlapping", "duplicated rows", "zero rows", "n < d", "sparse", "float32"])
def test_every_intercept_is_certified(name, intercept, loss):
    problem = problem_of(name, loss, 2.0, intercept)
    seen = check(problem, SparseNewton(tol=TOL).solve(problem))
    assert seen.kkt_violation <= 1e-6
    if intercept is Intercept.NONE:
        assert seen.bias == 0.0


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=words)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("name", ["overlapping", "separable", "1 to 1000", "one row a class"])
def test_any_cost_is_certified(name, C, loss):
    problem = problem_of(name, loss, C)
    check(problem, SparseNewton(tol=1e-6).solve(problem), tol=1e-6)


@pytest.mark.parametrize("name", ["scales 1e-6 to 1e6", "tiny scale", "huge scale", "far from the origin", "n >> d"])
def test_logistic_loss_is_certified_in_any_units(name):
    problem = problem_of(name, Logistic())
    check(problem, SparseNewton(tol=1e-7).solve(problem), tol=1e-7)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=words)
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), SquaredEpsilonInsensitive(0.5)], ids=words)
def test_the_reference_certifies_itself(loss, intercept, rng):
    X = rng.normal(size=(60, 5))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=60)) * (1.0 if loss.name.endswith("hinge") else 3.0)
    problem = LinearProblem(ArraySource(X, y, rng.uniform(0.5, 2.0, 60)), loss, 0.7, intercept, L1(1.5))
    solution = QP().solve(problem)
    check(problem, solution, tol=1e-7)
    if not isinstance(loss, Hinge):
        seen = check(problem, SparseNewton(tol=1e-10).solve(problem), tol=1e-9)
        assert seen.primal == pytest.approx(seen_by_certificate(problem, solution).primal, rel=1e-7)


def test_the_hinge_with_an_l1_penalty_is_a_linear_program(rng):
    X, y = rng.normal(size=(40, 6)), np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[:, 0] += y
    model = LinearSVC(penalty="l1", loss="hinge", C=0.3).fit(X, y)
    # Variables w+, w-, b+, b-, xi.
    signed = y[:, None] * np.column_stack([X, -X, np.ones(40), -np.ones(40)])
    cost = np.concatenate([np.ones(12), [0.0, 0.0], np.full(40, 0.3)])
    program = linprog(cost, A_ub=-np.column_stack([signed, np.eye(40)]), b_ub=-np.ones(40))
    assert model.certificate_.primal == pytest.approx(program.fun, rel=1e-6)
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=words)
def test_orthonormal_columns_are_soft_thresholded(rng, intercept):
    X = np.linalg.qr(np.column_stack([np.ones(30), rng.normal(size=(30, 6))]))[0][:, 1:]
    y = 3.0 * rng.normal(size=30)
    problem = LinearProblem(ArraySource(X, y, np.ones(30)), Squared(), 1.0, intercept, L1(1.2))
    solution = SparseNewton(tol=1e-12).solve(problem)
    expected = np.sign(X.T @ y) * np.maximum(np.abs(X.T @ y) - 1.2, 0.0)
    assert 0 < np.count_nonzero(expected) < 6
    assert_allclose(solution.weights, expected, atol=1e-10)


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression])
def test_all_weights_are_zero_until_c_reaches_its_threshold(estimator, rng):
    X = rng.normal(size=(50, 8))
    y = np.where(X[:, 3] + 0.3 * rng.normal(size=50) > 0.0, 1.0, -1.0)
    y[:25] = 1.0
    # At w = 0 the free intercept is known, and with it every slope: the threshold is 1 / max_j |sum_i slope_i x_ij|.
    share = np.mean(y > 0)
    slope = y * (2.0 * (1.0 - y * (2.0 * share - 1.0)) if estimator is LinearSVC else np.where(y > 0, 1 - share, share))
    sums = X.T @ slope
    threshold = 1.0 / np.max(np.abs(sums))
    assert not np.any(estimator(penalty="l1", C=0.999 * threshold).fit(X, y).coef_)
    first = estimator(penalty="l1", C=1.01 * threshold, tol=1e-9).fit(X, y).coef_[0]
    assert np.flatnonzero(first).tolist() == [np.argmax(np.abs(sums))]


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression])
@pytest.mark.parametrize("intercept", ["free", "augmented"])
def test_fits_are_certified_sparse_and_the_same_in_every_layout(estimator, intercept, rng):
    X = np.where(rng.random((200, 30)) < 0.3, rng.normal(size=(200, 30)), 0.0).astype(np.float32)
    y = np.where(X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=200) > 0.0, "b", "a")
    weight = rng.integers(0, 4, 200).astype(float)
    make = estimator(penalty="l1", C=0.3, intercept=intercept, class_weight={"a": 2.0})
    models = []
    for rows in (X, X.astype(np.float64), sparse.csr_matrix(X), sparse.csr_matrix(X.astype(np.float64))):
        model = make.__class__(**make.get_params()).fit(rows, y, sample_weight=weight)
        seen = model.certificate_.verify(rows, y, sample_weight=weight)
        assert seen.status is Status.CONVERGED
        assert seen.relative_gap <= 1e-9
        models.append(model)
    assert 0 < np.count_nonzero(models[0].coef_) < 30
    for model in models[1:]:
        assert_allclose(model.coef_, models[0].coef_, atol=1e-6)
        assert np.array_equal(model.coef_ == 0.0, models[0].coef_ == 0.0)
    # A weight is a number of repetitions, and zero is absence.
    repeated = np.repeat(np.arange(200), weight.astype(int))
    again = estimator(**make.get_params()).fit(X[repeated], y[repeated])
    assert_allclose(again.coef_, models[0].coef_, atol=1e-6)


def test_weights_agree_with_liblinear_where_the_problems_are_the_same(rng):
    from sklearn import svm

    X = rng.normal(size=(150, 12))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=150) > 0.0, 1, 0)
    peer = svm.LinearSVC(penalty="l1", dual=False, C=0.05, fit_intercept=False, tol=1e-9, max_iter=100_000).fit(X, y)
    model = LinearSVC(penalty="l1", C=0.05, fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert np.array_equal(model.coef_ == 0.0, peer.coef_ == 0.0)


def test_more_classes_are_each_against_the_rest(rng):
    X = rng.normal(size=(90, 5))
    y = np.arange(90) % 3
    X[np.arange(90), y] += 2.0
    model = LinearSVC(penalty="l1", C=0.1).fit(X, y)
    for k in range(3):
        alone = LinearSVC(penalty="l1", C=0.1).fit(X, y == k)
        assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-8)
    with pytest.raises(ParameterError, match="two classes here, got 3"):
        LogisticRegression(penalty="l1").fit(X, y)


def test_either_way_to_ask_for_l1_is_the_same_and_survives_a_file(rng, tmp_path):
    X, y = DATA["overlapping"]
    model = LogisticRegression(penalty="l1", C=0.2).fit(X, y)
    assert np.array_equal(LogisticRegression(l1_ratio=1, C=0.2).fit(X, y).coef_, model.coef_)
    assert model.certificate_.objective.startswith("|w|_1 + 0.2 sum_i log")
    model.save(tmp_path / "model.mm")
    load(tmp_path / "model.mm").certificate_.verify(X, y)
    model.coef_ = 1.001 * model.coef_
    with pytest.raises(CertificateError, match="the model was changed"):
        model.certificate_.verify(X, y)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=words)
@pytest.mark.parametrize("name", ["n < d", "sparse", "far from the origin", "constant and zero columns"])
def test_columns_one_by_one_lead_where_their_products_lead(name, loss, monkeypatch):
    problem = problem_of(name, loss, 0.5)
    products = check(problem, SparseNewton(tol=TOL).solve(problem))
    monkeypatch.setattr(l1_model, "MAX_GRAM", 0)
    columns = check(problem, SparseNewton(tol=1e-6).solve(problem), tol=1e-6)
    assert columns.primal == pytest.approx(products.primal, rel=1e-6)


def test_a_start_at_the_answer_leaves_nothing_to_do():
    problem = problem_of("n < d", Logistic(), 3.0)
    cold = SparseNewton(tol=1e-6).solve(problem)
    warm = SparseNewton(tol=1e-6).solve(problem, cold)
    assert len(warm.history) == 1 < len(cold.history)


def test_multipliers_stay_in_their_domain_in_whatever_order_they_are_added(rng):
    problem = problem_of("scales 1e-6 to 1e6", SquaredHinge())
    X, y = DATA["scales 1e-6 to 1e6"]
    alpha = into_domain(problem, rng.uniform(0.0, 2.0, len(y)))
    for _ in range(50):
        order = rng.permutation(len(y))
        assert np.max(np.abs(X[order].T @ (y * alpha)[order])) <= 1.0
    assert np.max(np.abs(X.T @ (y * alpha))) >= 1.0 - 1e-12


@pytest.mark.parametrize("penalty", [L2(), L2(0.3), L1(0.7), ElasticNet(0.4, 0.8), Box(np.full(5, 2.0))], ids=repr)
def test_what_a_penalty_adds_to_the_gap_is_its_fenchel_young_difference(penalty, rng):
    for _ in range(20):
        w, v = np.where(rng.random(5) < 0.5, rng.uniform(-2.0, 2.0, 5), 0.0), rng.uniform(-0.7, 0.7, 5)
        assert penalty.apart(w, v) == pytest.approx(penalty.value(w) + penalty.conjugate(v) - w @ v, abs=1e-14)
        assert penalty.apart(w, v) >= 0.0


def test_a_weight_whose_column_is_off_its_face_counts_in_the_certificate():
    problem = problem_of("overlapping", SquaredHinge(), 0.05)
    solution = SparseNewton(tol=1e-10).solve(problem)
    wrong = solution.weights.copy()
    wrong[np.flatnonzero(wrong == 0.0)[0]] = 0.5
    assert problem.pieces(solution.weights, problem.coefficients(solution.alpha)).apart <= 1e-9
    assert problem.pieces(wrong, problem.coefficients(solution.alpha)).apart > 0.01


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_a_solver_without_the_l1_penalty_refuses_it(name):
    solver = solver_class(name)()
    problem = problem_of("overlapping", Logistic())
    if name in ("Automatic", "SparseNewton"):
        check(problem, replace(solver, tol=TOL).solve(problem))
        return
    for loss in (Logistic(), Hinge(), SquaredHinge(), Squared()):
        if (name == "QP" and "hinge" in loss.name) or (name == "LassoDescent" and loss == Squared()):
            continue
        with pytest.raises(ParameterError):
            solver.solve(replace(problem, loss=loss))


def test_what_cannot_be_done_is_refused_with_what_can():
    X, y = DATA["overlapping"]
    problem = problem_of("overlapping", SquaredHinge())
    for other in (replace(problem, loss=Hinge()), replace(problem, penalty=L2()), replace(problem, penalty=L1(0.0))):
        with pytest.raises(ParameterError, match=r"smooth loss .* and an L1 penalty"):
            SparseNewton().solve(other)
    for other in (replace(problem, penalty=ElasticNet()), replace(problem, loss=HardMargin())):
        with pytest.raises(ParameterError, match="solver='qp' is for the penalty 1/2"):
            QP().solve(other)
    with pytest.raises(ParameterError, match="primal form"):
        QP(form="dual").solve(problem)
    with pytest.raises(ParameterError, match="a finite C"):
        LinearSVC(penalty="l1", C=np.inf).fit(X, y)
    with pytest.raises(ParameterError, match="Known: 'l1', 'l2'"):
        LinearSVC(penalty="l0").fit(X, y)


def test_a_budget_is_kept_and_still_certified():
    X, y = DATA["n < d"]
    solution = SparseNewton(tol=1e-12, max_iter=1).solve(problem_of("n < d", SquaredHinge(), 100.0))
    assert solution.status is Status.BUDGET
    seen = seen_by_certificate(problem_of("n < d", SquaredHinge(), 100.0), solution)
    assert np.isfinite(seen.gap)
    with pytest.warns(UserWarning, match="ended BUDGET"):
        LinearSVC(penalty="l1", C=100.0, max_iter=1).fit(X, y)


def test_the_default_is_the_sparse_solver():
    problem = problem_of("overlapping", SquaredHinge())
    assert Automatic().solve(problem).solver == "sparse"
