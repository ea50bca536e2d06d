"""A path of models over C is a row of separate fits, each certified."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris, make_classification

from maxmargin import LinearRegression, LinearSVC, LogisticRegression, Ridge, SoftmaxRegression, evaluate
from maxmargin.errors import ParameterError
from maxmargin.evaluate import path

iris = load_iris(return_X_y=True)
X2, y2 = make_classification(120, 6, random_state=0, flip_y=0.1)
Xr, yr = (part[:150] for part in load_diabetes(return_X_y=True))
C = [0.01, 0.1, 1.0, 10.0]

CASES = [
    (LinearSVC(tol=1e-8), X2, y2),
    (LinearSVC(loss="hinge", tol=1e-8), X2, y2),
    (LinearSVC(tol=1e-8), *iris),
    (LogisticRegression(tol=1e-8), X2, y2),
    (LogisticRegression(tol=1e-8, class_weight="balanced"), *iris),
    (SoftmaxRegression(tol=1e-8), *iris),
]


def name(value):
    return str(value) if hasattr(value, "fit") else ""


@pytest.mark.parametrize("model, X, y", CASES, ids=name)
def test_a_path_equals_separate_fits_to_the_certified_gap(model, X, y):
    found = path(model, X, y, C=C)
    assert_array_equal(found.C, C)
    for cost, one in zip(C, found, strict=True):
        alone = type(model)(**{**model.get_params(), "C": cost}).fit(X, y)
        allowed = max(one.certificate_.gap, 0.0) + max(alone.certificate_.gap, 0.0) + 2.0 * alone.certificate_.rounding
        assert abs(one.certificate_.primal - alone.certificate_.primal) <= allowed
        assert one.get_params() == alone.get_params()


@pytest.mark.parametrize("model, X, y", CASES, ids=name)
def test_every_certificate_of_a_path_verifies_with_its_weights(model, X, y, rng):
    weight = rng.integers(1, 3, len(y))
    for certificate in path(model, X, y, C=C, sample_weight=weight).certificates:
        again = certificate.verify(X, y)
        assert again.relative_gap <= 1e-8


@pytest.mark.parametrize("model, X, y", CASES, ids=name)
def test_weights_grow_and_losses_fall_with_C(model, X, y):  # noqa: N802 - C is a letter of the notation
    found = path(model, X, y, C=C)
    penalty = np.array([0.5 * np.sum(np.square(one.coef_)) for one in found])
    losses = np.array([one.certificate_.primal for one in found]) - penalty
    assert np.all(np.diff(penalty) > 0.0)
    assert np.all(np.diff(losses / found.C) < 0.0)


def test_a_path_holds_models_coefficients_and_intercepts_from_small_C_to_large():  # noqa: N802 - C is a letter of the notation
    found = path(LogisticRegression(), *iris, C=C[::-1])
    assert len(found) == 4
    assert_array_equal(found.C, C)
    assert found.coefs.shape == (4, 3, 4)
    assert found.intercepts.shape == (4, 3)
    for k, model in enumerate(found):
        assert_array_equal(found.coefs[k], model.coef_)
        assert found.certificates[k] == model.certificate_


def test_a_path_over_alpha_runs_from_a_strong_penalty_to_a_weak_one():
    alpha = [0.1, 10.0, 1.0]
    found = path(Ridge(), Xr, yr, alpha=alpha)
    assert [model.alpha for model in found] == [10.0, 1.0, 0.1]
    assert_allclose(found.C, [0.1, 1.0, 10.0])
    assert found.intercepts.shape == (3,)
    for model in found:
        assert_array_equal(model.coef_, Ridge(alpha=model.alpha).fit(Xr, yr).coef_)
    assert np.all(np.diff(np.linalg.norm(found.coefs, axis=1)) > 0.0)


def test_models_along_a_path_begin_where_the_last_one_ended():
    costs = np.geomspace(1.0, 1.5, 6)
    found = path(LogisticRegression(tol=1e-8), *iris, C=costs)
    alone = [LogisticRegression(C=cost, tol=1e-8).fit(*iris) for cost in costs]
    assert sum(model.n_iter_ for model in found) < sum(model.n_iter_ for model in alone)


def test_the_estimator_given_is_left_as_it_was():
    model = LogisticRegression(C=7.0)
    path(model, X2, y2, C=[1.0])
    assert model.C == 7.0
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    "model, grids, words",
    [
        (LogisticRegression(), {}, "needs a grid"),
        (LogisticRegression(), {"C": [1.0], "alpha": [1.0]}, "needs a grid"),
        (LogisticRegression(), {"alpha": [1.0]}, "no parameter alpha"),
        (LinearRegression(), {"C": [1.0]}, "no parameter C"),
        (LogisticRegression(), {"C": []}, "at least one number"),
        (LogisticRegression(), {"C": 1.0}, "at least one number"),
        (LogisticRegression(), {"C": [0.0, 1.0]}, "C must be positive"),
    ],
)
def test_grids_that_mean_nothing_are_refused(model, grids, words):
    with pytest.raises(ParameterError, match=words):
        path(model, X2, y2, **grids)


def test_the_package_shows_its_evaluation():
    assert evaluate.path is path
