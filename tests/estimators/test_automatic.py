"""The default solver hands over when it should, and the methods it chooses from end where they once did not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, xlogy

from maxmargin._loops.coordinate_steps import logistic_step, share
from maxmargin._loops.streams import _logistic_minimum
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.losses import EpsilonInsensitive, Hinge, SquaredHinge
from maxmargin.problems import Intercept, LinearProblem, Status, best_intercept
from maxmargin.solvers import Automatic, DualDescent, Multipliers
from maxmargin.solvers.linear.automatic import _worth
from maxmargin.solvers.linear.multipliers import _untouched
from maxmargin.solvers.linear.newton import RowsInMemory
from maxmargin.solvers.linear.newton_method import At

HINGE = Hinge()


def problem_of(X, y, loss=HINGE, C=1.0, intercept=Intercept.FREE):
    return LinearProblem(ArraySource(X, y, np.ones(len(y))), loss, C, intercept)


def noisy(n, d, rng, n_hidden=None):
    """Labels of one direction, with noise; rows of a few hidden numbers where these are counted."""
    if n_hidden is None:
        X = rng.normal(size=(n, d))
        return X / np.sqrt(d), np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    Z = rng.normal(size=(n, n_hidden))
    X = Z @ rng.normal(size=(n_hidden, d)) / 4.0 + 0.5 * rng.normal(size=(n, d))
    return X, np.where(Z[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)


# Handing over


@pytest.mark.parametrize(("n", "d", "C"), [(300, 320, 10.0), (600, 400, 3.0), (800, 60, 0.1)])
def test_auto_is_dcd_where_dcd_needs_fewer_passes_than_a_factor_is_worth(n, d, C, rng):
    problem = problem_of(*noisy(n, d, rng), C=C)
    alone = DualDescent(max_iter=10_000).solve(problem)
    assert alone.status is Status.CONVERGED
    assert alone.passes < _worth(problem, few_features=True)
    chosen = Automatic()._by_shape(problem, None)
    assert chosen.solver == "dcd"
    assert np.array_equal(chosen.alpha, alone.alpha)


def test_auto_gives_up_what_would_take_dcd_for_ever_within_its_worth(rng):
    problem = problem_of(*noisy(3000, 5, rng), C=1e5)
    first = DualDescent(max_iter=100_000, worth=_worth(problem, few_features=True)).solve(problem)
    assert first.status is Status.BUDGET
    assert first.passes <= 2.0 * _worth(problem, few_features=True)
    chosen = Automatic().solve(problem)
    assert chosen.solver == "multipliers"
    assert chosen.status is Status.CONVERGED


def test_auto_with_max_iter_is_dcd_to_the_end_of_its_passes(rng):
    """Nobody takes over then, so nothing is given up early."""
    problem = problem_of(*noisy(3000, 5, rng), C=1e5)
    alone, chosen = DualDescent(tol=1e-9, max_iter=400).solve(problem), Automatic(tol=1e-9, max_iter=400).solve(problem)
    assert chosen.passes >= 400.0
    assert np.array_equal(chosen.alpha, alone.alpha)


def test_a_factor_is_worth_more_passes_the_more_features_share_the_entries(rng):
    def worth(n, d):
        return _worth(problem_of(np.ones((n, d)), np.ones(n)), few_features=True)

    assert worth(1000, 10) < worth(1000, 100) < worth(1000, 1000)
    assert worth(10_000, 100) < worth(1000, 100)
    assert worth(50_000, 10) == pytest.approx(80.0, rel=0.1)


@pytest.mark.parametrize(
    ("loss", "n", "d", "n_hidden", "C"),
    [
        (SquaredHinge(), 300, 300, 20, 1.0),
        (SquaredHinge(), 500, 500, 20, 1.0),
        (SquaredHinge(), 300, 300, None, 100.0),
        (HINGE, 400, 300, 20, 0.1),
    ],
)
def test_a_descent_that_would_end_within_its_worth_is_not_given_up(loss, n, d, n_hidden, C, rng):
    """P begins a thousand times too large, where the relative gap is 1 and stays there for long."""
    problem = problem_of(*noisy(n, d, rng, n_hidden), loss, C, Intercept.NONE)
    alone = DualDescent(tol=1e-4, max_iter=100_000).solve(problem)
    assert alone.status is Status.CONVERGED
    found = DualDescent(tol=1e-4, max_iter=100_000, worth=1.5 * alone.passes).solve(problem)
    assert found.status is Status.CONVERGED
    assert np.array_equal(found.alpha, alone.alpha)


# The method of multipliers


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("rare", [0.5, 0.07, 0.01])
def test_multipliers_converge_however_rare_a_class_is(rare, C, rng):
    X = rng.normal(size=(1000, 30))
    y = np.where(np.arange(1000) < 1000 * rare, 1.0, -1.0)
    problem = problem_of(X + 0.3 * y[:, None], y, C=C)
    solution = Multipliers(tol=1e-5).solve(problem)
    assert solution.status is Status.CONVERGED
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert seen.gap <= 1.1e-5 * seen.primal + seen.rounding


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e6])
def test_the_intercept_is_settled_at_the_best_one_whatever_the_scale_and_the_stiffness(scale, sigma, rng):
    """Slopes that sum to zero are those of the best intercept of the smooth neighbour."""
    y = scale * (5.0 + rng.normal(size=200))
    problem = problem_of(np.zeros((200, 1)), y, EpsilonInsensitive(0.1 * scale))
    rows = RowsInMemory(problem, _untouched(problem)._replace(sigma=sigma / scale), 1)
    found = rows.answer(At(np.zeros(1), 0.0))
    assert abs(found.surplus) <= 1e-6 * 200
    if sigma == 1e6:  # stiff enough to be the loss itself
        best = float(np.asarray(best_intercept(problem.loss, np.zeros(200), y, problem.costs)))
        assert problem.loss.score_value(np.full(200, found.b), y).sum() == pytest.approx(
            problem.loss.score_value(np.full(200, best), y).sum(), rel=1e-4
        )


# The logistic step


def slope(u, a, g, q, c):
    return u + q * (c * expit(u) - a) + g


@pytest.mark.parametrize("c", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("q", [0.0, 1.0, 1e6])
def test_a_logistic_step_leaves_a_tenth_of_the_slope_and_stays_within_its_bounds(c, q, rng):
    for u, g in zip(rng.normal(scale=8.0, size=200), rng.normal(scale=8.0, size=200), strict=True):
        a = c * share(u)
        found, p = logistic_step(u, share(u), u + g, 0.1 * abs(u + g), a, g, q, c)
        assert min(u, -g) - 1e-9 <= found <= max(u, -g) + 1e-9
        assert p == pytest.approx(expit(found), rel=1e-12)
        rounding = 1e-12 * (1.0 + abs(u) + abs(g) + q * c)
        assert abs(slope(found, a, g, q, c)) <= 0.1 * abs(slope(u, a, g, q, c)) + rounding


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("cost", [1e-3, 1.0, 1e3])
def test_the_coefficient_of_a_streamed_row_only_improves_the_dual_and_leaves_the_ends(cost, sign, rng):
    def value(z, a, f, q):
        return 0.5 * q * (z - a) ** 2 + sign * f * (z - a) + xlogy(z, z) + xlogy(cost - z, cost - z)

    for k in range(300):
        a = cost * (0.0, 1.0, rng.random())[k % 3]
        f, q = 5.0 * rng.normal(), 20.0 * rng.random()
        z = sign * _logistic_minimum(sign * a, f, q, cost, sign)
        assert 0.0 < z < cost
        before = value(a, a, f, q)
        assert value(z, a, f, q) <= before + 1e-12 * (1.0 + abs(before))
        grid = cost * expit(np.linspace(-30.0, 30.0, 2001))
        best = np.min(value(grid, a, f, q))
        assert value(z, a, f, q) - best <= 0.1 * (before - best) + 1e-9 * (1.0 + abs(best))
