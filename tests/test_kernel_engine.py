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
from maxmargin.solvers.kernel.engine import ActiveSet, KernelEngine, KernelWorkingSet, Unsettled, WorkingSets

GO = np.zeros(1, dtype=np.uint8)  # a stop flag that is never raised
TOL = 1e-5
LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]
PACES = {
    "working sets": WorkingSets(active=24, size=8),
    "one level": WorkingSets(active=10**6, size=8),
    "all active": WorkingSets(active=10**6, size=10**6),
    "unsettled": Unsettled(above=10, most=0.9, margin=0.5, coarse=0.2, period=40, steps=200),
    "shrinking": Unsettled(above=0, most=1.0, margin=0.0, coarse=0.0, period=20, steps=10**4, first=10.0),
}


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
    """Variables `which` of a part around them, with copies of all that belongs to them."""

    def __init__(self, around, which):
        self._around, self._n_groups = around, around._n_groups
        self._which = np.arange(around.size) if which is None else which
        assert len(set(self._which)) == len(self._which)
        self._columns = {key: value[self._which] for key, value in around._columns.items()}
        assert self._columns["is_zeros"].any() == around._columns["is_zeros"].any()
        self._K, self.size = around._K[np.ix_(self._which, self._which)], len(self._which)
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

    def unsettled(self, at, margin):
        rise, fall = self._slopes()
        group = self._columns["group"]
        return np.flatnonzero(~((rise > at.high[group] + margin) & (fall < at.low[group] - margin)))

    def between(self):
        c = self._columns
        inside = (c["beta"] > c["lower"]) & (c["beta"] < c["upper"]) & (c["beta"] != 0.0)
        return np.flatnonzero(inside | c["is_zeros"])

    def most_violating(self, at, count, carried):
        assert count < self.size
        rise, fall = self._slopes()
        middle = at.middle[self._columns["group"]]
        zeros = np.setdiff1d(np.flatnonzero(self._columns["is_zeros"]), carried)
        chosen = [*zeros, *carried]
        half = len(chosen) + (count - len(chosen)) // 2
        for gain, until in ((middle - rise, half), (fall - middle, count), (middle - rise, count)):
            for k in np.argsort(-gain):
                if len(chosen) < until and k not in chosen and gain[k] > -np.inf:
                    chosen.append(k)
        return np.array(chosen)

    def keenest(self, at, among, count):
        rise, fall = self._slopes()
        middle = at.middle[self._columns["group"]]
        gain, between = np.maximum(middle - rise, fall - middle), set(self.between())
        is_zeros = self._columns["is_zeros"]
        order = sorted(range(len(among)), key=lambda p: (~is_zeros[among[p]], among[p] not in between, -gain[among[p]]))
        return np.sort(order[:count])

    def working_set(self, which):
        return PlainSet(self, which)

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
        self._around._moved()

    def _moved(self):
        """Nothing more to know, but for the engine."""


class PlainEngine(PlainSet, KernelEngine):
    """All variables, with values of any precision."""

    def __init__(self, problem, pace, dtype=np.float64):
        self._v, self._problem, self.pace, self._dtype = Variables.of(problem), problem, pace, dtype
        v = self._v
        K = problem.gram()[np.ix_(v.rows, v.rows)] + v.constant
        K[v.rows < 0], K[:, v.rows < 0] = 0.0, 0.0
        self._exact = K
        self._K, self.size, self._n_groups = K.astype(dtype).astype(np.float64), len(K), v.n_groups
        names = ("lower", "upper", "target", "tube", "ridge", "group")
        columns = {key: getattr(v, key) for key in names} | {"is_zeros": v.rows < 0}
        self._columns = columns | {"beta": v.start.copy()}
        self.refined = -1
        self.refine()

    def _moved(self):
        self.is_exact = self._dtype is np.float64

    def active(self, which):
        return self if which is None else PlainSet(self, which)

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


def solved_plainly(problem, pace, dtype=np.float64, tol=TOL):
    driver = KernelDriver(problem, Variables.of(problem), PlainEngine(problem, pace, dtype), Blocks(tol=tol))
    driver.run(GO)
    return driver


def seen(problem, solution):
    return assess(problem, solution.alpha, None, solution.bias)


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_an_engine_written_from_the_contract_leads_to_the_optimum_of_the_reference(loss, intercept, pace):
    problem = noisy_problem(loss, intercept)
    driver = solved_plainly(problem, pace)
    found = seen(problem, driver.solution(driver.status))
    assert driver.status is Status.CONVERGED
    assert found.gap <= TOL * found.primal
    assert found.kkt_violation <= TOL
    assert found.primal == pytest.approx(seen(problem, QP().solve(problem)).primal, rel=2.0 * TOL)


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES)
def test_values_in_half_the_digits_lead_to_a_converged_answer_by_refinement_alone(pace):
    problem = noisy_problem(C=20.0)
    driver = solved_plainly(problem, pace, np.float16)
    assert driver.status is Status.CONVERGED
    assert driver.engine.refined > 0
    found = seen(problem, driver.solution(driver.status))
    assert found.gap <= TOL * found.primal
    assert found.kkt_violation <= TOL


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES)
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.0)], ids=name)
def test_two_groups_of_a_machine_with_nu_lead_to_the_margin_of_the_default_engine(loss, pace):
    problem = noisy_problem(loss, nu=0.6)
    driver = solved_plainly(problem, pace, tol=1e-6)
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
}


def _both(engine, problem):
    """An engine of the library and the plain one, at the same point, which is not optimal."""
    plain, ours = PlainEngine(problem, PACES["one level"]), ENGINES[engine](problem)
    part = plain.working_set(None)
    part.pair_steps(0.0, 25, GO)
    part.close()
    ours.begin(plain._columns["beta"].copy())
    return ours, plain


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_tells_the_same_of_a_point(engine, problem):
    ours, plain = _both(engine, problem)
    assert ours.size == plain.size
    at, expected = ours.extremes(), plain.extremes()
    assert_allclose(at.low, expected.low, atol=1e-5)
    assert_allclose(at.high, expected.high, atol=1e-5)
    b = np.zeros(1) if Intercept.FREE is not problem.intercept and problem.nu is None else -at.middle
    assert_allclose(ours.terms(b), plain.terms(b), rtol=1e-4, atol=1e-4)
    assert_allclose(ours.coefficients(), plain.coefficients())
    assert_allclose(ours.scores(), plain.scores(), atol=1e-5)
    assert_array_equal(ours.between(), plain.between())
    assert_array_equal(ours.unsettled(at, 0.1), plain.unsettled(expected, 0.1))
    carried = plain.between()[:3]
    assert set(ours.most_violating(at, 16, carried)) == set(plain.most_violating(expected, 16, carried))
    assert ours.tells_intercept() == plain.tells_intercept()
    assert ours.sample_error() <= 1e-4
    assert ours.largest_value == pytest.approx(plain.largest_value)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_moves_in_a_working_set_moves_in_all_and_every_slope_follows(engine, problem):
    ours, plain = _both(engine, problem)
    at = ours.extremes()
    active = ours.active(None)
    places = active.most_violating(at, 12, np.empty(0, dtype=np.int64))
    taken = 0
    for turn in range(3):  # half of the set is new each time
        before = ours.terms(np.zeros(2))
        part = active.working_set(np.sort(places) if active is ours else places)  # as its pace asks for
        is_there = False
        for _ in range(1000):
            steps, is_there = part.pair_steps(1e-6, 5, GO)
            taken += steps
            if is_there:
                break
        assert is_there
        part.close()
        if turn < 2:
            stay = active.keenest(active.extremes(), places, 6)
            assert_array_equal(stay, np.sort(stay))
            more = active.most_violating(active.extremes(), 12, places[stay])[6:]
            places[np.delete(np.arange(12), stay)] = more
        if active is ours:
            after = ours.terms(np.zeros(2))
            assert 0.5 * after.square - after.gain <= 0.5 * before.square - before.gain + 1e-9
    assert taken > 10
    active.close()
    plain.begin(ours.beta.copy())
    assert_allclose(ours.scores(), plain.scores(), atol=2e-5)
    assert_allclose(ours.extremes().low, plain.extremes().low, atol=2e-5)
    assert ours.sample_error() <= 1e-4


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
    assert whole.score_without(i, 10**6) == pytest.approx(expected, abs=1e-5)
    assert whole.score_without(i, 1) is None
