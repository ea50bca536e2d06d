"""Newton's method on the primal, for losses with a slope everywhere.

`newton_method` has the mathematics, `newton_rows` what it asks of rows in memory, `newton_directions` the ways to a
direction. What is decided here is where to begin: with far more rows than features, at the answer for a sample of the
rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Vector
from maxmargin.backends.threads import undisturbed
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.sampling import sample_of
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.newton_method import NewtonMethod
from maxmargin.solvers.linear.newton_rows import RowsInMemory

SAMPLE_TOL = 1e-2


class NewtonRun:
    """A method and the rows in memory that answer it, until the time is up."""

    def __init__(self, problem: LinearProblem, curve: Curve, n_jobs: int | None, w: Vector | None, b: float = 0.0):
        self.history = History()
        self.rows = RowsInMemory(problem, curve, n_jobs)
        self.method = NewtonMethod(
            np.zeros(problem.source.n_features) if w is None else np.asarray(w, dtype=np.float64),
            b,
            scale=problem.intercept.scale,
            has_kinks=curve.has_kinks,
            pace=self.rows.pace,
            sigma=curve.sigma,
            listener=self._record,
        )

    def _record(self) -> None:
        if self.method.cost == 1.0:
            self.history.record(self.rows.n_passes, self.method.primal, self.method.dual)

    def run(self, tol: float, max_iter: int | None, end: float) -> Status:
        """Ask and answer; where a budget or Ctrl-C comes between, the rows are those of the method's point again."""
        asking, status = self.method.run(tol, max_iter), Status.BUDGET
        try:
            question = next(asking)
            while not (self.method.is_begun and time.perf_counter() > end):
                question = asking.send(self.rows.answer(question))
        except StopIteration as ended:
            found: Status = ended.value
            return found
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if self.method.cost < 1.0:
            self.method.leave()
            with undisturbed():
                self.rows.go_back(self.method.w, self.method.b)
        return status

    def solution(self, status: Status, name: str) -> Solution:
        """The point reached, with the multipliers of its slopes."""
        weights, alpha = self.method.w, self.rows.multipliers(-self.rows.slope)
        if status is Status.STALLED:
            weights, alpha = self.rows.refined(weights, alpha)
        return Solution(
            alpha=alpha,
            weights=weights,
            bias=None if np.isinf(self.rows.scale) else self.rows.b,
            status=status,
            history=self.history,
            solver=name,
            passes=self.rows.n_passes,
            seconds=self.history.elapsed,
        )


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
        weights = self._weights_of_sample(problem) if start is None else start.weights
        descent = NewtonRun(problem, problem.curve, self.n_jobs, weights)
        return descent.solution(descent.run(self.tol, self.max_iter, end), self.name)

    def _weights_of_sample(self, problem: LinearProblem) -> Vector | None:
        sample = sample_of(problem)
        if sample is None:
            return None
        with listening(None):  # the gap of the sample is not the one that is waited for
            return Newton(tol=SAMPLE_TOL, max_seconds=self.max_seconds, n_jobs=self.n_jobs).solve(sample).weights
