"""The engine for many rows: all have slopes, some thousand active ones kernel rows, a working set its square.

Three levels, each hundreds of times cheaper a step than the one around it:

    all variables    what their slopes need of the kernel is used once, and never stored
    active set       those between their bounds, and as many at least that violate optimality most. The kernel rows of
                     those that move several times are kept, as far as the memory goes.
    working set      a thousand or two of these, half of them from the last one: the square stays in the cache

A variable that is settled at its bound never becomes active, so it costs nothing but its slope. Kernel values are
single.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.problems import KernelProblem
from maxmargin.solvers.kernel.dual_variables import Variables
from maxmargin.solvers.kernel.engine import ActiveSet, EnginePace, Extremes
from maxmargin.solvers.kernel.host import HostEngine, HostSet, SquareSet
from maxmargin.solvers.kernel.values import ActiveRows, KernelValues

_SHARE = 0.3  # of all variables is active at least
_ALL = 1.5  # times as many as are wanted: then all are taken
_PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache


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
            self._square = np.empty((len(chosen), len(chosen) + _PAD), dtype=np.float32)
        self._chosen = chosen
        Q, n = self._square, len(self._place)
        self._kernel.fill_square(self._place[np.where(chosen == n, 0, chosen)], fresh, Q)
        if self._constant:
            constant = np.float32(self._constant)
            Q[fresh, : len(chosen)] += constant  # beyond are idle columns, whose numbers mean nothing
            Q[np.ix_(np.setdiff1d(np.arange(len(chosen)), fresh), fresh)] += constant
        zeros = np.flatnonzero(chosen == n)  # no place of a row, so there where the row of zeros is
        Q[zeros], Q[:, zeros] = 0.0, 0.0

    def update_slopes(self, moved: RowIndex, steps: Vector) -> None:
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
