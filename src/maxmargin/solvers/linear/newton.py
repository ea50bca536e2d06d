"""Newton's method on the primal, for losses with a slope everywhere.

`newton_descent` has the objective, its gradient and the steps, `newton_directions` the ways to a direction. What is
decided here is how long a matrix serves, and where to begin: with far more rows than features, at the answer for a
sample of the rows; where rows stop one step after the other at once, at the answers for smaller costs.

Squared hinge: Keerthi and DeCoste, JMLR 2005; conjugate gradients: Lin, Weng and Keerthi, JMLR 2008.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.data.passes import Passes
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.sampling import sample_of
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.newton_descent import Descent

_SAMPLE_TOL = 1e-2
_REUSE = 0.1  # a step that shrinks the gap by this factor says that its matrix serves once more
_SLOW = 0.3  # a whole step that shrinks it by no more says that its matrix was too rough
_MAX_STEPS = 200
_SHORT, _PATIENCE = 0.01, 10  # so many steps that are so short lead nowhere
SMALLER = 0.1 ** np.arange(6.0, 0.0, -1.0)  # costs to come from, as parts of those given


@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method with matrices over features, over rows, or none, by the shape of the data."""

    n_jobs: int | None = None
    name: ClassVar[str] = "newton"
    suits: ClassVar[str] = (
        "linear problems with a smooth loss (squared hinge, logistic, squared or "
        "squared epsilon-insensitive) and an L2 penalty"
    )

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the loss has a slope everywhere."""
        curve = problem.loss.curve
        return is_plain(problem) and curve is not None and not curve.has_kinks

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the weights of `start`, or from those of a sample of the rows where there are very many."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        end = np.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        descent = Descent(problem, Passes(problem.source, self.n_jobs), problem.curve)
        descent.begin(start.weights if start is not None else self._weights_of_sample(problem))
        return descent.solution(self._run(descent, end), self.name)

    def _weights_of_sample(self, problem: LinearProblem) -> Vector | None:
        sample = sample_of(problem)
        if sample is None:
            return None
        with listening(None):  # the gap of the sample is not the one that is waited for
            return Newton(tol=_SAMPLE_TOL, max_seconds=self.max_seconds, n_jobs=self.n_jobs).solve(sample).weights

    def _run(self, descent: Descent, end: float) -> Status:
        """Step until the gap is within the tolerance, nothing moves, or the budget is spent."""
        descent.look()
        status = self._steps(descent, self.tol, end, may_jam=self.max_iter is None)
        if status is not None:
            return status
        jammed = descent.point()
        status = self._come_from_smaller_costs(descent, end)
        if descent.primal > jammed["primal"]:
            descent.go_back(jammed)
        return status

    def _steps(self, descent: Descent, tol: float, end: float, *, may_jam: bool) -> Status | None:
        """Newton steps; None where one row after the other stops them at once, if that may end them."""
        fresh, n_short = True, 0
        for _ in range(self.max_iter or _MAX_STEPS):
            if descent.smooth_gap <= tol:
                return Status.CONVERGED
            if time.perf_counter() > end:
                return Status.BUDGET
            before_primal, before_gap = descent.primal, descent.smooth_gap
            try:
                t = descent.step(min(0.01, max(before_gap, 1e-8)))
            except KeyboardInterrupt:
                return Status.INTERRUPTED
            was_fresh, fresh = fresh, descent.smooth_gap > _REUSE * before_gap
            if fresh:
                was_slow = t > 0.5 and descent.smooth_gap > _SLOW * before_gap
                descent.directions.forget(disappointed=was_fresh and was_slow)
                if was_fresh and descent.primal >= before_primal and descent.smooth_gap >= before_gap:
                    return Status.STALLED
            n_short = n_short + 1 if t < _SHORT else 0
            if may_jam and n_short == _PATIENCE:
                return None
        return Status.CONVERGED if descent.smooth_gap <= tol else Status.BUDGET

    def _come_from_smaller_costs(self, descent: Descent, end: float) -> Status:
        """Go to the answers for costs that grow up to those given.

        Where C is very large, rows that meet their margin with nothing to spare are walls. Answers for smaller costs
        have violated rows, and with them the curvature that shows the way between these walls.
        """
        costs, history, tol = descent.C, descent.history, max(self.tol, _SAMPLE_TOL)
        try:
            with listening(None):
                for factor in SMALLER:
                    descent.C, descent.history = factor * costs, History()
                    descent.directions.forget()
                    descent.look()
                    status = self._steps(descent, tol, end, may_jam=False)
                    if status is Status.INTERRUPTED or time.perf_counter() > end:
                        descent.primal = np.inf  # of other costs
                        return Status.INTERRUPTED if status is Status.INTERRUPTED else Status.BUDGET
            descent.C, descent.history = costs, history
            descent.directions.forget()
            descent.look()
            return self._steps(descent, self.tol, end, may_jam=False) or Status.STALLED
        except KeyboardInterrupt:
            descent.primal = np.inf
            return Status.INTERRUPTED
        finally:
            descent.C, descent.history = costs, history
