"""The estimators keep scikit-learn's conventions, and weights mean what they say."""

import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from itertools import combinations

import numpy as np
import pytest
import sklearn.svm as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, Status, kernels, load
from maxmargin.errors import ModelFileError, NotConvergedWarning, ParameterError
from maxmargin.solvers import QP

iris = load_iris(return_X_y=True)
X2, y2 = make_classification(120, 6, random_state=0, flip_y=0.1)
Xr, yr = (part[:150] for part in load_diabetes(return_X_y=True))


def _checks():
    for estimator in (SVC(), LinearSVC(), SVR(), LinearSVR()):
        for model, check in estimator_checks_generator(estimator):
            if check.func.__name__ == "check_array_api_input":
                continue  # runs only where SciPy's experimental array interface was switched on before the import
            yield pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize("model, check", list(_checks()))
@pytest.mark.slow
def test_scikit_learn_conventions(model, check):
    check(model)


def _inside_and_near_the_margins(model, X, y):
    """Rows that need a multiplier in some pair of classes, and rows that may have one: y f < 1, and y f <= 1."""
    margins = [
        np.select([y == i, y == j], [f, -f], np.inf)
        for (i, j), f in zip(combinations(range(3), 2), model.decision_function(X).T, strict=True)
    ]
    least = np.min(margins, axis=0)
    return set(np.flatnonzero(least < 1.0 - 1e-3)), set(np.flatnonzero(least <= 1.0 + 1e-3))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_svc_has_the_attributes_and_answers_of_its_peer(kernel, C):
    X, y = iris
    ours, theirs = SVC(kernel=kernel, C=C).fit(X, y), peers.SVC(kernel=kernel, C=C, tol=1e-10).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0] == 2
    inside, near = _inside_and_near_the_margins(clone(ours).set_params(decision_function_shape="ovo").fit(X, y), X, y)
    assert inside <= set(ours.support_) <= near
    assert inside <= set(theirs.support_) <= near
    assert ours.n_support_.sum() == len(ours.support_)
    assert_array_equal(X[ours.support_], ours.support_vectors_)
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


def test_ovo_scores_and_broken_ties_are_those_of_the_peer():
    X, y = iris
    for options in ({"decision_function_shape": "ovo"}, {"break_ties": True}):
        ours, theirs = SVC(**options).fit(X, y), peers.SVC(**options, tol=1e-10).fit(X, y)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
        assert_array_equal(ours.predict(X), theirs.predict(X))


def test_svr_has_the_answers_of_its_peer():
    for kernel, C in (("rbf", 100.0), ("linear", 10.0)):
        ours, theirs = SVR(kernel=kernel, C=C).fit(Xr, yr), peers.SVR(kernel=kernel, C=C, tol=1e-8).fit(Xr, yr)
        assert_allclose(ours.predict(Xr), theirs.predict(Xr), atol=1e-3)
        assert ours.score(Xr, yr) == pytest.approx(theirs.score(Xr, yr), abs=1e-5)


def test_linear_svc_with_augmented_intercept_is_its_peer():
    for loss in ("hinge", "squared_hinge"):
        ours = LinearSVC(loss=loss, intercept="augmented").fit(X2, y2)
        theirs = peers.LinearSVC(loss=loss, tol=1e-10, max_iter=1_000_000).fit(X2, y2)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_linear_svc_and_svc_with_a_linear_kernel_agree():
    linear, kernel = LinearSVC(loss="hinge").fit(X2, y2), SVC(kernel="linear").fit(X2, y2)
    assert_allclose(linear.coef_, kernel.coef_, atol=1e-8)
    assert linear.certificate_.primal == pytest.approx(kernel.certificate_.primal, rel=1e-10)


def test_augmented_intercept_is_the_kernel_plus_one():
    augmented = SVC(kernel=kernels.Gaussian(0.2), intercept="augmented").fit(X2, y2)
    shifted = SVC(kernel=kernels.Gaussian(0.2) + 1, intercept="none").fit(X2, y2)
    assert_allclose(augmented.decision_function(X2), shifted.decision_function(X2), atol=1e-9)
    assert shifted.intercept_ == 0.0


MODELS = [
    SVC(),
    SVC(kernel="linear", intercept="augmented"),
    SVC(class_weight="balanced"),
    LinearSVC(),
    LinearSVC(loss="hinge", class_weight={0: 3.0}),
    LinearSVC(class_weight="balanced", fit_intercept=False),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_integer_weights_equal_repeated_rows_and_zero_equals_absence(model, rng):
    weight = rng.integers(0, 4, len(y2))
    weighted = clone(model).fit(X2, y2, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X2, weight, axis=0), np.repeat(y2, weight))
    assert_allclose(weighted.decision_function(X2), repeated.decision_function(X2), atol=1e-6)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize(
    "model", [SVR(C=10.0), LinearSVR(epsilon=5.0), LinearSVR(loss="squared_epsilon_insensitive")], ids=str
)
def test_integer_weights_equal_repeated_rows_in_regression(model, rng):
    weight = rng.integers(0, 4, len(yr))
    weighted = clone(model).fit(Xr, yr, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(Xr, weight, axis=0), np.repeat(yr, weight))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)
    assert_allclose(weighted.predict(Xr), repeated.predict(Xr), atol=1e-4)


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), LinearSVC(loss="hinge")], ids=str)
def test_layout_and_precision_do_not_change_the_answer(model):
    reference = clone(model).fit(X2, y2).decision_function(X2)
    long = sparse.csr_matrix(X2)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for X in (np.asfortranarray(X2), sparse.csr_matrix(X2), sparse.csc_matrix(X2), long):
        assert_allclose(clone(model).fit(X, y2).decision_function(X), reference, atol=1e-6)
    half = X2.astype(np.float32)
    fitted = clone(model).fit(half, y2)
    assert_allclose(fitted.decision_function(half), reference, atol=1e-3)
    assert np.abs(fitted.certificate_.relative_gap) <= 1e-8


def test_features_and_targets_in_other_units_give_the_same_machine():
    base = LinearSVC(loss="hinge", C=1.0).fit(X2, y2)
    scaled = LinearSVC(loss="hinge", C=1e-6).fit(1e3 * X2, y2)
    assert_allclose(1e3 * scaled.coef_, base.coef_, atol=1e-7)


def test_precomputed_callable_and_object_kernels_agree_with_the_named_one():
    gamma = 0.15
    named = SVC(kernel="rbf", gamma=gamma).fit(X2, y2)
    gaussian = kernels.Gaussian(gamma)
    expected = named.decision_function(X2[:20])
    assert_allclose(SVC(kernel=gaussian).fit(X2, y2).decision_function(X2[:20]), expected, atol=1e-9)
    assert_allclose(SVC(kernel=lambda A, B: gaussian(A, B)).fit(X2, y2).decision_function(X2[:20]), expected, atol=1e-9)
    precomputed = SVC(kernel="precomputed").fit(gaussian(X2), y2)
    assert_allclose(precomputed.decision_function(gaussian(X2[:20], X2)), expected, atol=1e-9)
    assert_allclose(precomputed.decision_function(gaussian(X2[:20], X2[precomputed.support_])), expected, atol=1e-9)
    precomputed.certificate_.verify(gaussian(X2), y2)


def test_strings_are_classified_with_the_edit_distance():
    words = ["banana", "bananas", "ananas", "banane", "cherry", "cherries", "sherry", "merry"]
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    model = SVC(kernel=kernels.EditDistance(gamma=0.3), C=10).fit(words, y)
    others = ["banananas", "cherrys"]
    K = kernels.EditDistance(gamma=0.3).block(np.array(others, dtype=object), model.support_vectors_)
    assert_allclose(model.decision_function(others), K @ model.dual_coef_[0] + model.intercept_, atol=1e-12)
    assert_array_equal(model.predict(others), [0, 1])
    again = model.certificate_.verify(words, y)
    assert np.isnan(again.gap)
    assert "not positive semidefinite" in again.reason
    assert again.status is Status.CONVERGED


def test_a_search_over_parameters_works():
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": ["scale", 0.1]}, cv=3).fit(X2, y2)
    results = search.cv_results_
    expected = [np.mean(cross_val_score(SVC(**values), X2, y2, cv=3)) for values in results["params"]]
    assert_allclose(results["mean_test_score"], expected, rtol=1e-12)
    assert search.best_params_ == results["params"][int(np.argmax(expected))]
    search.best_estimator_.certificate_.verify(X2, y2)


def test_margins_have_the_lectures_categories():
    model = SVC(kernel="linear").fit(X2, y2)
    margins = model.margins(X2, y2)
    sign = np.where(y2 == 1, 1, -1)
    assert_allclose(margins.functional, sign * model.decision_function(X2))
    assert_allclose(margins.geometric, margins.functional / np.linalg.norm(model.coef_), rtol=1e-9)
    assert_allclose(margins.slack, np.maximum(0, 1 - margins.functional))
    assert set(margins.category) == {"beyond", "on", "inside", "wrong"}
    assert np.all(margins.category[margins.functional < 0] == "wrong")
    assert np.sum(margins.category == "on") >= 1


@pytest.mark.parametrize(
    "model, X, y",
    [
        (SVC(class_weight={"b": 2.0}), iris[0], np.array(["a", "b", "c"])[iris[1]]),
        (SVC(kernel=0.5 * kernels.Gaussian(0.1) + kernels.Linear()), X2, y2),
        (SVC(kernel="linear"), sparse.csr_matrix(X2), y2),
        (SVC(kernel=kernels.EditDistance(0.5)), ["ab", "abc", "xy", "xyz"], [0, 0, 1, 1]),
        (LinearSVC(class_weight="balanced"), iris[0], iris[1]),
        (LinearSVC(C=np.inf), iris[0][:100], iris[1][:100] == 1),
        (SVR(C=5), Xr, yr),
        (LinearSVR(), Xr, yr),
    ],
    ids=str,
)
def test_a_saved_model_comes_back_whole(model, X, y, tmp_path):
    model.fit(X, y, sample_weight=np.arange(len(y)) % 4 + 0.5)
    path = tmp_path / "model.maxmargin"
    model.save(path)
    again = load(path)
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    again.certificate_.verify(X, y)
    assert str(again.certificate_) == str(model.certificate_)
    assert [p.name for p in tmp_path.iterdir()] == ["model.maxmargin"]


def test_code_is_never_written_to_a_model_file(tmp_path):
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X2, y2)
    with pytest.raises(ModelFileError, match="kernel"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_fitted_estimator_survives_pickle():
    model = pickle.loads(pickle.dumps(SVC().fit(*iris)))
    model.certificate_.verify(*iris)


def test_a_solver_object_can_be_given():
    model = SVC(solver=QP(tol=1e-6, form="primal")).fit(X2, y2)
    assert model.certificate_.tol == 1e-6


def test_a_fit_short_of_its_tolerance_warns_once_and_keeps_the_model():
    with pytest.warns(NotConvergedWarning, match="ended BUDGET") as caught:
        model = SVC(max_iter=1).fit(X2, y2)
    assert len(caught) == 1
    assert model.certificate_.status is Status.BUDGET
    assert model.certificate_.relative_gap > 1e-3
    model.certificate_.verify(X2, y2)


def test_concurrent_fits_do_not_disturb_each_other():
    expected = SVC().fit(X2, y2).dual_coef_
    found = []
    threads = [threading.Thread(target=lambda: found.append(SVC().fit(X2, y2).dual_coef_)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for coefficients in found:
        assert_array_equal(coefficients, expected)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal to a child process")
@pytest.mark.slow
def test_ctrl_c_leaves_a_fitted_and_certified_model():
    program = textwrap.dedent("""
        import os, signal, threading, time
        import numpy as np
        from maxmargin import SVC
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2500, 5)); y = np.where(X[:, 0] + rng.normal(size=2500) > 0, 1, -1)
        X *= 1e3
        model = SVC(kernel="linear", C=1e6, tol=1e-9)  # a fit of minutes
        def interrupt():
            time.sleep(1.0)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            again = model.certificate_.verify(X, y)
            print(model.certificate_.status.name, again.dual > -np.inf)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["INTERRUPTED", "True"], done.stderr
    assert done.returncode in (0, -signal.SIGINT)


@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_an_engine_that_is_not_there_is_refused(device):
    with pytest.raises(ParameterError, match="'auto', 'cpu'"):
        SVC(device=device).fit(X2, y2)
