"""Searches and leave-one-out give what refitting gives, from one kernel matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC
from maxmargin.errors import DataError, ParameterError
from maxmargin.evaluate import cross_validate, grid, holdout, k_fold, leave_one_out, left_out, path
from maxmargin.problems import Status


def _digits(n=400):
    X, y = load_digits(return_X_y=True)
    keep = np.flatnonzero(y < 5)[:n]
    return X[keep] / 16.0, np.array(["zero", "one", "two", "three", "four"])[y[keep]]


def _standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


CLASSIFICATION = [
    (SVC(tol=1e-5), load_iris(return_X_y=True), {"C": [0.1, 10.0, 1.0], "gamma": [0.01, 0.5]}),
    (SVC(tol=1e-5, class_weight="balanced"), _standardised(load_breast_cancer), {"gamma": ["scale"], "C": [0.3, 3.0]}),
    (SVC(tol=1e-5, kernel="poly", coef0=1.0), _digits(), {"C": [0.01, 1.0], "degree": [1, 3]}),
    (SVC(tol=1e-5, break_ties=True), _digits(), {"C": [0.5, 5.0], "gamma": [0.02]}),
    (SVC(tol=1e-5, intercept="augmented"), load_iris(return_X_y=True), {"C": [1.0, 30.0]}),
]


@pytest.mark.parametrize("machine, data, values", CLASSIFICATION)
@pytest.mark.slow
def test_a_search_scores_as_refitting_every_setting_on_every_fold_does(machine, data, values):
    found = grid(machine, *data, **values)
    slow = GridSearchCV(machine, values, cv=k_fold(5), refit=False).fit(*data)
    names = sorted(values)
    shape = [len(values[name]) for name in names]
    theirs = np.stack([slow.cv_results_[f"split{k}_test_score"].reshape(shape) for k in range(5)], axis=-1)
    ours = np.transpose(found.scores, [list(found.parameters).index(name) for name in names] + [len(names)])
    n_test = len(data[1]) / 5
    assert np.max(np.abs(ours - theirs)) * n_test <= 1.01  # a row on the boundary may fall either way
    assert np.mean(ours != theirs) <= 0.1
    assert found.best_score == pytest.approx(slow.best_score_, abs=0.51 / n_test)


def test_a_search_for_regression_scores_as_refitting_does():
    X, y = _standardised(load_diabetes)
    y = (y - y.mean()) / y.std()
    values = {"C": [0.1, 1.0, 10.0], "epsilon": [0.1, 0.5], "gamma": [0.01, 0.1]}
    found = grid(SVR(tol=1e-4), X, y, cv=KFold(3), **values)
    slow = GridSearchCV(SVR(tol=1e-4), values, cv=KFold(3), refit=False).fit(X, y)
    assert_allclose(found.mean.ravel(), slow.cv_results_["mean_test_score"], atol=2e-3)
    assert found.best_params == slow.best_params_


@pytest.mark.parametrize(
    "machine, values, scoring",
    [
        (SVC(tol=1e-5), {"C": [0.1, 1.0], "gamma": [0.3]}, None),
        (SVR(tol=1e-5), {"C": [0.1, 1.0], "gamma": [0.3]}, None),
        (SVC(tol=1e-5, gamma=0.3), {"C": [0.1, 1.0]}, "balanced_accuracy"),
        (LinearSVC(), {"C": [0.01, 1.0]}, None),
        (TheirLogisticRegression(max_iter=1000), {"C": [0.01, 1.0]}, None),
    ],
    ids=str,
)
def test_a_row_of_weight_two_is_that_row_twice_in_the_fits_and_in_the_scores_of_a_search(machine, values, scoring):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    found = grid(machine, X, y, sample_weight=weight, cv=folds, scoring=scoring, **values)
    place = np.repeat(np.arange(len(y)), weight)
    repeated = [tuple(np.flatnonzero(np.isin(place, part)) for part in fold) for fold in folds]
    again = grid(machine, X[place], y[place], cv=repeated, scoring=scoring, **values)
    assert_allclose(found.scores, again.scores, atol=2e-3)
    unweighted = grid(machine, X, y, cv=folds, scoring=scoring, **values)
    assert np.max(np.abs(found.scores - unweighted.scores)) > 1e-2  # weights do count


def test_weights_of_the_rows_held_out_count_even_where_those_trained_on_have_none():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]  # in which classes overlap
    train, test = next(KFold(2, shuffle=True, random_state=1).split(X))
    for machine in (SVC(gamma=0.3), LinearSVC()):
        wrong = machine.fit(X[train], y[train]).predict(X[test]) != y[test]
        assert 0 < np.sum(wrong) < len(test)
        weight = np.ones(len(y))
        weight[test[wrong]] = 0.0
        assert grid(machine, X, y, cv=[(train, test)], sample_weight=weight, C=[1.0]).best_score == 1.0
        assert grid(machine, X, y, cv=[(train, test)], C=[1.0]).best_score < 1.0


@pytest.mark.parametrize("machine", [SVC(), SVC(gamma=0.3), LinearSVC()], ids=str)
def test_folds_that_cannot_be_used_are_refused_with_what_to_do(machine):
    X, y = load_iris(return_X_y=True)
    rows, none = np.arange(150), np.arange(0)
    weight = np.repeat([0.0, 1.0], [50, 100])
    groups = np.arange(150) % 3
    refused = [
        (
            [(rows[50:], rows[:50]), (rows[:50], rows[50:])],
            {},
            "fold 2 of 2 trains on rows of the class 0 alone.*Strat",
        ),
        ([(rows[50:], none)], {}, "fold 1 of 1 has no rows to test on"),
        ([(none, rows)], {}, "fold 1 of 1 has no rows to train on"),
        (
            [(rows[:100], rows[100:]), (rows[50:], rows[:50])],
            {"sample_weight": weight},
            "test row of fold 2 of 2 has weight zero.*fewer",
        ),
        (k_fold(5), {"groups": groups}, "3 groups cannot be dealt into 5 parts.*Take 3 parts at most"),
        (k_fold(51), {}, "the class 0 has 50 rows, fewer than the 51 parts. Take fewer parts"),
    ]
    for cv, others, words in refused:
        with pytest.raises(DataError, match=words):
            cross_validate(machine, X, y, cv=cv, **others)
        with pytest.raises(DataError, match=words):
            grid(machine, X, y, cv=cv, C=[1.0], **others)
    with pytest.raises(DataError, match=r"greater than the number of members in each class.*Take fewer folds"):
        grid(machine, X, y, cv=StratifiedKFold(60), C=[1.0])
    with pytest.raises(DataError, match="single test row"):
        grid(machine, X, y, cv=leave_one_out(), sample_weight=weight, C=[1.0])


def test_groups_stay_together_in_a_search():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) // 2
    found = grid(SVC(gamma=0.3), X, y, cv=GroupKFold(3), groups=groups, C=[1.0])
    by_hand = grid(SVC(gamma=0.3), X, y, cv=list(GroupKFold(3).split(X, y, groups)), C=[1.0])
    assert_allclose(found.scores, by_hand.scores)
    with pytest.raises(DataError, match="groups"):
        grid(SVC(), X, y, cv=GroupKFold(3), C=[1.0])


@pytest.mark.parametrize("machine", [LinearSVC(), TheirLogisticRegression(max_iter=1000)])
def test_any_estimator_can_be_searched(machine):
    X, y = _standardised(load_iris)
    found = grid(machine, X, y, C=[0.01, 1.0], cv=3, scoring="balanced_accuracy")
    slow = GridSearchCV(machine, {"C": [0.01, 1.0]}, cv=k_fold(3), scoring="balanced_accuracy").fit(X, y)
    assert_allclose(found.mean, slow.cv_results_["mean_test_score"])
    assert found.best_params == slow.best_params_


def test_the_one_standard_error_rule_takes_the_simplest_setting_that_is_not_worse():
    found = grid(SVC(), *load_iris(return_X_y=True), C=[100.0, 0.1, 1.0, 10.0], gamma=[1.0, 0.1])
    best = np.unravel_index(np.argmax(found.mean), found.mean.shape)
    chosen = found.choose("one-standard-error")
    place = found.parameters["C"].index(chosen["C"]), found.parameters["gamma"].index(chosen["gamma"])
    least = found.mean[best] - found.standard_error[best]
    assert (found.mean[place] - least) > -1e-12
    for i, C in enumerate(found.parameters["C"]):
        if chosen["C"] > C:
            assert np.max(found.mean[i] - least) < 0.0
    model = found.fit("one-standard-error")
    assert chosen["C"] == model.C
    model.certificate_.verify(*load_iris(return_X_y=True))


def test_a_search_refuses_what_it_cannot_do():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="at least one parameter"):
        grid(SVC(), X, y)
    with pytest.raises(ParameterError, match="no parameter cost"):
        grid(SVC(), X, y, cost=[1.0])
    with pytest.raises(ParameterError, match="at least one value"):
        grid(SVC(), X, y, C=[])
    with pytest.raises(ParameterError, match="one-standard-error"):
        grid(SVC(), X, y, C=[1.0]).choose("two")


@pytest.mark.parametrize(
    "machine, data",
    [
        (SVC(gamma=0.3, tol=1e-6), load_iris(return_X_y=True)),
        (SVC(gamma=0.3, C=100.0, tol=1e-6), load_iris(return_X_y=True)),
        (SVC(gamma=0.02, tol=1e-6, intercept="none"), _digits(150)),
        (SVC(kernel="linear", C=0.1, tol=1e-6), tuple(part[:150] for part in _standardised(load_breast_cancer))),
    ],
)
@pytest.mark.slow
def test_leaving_out_one_row_at_a_time_equals_refitting_without_it(machine, data):
    X, y = data
    found = left_out(machine, X, y)
    assert_array_equal(found.predictions, cross_val_predict(machine, X, y, cv=LeaveOneOut()))
    assert found.score == pytest.approx(np.mean(found.predictions == y))


def test_only_support_rows_are_solved_again():
    X, y = _standardised(load_breast_cancer)
    model = SVC(tol=1e-6).fit(X, y)
    found = left_out(SVC(tol=1e-6), X, y)
    assert abs(found.n_solved - len(model.support_)) <= 3  # a multiplier of 1e-9 is a support row or none
    rest = np.setdiff1d(np.arange(len(y)), model.support_)
    assert_allclose(found.scores[rest, 0], model.decision_function(X[rest]), atol=1e-4)


def test_leaving_out_rows_of_a_regression_equals_refitting():
    X, y = _standardised(load_diabetes)
    X, y = X[:80], (y[:80] - y.mean()) / y.std()
    machine = SVR(C=3.0, gamma=0.05, tol=1e-6)
    assert_allclose(left_out(machine, X, y).predictions, cross_val_predict(machine, X, y, cv=LeaveOneOut()), atol=1e-4)


def test_leaving_out_refuses_what_has_no_answer():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="SVC and SVR"):
        left_out(LinearSVC(), X, y)
    with pytest.raises(ParameterError, match="finite C"):
        left_out(SVC(C=np.inf), X, y)
    with pytest.raises(DataError, match=r"class 1 has one row; without it there is one class.*two rows"):
        left_out(SVC(), X[:51], y[:51])
    with pytest.raises(ParameterError, match="memory"):
        left_out(SVC(memory="10kB"), X, y)


@pytest.mark.parametrize("machine", [SVC(gamma="scale"), SVC(kernel="poly"), SVC(intercept="augmented")])
def test_a_path_of_kernel_machines_is_that_of_separate_fits(machine):
    X, y = _digits()
    costs = [0.01, 0.1, 1.0, 10.0]
    found = path(clone(machine).set_params(tol=1e-5), X, y, C=costs)
    for C, model in zip(costs, found, strict=True):
        model.certificate_.verify(X, y)
        alone = clone(machine).set_params(tol=1e-5, C=C).fit(X, y)
        assert model.certificate_.status is Status.CONVERGED
        for ours, theirs in zip(model.certificate_.parts, alone.certificate_.parts, strict=True):
            assert ours.primal == pytest.approx(theirs.primal, rel=3e-5)


def test_one_split_has_no_standard_error_and_only_the_best_can_be_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sign(X[:, 0])
    for cv in (ShuffleSplit(1, random_state=0), holdout()):
        found = grid(SVC(), X, y, C=[0.1, 1.0], gamma=[0.1, 1.0], cv=cv)
        assert np.isnan(found.standard_error).all()
        chosen = found.choose("best")
        place = tuple(list(values).index(chosen[name]) for name, values in found.parameters.items())
        assert found.mean[place] == found.mean.max()
        with pytest.raises(ParameterError, match="one split has no standard error"):
            found.choose()
