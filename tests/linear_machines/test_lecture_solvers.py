"""The algorithms of the lectures: their promises on the problem table, and their steps against naive references."""

import math
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize

from maxmargin import LinearSVC
from maxmargin._loops.curves import subgradient
from maxmargin._loops.lectures.dual_steps import DualRows, pair_step
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning, ParameterError
from maxmargin.kernels import Gaussian
from maxmargin.losses import EpsilonInsensitive, HardMargin, Hinge, Logistic, MarginLoss, Squared, SquaredHinge
from maxmargin.penalties import L1
from maxmargin.problems import Intercept, KernelProblem, LinearProblem, Status, best_intercept
from maxmargin.solvers import QP
from maxmargin.solvers.lectures.pairs import Pairs
from maxmargin.solvers.lectures.row_by_row import draws, into_domain, slopes_at
from maxmargin.solvers.lectures.stochastic import AveragedSGD, Implicit, Pegasos
from maxmargin.solvers.lectures.subgradient import Subgradient
from tests.problem_table import PROBLEMS

INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept(3.0), Intercept.NONE]
PRIMAL = [Subgradient(), Pegasos(), Pegasos(projection=False, batch=4), AveragedSGD(), Implicit()]
STOCHASTIC = [Pegasos(), AveragedSGD(), Implicit()]

EASY = [
    case
    for case in PROBLEMS
    if case.name
    in {
        "overlapping, hinge, C=1, free intercept, linear",
        "overlapping, hinge, C=0.01, free intercept, linear",
        "overlapping, hinge, C=1, augmented intercept, linear",
        "overlapping, hinge, C=1, free intercept, linear, weights with zeros",
        "duplicated rows, hinge, C=1, free intercept, linear",
        "zero rows, hinge, C=1, free intercept, linear",
        "sparse, hinge, C=1, free intercept, linear",
        "sparse, hinge, C=1, no intercept, linear",
        "float32, hinge, C=1, free intercept, linear",
        "float32, squared hinge, C=1, free intercept, linear",
        "overlapping, squared hinge, C=1, augmented intercept, linear",
        "overlapping, epsilon-insensitive, C=1, free intercept, linear",
        "overlapping, epsilon-insensitive, C=1, no intercept, linear",
    }
]
FOR_PAIRS = [
    case
    for case in PROBLEMS
    if isinstance(case.problem, LinearProblem)
    and isinstance(case.problem.loss, (Hinge, SquaredHinge))
    and case.problem.intercept.is_free
    and "scale" not in case.name  # features of scale 1e6 and C = 100 need more steps than a test may take
    and case.problem.C <= 1.0
]


def name(solver):
    return "-".join([solver.name, *(f"{key}={value}" for key, value in vars(solver).items() if key in ("batch",))])


def small_problem(rng, loss=None, intercept=Intercept.FREE, n=30, d=3, C=0.5):
    """Overlapping classes with weights, or a noisy line for a residual loss."""
    loss = loss or Hinge()
    X = rng.normal(size=(n, d))
    noisy = X[:, 0] + 0.8 * rng.normal(size=n)
    y = np.where(noisy > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else 3.0 * noisy
    return LinearProblem(ArraySource(X, y, rng.random(n) + 0.2), loss, C, intercept)


def as_csr(problem):
    return replace(problem, source=replace(problem.source, X=sparse.csr_matrix(problem.source.X)))


# Promises


@pytest.mark.parametrize(
    "solver, case",
    [
        pytest.param(solver, case, id=f"{name(solver)}, {case}")
        for solver in PRIMAL
        for case in EASY
        if solver.name != "implicit" or isinstance(case.problem.loss, (Hinge, SquaredHinge))
    ],
)
@pytest.mark.slow
def test_primal_solvers_come_within_two_percent_and_their_gap_does_not_lie(solver, case):
    problem = case.problem
    solution = solver.solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    suboptimality = seen.primal - case.optimum
    assert suboptimality <= 0.02 * case.optimum
    assert suboptimality - 1e-8 * case.optimum <= seen.gap <= 0.15 * case.optimum
    assert solution.history.gap[-1] == pytest.approx(seen.gap, rel=1e-6, abs=1e-9 * case.optimum)
    assert (solution.status is Status.CONVERGED) == (
        seen.gap <= solver.tol * seen.primal and seen.kkt_violation <= solver.tol
    )


@pytest.mark.parametrize("case", FOR_PAIRS, ids=str)
def test_pairs_reach_the_optimum(case):
    problem = case.problem
    solution = Pairs(tol=1e-6).solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert solution.status is Status.CONVERGED
    assert seen.gap <= 1e-6 * case.optimum
    assert seen.primal == pytest.approx(case.optimum, rel=1e-6)
    assert seen.kkt_violation <= 1e-6


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: f"s={kind.scale}")
@pytest.mark.parametrize("solver", [Subgradient(), Pegasos(), AveragedSGD()], ids=name)
def test_logistic_loss_comes_within_two_percent(solver, intercept, rng):
    problem = small_problem(rng, Logistic(), intercept)
    solution = solver.solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)

    def objective(packed):
        w, b = packed[:-1], packed[-1] if intercept.scale else 0.0
        penalty = 0.5 * w @ w + (0.5 * (b / intercept.scale) ** 2 if intercept.scale else 0.0)
        return penalty + problem.costs @ problem.loss.score_value(problem.scores(w) + b, problem.targets)

    best = minimize(objective, np.zeros(4)).fun
    assert best - 1e-6 <= seen.primal <= 1.02 * best
    assert seen.dual <= best + 1e-6
    assert seen.gap <= 0.05 * best


@pytest.mark.parametrize("solver", [*PRIMAL, Pairs()], ids=name)
def test_history_never_gets_worse_and_ends_at_the_answer(solver, rng):
    problem = small_problem(rng)
    solution = solver.solve(problem)
    history = solution.history.as_arrays()
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert np.all(np.diff(history["dual"]) >= -1e-12)
    assert np.all(np.diff(history["passes"]) > 0)
    assert history["primal"][-1] == pytest.approx(seen.primal, rel=1e-12)
    assert history["dual"][-1] == pytest.approx(seen.dual, rel=1e-9)
    if solver.name != "pairs":
        assert np.all(np.diff(history["primal"]) <= 0.0)


# The listings


def radius_of_the_ball(problem):
    """Of the ball in which the optimum lies: |w|^2 <= sum_i C_i for classes."""
    if isinstance(problem.loss, MarginLoss):
        return math.sqrt(np.sum(problem.costs))
    return math.sqrt(problem.costs @ np.maximum(0.0, np.abs(problem.targets) - problem.loss.epsilon))


def naive_pegasos(problem, order, batch, radius):
    """L2's listing with the projection inside the loop, on whole vectors; a constant feature for the intercept.

    Returns w, b and the largest |w| before and after a projection.
    """
    X, y = np.asarray(problem.source.X), problem.targets
    s = 1.0 if problem.intercept.is_free else problem.intercept.scale
    X = np.column_stack([X, np.full(len(y), s)])
    lam = 1.0 / np.sum(problem.costs)
    w, b = np.zeros(X.shape[1]), 0.0
    unprojected = projected = 0.0
    for t, begin in enumerate(range(0, len(order), batch), start=1):
        rows = order[begin : begin + batch]
        eta = 1.0 / (lam * t)
        weights = w.copy()
        if problem.intercept.is_free:
            weights[-1] = b
        slopes = problem.loss.score_slope(X[rows] @ weights, y[rows])
        b -= min(eta, unit_of_scores(problem)) * np.mean(slopes)
        w = (1.0 - eta * lam) * w - eta * (slopes @ X[rows]) / len(rows)
        if problem.intercept.is_free:
            w[-1] = 0.0  # the free intercept is b
        unprojected = max(unprojected, np.linalg.norm(w))
        w *= min(1.0, radius / max(np.linalg.norm(w), 1e-300))
        projected = max(projected, np.linalg.norm(w))
    return w[:-1], b if problem.intercept.is_free else s * w[-1], unprojected, projected


def unit_of_scores(problem):
    return 1.0 if isinstance(problem.loss, MarginLoss) else float(np.std(problem.targets))


@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: f"s={kind.scale}")
@pytest.mark.parametrize("loss", [Hinge(), Logistic(), EpsilonInsensitive(0.3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("C", [1e-3, 0.5, 1e6])
def test_an_epoch_of_pegasos_is_the_listing_step_by_step(C, loss, intercept, batch, projection, rng):
    """Also where the scale of w has to be folded into the vector, as it is many times at C = 1e6 with projection."""
    problem = small_problem(rng, loss, intercept, n=100, C=C)
    radius = radius_of_the_ball(problem) if projection else math.inf
    order = draws(problem.costs, np.random.default_rng(3))
    expected, bias, unprojected, projected = naive_pegasos(problem, order, batch, radius)
    solution = Pegasos(max_iter=1, batch=batch, projection=projection, random_state=3).solve(problem)
    assert_allclose(solution.weights, expected, rtol=1e-8, atol=1e-10 * math.sqrt(C))
    assert solution.passes == 1.0
    if intercept.is_free:
        assert solution.bias is None
    else:
        assert solution.bias == pytest.approx(bias, rel=1e-8, abs=1e-10 * math.sqrt(C))
    if projection:
        assert projected <= radius * (1.0 + 1e-12)
        assert C < 1e6 or unprojected > radius  # the projection had something to do


def naive_averaged_sgd(problem, order, first):
    """L1's listing, and the average of its iterates from step `first` on."""
    X, y = np.asarray(problem.source.X), problem.targets
    lam = 1.0 / np.sum(problem.costs)
    theta, iterates = np.zeros(X.shape[1]), []
    for t, i in enumerate(order, start=1):
        w = theta / (lam * t)
        iterates.append(w)
        if y[i] * (w @ X[i]) < 1.0:
            theta = theta + y[i] * X[i]
    return np.mean(iterates[first:], axis=0)


@pytest.mark.parametrize("layout", [lambda problem: problem, as_csr], ids=["dense", "sparse"])
@pytest.mark.parametrize("average", ["all", "half"])
@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_the_answer_is_the_best_average_of_the_iterates(epochs, average, layout, rng):
    problem = small_problem(rng, intercept=Intercept.NONE, n=12)
    seed = np.random.default_rng(3)
    orders = [draws(problem.costs, seed) for _ in range(epochs)]
    # A check is after each epoch. Marks stand after epochs 1, 2 and 4; the older of the last two begins the "half".
    first = (0, 0, 12, 12, 24) if average == "half" else (0,) * 5
    averages = [naive_averaged_sgd(problem, np.concatenate(orders[: k + 1]), first[k]) for k in range(epochs)]
    expected = min(averages, key=lambda w: assess(problem, np.zeros(12), w, 0.0).primal)
    solution = AveragedSGD(max_iter=epochs, average=average, random_state=3, tol=1e-14).solve(layout(problem))
    assert_allclose(solution.weights, expected, rtol=1e-10, atol=1e-12)


def proximal_minimiser(x, y, w, b, step, step_b, lam, power=1):
    """Minimise |v - w|^2 / 2 step + (c - b)^2 / 2 step_b + lam/2 |v|^2 + max(0, 1 - y (<v, x> + c))^power."""
    d = len(w)

    def objective(packed):
        v, c, slack = packed[:d], packed[d], packed[d + 1]
        return 0.5 * np.sum((v - w) ** 2) / step + 0.5 * (c - b) ** 2 / step_b + 0.5 * lam * v @ v + slack**power

    found = minimize(
        objective,
        np.append(w, [b, 1.0 + abs(w @ x + b)]),
        bounds=[(None, None)] * (d + 1) + [(0.0, None)],
        constraints={"type": "ineq", "fun": lambda packed: y * (packed[:d] @ x + packed[d]) + packed[d + 1] - 1.0},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return found.x[:d], found.x[d]


def naive_implicit(problem, order):
    """L2's implicit updates by their formula; yields what each step began with, gamma, and what it ended with."""
    X, y = np.asarray(problem.source.X), problem.targets
    squared = isinstance(problem.loss, SquaredHinge)
    strength, constant = np.sum(problem.costs), 0.0 if problem.intercept.is_free else problem.intercept.scale**2
    longest = np.max(np.sum(X**2, axis=1)) + (1.0 if problem.intercept.is_free else constant)
    delay = 2.0 * strength * longest if squared else 0.0
    w, b = np.zeros(X.shape[1]), 0.0
    for t, i in enumerate(order, start=1):
        eta = strength / (t + delay)
        shrunk = 1.0 / (1.0 + eta / strength)
        # An augmented intercept is the weight of a constant feature and shrinks with the others; a free one does not.
        kept, eta_b = (1.0, min(eta, 1.0)) if problem.intercept.is_free else (shrunk, shrunk * eta * constant)
        slack = 1.0 - y[i] * (shrunk * (w @ X[i]) + kept * b)
        removed = shrunk * eta * (X[i] @ X[i]) + eta_b
        gamma = max(0.0, 2.0 * slack / (1.0 + 2.0 * removed)) if squared else np.clip(slack / removed, 0.0, 1.0)
        before, w, b = (w, b), shrunk * (w + gamma * eta * y[i] * X[i]), kept * b + gamma * eta_b * y[i]
        yield i, eta, before, gamma, (w, b)


@pytest.mark.parametrize("C", [1e-3, 0.5, 1e6])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: f"s={kind.scale}")
def test_an_epoch_of_implicit_updates_is_the_listing_step_by_step(intercept, loss, C, rng):
    problem = small_problem(rng, loss, intercept, n=100, C=C)
    *_, (_, _, _, _, (expected, bias)) = naive_implicit(problem, draws(problem.costs, np.random.default_rng(3)))
    solution = Implicit(max_iter=1, random_state=3).solve(problem)
    assert_allclose(solution.weights, expected, rtol=1e-8, atol=1e-10 * math.sqrt(C))
    if not intercept.is_free:
        assert solution.bias == pytest.approx(bias, rel=1e-8, abs=1e-10 * math.sqrt(C))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: loss.name)
def test_a_step_of_that_listing_is_the_minimiser_of_the_proximal_objective(loss, rng):
    problem = small_problem(rng, loss, n=8, C=0.5)
    lam, gammas = 1.0 / np.sum(problem.costs), []
    for i, eta, (w, b), gamma, (after, bias) in naive_implicit(
        problem, np.concatenate([draws(problem.costs, rng) for _ in range(5)])
    ):
        x, y = problem.source.X[i], problem.targets[i]
        power = 2 if isinstance(loss, SquaredHinge) else 1
        expected, best_bias = proximal_minimiser(x, y, w, b, eta, min(eta, 1.0), lam, power)
        assert_allclose(after, expected, atol=2e-5)
        assert bias == pytest.approx(best_bias, abs=2e-5)
        gammas.append(gamma)
    if isinstance(loss, Hinge):  # all three cases of the lecture were met
        assert min(gammas) == 0.0
        assert max(gammas) == 1.0
        assert any(0.01 < gamma < 0.99 for gamma in gammas)


def test_an_augmented_intercept_is_the_weight_of_a_constant_feature(rng):
    problem = small_problem(rng, intercept=Intercept(3.0))
    wide = np.column_stack([problem.source.X, np.full(problem.n_rows, 3.0)])
    constant = replace(problem, source=replace(problem.source, X=wide), intercept=Intercept.NONE)
    for solver in [*PRIMAL, AveragedSGD(average="all")]:
        one, other = (replace(solver, max_iter=3).solve(form) for form in (problem, constant))
        assert_allclose(np.append(one.weights, one.bias / 3.0), other.weights, rtol=1e-9, atol=1e-12)
        assert_allclose(one.alpha, other.alpha, rtol=1e-9, atol=1e-12)


# Steps and draws


@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(0.3)], ids=lambda loss: loss.name
)
def test_the_slopes_of_the_loops_are_those_of_the_losses(loss, rng):
    f = np.concatenate([rng.normal(scale=3.0, size=50), [-1.0, 1.0, 800.0, -800.0]])
    y = np.where(rng.random(54) < 0.5, 1.0, -1.0)
    ours = [subgradient(loss.curve, float(score), float(target)) for score, target in zip(f, y, strict=True)]
    assert_allclose(ours, loss.score_slope(f, y), rtol=1e-14)


def test_draws_take_every_row_in_proportion_to_its_cost(rng):
    assert_allclose(np.sort(draws(np.full(7, 0.3), rng)), np.arange(7))
    counts = np.bincount(draws(np.array([1.0, 2.0, 1.0, 4.0]) / 8.0, rng), minlength=4)
    assert abs(counts - np.array([0.5, 1.0, 0.5, 2.0])).max() <= 0.5
    costs = rng.random(50)
    epochs = 2000
    counts = np.bincount(np.concatenate([draws(costs, rng) for _ in range(epochs)]), minlength=50)
    assert_allclose(counts / epochs, 50 * costs / costs.sum(), atol=5 * 0.5 / math.sqrt(epochs))


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.3)], ids=lambda loss: loss.name)
def test_the_ball_of_the_projection_holds_the_optimum(loss, rng):
    problem = small_problem(rng, loss, C=100.0)
    assert np.linalg.norm(QP().solve(problem).weights) <= radius_of_the_ball(problem)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=lambda loss: loss.name)
def test_the_optimum_of_smooth_losses_lies_in_the_ball(loss, rng):
    problem = small_problem(rng, loss, C=10.0)
    solution = Subgradient(tol=1e-6).solve(problem)
    assert np.linalg.norm(solution.weights) <= radius_of_the_ball(problem)


@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(0.3)], ids=lambda loss: loss.name
)
def test_slopes_at_the_best_intercept_are_balanced_multipliers(loss, rng):
    problem = small_problem(rng, loss)
    f = problem.scores(rng.normal(size=3))
    b = float(best_intercept(loss, f, problem.targets, problem.costs))
    beta = slopes_at(problem, f, b)
    assert abs(np.sum(beta)) <= 1e-6 * np.sum(np.abs(beta))
    alpha = into_domain(problem, beta)
    assert_allclose(problem.coefficients(alpha), beta, atol=1e-6)
    seen = assess(problem, alpha, problem.weights_from(beta), None)
    assert np.isfinite(seen.dual)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("layout", [lambda problem: problem, as_csr], ids=["dense", "sparse"])
def test_a_pair_step_is_the_best_of_its_line_and_keeps_the_constraints(loss, layout, rng):
    problem = small_problem(rng, loss, n=20)
    box, y = loss.dual_box(problem.costs), problem.targets
    X = problem.source.X
    dual = DualRows(layout(problem).source.loop_rows, y, np.sum(X * X, axis=1), box.upper, box.diagonal)
    alpha, w, zeros = np.zeros(20), np.zeros(3), np.zeros(3)

    def value(multipliers):
        combination = problem.weights_from(y * multipliers)
        return np.sum(multipliers) - 0.5 * combination @ combination - 0.5 * box.diagonal @ multipliers**2

    for _ in range(300):
        i, j = rng.choice(20, size=2, replace=False)
        before = alpha.copy()
        pull = y * (1.0 - box.diagonal * alpha) - X @ w
        pair_step(dual, i, j, alpha, w, pull, zeros)
        line = [before.copy() for _ in range(21)]
        for delta, point in zip(np.linspace(-0.1, 0.1, 21), line, strict=True):
            point[i] += y[i] * delta
            point[j] -= y[j] * delta
        feasible = [point for point in line if np.all((point >= 0.0) & (point <= box.upper))]
        assert value(alpha) >= max(map(value, feasible)) - 1e-12
        assert np.all((alpha >= 0.0) & (alpha <= box.upper))
        assert abs(y @ alpha) <= 1e-12
        assert_allclose(w, problem.weights_from(y * alpha), atol=1e-12)
        assert_allclose(pull[[i, j]], (y * (1.0 - box.diagonal * alpha) - X @ w)[[i, j]], atol=1e-12)
        assert not np.any(zeros)


# Behaviour


@pytest.mark.parametrize("solver", [*STOCHASTIC, Pairs(tol=1e-8)], ids=name)
def test_the_same_seed_gives_the_same_answer_and_another_seed_another_path(solver, rng):
    problem = small_problem(rng)
    one, two = solver.solve(problem), solver.solve(problem)
    assert np.array_equal(one.weights, two.weights)
    assert np.array_equal(one.alpha, two.alpha)
    other = replace(solver, random_state=1).solve(problem)
    assert not np.array_equal(one.history.primal, other.history.primal)
    assert np.all(np.isfinite(replace(solver, random_state=None).solve(problem).weights))


@pytest.mark.parametrize("solver", [*PRIMAL, Pairs(tol=1e-9)], ids=name)
def test_sparse_rows_give_the_answer_of_dense_rows(solver, rng):
    problem = small_problem(rng)
    dense, csr = solver.solve(problem), solver.solve(as_csr(problem))
    assert_allclose(csr.weights, dense.weights, rtol=1e-7, atol=1e-8)
    assert_allclose(csr.alpha, dense.alpha, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solver", PRIMAL, ids=name)
def test_weight_two_is_the_row_twice_within_the_gap(solver, rng):
    problem = small_problem(rng, n=20)
    weight = np.where(np.arange(20) % 2 == 0, 2.0, 1.0)
    X, y = problem.source.X, problem.targets
    weighted = LinearProblem(ArraySource(X, y, weight), Hinge(), 0.2, Intercept.FREE)
    twice = np.repeat(np.arange(20), weight.astype(int))
    repeated = LinearProblem(ArraySource(X[twice], y[twice], np.ones(30)), Hinge(), 0.2, Intercept.FREE)
    seen = []
    for one in (weighted, repeated):
        solution = solver.solve(one)
        seen.append(assess(weighted, np.zeros(20), solution.weights, None).primal)
        assert solution.history.gap[-1] <= 0.1 * seen[-1]
    assert seen[0] == pytest.approx(seen[1], rel=0.02)


@pytest.mark.parametrize("solver", [*PRIMAL, Pairs()], ids=name)
@pytest.mark.alone
def test_max_seconds_ends_the_search_with_a_certified_answer(solver, rng):
    problem = small_problem(rng, C=1e4)
    solver.solve(replace(problem, C=1e-3))  # compiles
    begun = time.perf_counter()
    solution = replace(solver, tol=1e-14, max_iter=10**9, max_seconds=0.2).solve(problem)
    assert time.perf_counter() - begun < 5.0
    assert solution.status is Status.BUDGET
    assert np.isfinite(assess(problem, solution.alpha, solution.weights, solution.bias).gap)


@pytest.mark.parametrize("solver", [Subgradient(), Pegasos(), Pairs()], ids=name)
@pytest.mark.alone
def test_an_interrupt_keeps_the_answer_so_far(solver, rng):
    problem = small_problem(rng, C=1e4)
    solver.solve(replace(problem, C=1e-3))  # compiles
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    solution = replace(solver, tol=1e-14, max_iter=10**9, max_seconds=60.0).solve(problem)
    timer.join()
    assert solution.status is Status.INTERRUPTED
    assert np.isfinite(assess(problem, solution.alpha, solution.weights, solution.bias).gap)


@pytest.mark.parametrize("solver", [*PRIMAL, Pairs()], ids=name)
def test_max_iter_counts_passes(solver, rng):
    solution = replace(solver, max_iter=2, tol=1e-14).solve(small_problem(rng))
    assert solution.status is Status.BUDGET
    assert 2.0 <= solution.passes < 3.0


def test_pairs_start_from_multipliers_and_stop_at_once_where_they_are_optimal(rng):
    problem = small_problem(rng)
    solution = Pairs(tol=1e-6).solve(problem)
    again = Pairs(tol=1e-6).solve(problem, start=solution)
    assert again.passes == 0.0
    assert again.status is Status.CONVERGED


def test_estimators_take_the_solvers_as_objects(rng):
    problem = small_problem(rng, n=60)
    X, y = problem.source.X, problem.targets
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = LinearSVC(loss="hinge", solver=Pegasos(max_iter=20)).fit(X, y)
    assert model.certificate_.solver == "pegasos"
    assert model.certificate_.passes == 20
    assert model.certificate_.gap == pytest.approx(model.history_.gap[-1])
    model.certificate_.verify(X, y)
    exact = LinearSVC(loss="hinge", solver=Pairs(tol=1e-6)).fit(X, y)
    assert exact.certificate_.status is Status.CONVERGED
    assert exact.certificate_.primal <= model.certificate_.primal


@pytest.mark.parametrize("solver", [*PRIMAL, Pairs()], ids=name)
def test_what_a_solver_cannot_do_is_refused_with_what_it_can(solver, rng):
    problem = small_problem(rng)
    for loss in (HardMargin(), Squared()):
        with pytest.raises(ParameterError, match=f"{solver.name}.*cannot do the {loss.name} loss. It can do: hinge"):
            solver.solve(replace(problem, loss=loss))
    kernel = KernelProblem(problem.source, Hinge(), 1.0, Intercept.FREE, Gaussian(1.0))
    for other in (kernel, replace(problem, penalty=L1(1.0))):
        with pytest.raises(ParameterError, match="is for linear problems with the penalty"):
            solver.solve(other)


def test_bad_settings_are_refused(rng):
    problem = small_problem(rng)
    with pytest.raises(ParameterError, match=r"can do: hinge, squared hinge\."):
        Implicit().solve(replace(problem, loss=Logistic()))
    with pytest.raises(ParameterError, match=r"can do: hinge, squared hinge\."):
        Pairs().solve(replace(problem, loss=Logistic()))
    with pytest.raises(ParameterError, match="use solver='dcd'"):
        Pairs().solve(replace(problem, intercept=Intercept.AUGMENTED))
    with pytest.raises(ParameterError, match="batch must be"):
        Pegasos(batch=0).solve(problem)
    with pytest.raises(ParameterError, match="random_state must be"):
        Implicit(random_state=-1).solve(problem)
    with pytest.raises(ParameterError, match="Did you mean 'half'"):
        AveragedSGD(average="halve").solve(problem)
