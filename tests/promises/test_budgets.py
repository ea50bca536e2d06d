"""max_seconds holds to within one unit of a solver's work, and what is there then is certified."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from maxmargin import SVC, LinearSVC
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning
from maxmargin.kernels import Gaussian, Linear
from maxmargin.losses import HardMargin, Hinge, SquaredHinge
from maxmargin.penalties import L1
from maxmargin.problems import Intercept, KernelProblem, LinearProblem, Status
from maxmargin.solvers import QP, SMO, Blocks, DualDescent, KernelDescent, Multipliers, Newton, Pairs, SimpleSMO
from maxmargin.solvers.common.polish import polish
from maxmargin.solvers.kernel import automatic
from maxmargin.solvers.lectures.kernel_ascent import MatrixTiles
from maxmargin.solvers.lectures.row_by_row import pieces
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.reference.qp_forms import is_hopeless

pytestmark = pytest.mark.alone

LIMIT = 0.1
ENOUGH = 1.5
"""Seconds of all cores together for LIMIT and one unit of work; every fit below takes far longer to its end.

Seconds of the cores, so that others on the machine do not count.
"""
KERNEL_ROWS = 4000
HINGE = Hinge()


def classes(n, d, rng):
    """Rows of two classes that overlap, so that a large C takes long."""
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)


def kernel_problem(n, rng, loss=HINGE, C=1e4, intercept=Intercept.FREE):
    X, y = classes(n, 10, rng)
    return KernelProblem(ArraySource(X, y, np.ones(n)), loss, C, intercept, Gaussian(0.05))


def linear_problem(n, d, rng, loss=HINGE, C=1e4, **settings):
    X, y = classes(n, d, rng)
    return LinearProblem(ArraySource(X, y, np.ones(n)), loss, C, Intercept.FREE, **settings)


def ends_in_time(solver, problem):
    """Solve within LIMIT and return the assessment of the answer."""
    begun = time.process_time()
    solution = replace(solver, tol=1e-13, max_seconds=LIMIT).solve(problem)
    assert time.process_time() - begun < ENOUGH
    assert solution.status is Status.BUDGET
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert np.isfinite(seen.gap)
    zero = assess(problem, np.zeros_like(solution.alpha), None, None)
    assert seen.dual >= zero.dual  # the best point so far is never below the one that all begin with
    return seen


@pytest.mark.parametrize(
    ("solver", "intercept"),
    [(SimpleSMO(), Intercept.FREE), (KernelDescent(), Intercept.NONE), (QP(), Intercept.FREE)],
    ids=["smo-simple", "dcd", "qp"],
)
def test_a_kernel_fit_ends_in_time_although_its_matrix_takes_longer(solver, intercept, rng):
    replace(solver, max_iter=1).solve(kernel_problem(50, rng, intercept=intercept))  # compiles
    ends_in_time(solver, kernel_problem(KERNEL_ROWS, rng, intercept=intercept))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared hinge"])
def test_pairs_of_many_short_rows_end_in_time(loss, rng):
    Pairs(max_iter=1).solve(linear_problem(50, 2, rng, loss))  # compiles
    ends_in_time(Pairs(max_iter=10**9), linear_problem(200_000, 2, rng, loss))


def test_a_round_of_dual_descent_ends_in_time_although_it_has_hundreds_of_passes_to_go(rng):
    problem = linear_problem(20_000, 50, rng)
    DualDescent(max_iter=1).solve(problem)  # compiles
    solver = DualDescent(tol=1e-13, max_iter=10**6, max_seconds=0.5, n_jobs=1)
    begun = time.process_time()
    solution = solver.solve(problem)
    spent = time.process_time() - begun
    assert solution.status is Status.BUDGET
    assert solution.passes > 20.0
    assert spent <= 0.6 + 20.0 * spent / solution.passes  # a look, and a pass that leaves nothing out


def test_a_piece_of_visits_is_short_however_few_features_a_row_has(rng):
    for d in (1, 3, 100, 5000):
        problem = linear_problem(20, d, rng)
        lengths = [len(piece) for piece in pieces(problem, np.arange(100_000))]
        assert sum(lengths) == 100_000
        assert max(lengths) * max(d, 32) <= 1 << 20


@pytest.mark.parametrize("penalty", [None, L1()], ids=["L2", "L1"])
def test_the_primal_program_ends_in_time(penalty, rng):
    settings = {} if penalty is None else {"penalty": penalty}
    ends_in_time(QP(), linear_problem(8000, 60, rng, **settings))


def test_a_program_is_begun_where_it_may_end_in_time_and_only_there():
    dense, none = np.arange(1, 1001), np.zeros(0)
    now = time.perf_counter()
    assert not is_hopeless(dense, none, math.inf)
    assert not is_hopeless(dense, none, now + 60.0)
    assert is_hopeless(dense, none, now)
    assert is_hopeless(np.arange(1, 20_001), none, now + 5.0)
    assert is_hopeless(none, np.full(10, 10**6), now + 5.0)  # rows with many entries fill a factor, too


def test_a_hard_margin_out_of_time_is_neither_refuted_nor_an_error(rng):
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    for labels in (y, -y * np.where(np.arange(300) % 7 == 0, -1.0, 1.0)):  # separable, and not
        problem = KernelProblem(ArraySource(X, labels, np.ones(300)), HardMargin(), np.inf, Intercept.FREE, Linear())
        solution = QP(max_seconds=1e-9).solve(problem)
        assert solution.status is Status.BUDGET
        assert np.all(solution.alpha >= 0.0)
        assert abs(float(labels @ solution.alpha)) <= 1e-12 * float(np.sum(solution.alpha))


def test_pair_steps_keep_what_they_have_when_the_reference_has_no_time(rng, monkeypatch):
    problem = kernel_problem(300, rng, C=10.0)
    rough = SMO(max_iter=200).solve(problem)
    assert np.any(rough.alpha)
    hasty = Blocks(max_seconds=1e-9)
    cut_off = hasty.reference(hasty.driver(problem))
    assert cut_off.status is Status.BUDGET
    whole = QP().solve(problem)
    monkeypatch.setattr(automatic, "_patience", lambda *_: -1.0)  # the reference is asked before the first step
    for found, solver in ((cut_off, "blocks"), (whole, "qp")):
        monkeypatch.setattr(Blocks, "reference", lambda *_, found=found: found)
        solution = Blocks().solve(problem, rough)
        assert (solution.status, solution.solver) == (Status.CONVERGED, solver)
        before, after = solution.history.dual[:2]
        assert before > 0.0
        assert (after == before) == (solver == "blocks")


def test_no_round_of_polish_begins_after_the_end(rng):
    problem = kernel_problem(80, rng, C=10.0)
    rough = QP(max_iter=8).solve(problem)
    box = problem.loss.dual_box(problem.costs)
    diagonal = problem.diagonal()
    late, _ = polish(problem, rough.alpha * 0.999, box, diagonal, end=0.0)
    in_time, _ = polish(problem, rough.alpha * 0.999, box, diagonal)
    assert np.array_equal(late, rough.alpha * 0.999)
    assert not np.array_equal(in_time, late)


@pytest.mark.parametrize("solver", [Multipliers(), Newton()], ids=["multipliers", "newton"])
def test_the_sample_at_which_a_fit_begins_counts_in_its_time(solver, rng):
    loss = Hinge() if solver.name == "multipliers" else SquaredHinge()
    solver.solve(linear_problem(100, 3, rng, loss, C=1.0))  # compiles
    problem = linear_problem(120_000, 3, rng, loss, C=1.0)
    solution = replace(solver, max_seconds=1e-9).solve(problem)
    assert solution.status is Status.BUDGET
    assert solution.passes <= 5.0  # a start and a look, no steps


def test_auto_gives_its_second_solver_the_time_that_the_first_left(rng):
    """Few rows and many features at a huge C: dcd first, then a program."""
    problem = linear_problem(1200, 1600, rng, C=1e8)
    Automatic(max_iter=1).solve(linear_problem(50, 1600, rng))  # compiles
    begun = time.process_time()
    solution = Automatic(tol=1e-15, max_seconds=LIMIT).solve(problem)
    assert time.process_time() - begun < ENOUGH
    assert np.isfinite(assess(problem, solution.alpha, solution.weights, solution.bias).gap)


def test_kept_kernel_rows_are_those_of_the_matrix_in_whatever_order_they_are_asked_for(rng):
    problem = kernel_problem(60, rng)
    K, beta = problem.gram(), rng.normal(size=60)
    for size in (1, 8 * 60 * 7, 8 * 60**2):  # one row at a time, seven, and all kept
        tiles = MatrixTiles(problem, size)
        np.testing.assert_allclose(tiles.scores(beta), K @ beta, rtol=1e-12, atol=1e-12)
        for rows in (np.array([5, 3, 5]), rng.permutation(60), np.array([59, 0])):
            tile = tiles.tile(rows)
            np.testing.assert_allclose(tile.K[tile.places], K[rows], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(tiles.scores(beta), K @ beta, rtol=1e-12, atol=1e-12)
        spans = list(tiles.pieces(60))
        assert [i for span in spans for i in range(60)[span]] == list(range(60))


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (SVC(C=1e4, solver="qp"), 1500),
        (SVC(C=1e4, solver="smo-simple"), 1500),
        (SVC(C=1e4, solver="dcd", intercept="augmented"), 1500),
        (LinearSVC(C=1e4, loss="hinge", solver="pairs"), 20_000),
    ],
    ids=["qp", "smo-simple", "dcd", "pairs"],
)
def test_an_estimator_out_of_time_is_fitted_and_its_certificate_holds(model, n, rng):
    X, y = classes(n, 4, rng)
    model = model.set_params(max_iter=1)
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model.fit(X[:50], y[:50])  # compiles
    model = model.set_params(tol=1e-13, max_iter=None, max_seconds=LIMIT)
    begun = time.process_time()
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model.fit(X, y)
    assert time.process_time() - begun < ENOUGH
    assert model.certificate_.status is Status.BUDGET
    model.certificate_.verify(X, y)
