"""Engines in this process: what they have in common, slopes in arrays, and the one for many rows.

`ManyRows` has three levels, each hundreds of times cheaper a step than the one around it:

    all variables    what their slopes need of the kernel is used once, and never stored
    active set       those between their bounds, and as many at least that violate optimality most. The kernel rows of
                     those that move several times are kept, as far as the memory goes.
    working set      a thousand or two of these, half of them from the last one: the square stays in the cache

A variable that is settled at its bound never becomes active, so it costs nothing but its slope. Kernel values are
single.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import PairBox, extremes, pair_steps, terms
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.backends.threads import StopFlag
from maxmargin.problems import KernelProblem
from maxmargin.solvers.kernel.dual import Extremes, Terms, Variables
from maxmargin.solvers.kernel.engine import ActiveSet, EnginePace, KernelEngine, KernelWorkingSet, VariableSet
from maxmargin.solvers.kernel.values import ActiveRows, KernelValues

_SAMPLE = 64  # slopes that are compared with double precision
_SHARE = 0.3  # of all variables is active at least
_ALL = 1.5  # times as many as are wanted: then all are taken
PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache


class HostSet(VariableSet):
    """Some of the variables; where there is a row of zeros, it is the last of them."""

    def __init__(self, box: PairBox, beta: Vector, F: Vector, rows: RowIndex, n_groups: int):
        self.box, self.beta, self.F, self.rows, self.n_groups = box, beta, F, rows, n_groups
        self.size = len(beta)
        self.has_zeros = bool(rows[-1] < 0)
        self.rising, self.falling = np.empty(self.size), np.empty(self.size)

    def extremes(self) -> Extremes:
        """Smallest rise and largest fall of each group."""
        low, high = np.empty(self.n_groups), np.empty(self.n_groups)
        extremes(self.F, self.beta, self.box, self.rising, self.falling, low, high)
        return Extremes(low, high)

    def are_between(self) -> NDArray[np.bool_]:
        """Which variables are at no bound and no kink."""
        beta, box = self.beta, self.box
        return np.asarray((beta > box.lower) & (beta < box.upper) & (beta != 0.0))

    def unsettled(self, at: Extremes, margin: float) -> RowIndex:
        """Variables but those whose slopes are further than `margin` from those that a violating pair would have."""
        low, high = self._of_groups(at.low), self._of_groups(at.high)
        return np.flatnonzero((self.rising <= high + margin) | (self.falling >= low - margin))

    def most_violating(self, at: Extremes, count: int, carried: RowIndex) -> RowIndex:
        """`count` variables, the carried ones first, the others the worst: half to be raised, half lowered."""
        if self.has_zeros and not np.any(carried == self.size - 1):
            carried = np.append(self.size - 1, carried)
        middle = self._of_groups(at.middle)
        gain_up, gain_down = middle - self.rising, self.falling - middle
        gain_up[carried], gain_down[carried] = -np.inf, -np.inf
        wanted = count - len(carried)
        up = _largest(gain_up, wanted // 2)
        gain_down[up] = -np.inf
        down = _largest(gain_down, wanted - len(up))
        gain_up[up], gain_up[down] = -np.inf, -np.inf
        more = _largest(gain_up, wanted - len(up) - len(down))  # where few can be lowered
        return np.concatenate([carried, up, down, more])

    def gain(self, at: Extremes) -> Vector:
        """How much moving each variable would gain, a slope."""
        middle = self._of_groups(at.middle)
        return np.asarray(np.maximum(middle - self.rising, self.falling - middle))

    def _of_groups(self, values: Vector) -> Any:
        """A value of each group, for each variable."""
        return values[self.box.group] if self.n_groups > 1 else values[0]

    def update_gradient(self, moved: RowIndex, steps: Vector) -> None:
        """All slopes after the coefficients of some variables moved, which `beta` does not have yet."""
        raise NotImplementedError


class SquareSet(HostSet, KernelWorkingSet):
    """Variables whose square of the kernel matrix is at hand; where they are all of a set, they are its arrays."""

    def __init__(self, around: HostSet, which: RowIndex | None, square: NDArray[Any], coarsest: float = 0.0):
        """`coarsest` is a violation to which steps go at most, whatever is asked for."""
        self._around, self._which, self._square, self._coarsest = around, which, square, coarsest
        box, beta, F, rows = around.box, around.beta, around.F, around.rows
        if which is not None:
            box, beta, F, rows = box.only(which), beta[which], F[which], rows[which]
            self._before = beta.copy()
        super().__init__(box, beta, F, rows, around.n_groups)

    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps on the square."""
        slots, goal = np.arange(self.size), max(goal, self._coarsest)
        taken = pair_steps(self._square, slots, self.beta, self.F, self.box, goal, limit, stop)[0]
        return taken, taken < limit

    def close(self) -> None:
        """Hand on what moved."""
        if self._which is None:
            return
        steps = self.beta - self._before
        moved = np.flatnonzero(steps)
        self._around.update_gradient(self._which[moved], steps[moved])
        self._around.beta[self._which] = self.beta


class HostEngine(HostSet, KernelEngine):
    """All variables; engines say what they have of the kernel, and begin."""

    def __init__(self, problem: KernelProblem, variables: Variables, curvature: Vector):
        v = variables
        self.problem, self.variables = problem, variables
        self.is_free, self.is_exact = v.is_free, True
        box = PairBox(v.lower, v.upper, v.tube, v.ridge, curvature, v.group)
        super().__init__(box, np.zeros(len(v.lower)), -v.target, v.rows, v.n_groups)

    def terms(self, b: Vector) -> Terms:
        """Sums over all variables."""
        return Terms(*terms(self.F, self.beta, self.box, self.variables.target, b))

    def refine(self) -> None:
        """Form all slopes in double precision, from the rows."""
        v = self.variables
        combined = v.combined(self.beta)
        scores = self.problem.scores(combined) + v.constant * float(np.sum(combined))
        self.F = np.where(v.rows >= 0, scores[v.rows], 0.0) - v.target + v.ridge * self.beta
        self.is_exact = True

    def sample_error(self) -> float:
        """The largest error of a sample of slopes."""
        v, n = self.variables, self.problem.n_rows
        combined = v.combined(self.beta)
        sample = np.arange(0, n, max(1, n // _SAMPLE))
        exact = self.problem.scores_at(sample, combined) + v.constant * float(np.sum(combined))
        error = self.scores()[sample] - exact
        if self.problem.intercept.is_free:
            error -= np.median(error)
        return float(np.max(np.abs(error)))

    def begin_near(self, other: HostEngine, scale: float) -> None:
        """Begin at scaled coefficients; slopes follow without the kernel."""
        v, was = self.variables, other.variables
        scores = other.F + was.target - was.ridge * other.beta
        self.beta = np.clip(scale * other.beta, v.lower, v.upper)
        self.F = scale * scores - v.target + v.ridge * self.beta
        self.is_exact = other.is_exact

    @cached_property
    def largest_value(self) -> float:
        """The largest |K_kk + ridge_k|."""
        return float(np.max(np.abs(self.box.curvature)))

    @cached_property
    def diameter(self) -> float:
        """How far rows are from the first, or from the origin."""
        diagonal = self.problem.diagonal()
        if self.problem.intercept.is_free:
            diagonal = diagonal + diagonal[0] - 2.0 * self.problem.kernel_rows(np.array([0]))[0]
        return math.sqrt(float(np.max(np.abs(diagonal))))

    def coefficients(self) -> Vector:
        """Coefficients of the rows."""
        return self.variables.combined(self.beta)

    def scores(self) -> Vector:
        """Scores of the rows; variable i belongs to row i, as long as i is below their number."""
        v = self.variables
        return np.asarray(self.F + v.target - v.ridge * self.beta)[: self.problem.n_rows]

    def tells_intercept(self) -> bool:
        """Whether a coefficient lies between its bounds."""
        return self.variables.tells_intercept(self.beta)


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]


class ManyRows(HostEngine):
    """All variables; kernel values as they are needed."""

    pace = EnginePace(steps=20_000, rounds=200, sharpness=0.5)

    def __init__(
        self, problem: KernelProblem, variables: Variables, beta: Vector, active: int, working: int, budget: int
    ):
        v = variables
        self.n_active, self.n_working = active, working
        self.values = KernelValues(problem, budget, shifted=problem.intercept.is_free)
        curvature = np.where(v.rows >= 0, self.values.diagonal()[v.rows] + v.constant, 0.0) + v.ridge
        # Kernel rows among the active variables, in single precision; the system gives memory when it is written to.
        self.buffer: NDArray[np.float32] = scratch("kernel rows", min(budget // 4, problem.n_rows**2))
        super().__init__(problem, variables, curvature)
        self.begin(beta)

    def begin(self, beta: Vector) -> None:
        """Slopes of these coefficients."""
        moved = np.flatnonzero(beta)
        self.beta, self.F = beta, self.box.ridge * beta - self.variables.target
        self.update_others(moved, beta[moved], np.arange(self.size))

    def active(self, at: Extremes) -> _Active:
        """The variables between bounds, and others."""
        between = np.flatnonzero(self.are_between())
        count = max(self.n_active, int(_SHARE * self.size), 2 * len(between) + self.n_working)
        if self.size <= _ALL * count:
            return _Active(self, np.arange(self.size))
        return _Active(self, np.sort(self.most_violating(at, count, between)))

    def update_others(self, moved: RowIndex, steps: Vector, others: RowIndex) -> None:
        """What K brings to the slopes of the `others` when the coefficients of some variables move."""
        v = self.variables
        given = v.rows[moved] >= 0
        moved, steps = moved[given], steps[given]
        if len(moved) == 0:
            return
        self.is_exact = False
        others = others[v.rows[others] >= 0]
        if len(others) == 0:
            return
        rows, total = _sums(v.rows[moved], steps)
        among, back = np.unique(v.rows[others], return_inverse=True)
        ready = None if len(among) == self.problem.n_rows else self.values.ready(among)
        change = self.values.change(rows, total, among, ready) + v.constant * float(np.sum(steps))
        self.F[others] += change[back]


class _Active(HostSet, ActiveSet):
    """Some variables, and kernel rows among them."""

    def __init__(self, engine: ManyRows, which: RowIndex):
        rows = engine.rows[which]
        super().__init__(engine.box.only(which), engine.beta[which], engine.F[which], rows, engine.n_groups)
        self._engine, self._which, self._before = engine, which, self.beta.copy()
        own, self._place = np.unique(rows[rows >= 0], return_inverse=True)  # the row of zeros is the last, if any
        self._are_rows = bool(np.all(rows[:-1] < rows[1:]))  # one variable a row, in the same order
        self._kernel = ActiveRows(engine.values, own, engine.buffer)
        self._constant = engine.variables.constant
        self._chosen: RowIndex | None = None
        self._square: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def working_set(self, at: Extremes) -> SquareSet:
        """The next working set: half of the last one stays in its places, the most violating take the others."""
        size, last = self._engine.n_working, self._chosen
        if self.size <= _ALL * size:
            if last is None:
                self._choose(np.arange(self.size), np.arange(self.size))
            return SquareSet(self, None, self._square)
        if last is None:
            self._choose(self.most_violating(at, size, np.empty(0, dtype=np.int64)), np.arange(size))
        else:
            is_between, gain = self.are_between()[last], self.gain(at)[last]
            if self.has_zeros:
                gain[last == self.size - 1], is_between[last == self.size - 1] = np.inf, True
            stay = np.sort(np.lexsort((-gain, ~is_between))[: size // 2])
            fresh = np.delete(np.arange(size), stay)
            last[fresh] = self.most_violating(at, size, last[stay])[len(stay) :]
            self._choose(last, fresh)
        return SquareSet(self, self._chosen, self._square)

    def _choose(self, chosen: RowIndex, fresh: RowIndex) -> None:
        """Take these variables, of which those at the places `fresh` are new in the square."""
        if self._chosen is None:
            self._square = np.empty((len(chosen), len(chosen) + PAD), dtype=np.float32)
        self._chosen = chosen
        Q, n = self._square, len(self._place)
        self._kernel.fill_square(self._place[np.where(chosen == n, 0, chosen)], fresh, Q)
        if self._constant:
            constant = np.float32(self._constant)
            Q[fresh, : len(chosen)] += constant  # beyond are idle columns, whose numbers mean nothing
            Q[np.ix_(np.setdiff1d(np.arange(len(chosen)), fresh), fresh)] += constant
        zeros = np.flatnonzero(chosen == n)  # no place of a row, so there where the row of zeros is
        Q[zeros], Q[:, zeros] = 0.0, 0.0

    def update_gradient(self, moved: RowIndex, steps: Vector) -> None:
        """Slopes of the active variables after some of them moved."""
        n = len(self._place)
        self.F[moved] += self.box.ridge[moved] * steps
        given = moved < n
        rows, total = _sums(self._place[moved[given]], steps[given])
        if self._are_rows:
            self._kernel.add(rows, total, self.F)
        else:
            change = np.zeros(len(self._kernel.rows))
            self._kernel.add(rows, total, change)
            self.F[:n] += change[self._place]
        if self._constant:
            self.F[:n] += self._constant * float(np.sum(steps[given]))

    def close(self) -> None:
        """Hand on what moved; the slopes of active variables are those that were kept here."""
        engine, which, steps = self._engine, self._which, self.beta - self._before
        moved = np.flatnonzero(steps)
        engine.beta[which] = self.beta
        others = np.ones(engine.size, dtype=bool)
        others[which] = False
        engine.update_others(which[moved], steps[moved], np.flatnonzero(others))
        engine.F[which] = self.F


def _sums(rows: RowIndex, steps: Vector) -> tuple[RowIndex, Vector]:
    """The rows that moved, each once, and how far in all its variables together."""
    once, place = np.unique(rows, return_inverse=True)
    return once, np.bincount(place, weights=steps).astype(np.float64)
