"""Engines in this process: what they have in common, slopes in arrays, and the one for many rows.

`ManyRows` has three levels, each hundreds of times cheaper a step than the one around it. What the slopes of all
variables need of the kernel is used once and never stored; active variables keep the kernel rows of those that move
several times, as far as the memory goes; the square of a working set stays in the processor's cache, and half of it
serves the next one. A variable that is settled at its bound never becomes active, so it costs nothing but its slope.
Kernel values are single.
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
from maxmargin.solvers.kernel.engine import ActiveSet, KernelEngine, KernelWorkingSet, Part, WorkingSets
from maxmargin.solvers.kernel.values import ActiveRows, KernelValues

_SAMPLE = 64  # slopes that are compared with double precision
PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache


class HostPart(Part):
    """Some of the variables."""

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

    def between(self) -> RowIndex:
        """Variables that are at no bound and not at zero."""
        is_between = self._are_between()
        is_between[-1] |= self.has_zeros
        return np.flatnonzero(is_between)

    def _are_between(self) -> NDArray[np.bool_]:
        beta, box = self.beta, self.box
        return np.asarray((beta > box.lower) & (beta < box.upper) & (beta != 0.0))

    def unsettled(self, at: Extremes, margin: float) -> RowIndex:
        """Variables whose slopes still compete."""
        low, high = self._of_groups(at.low), self._of_groups(at.high)
        return np.flatnonzero((self.rising <= high + margin) | (self.falling >= low - margin))

    def most_violating(self, at: Extremes, count: int, carried: RowIndex) -> RowIndex:
        """The carried variables, then the worst of the others."""
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

    def keenest(self, at: Extremes, among: RowIndex, count: int) -> RowIndex:
        """Which of some variables to keep."""
        gain, is_between = self.gain(at)[among], self._are_between()[among]
        if self.has_zeros:
            is_zeros = among == self.size - 1
            gain[is_zeros], is_between[is_zeros] = np.inf, True
        return np.sort(np.lexsort((-gain, ~is_between))[:count])

    def gain(self, at: Extremes) -> Vector:
        """How much moving each variable would gain, a slope."""
        middle = self._of_groups(at.middle)
        return np.asarray(np.maximum(middle - self.rising, self.falling - middle))

    def _of_groups(self, values: Vector) -> Any:
        """A value of each group, for each variable."""
        return values[self.box.group] if self.n_groups > 1 else values[0]

    def update_gradient(self, moved: RowIndex, steps: Vector) -> None:
        """Slopes after the coefficients of some variables moved, which `beta` does not have yet."""
        raise NotImplementedError


class SquareSet(HostPart, KernelWorkingSet):
    """Variables whose square of the kernel matrix is at hand; where they are all of a part, they are its arrays."""

    def __init__(self, around: HostPart, which: RowIndex | None, square: NDArray[Any]):
        self._around, self._which, self._square = around, which, square
        box, beta, F, rows = around.box, around.beta, around.F, around.rows
        if which is not None:
            box, beta, F, rows = box.only(which), beta[which], F[which], rows[which]
            self._before = beta.copy()
        super().__init__(box, beta, F, rows, around.n_groups)

    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps on the square."""
        slots = np.arange(self.size)
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


class HostEngine(HostPart, KernelEngine):
    """All variables; engines say what they have of the kernel, and begin with the slopes of no coefficients."""

    def __init__(self, problem: KernelProblem, variables: Variables, curvature: Vector):
        v = variables
        self.problem, self.variables = problem, variables
        self.is_exact = True
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
        sample = np.arange(0, n, max(1, n // _SAMPLE))  # variable i belongs to row i, as long as i is below n
        exact = self.problem.scores_at(sample, combined) + v.constant * float(np.sum(combined))
        error = self.scores()[sample] - exact
        if self.problem.intercept.is_free:
            error -= np.median(error)
        return float(np.max(np.abs(error)))

    def begin_near(self, other: KernelEngine, scale: float) -> None:
        """Begin at scaled coefficients; slopes are scaled along, without the kernel."""
        assert isinstance(other, HostEngine)
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
        """Scores of the rows."""
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

    def __init__(self, problem: KernelProblem, variables: Variables, beta: Vector, pace: WorkingSets, budget: int):
        v = variables
        self.pace = pace
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

    def active(self, which: RowIndex | None) -> _Active:
        """Active variables."""
        return _Active(self, np.arange(self.size) if which is None else which)

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


class _Active(HostPart, ActiveSet):
    """Some variables, and kernel rows among them."""

    def __init__(self, engine: ManyRows, which: RowIndex):
        rows = engine.rows[which]
        super().__init__(engine.box.only(which), engine.beta[which], engine.F[which], rows, engine.n_groups)
        self._engine, self._which, self._before = engine, which, self.beta.copy()
        own, self._place = np.unique(rows[rows >= 0], return_inverse=True)  # the row of zeros is the last, if any
        self._kernel = ActiveRows(engine.values, own, engine.buffer)
        self._constant = engine.variables.constant
        self._last: RowIndex = np.empty(0, dtype=np.int64)
        self._square: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def working_set(self, which: RowIndex | None) -> SquareSet:
        """A working set; of its square, what the last one had at the same places is there."""
        chosen = np.arange(self.size) if which is None else which
        if len(chosen) != len(self._last):
            self._square = np.empty((len(chosen), len(chosen) + PAD), dtype=np.float32)
            fresh = np.arange(len(chosen))
        else:
            fresh = np.flatnonzero(chosen != self._last)
        if len(fresh):
            self._fill(chosen, fresh)
        self._last = chosen
        return SquareSet(self, which, self._square)

    def _fill(self, chosen: RowIndex, fresh: RowIndex) -> None:
        """Rows and columns `fresh` of the square."""
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
        if len(self._kernel.rows) == self.size:
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
