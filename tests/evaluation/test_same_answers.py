"""The short routes of cross-validation, searches and leave-one-out answer as plain fits do, on unkind data too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification

from maxmargin import SVC, SVR
from maxmargin.evaluate import cross_validate, grid, k_fold, leave_one_out, left_out
from maxmargin.kernels import Linear

iris = load_iris(return_X_y=True)
UNEVEN = make_classification(150, 6, weights=[0.9], random_state=0)


def by_fits(machine):
    """The same machine by a solver that no short route knows."""
    return clone(machine).set_params(solver="blocks")


def scores_without_each(machine, X, y, weight=None):
    """Scores of every row by the machine fitted without it."""
    found = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model = clone(machine).fit(X[rest], y[rest], None if weight is None else weight[rest])
        found.append(model.decision_function(X[i : i + 1])[0])
    return np.array(found)


# ------------------------------------------------------------------------------- an interval of best intercepts


@pytest.mark.parametrize("C", [1e-4, 1e-2])
@pytest.mark.parametrize("data", [UNEVEN, tuple(part[:62] for part in iris)], ids=["uneven", "iris"])
@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 3.0}], ids=["balanced", "given"])
def test_where_all_multipliers_are_at_bounds_every_route_takes_the_middle_of_the_best_intercepts(C, data, weights):
    """The bounds of both classes then have the same sum, so no multiplier need be between them."""
    machine = SVC(C=C, gamma=0.05, class_weight=weights)
    slow = cross_validate(by_fits(machine), *data, cv=k_fold(3))
    fast = cross_validate(machine, *data, cv=k_fold(3))
    assert fast.route == "From stored kernel values"
    assert_array_equal(fast.predictions, slow.predictions)
    assert_allclose(grid(machine, *data, cv=k_fold(3), C=[C]).scores[0], slow.scores)


def test_the_middle_is_taken_for_a_row_left_out_too():
    X, y = (part[:62][::2] for part in iris)
    machine = SVC(C=1e-3, gamma=0.05, class_weight="balanced", tol=1e-6)
    assert_allclose(left_out(machine, X, y).scores[:, 0], scores_without_each(machine, X, y), atol=1e-8)


@pytest.mark.parametrize("intercept", ["free", "augmented", "none"])
def test_every_kind_of_intercept_is_in_the_score_of_a_row_left_out_once(intercept):
    X, y = (part[50::2] for part in iris)
    machine = SVC(gamma=0.3, intercept=intercept, tol=1e-7)
    assert_allclose(left_out(machine, X, y).scores[:, 0], scores_without_each(machine, X, y), atol=1e-4)


# --------------------------------------------------------------------------------------------- single precision


@pytest.mark.parametrize("shift", [0.0, 1e2, 1e4])
def test_rows_far_from_the_origin_are_scored_as_fits_score_them(shift):
    X, y = iris[0] + shift, iris[1]
    machine = SVC(kernel="linear")
    slow = cross_validate(by_fits(machine), X, y)
    fast = cross_validate(machine, X, y)
    assert np.sum(fast.predictions != slow.predictions) <= 1  # a row on the boundary may fall either way
    assert ("too coarse" in fast.route) == (shift > 0.0)
    found = grid(machine, X, y, C=[0.1, 1.0])
    assert_allclose(found.scores[1], slow.scores, atol=0.034)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e3])
def test_a_regression_in_any_units_is_scored_as_fits_score_it(factor):
    X, y = (part[:80] for part in load_diabetes(return_X_y=True))
    X, y = X * 100.0 + 5000.0, y * factor
    machine = SVR(kernel="linear", C=0.1 * factor, epsilon=5.0 * factor, tol=1e-3 * min(factor, 1.0))
    slow = cross_validate(by_fits(machine), X, y, cv=k_fold(3))
    fast = cross_validate(machine, X, y, cv=k_fold(3))
    assert_allclose(fast.predictions, slow.predictions, atol=0.02 * np.std(y))


def test_raw_columns_of_large_numbers_are_scored_as_fits_score_them():
    X, y = (part[::3] for part in load_breast_cancer(return_X_y=True))
    machine = SVC(kernel="linear", C=0.01)
    slow = cross_validate(by_fits(machine), X, y, cv=k_fold(3))
    fast = cross_validate(machine, X, y, cv=k_fold(3))
    assert "too coarse" in fast.route
    assert_array_equal(fast.predictions, slow.predictions)


def test_a_row_left_out_of_rows_far_from_the_origin_is_predicted_as_a_fit_without_it_predicts():
    X, y = iris[0][50::3] + 1e4, iris[1][50::3]
    machine = SVC(kernel="linear", C=10.0)
    found = left_out(machine, X, y)
    assert 0 < found.n_plain == found.n_solved < len(y)  # rows without multipliers still cost nothing
    slow = cross_validate(by_fits(machine), X, y, cv=leave_one_out())
    assert_array_equal(found.predictions, slow.predictions)
    assert "plain fits" in cross_validate(machine, X, y, cv=leave_one_out()).route
    near = left_out(machine, iris[0][50::3], y)
    assert near.n_plain == 0


@pytest.mark.parametrize("gamma", [1e-9, 1e-7, 1e-5])
def test_a_kernel_that_is_flat_in_single_precision_is_scored_as_fits_score_it(gamma):
    """All values are 1 up to the seventh digit or further, and what comes after it decides."""
    X, y = (part[50::2] for part in iris)
    machine = SVC(gamma=gamma)
    slow = cross_validate(by_fits(machine), X, y)
    fast = cross_validate(machine, X, y)
    assert_array_equal(fast.predictions, slow.predictions)
    assert_array_equal(left_out(machine, X, y).predictions, left_out_by_fits(machine, X, y))


def left_out_by_fits(machine, X, y):
    return cross_validate(by_fits(machine), X, y, cv=leave_one_out()).predictions


def test_values_beyond_single_precision_are_left_to_fits_without_a_warning():
    X, y = (part[:100:2] for part in iris)
    machine = SVC(kernel=1e39 * Linear(), C=1e-39)
    fast = cross_validate(machine, X, y)
    assert "too coarse" in fast.route
    assert_array_equal(fast.predictions, cross_validate(by_fits(machine), X, y).predictions)
    assert left_out(machine, X, y).n_plain > 0


# ----------------------------------------------------------------------------------------- classes of left-out rows


@pytest.mark.parametrize("is_weighted", [False, True], ids=["alike", "weighted"])
def test_balanced_weights_are_those_without_the_row_left_out(is_weighted, rng):
    kept = np.r_[0:40, 50:54]
    X, y = iris[0][kept] + 0.8 * rng.normal(size=(44, 4)), iris[1][kept]
    weight = rng.integers(0, 3, 44).astype(float) if is_weighted else None
    if weight is not None:
        weight[-4:] = [1.0, 2.0, 1.0, 0.0]
    machine = SVC(gamma=0.3, class_weight="balanced", tol=1e-6)
    found = left_out(machine, X, y, weight)
    assert_allclose(found.scores[:, 0], scores_without_each(machine, X, y, weight), atol=1e-4)


@pytest.mark.parametrize("kept", [np.r_[0:30, 50:80, 100], np.r_[0:30, 50, 100:130], np.r_[0:30, 50, 100]], ids=len)
@pytest.mark.parametrize("weights", [None, "balanced"])
def test_without_the_only_row_of_a_class_the_others_decide(kept, weights):
    X, y = iris[0][kept], np.array(["a", "b", "c"])[iris[1][kept]]
    machine = SVC(gamma=0.3, class_weight=weights)
    fast = cross_validate(machine, X, y, cv=leave_one_out())
    slow = cross_validate(by_fits(machine), X, y, cv=leave_one_out())
    assert "short solves" in fast.route
    assert_array_equal(fast.predictions, slow.predictions)
    assert np.isnan(left_out(machine, X, y).scores).any()


def test_the_only_row_with_a_weight_is_the_only_row_of_its_class():
    kept = np.r_[0:20, 50:70, 100:103]
    X, y, weight = iris[0][kept], iris[1][kept], np.ones(43)
    weight[-2:] = 0.0
    machine = SVC(gamma=0.3)
    found = left_out(machine, X, y, weight)
    assert found.predictions[40] == clone(machine).fit(X[:40], y[:40]).predict(X[40:41])[0] != 2
