"""Logistic, softmax, ordinary and ridge regression: closed forms, peers, invariances and certificates."""

import numpy as np
import pytest
import sklearn.linear_model as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_classification
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import LinearRegression, LogisticRegression, Ridge, SoftmaxRegression, Status, load
from maxmargin.certificates import assess
from maxmargin.errors import CertificateError, DataError, NotConvergedWarning, ParameterError
from maxmargin.losses import Hinge, Softmax, Squared
from maxmargin.penalties import L2, Box
from maxmargin.problems import AllClasses, Intercept, Pair, Regression, Specification
from maxmargin.solvers.linear import least_squares, softmax_newton
from maxmargin.solvers.linear.least_squares import LeastSquares, box_around
from maxmargin.solvers.linear.softmax_newton import SoftmaxNewton

iris = load_iris(return_X_y=True)
wine = load_wine(return_X_y=True)
X2, y2 = make_classification(120, 6, random_state=0, flip_y=0.1)
Xr, yr = (part[:150] for part in load_diabetes(return_X_y=True))

CLASSIFIERS = [LogisticRegression(), SoftmaxRegression()]
REGRESSORS = [LinearRegression(), Ridge()]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]


def assert_same_minimum(one, other):
    """Weights with a duality gap g are within sqrt(2 g) of the best, because the penalty is strongly convex."""
    apart = np.linalg.norm(one.coef_ - other.coef_)
    assert apart <= sum(np.sqrt(2.0 * (abs(m.certificate_.gap) + m.certificate_.rounding)) for m in (one, other))


def words(value):
    return getattr(value, "words", str(value))


def _checks():
    for estimator in CLASSIFIERS + REGRESSORS:
        for model, check in estimator_checks_generator(estimator):
            if check.func.__name__ == "check_array_api_input":
                continue  # runs only where SciPy's experimental array interface was switched on before the import
            yield pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize("model, check", list(_checks()))
@pytest.mark.slow
def test_scikit_learn_conventions(model, check):
    check(model)


# Classifiers


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("X, y", [(X2, y2), iris, wine], ids=["two classes", "iris", "wine, raw"])
@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"class_weight": "balanced"}, {"class_weight": {1: 5.0}}], ids=str
)
def test_logistic_regression_has_the_coefficients_of_its_peer(X, y, C, options):
    ours = LogisticRegression(C=C, tol=1e-12, **options).fit(X, y)
    theirs = peers.LogisticRegression(C=C, tol=1e-12, solver="newton-cholesky", max_iter=1000, **options).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)  # a free intercept of raw features is soft
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("X, y", [(X2, y2), iris], ids=["two classes", "three"])
def test_probabilities_are_the_softmax_of_the_scores(model, X, y):
    model = clone(model).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    scores = f if f.ndim == 2 else np.column_stack([np.zeros_like(f), f])
    assert p.shape == (len(y), len(model.classes_))
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.log(p), log_softmax(scores, axis=1))
    assert_allclose(model.predict_log_proba(X), np.log(p))
    assert_array_equal(model.predict(X), model.classes_[np.argmax(p, axis=1)])


def test_the_logarithm_of_a_probability_too_small_for_a_double_is_finite():
    model = LogisticRegression().fit(X2, y2)
    assert np.all(np.isfinite(model.predict_log_proba(1e6 * X2)))


def test_softmax_of_two_classes_is_logistic_with_twice_the_cost():
    softmax = SoftmaxRegression(C=1.5, tol=1e-13).fit(X2, y2)
    logistic = LogisticRegression(C=3.0, tol=1e-13).fit(X2, y2)
    assert_allclose(softmax.coef_, np.vstack([-logistic.coef_, logistic.coef_]) / 2, atol=1e-6)
    assert_allclose(softmax.decision_function(X2), logistic.decision_function(X2), atol=1e-5)
    assert softmax.certificate_.primal == pytest.approx(logistic.certificate_.primal / 2, rel=1e-8)


def test_softmax_weights_of_the_classes_sum_to_zero():
    model = SoftmaxRegression(tol=1e-10).fit(*iris)
    assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-8)
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-8)


def test_a_class_without_weight_is_absent():
    X, y = iris
    weight = np.where(y == 1, 0.0, 1.0)
    weighted = LogisticRegression(class_weight="balanced").fit(X, y, sample_weight=weight)
    without = LogisticRegression(class_weight="balanced").fit(X[y != 1], y[y != 1])
    assert_array_equal(weighted.classes_, [0, 2])
    assert_allclose(weighted.coef_, without.coef_, atol=1e-9)
    weighted.certificate_.verify(X, y)
    assert_array_equal(LogisticRegression(class_weight={1: 0.0}).fit(X, y).classes_, [0, 2])


@pytest.mark.parametrize("name", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_the_names_of_peers_lead_to_the_same_answer(name):
    for X, y in ((X2, y2), iris):
        assert_array_equal(LogisticRegression(solver=name).fit(X, y).coef_, LogisticRegression().fit(X, y).coef_)


def test_penalty_can_be_said_in_either_way():
    expected = LogisticRegression().fit(X2, y2).coef_
    for options in ({"penalty": "deprecated"}, {"l1_ratio": 0}, {"l1_ratio": None}):
        assert_array_equal(LogisticRegression(**options).fit(X2, y2).coef_, expected)


def _softmax_problem(X, y, C, intercept):
    return Specification(AllClasses(tuple(np.unique(y).tolist())), Softmax(), C, intercept).problem(X, y)[0]


@pytest.mark.parametrize("largest", [10**6, 0], ids=["factored", "conjugate gradients"])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=words)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("X, y", [iris, (sparse.csr_matrix(iris[0]), iris[1]), wine], ids=["iris", "CSR", "wine, raw"])
@pytest.mark.slow
def test_both_newton_directions_of_softmax_end_with_a_small_gap(monkeypatch, X, y, C, intercept, largest):
    monkeypatch.setattr(softmax_newton, "_MAX_FACTORED", largest)
    problem = _softmax_problem(X, y, C, intercept)
    solution = SoftmaxNewton(tol=1e-7).solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert solution.status is Status.CONVERGED
    assert abs(seen.gap) <= 1e-8 * seen.primal
    assert seen.kkt_violation <= 1e-8


def test_softmax_threads_do_not_change_the_answer(monkeypatch):
    monkeypatch.setattr(softmax_newton, "_SMALL", 0)
    problem = _softmax_problem(*wine, 1.0, Intercept.FREE)
    one, three = (SoftmaxNewton(tol=1e-10, n_jobs=n_jobs).solve(problem) for n_jobs in (1, 3))
    assert_allclose(one.weights, three.weights, atol=1e-9)
    again = SoftmaxNewton(tol=1e-10, n_jobs=3).solve(problem)
    assert_array_equal(three.weights, again.weights)


def test_softmax_rows_that_are_told_apart_perfectly_keep_balanced_multipliers():
    X = np.repeat(np.eye(4), 50, axis=0) * 30.0
    y = np.repeat(np.arange(4), 50)
    problem = _softmax_problem(X, y, 1e6, Intercept.FREE)
    solution = SoftmaxNewton(tol=1e-6).solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert seen.reason == ""
    assert abs(seen.gap) <= 1e-6 * seen.primal


def test_warm_start_begins_where_the_last_fit_ended():
    for X, y in ((X2, y2), iris):
        model = LogisticRegression(tol=1e-8, warm_start=True).fit(X, y)
        before, cold = model.coef_, model.n_iter_
        model.fit(X, y)
        assert model.n_iter_ < cold
        assert_allclose(model.coef_, before, atol=1e-7)
        model.set_params(C=2.0).fit(X, y)
        assert_same_minimum(model, LogisticRegression(C=2.0, tol=1e-8).fit(X, y))


def test_warm_start_from_other_rows_classes_or_features_is_no_obstacle():
    model = LogisticRegression(warm_start=True, tol=1e-8).fit(*iris)
    for X, y in ((iris[0][::2], iris[1][::2]), (X2, y2), (X2[:, :3], y2), (X2[:70, :3], y2[:70])):
        model.fit(X, y)
        assert_same_minimum(model, LogisticRegression(tol=1e-8).fit(X, y))
        model.certificate_.verify(X, y)


def test_a_budget_leaves_a_certified_model():
    for options in ({"max_iter": 1}, {"max_seconds": 1e-9}):
        with pytest.warns(NotConvergedWarning, match="ended BUDGET"):
            model = SoftmaxRegression(**options).fit(*iris)
        model.certificate_.verify(*iris)


def test_ctrl_c_leaves_a_fitted_and_certified_model(monkeypatch):
    steps = []
    step = softmax_newton._SoftmaxDescent._step

    def interrupted(self, at):
        steps.append(at)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return step(self, at)

    monkeypatch.setattr(softmax_newton._SoftmaxDescent, "_step", interrupted)
    model = SoftmaxRegression(tol=1e-10)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris)
    assert model.certificate_.status is Status.INTERRUPTED
    assert 1e-10 < model.certificate_.verify(*iris).relative_gap < 100.0


# Least squares


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ordinary_least_squares_has_the_coefficients_of_its_peer(fit_intercept, rng):
    weight = rng.random(len(yr))
    ours = LinearRegression(fit_intercept=fit_intercept).fit(Xr, yr, weight)
    theirs = peers.LinearRegression(fit_intercept=fit_intercept).fit(Xr, yr, weight)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    assert_allclose(ours.predict(Xr), theirs.predict(Xr))


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "cg"])
def test_residuals_of_least_squares_are_orthogonal_to_every_column(solver):
    model = LinearRegression(solver=solver).fit(Xr, yr)
    residual = yr - model.predict(Xr)
    assert_allclose(Xr.T @ residual, 0.0, atol=1e-10)
    assert residual.sum() == pytest.approx(0.0, abs=1e-9)


def test_the_shortest_of_all_minimisers_is_found(rng):
    doubled = np.hstack([Xr, Xr, np.zeros((150, 1))])
    wide, y = rng.normal(size=(30, 80)), rng.normal(size=30)
    centred = wide - wide.mean(axis=0)
    for solver in ("auto", "cg"):
        model = LinearRegression(fit_intercept=False, solver=solver).fit(doubled, yr)
        assert_allclose(model.coef_, np.linalg.pinv(doubled) @ yr, rtol=1e-6, atol=1e-7)
        solution = LeastSquares(method=solver).solve(_least_squares(wide, y, 1.0, Intercept.FREE, None))
        assert_allclose(solution.weights, np.linalg.pinv(centred) @ (y - y.mean()), atol=1e-9)


def test_data_fitted_perfectly_have_multipliers_zero():
    X = np.arange(12.0).reshape(6, 2) ** 2
    problem = _least_squares(X, 3.0 * X[:, 0] - X[:, 1] + 2.0, 1.0, Intercept.FREE, None)
    solution = LeastSquares().solve(problem)
    assert_allclose(solution.weights, [3.0, -1.0], rtol=1e-12)
    assert_array_equal(solution.alpha, 0.0)


def test_data_fitted_perfectly_are_certified(rng):
    for scale in (1e-6, 1.0, 1e6):
        for shape in ((60, 4), (20, 50), (5, 5), (1, 1)):
            X = scale * rng.normal(size=shape)
            y = X @ rng.normal(size=shape[1]) + scale
            model = LinearRegression().fit(X, y)
            assert_allclose(model.predict(X), y, rtol=1e-9)
            assert model.certificate_.verify(X, y).status is Status.CONVERGED


def test_constant_targets_are_the_intercept(rng):
    X = rng.normal(size=(30, 4))
    for model in (LinearRegression(), Ridge()):
        model.fit(X, np.full(30, 0.1))
        assert_array_equal(model.coef_, 0.0)
        assert model.intercept_ == 0.1
        assert model.certificate_.primal == model.certificate_.dual == 0.0


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "gram", "cg"])
def test_ridge_solves_the_normal_equations(alpha, solver):
    model = Ridge(alpha=alpha, fit_intercept=False, solver=solver).fit(Xr, yr)
    assert_allclose(model.coef_, np.linalg.solve(Xr.T @ Xr + alpha * np.eye(Xr.shape[1]), Xr.T @ yr), rtol=1e-9)
    theirs = peers.Ridge(alpha=alpha).fit(Xr, yr)
    ours = Ridge(alpha=alpha, solver=solver).fit(Xr, yr)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)


def test_ridge_certifies_the_objective_of_its_peer_divided_by_twice_alpha():
    model = Ridge(alpha=0.3).fit(Xr, yr)
    objective = 0.3 * model.coef_ @ model.coef_ + np.sum(np.square(yr - model.predict(Xr)))
    assert model.certificate_.primal == pytest.approx(objective / 0.6, rel=1e-12)


def test_ridge_tends_to_least_squares_as_the_penalty_vanishes():
    exact = LinearRegression().fit(Xr, yr)
    assert_allclose(Ridge(alpha=1e-9).fit(Xr, yr).coef_, exact.coef_, rtol=1e-5)


def _least_squares(X, y, C, intercept, penalty):
    penalty = Box(np.full(X.shape[1], np.inf)) if penalty is None else penalty
    return Specification(Regression(), Squared(), C, intercept, penalty=penalty).problem(X, y)[0]


def _hard_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=60) + 5.0
    powers = np.vander(np.linspace(0.0, 1.0, 60), 8)
    scarce = sparse.random(60, 30, 0.1, format="csr", random_state=0)
    return {
        "plain": (X, y),
        "scales 1e-6 to 1e6": (X * [1e-6, 1e-2, 1e2, 1e6], y),
        "far from the origin": (X + 1e4, y),
        "doubled columns": (np.hstack([X, X]), y),
        "nearly doubled columns": (np.hstack([X, X + 1e-7 * rng.normal(size=X.shape)]), y),
        "constant and zero columns": (np.column_stack([X, np.full(60, 3.0), np.zeros(60)]), y),
        "powers": (powers, np.sin(9.0 * powers[:, -2]) + 0.1 * rng.normal(size=60)),
        "float32": (X.astype(np.float32), y),
        "Fortran order": (np.asfortranarray(X), y),
        "sparse": (scarce, y),
    }


@pytest.mark.parametrize("data", _hard_data())
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=words)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e8, None], ids=lambda C: "no penalty" if C is None else f"C={C:g}")
def test_least_squares_are_solved_to_the_last_digits(data, intercept, C):
    X, y = _hard_data()[data]
    problem = _least_squares(X, y, 1.0 if C is None else C, intercept, None if C is None else L2())
    solution = LeastSquares().solve(problem)
    if C is None:
        problem = _least_squares(X, y, 1.0, intercept, box_around(problem, solution.weights))
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert abs(seen.gap) <= 1e-9 * seen.primal
    assert seen.kkt_violation <= 1e-8


def test_ridge_of_few_rows_is_solved_in_the_dual(rng):
    X = sparse.random(100, 2500, 0.02, format="csr", random_state=0)
    y = rng.normal(size=100)
    beta = np.linalg.solve((X @ X.T).toarray() + 0.1 * np.eye(100), y)
    for rows in (X, X.toarray().astype(np.float32)):
        model = Ridge(alpha=0.1, fit_intercept=False).fit(rows, y)
        assert "gram" in model.certificate_.solver
        assert_allclose(model.coef_, X.T @ beta, atol=1e-6 if rows.dtype == np.float32 else 1e-12)
        assert abs(model.certificate_.relative_gap) <= 1e-12


@pytest.mark.parametrize("shape", [(100, 40), (40, 100)], ids=str)
def test_many_rows_and_features_are_left_to_conjugate_gradients(monkeypatch, rng, shape):
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    expected = Ridge(alpha=0.1).fit(X, y).coef_
    monkeypatch.setattr(least_squares, "_MAX_FACTORED", 30)
    model = Ridge(alpha=0.1).fit(X, y)
    assert "cg" in model.certificate_.solver
    assert_allclose(model.coef_, expected, atol=1e-12)


def test_conjugate_gradients_obey_their_budget(rng):
    X, y = rng.normal(size=(200, 50)), rng.normal(size=200)
    for options in ({"max_iter": 2}, {"max_seconds": 1e-9}):
        with pytest.warns(NotConvergedWarning, match="ended BUDGET"):
            model = Ridge(alpha=1e-3, solver="cg", **options).fit(X, y)
        model.certificate_.verify(X, y)


def test_the_box_satisfies_fenchel_and_young(rng):
    box = Box(np.array([0.5, 2.0, 0.0]))
    v = rng.normal(size=3)
    best = box.radius * np.sign(v)
    assert box.value(best) + box.conjugate(v) == pytest.approx(best @ v)
    for w in rng.uniform(-1, 1, size=(50, 3)) * box.radius:
        assert box.value(w) + box.conjugate(v) >= w @ v
    assert box.value(np.array([0.6, 0.0, 0.0])) == np.inf
    assert_array_equal(box.proximal_step(np.array([3.0, -1.0, 1.0]), 1.0), [0.5, -1.0, 0.0])
    assert Box(np.full(2, np.inf)).conjugate(np.zeros(2)) == 0.0


# Both


@pytest.mark.parametrize("model", [*CLASSIFIERS, SoftmaxRegression(class_weight="balanced"), *REGRESSORS], ids=str)
def test_integer_weights_equal_repeated_rows_and_zero_equals_absence(model, rng):
    X, y = (Xr, yr) if hasattr(model, "positive") else iris
    weight = rng.integers(0, 4, len(y))
    weighted = clone(model).set_params(tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = clone(model).set_params(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-6)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_layout_and_precision_do_not_change_the_answer(model):
    X, y = (Xr, yr) if hasattr(model, "positive") else iris
    model = clone(model).set_params(tol=1e-9)
    reference = clone(model).fit(X, y).coef_
    long = sparse.csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for rows in (np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X), long):
        assert_allclose(clone(model).fit(rows, y).coef_, reference, rtol=1e-7, atol=1e-7)
    fitted = clone(model).fit(X.astype(np.float32), y)
    assert_allclose(fitted.coef_, reference, rtol=1e-3, atol=1e-3)
    assert abs(fitted.certificate_.relative_gap) <= 1e-9


@pytest.mark.parametrize("model", [LogisticRegression(tol=1e-9), SoftmaxRegression(tol=1e-9), Ridge(tol=1e-9)], ids=str)
def test_an_augmented_intercept_is_one_more_column(model):
    X, y = (Xr, yr) if hasattr(model, "positive") else (X2, y2)
    augmented = clone(model).set_params(intercept="augmented", intercept_scaling=2.0).fit(X, y)
    column = clone(model).set_params(fit_intercept=False).fit(np.column_stack([X, np.full(len(y), 2.0)]), y)
    assert_allclose(np.atleast_2d(augmented.coef_), np.atleast_2d(column.coef_)[:, :-1], rtol=1e-6, atol=1e-6)
    assert_allclose(augmented.intercept_, 2.0 * np.atleast_2d(column.coef_)[:, -1], rtol=1e-6, atol=1e-6)


SAVED = [
    (LogisticRegression(class_weight={"b": 2.0}), iris[0], np.array(["a", "b", "c"])[iris[1]]),
    (LogisticRegression(), sparse.csr_matrix(X2), y2),
    (SoftmaxRegression(intercept="augmented"), X2, y2),
    (Ridge(alpha=0.1), Xr, yr),
    (LinearRegression(), Xr, yr),
]


@pytest.mark.parametrize("model, X, y", SAVED, ids=lambda value: str(value) if hasattr(value, "fit") else "")
def test_a_saved_model_comes_back_whole(model, X, y, tmp_path):
    model.fit(X, y, sample_weight=np.arange(len(y)) % 4 + 0.5)
    model.certificate_.verify(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    again.certificate_.verify(X, y)
    assert str(again.certificate_) == str(model.certificate_)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_a_certificate_notices_a_changed_model(model):
    X, y = (Xr, yr) if hasattr(model, "positive") else iris
    model = clone(model).fit(X, y)
    model.coef_ *= 1.01
    with pytest.raises(CertificateError, match="the model was changed"):
        model.certificate_.verify(X, y)


BAD_PARAMETERS = [
    (LogisticRegression, {"C": 0.0}, "C must be positive"),
    (LogisticRegression, {"C": np.inf}, "C must be finite"),
    (LogisticRegression, {"penalty": "l3"}, "Known: 'l1', 'l2'"),
    (LogisticRegression, {"l1_ratio": 0.5}, "l1_ratio must be 0"),
    (LogisticRegression, {"solver": "liblinear"}, "intercept='augmented'"),
    (LogisticRegression, {"solver": "lbfg"}, "not known"),
    (LogisticRegression, {"class_weight": {7: 1.0}}, "names the label 7"),
    (SoftmaxRegression, {"tol": 0.0}, "tol must be a positive number"),
    (SoftmaxRegression, {"intercept": "freee"}, "'free'"),
    (SoftmaxRegression, {"solver": "lbfgs"}, "not known"),
    (SoftmaxRegression, {"n_jobs": 0}, "n_jobs"),
    (SoftmaxRegression, {"device": "tpu"}, "'auto', 'cpu'"),
    (Ridge, {"alpha": 0}, "use LinearRegression"),
    (Ridge, {"alpha": -1.0}, "alpha must be a positive number"),
    (Ridge, {"alpha": 1e-320}, "too small"),
    (Ridge, {"alpha": [1.0, 2.0]}, "alpha must be a positive number"),
    (Ridge, {"positive": True}, "positive=True"),
    (Ridge, {"solver": "cholesy"}, "not known"),
    (LinearRegression, {"positive": True}, "positive=True"),
    (LinearRegression, {"fit_intercept": "yes"}, "True or False"),
    (LinearRegression, {"max_seconds": -1}, "max_seconds"),
]


@pytest.mark.parametrize("estimator, parameters, message", BAD_PARAMETERS, ids=str)
def test_bad_parameters_are_refused_with_what_is_allowed(estimator, parameters, message):
    with pytest.raises(ParameterError, match=message):
        estimator(**parameters).fit(X2, y2)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_bad_rows_targets_and_weights_are_refused(model):
    for bad in (np.where(np.arange(6) == 1, np.nan, X2), X2[:, 0], np.empty((0, 6)), None):
        with pytest.raises(DataError):
            clone(model).fit(bad, y2)
    for bad in (y2[:10], np.stack([y2, y2], axis=1), np.where(y2 == 1, np.nan, 0.0), None):
        with pytest.raises(DataError):
            clone(model).fit(X2, bad)
    for bad in (-np.ones(120), np.zeros(120), np.ones(3)):
        with pytest.raises(DataError):
            clone(model).fit(X2, y2, sample_weight=bad)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_weights_that_leave_one_class_are_refused(model):
    with pytest.raises(DataError, match="at least two classes need rows with positive weights"):
        clone(model).fit(X2, y2, sample_weight=y2.astype(float))


def test_solvers_refuse_problems_that_are_not_theirs():
    problem = Specification(Pair(0, 1), Hinge(), 1.0, Intercept.FREE).problem(X2, y2)[0]
    for solver in (LeastSquares(), SoftmaxNewton()):
        with pytest.raises(ParameterError, match="is for linear problems with"):
            solver.solve(problem)
    with pytest.raises(ParameterError, match="method must be"):
        LeastSquares(method="lu").solve(_least_squares(Xr, yr, 1.0, Intercept.FREE, L2()))
