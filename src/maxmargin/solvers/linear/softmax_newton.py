"""Newton's method for softmax regression.

    minimise over W, b    1/2 |W|^2 + 1/2 |b / s|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)      f_i = W' x_i + b

W has one column a class, d x K. With p_i the class probabilities of a row and e_y the unit vector of its class,

    slope of a row      v_i = p_i - e_y                    multipliers    beta_i = C_i (e_y - p_i)
    gradient            W - sum_i x_i beta_i',    b / s^2 - sum_i beta_i

Directions. With few unknowns, K (d + 1), the Hessian is formed and factored; otherwise its equations are solved by
conjugate gradients, loosely while far from the solution (`softmax_hessian`).

The intercept. The same number added to every b_k changes no probability; that direction is taken out. A free intercept
is set to its best for the current scores, which needs no pass over the data and makes sum_i beta_i = 0 for every class.
Rounding leaves a trace of imbalance, which is removed from the multipliers: with M_kl = sum of -beta_il over the rows
of class k, the flow from class k to class l, each is multiplied by 1 + u_l - u_k, where u solves

    sum_l (M_kl + M_lk) (u_k - u_l) = sum_i beta_ik        for every class k

Stopping. W and these multipliers give the duality gap by the certificate's own arithmetic.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.certificates import Assessment, assess
from maxmargin.losses import Softmax
from maxmargin.losses.multiclass import unit_vectors
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.class_intercepts import solved_up_to_a_constant
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.softmax_hessian import Hessian, RowPasses, TimeIsUp, column_sums, row_sums, stiffness_of

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
            descent = _Descent(problem, self.n_jobs, self.tol, end)
            status = descent.run(start, self.max_iter or _MAX_STEPS)
        return Solution(
            alpha=descent.best.beta,
            weights=descent.best.W,
            bias=descent.best.b,
            status=status,
            history=descent.history,
            solver=self.name,
            passes=descent.rows.n_passes,
            seconds=descent.history.elapsed,
        )


@dataclass(frozen=True)
class _Point:
    """Weights and intercept, with the multipliers of their scores and what a certificate says of both."""

    W: Matrix
    b: Vector
    scores: Matrix
    """W' x_i + b."""
    beta: Matrix
    seen: Assessment

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return self.seen.difference / max(abs(self.seen.primal), 1e-300)

    def improves_on(self, other: _Point) -> bool:
        """Whether any number of the certificate is better."""
        ours, theirs = self.seen, other.seen
        return self.gap < other.gap or ours.primal < theirs.primal or ours.kkt_violation < theirs.kkt_violation


class _Descent:
    """One descent; `best` is the last point that was an improvement, whatever happens after."""

    def __init__(self, problem: LinearProblem, n_jobs: int | None, tol: float, end: float):
        assert isinstance(problem.loss, Softmax)
        self.problem, self.loss, self.tol = problem, problem.loss, tol
        self.y, self.C = problem.targets, problem.costs
        self.n_classes = problem.loss.count_classes(self.y)
        self.own = unit_vectors(self.y, self.n_classes)
        self.has_intercept = problem.intercept.scale > 0.0
        self.is_free = problem.intercept.is_free
        self.stiffness = stiffness_of(problem.intercept)
        self.history = History()
        n_features = problem.source.n_features
        self.rows = RowPasses(problem, self.n_classes, 1 if self.own.size * n_features < _SMALL else n_jobs, end)
        W = np.zeros((n_features, self.n_classes))
        self.best = self._look(W, np.zeros(self.n_classes), np.zeros_like(self.own))

    def run(self, start: Solution | None, max_iter: int) -> Status:
        """Step until the certificate is within the tolerance, nothing moves, or the budget is spent."""
        try:
            if start is not None and start.weights is not None:
                b = np.zeros(self.n_classes) if start.bias is None else np.asarray(start.bias, dtype=np.float64)
                self.best = self._look(start.weights, b, self.rows.scores(start.weights) + b)
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

    def _is_solved(self, at: _Point) -> bool:
        return max(at.gap, at.seen.kkt_violation) <= _MARGIN * self.tol

    def _look(self, W: Matrix, b: Vector, scores: Matrix) -> _Point:
        """The point of these weights, with the best intercept where it is free."""
        if self.is_free:
            shift = self._best_shift(scores)
            b, scores = b + shift, scores + shift
        beta = self._multipliers(scores)
        if self.is_free:
            beta = self._balanced(beta)
        self.rows.n_passes += 2.0
        at = _Point(W, b, scores, beta, assess(self.problem, beta, W, b))
        self.history.record(self.rows.n_passes, at.seen.primal, at.seen.dual)
        return at

    def _multipliers(self, scores: Matrix) -> Matrix:
        """C (e_y - p), with 1 - p_y summed from the other classes: a row far on its side keeps its digits."""
        return self._completed(self.C[:, None] * _probabilities(scores) * (1.0 - self.own))

    def _completed(self, others: Matrix) -> Matrix:
        """Multipliers of rows, from C p_k of the classes that are not their own."""
        return self.own * row_sums(others)[:, None] - others

    def _best_shift(self, scores: Matrix) -> Vector:
        """What to add to a free intercept: Newton steps, each halved until the imbalance of the multipliers falls."""
        shift, beta = np.zeros(self.n_classes), self._multipliers(scores)
        for _ in range(_MAX_STEPS):
            surplus, size = column_sums(beta), float(np.sum(np.abs(beta)))
            if np.max(np.abs(surplus)) <= _TRACE * size:
                break
            p = self.own - beta / self.C[:, None]
            newton = solved_up_to_a_constant(np.diag(self.C @ p) - (p * self.C[:, None]).T @ p, surplus)
            for t in _SIZES[:12]:
                trial = self._multipliers(scores + (shift + t * newton))
                if np.linalg.norm(column_sums(trial)) < (1.0 - 0.1 * t) * np.linalg.norm(surplus):
                    shift, beta = shift + t * newton, trial
                    break
            else:
                break
        return shift

    def _balanced(self, beta: Matrix) -> Matrix:
        """Multipliers whose sum over the rows is zero for every class, up to the rounding of that sum."""
        for _ in range(4):
            surplus, size = column_sums(beta), float(np.sum(np.abs(beta)))
            if np.max(np.abs(surplus)) <= 4.0 * _EPSILON * size:
                break
            others = np.maximum(-beta, 0.0)
            flow = self.own.T @ others
            u = solved_up_to_a_constant(np.diag(np.sum(flow + flow.T, axis=1)) - flow - flow.T, surplus)
            beta = self._completed(others * (1.0 + u - (self.own @ u)[:, None]))
        return beta

    def _step(self, at: _Point) -> _Point:
        """One Newton step. Gradient and direction are tables of d + 1 rows: one a feature, the last for b."""
        gradient = np.vstack([at.W - self.rows.combination(at.beta), self.stiffness * at.b - column_sums(at.beta)])
        if not self.has_intercept:
            gradient[-1] = 0.0
        hessian = Hessian(self.rows, _probabilities(at.scores), self.C, self.problem.intercept)
        if gradient.size <= _MAX_FACTORED:
            towards = hessian.factored(-gradient)
        else:
            towards = hessian.conjugate_gradients(-gradient, looseness=min(0.1, math.sqrt(abs(at.gap))))
        moved = self.rows.scores(towards[:-1]) + towards[-1]
        t = self._step_size(at, towards, moved, float(np.vdot(gradient, towards)))
        return self._look(at.W + t * towards[:-1], at.b + t * towards[-1], at.scores + t * moved)

    def _step_size(self, at: _Point, towards: Matrix, moved: Matrix, slope: float) -> float:
        """The first of 1, 1/2, 1/4, ... that lowers the objective by a fair part of what the slope promises."""
        slack = 8.0 * _EPSILON * abs(at.seen.primal)
        for t in _SIZES:
            penalty = float(np.sum(np.square(at.W + t * towards[:-1])))
            penalty += self.stiffness * float(np.sum(np.square(at.b + t * towards[-1])))
            value = 0.5 * penalty + float(self.C @ self.loss.score_value(at.scores + t * moved, self.y))
            if value <= at.seen.primal + 1e-4 * t * slope + slack:
                return float(t)
        return 0.0


def _probabilities(scores: Matrix) -> Matrix:
    """Softmax of every row."""
    largest = functools.reduce(np.maximum, scores.T)
    p: Matrix = np.exp(scores - largest[:, None])
    return p / row_sums(p)[:, None]
