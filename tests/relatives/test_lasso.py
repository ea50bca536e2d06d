"""Lasso, elastic net, paths and cross-validation: closed forms, conditions of optimality, invariance, certificates."""

import pickle

import numpy as np
import pytest
import sklearn.linear_model as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.datasets import load_diabetes, make_regression
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import ElasticNet, Lasso, LassoCV, LinearRegression, Ridge, Status, laplace, lasso_path, load, ridge_path
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import CertificateError, DataError, NotConvergedWarning, ParameterError
from maxmargin.losses import Hinge, Squared
from maxmargin.penalties import L1, PositiveElasticNet
from maxmargin.penalties import ElasticNet as ElasticNetPenalty
from maxmargin.problems import Intercept, LinearProblem
from maxmargin.solvers import LassoDescent, SparseNewton
from maxmargin.solvers.sparse import lasso_search
from maxmargin.solvers.sparse.lasso_design import design_of
from maxmargin.solvers.sparse.lasso_search import LassoSearch, Strength
from tests.problem_table import _data

DATA = _data()
X_diabetes, y_diabetes = load_diabetes(return_X_y=True)
WIDE = make_regression(40, 120, n_informative=10, noise=1.0, random_state=0)


def regression_data(name):
    X, y = DATA[name]
    return X, 10.0 * np.sin(np.arange(len(y))) + y


def largest_alpha(X, y, weight=None, *, intercept=True):
    """The smallest alpha at which the lasso has no weights, from its definition."""
    weight = np.ones(len(y)) if weight is None else weight
    X = (X.toarray() if sparse.issparse(X) else X).astype(float)
    if intercept:
        X, y = X - np.average(X, axis=0, weights=weight), y - np.average(y, weights=weight)
    return np.max(np.abs(X.T @ (weight * y))) / np.sum(weight)


def slopes(model, X, y, weight=None):
    """What the conditions of optimality speak of: correlations of the columns with the residuals."""
    weight = np.ones(len(y)) if weight is None else weight
    X = (X.toarray() if sparse.issparse(X) else X).astype(float)
    residual = y - X @ model.coef_ - model.intercept_
    return X.T @ (weight * residual) / np.sum(weight), float(weight @ residual) / np.sum(weight)


# The problem itself


def test_orthonormal_columns_give_soft_thresholds():
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 8)))
    y = Q @ np.array([3.0, -2.0, 1.0, 0.5, -0.1, 0.0, 4.0, -1.5]) + 0.1
    alpha = 0.01
    model = Lasso(alpha, fit_intercept=False).fit(Q, y)
    a = Q.T @ y
    expected = np.sign(a) * np.maximum(np.abs(a) - 50 * alpha, 0.0)
    assert_allclose(model.coef_, expected, atol=1e-12)
    assert_array_equal(model.coef_ == 0.0, expected == 0.0)
    both = ElasticNet(alpha, l1_ratio=0.4, fit_intercept=False).fit(Q, y)
    kept = np.sign(a) * np.maximum(np.abs(a) - 50 * 0.4 * alpha, 0.0)
    assert_allclose(both.coef_, kept / (1.0 + 50 * 0.6 * alpha), atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_weights_are_zero_from_the_largest_alpha_on_and_only_from_there(kind, intercept):
    X, y = WIDE
    rows = sparse.csr_matrix(X) if kind == "sparse" else X
    alpha = largest_alpha(X, y, intercept=intercept)
    assert_array_equal(Lasso(alpha * (1.0 + 1e-12), fit_intercept=intercept).fit(rows, y).coef_, 0.0)
    assert np.count_nonzero(Lasso(alpha * (1.0 - 1e-6), fit_intercept=intercept).fit(rows, y).coef_) == 1
    assert_allclose(lasso_path(rows, y, alphas=3, fit_intercept=intercept).alphas[0], alpha, rtol=1e-12)


HARD = [name for name in DATA if name != "1 to 1000"]


@pytest.mark.parametrize("fraction", [0.5, 0.01, 1e-5])
@pytest.mark.parametrize("name", HARD)
def test_hard_data_are_solved_and_certified(name, fraction):
    X, y = regression_data(name)
    alpha = fraction * largest_alpha(X, y)
    model = Lasso(alpha, tol=1e-5).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.verify(X, y).status is Status.CONVERGED
    v, balance = slopes(model, X, y)
    size = alpha / fraction
    assert np.all(np.abs(v) <= alpha + 1e-8 * size)
    used = model.coef_ != 0.0
    assert_allclose(v[used], alpha * np.sign(model.coef_[used]), atol=1e-8 * size)
    assert abs(balance) <= 1e-10 * np.max(np.abs(y))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [0.9, 0.1])
@pytest.mark.parametrize("name", HARD)
def test_elastic_net_is_certified_on_hard_data(name, ratio, positive):
    X, y = regression_data(name)
    model = ElasticNet(0.1 * largest_alpha(X, y), l1_ratio=ratio, positive=positive, tol=1e-6).fit(X, y)
    assert model.certificate_.verify(X, y).status is Status.CONVERGED
    if positive:
        assert np.all(model.coef_ >= 0.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.05])
def test_the_answer_is_that_of_the_peer(ratio, positive, kind, weighted):
    X, y = WIDE
    X = np.round(X, 2).astype(np.float32)  # so that float32 holds the same numbers
    given = {"dense": X.astype(float), "sparse": sparse.csr_matrix(X.astype(float)), "float32": X}[kind]
    weight = np.arange(len(y)) % 3 * 0.7 if weighted else None
    ours = ElasticNet(2.0, l1_ratio=ratio, positive=positive).fit(given, y, weight)
    theirs = peers.ElasticNet(2.0, l1_ratio=ratio, positive=positive, tol=1e-13, max_iter=100_000)
    theirs.fit(X.astype(float), y, weight)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert_array_equal(np.abs(ours.coef_) > 1e-4, np.abs(theirs.coef_) > 1e-4)


def test_the_certificate_is_about_the_objective_of_the_peer():
    X, y = X_diabetes, y_diabetes
    weight = np.arange(len(y)) % 4 / 3.0
    model = ElasticNet(0.3, l1_ratio=0.7, tol=1e-8).fit(X, y, weight)
    w = model.coef_
    residual = y - X @ w - model.intercept_
    objective = 0.5 * np.average(residual**2, weights=weight)
    objective += 0.3 * (0.7 * np.sum(np.abs(w)) + 0.15 * np.sum(w**2))
    assert_allclose(model.certificate_.primal, objective, rtol=1e-12)
    assert model.dual_gap_ == model.certificate_.gap <= 1e-8 * objective
    with pytest.raises(CertificateError):
        model.certificate_.verify(X, y, weight + 1.0)
    model.coef_[0] += 1.0
    with pytest.raises(CertificateError):
        model.certificate_.verify(X, y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_weight_of_two_is_the_row_twice_and_of_zero_its_absence(kind, intercept):
    X, y = WIDE
    X = X * (np.random.default_rng(1).random(X.shape) < 0.3)
    weight = np.arange(len(y)) % 3
    weighted = Lasso(0.5, fit_intercept=intercept, tol=1e-9).fit(
        sparse.csr_matrix(X) if kind == "sparse" else X, y, weight
    )
    repeated = Lasso(0.5, fit_intercept=intercept, tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-8)
    assert_allclose(weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-10)


def test_columns_far_from_zero_lose_nothing_to_the_intercept():
    X, y = WIDE
    for shift in (1e3, 1e5):
        near, far = Lasso(1.0, tol=1e-9).fit(X, y), Lasso(1.0, tol=1e-6).fit(X + shift, y)
        assert_allclose(far.coef_, near.coef_, atol=1e-10 * shift)
        assert_array_equal(far.coef_ == 0.0, near.coef_ == 0.0)


def test_l1_ratio_zero_is_ridge_regression():
    X, y = X_diabetes, y_diabetes
    alpha = 0.01
    net = ElasticNet(alpha, l1_ratio=0.0).fit(X, y)
    ridge = Ridge(alpha * len(y)).fit(X, y)
    assert_allclose(net.coef_, ridge.coef_, rtol=1e-9)
    net.certificate_.verify(X, y)


def test_small_alphas_lead_to_least_squares():
    X, y = X_diabetes, y_diabetes
    assert_allclose(Lasso(1e-6).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-3)


def test_constant_targets_and_columns_need_no_weights():
    X = np.column_stack([np.arange(6.0), np.full(6, 3.0), np.zeros(6)])
    model = Lasso(0.1).fit(X, np.full(6, 0.1))
    assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(0.1)
    assert model.certificate_.verify(X, np.full(6, 0.1)).status is Status.CONVERGED
    assert_array_equal(Lasso(0.1).fit(X, np.arange(6.0)).coef_[1:], 0.0)


def test_equal_columns_share_one_weight_in_any_way():
    X, y = WIDE
    doubled = Lasso(1.0, tol=1e-8).fit(np.hstack([X, X]), y)
    single = Lasso(1.0, tol=1e-8).fit(X, y)
    assert_allclose(doubled.coef_[:120] + doubled.coef_[120:], single.coef_, atol=1e-6)
    assert_allclose(doubled.certificate_.primal, single.certificate_.primal, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_targets_in_other_units_give_weights_in_those_units(scale):
    X, y = WIDE
    plain, scaled = Lasso(1.0, tol=1e-8).fit(X, y), Lasso(scale, tol=1e-6).fit(X, scale * y)
    assert_allclose(scaled.coef_, scale * plain.coef_, rtol=1e-9, atol=1e-9 * scale)


# The solver


def problem_of(X, y, penalty, intercept=Intercept.FREE, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return LinearProblem(ArraySource(X, y, weight), Squared(), 1.0 / len(y), intercept, penalty)


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda one: one.words)
@pytest.mark.parametrize("name", ["overlapping", "n < d", "n >> d", "sparse", "duplicated rows"])
def test_two_solvers_bracket_the_same_minimum(name, intercept):
    X, y = regression_data(name)
    problem = problem_of(X, y, L1(0.05), intercept)
    seen = [
        assess(problem, found.alpha, found.weights, found.bias)
        for found in (LassoDescent(1e-9).solve(problem), SparseNewton(1e-9).solve(problem))
    ]
    for one, other in (seen, seen[::-1]):
        assert one.dual <= other.primal + one.rounding + other.rounding
    assert_allclose(seen[0].primal, seen[1].primal, rtol=1e-8)


PENALTIES = [L1(0.3), ElasticNetPenalty(0.3, 0.2), PositiveElasticNet(0.3), PositiveElasticNet(0.3, 0.2)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_too_many_columns_for_their_products_are_swept_one_by_one(penalty, kind, monkeypatch):
    X, y = WIDE
    rows = sparse.csr_matrix(X) if kind == "sparse" else X
    weight = 1.0 + np.arange(len(y)) % 2
    problem = problem_of(rows, y, penalty, weight=weight)
    whole = LassoDescent(1e-7).solve(problem)
    monkeypatch.setattr(lasso_search, "MAX_PRODUCTS", 5)
    swept = LassoDescent(1e-5).solve(problem)
    assert swept.status is Status.CONVERGED
    assert_allclose(swept.weights, whole.weights, atol=1e-4)
    assert assess(problem, swept.alpha, swept.weights, swept.bias).gap <= 1e-5 * whole.history.primal[-1]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_matrix])
@pytest.mark.parametrize("most", [8, 15, 25])
def test_a_path_may_lose_its_products_and_form_them_again(most, kind, monkeypatch):
    X, y = WIDE
    expected = lasso_path(kind(X), y, alphas=30, eps=1e-2, tol=1e-9)
    monkeypatch.setattr(lasso_search, "MAX_PRODUCTS", most)
    found = lasso_path(kind(X), y, alphas=30, eps=1e-2, tol=1e-9)
    residuals = y[:, None] - X @ found.coefs - found.intercepts
    primal = np.sum(residuals**2, axis=0) / (2 * len(y)) + found.alphas * np.sum(np.abs(found.coefs), axis=0)
    assert np.all(found.dual_gaps <= 1e-9 * primal)
    assert_allclose(found.coefs, expected.coefs, atol=1e-5)


@pytest.mark.parametrize("positive", [False, True])
def test_screened_columns_have_no_weight_at_the_optimum(positive):
    rng = np.random.default_rng(0)
    X = sparse.random(80, 400, 0.1, random_state=0, format="csr") @ sparse.diags(rng.uniform(0.1, 2.0, 400))
    y = X @ np.where(np.arange(400) % 40 == 0, 5.0, 0.0) + 0.1 * rng.normal(size=80)
    search = LassoSearch(design_of(X, y, np.full(80, 1 / 80), free=True), positive=positive)
    best = LassoSearch(design_of(X, y, np.full(80, 1 / 80), free=True), positive=positive)
    strength = Strength(0.1 * search.largest, 0.0)
    assert best.run(strength, 1e-12) is Status.CONVERGED
    screened = []
    for looks in range(4):
        search.run(strength, 1e-14, max_iter=looks)
        search._screen()
        screened.append(int(np.sum(search.screened)))
        assert not np.any(search.screened & (best.set.weights() != 0.0))
        assert search.gap >= 0.5 * float(np.sum(np.square(search.point.theta - best.rho))) - 1e-12
    assert screened[-1] > 200


def test_the_dual_value_never_falls():
    X, y = make_regression(400, 300, n_informative=150, noise=5.0, random_state=2)
    dual = LassoDescent(1e-8).solve(problem_of(X, y, L1(0.01 * largest_alpha(X, y)))).history.dual
    assert len(dual) > 4
    assert np.all(np.diff(dual) >= 0.0)


def test_the_solver_refuses_what_it_cannot_do():
    X, y = X_diabetes, y_diabetes
    hinge = LinearProblem(ArraySource(X, np.sign(y - 150.0), np.ones(len(y))), Hinge(), 1.0, Intercept.FREE, L1(1.0))
    for problem in (hinge, problem_of(X, y, L1(1.0), Intercept.AUGMENTED), problem_of(X, y, L1(0.0))):
        with pytest.raises(ParameterError, match="solver='lasso' is for"):
            LassoDescent().solve(problem)


def test_positive_penalty_and_its_conjugate_meet_fenchel_young():
    rng = np.random.default_rng(0)
    for penalty in (PositiveElasticNet(0.4, 0.8), PositiveElasticNet(0.4, 0.0)):
        w = np.maximum(rng.normal(size=7), 0.0)
        v = np.where(w > 0.0, penalty.l1 + penalty.l2 * w, -1.0)
        assert penalty.value(w) + penalty.conjugate(v) - w @ v == pytest.approx(0.0, abs=1e-14)
        assert penalty.apart(w, v) == pytest.approx(0.0, abs=1e-14)
        off = v - 0.1
        assert penalty.apart(w, off) == pytest.approx(penalty.value(w) + penalty.conjugate(off) - w @ off)
        assert np.isinf(penalty.value(-w))
        point = penalty.proximal_step(w, 0.5)
        assert_allclose((w - point)[point > 0.0] / 0.5, (penalty.l1 + penalty.l2 * point)[point > 0.0])
    assert np.isinf(PositiveElasticNet(1.0).conjugate(np.array([1.1])))
    assert PositiveElasticNet(1.0).conjugate(np.array([-5.0, 1.0])) == 0.0


# The estimators


@pytest.mark.parametrize(
    "name, value",
    [
        ("alpha", 0),
        ("alpha", -1.0),
        ("alpha", "1"),
        ("selection", "best"),
        ("positive", 1),
        ("precompute", "yes"),
        ("solver", "dcd"),
        ("warm_start", 2),
        ("tol", 0.0),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        Lasso(**{name: value}).fit(X_diabetes, y_diabetes)


def test_what_is_not_available_is_refused_with_advice():
    with pytest.raises(ParameterError, match="LinearRegression"):
        Lasso(alpha=0.0).fit(X_diabetes, y_diabetes)
    with pytest.raises(ParameterError, match="l1_ratio"):
        ElasticNet(l1_ratio=1.5).fit(X_diabetes, y_diabetes)
    with pytest.raises(ParameterError, match="l1_ratio=0"):
        ElasticNet(l1_ratio=0.0, positive=True).fit(X_diabetes, y_diabetes)
    with pytest.raises(DataError):
        Lasso().fit(X_diabetes, np.column_stack([y_diabetes, y_diabetes]))
    for alphas in ([1.0, 0.0], [1.0, -1.0], [1.0, "1"], [], "many", True, 0):
        with pytest.raises(ParameterError, match="alphas"):
            lasso_path(X_diabetes, y_diabetes, alphas=alphas)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # that is what the error is about
def test_numbers_whose_squares_overflow_are_refused(kind):
    X = np.array([[1e200, 1.0], [2e200, 3.0], [1e200, 0.0]])
    with pytest.raises(DataError, match="too large"):
        Lasso().fit(sparse.csr_matrix(X) if kind == "sparse" else X, np.arange(3.0))
    with pytest.raises(DataError, match="too large"):
        Lasso().fit(X / 1e200, np.array([1e200, 0.0, 0.0]))


def test_a_warm_start_begins_at_the_last_answer():
    X, y = WIDE
    cold = Lasso(0.1, tol=1e-8).fit(X, y)
    warm = Lasso(0.101, warm_start=True, tol=1e-8).fit(X, y).set_params(alpha=0.1).fit(X, y)
    assert_allclose(warm.coef_, cold.coef_, atol=1e-8)
    assert warm.n_iter_ < cold.n_iter_


def test_a_budget_of_looks_is_kept_and_told():
    X, y = WIDE
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = Lasso(1e-3, max_iter=1, tol=1e-10).fit(X, y)
    assert model.certificate_.status is Status.BUDGET
    assert model.certificate_.verify(X, y).gap > 0.0
    assert len(model.history_) == 2


@pytest.mark.parametrize("model", [Lasso(0.5), ElasticNet(0.5), Lasso(0.5, positive=True), LassoCV(alphas=5)], ids=repr)
def test_a_file_holds_all_of_the_model(model, tmp_path):
    X, y = WIDE
    model.fit(X, y)
    model.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    again.certificate_.verify(X, y)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.sparse_coef_.toarray(), np.atleast_2d(model.coef_))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def _checks():
    for estimator in (Lasso(), ElasticNet(), LassoCV(alphas=10, cv=3)):
        for model, check in estimator_checks_generator(estimator):
            if check.func.__name__ == "check_array_api_input":
                continue  # runs only where SciPy's experimental array interface was switched on before the import
            yield pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize("model, check", list(_checks()))
@pytest.mark.slow
def test_scikit_learn_conventions(model, check):
    check(model)


# Paths


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_a_path_is_its_single_fits(kind, intercept, positive):
    X, y = WIDE
    weight = np.arange(len(y)) % 3
    alphas, coefs, gaps = path = lasso_path(
        kind(X), y, alphas=12, eps=1e-2, fit_intercept=intercept, positive=positive, sample_weight=weight, tol=1e-9
    )
    assert np.all(np.diff(alphas) < 0.0)
    for k, alpha in enumerate(alphas):
        model = Lasso(alpha, fit_intercept=intercept, positive=positive, tol=1e-8).fit(X, y, weight)
        assert_allclose(coefs[:, k], model.coef_, atol=1e-7)
        assert_allclose(path.intercepts[k], model.intercept_, atol=1e-7)
        assert -1e-9 <= gaps[k] <= 1e-9 * model.certificate_.primal


def test_a_path_reaches_its_tolerance_where_columns_outnumber_rows():
    X, y = make_regression(60, 900, noise=5.0, random_state=1)
    alphas, coefs, gaps = lasso_path(X, y, tol=1e-7)
    for k in (0, 30, 60, 99):
        residual = y - X @ coefs[:, k]
        primal = residual @ residual / 120 + alphas[k] * np.sum(np.abs(coefs[:, k]))
        assert -1e-10 * primal <= gaps[k] <= 1e-7 * primal
        assert np.max(np.abs(X.T @ residual)) / 60 <= alphas[k] * (1.0 + 1e-6)


def test_a_path_unpacks_as_that_of_the_peer():
    y = y_diabetes - y_diabetes.mean()
    ours = lasso_path(X_diabetes, y, alphas=20)
    theirs = peers.lasso_path(X_diabetes, y, alphas=20, tol=1e-12, max_iter=100_000)
    assert len(ours) == len(theirs) == 3
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert_allclose(ours[1], theirs[1], atol=1e-3)
    assert len(lasso_path(X_diabetes, y, alphas=20, return_n_iter=True)[3]) == 20
    from_there = lasso_path(X_diabetes, y, alphas=[0.1], coef_init=ours[1][:, -1])
    assert_allclose(from_there[1], lasso_path(X_diabetes, y, alphas=[0.1])[1], atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_a_ridge_path_is_its_closed_form(shape, kind, intercept):
    X, y = (X_diabetes, y_diabetes) if shape == "tall" else WIDE
    weight = np.arange(len(y)) % 3 + 0.5
    path = ridge_path(kind(X), y, alphas=[1e-2, 1.0, 100.0], fit_intercept=intercept, sample_weight=weight)
    assert_array_equal(path.alphas, [100.0, 1.0, 1e-2])
    for k, alpha in enumerate(path.alphas):
        model = Ridge(alpha, fit_intercept=intercept).fit(X, y, weight)
        assert_allclose(path.coefs[:, k], model.coef_, rtol=1e-7, atol=1e-7)
        assert_allclose(path.intercepts[k], model.intercept_, rtol=1e-7, atol=1e-7)
        assert 0.0 <= path.dual_gaps[k] <= 1e-12 * np.sum(weight * y**2)


def test_the_grid_of_a_ridge_path_spans_from_small_weights_to_least_squares():
    alphas, coefs, _ = ridge_path(X_diabetes, y_diabetes, eps=1e-9, fit_intercept=True)
    assert len(alphas) == 100
    assert np.all(np.diff(np.linalg.norm(coefs, axis=0)) > 0.0)
    assert_allclose(coefs[:, -1], LinearRegression().fit(X_diabetes, y_diabetes).coef_, rtol=1e-3)


# Cross-validation


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_validation_chooses_as_the_peer_does(weighted):
    X, y = X_diabetes, y_diabetes
    weight = 1.0 + np.arange(len(y)) % 3 if weighted else None
    ours = LassoCV(alphas=30, cv=KFold(4), tol=1e-8).fit(X, y, weight)
    theirs = peers.LassoCV(alphas=30, cv=KFold(4), tol=1e-9, max_iter=100_000).fit(X, y, weight)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-10)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    assert ours.certificate_.verify(X, y).status is Status.CONVERGED


def test_cross_validation_does_not_depend_on_the_number_of_threads():
    X, y = WIDE
    one, two = (LassoCV(alphas=10, n_jobs=jobs).fit(sparse.csr_matrix(X), y) for jobs in (1, 2))
    assert_array_equal(one.mse_path_, two.mse_path_)


# The Laplace density


def test_the_laplace_density_is_that_of_its_textbook():
    x = np.linspace(-5.0, 7.0, 101)
    for mean, scale in ((0.0, 1.0), (1.5, 0.3)):
        reference = stats.laplace(mean, scale)
        assert_allclose(laplace.pdf(x, mean, scale), reference.pdf(x))
        assert_allclose(laplace.logpdf(x, mean, scale), reference.logpdf(x))
        assert_allclose(laplace.cdf(x, mean, scale), reference.cdf(x))
    sample = stats.laplace(2.0, 0.5).rvs(size=101, random_state=0)
    assert_allclose(laplace.fit(sample), stats.laplace.fit(sample))
    with pytest.raises(ParameterError, match="scale"):
        laplace.pdf(0.0, scale=0.0)


def test_the_lasso_is_the_most_probable_under_a_laplace_prior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = X @ np.array([2.0, 0.0, -1.0, 0.0, 0.5]) + 0.7 * rng.normal(size=30)
    sigma, scale = 0.7, 0.2
    alpha = laplace.alpha_from_prior(sigma, scale, len(y))
    assert laplace.lambda_from_prior(sigma, scale) == pytest.approx(2 * len(y) * alpha)
    model = Lasso(alpha, fit_intercept=False, tol=1e-12).fit(X, y)
    best = laplace.negative_log_posterior(model.coef_, X, y, sigma, scale)
    for _ in range(200):
        nearby = model.coef_ + rng.normal(size=5) * 10.0 ** rng.uniform(-4, 0)
        assert laplace.negative_log_posterior(nearby, X, y, sigma, scale) > best
    assert_allclose(
        best - laplace.negative_log_posterior(np.zeros(5), X, y, sigma, scale),
        len(y) / sigma**2 * (model.certificate_.primal - y @ y / (2 * len(y))),
    )
