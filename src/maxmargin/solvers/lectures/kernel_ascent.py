"""What the solvers share that raise the dual of a kernel machine in passes over its multipliers.

Passes change the multipliers alpha and the scores f = K beta together. After some of them, ever more, a look forms the
scores afresh, so that the rounding of many updates does not add up, and tells by the gap and the conditions of
optimality whether to stop.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.losses import DualBox, ResidualLoss
from maxmargin.problems import History, KernelProblem, Solution, Status
from maxmargin.solvers.common.feasible import balanced, feasible
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.lectures.kernel_look import Look, look_at
from maxmargin.solvers.lectures.matrix_tiles import MatrixTiles

PASSES = 10_000
"""What max_iter=None means: far more than a problem needs that these solvers are for."""
_PATIENCE = 3  # looks in a row that find nothing better, before it is believed


class Ascent(ABC):
    """A solver at work on one problem."""

    def __init__(self, solver: Solver, problem: KernelProblem, box: DualBox, start: Solution | None, matrix_bytes: int):
        self.history = History()
        self.solver, self.problem, self.box = solver, problem, box
        self.rows = MatrixTiles(problem, matrix_bytes)
        self.n = problem.n_rows
        self.signs = problem.coefficients(np.ones(self.n))
        self.alpha = np.zeros(self.n) if start is None else feasible(problem, start.alpha, box)
        self.scores = np.zeros(self.n)
        self.passes, self.moved = 0.0, 0  # moved: steps that changed something since the last look
        self.max_passes = PASSES if solver.max_iter is None else solver.max_iter
        self.max_seconds = math.inf if solver.max_seconds is None else solver.max_seconds

    @abstractmethod
    def visit(self, rows: slice, stop: StopFlag) -> None:
        """The steps of a part of a pass; counts in `moved`."""

    @abstractmethod
    def end_pass(self) -> bool:
        """A whole pass is over; whether the next look should come at once."""

    @abstractmethod
    def settle(self, at: Look) -> None:
        """A look has been taken from which the passes go on."""

    @abstractmethod
    def is_stuck(self) -> bool:
        """Whether the last passes show that no others will do better."""

    def climb(self) -> Solution:
        """Passes and looks until the tolerance is reached or something else ends them."""
        at, patience, status = self._look(in_time=True), _PATIENCE, None
        try:
            while status is None:
                self.history.record(self.passes, at.primal, at.bound)
                status = self._verdict(at, patience)
                if status is not None:
                    break
                self.settle(at)
                self.moved = 0
                _, interrupted = run_until_interrupted(self._run)
                before, at = at, self._look(in_time=self.history.elapsed <= self.max_seconds)
                is_better = at.dual > before.dual or at.violation < before.violation or self.moved == 0
                patience = _PATIENCE if is_better else patience - 1
                if interrupted:
                    self.history.record(self.passes, at.primal, at.bound)
                    status = Status.INTERRUPTED
        except KeyboardInterrupt:  # during a look: the point before it stays
            status = Status.INTERRUPTED
        name, elapsed = self.solver.name, self.history.elapsed
        return Solution(at.alpha, None, None, status, self.history, name, self.passes, elapsed)

    def _verdict(self, at: Look, patience: int) -> Status | None:
        """How it ends here, or None where it goes on."""
        if at.is_within(self.solver.tol):
            return Status.CONVERGED
        if self._is_over():
            return Status.BUDGET
        return Status.STALLED if patience == 0 or self.is_stuck() else None

    def _is_over(self) -> bool:
        return self.passes >= self.max_passes or self.history.elapsed > self.max_seconds

    def _run(self, stop: StopFlag) -> None:
        """Passes up to the next look: one at first, later a quarter of those done."""
        due = min(self.passes + max(1.0, self.passes // 4), self.max_passes)
        done = round(self.passes)
        while done < due:
            for piece in self.rows.pieces(self.n):
                if stop[0] != 0 or self._is_over():
                    return
                self.visit(piece, stop)
                self.passes += (piece.stop - piece.start) / self.n
            done += 1
            self.passes = float(done)
            if self.end_pass():
                return

    def _look(self, *, in_time: bool) -> Look:
        """Form the scores afresh; a free intercept's balance loses the rounding of many steps, too.

        When time is up the scores that the steps kept are good enough to look at, unless they say that it is done.
        """
        if self.problem.intercept.is_free:
            self.alpha = balanced(self.alpha, self.signs, self.box)
        if not in_time:
            at = look_at(self.problem, self.alpha.copy(), self.scores)
            if not at.is_within(self.solver.tol):
                return at
        self.scores = self.rows.scores(self.signs * self.alpha)
        return look_at(self.problem, self.alpha.copy(), self.scores)


def partners_of(rows: RowIndex, n: int, rng: np.random.Generator) -> RowIndex:
    """For each of the rows another one out of n, any with the same chance."""
    drawn = rng.integers(0, n - 1, size=len(rows))
    return drawn + (drawn >= rows)


def own_terms(problem: KernelProblem) -> Vector:
    """o_i of the dual: the target of a residual loss, which -l_y*(-beta / C) has as y beta, and 0 for a margin."""
    return problem.targets if isinstance(problem.loss, ResidualLoss) else np.zeros(problem.n_rows)
