"""Pair steps on the whole kernel matrix, for a few hundred or thousand rows.

Everything is in double precision where the matrix is, so no slope needs a second look. A matrix that somebody stored
before (`KernelProblem.stored`) is taken as it is, in single precision.

Steps are so cheap here that a fit which is within its tolerance goes on for a fraction of a millisecond. For a few
hundred rows that is often enough to come next to rounding, where all ways to the answer agree: weights and repeated
rows, one order of the rows and another. Pair steps find out which variables are between their bounds; a Newton step,
which makes the slopes of these equal, goes the rest of the way.

Where a million steps are not enough, the reference solver (`solvers.reference.qp`) finds the coefficients, and steps
end the fit; for the linear kernel with few features that are the solvers of linear machines (`solvers.kernel.flat`),
and much earlier.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import Box, pair_steps
from maxmargin._loops.kernel.working_sets import add_rows, pick
from maxmargin._types import RowIndex
from maxmargin.backends.scratch import scratch
from maxmargin.backends.threads import StopFlag
from maxmargin.problems import KernelProblem, Solution, Status
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.kernel.ascent import Ascent
from maxmargin.solvers.kernel.flat import is_flat, solve_flat
from maxmargin.solvers.kernel.parts import Look, Part
from maxmargin.solvers.reference.qp import QP

_SHRINK_FROM = 600  # variables from which it pays to leave some out
_MOST = 0.7  # of the variables may be left in for that
_COARSE = 0.2  # of the violation is left before variables are left out
_MARGIN = 0.5  # violations that a slope must be away from those that compete
_PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache
_EXTRA = 400_000  # slopes that are brought up to date after the tolerance is met
_MOST_FREE = 128  # variables between bounds whose equations are solved in a fraction of a millisecond
_AWAY = 1e-6  # of the largest coefficient allowed
_FINEST = 1e-12  # of the largest slope: a violation that is rounding
_MANY_STEPS, _MANY_FLAT_STEPS, _MOST_FOR_REFERENCE = 1_000_000, 30_000, 1024
_STEPS = 50_000  # at a time: tens of milliseconds, so that Ctrl-C and budgets are heeded


class WholeAscent(Ascent):
    """Pair steps among all variables."""

    def __init__(self, problem: KernelProblem, settings: Solver, start: Solution | None):
        super().__init__(problem, settings, start)
        v = self.variables
        matrix: NDArray[Any] = problem.gram() if problem.stored is None else problem.stored
        if len(v.rows) != len(matrix) or v.constant != 0.0:
            matrix = matrix[np.ix_(v.rows, v.rows)] + matrix.dtype.type(v.constant)
            if v.rows[-1] < 0:
                matrix[-1], matrix[:, -1] = 0.0, 0.0
        self.matrix = np.ascontiguousarray(matrix)
        self.curvature = self.matrix.diagonal() + v.ridge
        self._form_slopes()
        # The reference knows neither nu nor negative eigenvalues, and takes a second for a thousand rows.
        few = problem.n_rows <= _MOST_FOR_REFERENCE
        is_for_reference = few and problem.nu is None and settings.max_iter is None
        patience = _MANY_FLAT_STEPS if is_flat(problem) else _MANY_STEPS
        self._patience = patience if is_for_reference and problem.is_convex else math.inf

    def _form_slopes(self) -> None:
        """Slopes without what rounding did to them on the way."""
        v, whole = self.variables, self.all
        self.is_exact = self.problem.stored is None
        whole.F = v.ridge * whole.beta - v.target
        moved = np.flatnonzero(whole.beta)
        if len(moved):
            never = np.zeros(1, dtype=np.uint8)
            add_rows(self.matrix, moved, whole.beta[moved], 0, len(whole.F), never, whole.F)  # the matrix is symmetric

    def _leave_to_reference(self) -> None:
        """Coefficients from the reference solver, where so many pair steps did not lead to the end.

        Pair steps crawl where C times the kernel is huge and its rank is small. An interior-point method does not mind.
        """
        self._patience = math.inf
        left = None if math.isinf(self.end) else max(self.end - time.perf_counter(), 1e-3)
        if is_flat(self.problem):
            found = solve_flat(self.problem, replace(self.settings, max_seconds=left))
        else:
            found = QP(tol=self.settings.tol, max_seconds=left).solve(self.problem)
        if found.status is Status.BUDGET and left is not None:  # cut off or not begun: steps take the time that is left
            self.try_again()
            return
        self.all.beta = self._feasible(found)
        self._form_slopes()
        self.try_again()

    def run(self, stop: StopFlag) -> None:
        """Steps until the gap and the violation are within the tolerance."""
        whole, sharper = self.all, 1.0
        while True:
            look = whole.look()
            relative, dual = self.gap(look)
            if self.is_optimal(look, relative):
                if not self.is_trusted(look):
                    self.refine()
                    continue
                self.status = Status.CONVERGED
                if self.problem.stored is None:
                    self._go_on(look, stop)
                return
            if self.is_over(stop):
                return
            stalled = self.is_stalled(dual, relative)
            if (stalled or self.steps > self._patience) and math.isfinite(self._patience):
                self._leave_to_reference()
                continue
            if stalled or self.is_point():
                self.status = Status.STALLED
                return
            before = self.steps
            # The gap may ask for more than the violation does; then steps go on to a smaller one.
            if look.violation <= self.tolerance(look):
                sharper = 0.3 * min(sharper, look.violation / self.tolerance(look))
            goal = sharper * self.tolerance(look)
            limit = self.steps_left(_STEPS)
            self.steps += self._advance(look, goal, limit, stop)
            if self.steps == before:
                self.status = Status.STALLED
                return
            if self.problem.stored is not None:
                self.is_exact = False
            elif sharper < 1.0 or self.steps - before == limit:
                self._form_slopes()

    def _go_on(self, look: Look, stop: StopFlag) -> None:
        """Some more steps, if they lead to an answer that is no worse: on the way the violation may rise again."""
        whole, limit = self.all, self.steps_left(_EXTRA // len(self.matrix))
        finest = _FINEST * float(np.max(np.abs(whole.F)))
        if limit <= 0 or look.violation <= finest:
            return
        for by_pairs in (True, False):
            before = whole.beta.copy(), whole.F.copy()
            self.steps += self._advance(look, finest, limit, stop) if by_pairs else self._newton_step()
            further = whole.look()
            if further.violation >= look.violation or not self.is_optimal(further, self.gap(further)[0]):
                whole.beta, whole.F = before
            elif further.violation <= finest:
                return
            else:
                look = further

    def _known_bias(self) -> float | None:
        whole, look = self.all, self.all.look()
        if not self.problem.intercept.is_free or not self.is_exact:
            return None
        # A variable that is away from its bounds and kinks by rounding alone says nothing about the intercept.
        reach = _AWAY * np.maximum(np.abs(whole.lower), np.abs(whole.upper))
        away = np.minimum(whole.upper - whole.beta, np.minimum(whole.beta - whole.lower, np.abs(whole.beta)))
        is_told = np.any(away > np.where(np.isfinite(reach), reach, 0.0))
        is_finest = look.violation <= _FINEST * float(np.max(np.abs(whole.F)))
        return -float(look.middle[0]) if is_told and is_finest else None

    def _newton_step(self) -> int:
        """Where the variables between their bounds all have the slope of their group, or as far as bounds allow."""
        whole = self.all
        free = np.flatnonzero(whole.between())
        m, n_groups = len(free), whole.n_groups
        if not 0 < m <= _MOST_FREE or self.steps_left(1) < 1:
            return 0
        system = np.zeros((m + n_groups, m + n_groups))
        system[:m, :m] = self.matrix[np.ix_(free, free)] + np.diag(whole.ridge[free])
        system[np.arange(m), m + whole.group[free]] = 1.0
        system[m:, :m] = system[:m, m:].T
        missing = -whole.F[free] - whole.tube[free] * np.sign(whole.beta[free])
        steps = np.linalg.lstsq(system, np.append(missing, np.zeros(n_groups)), rcond=1e-14)[0][:m]
        beta, tube = whole.beta[free], whole.tube[free]
        most = np.where((tube > 0.0) & (beta < 0.0), 0.0, whole.upper[free])
        least = np.where((tube > 0.0) & (beta > 0.0), 0.0, whole.lower[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(steps > 0.0, (most - beta) / steps, np.where(steps < 0.0, (least - beta) / steps, np.inf))
        length = min(1.0, float(np.min(room)))
        whole.beta[free] = np.clip(beta + length * steps, least, most)
        self._form_slopes()
        return 1

    def _advance(self, look: Look, goal: float, limit: int, stop: StopFlag) -> int:
        """Pair steps down to a violation of `goal`: among all variables, or among those that are not settled.

        Among many variables the first steps go only some of the way; then most are settled at their bounds.
        """
        whole, n = self.all, len(self.matrix)
        alive = self._unsettled(look) if n > _SHRINK_FROM else np.arange(n)
        if len(alive) > _MOST * n:
            box = Box(whole.lower, whole.upper, whole.tube, whole.ridge, self.curvature, whole.group)
            some_of_the_way = max(goal, _COARSE * look.violation) if n > _SHRINK_FROM else goal
            return pair_steps(self.matrix, np.arange(n), whole.beta, whole.F, box, some_of_the_way, limit, stop)[0]
        part = Part(self.variables, alive, whole)
        few = len(alive)
        Q, slots = self._room(few, few + _PAD), np.arange(few)
        never = np.zeros(1, dtype=np.uint8)
        pick(self.matrix, alive, alive.astype(np.uint32), slots, Q)
        box = Box(part.lower, part.upper, part.tube, part.ridge, self.curvature[alive], part.group)
        before = part.beta.copy()
        taken, _, _ = pair_steps(Q, slots, part.beta, part.F, box, goal, limit, stop)
        steps = part.beta - before
        moved = np.flatnonzero(steps)
        add_rows(self.matrix, alive[moved], steps[moved], 0, n, never, whole.F)
        whole.F[alive[moved]] += part.ridge[moved] * steps[moved]
        whole.beta[alive] = part.beta
        return taken

    def _room(self, rows: int, columns: int) -> NDArray[Any]:
        """A matrix of any values, for the time until the next is asked for."""
        if self.matrix.dtype == np.float32:
            return scratch("unsettled", rows * columns).reshape(rows, columns)
        return np.empty((rows, columns), dtype=self.matrix.dtype)

    def _unsettled(self, look: Look) -> RowIndex:
        """Variables between bounds, and those at a bound whose slope is among those that still compete."""
        whole = self.all
        margin = _MARGIN * look.violation
        low, high = (end[whole.group] if whole.n_groups > 1 else end[0] for end in (look.low, look.high))
        settled = (whole.rising > high + margin) & (whole.falling < low - margin)
        if not self.variables.is_free:
            settled[-1] = False  # the row of zeros is always there
        return np.flatnonzero(~settled)
