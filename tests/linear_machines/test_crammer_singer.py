"""Crammer and Singer's machine: against a quadratic program, a linear program, closed forms and certificates."""

import os
import signal
import threading
import time
import warnings
from dataclasses import replace

import clarabel
import numpy as np
import pytest
import sklearn.svm as peers
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_digits, load_iris

import maxmargin
from maxmargin import LinearSVC
from maxmargin._loops.linear.multiclass_descent import best_step
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError
from maxmargin.losses import CrammerSinger, Hinge, Softmax
from maxmargin.problems import Intercept, LinearProblem, Status, best_intercept
from maxmargin.solvers import Automatic, MulticlassDescent, MulticlassInterior, untrained
from maxmargin.solvers.linear.class_balance import balanced, shares_of

INTERCEPTS = [Intercept.NONE, Intercept.AUGMENTED, Intercept.FREE]
SOLVERS = [Automatic(1e-7), MulticlassDescent(1e-5, 200_000), MulticlassInterior(1e-7)]
IRIS = load_iris(return_X_y=True)


def blobs(rng, n, d, K):
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    return rng.normal(size=(n, d)) + rng.normal(size=(K, d))[y], y


def problem_of(X, y, C, intercept, weight=None, n_classes=None):
    n_classes = int(np.max(y)) + 1 if n_classes is None else n_classes
    weight = np.ones(len(y)) if weight is None else weight
    return LinearProblem(ArraySource(X, y.astype(float), weight), CrammerSinger(n_classes), C, intercept)


def naive_losses(f, y):
    rivals = [[1 + f[i, j] - f[i, k] for j in range(f.shape[1]) if j != k] for i, k in enumerate(y)]
    return np.array([max(0.0, *one) for one in rivals])


def _constraints(f_columns, y, K):
    """Rows f_ik - f_iy - xi_i <= -1 of every row and rival; `f_columns` has the coefficients of a score."""
    n = len(y)
    blocks = []
    for k in range(K):
        rows = np.flatnonzero(y != k)
        slack = sparse.csr_matrix((-np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n))
        rival = f_columns(rows, np.full(len(rows), k)) - f_columns(rows, y[rows])
        blocks.append(sparse.hstack([rival, slack]))
    return sparse.vstack(blocks).tocsc()


def optimum(problem):
    """The least objective, by a quadratic program in W, b and the slacks."""
    X = sparse.csr_matrix(problem.source.X, dtype=np.float64)
    y, K = problem.targets.astype(int), problem.loss.n_classes
    (n, d), scale = X.shape, problem.intercept.scale
    ones = sparse.csr_matrix(np.full((n, 1), float(scale > 0)))
    both = sparse.hstack([X, ones]).tocsr()

    def f_columns(rows, classes):
        parts = [both[rows].multiply((classes == k)[:, None]) for k in range(K)]
        return sparse.hstack(parts)

    A = sparse.vstack(
        [_constraints(f_columns, y, K), sparse.hstack([sparse.csr_matrix((n, K * (d + 1))), -sparse.eye(n)])]
    )
    rhs = np.concatenate([np.full(A.shape[0] - n, -1.0), np.zeros(n)])
    stiffness = 1.0 if scale == 0.0 else scale**-2.0
    penalty = np.tile(np.append(np.ones(d), stiffness), K)
    P = sparse.diags(np.concatenate([penalty, np.zeros(n)])).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    cost = np.concatenate([np.zeros(K * (d + 1)), problem.costs])
    return (
        clarabel.DefaultSolver(P, cost, A.tocsc(), rhs, [clarabel.NonnegativeConeT(len(rhs))], settings).solve().obj_val
    )


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("layout", ["dense64", "dense32", "csr64", "csr32"])
def test_every_solver_reaches_the_optimum_of_the_quadratic_program(solver, intercept, layout, rng):
    X, y = blobs(rng, 60, 4, 4)
    X = X.astype(np.float32 if layout.endswith("32") else np.float64)
    X = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0, X)) if layout.startswith("csr") else X
    problem = problem_of(X, y, 0.7, intercept, rng.random(60) + 0.1)
    solution = solver.solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert solution.status is Status.CONVERGED
    assert seen.gap + seen.rounding >= 0.0
    assert max(seen.gap / seen.primal, seen.kkt_violation) <= solver.tol
    assert seen.primal == pytest.approx(optimum(problem), rel=solver.tol)


@pytest.mark.parametrize("C", [1e-4, 1e-1, 1e2, 1e6])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_any_cost_ends_with_a_certificate(C, intercept):
    problem = problem_of(*IRIS, C, intercept)
    solution = Automatic(1e-4).solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert max(seen.gap / seen.primal, seen.kkt_violation) <= 1e-4
    assert seen.primal == pytest.approx(optimum(problem), rel=2e-4)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
@pytest.mark.parametrize("C", [1e-2, 1e4])
@pytest.mark.slow
def test_a_penalty_lost_in_rounding_ends_with_what_was_found_and_says_so(C, intercept):
    problem = problem_of(1e6 * IRIS[0], IRIS[1], C, intercept)
    solution = Automatic(1e-4).solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    is_solved = max(seen.gap / seen.primal, seen.kkt_violation) <= 1e-4
    assert np.isfinite(seen.dual)
    assert seen.gap + seen.rounding >= 0.0
    assert (solution.status is Status.CONVERGED) == is_solved
    alone = MulticlassDescent(1e-4, 200 + 3 * 5).solve(problem)  # where the default begins
    assert seen.gap <= assess(problem, alone.alpha, alone.weights, alone.bias).gap


def _hard_cases():
    rng = np.random.default_rng(5)
    X, y = blobs(rng, 80, 3, 4)
    wide, wide_y = blobs(rng, 20, 60, 3)
    uneven = np.concatenate([np.zeros(100, dtype=int), [1, 2]])
    return {
        "rows twice": (np.vstack([X, X]), np.concatenate([y, y]), 1.0),
        "rows twice with two labels": (np.vstack([X, X]), np.concatenate([y, (y + 1) % 4]), 1.0),
        "constant and zero columns": (np.hstack([X, np.ones((80, 1)), np.zeros((80, 2))]), y, 1.0),
        "only zeros": (np.zeros((12, 2)), np.arange(12) % 3, 1.0),
        "an empty row": (np.vstack([np.zeros(3), X[1:]]), y, 1.0),
        "tiny": (1e-6 * X, y, 1.0),
        "huge": (1e6 * X, y, 1e-10),
        "wide": (wide, wide_y, 10.0),
        "one row a class": (np.eye(5), np.arange(5), 100.0),
        "one row a class, one feature": (np.arange(4.0)[:, None], np.arange(4), 10.0),
        "uneven": (rng.normal(size=(102, 2)) + uneven[:, None], uneven, 1.0),
    }


@pytest.mark.parametrize("intercept", ["free", "augmented", "none"])
@pytest.mark.parametrize("name", _hard_cases())
def test_hard_cases_are_solved_and_their_certificate_verifies(name, intercept):
    X, y, C = _hard_cases()[name]
    settings = {"fit_intercept": False} if intercept == "none" else {"intercept": intercept}
    model = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-5, **settings).fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert again.relative_gap <= 1e-5
    assert model.coef_.shape == (len(np.unique(y)), X.shape[1])


def test_the_loss_is_what_its_name_says(rng):
    f, y = rng.normal(size=(200, 5)), rng.integers(0, 5, 200)
    assert_allclose(CrammerSinger().score_value(f, y), naive_losses(f, y), atol=1e-15)


def test_fenchel_young_holds_everywhere_and_is_tight_at_the_slope(rng):
    loss = CrammerSinger()
    f, y = 2.0 * rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    v = loss.score_slope(f, y)
    assert_allclose(loss.score_value(f, y) + loss.score_conjugate(v, y), np.sum(v * f, axis=1), atol=1e-12)
    assert np.all(loss.score_violation(f, v, y) == 0.0)
    own = np.eye(4)[y]
    other = rng.dirichlet(np.full(4, 0.3), 300) - own
    slack = loss.score_value(f, y) + loss.score_conjugate(other, y) - np.sum(other * f, axis=1)
    assert np.all(slack >= -1e-12)
    # A pair is optimal exactly where the inequality is tight.
    assert np.all((loss.score_violation(f, other, y) > 1e-9) == (slack > 1e-9))
    assert np.all(np.isinf(loss.score_conjugate(other + 0.01, y)))
    assert_allclose(loss.value(f) + loss.conjugate(loss.subgradient(f)), np.sum(f * loss.subgradient(f), axis=1))


@given(seed=st.integers(0, 10**6), K=st.integers(2, 8), size=st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_step_of_a_row_is_the_projection_onto_its_simplex(seed, K, size):
    rng = np.random.default_rng(seed)
    C, A = rng.exponential(), size * rng.exponential()
    q, g, step = C * rng.dirichlet(np.full(K, 0.3)), rng.normal(size=K), np.empty(K)
    best_step(g, q, K, A, step)
    D = np.sort(q + g / A)[::-1]  # the projection of q + g / A by sorting
    tau = max((np.cumsum(D) - C) / np.arange(1, K + 1))
    assert_allclose(q + step, np.maximum(q + g / A - tau, 0.0), atol=1e-12 * (C + 1.0 / A))
    assert abs(np.sum(step)) <= 1e-14 * (C + 1.0 / A)


def least_intercept_loss(f, y, C):
    """By a linear program."""
    K = f.shape[1]

    def f_columns(rows, classes):
        return sparse.csr_matrix((np.ones(len(rows)), (np.arange(len(rows)), classes)), shape=(len(rows), K))

    A = _constraints(f_columns, y, K)
    rhs = np.concatenate([f[y != k, y[y != k]] - f[y != k, k] - 1.0 for k in range(K)])
    bounds = [(None, None)] * K + [(0.0, None)] * len(y)
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    cost = np.concatenate([np.zeros(K), C])
    return linprog(cost, A_ub=A, b_ub=rhs, bounds=bounds, method="highs-ds", options=exact).fun


@examples(max_examples=25)
@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 60), K=st.integers(2, 6), size=st.sampled_from([1e-6, 1.0, 30.0, 1e6])
)
def test_the_best_intercepts_solve_their_linear_program(seed, n, K, size):
    rng = np.random.default_rng(seed)
    f, y, C = size * rng.normal(size=(n, K)), rng.integers(0, K, n), rng.exponential(size=n)
    if seed % 2:  # many ties
        f, C = size * np.round(f / size), np.ones(n)
    b = best_intercept(CrammerSinger(K), f, y.astype(float), C)
    value = float(C @ CrammerSinger(K).score_value(f + b, y))
    assert value <= least_intercept_loss(f, y, C) * (1 + 1e-9) + 1e-9 * size
    assert abs(np.sum(b)) <= 1e-9 * (1.0 + np.max(np.abs(b)))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_softmax_intercepts_balance_to_the_last_digits(size, rng):
    f, y, C = size * rng.normal(size=(500, 6)), rng.integers(0, 6, 500).astype(float), rng.random(500) + 0.01
    b = best_intercept(Softmax(6), f, y, C)
    assert np.max(np.abs(C @ Softmax().score_slope(f + b, y))) <= 1e-12 * np.sum(C)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), K=st.integers(2, 6), spread=st.sampled_from([0.05, 0.5]))
def test_balancing_gives_feasible_coefficients_whatever_it_is_given(seed, n, K, spread):
    rng = np.random.default_rng(seed)
    y, C = rng.integers(0, K, n).astype(float), rng.exponential(size=n) + 1e-3
    q = C[:, None] * rng.dirichlet(np.full(K, spread), n)
    q = np.where(q < 1e-3 * C[:, None], 0.0, q)
    beta = balanced(shares_of(np.eye(K)[y.astype(int)] * C[:, None] - q, y, C), y, C)
    size = np.sum(np.abs(beta))
    assert np.max(np.abs(np.sum(beta, axis=0))) <= 64 * np.finfo(float).eps * size
    assert np.max(np.abs(np.sum(beta, axis=1))) <= 1e-14 * np.max(C)
    assert np.all(np.isfinite(CrammerSinger(K).score_conjugate(-beta / C[:, None], y)))


def test_balanced_coefficients_stay_as_they_are(rng):
    X, y = blobs(rng, 50, 3, 3)
    problem = problem_of(X, y, 1.0, Intercept.FREE)
    beta = MulticlassInterior(1e-8).solve(problem).alpha
    again = balanced(shares_of(beta, problem.targets, problem.costs), problem.targets, problem.costs)
    assert_allclose(again, beta, atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_scikit_learn_finds_nothing_better(C):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16.0, y[:400]
    model = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-6).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer may meet its iteration limit; the objectives are compared
        peer = peers.LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=20_000, random_state=0
        ).fit(X, y)
    theirs = 0.5 * np.sum(peer.coef_**2) + C * np.sum(naive_losses(X @ peer.coef_.T, y))
    assert model.certificate_.dual <= theirs * (1 + 1e-12)
    assert model.certificate_.primal == pytest.approx(theirs, rel=1e-5)
    assert np.mean(model.predict(X) == peer.predict(X)) > 0.99


def test_two_classes_are_the_hinge_at_twice_the_cost_as_in_scikit_learn(rng):
    X, y = blobs(rng, 60, 3, 2)
    model = LinearSVC(multi_class="crammer_singer", C=0.4, intercept="augmented", tol=1e-9).fit(X, y)
    peer = peers.LinearSVC(multi_class="crammer_singer", C=0.4, tol=1e-10, max_iter=100_000).fit(X, y)
    binary = LinearSVC(loss="hinge", C=0.8, intercept="augmented", tol=1e-9).fit(X, y)
    assert model.coef_.shape == peer.coef_.shape == (1, 3)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    assert_allclose(model.coef_, binary.coef_, atol=1e-9)
    both = problem_of(X, y, 0.4, Intercept.AUGMENTED)
    solution = MulticlassInterior(1e-9).solve(both)
    assert_allclose(solution.weights[:, 1] - solution.weights[:, 0], model.coef_[0], atol=1e-6)
    value = assess(both, solution.alpha, solution.weights, solution.bias).primal
    assert model.certificate_.primal == pytest.approx(2.0 * value, rel=1e-8)


def test_integer_weights_are_repeated_rows_and_zeros_are_absent_ones(rng):
    X, y = blobs(rng, 60, 3, 3)
    weight = rng.integers(0, 4, 60)
    weighted = LinearSVC(multi_class="crammer_singer", tol=1e-9, class_weight={0: 2.0, 2: 0.5}).fit(X, y, weight)
    repeated = LinearSVC(multi_class="crammer_singer", tol=1e-9, class_weight={0: 2.0, 2: 0.5})
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    weighted.certificate_.verify(X, y, weight)


@pytest.mark.parametrize("solver", ["auto", "dcd", MulticlassInterior(1e-4)])
def test_a_class_whose_rows_weigh_nothing_keeps_out_of_the_way(solver, rng):
    X, y = blobs(rng, 60, 3, 4)
    weight = np.where(y == 3, 0.0, 1.0)
    model = LinearSVC(multi_class="crammer_singer", solver=solver, max_iter=100_000).fit(X, y, weight)
    assert model.coef_.shape == (3, 3)
    assert model.certificate_.status is Status.CONVERGED
    model.certificate_.verify(X, y, weight)
    without = LinearSVC(multi_class="crammer_singer").fit(X[y < 3], y[y < 3])
    assert model.certificate_.primal == pytest.approx(without.certificate_.primal, rel=2e-4)


def test_classes_without_rows_are_counted_also_before_training(rng):
    X, y = blobs(rng, 20, 3, 3)
    problem = problem_of(X, y, 1.0, Intercept.FREE, n_classes=5)
    start = untrained(problem, "dcd", Status.INTERRUPTED)
    assert start.alpha.shape == (20, 5)
    assert start.weights.shape == (3, 5)
    seen = assess(problem, start.alpha, start.weights, start.bias)
    assert np.isfinite(seen.primal)
    assert seen.dual == 0.0


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_a_solution_is_recognised_when_it_is_the_start(intercept, rng):
    X, y = blobs(rng, 60, 4, 3)
    problem = problem_of(X, y, 0.5, intercept)
    first = MulticlassDescent(1e-5, 100_000).solve(problem)
    again = MulticlassDescent(2e-5, 100_000).solve(problem, first)
    assert first.passes > 0.0
    assert again.passes == 0.0
    assert again.status is Status.CONVERGED


def test_a_warm_start_at_another_cost_reaches_the_same_optimum(rng):
    X, y = blobs(rng, 60, 4, 3)
    model = LinearSVC(multi_class="crammer_singer", C=0.1, warm_start=True, tol=1e-7).fit(X, y)
    model.set_params(C=3.0).fit(X, y)
    cold = LinearSVC(multi_class="crammer_singer", C=3.0, tol=1e-7).fit(X, y)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-7)


@pytest.mark.parametrize("solver", [MulticlassDescent(1e-9, max_iter=1), MulticlassInterior(1e-9, max_iter=1)])
def test_a_budget_of_one_leaves_a_feasible_point(solver, rng):
    X, y = blobs(rng, 60, 4, 3)
    problem = problem_of(X, y, 1.0, Intercept.FREE)
    solution = solver.solve(problem)
    assert solution.status is Status.BUDGET
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert np.isfinite(seen.dual)
    assert seen.gap > 0.0


@pytest.mark.parametrize(
    "solver", [MulticlassDescent(), MulticlassInterior()], ids=lambda solver: type(solver).__name__
)
@pytest.mark.alone
def test_budgets_of_time_and_interrupts_keep_the_answer_so_far(solver, rng):
    X, y = blobs(rng, 3000, 20, 8)
    problem = problem_of(X, y, 1e4, Intercept.FREE)
    solver.solve(problem_of(X[:50], y[:50], 1e-3, Intercept.FREE))  # compiles
    endless = replace(solver, tol=1e-15, max_iter=10**9)
    begun = time.perf_counter()
    short = replace(endless, max_seconds=0.2).solve(problem)
    assert time.perf_counter() - begun < 5.0
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    stopped = replace(endless, max_seconds=60.0).solve(problem)
    timer.join()
    for solution, status in ((short, Status.BUDGET), (stopped, Status.INTERRUPTED)):
        assert solution.status is status
        assert np.isfinite(assess(problem, solution.alpha, solution.weights, solution.bias).gap)


def test_shrinking_changes_the_work_and_not_the_answer(rng):
    X, y = blobs(rng, 300, 5, 6)
    problem = problem_of(X, y, 1.0, Intercept.NONE)
    values, work = [], []
    for shrinking in (True, False):
        solution = MulticlassDescent(1e-5, 100_000, shrinking=shrinking).solve(problem)
        values.append(assess(problem, solution.alpha, solution.weights, solution.bias).primal)
        work.append(solution.passes)
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert work[0] < 0.7 * work[1]


def test_a_model_file_keeps_the_machine(tmp_path, rng):
    X, y = blobs(rng, 60, 4, 3)
    labels = np.array(["red", "green", "blue"])[y]
    model = LinearSVC(multi_class="crammer_singer").fit(X, labels)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    again.certificate_.verify(X, labels)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_what_cannot_be_done_is_refused_by_name(rng):
    X, y = blobs(rng, 30, 3, 3)
    with pytest.raises(ParameterError, match="crammer_singer"):
        LinearSVC(multi_class="one").fit(X, y)
    with pytest.raises(ParameterError, match="finite C"):
        LinearSVC(multi_class="crammer_singer", C=np.inf).fit(X, y)
    with pytest.raises(ParameterError, match="'auto', 'dcd'"):
        LinearSVC(multi_class="crammer_singer", solver="newton").fit(X, y)
    binary = LinearProblem(ArraySource(X, np.where(y > 0, 1.0, -1.0), np.ones(30)), Hinge(), 1.0, Intercept.FREE)
    for solver in (MulticlassDescent(), MulticlassInterior()):
        with pytest.raises(ParameterError, match="Crammer-Singer"):
            solver.solve(binary)
