"""The method of multipliers, for losses with kinks: a few smooth problems in a row, each solved by Newton's method.

`newton_method` has the mathematics. What is decided here is where to begin: at the multipliers of a start, or with far
more rows than features at the answer for a sample of the rows, or with centres in the middle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.loss_curve import Curve
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.sampling import sample_of
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.newton import SAMPLE_TOL, NewtonRun, RowsInMemory
from maxmargin.solvers.linear.newton_method import GROWTH, At

_HAIR = 1e-9  # slopes so near to an end are at it


@dataclass(frozen=True)
class Multipliers(Solver):
    """Method of multipliers with Newton steps, for losses with kinks."""

    n_jobs: int | None = None
    name: ClassVar[str] = "multipliers"
    suits: ClassVar[str] = "linear problems with hinge or epsilon-insensitive loss and an L2 penalty"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the slope of the loss jumps."""
        curve = problem.loss.curve
        return is_plain(problem) and curve is not None and curve.has_kinks

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the multipliers and weights of `start`, or from those of a sample where there are many rows."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        end = np.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        sample = sample_of(problem)
        if start is not None and start.weights is not None:
            descent = self._taken_up(problem, start)
        elif sample is None:
            descent = NewtonRun(problem, _untouched(problem), self.n_jobs, None)
        else:
            inner = NewtonRun(sample, _untouched(sample), self.n_jobs, None)
            with listening(None):  # likewise
                inner.run(SAMPLE_TOL, None, end)
            curve = _untouched(problem)._replace(sigma=inner.method.sigma / GROWTH)
            descent = NewtonRun(problem, curve, self.n_jobs, inner.method.w, inner.method.b)
        return descent.solution(descent.run(self.tol, self.max_iter, end), self.name)

    def _taken_up(self, problem: LinearProblem, start: Solution) -> NewtonRun:
        """Centres at the given multipliers, and a sigma that lets a free one cross its interval in a few moves."""
        u = -problem.coefficients(start.alpha) / problem.costs
        b = float(np.asarray(start.bias)) if start.bias is not None else 0.0
        curve = _untouched(problem)._replace(centre=u)
        rows = RowsInMemory(problem, curve, self.n_jobs)
        seen = rows.answer(At(np.asarray(start.weights), b))
        slope = curve.turned(u, problem.targets)
        is_free = (np.abs(u) > _HAIR) & (slope > curve.low + _HAIR) & (slope < curve.high - _HAIR)
        off = problem.loss.score_value(rows.f + rows.b, problem.targets)[is_free]
        if len(off):
            typical = max(float(np.sqrt(np.mean(np.square(off)))), 1e-6 * _height(problem))
            curve = curve._replace(sigma=max(curve.sigma, 0.2 / typical))
        return NewtonRun(problem, curve, self.n_jobs, seen.w, seen.b)


def _height(problem: LinearProblem) -> float:
    """Size of a score: 1 for margins, the spread of the targets for a tube."""
    return 1.0 if problem.curve.is_margin else float(np.std(problem.targets)) or 1.0


def _untouched(problem: LinearProblem) -> Curve:
    """The first smooth problem: centres in the middle, and kinks rounded off over the size of a score."""
    curve = problem.curve
    middle = np.full(problem.n_rows, 0.5 * (curve.low + curve.high))
    return curve._replace(sigma=1.0 / _height(problem), centre=curve.turned(middle, problem.targets))
