"""Dual coordinate descent for linear problems: the lecture's algorithm, with shrinking and any intercept.

    maximise over alpha    D(alpha) = -1/2 |w|^2 - 1/2 (s sum_i beta_i)^2 + sum_i (linear_i + o_i) alpha_i
                                      - sum_i absolute_i |alpha_i| - 1/2 sum_i diagonal_i alpha_i^2
    subject to             lower_i <= alpha_i <= upper_i,     w = sum_i beta_i x_i

(the letters are those of `DualBox`; o_i = y_i for residual losses, else 0). One pass takes every multiplier in turn to
its best value, in O(non-zeros of the row); `_loops.linear.dual_descent` has the step, also that of the logistic loss,
whose dual is an entropy on the interval. The lecture adds the unclipped step to w; what must be added is the change of
alpha after clipping.

A penalised intercept is one more feature of constant value s. A free one is found by the method of multipliers: the
problem with the intercept penalised around a centre b0, 1/2 ((b - b0) / s)^2, is solved roughly, the centre moves to
the intercept found, and so on; the pull towards the centre vanishes as both agree, and with it the surplus
sum_i beta_i. A certificate needs that surplus to be zero, so it is removed from a copy before the gap is evaluated.

From a start. Multipliers of a problem with another C are good up to a factor. Along t alpha, 0 <= t <= 1, which no box
forbids, the dual is a parabola; the descent begins at its top, with the intercept of the start as the centre:

    t = gain / price      gain  = sum_i (linear_i + o_i) alpha_i - absolute_i |alpha_i|
                          price = |w|^2 + (s sum_i beta_i)^2 + sum_i diagonal_i alpha_i^2

The descent stops by the duality gap, evaluated when the largest slope of a pass falls below a bound that tightens.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.linear.dual_descent import logistic_epoch, quadratic_epoch, shuffle_loop
from maxmargin._loops.loss_curve import LOGISTIC
from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.data.rows import ArrayRows
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.solver import Solver, is_plain

_TIGHTEN = 0.3  # factor on the bound of the slopes after an evaluation that was too early
_FIRST_EPOCHS = 5
_FIRST_SHARE = 1e-8  # of C: where the multipliers of a logistic problem begin, near the zero that they cannot have
_TRIAL = 0.05  # of the passes that the answer is worth, before they say anything about the others
_BRIEF = 1_000_000  # entries that a pass goes through in milliseconds


@dataclass(frozen=True)
class DualDescent(Solver):
    """Coordinate descent on the dual of a linear problem.

    random_state
        Seed of the order of the rows.
    shrinking
        Whether rows that are settled are left out of most passes.
    worth
        Passes that the answer is worth; the descent gives up as soon as it foresees to need more.
    """

    random_state: int | None = 0
    shrinking: bool = True
    worth: float | None = None
    n_jobs: int | None = None
    name: ClassVar[str] = "dcd"
    suits: ClassVar[str] = (
        "linear problems with hinge, squared hinge, logistic, epsilon-insensitive (also squared) or squared "
        "loss and an L2 penalty"
    )

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the loss is one of a single score."""
        return is_plain(problem) and problem.loss.curve is not None

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from alpha = 0, or from the best multiple of the multipliers of `start`, clipped to their bounds."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        descent = _Coordinates(problem, ArrayRows(problem.source, self.n_jobs), self)
        descent.begin(start)
        status, interrupted = run_until_interrupted(descent.run, brief=descent.passes.n_entries < _BRIEF)
        return descent.solution(Status.INTERRUPTED if interrupted else status)


class DescentInRounds(ABC):
    """Passes over the rows in rounds, each ended by an evaluation, until gap and violation are within the tolerance."""

    size: float = 1.0
    """Of a violation at the start."""
    is_warm: bool
    """Whether the starting point is worth an evaluation."""

    def __init__(self, problem: LinearProblem, passes: ArrayRows, settings: Solver, random_state: int | None):
        self.problem, self.passes, self.tol = problem, passes, settings.tol
        self.y, self.C, self.is_free = problem.targets, problem.costs, problem.intercept.is_free
        squares = passes.squared_lengths()
        self.scale = float(np.sqrt(np.mean(squares))) or 1.0 if self.is_free else problem.intercept.scale
        self.squares = squares + self.scale**2 if self.scale > 0.0 else squares
        self.order = np.arange(passes.n_rows)
        seed = np.random.default_rng(random_state).integers(1, 2**63)
        self.generator = np.array([seed], dtype=np.uint64)
        self.history, self.epochs = History(), 0.0
        self.limit = settings.max_iter or 1000
        self.end = np.inf if settings.max_seconds is None else time.perf_counter() + settings.max_seconds

    def run(self, stop: StopFlag) -> Status:
        """Pass and evaluate until the answer is there, nothing moves, or the budget is spent."""
        if self.is_warm and self._evaluate() <= self.tol:
            return Status.CONVERGED
        bound, patience = min(1.0, np.sqrt(self.tol)) * self.size, _FIRST_EPOCHS
        while True:
            reached = self._round(bound, min(patience, self.limit - self.epochs), stop)
            if self._evaluate() <= self.tol:
                return Status.CONVERGED
            if stop[0] or self.epochs >= self.limit or time.perf_counter() > self.end or self._is_hopeless():
                return Status.BUDGET
            if reached:
                bound *= _TIGHTEN
            patience = int(1.5 * patience)
            if bound < 1e-15 * self.size:
                return Status.STALLED

    @abstractmethod
    def _round(self, bound: float, patience: float, stop: StopFlag) -> bool:
        """Passes until the violations of all rows are within the bound; says whether they came to be."""

    @abstractmethod
    def _evaluate(self) -> float:
        """The larger of relative gap and violation; the point is kept if it is the best, and a free centre moves."""

    def _is_hopeless(self) -> bool:
        """Whether to give up before the budget is spent."""
        return False


class _Coordinates(DescentInRounds):
    """The state of one descent."""

    alpha: Vector
    logit: Vector
    """Of each multiplier's share of C, for the logistic loss."""

    def __init__(self, problem: LinearProblem, passes: ArrayRows, settings: DualDescent):
        super().__init__(problem, passes, settings, settings.random_state)
        self.settings, self.curve = settings, problem.curve
        self.is_logistic = self.curve.kind == LOGISTIC
        self.box, self.signs = problem.loss.domain(self.C), problem.coefficients(np.ones(passes.n_rows))
        self.size = 1.0 if self.curve.is_margin else float(np.std(self.y)) or 1.0
        self.bias = np.array([0.0, self.scale, 0.0])  # centre, scale of the constant feature, its weight
        self.seen: list[tuple[float, float]] = []  # passes, and the logarithm of the gap after them

    def begin(self, start: Solution | None) -> None:
        """Take the starting point."""
        n = self.passes.n_rows
        self.active, self.limits = n, (np.inf, -np.inf)
        self.best: tuple[float, Vector, Vector, float] | None = None
        self.is_warm = start is not None and bool(np.any(start.alpha))
        self.w = np.zeros(self.passes.n_features)
        alpha = np.clip(start.alpha if start is not None else np.zeros(n), self.box.lower, self.box.upper)
        if self.is_logistic:  # away from the ends, where the entropy is vertical
            share = np.clip(alpha / self.C, _FIRST_SHARE, 1.0 - _FIRST_SHARE)
            self.logit = np.log(share) - np.log1p(-share)
            alpha = share * self.C
        self.alpha = alpha
        if start is not None and self.is_free and isinstance(start.bias, float):
            self.bias[0] = start.bias
        if not np.any(alpha):
            return
        beta = self.signs * alpha
        self.w = self.passes.combination(beta)
        self.bias[2] = self.bias[1] * float(np.sum(beta))
        if not self.is_logistic:
            self._scale_to_top()

    def _scale_to_top(self) -> None:
        """Go to the t alpha, t in [0, 1], with the largest dual value."""
        box, alpha = self.box, self.alpha
        aims = box.linear if self.curve.is_margin else box.linear + self.y
        gain = float(aims @ alpha) - float(box.absolute @ np.abs(alpha))
        price = float(self.w @ self.w) + self.bias[2] ** 2 + float(box.diagonal @ np.square(alpha))
        if gain < price:
            t = max(gain, 0.0) / price
            self.alpha, self.w = t * alpha, t * self.w
            self.bias[2] *= t

    def _is_hopeless(self) -> bool:
        """Whether the decline over the last half of the passes, carried on, needs more than the answer is worth.

        The gap is taken in units of the smaller of P and D: while P is far too large it would else be 1 and stay there.
        The violations fall in leaps, in the end about as the square root of the gap.
        """
        worth, tol = self.settings.worth, self.settings.tol
        if worth is None:
            return False
        unit = min(abs(self.history.primal[-1]), abs(self.history.dual[-1]))
        missing = math.log(max(self.history.gap[-1] / max(unit, 1e-300), 1e-300) / tol)
        self.seen.append((self.epochs, missing))
        if self.epochs >= worth or self.epochs < _TRIAL * worth:
            return self.epochs >= worth
        early = [one for one in self.seen if one[0] <= 0.5 * self.epochs]
        then, missed = early[-1] if early else self.seen[0]
        if then == self.epochs:
            return False
        if missed <= missing:
            return True
        to_go = max(missing, 2.0 * math.log(max(self.violation, 1e-300) / tol))
        return self.epochs + to_go * (self.epochs - then) / (missed - missing) > 2.0 * worth

    def _round(self, bound: float, patience: float, stop: StopFlag) -> bool:
        """Passes until the slopes of all rows are within the bound; says whether they came to be.

        What was left out stays out from one round to the next, until the slopes of the others are small.
        """
        n = len(self.order)
        end = self.epochs + patience
        while self.epochs < end:
            shuffle_loop(self.order, self.active, self.generator)
            before = self.active
            high, low = self._epoch(stop)
            self.epochs += max(before, 1) / n
            if stop[0] or time.perf_counter() > self.end:
                return False
            if high - low <= bound:
                if before == n:
                    return True
                self.active = n  # all rows again, before it is believed; those that are satisfied may leave at once
            elif self.settings.shrinking:
                self.limits = (high if high > 0.0 else np.inf, low if low < 0.0 else -np.inf)
            else:
                self.active = n
        return False

    def _epoch(self, stop: StopFlag) -> tuple[float, float]:
        """One pass over the active rows; returns the largest and the smallest slope, and leaves out what is settled.

        A residual can be on either side of its target: what is steep for it is the larger limit, whatever its sign.
        """
        rows, y, C, squares, order, at = self.passes.rows, self.y, self.C, self.squares, self.order, self.alpha
        if self.is_logistic:  # no row is ever settled
            return logistic_epoch(rows, y, C, squares, order, at, self.logit, self.w, self.bias, stop), 0.0
        is_margin, numbers = self.curve.is_margin, tuple(self.curve)
        high, low = self.limits if is_margin else (self.limits[0], -self.limits[0])
        self.active, high, low = quadratic_epoch(
            rows, numbers, y, C, squares, order, self.active, high, low, at, self.w, self.bias, stop
        )
        return (high, low) if is_margin else (max(high, -low, 0.0), 0.0)

    def _evaluate(self) -> float:
        alpha, combination = self.alpha, self.w
        b = self.bias[0] + self.bias[1] * self.bias[2]
        if self.is_free:
            alpha = balanced(alpha, self.signs, self.box)
            combination = self.passes.combination(self.signs * alpha)
            self.bias[0] = b  # the multiplier of the balance grows by what is still missing from it
        beta = self.signs * alpha
        loss, conjugate, self.violation = self.passes.row_gaps(self.curve, self.w, b, self.C, beta)
        constant = 0.0 if self.is_free else 0.5 * self.bias[2] ** 2
        primal = 0.5 * float(self.w @ self.w) + constant + loss
        dual = -0.5 * float(combination @ combination) - constant - conjugate
        self.history.record(self.epochs, primal, dual)
        gap = (primal - dual) / max(abs(primal), 1e-300)
        worst = max(gap, self.violation)
        if self.best is None or gap < self.best[0] or worst <= self.tol:  # the gap alone may have been smaller before
            self.best = (gap, alpha.copy(), self.w.copy(), b)
        return worst

    def solution(self, status: Status) -> Solution:
        """The best point seen, or the current one when none was evaluated."""
        if self.best is None:
            self._evaluate()
        assert self.best is not None
        _, alpha, w, b = self.best
        # The point that converged did so with this intercept; for any other the best one is left to be found.
        bias, history = b if status is Status.CONVERGED or not self.is_free else None, self.history
        return Solution(alpha, w, bias, status, history, self.settings.name, self.epochs, history.elapsed)
