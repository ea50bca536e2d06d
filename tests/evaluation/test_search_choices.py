"""What a search chooses, on which folds, and what is refused before anything is trained."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import accuracy_score, f1_score, make_scorer, root_mean_squared_error
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, Lasso, LinearSVC, Ridge
from maxmargin.errors import DataError, DataTypeError, MaxMarginError, ParameterError
from maxmargin.evaluate import (
    Grid,
    compare_five_by_two,
    cross_validate,
    grid,
    k_fold,
    leave_one_out,
    left_out,
    path,
    train_validation_test,
)
from maxmargin.evaluate.tables import CORRELATED

X, y = load_iris(return_X_y=True)
Xd, yd = load_diabetes(return_X_y=True)


def searched(scores, **parameters):
    """A search with given scores."""
    return Grid(parameters, np.asarray(scores, dtype=float), None, (None, None, None))


# -------------------------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("machine", [SVC(gamma=0.1), SVC(), LinearSVC()], ids=str)
@pytest.mark.parametrize("cv", [3, np.int64(4), k_fold(3, seed=7)], ids=str)
def test_a_search_and_a_cross_validation_deal_the_same_folds(machine, cv):
    assert_array_equal(grid(machine, X, y, cv=cv, C=[1.0]).scores[0], cross_validate(machine, X, y, cv=cv).scores)


def test_the_order_of_the_rows_does_not_decide_a_search():
    order = np.argsort(yd)
    by_size = grid(Ridge(), Xd[order], yd[order], alpha=[1.0]).best_score
    assert by_size == pytest.approx(grid(Ridge(), Xd, yd, alpha=[1.0]).best_score, abs=0.05)


@pytest.mark.parametrize("machine", [SVC(gamma=5.0, C=100.0), LinearSVC()], ids=str)
def test_a_number_of_folds_keeps_groups_together(machine, rng):
    """Points with labels by chance, each four times: who has seen its copies knows the label, and nobody else does."""
    points, labels = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    four, groups = np.repeat(points, 4, axis=0), np.repeat(np.arange(60), 4)
    found = grid(machine, four, np.repeat(labels, 4), groups=groups, C=[100.0])
    assert found.best_score < 0.75
    again = cross_validate(clone(machine).set_params(C=100.0), four, np.repeat(labels, 4), groups=groups)
    assert_array_equal(found.scores[0], again.scores)


def test_counts_are_numbers_to_a_regressor_and_not_rare_classes(rng):
    counts = rng.poisson(3.0, len(Xd))
    assert np.min(np.bincount(counts)) < 5
    assert_allclose(
        grid(Ridge(), Xd, counts, cv=k_fold(5), alpha=[1.0]).scores[0], cross_validate(Ridge(), Xd, counts).scores
    )


# ------------------------------------------------------------------------------------------------------------ choices


@pytest.mark.parametrize("kind", [list, np.array, np.float32, np.int16], ids=lambda kind: kind.__name__)
def test_numbers_are_simple_by_their_value_whatever_their_kind(kind):
    assert searched(np.full((3, 2), 0.9), C=list(kind([100, 10, 1]))).choose()["C"] == 1
    assert searched(np.full((3, 2), 0.9), alpha=list(kind([1, 100, 10]))).choose()["alpha"] == 100


def test_a_strong_penalty_is_simple_by_either_name_and_counts_before_the_others():
    flat = np.full((2, 2, 3), 0.9)
    assert searched(flat, gamma=[0.1, 1.0], C=[10, 1]).choose() == {"gamma": 0.1, "C": 1}
    crossed = np.full((2, 2, 3), 0.9)
    crossed[0, 1] = 0.0  # the simpler gamma is bad at the simpler C
    assert searched(crossed, gamma=[0.1, 1.0], C=[10, 1]).choose() == {"gamma": 1.0, "C": 1}
    assert searched(crossed, svc__gamma=[0.1, 1.0], svc__C=[10, 1]).choose() == {"svc__gamma": 1.0, "svc__C": 1}
    assert searched(crossed, degree=[1, 2], alpha=[1, 10]).choose() == {"degree": 2, "alpha": 10}
    assert searched(flat, epsilon=[0.1, 0.5], nu=[0.1, 0.2]).choose() == {"epsilon": 0.5, "nu": 0.2}
    assert searched(flat[0], kernel=["rbf", "linear"]).choose() == {"kernel": "rbf"}  # names in their order


@pytest.mark.parametrize("model", [Ridge(), Lasso()], ids=str)
def test_of_penalties_that_are_as_good_the_strongest_is_chosen(model):
    found = grid(model, Xd, yd, alpha=[1e-4, 1e-2, 0.1])
    least = found.best_score - found.standard_error[np.argmax(found.mean)]
    assert np.all(found.mean >= least)
    assert found.choose() == {"alpha": 0.1}


def test_a_pipeline_is_chosen_as_its_machine_is():
    values = {"gamma": [0.001, 0.1], "C": [1, 100]}
    bare = grid(SVC(), X, y, **values)
    inside = grid(Pipeline([("svc", SVC())]), X, y, **{f"svc__{name}": of for name, of in values.items()})
    assert_allclose(bare.scores, inside.scores, atol=0.034)
    assert list(bare.choose().values()) == list(inside.choose().values())


def test_of_the_same_scores_in_another_order_the_first_setting_is_best(rng):
    for _ in range(50):
        scores = rng.random(7)
        shuffled = np.array([scores, *(rng.permutation(scores) for _ in range(5))])
        found = searched(shuffled, C=list(range(6)))
        assert found.best_params == {"C": 0}
        assert found.table().rows[0][0] == "0"


def test_a_setting_without_a_score_is_never_chosen_and_stands_last():
    found = searched([[np.nan, 0.9], [0.5, 0.6], [0.5, 0.7]], C=[1, 2, 3])
    assert found.best_params == {"C": 3}
    assert found.best_score == pytest.approx(0.6)
    assert found.choose() == {"C": 2}
    assert [row[0] for row in found.table().rows] == ["3", "2", "1"]
    assert found.table().rows[-1][1:] == ("not known", "not known")
    nothing = searched([[np.nan, 0.9]], C=[1])
    assert "no setting has a mean score" in str(nothing)
    assert "not known" in nothing._repr_html_()
    for rule in ("best", "one-standard-error"):
        with pytest.raises(DataError, match="no setting has a mean: each has a score that is not a number"):
            nothing.choose(rule)


def test_the_text_of_a_search_says_that_folds_are_correlated():
    assert str(searched([[0.5, 0.6]], C=[1])).splitlines()[1] == CORRELATED
    assert CORRELATED not in str(searched([[0.5]], C=[1]))


# ------------------------------------------------------------------------------------------------- parts of one row


@pytest.mark.parametrize("machine", [SVC(gamma=0.3), LinearSVC()], ids=str)
@pytest.mark.parametrize("scoring", ["f1_macro", "balanced_accuracy", make_scorer(f1_score, average="macro")], ids=str)
@pytest.mark.slow
def test_scores_that_are_no_means_over_rows_are_of_all_left_out_predictions_together(machine, scoring):
    rows = slice(0, None, 4)
    found = cross_validate(machine, X[rows], y[rows], cv=leave_one_out(), scoring=scoring)
    plain = cross_validate(machine, X[rows], y[rows], cv=leave_one_out(), scoring="accuracy")
    assert len(plain.scores) == len(y[rows])
    assert plain.mean == pytest.approx(accuracy_score(y[rows], plain.predictions))
    if scoring == "balanced_accuracy":
        expected = np.mean([np.mean(found.predictions[y[rows] == label] == label) for label in range(3)])
    else:
        expected = f1_score(y[rows], found.predictions, average="macro")
    assert found.scores == pytest.approx([expected])
    assert "together" in str(found)
    with pytest.raises(DataError, match="single test row"):
        grid(machine, X[rows], y[rows], cv=leave_one_out(), scoring=scoring, C=[1.0])


def test_weights_and_roots_count_in_the_score_of_all_left_out_predictions(rng):
    rows, weight = slice(0, 40), rng.integers(0, 3, 40).astype(float)
    found = cross_validate(
        SVR(gamma=0.3),
        Xd[rows],
        yd[rows],
        cv=leave_one_out(),
        scoring="neg_root_mean_squared_error",
        sample_weight=weight,
    )
    assert found.scores == pytest.approx([-root_mean_squared_error(yd[rows], found.predictions, sample_weight=weight)])


def test_a_score_of_ranks_is_refused_for_parts_of_one_row():
    two = slice(50, None, 5)
    with pytest.raises(DataError, match=r"one row, of which scoring='roc_auc'.*Take folds of more rows"):
        cross_validate(SVC(), X[two], y[two], cv=leave_one_out(), scoring="roc_auc")


# ------------------------------------------------------------------------------------------------------------ refusals

REFUSED = [
    (ParameterError, "name of one score", lambda: cross_validate(SVC(), X, y, scoring=["accuracy"])),
    (ParameterError, "name of one score", lambda: cross_validate(SVC(), X, y, scoring={"a": "accuracy"})),
    (ParameterError, "name of one score", lambda: grid(SVC(), X, y, scoring=["accuracy"], C=[1.0])),
    (ParameterError, "Did you mean 'accuracy'", lambda: cross_validate(SVC(), X, y, scoring="acuracy")),
    (ParameterError, "metric function", lambda: grid(SVC(), X, y, scoring=accuracy_score, C=[1.0])),
    (DataError, "y is None", lambda: cross_validate(SVC(), X, None)),
    (DataError, "y is None", lambda: grid(SVC(), X, None, C=[1.0])),
    (DataError, "y is None", lambda: path(SVC(), X, None, C=[1.0])),
    (DataError, "y is None", lambda: compare_five_by_two(SVC(), LinearSVC(), X, None)),
    (DataError, "one label or number a row", lambda: cross_validate(SVC(), X, 3)),
    (DataTypeError, "array-like", lambda: cross_validate(SVC(), None, y)),
    (ParameterError, "cv must be a number", lambda: cross_validate(SVC(), X, y, cv="5")),
    (ParameterError, "cv must be a number", lambda: grid(SVC(), X, y, cv="5", C=[1.0])),
    (ParameterError, "cv must be a number", lambda: grid(SVC(), X, y, cv=True, C=[1.0])),
    (ParameterError, "pairs of training and test rows", lambda: cross_validate(SVC(), X, y, cv=[(1, 2, 3)])),
    (ParameterError, "pairs of training and test rows", lambda: grid(SVC(), X, y, cv=[5], C=[1.0])),
    (ParameterError, "without_test", lambda: grid(SVC(), X, y, cv=train_validation_test(), C=[1.0])),
    (ParameterError, r"SVC is a class.*such as SVC\(\)", lambda: cross_validate(SVC, X, y)),
    (ParameterError, "'SVC' is no estimator", lambda: cross_validate("SVC", X, y)),
    (ParameterError, "SVC is a class", lambda: grid(SVC, X, y, C=[1.0])),
    (ParameterError, "'SVC' is no estimator", lambda: grid("SVC", X, y, C=[1.0])),
    (ParameterError, "SVC is a class", lambda: path(SVC, X, y, C=[1.0])),
    (ParameterError, "'SVC' is no estimator", lambda: path("SVC", X, y, C=[1.0])),
    (ParameterError, "SVC is a class", lambda: compare_five_by_two(SVC(), SVC, X, y)),
    (
        ParameterError,
        r"C must be a list of values, got 1.0.*give \[1.0\]",
        lambda: grid(SVC(), X, y, C=1.0),
    ),
    (ParameterError, "C must be a list of numbers", lambda: path(SVC(), X, y, C=["a"])),
    (ParameterError, r"cross_validate\(model, X, y, cv=leave_one_out\(\)\)", lambda: left_out(LinearSVC(), X, y)),
]


@pytest.mark.parametrize("kind, words, call", REFUSED, ids=[words for _, words, _ in REFUSED])
def test_what_cannot_be_used_is_refused_in_words(kind, words, call):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, MaxMarginError)


@pytest.mark.parametrize("layout", ["coo", "bsr", "lil", "csc"])
def test_sparse_rows_of_every_layout_are_taken(layout):
    rows = sparse.csr_matrix(X).asformat(layout)
    for machine in (SVC(gamma=0.1), SVC(), LinearSVC()):
        scores = cross_validate(machine, sparse.csr_matrix(X), y, cv=3).scores
        assert_array_equal(cross_validate(machine, rows, y, cv=3).scores, scores)
        assert_array_equal(grid(machine, rows, y, cv=3, C=[1.0]).scores[0], scores)
    assert len(path(LinearSVC(), rows, y, C=[1.0])) == 1


def test_a_path_goes_to_a_hard_margin_without_a_warning():
    rows, labels = load_breast_cancer(return_X_y=True)
    rows, labels = StandardScaler().fit_transform(rows)[:100], labels[:100]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = path(SVC(gamma=1.0), rows, labels, C=[np.inf, 1.0])
    alone = SVC(gamma=1.0, C=np.inf).fit(rows, labels)
    assert_allclose(found.models[1].decision_function(rows), alone.decision_function(rows), atol=1e-6)
