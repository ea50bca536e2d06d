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
from maxmargin.solvers.reference.qp import QP

TIGHT = 1e-7


def _classes(n=120, seed=0):
    """Two classes that overlap a little: nu must be above the share of rows that no machine gets right."""
    return make_classification(n, n_features=5, flip_y=0.05, class_sep=1.5, weights=[0.6], random_state=seed)


def _numbers(n=100):
    X, y = load_diabetes(return_X_y=True)
    return X[:n] * 20.0, y[:n] / 100.0


# Where nu n / 2 is a whole number a class may have no row between the bounds; rho then is an interval, not a number.
CASES = [
    *[(NuSVC, {"nu": nu, "gamma": 0.3}, _classes()) for nu in (0.2, 0.5, 0.7)],
    (NuSVC, {"nu": 0.31, "kernel": "linear"}, _classes()),
    (NuSVC, {"nu": 0.41, "kernel": "poly", "coef0": 1.0}, load_iris(return_X_y=True)),
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
    X, options = X + 3.0, {"nu": 0.45, "tol": TIGHT}  # away from the origin, from which one class is separated
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


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("tol", [1e-3, TIGHT])
@pytest.mark.parametrize("n", [60, 1500])
def test_a_nu_for_which_nothing_is_left_to_separate_is_refused(n, tol, scale):
    """The classes share their rows, so below nu = 1 their reduced hulls meet; a line through the origin likewise."""
    X, _ = _classes(n)
    both, labels = scale * np.vstack([X, X]), np.repeat([0, 1], n)
    with pytest.raises(ParameterError, match="is too small"):
        NuSVC(nu=0.5, kernel="linear", tol=tol).fit(both, labels)
    with pytest.raises(ParameterError, match="is too small"):
        OneClassSVM(nu=0.1, kernel="linear", tol=tol).fit(np.vstack([both, -both]))


def test_a_constant_is_the_regression_with_nu_where_nothing_better_fits():
    X, _ = _classes(60)
    model = NuSVR(nu=0.3, kernel="linear", tol=TIGHT).fit(np.vstack([X, X]), np.repeat([0.0, 1.0], 60))
    assert model.certificate_.status is Status.CONVERGED
    assert_allclose(model.epsilon_, 0.5, rtol=1e-12)
    assert_allclose(model.predict(X), 0.5, rtol=1e-12)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_the_largest_nu_puts_all_rows_at_their_bound(machine):
    X, y = _classes(60)
    largest = 2.0 * min(np.mean(y == 0), np.mean(y == 1)) if machine is NuSVC else 1.0
    model = machine(nu=largest, tol=TIGHT).fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    if machine is not NuSVR:  # of a regression without a tube a row may have two multipliers that cancel
        size = np.abs(again.claim.point.everywhere(len(y))) / again.claim.specification.C
        rare = np.argmin([np.mean(y == 0), np.mean(y == 1)])
        assert_allclose(size[y == rare] if machine is NuSVC else size, 1.0, rtol=1e-12)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("max_iter", [1, 5])
def test_a_fit_that_is_stopped_early_says_so_and_is_certified(machine, max_iter):
    X, y = _classes()
    with pytest.warns(maxmargin.errors.NotConvergedWarning, match="BUDGET"):
        model = machine(nu=0.3, kernel="linear", max_iter=max_iter, tol=TIGHT).fit(X + 3.0, y)
    again = model.certificate_.verify(X + 3.0, y)
    assert again.status is Status.BUDGET
    assert np.isfinite(again.gap)
    assert again.gap > 0.0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("n", [120, 1500])
def test_the_unit_of_the_rows_does_not_matter(machine, scale, n):
    """Where kernel values grow with the square of the unit, so does rho; a regression has the unit of its targets."""
    X, y = _classes(n)
    X = X + 3.0
    cost = {"C": 0.1} if machine is NuSVR else {}
    scaled = {"C": 0.1 / scale**2} if machine is NuSVR else {}
    model = machine(nu=0.453, kernel="linear", tol=1e-5, **cost).fit(X, y)
    again = machine(nu=0.453, kernel="linear", tol=1e-5, **scaled).fit(X * scale, y)
    for one in (model, again):
        assert one.certificate_.status is Status.CONVERGED
    assert_allclose(again.certificate_.primal * scale**2, model.certificate_.primal, rtol=3e-5)


def test_a_solver_that_knows_no_nu_is_refused():
    X, y = _classes()
    with pytest.raises(ParameterError, match="knows no nu"):
        NuSVC(solver=QP()).fit(X, y)
    with pytest.raises(ParameterError, match="Known: 'auto'"):
        NuSVR(solver="qp").fit(X, y)


def _impossible(model):
    """Checks on data that have no answer for this nu; each of the others is passed with one nu at least."""
    if not isinstance(model, NuSVC):
        return {}
    weights = "no nu suits one class that weighs ten million times the other; scikit-learn's class looks away"
    if model.nu == 0.5:
        words = "nu is infeasible for the rows that count"
        names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    else:
        words = "nu is too small for three classes of which many rows are zero"
        names = ["check_estimator_sparse_tag"]
    return {"check_class_weight_classifiers": weights, **dict.fromkeys(names, words)}


@parametrize_with_checks(
    [NuSVC(), NuSVC(nu=0.35), NuSVR(), OneClassSVM()], expected_failed_checks=_impossible, xfail_strict=True
)
@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.slow
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
