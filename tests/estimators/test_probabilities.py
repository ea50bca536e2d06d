"""Probabilities: the sigmoids, the coupling of pairs, and that they never contradict a prediction."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import maxmargin
from maxmargin import SVC
from maxmargin.errors import NotConvergedWarning, ParameterError
from maxmargin.estimators.kernel.probabilities import (
    N_FOLDS,
    _folds,
    agreeing,
    coupled_probabilities,
    sigmoid_slope,
    two_class_probabilities,
)
from maxmargin.kernels import Gaussian


def _two(n=60, seed=0):
    return make_classification(n, n_features=4, flip_y=0.2, random_state=seed)


# One sigmoid


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("right, wrong", [(5, 0), (30, 10), (400, 399)])
def test_the_slope_for_scores_of_one_size_is_the_logit_of_the_mean_target(scale, right, wrong):
    side = np.repeat([1.0, -1.0], [right, wrong])
    f = scale * np.concatenate([side, -side])
    is_positive = np.repeat([True, False], right + wrong)
    count = right + wrong
    share = (right * (count + 1.0) + wrong) / (count * (count + 2.0))
    expected = max(0.0, np.log(share / (1.0 - share)))
    assert_allclose(sigmoid_slope(f, is_positive, np.ones(2 * count)) * scale, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_slope_is_the_minimum_of_the_weighted_likelihood(seed):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(50) < rng.uniform(0.1, 0.9)
    f = np.where(is_positive, 1.0, -1.0) * rng.uniform(0.0, 2.0) + rng.standard_cauchy(50)
    weight, factor = rng.integers(0, 4, 50).astype(float), np.where(is_positive, 3.0, 0.5)
    positive, negative = weight[is_positive].sum(), weight[~is_positive].sum()
    t = np.where(is_positive, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def likelihood(a):
        return float(np.sum(weight * factor * (np.logaddexp(0.0, -a * f) + (1.0 - t) * a * f)))

    best = minimize_scalar(likelihood, bounds=(0.0, 50.0), method="bounded", options={"xatol": 1e-9})
    found = sigmoid_slope(f, is_positive, weight, factor)
    assert likelihood(found) <= best.fun + 1e-9 * abs(best.fun)
    assert_allclose(found, best.x, atol=1e-5)


def test_a_row_of_weight_two_is_the_row_twice_for_the_slope(rng):
    f, is_positive = rng.standard_normal(30), rng.random(30) < 0.5
    weight = rng.integers(1, 4, 30)
    twice = sigmoid_slope(np.repeat(f, weight), np.repeat(is_positive, weight), np.ones(weight.sum()))
    assert_allclose(sigmoid_slope(f, is_positive, weight.astype(float)), twice, rtol=1e-10)


def test_scores_that_say_nothing_or_the_opposite_have_slope_zero():
    is_positive = np.array([True, False, True, False])
    assert sigmoid_slope(np.zeros(4), is_positive, np.ones(4)) == 0.0
    assert sigmoid_slope(np.array([-1.0, 1.0, -2.0, 0.5]), is_positive, np.ones(4)) == 0.0


@pytest.mark.parametrize("slope", [0.0, 1e-300, 1.0, 1e300])
def test_two_class_probabilities_have_the_sign_of_the_score_also_at_the_edge_of_rounding(slope):
    f = np.array([-1e300, -1.0, -1e-17, -5e-324, 0.0, 5e-324, 1e-17, 1.0, 1e300])
    with np.errstate(over="ignore"):
        p = two_class_probabilities(f, slope)
    assert_array_equal(np.argmax(p, axis=1), f > 0.0)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    assert np.all(np.diff(p[:, 1]) >= 0.0)


# Many classes


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_coupling_gives_back_the_probabilities_that_consistent_pairs_come_from(n_classes, rng):
    p = rng.dirichlet(np.ones(n_classes), size=50)
    first, second = np.triu_indices(n_classes, 1)
    f = np.log(p[:, first] / p[:, second])
    found = coupled_probabilities(f, np.ones(len(first)), np.argmax(p, axis=1), n_classes)
    assert_allclose(found, p, atol=1e-6)


def test_coupled_probabilities_minimise_the_disagreement_with_the_pairs(rng):
    n_classes = 4
    first, second = np.triu_indices(n_classes, 1)
    f = 2.0 * rng.standard_normal((20, len(first)))
    r = expit(f)

    def disagreement(p, i):
        return np.sum(((1.0 - r[i]) * p[first] - r[i] * p[second]) ** 2)

    free = np.argmax(coupled_probabilities(f, np.ones(len(first)), np.zeros(20, dtype=int), n_classes), axis=1)
    assert_array_equal(free, 0)  # what is chosen is the favourite
    for i in range(20):
        best = minimize(
            disagreement,
            np.full(n_classes, 1 / n_classes),
            args=(i,),
            bounds=[(0, 1)] * n_classes,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        favourite = np.array([np.argmax(best.x)])
        assert_allclose(coupled_probabilities(f[[i]], np.ones(6), favourite, n_classes)[0], best.x, atol=2e-6)


def test_scores_of_any_size_couple_to_probabilities(rng):
    f = rng.standard_normal((200, 10)) * 10.0 ** rng.integers(-300, 300, (200, 1))
    p = coupled_probabilities(f, np.full(10, 1.0), np.zeros(200, dtype=int), 5)
    assert np.all(p > 0.0)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_agreement_is_the_smallest_change(rng):
    p, chosen = rng.dirichlet(np.ones(5), size=40), rng.integers(0, 5, 40)
    found = agreeing(p, chosen)
    assert_array_equal(np.argmax(found, axis=1), chosen)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    right = np.argmax(p, axis=1) == chosen
    assert 0 < right.sum() < 40
    assert_array_equal(found[right], p[right])
    for i in np.flatnonzero(~right):
        rules = [{"type": "eq", "fun": lambda q: q.sum() - 1.0}]
        rules.append({"type": "ineq", "fun": lambda q, k=chosen[i]: q[k] - q})
        nearest = minimize(lambda q, i=i: np.sum((q - p[i]) ** 2), p[i], constraints=rules, options={"ftol": 1e-14})
        assert_allclose(found[i], nearest.x, atol=1e-6)


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_equal_probabilities_are_told_apart_by_the_choice(chosen):
    p = agreeing(np.full((1, 3), 1 / 3), np.array([chosen]))
    assert np.argmax(p) == chosen
    assert_allclose(p, 1 / 3, rtol=1e-15)


# Whole machines

CASES = {
    "two classes": (SVC(), _two()),
    "balanced": (
        SVC(class_weight="balanced", C=10),
        make_classification(60, weights=[0.85], flip_y=0.1, random_state=1),
    ),
    "labels without meaning": (SVC(C=100), (_two()[0], np.random.default_rng(0).permutation(_two()[1]))),
    "hard margin": (SVC(C=np.inf), make_blobs(30, centers=2, random_state=0)),
    "one row a class": (SVC(gamma=1), (np.array([[0.0], [1.0], [3.0]]), np.array(["a", "b", "c"]))),
    "two rows": (SVC(kernel="linear"), (np.array([[0.0], [1.0]]), np.array([0, 1]))),
    "iris": (SVC(kernel="linear", C=0.01), load_iris(return_X_y=True)),
    "ties broken": (SVC(break_ties=True, gamma=50), make_blobs(40, centers=4, random_state=3)),
    "far away": (SVC(gamma=1e4), make_blobs(30, centers=3, random_state=3)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_most_probable_class_is_the_predicted_one(name):
    model, (X, y) = CASES[name]
    model = clone(model).set_params(probability=True).fit(X, y)
    rng = np.random.default_rng(0)
    new = rng.uniform(X.min() - 1.0, X.max() + 1.0, (500, X.shape[1]))
    for rows in (X, new):
        p = model.predict_proba(rows)
        assert p.shape == (len(rows), len(model.classes_))
        assert_array_equal(model.classes_[np.argmax(p, axis=1)], model.predict(rows))
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert np.all(p >= 0.0)
        assert_allclose(np.exp(model.predict_log_proba(rows)), p, rtol=1e-9, atol=1e-300)
    model.certificate_.verify(X, y)


def test_out_of_fold_scores_are_those_of_machines_that_never_saw_the_fold():
    X, y = _two(40)
    model = SVC(C=2.0, gamma=0.3, probability=True, tol=1e-8, random_state=5).fit(X, y)
    folds = _folds(X, y, np.ones(len(y)), model.classes_, 5)
    f = np.empty(len(y))
    for k in range(N_FOLDS):
        f[folds == k] = (
            SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X[folds != k], y[folds != k]).decision_function(X[folds == k])
        )
    slope = sigmoid_slope(f, y == 1, np.ones(len(y)))
    assert slope > 0.1
    assert_allclose(model.probA_, [-slope], rtol=1e-6)
    assert_array_equal(model.probB_, [0.0])


def test_folds_are_stratified_and_equally_large(rng):
    y = rng.permutation(np.repeat([0, 1, 2], [37, 13, 3]))
    for X in (rng.standard_normal((len(y), 2)), None):
        folds = _folds(X, y, np.ones(len(y)), np.arange(3), 0)
        assert np.ptp(np.bincount(folds, minlength=N_FOLDS)) <= 1
        for label in range(3):
            assert np.ptp(np.bincount(folds[y == label], minlength=N_FOLDS)) <= 1


def test_what_a_row_holds_decides_its_fold(rng):
    X = rng.integers(-1, 2, (60, 3)).astype(float)
    y = rng.integers(0, 2, 60)
    order = rng.permutation(60)
    folds = _folds(X, y, np.ones(60), np.arange(2), 3)
    for same in (sparse.csr_matrix(X), X.astype(np.float32), X * np.where(X == 0.0, -1.0, 1.0)):
        assert_array_equal(_folds(same, y, np.ones(60), np.arange(2), 3), folds)
    assert_array_equal(_folds(X[order], y[order], np.ones(60), np.arange(2), 3), folds[order])
    assert np.any(_folds(X, y, np.ones(60), np.arange(2), 4) != folds)
    words = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, 60)]
    folds = _folds(words, np.zeros(60, dtype=int), np.ones(60), np.arange(1), 3)
    assert all(len(np.unique(folds[words == word])) == 1 for word in "abc")


def test_a_row_of_weight_two_is_the_row_twice_also_for_probabilities(rng):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    weight = rng.integers(1, 4, len(y))
    order = rng.permutation(weight.sum())
    weighted = SVC(probability=True, tol=1e-8).fit(X, y, sample_weight=weight)
    repeated = SVC(probability=True, tol=1e-8).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    assert_allclose(weighted.probA_, repeated.probA_, rtol=1e-5)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_classes_of_one_row_each_that_no_machine_can_learn_apart_are_equally_probable():
    model = SVC(probability=True).fit(np.array([[0.0], [1.0], [1.0]]), [0, 1, 1])
    assert_allclose(model.predict_proba([[0.0], [1.0]]), 0.5, rtol=1e-15)


def test_a_row_of_weight_zero_is_absent_from_the_probabilities():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    kept = np.arange(len(y)) % 4 != 1
    weighted = SVC(probability=True, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=kept.astype(float))
    fewer = SVC(probability=True, gamma=0.5, tol=1e-8).fit(X[kept], y[kept])
    assert_allclose(weighted.probA_, fewer.probA_, rtol=1e-5)
    assert_allclose(weighted.predict_proba(X), fewer.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_dense_sparse_and_kernel_objects_give_the_same_probabilities(n_classes):
    X, y = make_blobs(40, centers=n_classes, cluster_std=4.0, random_state=0)
    expected = SVC(probability=True, gamma=0.1, tol=1e-8).fit(X, y).predict_proba(X)
    for kernel, rows in [("rbf", sparse.csr_array(X)), (Gaussian(0.1), X), (lambda A, B: rbf_kernel(A, B, 0.1), X)]:
        model = SVC(kernel=kernel, probability=True, gamma=0.1, tol=1e-8).fit(rows, y)
        assert_allclose(model.predict_proba(rows), expected, atol=1e-5)


def test_out_of_fold_scores_of_a_precomputed_kernel_never_saw_the_fold():
    X, y = _two(40)
    K = X @ X.T
    model = SVC(kernel="precomputed", probability=True, tol=1e-8).fit(K, y)
    folds = _folds(None, y, np.ones(len(y)), model.classes_, 0)
    f = np.empty(len(y))
    for k in range(N_FOLDS):
        inner = SVC(kernel="linear", tol=1e-8).fit(X[folds != k], y[folds != k])
        f[folds == k] = inner.decision_function(X[folds == k])
    assert_allclose(model.probA_, [-sigmoid_slope(f, y == 1, np.ones(len(y)))], rtol=1e-6)


def test_probabilities_depend_on_the_seed_alone():
    X, y = _two()
    once, again, other = (SVC(probability=True, random_state=seed).fit(X, y).probA_ for seed in (1, 1, 2))
    assert_array_equal(once, again)
    assert once != other


def test_symmetric_classes_have_the_probabilities_they_were_drawn_from():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = rng.standard_normal((600, 1)) + np.where(y, 1.0, -1.0)[:, None]  # log odds 2 x
    model = SVC(kernel="linear", probability=True).fit(X, y)
    x = np.linspace(-2, 2, 9)[:, None]
    assert_allclose(model.predict_proba(x)[:, 1], expit(2.0 * x[:, 0]), atol=0.06)


def test_a_model_file_keeps_the_probabilities(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SVC(probability=True).fit(X[::5], y[::5])
    model.save(tmp_path / "model")
    assert_array_equal(maxmargin.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_a_fit_without_probabilities_has_none_and_a_later_one_forgets_them():
    X, y = _two()
    model = SVC(probability=True).fit(X, y)
    assert len(model.probA_) == 1
    model.set_params(probability=False).fit(X, y)
    assert model.probA_.size == model.probB_.size == 0
    assert not hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError, match="Fit again with probability=True"):
        model.set_params(probability=True).predict_proba(X)


def test_probability_must_be_true_or_false():
    with pytest.raises(ParameterError, match="probability must be True or False, got probability='yes'"):
        SVC(probability="yes").fit(*_two())


def test_probabilities_from_machines_that_were_stopped_say_so():
    X, y = _two()
    with pytest.warns(NotConvergedWarning) as said:
        model = SVC(probability=True, max_iter=1, C=1e4).fit(X, y)
    assert any("of the 5 machines whose scores the probabilities are fitted to" in str(one.message) for one in said)
    assert_array_equal(np.argmax(model.predict_proba(X), axis=1), model.predict(X))
