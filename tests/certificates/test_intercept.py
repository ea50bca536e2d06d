"""The best intercept is the exact minimum of a function of one number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    Logistic,
    MarginLoss,
    Pinball,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.problems import best_intercept

CURVES = [
    Hinge(),
    SquaredHinge(),
    Logistic(),
    Squared(),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    Absolute(),
    Pinball(0.9),
]


def _rows(loss, n, seed, scale):
    rng = np.random.default_rng(seed)
    f = scale * rng.normal(size=n)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if isinstance(loss, MarginLoss) else scale * rng.normal(size=n)
    return f, y, rng.exponential(size=n)


@pytest.mark.parametrize("loss", CURVES, ids=lambda loss: loss.name)
@given(n=st.integers(2, 60), seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_no_other_intercept_is_better(loss, n, seed, scale):
    f, y, C = _rows(loss, n, seed, scale)

    def g(b):
        return float(C @ loss.score_value(f + b, y))

    best = best_intercept(loss, f, y, C)
    lowest = g(best)
    spread = float(np.ptp(f) + np.ptp(y) + 1.0)
    trials = best + spread * np.concatenate([np.geomspace(1e-9, 10, 60), -np.geomspace(1e-9, 10, 60)])
    assert lowest <= min(g(b) for b in trials) * (1 + 1e-12) + 1e-12


def test_the_middle_is_taken_where_a_whole_interval_is_best():
    f, y, C = np.array([5.0, -5.0]), np.array([1.0, -1.0]), np.ones(2)
    assert best_intercept(Hinge(), f, y, C) == 0.0
    assert best_intercept(Hinge(), f + 1.0, y, C) == -1.0


def test_closed_forms():
    rng = np.random.default_rng(3)
    f, y, C = rng.normal(size=11), rng.normal(size=11), rng.random(11)
    assert_allclose(best_intercept(Squared(), f, y, C), np.average(y - f, weights=C))
    assert_allclose(best_intercept(Absolute(), f, y, np.ones(11)), np.median(y - f))


def test_hard_margin_takes_the_middle_of_the_nearest_rows():
    f, y = np.array([3.0, 9.0, -1.0, -4.0]), np.array([1.0, 1.0, -1.0, -1.0])
    assert best_intercept(HardMargin(), f, y, np.ones(4)) == -1.0


def test_softmax_intercepts_zero_the_gradient_and_sum_to_zero(rng):
    f, y, C = rng.normal(size=(50, 3)), rng.integers(0, 3, 50).astype(float), rng.random(50)
    b = best_intercept(Softmax(), f, y, C)
    assert_allclose(C @ Softmax().score_slope(f + b, y), 0.0, atol=1e-7)
    assert_allclose(np.sum(b), 0.0, atol=1e-9)


@pytest.mark.parametrize("far", [800.0, 2000.0, -1e6])
def test_logistic_scores_so_far_out_that_their_curvature_underflows(far, rng):
    y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    f, C = rng.normal(size=60) + 0.5 * y, rng.uniform(0.5, 2.0, 60)
    near = float(best_intercept(Logistic(), f, y, C))
    assert float(best_intercept(Logistic(), f + far, y, C)) == pytest.approx(near - far, abs=1e-9 * abs(far))
