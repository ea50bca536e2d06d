"""Newton's method for softmax regression.

    minimise over W, b    1/2 |W|^2 + 1/2 |b / s|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)      f_i = W' x_i + b

W has one column a class, d x K. With p_i the class probabilities of a row and e_y the unit vector of its class,

    slope of a row      v_i = p_i - e_y                    multipliers    beta_i = C_i (e_y - p_i)
    gradient            W - sum_i x_i beta_i',    b / s^2 - sum_i beta_i
    Hessian times V     V + sum_i C_i x_i (p_i * g_i - p_i <p_i, g_i>)'      g_i = V' x_i + change of b

Directions. With few unknowns, K (d + 1), the Hessian is formed and factored; otherwise its equations are solved by
conjugate gradients scaled by its diagonal, loosely while far from the solution.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin._types import Matrix, Rows, Vector
from maxmargin.backends.threads import StopFlag, one_blas_thread, over_ranges
from maxmargin.certificates import Assessment, assess
from maxmargin.data import as_double
from maxmargin.errors import ParameterError
from maxmargin.losses import Softmax
from maxmargin.losses.multiclass import unit_vectors
from maxmargin.penalties import L2
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.solver import Solver

_MAX_FACTORED = 1000  # unknowns up to which the Hessian is formed
_BLOCK_BYTES = 8 << 20
_SMALL = 400_000  # products below which a second thread costs more than it brings
_MAX_STEPS = 200
_MAX_PRODUCTS = 500  # conjugate-gradient steps for one direction
_SIZES = 0.5 ** np.arange(40)  # of steps, tried in turn
_MARGIN = 0.1  # the tolerance is a promise that other arithmetic will check
_TRACE = 1e-13  # imbalance, relative to all multipliers, that is left to `_balanced`
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SoftmaxNewton(Solver):
    """Newton's method with exact or implicit Hessians, by the number of unknowns."""

    n_jobs: int | None = None
    name: ClassVar[str] = "softmax-newton"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from W = 0, or from the weights and the intercept of `start`."""
        if not (isinstance(problem, LinearProblem) and isinstance(problem.loss, Softmax) and problem.penalty == L2()):
            raise ParameterError(
                f"solver='{self.name}' is for linear problems with the softmax loss and an L2 penalty, "
                f"not: {problem.objective}."
            )
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
            passes=descent.n_passes,
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


class _TimeIsUp(Exception):  # noqa: N818 - not an error
    """The end of the budget, noticed inside a step."""


class _Descent:
    """One descent; `best` is the last point that was an improvement, whatever happens after."""

    def __init__(self, problem: LinearProblem, n_jobs: int | None, tol: float, end: float):
        assert isinstance(problem.loss, Softmax)
        self.problem, self.loss, self.tol, self.end = problem, problem.loss, tol, end
        self.y, self.C = problem.targets, problem.costs
        self.n_classes = problem.loss.count_classes(self.y)
        self.n_features = problem.source.n_features
        self.own = unit_vectors(self.y, self.n_classes)
        self.has_intercept = problem.intercept.scale > 0.0
        self.is_free = problem.intercept.is_free
        self.stiffness = problem.intercept.scale**-2.0 if self.has_intercept else 0.0  # 1 / s^2, 0 where b is free
        self.history = History()
        self.n_passes = 0.0
        self.n_jobs = 1 if self.own.size * self.n_features < _SMALL else n_jobs
        W = np.zeros((self.n_features, self.n_classes))
        self.best = self._look(W, np.zeros(self.n_classes), np.zeros_like(self.own))

    def run(self, start: Solution | None, max_iter: int) -> Status:
        """Step until the certificate is within the tolerance, nothing moves, or the budget is spent."""
        try:
            if start is not None and start.weights is not None:
                b = np.zeros(self.n_classes) if start.bias is None else np.asarray(start.bias, dtype=np.float64)
                self.best = self._look(start.weights, b, self._scores(start.weights) + b)
            for _ in range(max_iter):
                if self._is_solved(self.best):
                    return Status.CONVERGED
                at = self._step(self.best)
                if not at.improves_on(self.best):
                    return Status.STALLED
                self.best = at
        except _TimeIsUp:
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
        self.n_passes += 2.0
        at = _Point(W, b, scores, beta, assess(self.problem, beta, W, b))
        self.history.record(self.n_passes, at.seen.primal, at.seen.dual)
        return at

    def _pass(self, work: Callable[[Rows, slice], Matrix | None], width: int) -> list[Matrix]:
        """Give `work` all rows, a block of them at a time, and return the sums of its results, one a thread.

        Blocks are in double precision, and so few rows long that `width` numbers a row fit the caches.
        """
        if time.perf_counter() > self.end:
            raise _TimeIsUp
        self.n_passes += 1.0
        step = max(1, _BLOCK_BYTES // (8 * width))

        def share(first: int, last: int, stop: StopFlag) -> Matrix | None:
            total = None
            for top in range(first, last, step):
                if stop[0]:
                    break
                span = slice(top, min(top + step, last))
                part = work(as_double(self.problem.source.take(span)), span)
                total = part if total is None or part is None else np.add(total, part, out=total)
            return total

        return over_ranges(share, self.problem.n_rows, self.n_jobs)

    def _scores(self, W: Matrix) -> Matrix:
        """W' x_i of every row."""
        scores = np.empty_like(self.own)

        def work(X: Rows, span: slice) -> None:
            scores[span] = X @ W

        self._pass(work, self.n_features)
        return scores

    def _combination(self, beta: Matrix) -> Matrix:
        """sum_i x_i beta_i'."""
        return np.asarray(sum(self._pass(lambda X, span: np.asarray(X.T @ beta[span]), self.n_features)))

    def _multipliers(self, scores: Matrix) -> Matrix:
        """C (e_y - p), with 1 - p_y summed from the other classes: a row far on its side keeps its digits."""
        return self._completed(self.C[:, None] * _probabilities(scores) * (1.0 - self.own))

    def _completed(self, others: Matrix) -> Matrix:
        """Multipliers of rows, from C p_k of the classes that are not their own."""
        return self.own * _row_sums(others)[:, None] - others

    def _best_shift(self, scores: Matrix) -> Vector:
        """What to add to a free intercept: Newton steps, each halved until the imbalance of the multipliers falls."""
        shift, beta = np.zeros(self.n_classes), self._multipliers(scores)
        for _ in range(_MAX_STEPS):
            surplus, size = _column_sums(beta), float(np.sum(np.abs(beta)))
            if np.max(np.abs(surplus)) <= _TRACE * size:
                break
            p = self.own - beta / self.C[:, None]
            newton = _solved_up_to_a_constant(np.diag(self.C @ p) - (p * self.C[:, None]).T @ p, surplus)
            for t in _SIZES[:12]:
                trial = self._multipliers(scores + (shift + t * newton))
                if np.linalg.norm(_column_sums(trial)) < (1.0 - 0.1 * t) * np.linalg.norm(surplus):
                    shift, beta = shift + t * newton, trial
                    break
            else:
                break
        return shift

    def _balanced(self, beta: Matrix) -> Matrix:
        """Multipliers whose sum over the rows is zero for every class, up to the rounding of that sum."""
        for _ in range(4):
            surplus, size = _column_sums(beta), float(np.sum(np.abs(beta)))
            if np.max(np.abs(surplus)) <= 4.0 * _EPSILON * size:
                break
            others = np.maximum(-beta, 0.0)
            flow = self.own.T @ others
            u = _solved_up_to_a_constant(np.diag(np.sum(flow + flow.T, axis=1)) - flow - flow.T, surplus)
            beta = self._completed(others * (1.0 + u - (self.own @ u)[:, None]))
        return beta

    def _step(self, at: _Point) -> _Point:
        """One Newton step. Gradient and direction are tables of d + 1 rows: one a feature, the last for b."""
        p = _probabilities(at.scores)
        gradient = np.vstack([at.W - self._combination(at.beta), self.stiffness * at.b - _column_sums(at.beta)])
        if not self.has_intercept:
            gradient[-1] = 0.0
        if gradient.size <= _MAX_FACTORED:
            towards = self._factored(p, -gradient)
        else:
            towards = self._conjugate_gradients(p, -gradient, looseness=min(0.1, math.sqrt(abs(at.gap))))
        moved = self._scores(towards[:-1]) + towards[-1]
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

    def _factored(self, p: Matrix, right: Matrix) -> Matrix:
        """Solve with the Hessian: sum_i C_i (diag(p_i) - p_i p_i') (x) (x_i, 1)(x_i, 1)' plus the penalty."""
        K, D = self.n_classes, self.n_features + 1

        def work(X: Rows, span: slice) -> Matrix:
            x = np.full((X.shape[0], D), float(self.has_intercept))
            x[:, :-1] = X.toarray() if sparse.issparse(X) else X
            q = np.sqrt(self.C[span, None]) * p[span]
            both = (q[:, :, None] * x[:, None, :]).reshape(len(x), K * D)
            part = -(both.T @ both).reshape(K, D, K, D)
            for k in range(K):
                part[k, :, k, :] += (x * (self.C[span] * p[span, k])[:, None]).T @ x
            return part

        H = np.asarray(sum(self._pass(work, K * D)))
        flat = H.reshape(K * D, K * D)
        penalty = np.ones((K, D))
        if self.has_intercept:
            penalty[:, -1] = self.stiffness
        flat[np.diag_indices(K * D)] += penalty.ravel()
        if self.is_free:
            # The same number added to every b_k changes nothing; the rank-one term takes that direction out.
            H[:, -1, :, -1] += float(np.sum(self.C)) / K**2
        try:
            answer = cho_solve(cho_factor(flat, overwrite_a=True, check_finite=False), right.T.ravel())
        except LinAlgError:  # columns so different in length that rounding made a pivot negative
            answer = np.linalg.lstsq(flat, right.T.ravel(), rcond=None)[0]
        return np.ascontiguousarray(answer.reshape(K, D).T)

    def _conjugate_gradients(self, p: Matrix, right: Matrix, looseness: float) -> Matrix:
        """Solve with the Hessian by conjugate gradients scaled by its diagonal."""
        C = self.C[:, None]

        def product(v: Matrix) -> Matrix:
            g = self._scores(v[:-1]) + v[-1]
            bent = C * p * (g - _row_sums(p * g)[:, None])
            return np.vstack([v[:-1] + self._combination(bent), _column_sums(bent) + self.stiffness * v[-1]])

        inverse = 1.0 / self._diagonal(C * p * (1.0 - p))
        x, residual = np.zeros_like(right), right
        z = inverse * residual
        towards, rho = z, float(np.vdot(residual, z))
        goal = looseness**2 * rho
        for _ in range(_MAX_PRODUCTS):
            if rho <= goal:
                break
            bent = product(towards)
            size = rho / float(np.vdot(towards, bent))
            x, residual = x + size * towards, residual - size * bent
            z = inverse * residual
            rho, before = float(np.vdot(residual, z)), rho
            towards = z + (rho / before) * towards
        return x

    def _diagonal(self, curvature: Matrix) -> Matrix:
        """Diagonal of the Hessian as a table like the gradient; infinite for an intercept that is not there."""

        def work(X: Rows, span: slice) -> Matrix:
            squares = X.multiply(X).tocsr() if sparse.issparse(X) else np.square(X)
            return np.asarray(squares.T @ curvature[span])

        table = np.ones((self.n_features + 1, self.n_classes))
        table[:-1] += sum(self._pass(work, self.n_features))
        table[-1] = np.maximum(np.sum(curvature, axis=0) + self.stiffness, 1e-300) if self.has_intercept else np.inf
        return table


def _row_sums(A: Matrix) -> Vector:
    """By a product: for a few columns several times faster than a sum along them."""
    sums: Vector = A @ np.ones(A.shape[1])
    return sums


def _column_sums(A: Matrix) -> Vector:
    """Column by column in pairs, so that long sums keep their digits; NumPy adds row after row otherwise."""
    sums: Vector = np.sum(np.ascontiguousarray(A.T), axis=1)
    return sums


def _probabilities(scores: Matrix) -> Matrix:
    """Softmax of every row."""
    largest = functools.reduce(np.maximum, scores.T)
    p: Matrix = np.exp(scores - largest[:, None])
    return p / _row_sums(p)[:, None]


def _solved_up_to_a_constant(matrix: Matrix, right: Vector) -> Vector:
    """The solution with mean zero of a system whose matrix maps constants to zero."""
    answer: Vector = np.linalg.lstsq(matrix + np.trace(matrix) / len(matrix) ** 2, right, rcond=None)[0]
    return answer - np.mean(answer)
