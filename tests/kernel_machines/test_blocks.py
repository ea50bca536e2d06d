"""Working sets, against the reference: on the whole matrix of few rows, and on three levels of tiny sizes."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from maxmargin.certificates import assess
from maxmargin.errors import ParameterError
from maxmargin.kernels import (
    EditDistance,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
)
from maxmargin.losses import EpsilonInsensitive, Hinge, Logistic, MarginLoss, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.problems import Intercept, KernelProblem, Pair, Regression, Specification, Status
from maxmargin.solvers import QP, Blocks
from tests.problem_table import PROBLEMS

TOL = 1e-6
WHOLE = {"whole": 5000}
LEVELS = {"whole": 0, "active": 24, "size": 16}
"""So small that the rows of the table become active in turn, and active ones enter the working set in turn."""

CASES = [
    case
    if case.specification.kernel is not None
    else replace(case, specification=replace(case.specification, kernel=Linear()))
    for case in PROBLEMS
    if case.problem.loss.name != "squared"
]

# Kernel values that single precision, or the rank of the kernel, makes useless: pair steps crawl, and say so.
CRAWLING = ("scales 1e-6 to 1e6", "huge scale", "C=1e+06, free intercept, linear")


def _is_easy(case):
    return "separable" in case.name or not any(words in case.name for words in CRAWLING)


def _seen(problem, solution):
    return assess(problem, solution.alpha, solution.weights, solution.bias)


def _assert_optimal(problem, solution, tol, optimum=None):
    seen = _seen(problem, solution)
    assert solution.status is Status.CONVERGED
    assert seen.gap <= tol * abs(seen.primal) + seen.rounding
    assert seen.kkt_violation <= tol
    if optimum is not None:
        assert_allclose(seen.primal, optimum, rtol=2.0 * tol)


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
@pytest.mark.parametrize("case", [case for case in CASES if _is_easy(case)], ids=str)
def test_the_answer_is_that_of_the_reference(case, sizes):
    problem = case.problem
    _assert_optimal(problem, Blocks(tol=TOL, **sizes).solve(problem), TOL, case.optimum)


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
@pytest.mark.parametrize("case", [case for case in CASES if not _is_easy(case)], ids=str)
def test_whatever_ends_a_hopeless_fit_its_answer_bounds_the_optimum(case, sizes):
    problem = case.problem
    solution = Blocks(tol=TOL, max_iter=20_000, **sizes).solve(problem)
    seen = _seen(problem, solution)
    assert solution.passes <= 20_000
    assert np.isfinite(seen.dual)  # feasible: within bounds, and balanced
    slack = seen.rounding + 1e-6 * abs(case.optimum)
    assert seen.dual <= case.optimum + slack
    assert seen.primal >= case.optimum - slack
    if solution.status is Status.CONVERGED and seen.rounding < 1e-3 * TOL * abs(seen.primal):
        assert seen.gap <= TOL * abs(seen.primal)


@pytest.mark.parametrize("case", [case for case in CASES if "overlapping" in case.name and not _is_easy(case)], ids=str)
def test_where_pair_steps_crawl_on_few_rows_the_reference_ends_the_fit(case):
    problem = case.problem
    solution = Blocks(tol=TOL).solve(problem)
    _assert_optimal(problem, solution, TOL, case.optimum)
    assert solution.solver != "blocks" or solution.passes < 30_000  # whoever found the coefficients is named


# Kernels, layouts, losses, intercepts --------------------------------------------------------------------------------

LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]


def _rows(n, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, f


def _problem(X, f, loss, kernel, intercept=Intercept.FREE, C=1.0, weight=None):
    if isinstance(loss, MarginLoss):
        task, y = Pair(-1.0, 1.0), np.where(f > 0.0, 1.0, -1.0)
    else:
        task, y = Regression(), f
    problem = Specification(task, loss, C, intercept, kernel).problem(X, y, weight)[0]
    assert isinstance(problem, KernelProblem)
    return problem


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_every_loss_with_every_intercept(loss, intercept):
    """At the sizes of a real fit, where levels begin, and where one working set holds all rows."""
    for n in (1100, 4000):
        X, f = _rows(n)
        problem = _problem(X, f, loss, Gaussian(0.2), intercept)
        _assert_optimal(problem, Blocks(tol=1e-4).solve(problem), 1e-4)


LAYOUTS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) < 1.5, 0.0, X)),
    "sparse float32": lambda X: sparse.csr_matrix(np.where(np.abs(X) < 1.5, 0.0, X).astype(np.float32)),
    "wide": lambda X: sparse.csr_matrix(sparse.hstack([sparse.csr_matrix((X.shape[0], 5000)), X])),
    "far away": lambda X: 1e4 + X,
}
KERNELS = [Gaussian(0.2), Linear(), Polynomial(2, 0.5, 1.0), Laplacian(0.3)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_layout_of_rows_with_every_kernel(layout, kernel):
    X, f = _rows(1100)
    if layout == "far away" and isinstance(kernel, Polynomial):
        X, f = _rows(900)  # values of 1e16 in single precision say nothing of rows that differ by 1
        kernel = Polynomial(2, 1e-8, 1.0)
    problem = _problem(LAYOUTS[layout](X), f, Hinge(), kernel)
    _assert_optimal(problem, Blocks(tol=1e-3).solve(problem), 1e-3)


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
def test_kernels_without_a_fast_form(sizes):
    X, f = _rows(120)
    optimum = _seen(_problem(X, f, Hinge(), Gaussian(0.2)), QP().solve(_problem(X, f, Hinge(), Gaussian(0.2)))).primal
    K = Gaussian(0.2).block(X, X)
    slow = as_kernel(lambda A, B: np.exp(-0.2 * np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=2)))
    for rows, kernel in ((K, Precomputed()), (X, slow)):
        problem = _problem(rows, f, Hinge(), kernel)
        _assert_optimal(problem, Blocks(tol=TOL, **sizes).solve(problem), TOL, optimum)
    words = np.array(["ab" * (k % 5) + "c" * (k % 3) + "de" * (k % 4) for k in range(60)], dtype=object)
    problem = _problem(words, np.where(np.arange(60) % 5 < 2, 1.0, -1.0), Hinge(), EditDistance())
    solution = Blocks(tol=TOL, **sizes).solve(problem)  # on these words it has negative eigenvalues, so there is no gap
    assert solution.status is Status.CONVERGED
    assert _seen(problem, solution).kkt_violation <= TOL


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS, {}], ids=["whole", "levels", "default"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_an_indefinite_kernel_ends_at_a_point_that_satisfies_the_conditions(sizes, C):
    X, f = _rows(150 if sizes else 1300)
    problem = _problem(X, f, Hinge(), Sigmoid(0.3, -0.5), C=C)
    solution = Blocks(tol=1e-3, **sizes).solve(problem)
    assert solution.status is Status.CONVERGED
    assert _seen(problem, solution).kkt_violation <= 1e-3


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_row_in_a_thousand_is_of_the_other_class(sign):
    """Whichever class is rare: at the start most variables can move in one direction only."""
    X, _ = _rows(4000)
    X[:4] += 1.0
    f = np.where(np.arange(4000) < 4, sign, -sign)
    for sizes in ({}, {"whole": 0, "active": 256, "size": 64}):
        problem = _problem(X, f, Hinge(), Gaussian(0.2))
        _assert_optimal(problem, Blocks(tol=1e-4, **sizes).solve(problem), 1e-4)


# What a solver promises ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.slow
def test_the_dual_never_falls(loss, sizes):
    X, f = _rows(300)
    solution = Blocks(tol=TOL, **sizes).solve(_problem(X, f, loss, Gaussian(0.2), C=10.0))
    dual = np.array(solution.history.dual)
    assert len(dual) > 1
    assert np.all(np.diff(dual) >= -1e-6 * np.abs(dual[1:]))


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_weight_is_a_number_of_rows(loss, sizes, rng):
    X, f = _rows(80)
    weight = rng.integers(0, 4, len(f)).astype(float)
    times = weight.astype(int)
    weighted = _problem(X, f, loss, Gaussian(0.2), C=3.0, weight=weight)
    repeated = _problem(np.repeat(X, times, axis=0), np.repeat(f, times), loss, Gaussian(0.2), C=3.0)
    seen = [_seen(one, Blocks(tol=TOL, **sizes).solve(one)) for one in (weighted, repeated)]
    assert_allclose(seen[0].primal, seen[1].primal, rtol=2.0 * TOL)


@pytest.mark.parametrize("sizes", [WHOLE, LEVELS], ids=["whole", "levels"])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_a_start_from_another_cost_saves_steps_and_changes_no_answer(sizes, intercept):
    X, f = _rows(300)
    before = Blocks(tol=1e-4, **sizes).solve(_problem(X, f, Hinge(), Gaussian(0.2), intercept, C=1.0))
    problem = _problem(X, f, Hinge(), Gaussian(0.2), intercept, C=1.1)
    cold = Blocks(tol=1e-4, **sizes).solve(problem)
    for start in (before, cold):
        warm = Blocks(tol=1e-4, **sizes).solve(problem, start)
        _assert_optimal(problem, warm, 1e-4)
        assert_allclose(_seen(problem, warm).primal, _seen(problem, cold).primal, rtol=2e-4)
    assert warm.passes <= 0.5 * cold.passes  # from its own answer


@pytest.mark.parametrize("n", [300, 1300])
def test_a_fit_ends_within_max_iter_and_max_seconds(n):
    X, f = _rows(n)
    problem = _problem(X, f, Hinge(), Gaussian(0.2), C=1e4)
    for solver in (Blocks(tol=TOL, max_iter=50), Blocks(tol=TOL, max_seconds=1e-6)):
        solution = solver.solve(problem)
        assert solution.status is Status.BUDGET
        assert np.isfinite(_seen(problem, solution).gap)
        assert solver.max_iter is None or solution.passes <= 50


@pytest.mark.parametrize("n", [400, 1000, 3000])
@pytest.mark.alone
def test_ctrl_c_ends_a_fit_within_a_second_and_leaves_an_answer(n):
    """A linear kernel of rank 6 and a huge cost: pair steps would go on for minutes."""
    X, f = _rows(n)
    problem = _problem(1e3 * X, f, Hinge(), Linear(), C=1e6)
    Blocks(max_iter=10).solve(problem)  # compiled before the clock starts
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    solution = Blocks(tol=1e-9, max_iter=1_000_000_000).solve(problem)
    timer.join()
    assert solution.status is Status.INTERRUPTED
    assert solution.seconds < 1.5
    assert np.isfinite(_seen(problem, solution).gap)


def test_without_memory_for_kernel_rows_the_answer_is_the_same():
    X, f = _rows(1300)
    problem = _problem(X, f, Hinge(), Gaussian(0.2))
    values = [_seen(problem, Blocks(tol=1e-4, memory=memory).solve(problem)).primal for memory in (1, 100_000, None)]
    assert_allclose(values, values[-1], rtol=2e-4)


def test_a_loss_whose_dual_is_no_quadratic_program_is_refused():
    X, f = _rows(20)
    with pytest.raises(ParameterError, match="quadratic program"):
        Blocks().solve(_problem(X, f, Logistic(), Gaussian(0.2)))


@pytest.mark.parametrize("n", [300, 1300])
def test_stored_values_in_single_precision_lead_to_an_answer_in_double(n):
    X, f = _rows(n)
    plain = _problem(X, f, Hinge(), Gaussian(0.2), C=1e4)
    stored = replace(plain, stored=plain.gram().astype(np.float32))
    _assert_optimal(plain, Blocks(tol=1e-4).solve(stored), 1e-4)
