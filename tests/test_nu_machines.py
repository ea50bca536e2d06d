"""Machines with nu: against scikit-learn, against the machines with a cost that they lead to, and what nu promises."""

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, make_blobs, make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from maxmargin.errors import ParameterError
from maxmargin.solvers.qp import QP

TIGHT = 1e-7


def _classes(n=120, seed=0):
    """Two classes that overlap a little: nu must be above the share of rows that no machine gets right."""
    return make_classification(n, n_features=5, flip_y=0.05, class_sep=1.5, weights=[0.6], random_state=seed)


def _numbers(n=100):
    X, y = load_diabetes(return_X_y=True)
    return X[:n] * 20.0, y[:n] / 100.0


CASES = [
    *[(NuSVC, {"nu": nu, "gamma": 0.3}, _classes()) for nu in (0.2, 0.5, 0.7)],
    (NuSVC, {"nu": 0.3, "kernel": "linear"}, _classes()),
    (NuSVC, {"nu": 0.4, "kernel": "poly", "coef0": 1.0}, load_iris(return_X_y=True)),
    *[(NuSVR, {"nu": nu, "C": C}, _numbers()) for nu, C in ((0.1, 1.0), (0.5, 10.0), (1.0, 1.0))],
    (NuSVR, {"nu": 0.3, "kernel": "linear"}, _numbers()),
    *[(OneClassSVM, {"nu": nu}, _classes()) for nu in (0.05, 0.5, 0.9)],
    (OneClassSVM, {"nu": 0.2, "kernel": "laplacian"}, _classes()),
]


def _name(value):
    return value.__name__ if isinstance(value, type) else str(value) if isinstance(value, dict) else ""


def _scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("machine, parameters, data", CASES, ids=_name)
def test_the_answer_is_scikit_learns(machine, parameters, data):
    X, y = data
    if parameters.get("kernel") == "laplacian":
        pytest.skip("a kernel that scikit-learn has no name for")
    if machine is NuSVC:
        parameters = {**parameters, "decision_function_shape": "ovo"}
    ours = machine(**parameters, tol=TIGHT).fit(X, y)
    theirs = getattr(sklearn.svm, machine.__name__)(**parameters, tol=1e-9).fit(X, y)
    size = np.max(np.abs(_scores(theirs, X)))
    assert_allclose(_scores(ours, X), _scores(theirs, X), atol=2e-4 * size)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    # The smallest multipliers come and go with the tolerance; the others have the same rows and the same layout.
    large = np.max(np.abs(theirs.dual_coef_), axis=0) > 1e-2 * np.max(np.abs(theirs.dual_coef_))
    place = {row: k for k, row in enumerate(ours.support_)}
    found = ours.dual_coef_[:, [place[row] for row in theirs.support_[large]]]
    assert_allclose(found, theirs.dual_coef_[:, large], rtol=1e-2, atol=2e-3 * np.max(np.abs(theirs.dual_coef_)))


@pytest.mark.parametrize("machine, parameters, data", CASES, ids=_name)
def test_the_certificate_holds_and_the_multipliers_add_up_to_what_nu_says(machine, parameters, data):
    X, y = data
    model = machine(**parameters, tol=TIGHT).fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert again.relative_gap <= TIGHT
    for part in again.parts or (again,):
        specification, point = part.claim.specification, part.claim.point
        rows = specification.task.rows(np.asarray(y))
        n = len(y) if rows is None else len(rows)
        assert specification.nu is None
        total = np.sum(np.abs(point.coefficients))
        expected = parameters["nu"] * specification.C * n
        if machine is NuSVR and model.epsilon_ < 1e-6:
            assert total <= expected * (1.0 + 1e-9)  # without a tube a row may have two multipliers that cancel
        else:
            assert_allclose(total, expected, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_nu_classification_is_classification_with_the_cost_it_found(nu):
    X, y = _classes()
    model = NuSVC(nu=nu, gamma=0.3, tol=TIGHT).fit(X, y)
    same = SVC(C=1.0 / model.rho_[0], gamma=0.3, solver=QP(tol=1e-9)).fit(X, y)
    assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-3)
    assert_allclose(model.certificate_.primal, same.certificate_.primal, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_nu_regression_is_regression_with_the_tube_it_found(nu):
    X, y = _numbers()
    model = NuSVR(nu=nu, C=2.0, tol=TIGHT).fit(X, y)
    assert model.epsilon_ > 0.01
    same = SVR(C=2.0, epsilon=model.epsilon_, solver=QP(tol=1e-9)).fit(X, y)
    assert_allclose(model.predict(X), same.predict(X), atol=1e-3)
    assert_allclose(model.certificate_.primal, same.certificate_.primal, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.6])
def test_nu_bounds_the_shares_of_errors_and_of_support_vectors(nu):
    X, y = _classes(200, seed=3)
    classifier = NuSVC(nu=nu, tol=TIGHT).fit(X, y)
    errors = np.mean(classifier.margins(X, y).functional < 1.0 - 1e-4)
    assert errors <= nu <= len(classifier.support_) / len(y) + 1e-9
    one = OneClassSVM(nu=nu, tol=TIGHT).fit(X)
    outliers = np.mean(one.decision_function(X) < -1e-4 * one.offset_)
    assert outliers <= nu <= len(one.support_) / len(y) + 1e-9
    X, y = _numbers()
    regressor = NuSVR(nu=nu, tol=TIGHT).fit(X, y)
    outside = np.mean(np.abs(regressor.predict(X) - y) > regressor.epsilon_ + 1e-4)
    assert outside <= nu <= len(regressor.support_) / len(y) + 1e-9


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_a_weight_of_two_is_the_row_twice_and_of_zero_its_absence(machine, rng):
    X, y = _classes(60)
    weight = rng.integers(0, 4, len(y))
    options = {"nu": 0.3, "gamma": 0.3, "tol": TIGHT}
    weighted = machine(**options).fit(X, y, sample_weight=weight)
    repeated = machine(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    size = np.max(np.abs(_scores(repeated, X)))
    assert_allclose(_scores(weighted, X), _scores(repeated, X), atol=1e-3 * size)
    assert np.all(weight[weighted.support_] > 0)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_sparse_rows_precomputed_kernels_and_model_files_give_the_same_machine(machine, tmp_path):
    X, y = _classes(60)
    options = {"nu": 0.3, "tol": TIGHT}
    dense = machine(kernel="linear", **options).fit(X, y)
    thin = machine(kernel="linear", **options).fit(sparse.csr_array(X), y)
    matrix = machine(kernel="precomputed", **options).fit(X @ X.T, y)
    size = np.max(np.abs(_scores(dense, X)))
    assert_allclose(_scores(thin, sparse.csr_array(X)), _scores(dense, X), atol=1e-3 * size)
    assert_allclose(_scores(matrix, X @ X.T), _scores(dense, X), atol=1e-3 * size)
    assert sparse.issparse(thin.dual_coef_)
    thin.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert_array_equal(_scores(again, X), _scores(thin, X))
    again.certificate_.verify(sparse.csr_array(X), y)


def test_one_class_needs_no_labels():
    X, _ = _classes()
    model = OneClassSVM(nu=0.2).fit(X)
    model.certificate_.verify(X, None)
    assert_array_equal(model.predict(X), OneClassSVM(nu=0.2).fit_predict(X))
    assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    assert_array_equal(model.offset_, -model.intercept_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_agree_with_predictions(n_classes):
    X, y = make_blobs(60, centers=n_classes, cluster_std=4.0, random_state=0)
    model = NuSVC(nu=0.3, probability=True).fit(X, y)
    assert np.all(model.probA_ < 0.0)
    assert_array_equal(np.argmax(model.predict_proba(X), axis=1), model.predict(X))


def test_a_nu_that_suits_the_whole_but_not_its_parts_leaves_probabilities_that_know_nothing():
    X, y = _classes(60)
    most = 2.0 * min(np.mean(y == 0), np.mean(y == 1))
    model = NuSVC(nu=most, probability=True).fit(X, y)
    assert_array_equal(np.argmax(model.predict_proba(X), axis=1), model.predict(X))


def test_a_nu_that_cannot_be_is_refused():
    X, y = make_classification(60, weights=[0.9], random_state=0)
    with pytest.raises(ParameterError, match="specified nu is infeasible"):
        NuSVC(nu=0.9).fit(X, y)
    for nu in (0.0, 1.5, -0.1, "half", None, True):
        for machine in (NuSVC, NuSVR, OneClassSVM):
            with pytest.raises(ParameterError, match="above 0 and at most 1"):
                machine(nu=nu).fit(X, y)
    with pytest.raises(ParameterError, match="is too small"):
        OneClassSVM(nu=0.1, kernel="linear").fit(np.array([[1.0], [-1.0]] * 10))


def test_a_solver_that_knows_no_nu_is_refused():
    X, y = _classes()
    with pytest.raises(ParameterError, match="knows no nu"):
        NuSVC(solver=QP()).fit(X, y)
    with pytest.raises(ParameterError, match="Known: 'auto'"):
        NuSVR(solver="qp").fit(X, y)


@parametrize_with_checks([NuSVC(nu=0.3), NuSVR(), OneClassSVM()])
def test_scikit_learns_checks_of_estimators(estimator, check):
    check(estimator)
