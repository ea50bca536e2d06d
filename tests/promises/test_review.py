"""A model is what was fitted, whatever is set afterwards; a refused fit changes nothing; errors say what to do."""

import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Ridge,
    SoftmaxRegression,
)
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import CertificateError, DataError, NotConvergedWarning, NotSeparableError, ParameterError
from maxmargin.losses import CrammerSinger
from maxmargin.problems import Intercept, LinearProblem, Status
from maxmargin.solvers import MulticlassDescent, MulticlassInterior, Newton, Solver, solver_named

X, y = load_iris(return_X_y=True)
numbers = X @ [1.0, -1.0, 0.5, 2.0] + 0.1 * np.sin(np.arange(150.0))

CLASSIFIERS = [
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer"),
    LogisticRegression(),
    SoftmaxRegression(),
    SVC(),
]
REGRESSORS = [LinearSVR(), Ridge(), LinearRegression(), SVR()]
ALL = [(model, y) for model in CLASSIFIERS] + [(model, numbers) for model in REGRESSORS]


def name(value):
    return str(value) if hasattr(value, "fit") else ""


# What was fitted is remembered apart from the parameters


@pytest.mark.parametrize("kinds", [("ovr", "crammer_singer"), ("crammer_singer", "ovr")], ids=str)
def test_a_warm_start_of_another_kind_begins_anew(kinds):
    first, second = kinds
    warm = LinearSVC(warm_start=True, multi_class=first).fit(X, y).set_params(multi_class=second).fit(X, y)
    cold = LinearSVC(multi_class=second).fit(X, y)
    assert_allclose(warm.coef_, cold.coef_, rtol=1e-6, atol=1e-6)
    assert warm.certificate_.verify(X, y).status is Status.CONVERGED


OTHERS = [
    (LinearSVC(), y, {"multi_class": "crammer_singer", "penalty": "l1", "loss": "hinge", "C": 7.0}),
    (LinearSVC(multi_class="crammer_singer"), y, {"multi_class": "ovr", "C": np.inf}),
    (LogisticRegression(), y, {"penalty": "l1", "fit_intercept": False}),
    (SVC(), y, {"kernel": "linear", "gamma": 3.0, "decision_function_shape": "ovo"}),
    (SVR(), numbers, {"kernel": "poly", "epsilon": 3.0}),
    (LinearSVR(), numbers, {"loss": "squared_epsilon_insensitive", "fit_intercept": False}),
    (Ridge(), numbers, {"alpha": 100.0, "fit_intercept": False}),
]


@pytest.mark.parametrize("model, target, parameters", OTHERS, ids=name)
def test_parameters_set_after_a_fit_change_neither_model_nor_certificate_nor_file(model, target, parameters, tmp_path):
    model = clone(model).fit(X, target)
    expected, stated = model.predict(X), model.certificate_
    model.set_params(**parameters)
    assert model.certificate_ == stated
    assert model.certificate_.verify(X, target).status is Status.CONVERGED
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert again.certificate_.verify(X, target).primal == pytest.approx(stated.primal, rel=1e-12)
    for one in (model, again):
        assert_array_equal(one.predict(X), expected)


def test_a_kernel_machine_has_weights_only_if_it_was_fitted_with_the_linear_kernel():
    assert not hasattr(SVC().fit(X, y).set_params(kernel="linear"), "coef_")
    assert SVC(kernel="linear").fit(X, y).set_params(kernel="rbf").coef_.shape == (3, 4)


# A refused fit changes nothing


@dataclass(frozen=True)
class Broken(Solver):
    """Fails when asked to solve, which is after all input was found good."""

    name: ClassVar[str] = "broken"

    def solve(self, problem, start=None):
        raise RuntimeError("broken")


def refusals(target):
    """Fits of other data that are refused at different times."""
    table = pd.DataFrame(X[:60, :3], columns=["a", "b", "c"])
    other = target[:60] if target is numbers else np.array(["p", "q"] * 30)
    return {
        "weights": ({}, (table, other, -np.ones(60))),
        "no weight": ({}, (table, other, np.zeros(60))),
        "lengths": ({}, (table, other[:50], None)),
        "targets": ({}, (table, np.full(60, np.nan), None)),
        "rows": ({}, (np.full((60, 3), np.nan), other, None)),
        "solver": ({"solver": "simplex"}, (table, other, None)),
        "tol": ({"tol": -1.0}, (table, other, None)),
        "training": ({"solver": Broken()}, (table, other, None)),
    }


@pytest.mark.parametrize("kind", refusals(y))
@pytest.mark.parametrize("model, target", ALL, ids=name)
def test_a_refused_fit_leaves_the_model_as_it_was(model, target, kind):
    parameters, data = refusals(target)[kind]
    model = clone(model).fit(X, target)
    before, given = dict(vars(model)), model.get_params()
    with pytest.raises((DataError, ParameterError, RuntimeError)):
        model.set_params(**parameters).fit(*data)
    model.set_params(**given)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items() if key not in given)
    assert model.certificate_.verify(X, target).status is Status.CONVERGED

    unfitted = clone(model).set_params(**parameters)
    with pytest.raises((DataError, ParameterError, RuntimeError)):
        unfitted.fit(*data)
    assert vars(unfitted).keys() == unfitted.get_params().keys()


def test_a_fit_that_falls_short_is_kept_even_where_the_warning_is_an_error():
    model = LinearSVC().fit(X, y).set_params(max_iter=1, solver="dcd", tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConvergedWarning)  # as a user may have it
        with pytest.raises(NotConvergedWarning):
            model.fit(X[:, :3], y)
    assert model.n_features_in_ == 3
    assert model.certificate_.verify(X[:, :3], y).status is Status.BUDGET


# One budget of seconds for the whole fit


@dataclass(frozen=True)
class Slow(Solver):
    """Takes all the time it is given, and says how much that was."""

    n_jobs: int | None = None
    given: ClassVar[list[float]] = []
    name: ClassVar[str] = "slow"

    def solve(self, problem, start=None):
        self.given.append(self.max_seconds)
        time.sleep(self.max_seconds)
        return solver_named("qp", linear=False, max_iter=1).solve(problem)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.alone
def test_the_seconds_are_those_of_the_whole_fit(n_jobs):
    Slow.given.clear()
    rows = np.resize(X, (600, X.shape[1]))  # fewer would be solved one after the other by any number of threads
    labels = np.arange(600) % 8
    model = SVC(solver=Slow(max_seconds=0.3, tol=1e-12), n_jobs=n_jobs)
    with pytest.warns(NotConvergedWarning, match="ended BUDGET"):
        model.fit(rows, labels)
    assert len(Slow.given) == n_jobs  # the others, of 28 pairs, came too late
    assert all(0.1 < seconds <= 0.3 for seconds in Slow.given)
    statuses = [part.status for part in model.certificate_.verify(rows, labels).parts]
    assert statuses.count(Status.BUDGET) >= 28 - n_jobs
    assert all(np.isfinite(part.gap) for part in model.certificate_.parts)


def test_a_sub_problem_whose_turn_comes_too_late_stays_where_it_began():
    model = LinearSVC(loss="hinge", warm_start=True, n_jobs=1).fit(X, y)
    expected = model.coef_.copy()
    with pytest.warns(NotConvergedWarning, match="ended BUDGET"):
        model.set_params(C=20.0, max_seconds=1e-9).fit(X, y)
    assert_array_equal(model.coef_[1:], expected[1:])
    model.certificate_.verify(X, y)


# What verify takes


@pytest.mark.parametrize("model, target", ALL, ids=name)
def test_verify_takes_what_fit_takes(model, target):
    model = clone(model).fit(X, target, 2.0)
    certificate = model.certificate_
    for given in (None, 2.0, np.full(150, 2.0), [2] * 150):
        assert certificate.verify(X, target, given).primal == pytest.approx(certificate.primal, rel=1e-9)
    for rows in (X.tolist(), pd.DataFrame(X), pd.DataFrame(X).astype(object)):
        certificate.verify(rows, target)
    for column in (target[:, None], target.tolist(), pd.Series(target), pd.DataFrame(target)):
        certificate.verify(X, column)


@pytest.mark.parametrize("model, target", ALL, ids=name)
def test_verify_refuses_other_data_in_words(model, target):
    certificate = clone(model).fit(X, target).certificate_
    cases = [
        ((X[:, :3], target), "4 columns, got 3"),
        ((X[:, 0], target), "shape"),
        ((X.astype(str), target), "real numbers"),
        ((X[:100], target), "150 rows"),
        ((X, target[:100]), "150 rows"),
        ((X, np.stack([target, target], axis=1)), "one entry a row"),
        ((X, target, np.ones(10)), r"shape \(10,\)"),
        ((X, target, -np.ones(150)), "zero or positive"),
        ((X, target, np.full(150, np.nan)), "zero or positive"),
        ((X, target, "heavy"), "sample_weight must hold real numbers"),
    ]
    for data, words in cases:
        with pytest.raises(DataError, match=words):
            certificate.verify(*data)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("other", [np.where(y == 2, 7, y), np.where(y == 0, -1, y), np.array(list("abc"))[y]], ids=str)
def test_verify_refuses_labels_that_the_model_does_not_know(model, other):
    certificate = clone(model).fit(X, y).certificate_
    with pytest.raises((DataError, CertificateError)) as refused:
        certificate.verify(X, other)
    if len(certificate.parts) == 0:  # all classes at once
        assert isinstance(refused.value, DataError)
        assert "label" in str(refused.value)


def test_verify_refuses_targets_that_are_not_numbers():
    with pytest.raises(DataError, match="y must hold real numbers"):
        Ridge().fit(X, numbers).certificate_.verify(X, np.array(["a"] * 150))


# A class without weight is absent


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 2.0}], ids=str)
@pytest.mark.parametrize("absent", [0, 1, 2])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_a_class_of_which_all_rows_have_weight_zero_is_absent(model, absent, class_weight):
    kept = y != absent
    model = clone(model).set_params(class_weight=class_weight, tol=1e-8)
    with_zeros = clone(model).fit(X, y, kept.astype(float))
    if class_weight == {1: 2.0} and absent == 1:
        model.set_params(class_weight=None)
    without = clone(model).fit(X[kept], y[kept])
    assert_array_equal(with_zeros.classes_, without.classes_)
    assert_allclose(with_zeros.decision_function(X), without.decision_function(X), rtol=1e-3, atol=1e-3)
    assert with_zeros.certificate_.verify(X, y).status is Status.CONVERGED
    assert with_zeros.certificate_.primal == pytest.approx(without.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_a_class_weight_of_zero_makes_a_class_absent(model):
    found = clone(model).set_params(class_weight={0: 0.0}).fit(X, y)
    assert_array_equal(found.classes_, [1, 2])
    assert found.certificate_.verify(X, y).status is Status.CONVERGED
    with pytest.raises(DataError, match=r"at least two classes need rows with positive weights; of \[0, 1, 2\] only"):
        clone(model).set_params(class_weight={0: 0.0}).fit(X, y, (y != 1).astype(float))


@pytest.mark.parametrize("solver", [MulticlassDescent(1e-6), MulticlassInterior(1e-6)], ids=lambda one: one.name)
def test_solvers_of_all_classes_keep_a_class_without_rows_out_of_the_way(solver):
    values = []
    for n_classes in (3, 4):
        source = ArraySource(X, y.astype(float), np.ones(150))
        problem = LinearProblem(source, CrammerSinger(n_classes), 0.1, Intercept.FREE)
        solution = solver.solve(problem)
        assert solution.weights.shape == (4, n_classes)
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
        assert seen.gap <= 1e-6 * seen.primal
        values.append(seen.primal)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


# Parameters of the wrong kind

BAD_PARAMETERS = [
    (Ridge, {"alpha": 1e-300}, "at least 1e-100"),
    (Ridge, {"alpha": np.ones(10)}, "alpha must be a positive number"),
    (Ridge, {"verbose": "yes"}, "verbose must be True, False or a whole number"),
    (LinearSVC, {"verbose": "yes"}, "verbose must be"),
    (SVC, {"verbose": [1]}, "verbose must be"),
    (LinearSVR, {"epsilon": "a"}, "epsilon must be zero or a positive number, got epsilon='a'"),
    (SVR, {"epsilon": np.ones(2)}, "epsilon must be zero or a positive number"),
    (LinearSVR, {"epsilon": np.inf}, "epsilon must be zero or a positive number"),
    (LinearSVC, {"penalty": ["l1"]}, "Known: 'l1', 'l2'"),
    (LogisticRegression, {"penalty": ["l1"]}, "Known: 'l1', 'l2'"),
    (LinearSVC, {"loss": ["hinge"]}, "Known: 'hinge', 'squared_hinge'"),
    (LinearSVR, {"loss": ["squared"]}, "Known: 'epsilon_insensitive'"),
    (LinearSVC, {"multi_class": ["ovr"]}, "Known: 'crammer_singer', 'ovr'"),
    (LinearSVC, {"intercept": np.array(["free", "free"])}, "Known: 'free'"),
    (LinearSVC, {"solver": ["dcd"]}, "Known: 'asgd', 'auto'"),
    (SVC, {"solver": ["qp"]}, "Known: 'auto', 'blocks', 'osuna', 'qp', 'smo', 'smo-simple'"),
    (SVC, {"device": ["cpu"]}, "Known: 'auto', 'cpu'"),
    (SVC, {"decision_function_shape": ["ovo"]}, "Known: 'ovo', 'ovr'"),
    (LogisticRegression, {"l1_ratio": np.zeros(2)}, "l1_ratio must be 0"),
    (LinearSVC, {"max_iter": np.array([1, 2])}, "max_iter must be"),
    (LinearSVC, {"dual": "x"}, "dual must be True, False or 'auto'"),
    (LinearSVR, {"dual": "x"}, "dual must be True, False or 'auto'"),
    (LogisticRegression, {"dual": "x"}, "dual must be True, False or 'auto'"),
    # Names that exist, but not for this.
    (LinearSVC, {"solver": "newton", "loss": "hinge"}, "'newton' does not do the hinge loss; those that do: .*'pairs'"),
    (LinearSVC, {"solver": "dcd", "penalty": "l1"}, "'dcd' does not do the squared hinge loss with the L1 penalty; "),
    (LinearSVC, {"solver": "dcd", "C": np.inf}, "'dcd' does not do a hard margin; those that do: 'auto', 'qp'"),
    (LinearSVC, {"solver": "newton", "multi_class": "crammer_singer"}, "does not do the Crammer-Singer loss"),
    (LinearSVC, {"solver": Newton(), "multi_class": "crammer_singer"}, "does not do the Crammer-Singer loss"),
    (LogisticRegression, {"solver": "newton"}, "'newton' does not do the softmax loss; those that do: .*'lbfgs'"),
    (LinearSVR, {"solver": "newton"}, "'newton' does not do the epsilon-insensitive loss; those that do: 'asgd'"),
    (LinearSVR, {"solver": "newtn"}, "not known.*Known: 'asgd', 'auto'"),
    (LinearRegression, {"solver": "dcd"}, "'dcd' does not do the squared loss without a penalty; those that do: "),
    (Ridge, {"solver": "pairs"}, "'pairs' does not do the squared loss; those that do: .*'svd'"),
    # What scikit-learn has and this library has not.
    (LinearSVC, {"penalty": "l1", "multi_class": "crammer_singer"}, "For the L1 penalty use multi_class='ovr'"),
    (LinearSVC, {"penalty": "l1", "C": np.inf}, "penalty='l1' needs a finite C"),
    (LinearSVC, {"penalty": None}, "Use penalty='l2' with a large C"),
    (LogisticRegression, {"penalty": None}, "Use penalty='l2' with a large C"),
    (LogisticRegression, {"penalty": "elasticnet"}, "Use penalty='l1' for weights that are exactly zero"),
]


@pytest.mark.parametrize("estimator, parameters, words", BAD_PARAMETERS, ids=str)
def test_bad_parameters_are_refused_with_what_is_allowed(estimator, parameters, words):
    target = numbers if estimator in (Ridge, LinearRegression, LinearSVR, SVR) else y
    with pytest.raises(ParameterError, match=words):
        estimator(**parameters).fit(X, target)


@pytest.mark.parametrize("estimator", [LinearSVC, SVC])
def test_classes_that_cannot_be_separated_are_named(estimator):
    options = {"kernel": "linear"} if estimator is SVC else {}
    words = "class 1 against 2: no hyperplane" if estimator is SVC else "class 1 against the rest: no hyperplane"
    with pytest.raises(NotSeparableError, match=words) as refused:
        estimator(C=np.inf, **options).fit(X, y)
    assert refused.value.check(X, y)


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression, SoftmaxRegression, SVC, Ridge, LinearRegression])
def test_the_docstring_says_that_a_solver_brings_its_own_settings(estimator):
    words = " ".join(estimator.__doc__.split())
    assert "which brings its own tol, max_iter, max_seconds" in words
    assert "those of the estimator are not used then" in words


def test_a_solver_brings_its_own_settings():
    model = LinearSVC(tol=1e-12, max_iter=1, solver=Newton(tol=1e-2)).fit(X, y)
    assert model.certificate_.tol == 1e-2
    assert model.certificate_.status is Status.CONVERGED


# Sparse weights


@pytest.mark.parametrize(
    "model", [LinearSVC(penalty="l1"), LinearSVC(multi_class="crammer_singer"), LogisticRegression()], ids=name
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_weights_predict_and_are_certified_like_dense_ones(model, n_classes, tmp_path):
    rows, labels = X[y < n_classes], y[y < n_classes]
    model = clone(model).set_params(warm_start=True).fit(rows, labels)
    dense, scores = model.coef_.copy(), model.decision_function(rows)
    stated = model.certificate_
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert_array_equal(model.decision_function(rows), scores)
    assert model.certificate_.verify(rows, labels).primal == pytest.approx(stated.primal, rel=1e-12)
    model.save(tmp_path / "model")
    assert_array_equal(maxmargin.load(tmp_path / "model").decision_function(rows), scores)
    if n_classes == 2 and isinstance(model, LinearSVC):
        assert np.all(np.isfinite(model.margins(rows, labels).geometric))
    assert model.densify() is model
    assert_array_equal(model.coef_, dense)
    model.sparsify().fit(rows, labels)
    assert_allclose(model.coef_, dense, atol=1e-6)
    model.sparsify().coef_.data[0] += 1.0
    with pytest.raises(CertificateError):
        model.certificate_.verify(rows, labels)
