"""The lectures' kernel solvers: simplified SMO, Osuna's working sets, kernelised coordinate ascent."""

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

from maxmargin import SVC, SVR, losses
from maxmargin._loops.lectures.dual_steps import PairRows, best_step, best_value, descent_pass, simple_pass
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning, ParameterError
from maxmargin.kernels import Gaussian, Linear, Precomputed, Sigmoid
from maxmargin.losses import EpsilonInsensitive, Hinge, MarginLoss, Squared, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.problems import Intercept, KernelProblem, LinearProblem, Status
from maxmargin.solvers import QP, KernelDescent, Osuna, SimpleSMO, registry, solver_named
from maxmargin.solvers.lectures.kernel_ascent import KernelPoint
from maxmargin.solvers.lectures.kernel_listings import CoordinateAscent
from maxmargin.solvers.lectures.osuna import joining_rows, slopes_of
from tests.certificates.test_hard_margin import EXERCISE_X, EXERCISE_Y
from tests.problem_table import PROBLEMS

GO = np.zeros(1, dtype=np.uint8)  # a stop flag that is never raised
BOXED = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept(3.0), Intercept.NONE]
KERNEL = [case for case in PROBLEMS if isinstance(case.problem, KernelProblem)]


def name(value):
    return getattr(value, "name", None) or getattr(value, "words", str(value))


def small_problem(rng, loss=None, intercept=Intercept.FREE, n=40, C=2.0, kernel=None):
    """Overlapping classes with weights, or a noisy curve for a residual loss."""
    loss = loss or Hinge()
    X = rng.normal(size=(n, 3))
    noisy = X[:, 0] + 0.8 * rng.normal(size=n)
    y = np.where(noisy > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else 3.0 * noisy
    return KernelProblem(ArraySource(X, y, rng.random(n) + 0.2), loss, C, intercept, kernel or Gaussian(0.5))


def dual_value(problem, alpha):
    return assess(problem, alpha, None, None).dual


def assert_certified(solution, problem, tol):
    """Converged, and the certificate's own arithmetic says so too."""
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert solution.status is Status.CONVERGED
    assert seen.gap <= tol * seen.primal
    assert seen.kkt_violation <= tol
    assert solution.history.gap[-1] == pytest.approx(seen.gap, abs=max(1e-9 * seen.primal, 10.0 * seen.rounding))
    return seen


# The optimum


@pytest.mark.parametrize(
    "case", [c for c in KERNEL if type(c.problem.loss) is Hinge and c.problem.intercept.is_free], ids=str
)
def test_simple_smo_reaches_the_optimum_of_the_reference(case):
    tol = 1e-3 if case.problem.C > 1.0 or "1 to 1000" in case.name else 1e-6
    seen = assert_certified(SimpleSMO(tol=tol).solve(case.problem), case.problem, tol)
    assert seen.primal == pytest.approx(case.optimum, rel=tol)


@pytest.mark.parametrize("case", [c for c in KERNEL if type(c.problem.loss) is not Squared], ids=str)
def test_osuna_reaches_the_optimum_of_the_reference_with_small_working_sets(case):
    seen = assert_certified(Osuna(tol=1e-7, joining=20).solve(case.problem), case.problem, 1e-7)
    assert seen.primal == pytest.approx(case.optimum, rel=1e-7)


@pytest.mark.parametrize("intercept", [Intercept.AUGMENTED, Intercept.NONE], ids=name)
@pytest.mark.parametrize("case", [c for c in KERNEL if c.problem.C <= 100.0 and c.problem.n_rows < 1000], ids=str)
def test_coordinate_ascent_reaches_the_optimum_of_the_reference(case, intercept):
    problem = replace(case.problem, intercept=intercept)
    tol = 1e-6 if problem.C <= 1.0 else 1e-3
    seen = assert_certified(KernelDescent(tol=tol).solve(problem), problem, tol)
    reference = QP().solve(problem)
    assert seen.primal == pytest.approx(assess(problem, reference.alpha, None, None).primal, rel=tol)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", BOXED, ids=name)
def test_osuna_solves_every_loss_with_every_intercept(loss, intercept, rng):
    problem = small_problem(rng, loss, intercept)
    for joining in (2, None):
        seen = assert_certified(Osuna(tol=1e-7, joining=joining).solve(problem), problem, 1e-7)
        reference = QP().solve(problem)
        assert seen.primal == pytest.approx(assess(problem, reference.alpha, None, None).primal, rel=1e-7)


@pytest.mark.parametrize(
    ("solver", "intercept"), [("smo-simple", "free"), ("osuna", "free"), ("osuna", "none"), ("dcd", "augmented")]
)
def test_exercise_4_of_the_lecture_by_each_solver(solver, intercept):
    """With b = 0 at the optimum the intercept may be penalised, or left out, and the multipliers stay the same."""
    model = SVC(kernel="linear", C=10.0, solver=solver, intercept=intercept, tol=1e-9)
    model.fit(EXERCISE_X, EXERCISE_Y)
    assert model.certificate_.status is Status.CONVERGED
    assert_allclose(model.coef_, [[0.0, 1.0]], atol=1e-4)
    assert_allclose(model.intercept_, 0.0, atol=1e-4)
    if intercept != "none":  # without an intercept the multipliers are not unique
        alpha = np.abs(model.certificate_.claim.point.everywhere(8))
        assert_allclose(alpha, [0, 0, 0.5, 0, 0.25, 0, 0.25, 0], atol=1e-4)


# Hard data, through the estimators


def _hard_data(rng):
    X = rng.normal(size=(36, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=36) > 0.0, 1, -1)
    scarce = np.where(rng.random((36, 20)) < 0.2, rng.normal(size=(36, 20)), 0.0)
    return {
        "duplicated rows": (np.repeat(X[:12], 3, axis=0), np.repeat(y[:12], 3)),
        "contradicting rows": (np.vstack([X, X]), np.concatenate([y, -y])),
        "constant and zero columns": (np.column_stack([X, np.full(36, 3.0), np.zeros(36)]), y),
        "scales 1e-6 to 1e6": (X * np.array([1e-6, 1e-2, 1e2, 1e6]), y),
        "one row a class": (X[[np.argmax(y), np.argmin(y)]], np.array([1, -1])),
        "imbalance": (X, np.where(np.arange(36) < 2, 1, -1)),
        "n < d": (rng.normal(size=(20, 60)), np.tile([1, -1], 10)),
        "sparse": (sparse.csr_matrix(scarce), y),
        "float32": (X.astype(np.float32), y),
    }


@pytest.mark.parametrize("data", _hard_data(np.random.default_rng(0)))
@pytest.mark.parametrize(
    ("solver", "intercept"), [("smo-simple", "free"), ("osuna", "free"), ("osuna", "augmented"), ("dcd", "augmented")]
)
@pytest.mark.parametrize("C", [1e-4, 100.0])
@pytest.mark.slow
def test_hard_data_are_certified_and_agree_with_the_reference(solver, intercept, data, C, rng):
    X, y = _hard_data(rng)[data]
    weight = np.where(np.arange(len(y)) % 5 == 4, 0.0, 1.0)
    model = SVC(C=C, solver=solver, intercept=intercept).fit(X, y, sample_weight=weight)
    again = model.certificate_.verify(X, y, sample_weight=weight)
    assert again.status is Status.CONVERGED
    assert again.relative_gap <= 1e-3
    assert again.solver == solver
    reference = SVC(C=C, solver="qp", intercept=intercept).fit(X, y, sample_weight=weight).certificate_
    assert again.primal == pytest.approx(reference.primal, rel=1e-3)


@pytest.mark.parametrize(
    ("solver", "intercept"), [("osuna", "free"), ("osuna", "none"), ("dcd", "augmented"), ("dcd", "none")]
)
def test_regression_is_certified(solver, intercept, rng):
    X = rng.normal(size=(50, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=50)
    for C in (1e-4, 1.0, 1e6 if solver == "osuna" else 10.0):  # one multiplier at a time is slow at a large C
        model = SVR(C=C, solver=solver, intercept=intercept, epsilon=0.05).fit(X, y)
        again = model.certificate_.verify(X, y)
        assert again.status is Status.CONVERGED
        reference = SVR(C=C, solver="qp", intercept=intercept, epsilon=0.05).fit(X, y).certificate_
        assert again.primal == pytest.approx(reference.primal, rel=1e-3)


def test_several_classes_are_certified_pair_by_pair(rng):
    X = rng.normal(size=(60, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.normal(size=(2, 3)), axis=1)]
    for solver, intercept in (("smo-simple", "free"), ("osuna", "free"), ("dcd", "augmented")):
        again = SVC(solver=solver, intercept=intercept).fit(X, y).certificate_.verify(X, y)
        assert again.status is Status.CONVERGED
        assert len(again.parts) == 3


@pytest.mark.parametrize("solver", [SimpleSMO(tol=1e-7), Osuna(tol=1e-7, joining=8), KernelDescent(tol=1e-7)], ids=name)
def test_weight_two_is_the_row_twice(solver, rng):
    problem = small_problem(rng, n=24, intercept=Intercept.AUGMENTED if solver.name == "dcd" else Intercept.FREE)
    X, y = problem.source.X, problem.targets
    weight = np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(24), weight.astype(int))
    weighted = replace(problem, source=ArraySource(X, y, weight))
    repeated = replace(problem, source=ArraySource(X[twice], y[twice], np.ones(len(twice))))
    seen = [assert_certified(solver.solve(one), one, 1e-7) for one in (weighted, repeated)]
    assert seen[0].primal == pytest.approx(seen[1].primal, rel=1e-7)


# Steps


@pytest.mark.parametrize("intercept", INTERCEPTS[1:], ids=name)
@pytest.mark.parametrize("loss", [*BOXED, Squared()], ids=name)
@pytest.mark.slow
def test_a_coordinate_step_is_the_best_of_its_coordinate_and_keeps_the_scores(loss, intercept, rng):
    problem = small_problem(rng, loss, intercept, n=15)
    box = loss.dual_box(problem.costs)
    descent, K = CoordinateAscent(KernelDescent(), problem, box, None), problem.gram()
    alpha, scores, total, value = np.zeros(15), np.zeros(15), 0.0, dual_value(problem, np.zeros(15))
    moves = 0
    for i in rng.integers(0, 15, size=60):
        before, order = value, np.array([i])
        moved, total = descent_pass(K, order, order, descent.terms, descent.constant, total, alpha, scores, GO)
        moves += moved
        value = dual_value(problem, alpha)
        assert value >= before - 1e-12 * abs(before)  # coordinate ascent never lowers the dual
        for other in np.clip(alpha[i] + np.linspace(-0.5, 0.5, 11), box.lower[i], box.upper[i]):
            trial = alpha.copy()
            trial[i] = other
            assert dual_value(problem, trial) <= value + 1e-11 * (1.0 + abs(value))
        beta = problem.coefficients(alpha)
        assert_allclose(scores, problem.scores(beta), atol=1e-11)
        assert total == pytest.approx(np.sum(beta), abs=1e-11)
    assert moves > 20


@pytest.mark.parametrize("curvature", [2.0, 0.0, -1.5])
@pytest.mark.parametrize("absolute", [0.0, 0.4])
def test_the_best_value_of_a_multiplier_is_the_best_of_a_grid(curvature, absolute, rng):
    grid = np.linspace(-1.0, 2.0, 3001)
    for slope, a in zip(rng.normal(size=50), rng.uniform(-1.0, 2.0, size=50), strict=True):
        step = grid - a
        rise = slope * step + 0.5 * curvature * step**2 + absolute * (np.abs(grid) - abs(a))
        new = best_value(slope, curvature, absolute, -1.0, 2.0, a)
        ours = slope * (new - a) + 0.5 * curvature * (new - a) ** 2 + absolute * (abs(new) - abs(a))
        assert -1.0 <= new <= 2.0
        assert ours <= np.min(rise) + 1e-12


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), Sigmoid(0.5, -1.0)], ids=str)
def test_a_step_of_simple_smo_is_the_best_of_its_line_and_keeps_the_constraints(kernel, rng):
    problem = small_problem(rng, n=15, kernel=kernel)
    y, upper, K = problem.targets, problem.costs, problem.gram()
    rows = PairRows(y, upper, np.diag(K).copy())
    alpha, scores = np.zeros(15), np.zeros(15)

    def dual(multipliers):
        beta = y * multipliers
        return np.sum(multipliers) - 0.5 * beta @ K @ beta

    moves = 0
    for _ in range(300):
        i, j = rng.choice(15, size=2, replace=False)
        before, first, second = alpha.copy(), np.array([i]), np.array([j])
        _, moved, b = simple_pass(K, first, K, second, first, second, rows, 1e-9, 0.1, alpha, scores, GO)
        assert np.all((alpha >= 0.0) & (alpha <= upper))
        assert abs(y @ alpha) <= 1e-13
        assert_allclose(scores, K @ (y * alpha), atol=1e-12)
        assert dual(alpha) >= dual(before) - 1e-13
        if not moved:
            continue
        moves += 1
        for t in np.linspace(-0.3, 0.3, 21):
            point = before.copy()
            point[i] -= y[i] * y[j] * t
            point[j] += t
            if np.all((point >= 0.0) & (point <= upper)):
                assert dual(point) <= dual(alpha) + 1e-12
        off = [k for k in (i, j) if 0.0 < alpha[k] < upper[k]]
        if off:  # the row that is off its bounds has E = 0
            assert scores[off[0]] + b - y[off[0]] == pytest.approx(0.0, abs=1e-12)
    assert moves > 20


def test_a_line_without_curvature_leads_to_its_end():
    assert best_step(0.5, 0.0, 2.0, 0.3, 0.7) == 0.3
    assert best_step(-0.5, 0.0, 2.0, 0.3, 0.7) == -0.7
    assert best_step(0.1, -2.0, 2.0, 0.3, 0.7) == -0.7  # bent the wrong way: -0.07 + 0.49 beats 0.03 + 0.09
    assert best_step(0.0, 1.0, 2.0, 0.3, 0.7) == 0.0


@pytest.mark.parametrize("solver", [SimpleSMO(tol=1e-9), KernelDescent(tol=1e-9), Osuna(tol=1e-9, joining=2)], ids=name)
def test_the_dual_never_falls_from_one_evaluation_to_the_next(solver, rng):
    problem = small_problem(rng, n=60, intercept=Intercept.AUGMENTED if solver.name == "dcd" else Intercept.FREE)
    dual = np.array(solver.solve(problem).history.dual)
    assert len(dual) > 5
    assert np.all(np.diff(dual) >= -1e-13 * np.abs(dual[1:]))


# Working sets


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", BOXED, ids=name)
def test_rows_join_exactly_where_their_multiplier_is_not_optimal(loss, intercept, rng):
    problem = small_problem(rng, loss, intercept)
    box = loss.dual_box(problem.costs)
    best = QP().solve(problem).alpha
    optimum = KernelPoint.of(problem, best, problem.scores(problem.coefficients(best)))
    b = optimum.bias if intercept.is_free else None
    slopes = slopes_of(problem, box, optimum)
    inside = best != 0.0
    assert len(joining_rows(slopes, inside, b, None)) == 0
    edge = slopes.up[inside].max(), slopes.down[inside].min()
    assert edge[0] <= edge[1] + 1e-6  # some b lies between all slopes of the working set

    # From the optimum of half the rows, those that join raise the dual.
    def best_of(rows):
        source = problem.source
        alpha = np.zeros(40)
        part = replace(problem, source=ArraySource(source.X[rows], source.y[rows], source.weight[rows]))
        alpha[rows] = QP().solve(part).alpha
        return KernelPoint.of(problem, alpha, problem.scores(problem.coefficients(alpha)))

    at = best_of(np.arange(20))
    slopes, bias = slopes_of(problem, box, at), at.bias if intercept.is_free else None
    for most in (4, None):
        joined = joining_rows(slopes, np.arange(40) < 20, bias, most)
        assert 0 < len(joined) <= (most or 20)
        assert np.all(joined >= 20)
        assert best_of(np.union1d(np.arange(20), joined)).dual > at.dual + 1e-6


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.3)], ids=name)
def test_the_slopes_of_the_dual_are_its_differences(loss, rng):
    problem = small_problem(rng, loss, Intercept.AUGMENTED, n=12)
    box = loss.dual_box(problem.costs)
    alpha = np.clip(rng.normal(size=12), box.lower, box.upper)
    alpha[:3], alpha[3] = 0.0, box.upper[3]
    signs = problem.coefficients(np.ones(12))
    slopes = slopes_of(problem, box, KernelPoint.of(problem, alpha, problem.scores(signs * alpha)))
    for i in range(12):
        for slope, h in ((slopes.up[i], 1e-6), (slopes.down[i], -1e-6)):
            moved = alpha.copy()
            moved[i] += signs[i] * h
            if not box.lower[i] <= moved[i] <= box.upper[i]:
                assert slope == -math.copysign(np.inf, h)
            else:
                change = (dual_value(problem, moved) - dual_value(problem, alpha)) / h
                assert change == pytest.approx(slope, abs=1e-4)


def test_another_inner_solver_serves_as_well(rng):
    problem = small_problem(rng, intercept=Intercept.AUGMENTED)
    seen = assert_certified(Osuna(inner="dcd", joining=10).solve(problem), problem, 1e-3)
    reference = assess(problem, QP().solve(problem).alpha, None, None)
    assert seen.primal == pytest.approx(reference.primal, rel=1e-3)


# Kernels


@pytest.mark.parametrize("layout", ["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("solver", [SimpleSMO(tol=1e-6), KernelDescent(tol=1e-6)], ids=name)
def test_rows_computed_in_tiles_give_the_answer_of_the_whole_matrix(solver, layout, rng):
    problem = small_problem(rng, n=30, intercept=Intercept.AUGMENTED if solver.name == "dcd" else Intercept.FREE)
    X, source = problem.source.X, problem.source
    if layout == "sparse":
        problem = replace(problem, source=replace(source, X=sparse.csr_matrix(X)))
    if layout == "precomputed":
        problem = replace(problem, source=replace(source, X=problem.gram()), kernel=Precomputed())
    chosen = np.arange(29, 4, -1)  # rows that are not all, and not in order
    part = ArraySource(problem.source.X, source.y[chosen], source.weight[chosen], chosen)
    problem = replace(problem, source=part)
    whole = solver.solve(problem)
    tiles = replace(solver, matrix_bytes=8 * 25 * 7).solve(problem)  # seven rows a tile
    assert_certified(tiles, problem, 1e-6)
    assert_allclose(tiles.alpha, whole.alpha, atol=1e-8)
    assert tiles.passes == whole.passes


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("solver, intercept", [("smo-simple", "free"), ("dcd", "augmented"), ("dcd", "none")])
def test_an_indefinite_kernel_ends_by_its_conditions_alone(solver, intercept, C, rng):
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0.0, 1, -1)
    model = SVC(kernel=Sigmoid(0.5, -1.0), C=C, solver=solver, intercept=intercept).fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert math.isnan(again.gap)
    assert again.kkt_violation <= 1e-3
    assert np.all(np.isnan(model.history_.gap))


def test_what_has_no_maximum_is_refused(rng):
    problem = small_problem(rng, kernel=Sigmoid(0.5, -1.0))
    with pytest.raises(ParameterError, match="solver='osuna' with inner='qp' needs a kernel matrix without negative"):
        Osuna().solve(problem)
    with pytest.raises(ParameterError, match="squared hinge loss, whose multipliers have no bounds"):
        KernelDescent().solve(replace(problem, loss=SquaredHinge(), intercept=Intercept.NONE))


# Behaviour


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", [*BOXED, losses.Absolute(), losses.HardMargin(), Squared()], ids=name)
def test_the_solvers_listed_for_a_problem_are_exactly_those_that_take_it(loss, intercept):
    X = np.vstack([np.eye(3) + 2.0, -np.eye(3) - 2.0])  # classes that a hard margin separates
    y = np.repeat([1.0, -1.0], 3)
    problem = KernelProblem(ArraySource(X, y, np.ones(6)), loss, 1.0, intercept, Linear())
    found = set()
    for solver in registry.KERNEL:
        try:
            solver_named(solver, linear=False, tol=1e-2, max_iter=5).solve(problem)
        except ParameterError:
            continue
        found.add(solver)
    assert found == set(registry.takers(registry.KERNEL, problem))


def test_what_a_solver_cannot_do_is_refused_with_what_can(rng):
    X, y = EXERCISE_X, EXERCISE_Y
    with pytest.raises(ParameterError, match="Use intercept='augmented', which is the kernel k \\+ 1, or solver='smo'"):
        SVC(solver="dcd").fit(X, y)
    with pytest.raises(ParameterError, match="'smo-simple' does not do an augmented intercept; those that do: 'auto'"):
        SVC(solver="smo-simple", intercept="augmented").fit(X, y)
    with pytest.raises(ParameterError, match="'smo-simple' does not do the epsilon-insensitive loss; those that do: "):
        SVR(solver="smo-simple").fit(X, y)
    with pytest.raises(ParameterError, match="'osuna' does not do a hard margin; those that do: 'auto', 'qp'"):
        SVC(solver="osuna", C=np.inf).fit(X, y)
    linear = LinearProblem(small_problem(rng).source, Hinge(), 1.0, Intercept.NONE)
    for solver in (SimpleSMO(), Osuna(), KernelDescent()):
        with pytest.raises(ParameterError, match="is for kernel problems"):
            solver.solve(linear)
    problem = small_problem(rng)
    for bad in (SimpleSMO(max_passes_without_change=0), Osuna(joining=1), Osuna(inner="simplex")):
        with pytest.raises(ParameterError, match=r"Try|Known"):
            bad.solve(problem)


def test_the_rule_of_the_listing_ends_an_unlucky_search_as_stalled(rng):
    """One row against many: hardly any partner can move, and the first pass without change is not the optimum."""
    X = rng.normal(size=(300, 3))
    y = np.where(np.arange(300) == 0, 1.0, -1.0)
    problem = KernelProblem(ArraySource(X, y, np.ones(300)), Hinge(), 1.0, Intercept.FREE, Gaussian(0.3))
    hasty = SimpleSMO(max_passes_without_change=1).solve(problem)
    assert hasty.status is Status.STALLED
    assert assess(problem, hasty.alpha, None, None).kkt_violation > 1e-3
    assert_certified(SimpleSMO().solve(problem), problem, 1e-3)


def test_a_tolerance_below_rounding_ends_as_stalled(rng):
    problem = small_problem(rng, intercept=Intercept.AUGMENTED, C=50.0)
    for solver in (KernelDescent(tol=1e-18, max_iter=10**6), Osuna(tol=1e-18)):
        solution = solver.solve(problem)
        assert solution.status is Status.STALLED
        assert abs(assess(problem, solution.alpha, None, None).gap) <= 1e-9 * solution.history.primal[-1]


@pytest.mark.parametrize("solver", [SimpleSMO(tol=1e-6), KernelDescent(tol=1e-6)], ids=name)
def test_the_same_seed_gives_the_same_answer_and_another_seed_another_path(solver, rng):
    problem = small_problem(rng, intercept=Intercept.NONE if solver.name == "dcd" else Intercept.FREE)
    one, two = solver.solve(problem), solver.solve(problem)
    assert np.array_equal(one.alpha, two.alpha)
    other = replace(solver, random_state=1).solve(problem)
    assert not np.array_equal(one.history.dual, other.history.dual)


@pytest.mark.parametrize("solver", [SimpleSMO(), Osuna(joining=10), KernelDescent()], ids=name)
def test_a_start_that_is_optimal_ends_at_once_and_any_other_is_made_feasible(solver, rng):
    problem = small_problem(rng, intercept=Intercept.NONE if solver.name == "dcd" else Intercept.FREE)
    solution = solver.solve(problem)
    again = solver.solve(problem, start=solution)
    assert again.passes == 0.0
    assert again.status is Status.CONVERGED
    for C in (0.2, 20.0):  # the multipliers of another C are outside the box, or deep in it
        other = replace(problem, C=C)
        assert_certified(solver.solve(other, start=solution), other, 1e-3)


@pytest.mark.parametrize("solver", [SimpleSMO(), Osuna(joining=2), KernelDescent()], ids=name)
def test_max_iter_counts_passes_and_the_estimator_says_that_it_was_too_short(solver, rng):
    problem = small_problem(rng, n=80)
    X, y = problem.source.X, problem.targets
    short = replace(solver, max_iter=2, tol=1e-12)
    intercept = "none" if solver.name == "dcd" else "free"
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = SVC(C=100.0, solver=short, intercept=intercept).fit(X, y)
    assert model.certificate_.passes == 2
    assert model.certificate_.status is Status.BUDGET
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("ending", ["seconds", "interrupt"])
@pytest.mark.parametrize("solver", [SimpleSMO(), Osuna(joining=2), KernelDescent()], ids=name)
@pytest.mark.alone
def test_a_search_that_is_ended_early_keeps_a_certified_answer(solver, ending, rng):
    intercept = Intercept.NONE if solver.name == "dcd" else Intercept.FREE
    problem = small_problem(rng, n=400, C=1e5, intercept=intercept, kernel=Gaussian(0.05))
    replace(solver, max_iter=1).solve(problem)  # compiles
    begun = time.perf_counter()
    endless = replace(solver, tol=1e-14, max_iter=10**9)
    if ending == "seconds":
        solution = replace(endless, max_seconds=0.2).solve(problem)
    else:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        solution = replace(endless, max_seconds=60.0).solve(problem)
        timer.join()
    assert time.perf_counter() - begun < 5.0
    assert solution.status is (Status.BUDGET if ending == "seconds" else Status.INTERRUPTED)
    assert np.any(solution.alpha)
    assert np.isfinite(assess(problem, solution.alpha, None, None).gap)
