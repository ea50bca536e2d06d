"""SMO: pair steps among all variables, kernel rows from a cache, shrinking, and a last look at everything."""

import math
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import svm

from maxmargin import SVC, SVR, NuSVC
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning, ParameterError
from maxmargin.kernels import Gaussian, Linear, Precomputed, Sigmoid, as_kernel
from maxmargin.losses import EpsilonInsensitive, Hinge, MarginLoss, Squared, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.problems import Intercept, KernelProblem, LinearProblem, Status
from maxmargin.solvers import QP, SMO
from maxmargin.solvers.kernel.dual import Variables
from maxmargin.solvers.kernel.host import HostSet
from maxmargin.solvers.kernel.smo import KernelRowCache
from maxmargin.solvers.kernel.values import KernelValues
from tests.problem_table import PROBLEMS

GO = np.zeros(1, dtype=np.uint8)  # a stop flag that is never raised
LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept(3.0), Intercept.NONE]
TABLE = [c for c in PROBLEMS if isinstance(c.problem, KernelProblem) and type(c.problem.loss) is not Squared]


def name(value):
    return getattr(value, "name", None) or getattr(value, "words", str(value))


def noisy_problem(rng, loss=None, intercept=Intercept.FREE, n=60, C=2.0, kernel=None):
    """Overlapping classes with weights, or a noisy curve for a residual loss."""
    loss = loss or Hinge()
    X = rng.normal(size=(n, 3))
    noisy = X[:, 0] + 0.8 * rng.normal(size=n)
    y = np.where(noisy > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else 3.0 * noisy
    return KernelProblem(ArraySource(X, y, rng.random(n) + 0.2), loss, C, intercept, kernel or Gaussian(0.5))


def assert_optimal(solution, problem, tol, optimum=None):
    """Converged, the certificate's own arithmetic says so too, and the reference has the same value."""
    seen = assess(problem, solution.alpha, None, None)
    assert solution.status is Status.CONVERGED
    assert seen.gap <= tol * seen.primal
    assert seen.kkt_violation <= tol
    if optimum is None:
        optimum = assess(problem, QP().solve(problem).alpha, None, None).primal
    assert seen.primal == pytest.approx(optimum, rel=1.5 * tol)


# The optimum


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_the_optimum_is_that_of_the_reference(case):
    assert_optimal(SMO(tol=1e-7).solve(case.problem), case.problem, 1e-7, case.optimum)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_every_loss_with_every_intercept_and_two_rows_in_the_cache(loss, intercept, rng):
    problem = noisy_problem(rng, loss, intercept)
    assert_optimal(SMO(tol=1e-6, memory=1).solve(problem), problem, 1e-6)


def _hard_data(rng):
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.0, 1, -1)
    scarce = np.where(rng.random((60, 20)) < 0.2, rng.normal(size=(60, 20)), 0.0)
    return {
        "duplicated rows": (np.repeat(X[:20], 3, axis=0), np.repeat(y[:20], 3)),
        "contradicting rows": (np.vstack([X, X]), np.concatenate([y, -y])),
        "constant and zero columns": (np.column_stack([X, np.full(60, 3.0), np.zeros(60)]), y),
        "scales 1e-6 to 1e6": (X * np.array([1e-6, 1e-2, 1e2, 1e6]), y),
        "tiny scale": (1e-6 * X, y),
        "huge scale": (1e6 * X, y),
        "one row a class": (X[[np.argmax(y), np.argmin(y)]], np.array([1, -1])),
        "imbalance": (X, np.where(np.arange(60) < 2, 1, -1)),
        "n < d": (rng.normal(size=(20, 60)), np.tile([1, -1], 10)),
        "sparse": (sparse.csr_matrix(scarce), y),
        "float32": (X.astype(np.float32), y),
        "float32 sparse": (sparse.csr_matrix(scarce.astype(np.float32)), y),
    }


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("data", _hard_data(np.random.default_rng(0)))
@pytest.mark.parametrize("intercept", ["free", "augmented"])
def test_hard_data_end_in_a_certificate_that_holds(data, C, intercept):
    X, y = _hard_data(np.random.default_rng(0))[data]
    C = min(C, 1e3) if data == "scales 1e-6 to 1e6" else C  # one feature is all there is, and millions of steps
    model = SVC(C=C, solver="smo", intercept=intercept).fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert again.relative_gap <= 1e-3
    assert again.kkt_violation <= 1e-3
    assert model.certificate_.solver == "smo"


def test_a_weight_of_zero_is_an_absent_row_and_a_weight_of_two_is_the_row_twice(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1, -1)
    weight = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weight)
    one = SVC(solver="smo", tol=1e-8).fit(X, y, weight)
    two = SVC(solver="smo", tol=1e-8, gamma=one._gamma).fit(X[repeated], y[repeated])
    one.certificate_.verify(X, y, weight)
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-7)
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
def test_the_scores_are_those_of_scikit_learn(kernel, rng):
    X = rng.normal(size=(150, 4))
    y = np.where(np.sum(X**2, axis=1) + rng.normal(size=150) > 4.0, 1, -1)
    z = X[:, 0] + 0.3 * rng.normal(size=150)
    apart = np.abs(X[:, None] - X[None])
    K = np.exp(-0.3 * np.sum(apart if kernel == "laplacian" else apart**2, axis=2))
    X = K if kernel == "precomputed" else X
    ours = SVC(kernel=kernel, gamma=0.3, C=3.0, solver="smo", tol=1e-7).fit(X, y)
    theirs = svm.SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(K, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(K), atol=1e-4)
    ours = SVR(kernel=kernel, gamma=0.3, C=3.0, solver="smo", tol=1e-7).fit(X, z)
    theirs = svm.SVR(kernel="precomputed", C=3.0, tol=1e-8).fit(K, z)
    assert_allclose(ours.predict(X), theirs.predict(K), atol=1e-4)


def test_three_classes_are_three_certified_machines(rng):
    X = rng.normal(size=(150, 3))
    y = np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)
    model = SVC(solver="smo", C=5.0).fit(X, y)
    assert [part.solver for part in model.certificate_.parts] == ["smo"] * 3
    assert model.certificate_.verify(X, y).relative_gap <= 1e-3


# The cache


def _cache(rng, rows_kept, n=40, intercept=Intercept.FREE):
    problem = noisy_problem(rng, n=n, intercept=intercept)
    variables = Variables.of(problem)
    cache = KernelRowCache(problem, variables, 4 * rows_kept * len(variables.rows))
    K = problem.gram() + variables.constant
    if not variables.is_free:
        K = np.pad(K, (0, 1))
    return cache, K


@pytest.fixture
def computed(monkeypatch):
    """The kernel rows that were computed so far, a list to be emptied."""
    rows, fill = [], KernelValues.fill
    monkeypatch.setattr(KernelValues, "fill", lambda self, which, *rest: (rows.extend(which), fill(self, which, *rest)))
    return rows


def _assert_rows_are_kernel_rows(cache, K):
    kept = np.flatnonzero(cache.slots >= 0)
    assert len(set(cache.slots[kept])) == len(kept)
    expected = K[np.ix_(cache.which[kept], cache.which)]
    assert_allclose(cache.rows[cache.slots[kept]], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
def test_a_cached_row_is_the_kernel_row_whatever_was_fetched_and_cut_before(intercept, rng):
    cache, K = _cache(rng, 12, intercept=intercept)
    always = np.array([] if intercept.is_free else [40], dtype=np.int64)  # the row of zeros never leaves
    for count in (40, 30, 30, 18, 12, 40, 25):
        cache.activate(np.union1d(rng.choice(cache.which[cache.which < 40], min(count, len(cache.which) - 1)), always))
        if count == 40:
            cache.activate(np.arange(len(K)))
        for _ in range(6):
            missing = np.flatnonzero(cache.slots < 0)[:3]
            if len(missing):
                cache.fetch(rng.permutation(missing))
            _assert_rows_are_kernel_rows(cache, K)


def test_rows_that_have_all_columns_are_cut_and_not_computed_again(rng, computed):
    cache, K = _cache(rng, 10)
    cache.fetch(np.array([3, 5, 8, 21, 30]))
    cache.activate(np.arange(3, 29))  # 30 is gone, and the columns of the others are fewer
    assert_array_equal(cache.which[cache.slots >= 0], [3, 5, 8, 21])
    _assert_rows_are_kernel_rows(cache, K)
    assert len(cache.rows) > 10  # narrower rows, so there is room for more of them
    assert computed == [3, 5, 8, 21, 30]
    cache.activate(np.arange(40))  # columns are missing
    assert np.all(cache.slots < 0)


def test_the_row_that_was_used_longest_ago_gives_way(rng):
    cache, _ = _cache(rng, 3)
    for row in (0, 1, 2):
        cache.fetch(np.array([row]))
    cache.touch(np.array([0]))
    cache.fetch(np.array([7]))
    assert_array_equal(np.flatnonzero(cache.slots >= 0), [0, 2, 7])
    cache.fetch(np.array([8]))
    assert_array_equal(np.flatnonzero(cache.slots >= 0), [0, 7, 8])


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=name)
def test_a_cache_of_any_size_gives_the_same_steps(intercept, rng):
    problem, asked = noisy_problem(rng, n=300, C=10.0, intercept=intercept), []

    def counted(A, B):
        asked[-1] += len(A) * len(B)
        return Gaussian(0.5)(A, B)

    solutions = []
    for memory in (None, 4 * 300 * 20, 4 * 300 * 3):
        asked.append(0)
        solutions.append(SMO(memory=memory).solve(replace(problem, kernel=as_kernel(counted))))
        assert solutions[-1].status is Status.CONVERGED
        assert solutions[-1].passes == solutions[0].passes
        assert_allclose(solutions[-1].alpha, solutions[0].alpha, atol=1e-9)
    assert asked[0] <= 4 * 300**2  # each row once, the scores at the beginning and at the end
    assert asked[0] < asked[1] < asked[2]  # what does not fit is computed again


def test_the_cache_keeps_to_its_memory(rng):
    problem = noisy_problem(rng, n=500)
    for memory in (1, 100_000, 300_000, 10**9):
        cache = KernelRowCache(problem, Variables.of(problem), memory)
        assert cache.rows.nbytes <= max(memory, 2 * 4 * 500)  # two rows a step needs
        assert cache.rows.nbytes <= 4 * 500**2


# Shrinking


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.5), SquaredHinge()], ids=name)
def test_shrinking_leaves_the_answer_as_it_is(loss, rng):
    problem = noisy_problem(rng, loss, n=700, C=50.0)
    drivers = [SMO(tol=1e-6, shrinking=shrinking).driver(problem) for shrinking in (True, False)]
    for driver in drivers:
        driver.run(GO)
        assert driver.status is Status.CONVERGED
    with_it, without = drivers
    assert_allclose(with_it.history.primal[-1], without.history.primal[-1], rtol=2e-6)
    assert len(with_it.engine.cache.which) < 0.9 * 700
    assert len(without.engine.cache.which) == 700


def test_a_variable_that_became_idle_too_early_is_found_at_the_end(rng, monkeypatch):
    asked, unsettled = [], HostSet.unsettled

    def hasty(part, at, margin):
        """Puts every other variable aside when it is asked for the second time, whatever its slope is."""
        asked.append(part.size)
        if len(asked) != 2:
            return unsettled(part, at, margin)
        assert np.any(part.gain(at)[1::2] > 1e-3)  # they are far from settled
        return np.arange(0, part.size, 2)

    monkeypatch.setattr(HostSet, "unsettled", hasty)
    problem = noisy_problem(rng, n=300, C=100.0, kernel=Gaussian(0.1))
    solution = SMO(tol=1e-5).solve(problem)
    assert len(asked) > 2
    assert_optimal(solution, problem, 1e-5)


# Behaviour


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_an_indefinite_kernel_is_solved_by_its_conditions_of_optimality(C, rng):
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0.0, 1, -1)
    model = SVC(kernel=Sigmoid(0.5, -1.0), C=C, solver="smo").fit(X, y)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert math.isnan(again.gap)
    assert again.kkt_violation <= 1e-3


def test_what_it_cannot_do_is_refused_with_what_can(rng):
    problem = noisy_problem(rng)
    X, y = problem.source.X, problem.targets
    with pytest.raises(ParameterError, match=r"not for those with nu .* Use solver='auto'"):
        SMO().solve(replace(problem, nu=0.3))
    with pytest.raises(ParameterError, match="knows no nu"):
        NuSVC(solver=SMO()).fit(X, y)
    with pytest.raises(ParameterError, match="'smo' does not do a hard margin; those that do: 'auto', 'qp'"):
        SVC(solver="smo", C=np.inf).fit(X, y)
    with pytest.raises(ParameterError, match="is for kernel problems"):
        SMO().solve(LinearProblem(problem.source, Hinge(), 1.0, Intercept.FREE))
    with pytest.raises(ParameterError, match="squared hinge loss, whose multipliers have no bounds"):
        SMO().solve(replace(problem, loss=SquaredHinge(), kernel=Sigmoid(0.5, -1.0)))


def test_values_that_single_precision_cannot_hold_end_with_an_honest_status(rng):
    """Rows 1e5 from the origin, differences of 1: <x, z> has no digits left for them in single precision."""
    X = rng.normal(size=(40, 2)) + 1e5
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 1e5, 1.0, -1.0)
    problem = KernelProblem(ArraySource(X, y, np.ones(40)), Hinge(), 1.0, Intercept.FREE, Linear())
    solution = SMO(max_seconds=1.0).solve(problem)
    seen = assess(problem, solution.alpha, None, None)
    is_optimal = seen.gap <= 1e-3 * seen.primal and seen.kkt_violation <= 1e-3
    assert is_optimal == (solution.status is Status.CONVERGED)


def test_stored_kernel_values_are_used_as_they_are(rng):
    problem = noisy_problem(rng)
    stored = replace(problem, stored=problem.gram().astype(np.float32))
    precomputed = replace(problem, source=replace(problem.source, X=problem.gram()), kernel=Precomputed())
    plain = SMO(tol=1e-6).solve(problem)
    for other in (stored, precomputed):
        assert_allclose(SMO(tol=1e-6).solve(other).alpha, plain.alpha, atol=1e-4)


def test_a_start_that_is_optimal_saves_most_steps_and_any_other_is_made_feasible(rng):
    problem = noisy_problem(rng, n=200)
    solution = SMO(tol=1e-6).solve(problem)
    again = SMO(tol=1e-6).solve(problem, start=solution)
    assert again.passes < 0.3 * solution.passes
    assert_optimal(again, problem, 1e-6)
    for C in (0.2, 20.0):
        other = replace(problem, C=C)
        assert_optimal(SMO().solve(other, start=solution), other, 1e-3)


@pytest.mark.parametrize("steps", [1, 7, 1500])
def test_max_iter_counts_pair_steps(steps, rng):
    problem = noisy_problem(rng, n=300)
    X, y = problem.source.X, problem.targets
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = SVC(C=1e4, solver="smo", max_iter=steps, tol=1e-10).fit(X, y)
    assert_array_equal(model.n_iter_, [steps])
    again = model.certificate_.verify(X, y)
    assert again.status is Status.BUDGET
    assert again.dual > 0.0


@pytest.mark.parametrize("n", [300, 1500])  # in this thread, and in another
@pytest.mark.parametrize("ending", ["seconds", "interrupt"])
@pytest.mark.alone
def test_a_search_that_is_ended_early_keeps_a_certified_answer(ending, n, rng):
    problem = noisy_problem(rng, n=n, C=1e6, kernel=Gaussian(0.02))
    SMO(max_iter=1).solve(problem)  # compiles
    begun = time.perf_counter()
    endless = SMO(tol=1e-14)
    if ending == "seconds":
        solution = replace(endless, max_seconds=0.2).solve(problem)
    else:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        solution = replace(endless, max_seconds=60.0).solve(problem)
        timer.join()
    assert time.perf_counter() - begun < 2.0
    assert solution.status is (Status.BUDGET if ending == "seconds" else Status.INTERRUPTED)
    assert np.any(solution.alpha)
    assert assess(problem, solution.alpha, None, None).dual > 0.0


@pytest.mark.alone
def test_ctrl_c_leaves_the_estimator_fitted(rng):
    problem = noisy_problem(rng, n=800)
    X, y = problem.source.X, problem.targets
    model = SVC(C=1e6, gamma=0.02, solver="smo", tol=1e-14, max_seconds=60.0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert model.certificate_.verify(X, y).status is Status.INTERRUPTED
