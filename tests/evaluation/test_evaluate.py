"""Splits keep their promises, cross-validation is what refitting gives, and the 5x2 tests are those of the papers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn import config_context, get_config, model_selection, svm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, Ridge
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.evaluate import (
    FiveByTwoComparison,
    compare_five_by_two,
    cross_validate,
    five_by_two,
    grid,
    holdout,
    k_fold,
    leave_one_out,
    left_out,
    train_validation_test,
)
from maxmargin.kernels import EditDistance


def _standardised(load, n=None):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n], y[:n]


def _uneven_labels(rng, n):
    """Labels of classes of very different sizes, the smallest of at least ten rows."""
    sizes = [10, 11, n // 4]
    y = np.repeat(["rare", "odd", "some", "most"], [*sizes, n - sum(sizes)])
    return rng.permutation(y)


# ---------------------------------------------------------------------------------------------------------- splitters


@pytest.mark.parametrize("n", [53, 100, 1001])
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("stratify", [True, False])
def test_every_row_is_tested_exactly_once_and_fold_sizes_differ_by_at_most_one(n, k, stratify, rng):
    X, y = np.zeros((n, 1)), _uneven_labels(rng, n)
    folds = list(k_fold(k, seed=3, stratify=stratify).split(X, y))
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(n))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("n", [53, 100, 1001])
@pytest.mark.parametrize("splitter", [k_fold(7), holdout(0.3), holdout(0.123), train_validation_test(), five_by_two()])
def test_every_class_has_its_share_in_every_part_within_one_row(splitter, n, rng):
    y = _uneven_labels(rng, n)
    shares = {
        "KFold": (6 / 7, 1 / 7),
        "Holdout": (1.0 - getattr(splitter, "test", 0.0), getattr(splitter, "test", 0.0)),
        "TrainValidationTest": (0.7, 0.1, 0.2),
        "FiveByTwo": (0.5, 0.5),
    }[type(splitter).__name__]
    splits = list(splitter.split(np.zeros(n), y))
    assert len(splits) == splitter.get_n_splits(np.zeros(n), y)
    for parts in splits:
        assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
        for part, share in zip(parts, shares, strict=True):
            assert abs(len(part) - share * n) < 1.5
            for label in np.unique(y):
                assert abs(np.sum(y[part] == label) - share * np.sum(y == label)) < 1.0 + 1e-9


SPLITTERS = [holdout(0.3, seed=5), k_fold(4, seed=5), five_by_two(seed=5), train_validation_test(seed=5).without_test]


@pytest.mark.parametrize("splitter", [*SPLITTERS, leave_one_out()], ids=lambda one: type(one).__name__)
def test_a_group_is_never_on_both_sides_and_no_side_is_empty(splitter, rng):
    groups = np.array([f"g{k}" for k in rng.integers(0, 12, 90)])
    y = rng.integers(0, 3, 90)
    splits = list(splitter.split(np.zeros((90, 1)), y, groups))
    assert len(splits) == splitter.get_n_splits(np.zeros((90, 1)), y, groups)
    for train, test in splits:
        assert len(train) > 0
        assert len(test) > 0
        assert not set(groups[train]) & set(groups[test])
    if splitter in (SPLITTERS[1], leave_one_out()):
        assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(90))


def test_groups_of_one_row_are_dealt_as_evenly_as_rows(rng):
    y = rng.permutation(np.repeat([0, 1], [30, 60]))
    for _, test in k_fold(5).split(np.zeros(90), y, groups=np.arange(90)):
        assert np.sum(y[test] == 0) == 6
        assert np.sum(y[test] == 1) == 12


def test_every_part_gets_a_group_where_there_are_as_many_as_parts():
    groups = np.repeat([0, 1, 2], [80, 10, 10])
    parts = next(train_validation_test(0.1, 0.1, 0.8).split(np.zeros(100), None, groups))
    assert sorted(map(len, parts)) == [10, 10, 80]
    assert [len(part) for part in next(holdout(0.01).split(np.zeros(100), None, groups))] == [90, 10]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda one: type(one).__name__)
def test_the_same_seed_gives_the_same_split_and_another_seed_another(splitter, rng):
    X, y = np.zeros(60), rng.integers(0, 2, 60)

    def tests(one):
        return [test.tolist() for _, test in one.split(X, y)]

    assert tests(splitter) == tests(splitter)
    if hasattr(splitter, "seed"):
        other = type(splitter)(**{**vars(splitter), "seed": 6})
        assert tests(other) != tests(splitter)


def test_halves_of_five_by_two_change_sides():
    splits = list(five_by_two().split(np.zeros(21)))
    for k in range(0, 10, 2):
        assert_array_equal(splits[k][0], splits[k + 1][1])
        assert_array_equal(splits[k][1], splits[k + 1][0])
    assert len({tuple(test) for _, test in splits}) == 10


def test_without_test_has_the_training_and_validation_rows_and_no_others(rng):
    X, y = np.zeros(80), rng.integers(0, 2, 80)
    whole = train_validation_test(0.5, 0.25, 0.25)
    train, validation, test = next(whole.split(X, y))
    ours = next(whole.without_test.split(X, y))
    assert_array_equal(ours[0], train)
    assert_array_equal(ours[1], validation)
    assert not set(test) & (set(train) | set(validation))


@pytest.mark.parametrize("splitter", [*SPLITTERS, leave_one_out()], ids=lambda one: type(one).__name__)
def test_scikit_learn_takes_every_splitter_as_cv(splitter):
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    scores = cross_val_score(DummyClassifier(), X, y, cv=splitter)
    assert len(scores) == splitter.get_n_splits(X, y)
    search = GridSearchCV(DummyClassifier(), {"strategy": ["prior", "uniform"]}, cv=splitter).fit(X, y)
    assert search.n_splits_ == len(scores)
    group_scores = cross_val_score(DummyClassifier(), X, y, cv=splitter, groups=np.arange(30) // 2)
    assert np.all(np.isfinite(group_scores))


@pytest.mark.parametrize(
    "y, are_labels",
    [
        (np.array(["a", "b"] * 10), True),
        (np.array([True, False] * 10), True),
        (np.array([1.0, -1.0] * 10), True),
        (np.arange(20) % 5, True),
        (np.linspace(0.0, 1.0, 20), False),
        (np.arange(20), False),
        (np.array([1.0, np.nan] * 10), False),
    ],
)
def test_only_labels_are_stratified_where_nobody_says(y, are_labels):
    X = np.zeros(len(y))

    def same(stratify):
        pairs = zip(k_fold(2).split(X, y), k_fold(2, stratify=stratify).split(X, y), strict=True)
        return all(np.array_equal(a[1], b[1]) for a, b in pairs)

    assert same(False) is not are_labels
    if are_labels:
        assert same(True)


def test_splitters_refuse_what_cannot_be_split():
    X, y = np.zeros((10, 1)), np.array(["a"] * 8 + ["b"] * 2)
    refused = [
        (ParameterError, "k must be", lambda: k_fold(1)),
        (ParameterError, "k must be", lambda: k_fold(2.5)),
        (ParameterError, "share of the rows", lambda: holdout(1.0)),
        (ParameterError, "share of the rows", lambda: holdout(30)),
        (ParameterError, "sum to 1", lambda: train_validation_test(0.7, 0.2, 0.2)),
        (ParameterError, "share of the rows", lambda: train_validation_test(0.8, 0.2, 0.0)),
        (ParameterError, "seed must be", lambda: k_fold(seed=-1)),
        (ParameterError, "stratify must be", lambda: next(k_fold(stratify="yes").split(X, y))),
        (ParameterError, "give X", lambda: leave_one_out().get_n_splits()),
        (DataError, "cannot be dealt into 11", lambda: next(k_fold(11).split(X))),
        (DataError, "class 'b' has 2 rows", lambda: next(k_fold(3).split(X, y))),
        (DataError, "test part gets none", lambda: next(holdout(0.01).split(X))),
        (DataError, "needs labels", lambda: next(k_fold(2, stratify=True).split(X))),
        (DataError, "one label a row", lambda: next(k_fold(2).split(X, y[:5]))),
        (DataError, "one entry a row", lambda: next(k_fold(2).split(X, y, [1, 2]))),
        (DataError, "2 groups cannot", lambda: next(k_fold(3).split(X, y, y))),
        (DataError, "two rows", lambda: next(leave_one_out().split(X[:1]))),
        (DataError, "two groups", lambda: next(leave_one_out().split(X, y, np.zeros(10)))),
        (DataTypeError, "mixes kinds", lambda: next(k_fold(2).split(X, np.array([1, "a"] * 5, dtype=object)))),
    ]
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()


# ----------------------------------------------------------------------------------------------------- cross_validate


@pytest.mark.parametrize(
    "machine, data",
    [
        (SVC(tol=1e-6, gamma="auto"), _standardised(load_breast_cancer, 300)),
        (SVC(tol=1e-6, gamma=0.2, class_weight="balanced"), load_iris(return_X_y=True)),
        (SVC(tol=1e-6, kernel="linear", C=0.1), _standardised(load_breast_cancer, 200)),
        (SVC(tol=1e-6, gamma=0.1), tuple(np.float32(part) for part in load_iris(return_X_y=True))),
        (SVC(tol=1e-6, gamma=0.1), (sparse.csr_matrix(load_iris().data), load_iris().target_names[load_iris().target])),
    ],
    ids=["auto", "balanced", "linear", "float32", "sparse"],
)
@pytest.mark.parametrize("cv", [k_fold(5), five_by_two(), holdout()], ids=lambda one: type(one).__name__)
def test_the_fast_route_predicts_and_scores_as_plain_refits_do(machine, data, cv):
    X, y = data
    found = cross_validate(machine, X, y, cv=cv)
    assert found.route == "From stored kernel values"
    for (train, test), predicted, score in zip(cv.split(X, y), found.fold_predictions, found.scores, strict=True):
        model = clone(machine).fit(X[train], y[train])
        assert np.sum(model.predict(X[test]) != predicted) <= 1  # a row on the boundary may fall either way
        assert score == pytest.approx(np.mean(predicted == y[test]))


def test_gamma_scale_is_the_width_of_the_rows_that_each_fold_trains_on():
    X, y = _standardised(load_breast_cancer, 300)
    X[::5] *= 10.0  # widths differ much from fold to fold
    groups = np.arange(300) % 5
    found = cross_validate(SVC(tol=1e-6), X, y, cv=leave_one_out(), groups=groups)
    slow = cross_val_predict(SVC(tol=1e-6), X, y, cv=model_selection.LeaveOneGroupOut(), groups=groups)
    assert_array_equal(found.predictions, slow)


def _hard(case, rng):
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 0.8, "yes", "no")
    if case == "duplicated rows":
        X, y = np.repeat(X[:30], 2, axis=0), np.repeat(y[:30], 2)
    elif case == "constant and zero columns":
        X = np.hstack([X, np.zeros((60, 2)), np.full((60, 1), 3.0)])
    elif case == "tiny":
        X *= 1e-6
    elif case == "huge":
        X *= 1e6
    elif case == "more columns than rows":
        X = np.hstack([X, 0.1 * rng.normal(size=(60, 100))])
    return X, y


HARD = ["duplicated rows", "constant and zero columns", "tiny", "huge", "more columns than rows"]


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("cv", [k_fold(4), leave_one_out()], ids=["folds", "leave one out"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.slow
def test_both_fast_routes_stand_hard_data(case, cv, is_sparse, rng):
    X, y = _hard(case, rng)
    gamma = 1.0 / (X.shape[1] * X.var())
    rows = sparse.csr_matrix(X) if is_sparse else X
    fast = cross_validate(SVC(C=2.0, gamma=gamma, tol=1e-6), rows, y, cv=cv)
    slow = cross_validate(SVC(C=2.0, gamma=gamma, tol=1e-6, solver="smo"), rows, y, cv=cv)
    assert fast.route != slow.route == "A fit for each fold"
    assert np.sum(fast.predictions != slow.predictions) <= 1  # a row on the boundary may fall either way


def test_the_fast_route_of_a_regression_predicts_as_plain_refits_do():
    X, y = _standardised(load_diabetes, 200)
    machine = SVR(C=50.0, gamma=0.05, tol=1e-6)
    found = cross_validate(machine, X, y, cv=k_fold(4))
    slow = cross_val_predict(machine, X, y, cv=k_fold(4, stratify=False))
    assert_allclose(found.predictions, slow, atol=1e-3 * np.std(y))
    assert_allclose(found.scores, cross_val_score(machine, X, y, cv=k_fold(4, stratify=False)), atol=1e-4)


@pytest.mark.parametrize(
    "fast, data",
    [
        (SVC(gamma=0.3, tol=1e-6), load_iris(return_X_y=True)),
        (SVR(C=3.0, gamma=0.05, tol=1e-6), _standardised(load_diabetes, 60)),
    ],
)
@pytest.mark.parametrize("cv", [leave_one_out(), model_selection.LeaveOneOut()], ids=["ours", "theirs"])
@pytest.mark.slow
def test_leaving_one_out_by_short_solves_equals_leaving_one_out_by_refits(fast, data, cv):
    found = cross_validate(fast, *data, cv=cv)
    slow = cross_validate(clone(fast).set_params(solver="blocks"), *data, cv=cv)
    assert "short solves" in found.route
    assert slow.route == "A fit for each fold"
    if isinstance(fast, SVC):
        assert_array_equal(found.predictions, slow.predictions)
        assert_array_equal(found.scores, slow.scores)
        p, n = found.mean, len(data[1])
        assert found.standard_error == pytest.approx(np.sqrt(p * (1.0 - p) / (n - 1)))
    else:  # R^2 of one row is not defined
        assert_allclose(found.predictions, slow.predictions, atol=1e-4)
        assert_allclose(found.scores, slow.scores, atol=1e-4)
        assert len(found.scores) == 1
        assert np.isnan(found.standard_error)
        assert "together" in str(found)


def test_any_estimator_scores_as_in_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    for model, scoring in [
        (make_pipeline(StandardScaler(), LinearSVC()), "roc_auc"),
        (make_pipeline(StandardScaler(), TheirLogisticRegression()), None),
        (svm.SVC(), "f1"),
        (DummyClassifier(), "balanced_accuracy"),
    ]:
        found = cross_validate(model, X, y, cv=k_fold(3), scoring=scoring)
        assert_allclose(found.scores, cross_val_score(model, X, y, cv=k_fold(3), scoring=scoring))
        assert_array_equal(found.predictions, cross_val_predict(model, X, y, cv=k_fold(3)))
        assert found.mean == pytest.approx(np.mean(found.scores))
        assert found.standard_error == pytest.approx(stats.sem(found.scores))


def test_settings_of_scikit_learn_reach_the_threads_that_fit():
    class Asking(DummyClassifier):
        def fit(self, X, y):
            seen.append(get_config()["working_memory"])
            return super().fit(X, y)

    seen = []
    with config_context(working_memory=7):
        cross_validate(Asking(), *load_iris(return_X_y=True), n_jobs=2)
    assert seen == [7] * 5


def test_a_number_of_folds_a_splitter_of_theirs_and_pairs_of_rows_are_folds_too():
    X, y = _standardised(load_iris)
    theirs = model_selection.StratifiedKFold(4)
    pairs = list(theirs.split(X, y))
    by_splitter, by_pairs = (cross_validate(LinearSVC(), X, y, cv=cv) for cv in (theirs, pairs))
    assert_array_equal(by_splitter.scores, by_pairs.scores)
    by_number, by_ours = (cross_validate(LinearSVC(), X, y, cv=cv) for cv in (4, k_fold(4)))
    assert_array_equal(by_number.scores, by_ours.scores)


def test_integer_targets_are_numbers_to_a_regressor_and_labels_to_a_classifier():
    X, y = _standardised(load_iris)
    sizes = {}
    for model in (Ridge(), LinearSVC()):
        found = cross_validate(model, X, y, cv=k_fold(5))
        sizes[type(model)] = [np.bincount(y[test], minlength=3).tolist() for test in found.test_rows]
    assert sizes[LinearSVC] == [[10, 10, 10]] * 5
    assert sizes[Ridge] != [[10, 10, 10]] * 5


@pytest.mark.parametrize("machine", [SVC(gamma=0.2, tol=1e-6), SVC(gamma=0.2, tol=1e-6, solver="smo"), LinearSVC()])
def test_a_row_of_weight_two_counts_as_the_row_twice_in_fits_and_in_scores(machine, rng):
    X, y = load_iris(return_X_y=True)
    weight = rng.integers(0, 3, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    folds = list(k_fold(3).split(X, y))
    repeated = [(np.flatnonzero(np.isin(twice, a)), np.flatnonzero(np.isin(twice, b))) for a, b in folds]
    ours = cross_validate(machine, X, y, cv=folds, sample_weight=weight)
    theirs = cross_validate(machine, X[twice], y[twice], cv=repeated)
    assert_allclose(ours.scores, theirs.scores, atol=2.1 / 50)  # a row on the boundary may fall either way
    assert np.mean(np.abs(ours.scores - theirs.scores)) <= 0.02


def test_weights_of_a_leave_one_out_count_in_its_score(rng):
    X, y = load_iris(return_X_y=True)
    weight = rng.integers(0, 3, len(y)).astype(float)
    found = cross_validate(SVC(gamma=0.3), X, y, cv=leave_one_out(), sample_weight=weight)
    assert found.mean == pytest.approx(np.average(found.predictions == y, weights=weight))
    assert found.mean == pytest.approx(left_out(SVC(gamma=0.3), X, y, weight).score)


def test_a_table_a_sparse_matrix_and_an_array_give_the_same_scores():
    table, y = load_iris(return_X_y=True, as_frame=True)
    X = table.to_numpy()
    for model in (SVC(gamma=0.2), SVC(gamma=0.2, solver="smo"), LinearSVC()):
        scores = cross_validate(model, X, y).scores
        assert_array_equal(scores, cross_validate(model, table, y).scores)
        assert_allclose(scores, cross_validate(model, sparse.csr_matrix(X), y).scores, atol=0.034)


def test_strings_are_rows_too():
    words = ["kitten", "sitten", "mitten", "bitten", "sunday", "monday", "friday", "payday"] * 2
    y = np.array(["cat"] * 4 + ["day"] * 4)[np.arange(16) % 8]
    for model in (SVC(kernel=EditDistance()), make_pipeline(CountVectorizer(analyzer="char"), LinearSVC())):
        assert cross_validate(model, words, y, cv=k_fold(4)).mean == 1.0


@pytest.mark.parametrize("cv", [k_fold(4), leave_one_out()], ids=["folds", "leave one out"])
def test_a_precomputed_kernel_gives_what_its_kernel_gives(cv):
    X, y = _standardised(load_breast_cancer, 100)
    K = X @ X.T
    vectors = cross_validate(SVC(kernel="linear", C=0.1, tol=1e-6), X, y, cv=cv)
    for model in (SVC(kernel="precomputed", C=0.1, tol=1e-6), svm.SVC(kernel="precomputed", C=0.1, tol=1e-6)):
        assert_array_equal(cross_validate(model, K, y, cv=cv).predictions, vectors.predictions)


def test_groups_stay_together_in_cross_validation(rng):
    X, y = _standardised(load_iris)
    groups = rng.integers(0, 20, len(y))
    found = cross_validate(LinearSVC(), X, y, groups=groups)
    assert all(not set(groups[test]) & set(np.delete(groups, test)) for test in found.test_rows)
    assert len(cross_validate(LinearSVC(), X, y, cv=leave_one_out(), groups=groups).scores) == 20


def test_predictions_are_refused_where_rows_are_not_tested_exactly_once():
    X, y = load_iris(return_X_y=True)
    for cv in (holdout(), five_by_two()):
        found = cross_validate(SVC(), X, y, cv=cv)
        with pytest.raises(DataError, match="fold_predictions"):
            _ = found.predictions
    assert np.isnan(cross_validate(SVC(), X, y, cv=holdout()).standard_error)


def test_the_text_and_the_html_say_that_folds_are_correlated():
    found = cross_validate(SVC(), *load_iris(return_X_y=True), cv=k_fold(3))
    for text in (str(found), found._repr_html_()):
        assert "correlated" in text
        assert f"{found.mean:.4f}" in text
        assert all(f"{score:.4f}" in text for score in found.scores)
    assert "correlated" not in str(cross_validate(SVC(), *load_iris(return_X_y=True), cv=holdout()))


def test_the_number_of_threads_changes_nothing():
    X, y = _standardised(load_iris)
    for model in (SVC(), LinearSVC()):
        one, three = (cross_validate(model, X, y, n_jobs=n_jobs).scores for n_jobs in (1, 3))
        assert_array_equal(one, three)


def test_progress_counts_every_fold_and_silence_is_the_default(capsys):
    X, y = _standardised(load_iris)
    cross_validate(SVC(), X, y)
    assert capsys.readouterr() == ("", "")
    for call, last in [
        (lambda: cross_validate(SVC(), X, y, verbose=1), "cross_validate: 5 of 5 folds"),
        (lambda: cross_validate(LinearSVC(), X, y, cv=3, verbose=1), "cross_validate: 3 of 3 folds"),
        (lambda: left_out(SVC(), X, y, verbose=1), "left_out: 450 of 450 rows"),
        (lambda: grid(SVC(), X, y, C=[0.1, 1.0], gamma=[0.1, 1.0], verbose=1), "grid: 10 of 10 folds"),
        (lambda: grid(LinearSVC(), X, y, C=[0.1, 1.0], cv=3, verbose=1), "grid: 6 of 6 fits"),
    ]:
        call()
        written, errors = capsys.readouterr()
        assert errors == ""
        assert written.splitlines()[-1].startswith(last)


def test_cross_validation_refuses_what_it_cannot_do():
    X, y = load_iris(return_X_y=True)
    refused = [
        (ParameterError, "no estimator", lambda: cross_validate(StandardScaler(), X, y)),
        (ParameterError, "without_test", lambda: cross_validate(SVC(), X, y, cv=train_validation_test())),
        (ParameterError, "no split", lambda: cross_validate(SVC(), X, y, cv=[])),
        (ParameterError, "cv must be", lambda: cross_validate(SVC(), X, y, cv=0.5)),
        (ParameterError, "verbose must", lambda: cross_validate(SVC(), X, y, verbose="loud")),
        (DataError, "one label a row", lambda: cross_validate(SVC(), X, y[:-1])),
        (DataError, "fewer than the 51 parts", lambda: cross_validate(SVC(), X, y, cv=51)),
        (DataError, "Sample weights", lambda: cross_validate(SVC(), X, y, sample_weight=[1.0])),
    ]
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()


def test_a_search_takes_tables_precomputed_kernels_and_hard_margins():
    table, y = load_iris(return_X_y=True, as_frame=True)
    X = table.to_numpy()
    for model in (SVC(), LinearSVC()):
        assert_array_equal(grid(model, table, y, C=[0.1, 1.0]).scores, grid(model, X, y, C=[0.1, 1.0]).scores)
    for model in (SVC, svm.SVC):
        by_matrix = grid(model(kernel="precomputed", tol=1e-5), X @ X.T, y, C=[0.1, 1.0])
        assert_allclose(by_matrix.scores, grid(SVC(kernel="linear", tol=1e-5), X, y, C=[0.1, 1.0]).scores, atol=0.034)
    two = y.to_numpy() < 2  # these two classes can be separated
    hard = grid(SVC(kernel="linear"), X[two], y[two], C=[1.0, np.inf])
    assert hard.mean.tolist() == [1.0, 1.0]


# -------------------------------------------------------------------------------------------------- five times two


def _all_alike_but_the_first(x, e):
    """Differences x - e, x + e in the first halving and x, x in the others: s_1^2 = 2 e^2, and the other s_i^2 = 0."""
    b = np.full((5, 2), 0.5)
    return FiveByTwoComparison("A", "B", b + np.array([[x - e, x + e], *[[x, x]] * 4]), b)


def test_the_statistics_are_those_computed_by_hand():
    """By hand t = (x - e) / sqrt(2 e^2 / 5) and F = (10 x^2 + 2 e^2) / (4 e^2)."""
    found = _all_alike_but_the_first(0.2, 0.1)
    assert found.difference == pytest.approx(0.2)
    assert found.t == pytest.approx(1.5811388)
    assert found.F == pytest.approx(10.5)  # noqa: SIM300 - F is no constant


def test_the_p_values_are_those_of_the_printed_tables():
    """P(|t| > 2.570582) = 0.05 for 5 degrees of freedom, P(F > 4.735063) = 0.05 for 10 and 5."""
    assert _all_alike_but_the_first(0.1 * (1.0 + 2.570582 / np.sqrt(2.5)), 0.1).t_p_value == pytest.approx(
        0.05, abs=1e-6
    )
    assert _all_alike_but_the_first(0.1 * np.sqrt((4.735063 - 0.5) / 2.5), 0.1).F_p_value == pytest.approx(
        0.05, abs=1e-6
    )


def test_methods_that_always_agree_are_not_told_apart_and_constant_differences_are():
    same = np.full((5, 2), 0.8)
    equal = FiveByTwoComparison("A", "B", same, same)
    assert (equal.t, equal.F, equal.t_p_value, equal.F_p_value) == (0.0, 0.0, 1.0, 1.0)
    apart = FiveByTwoComparison("A", "B", same - 0.25, same)
    assert (apart.t_p_value, apart.F_p_value) == pytest.approx((0.0, 0.0))
    assert apart.t < 0.0
    X, y = load_iris(return_X_y=True)
    assert compare_five_by_two(SVC(), SVC(), X, y).F_p_value == 1.0


class NearestMean(ClassifierMixin, BaseEstimator):
    """Two classes, one column: the class whose mean is nearer."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.means_ = np.array([X[y == label, self.column].mean() for label in (0, 1)])
        return self

    def predict(self, X):
        return np.abs(X[:, self.column, None] - self.means_).argmin(axis=1)

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))


@pytest.mark.slow
def test_equal_methods_are_told_apart_about_as_often_as_the_level_says(rng):
    """Two columns that are exchangeable make equal methods; a third that is better makes a better one."""
    n_trials, n = 200, 60
    rejected = {"F": 0, "t": 0, "better": 0}
    for trial in range(n_trials):
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 3)) + np.outer(y, [1.0, 1.0, 4.0])
        found = compare_five_by_two(NearestMean(0), NearestMean(1), X, y, seed=trial, n_jobs=1)
        rejected["F"] += found.F_p_value < 0.05
        rejected["t"] += found.t_p_value < 0.05
        if trial < 50:
            better = compare_five_by_two(NearestMean(2), NearestMean(0), X, y, seed=trial, n_jobs=1)
            rejected["better"] += better.F_p_value < 0.05 and better.difference > 0.0
    # Of 200 trials of probability 0.05 more than 20 succeed less than once in a thousand times.
    assert rejected["F"] <= 20
    assert 1 <= rejected["t"] <= 20
    assert rejected["better"] >= 40


def test_the_comparison_scores_both_methods_on_the_same_ten_splits():
    X, y = _standardised(load_breast_cancer)
    found = compare_five_by_two(LinearSVC(), DummyClassifier(), X, y, seed=4, scoring="balanced_accuracy")
    for model, ours in [(LinearSVC(), found.scores_a), (DummyClassifier(), found.scores_b)]:
        slow = cross_val_score(model, X, y, cv=five_by_two(seed=4), scoring="balanced_accuracy")
        assert_allclose(ours.ravel(), slow)
    assert found.difference == pytest.approx(np.mean(found.scores_a) - np.mean(found.scores_b))
    assert found.F_p_value < 0.01
    for text in (str(found), found._repr_html_()):
        assert "LinearSVC" in text
        assert "F = " in text


def test_labels_that_need_care_in_html_are_escaped():
    class Odd(DummyClassifier):
        pass

    Odd.__name__ = "<b>&"
    found = cross_validate(Odd(), *load_iris(return_X_y=True))
    assert "<b>&" not in found._repr_html_()
    assert "&lt;b&gt;&amp;" in found._repr_html_()


def test_scores_with_pandas_labels_do_not_warn():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        series = pd.Series(y, index=np.arange(len(y))[::-1])
        assert_array_equal(cross_validate(SVC(), X, series).scores, cross_validate(SVC(), X, y).scores)
