"""Newton's method for softmax regression.

    minimise over W, b    1/2 |W|^2 + 1/2 |b / s|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)      f_i = W' x_i + b

W has one column a class, d x K. With p_i the class probabilities of a row and e_y the unit vector of its class,

    slope of a row      v_i = p_i - e_y                    multipliers    beta_i = C_i (e_y - p_i)
    gradient            W - sum_i x_i beta_i',    b / s^2 - sum_i beta_i

Directions. With few unknowns, K (d + 1), the Hessian is formed and factored; otherwise its equations are solved by
conjugate gradients, loosely while far from the solution (`class_equations`).

The intercept. The same number added to every b_k changes no probability; that direction is taken out. A free intercept
is set to its best for the current scores, which needs no pass over the data and makes sum_i beta_i = 0 for every class.
Rounding leaves a trace of imbalance, which is removed from the multipliers: with M_kl = sum of -beta_il over the rows
of class k, the flow from class k to class l, each is multiplied by 1 + u_l - u_k, where u solves

    sum_l (M_kl + M_lk) (u_k - u_l) = sum_i beta_ik        for every class k

Stopping. W and these multipliers give the duality gap by the certificate's own arithmetic.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin._types import Matrix
from maxmargin.backends.threads import one_blas_thread
from maxmargin.losses import Softmax
from maxmargin.losses.multiclass import unit_vectors
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.class_intercepts import (
    balance,
    column_sums,
    completed,
    softmax_multipliers,
    solved_up_to_a_constant,
)
from maxmargin.solvers.common.candidate import Candidate
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.class_equations import ClassEquations, ClassPasses, TimeIsUp, table_penalty

_MAX_FACTORED = 1000  # unknowns up to which the Hessian is formed
_SMALL = 400_000  # products below which a second thread costs more than it brings
_MAX_STEPS = 200
_SIZES = 0.5 ** np.arange(40)  # of steps, tried in turn
_MARGIN = 0.1  # the tolerance is a promise that other arithmetic will check
_TRACE = 1e-13  # imbalance, relative to all multipliers, that is left to `_balanced`
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SoftmaxNewton(Solver):
    """Newton's method with exact or implicit Hessians, by the number of unknowns."""

    n_jobs: int | None = None
    name: ClassVar[str] = "softmax-newton"
    suits: ClassVar[str] = "linear problems with the softmax loss and an L2 penalty"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether it is softmax regression."""
        return is_plain(problem) and isinstance(problem.loss, Softmax)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from W = 0, or from the weights and the intercept of `start`."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        with one_blas_thread():  # rows are shared among threads of our own
            descent = _SoftmaxDescent(problem, self.n_jobs, self.tol, end)
            status = descent.run(start, self.max_iter or _MAX_STEPS)
        return descent.best.at.solution(status, descent.history, self.name, descent.passes.n_passes)


class _SoftmaxPoint(NamedTuple):
    """Weights and intercept as one table of d + 1 rows, the last for b, with their scores and what follows."""

    table: Matrix
    scores: Matrix
    """W' x_i + b."""
    at: Candidate

    def improves_on(self, other: _SoftmaxPoint) -> bool:
        """Whether any number of the certificate is better."""
        ours, theirs = self.at.seen, other.at.seen
        return self.at.gap < other.at.gap or ours.primal < theirs.primal or ours.kkt_violation < theirs.kkt_violation


class _SoftmaxDescent:
    """One descent; `best` is the last point that was an improvement, whatever happens after."""

    def __init__(self, problem: LinearProblem, n_jobs: int | None, tol: float, end: float):
        assert isinstance(problem.loss, Softmax)
        self.problem, self.loss, self.tol = problem, problem.loss, tol
        self.y, self.C = problem.targets, problem.costs
        n_classes, n_features = problem.loss.count_classes(self.y), problem.source.n_features
        self.own = unit_vectors(self.y, n_classes)
        self.history = History()
        self.passes = ClassPasses(problem, n_classes, end, 1 if self.own.size * n_features < _SMALL else n_jobs)
        self.penalty = table_penalty(problem)
        self.best = self._evaluate(np.zeros((n_features + 1, n_classes)), np.zeros_like(self.own))

    def run(self, start: Solution | None, max_iter: int) -> Status:
        """Step until the certificate is within the tolerance, nothing moves, or the budget is spent."""
        try:
            if start is not None and start.weights is not None:
                b = np.zeros(self.own.shape[1]) if start.bias is None else start.bias
                table = np.vstack([start.weights, b])
                self.best = self._evaluate(table, self.passes.scores(table))
            for _ in range(max_iter):
                if self._is_solved(self.best):
                    return Status.CONVERGED
                at = self._step(self.best)
                if not at.improves_on(self.best):
                    return Status.STALLED
                self.best = at
        except TimeIsUp:
            return Status.BUDGET
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.CONVERGED if self._is_solved(self.best) else Status.BUDGET

    def _is_solved(self, point: _SoftmaxPoint) -> bool:
        return point.at.worst <= _MARGIN * self.tol

    def _evaluate(self, table: Matrix, scores: Matrix) -> _SoftmaxPoint:
        """The point of these weights, with the best intercept where it is free."""
        if self.problem.intercept.is_free:
            best = balance(scores, self.y, self.C, goal=_TRACE)
            table, scores = np.vstack([table[:-1], table[-1] + best.shift]), scores + best.shift
            beta = self._balanced(best.beta)
        else:
            beta, _ = softmax_multipliers(scores, self.own, self.C)
        self.passes.n_passes += 2.0
        at = Candidate.evaluated(self.problem, beta, table[:-1], table[-1])
        self.history.record(self.passes.n_passes, at.seen.primal, at.seen.dual)
        return _SoftmaxPoint(table, scores, at)

    def _balanced(self, beta: Matrix) -> Matrix:
        """Multipliers whose sum over the rows is zero for every class, up to the rounding of that sum."""
        for _ in range(4):
            surplus, size = column_sums(beta), float(np.sum(np.abs(beta)))
            if np.max(np.abs(surplus)) <= 4.0 * _EPSILON * size:
                break
            others = np.maximum(-beta, 0.0)
            flow = self.own.T @ others
            u = solved_up_to_a_constant(np.diag(np.sum(flow + flow.T, axis=1)) - flow - flow.T, surplus)
            beta = completed(others * (1.0 + u - (self.own @ u)[:, None]), self.own)
        return beta

    def _step(self, point: _SoftmaxPoint) -> _SoftmaxPoint:
        """One Newton step."""
        gradient = self.penalty * point.table - self.passes.combination(point.at.alpha)
        if self.problem.intercept.scale == 0.0:
            gradient[-1] = 0.0
        equations = ClassEquations(self.passes, np.maximum(self.C[:, None] * self.own - point.at.alpha, 0.0))
        if gradient.size <= _MAX_FACTORED:
            towards = equations.factored()(-gradient)
        else:
            towards = equations.conjugate_gradients(-gradient, min(0.1, math.sqrt(abs(point.at.gap))))
        moved = self.passes.scores(towards)
        t = self._step_size(point, towards, moved, float(np.vdot(gradient, towards)))
        return self._evaluate(point.table + t * towards, point.scores + t * moved)

    def _step_size(self, point: _SoftmaxPoint, towards: Matrix, moved: Matrix, slope: float) -> float:
        """The first of 1, 1/2, 1/4, ... that lowers the objective by a fair part of what the slope promises."""
        primal = point.at.seen.primal
        for t in _SIZES:
            penalty = 0.5 * float(np.sum(self.penalty * np.square(point.table + t * towards)))
            value = penalty + float(self.C @ self.loss.score_value(point.scores + t * moved, self.y))
            if value <= primal + 1e-4 * t * slope + 8.0 * _EPSILON * abs(primal):
                return float(t)
        return 0.0
