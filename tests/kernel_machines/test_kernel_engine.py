"""The contract between the driver of kernel machines and its engines: one written from the contract's text alone, in
plain NumPy and for nothing but being right, leads to the same optimum; and the engines of the library keep to it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.kernels import Gaussian
from maxmargin.losses import EpsilonInsensitive, Hinge, MarginLoss, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.problems import Intercept, KernelProblem, Status
from maxmargin.solvers import QP, SMO, Blocks
from maxmargin.solvers.kernel.driver import KernelDriver
from maxmargin.solvers.kernel.dual import Extremes, Terms, Variables
from maxmargin.solvers.kernel.engine import ActiveSet, EnginePace, KernelEngine, KernelWorkingSet

GO = np.zeros(1, dtype=np.uint8)  # a stop flag that is never raised
TOL = 1e-5
LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]
WAYS = {
    "one working set": (EnginePace(steps=40), None),
    "all at once": (EnginePace(steps=1000, first=10.0), 10**6),
    "in rounds": (EnginePace(steps=20, rounds=5, sharpness=0.5), None),
}
"""How far the driver goes before it looks again, and how large working sets are: None for twelve."""


def name(value):
    return getattr(value, "name", None) or getattr(value, "words", str(value))


def noisy_problem(loss=None, intercept=Intercept.FREE, n=50, C=2.0, nu=None):
    rng = np.random.default_rng(0)
    loss = loss or Hinge()
    X = rng.normal(size=(n, 3))
    noisy = X[:, 0] + 0.8 * rng.normal(size=n)
    y = np.where(noisy > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else 3.0 * noisy
    return KernelProblem(ArraySource(X, y, rng.random(n) + 0.2), loss, C, intercept, Gaussian(0.5), nu=nu)


class PlainSet(ActiveSet, KernelWorkingSet):
    """Variables `which` of a set around them, with copies of all that belongs to them."""

    def __init__(self, around, which):
        self._around, self._which, self._n_groups, self._few = around, which, around._n_groups, around._few
        self._columns = {key: value[which] for key, value in around._columns.items()}
        assert self._columns["is_zeros"].any() == around._columns["is_zeros"].any()
        self._K, self.size = around._K[np.ix_(which, which)], len(which)
        self._before = self._columns["beta"].copy()

    def _slopes(self):
        c = self._columns
        rise = np.where(c["beta"] < c["upper"], c["F"] + np.where(c["beta"] < 0.0, -c["tube"], c["tube"]), np.inf)
        fall = np.where(c["beta"] > c["lower"], c["F"] - np.where(c["beta"] > 0.0, -c["tube"], c["tube"]), -np.inf)
        return rise, fall

    def _groups(self):
        return [np.flatnonzero(self._columns["group"] == g) for g in range(self._n_groups)]

    def extremes(self):
        rise, fall = self._slopes()
        low = [np.min(rise[g], initial=np.inf) for g in self._groups()]
        high = [np.max(fall[g], initial=-np.inf) for g in self._groups()]
        return Extremes(np.array(low), np.array(high))

    def working_set(self, at):
        """What belongs to every set, the worst pair of each group, and the worst of the others."""
        rise, fall = self._slopes()
        middle = at.middle[self._columns["group"]]
        others = np.argsort(-np.maximum(middle - rise, fall - middle))
        worst = [k for g in self._groups() if len(g) for k in (g[np.argmin(rise[g])], g[np.argmax(fall[g])])]
        chosen = dict.fromkeys([*np.flatnonzero(self._columns["is_zeros"]), *worst, *others])
        return PlainSet(self, np.array(list(chosen)[: self._few]))

    def pair_steps(self, goal, limit, stop):
        c = self._columns
        for step in range(limit):
            rise, fall = self._slopes()
            pairs = [(g[np.argmin(rise[g])], g[np.argmax(fall[g])]) for g in self._groups() if len(g)]
            i, j = max(pairs, key=lambda pair: fall[pair[1]] - rise[pair[0]])
            if fall[j] - rise[i] <= goal:
                return step, True
            bend = self._K[i, i] + self._K[j, j] - 2.0 * self._K[i, j] + c["ridge"][i] + c["ridge"][j]
            to_i = 0.0 if c["tube"][i] > 0.0 and c["beta"][i] < 0.0 else c["upper"][i]
            to_j = 0.0 if c["tube"][j] > 0.0 and c["beta"][j] > 0.0 else c["lower"][j]
            room = to_i - c["beta"][i], c["beta"][j] - to_j
            length = min((fall[j] - rise[i]) / max(bend, 1e-12), *room)
            c["beta"][i] = to_i if length == room[0] else c["beta"][i] + length
            c["beta"][j] = to_j if length == room[1] else c["beta"][j] - length
            c["F"] += length * (self._K[i] - self._K[j])
            c["F"][i] += length * c["ridge"][i]
            c["F"][j] -= length * c["ridge"][j]
        return limit, False

    def close(self):
        around, change = self._around._columns, self._columns["beta"] - self._before
        around["F"] += self._around._K[:, self._which] @ change
        around["F"][self._which] += self._columns["ridge"] * change
        around["beta"][self._which] = self._columns["beta"]
        self._around.is_exact = getattr(self._around, "_dtype", None) is np.float64


class PlainEngine(PlainSet, KernelEngine):
    """All variables, with values of any precision."""

    def __init__(self, problem, way="one working set", dtype=np.float64):
        v = self._v = Variables.of(problem)
        self._problem, self._dtype, self.n_groups, self.is_free = problem, dtype, v.n_groups, v.is_free
        self._n_groups = v.n_groups
        self.pace, few = WAYS[way]
        self._few = 12 if few is None else few
        K = problem.gram()[np.ix_(v.rows, v.rows)] + v.constant
        K[v.rows < 0], K[:, v.rows < 0] = 0.0, 0.0
        self._exact, self._K, self.size = K, K.astype(dtype).astype(np.float64), len(K)
        names = ("lower", "upper", "target", "tube", "ridge", "group")
        self._columns = {key: getattr(v, key) for key in names} | {"is_zeros": v.rows < 0, "beta": v.start.copy()}
        self.refined = -1
        self.refine()

    def active(self, at):
        return self if self.pace.rounds == 1 else PlainSet(self, np.arange(self.size))

    def close(self):
        """Nobody is around all."""

    def terms(self, b):
        c = self._columns
        beta, ridge = c["beta"], c["ridge"]
        g = c["F"] - ridge * beta + b[c["group"]]
        candidates = [np.where(np.isfinite(x), x, 0.0) for x in (np.zeros_like(g), c["lower"], c["upper"])]
        with np.errstate(divide="ignore", invalid="ignore"):
            for sign in (1.0, -1.0):
                best = np.where(ridge > 0.0, -(g + sign * c["tube"]) / ridge, 0.0)
                candidates.append(np.where(np.isfinite(best), np.clip(best, c["lower"], c["upper"]), 0.0))
        value = lambda x: -g * x - c["tube"] * np.abs(x) - 0.5 * ridge * x**2  # noqa: E731
        loss = np.max([value(x) for x in candidates], axis=0)
        bound = np.maximum(np.abs(c["lower"]), np.abs(c["upper"]))
        return Terms(
            losses=float(np.sum(loss)),
            gap=float(np.sum(loss - value(beta))),
            square=float(beta @ self._K @ beta),
            gain=float(c["target"] @ beta - c["tube"] @ np.abs(beta) - 0.5 * ridge @ beta**2),
            size=float(np.sum(np.abs(beta))),
            squares=float(beta @ beta),
            steepness=float(np.sum(np.where(np.isfinite(bound), bound, np.abs(beta))[beta != 0.0])),
            largest=float(np.max(np.abs(c["F"]))),
        )

    def refine(self):
        c = self._columns
        c["F"] = self._exact @ c["beta"] + c["ridge"] * c["beta"] - c["target"]
        self.is_exact = True
        self.refined += 1

    def sample_error(self):
        c = self._columns
        error = (c["F"] - (self._exact @ c["beta"] + c["ridge"] * c["beta"] - c["target"]))[~c["is_zeros"]]
        return float(np.max(np.abs(error - np.median(error) if self._problem.intercept.is_free else error)))

    def begin(self, beta):
        self._columns["beta"] = beta
        self.refine()

    def begin_near(self, other, scale):
        self.begin(np.clip(scale * other._columns["beta"], self._columns["lower"], self._columns["upper"]))

    largest_value = property(lambda self: float(np.max(np.abs(np.diagonal(self._K) + self._columns["ridge"]))))
    diameter = property(lambda self: 1.5)  # of a Gaussian: at most the root of 2

    def coefficients(self):
        return self._v.combined(self._columns["beta"])

    def scores(self):
        return (self._K @ self._columns["beta"])[: self._problem.n_rows]

    def tells_intercept(self):
        return self._v.tells_intercept(self._columns["beta"])


def solved_plainly(problem, way, dtype=np.float64, tol=TOL):
    driver = KernelDriver(problem, PlainEngine(problem, way, dtype), Blocks(tol=tol))
    driver.run(GO)
    return driver


def seen(problem, solution):
    return assess(problem, solution.alpha, None, solution.bias)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_an_engine_written_from_the_contract_leads_to_the_optimum_of_the_reference(loss, intercept, way):
    problem = noisy_problem(loss, intercept)
    driver = solved_plainly(problem, way)
    found = seen(problem, driver.solution(driver.status))
    assert driver.status is Status.CONVERGED
    assert found.gap <= TOL * found.primal
    assert found.kkt_violation <= TOL
    assert found.primal == pytest.approx(seen(problem, QP().solve(problem)).primal, rel=2.0 * TOL)


@pytest.mark.parametrize("way", WAYS)
def test_values_in_half_the_digits_lead_to_a_converged_answer_by_refinement_alone(way):
    problem = noisy_problem(C=20.0)
    driver = solved_plainly(problem, way, np.float16)
    assert driver.status is Status.CONVERGED
    assert driver.engine.refined > 0
    found = seen(problem, driver.solution(driver.status))
    assert found.gap <= TOL * found.primal
    assert found.kkt_violation <= TOL


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.0)], ids=name)
def test_two_groups_of_a_machine_with_nu_lead_to_the_margin_of_the_default_engine(loss, way):
    problem = noisy_problem(loss, nu=0.6)
    driver = solved_plainly(problem, way, tol=1e-6)
    assert driver.status is Status.CONVERGED
    margin = driver.solution(driver.status).margin
    assert margin == pytest.approx(Blocks(tol=1e-8).solve(problem).margin, rel=1e-4)


# The engines of the library -------------------------------------------------------------------------------------------

ENGINES = {
    "whole matrix": lambda problem: Blocks(whole=10**6).driver(problem).engine,
    "many rows": lambda problem: Blocks(whole=0, active=20, size=8).driver(problem).engine,
    "cached rows": lambda problem: SMO(memory=4 * 60 * 5).driver(problem).engine,
}
PROBLEMS = {
    "hinge": noisy_problem(),
    "tube, no intercept": noisy_problem(EpsilonInsensitive(0.3), Intercept.NONE),
    "squared, augmented": noisy_problem(SquaredHinge(), Intercept.AUGMENTED),
    "nu": noisy_problem(nu=0.5),
    "nu, two variables a row": noisy_problem(EpsilonInsensitive(0.0), nu=0.5),
    "enough rows to leave some out": noisy_problem(n=700),
}


def _both(engine, problem):
    """An engine of the library and the plain one, at the same point, which is not optimal."""
    plain, ours = PlainEngine(problem), ENGINES[engine](problem)
    for _ in range(3):
        part = plain.working_set(plain.extremes())
        part.pair_steps(0.0, 10, GO)
        part.close()
    ours.begin(plain._columns["beta"].copy())
    return ours, plain


def _assert_same_point(ours, plain):
    assert ours.size == plain.size
    at, expected = ours.extremes(), plain.extremes()
    assert_allclose(at.low, expected.low, atol=2e-5)
    assert_allclose(at.high, expected.high, atol=2e-5)
    b = -expected.middle if ours.is_free else np.zeros(1)
    assert_allclose(ours.terms(b), plain.terms(b), rtol=1e-4, atol=1e-4)
    assert_allclose(ours.coefficients(), plain.coefficients())
    assert_allclose(ours.scores(), plain.scores(), atol=2e-5)
    assert ours.tells_intercept() == plain.tells_intercept()
    assert ours.sample_error() <= 1e-4


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_tells_the_same_of_a_point(engine, problem):
    ours, plain = _both(engine, problem)
    _assert_same_point(ours, plain)
    assert ours.largest_value == pytest.approx(plain.largest_value)
    assert (ours.is_free, ours.n_groups) == (plain.is_free, plain.n_groups)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_worst_pair_is_in_every_set_and_what_moves_there_moves_in_all(engine, problem):
    ours, plain = _both(engine, problem)
    for _ in range(3):  # working sets that follow on each other, as half of one serves the next
        before = ours.terms(np.zeros(2))
        active = ours.active(ours.extremes())
        assert active.extremes().violation == pytest.approx(ours.extremes().violation)
        for _ in range(3):
            at = active.extremes()
            part = active.working_set(at)
            assert part.extremes().violation == pytest.approx(at.violation)
            taken = sum(part.pair_steps(1e-3, 5, GO)[0] for _ in range(10))
            assert taken > 0 or at.violation <= 1e-3
            part.close()
        active.close()
        after = ours.terms(np.zeros(2))
        assert 0.5 * after.square - after.gain <= 0.5 * before.square - before.gain + 1e-6
        assert after.squares != before.squares or at.violation <= 1e-3
        plain.begin(ours.beta.copy())
        _assert_same_point(ours, plain)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_of_another_cost_begins_where_the_first_ended_without_its_kernel(engine, monkeypatch):
    problem = noisy_problem(C=1.0)
    first, _ = _both(engine, problem)
    next_one = ENGINES[engine](replace(problem, C=1.5))
    monkeypatch.setattr(KernelProblem, "scores", None)
    next_one.begin_near(first, 1.2)
    assert_allclose(next_one.coefficients(), 1.2 * first.coefficients())
    assert_allclose(next_one.scores(), 1.2 * first.scores())


def test_an_engine_at_hand_without_a_row_is_the_engine_of_the_others():
    problem = noisy_problem()
    whole = Blocks(tol=1e-8).driver(problem)
    whole.run(GO)
    i = int(np.argmax(np.abs(whole.engine.coefficients())))
    rest = np.delete(np.arange(50), i)
    X, y, weight = problem.source.X, problem.targets, problem.source.weight
    fewer = Blocks(tol=1e-8).driver(replace(problem, source=ArraySource(X[rest], y[rest], weight[rest])))
    fewer.run(GO)
    expected = problem.kernel.block(X[[i]], X[rest])[0] @ fewer.engine.coefficients() + fewer.intercept()
    before = whole.engine.coefficients()
    assert whole.score_without(i, 10**6) == pytest.approx(expected, abs=1e-5)
    assert whole.score_without(i, 1) is None
    assert_array_equal(whole.engine.coefficients(), before)
