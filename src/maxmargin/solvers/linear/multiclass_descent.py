"""Dual descent for Crammer and Singer's machine: all classes of a row at once, with shrinking and any intercept.

    minimise over W, b   1/2 |W|^2 + 1/2 |b / s|^2 + sum_i C_i max(0, 1 + max_{k != y} f_ik - f_iy)
    maximise over beta   D(beta) = sum_i beta_iy - 1/2 |sum_i x_i beta_i'|^2 - 1/2 s^2 |sum_i beta_i|^2
    subject to           beta_ik <= C_i [k = y_i],   sum_k beta_ik = 0      (and sum_i beta_ik = 0 where b is free)

with f_i = W' x_i + b, y the class of row i, and W one column a class. One pass takes every row in random order to the
best of its K multipliers, the others fixed, in O(K non-zeros of the row); `_loops.linear.multiclass_descent` has the
step.

A penalised intercept is one more feature of constant value s. Free ones are found by the method of multipliers, as in
`solvers.linear.dcd`: the intercepts are penalised around a centre, 1/2 |(b - b0) / s|^2, the problem is solved roughly,
the centre moves to the intercepts found, and the pull vanishes with sum_i beta_i. Before the gap is evaluated that sum
is taken out of a copy (`solvers.linear.class_balance`).

The descent stops by the duality gap, evaluated when the largest violation of a pass falls below a bound that tightens.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.linear.dual_descent import shuffle_loop
from maxmargin._loops.linear.multiclass_descent import ClassIterate, class_epoch
from maxmargin._loops.rows import DenseRows
from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.data.rows import ArrayRows
from maxmargin.losses import CrammerSinger
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.class_balance import balanced, coefficients_of, shares_of
from maxmargin.solvers.linear.dcd import DescentInRounds

_SLACK = 0.3  # share of the worst violation by which a class must be behind to leave its row


@dataclass(frozen=True)
class MulticlassSolver(Solver):
    """A solver of Crammer and Singer's machine, whose names other solvers of other losses have as well."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether it is Crammer and Singer's machine."""
        return is_plain(problem) and isinstance(problem.loss, CrammerSinger)

    def refusal(self, problem: ProblemKind) -> str:
        """What it says to a problem that it does not take."""
        suits = "linear problems with the Crammer-Singer loss and an L2 penalty"
        return f"{type(self).__name__} is for {suits}, not: {problem.objective}."


@dataclass(frozen=True)
class MulticlassDescent(MulticlassSolver):
    """Descent on the dual of Crammer and Singer's machine, one row at a time.

    random_state
        Seed of the order of the rows.
    shrinking
        Whether classes and rows that are settled are left out of most passes.
    """

    random_state: int | None = 0
    shrinking: bool = True
    n_jobs: int | None = None
    name: ClassVar[str] = "dcd"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from beta = 0, or from the multipliers of `start` brought into their bounds."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        descent = _ClassDescent(problem, ArrayRows(problem.source, self.n_jobs), self)
        descent.begin(start)
        status, interrupted = run_until_interrupted(descent.run)
        return descent.solution(Status.INTERRUPTED if interrupted else status)


class _ClassDescent(DescentInRounds):
    """The state of one descent."""

    def __init__(self, problem: LinearProblem, passes: ArrayRows, settings: MulticlassDescent):
        assert isinstance(problem.loss, CrammerSinger)
        super().__init__(problem, passes, settings, settings.random_state)
        self.loss, self.settings = problem.loss, settings
        self.column = self.y.astype(np.int32)
        self.is_dense = isinstance(passes.rows, DenseRows)
        self.n_classes = problem.loss.count_classes(self.y)
        self.best: tuple[float, Matrix, Matrix, Vector] | None = None

    def begin(self, start: Solution | None) -> None:
        """Take the starting point."""
        n, K = self.problem.n_rows, self.n_classes
        self.is_warm = start is not None and start.alpha.shape == (n, K)
        q = shares_of(start.alpha if start is not None and self.is_warm else np.zeros((n, K)), self.y, self.C)
        W, constant, centre = np.zeros((self.problem.source.n_features, K)), np.zeros(K), np.zeros(K)
        if self.is_warm:
            beta = coefficients_of(q, self.y, self.C)
            W, constant = self.problem.weights_from(beta), self.scale * np.sum(beta, axis=0)
            bias = np.zeros(0) if start is None or start.bias is None else np.asarray(start.bias, dtype=np.float64)
            if self.is_free and bias.shape == (K,):
                centre = bias - self.scale * constant
        self.at = ClassIterate(
            q=q,
            W=np.ascontiguousarray(W.T) if self.is_dense else W,
            constant=constant,
            centre=centre,
            scale=self.scale,
            classes=np.empty((n, K), dtype=np.int32),
            counts=np.empty(n, dtype=np.int32),
            work=np.zeros((4, K)),
            moved=np.zeros(K, dtype=np.int32),
        )

    def _round(self, bound: float, patience: float, stop: StopFlag) -> bool:
        n = len(self.order)
        active, slack = self._wake()
        for _ in range(math.ceil(patience)):
            shuffle_loop(self.order, active, self.generator)
            was_all = slack == np.inf
            active, worst, n_scores = class_epoch(
                self.passes.rows, self.column, self.squares, self.order, active, slack, self.at, stop
            )
            self.epochs += n_scores / (n * self.n_classes)
            if stop[0] or time.perf_counter() > self.end:
                return False
            if worst <= bound:
                if was_all:
                    return True
                active, slack = self._wake()  # everything again, before it is believed
            elif self.settings.shrinking:
                slack = _SLACK * worst
        return False

    def _wake(self) -> tuple[int, float]:
        """All classes of all rows, and a slack that none of them exceeds."""
        self.at.classes[:] = np.arange(self.n_classes)
        self.at.counts[:] = self.n_classes
        return len(self.order), np.inf

    def _evaluate(self) -> float:
        q, W, constant, centre = self.at[:4]
        W = W.T.copy() if self.is_dense else W.copy()
        b = centre + self.scale * constant
        f = self.problem.scores(W) + b
        if self.is_free:
            beta = balanced(q, self.y, self.C)
            combination, extra = self.problem.weights_from(beta), 0.0
        else:
            beta = coefficients_of(q, self.y, self.C)
            combination, extra = W, 0.5 * float(constant @ constant)
        primal = 0.5 * float(np.vdot(W, W)) + extra + float(self.C @ self.loss.score_value(f, self.y))
        dual = float(np.sum(np.maximum(beta, 0.0))) - 0.5 * float(np.vdot(combination, combination)) - extra
        self.history.record(self.epochs, primal, dual)
        violation = float(np.max(self.loss.score_violation(f, -beta / self.C[:, None], self.y)))
        worst = max((primal - dual) / max(abs(primal), 1e-300), violation)
        if self.best is None or worst < self.best[0]:
            self.best = worst, beta, W, b
        if self.is_free:  # the multiplier of the balance grows by what is still missing from it
            centre += self.scale * constant
        return worst

    def solution(self, status: Status) -> Solution:
        """The best point seen, or the current one when none was evaluated."""
        if self.best is None:
            self._evaluate()
        assert self.best is not None
        solver, history = self.settings.name, self.history
        return Solution(*self.best[1:], status, history, solver, self.epochs, history.elapsed)
