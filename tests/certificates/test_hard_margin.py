"""Hard margins: the one that exists is found, the one that does not is refused with a proof."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from maxmargin import SVC, LinearSVC
from maxmargin.errors import DataError, MaxMarginError, NotSeparableError

EXERCISE_X = np.array(
    [[0.2, -1.4], [-2.1, 1.7], [0.9, 1.0], [-1.0, -3.1], [-0.2, -1.0], [-0.2, 1.3], [2.0, -1.0], [0.5, 2.1]]
)
EXERCISE_Y = np.array([-1, 1, 1, -1, -1, 1, -1, 1])


@pytest.mark.parametrize("model", [LinearSVC(C=np.inf), SVC(kernel="linear", C=np.inf)], ids=["linear", "kernel"])
def test_exercise_4_of_the_lecture(model):
    """The eight points of the lecture: w = (0, 1), b = 0, margin 1, support vectors 3, 5 and 7."""
    model.fit(EXERCISE_X, EXERCISE_Y)
    assert_allclose(model.coef_, [[0.0, 1.0]], atol=1e-12)
    assert_allclose(model.intercept_, 0.0, atol=1e-12)
    point = model.certificate_.claim.point
    alpha = np.abs(point.everywhere(8))
    assert_allclose(alpha, [0, 0, 0.5, 0, 0.25, 0, 0.25, 0], atol=1e-12)
    margins = model.margins(EXERCISE_X, EXERCISE_Y)
    assert_allclose(np.min(margins.geometric), 1.0)
    assert list(np.flatnonzero(margins.category == "on") + 1) == [3, 5, 7]
    assert_allclose(margins.slack, 0.0, atol=1e-12)


def _separable(X, y):
    """Whether a linear program finds w, b with y (<w, x> + b) >= 1."""
    A = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0


@given(seed=st.integers(0, 10**6), n=st.integers(2, 14), d=st.integers(1, 4))
def test_data_are_refused_exactly_when_a_linear_program_cannot_separate_them(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    try:
        model = LinearSVC(C=np.inf).fit(X, y)
    except NotSeparableError as error:
        assert not _separable(X, y)
        assert error.check(X, y)
        lam = error.multipliers
        assert_allclose(lam @ (y[:, None] * X), 0.0, atol=1e-12)
        assert_allclose([lam @ y, np.sum(lam)], [0.0, 1.0], atol=1e-12)
    else:
        assert _separable(X, y)
        assert np.min(y * model.decision_function(X)) >= 1 - 1e-9
        assert abs(model.certificate_.relative_gap) <= 1e-8


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(C=np.inf),
        LinearSVC(C=np.inf, fit_intercept=False),
        LinearSVC(C=np.inf, intercept="augmented"),
        SVC(C=np.inf, kernel="linear"),
        SVC(C=np.inf, kernel="poly", degree=2, coef0=1.0),
    ],
    ids=str,
)
def test_the_proof_holds_for_its_data_and_not_for_others(model, rng):
    X, y = rng.normal(size=(100, 3)), np.array(["no", "yes"] * 50)
    with pytest.raises(NotSeparableError, match="Use a finite C") as refused:
        model.fit(X, y)
    error = refused.value
    assert isinstance(error, MaxMarginError)
    assert error.check(X, y)
    assert not error.check(X + 0.01 * rng.normal(size=X.shape), y)
    assert error.multipliers.shape == (100,)
    with pytest.raises(DataError, match="about 100 rows"):
        error.check(X[:50], y[:50])


def test_two_equal_rows_with_different_labels_are_the_proof():
    X, y = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 2.0], [1.0, 2.0]]), np.array([0, 1, 0, 1])
    with pytest.raises(NotSeparableError) as refused:
        LinearSVC(C=np.inf).fit(X, y)
    assert refused.value.margin_bound <= 1e-15
    assert refused.value.check(X, y)


def test_a_soft_margin_with_large_cost_is_the_hard_margin(rng):
    X = np.vstack([rng.normal(size=(20, 2)) + 4, rng.normal(size=(20, 2)) - 4])
    y = np.repeat([1, 0], 20)
    hard, soft = SVC(kernel="linear", C=np.inf).fit(X, y), SVC(kernel="linear", C=1e6).fit(X, y)
    assert_allclose(hard.coef_, soft.coef_, rtol=1e-6)
    assert hard.certificate_.primal == pytest.approx(soft.certificate_.primal, rel=1e-8)


def test_the_geometric_margin_is_one_over_the_length_of_w(rng):
    X = np.vstack([rng.normal(size=(20, 2)) + 3, rng.normal(size=(20, 2)) - 3])
    y = np.repeat([1, 0], 20)
    model = LinearSVC(C=np.inf).fit(X, y)
    assert np.min(model.margins(X, y).geometric) == pytest.approx(1 / np.linalg.norm(model.coef_), rel=1e-9)


def test_a_margin_far_smaller_than_the_spread_of_the_data_is_found():
    """Standardised breast cancer is separable, with a margin of 0.0014 in data of width 30."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LinearSVC(C=np.inf).fit(X, y)
    assert model.certificate_.primal == pytest.approx(255157.8785, rel=1e-8)
    assert model.certificate_.relative_gap <= 1e-8
