"""Interior points for Crammer and Singer's machine with few features: the second-order way where descent is slow.

    minimise over W, b, t   1/2 |W|^2 + 1/2 |b / s|^2 + sum_i C_i (t_i - f_iy)
    subject to              z_ik = t_i - g_ik >= 0         g_ik = f_ik + [k != y_i],   f_i = W' x_i + b
    multipliers             q_ik >= 0,   sum_k q_ik = C_i,   W = sum_i x_i beta_i',   beta_i = C_i e_y - q_i

The central path has q_ik z_ik = mu. Giving every row the shares of the classes in all costs satisfies the constraints
on q, those of a free intercept included, and W and t follow; so every iterate is feasible, and sum_ik q_ik z_ik is its
duality gap. With h_ik = q_ik / z_ik, a Newton step needs

    dq_i = a_i + S_i df_i
    S_i = diag(h_i) - h_i h_i' / sum_k h_ik = sum_{k<l} (h_ik h_il / sum_k h_ik) (e_k - e_l)(e_k - e_l)'

and the change of (W, b) solves (penalty + sum_i S_i (x) x_i x_i') d = right, of order K (d + 1) (`class_equations`).
The entries of a_i and dq_i sum to zero, so the one with the largest h_ik is taken as minus the sum of the others.

Mehrotra's predictor chooses mu, and its second-order term corrects the step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.losses import CrammerSinger
from maxmargin.losses.multiclass import class_column, unit_vectors
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.common.candidate import Candidate
from maxmargin.solvers.linear.class_balance import balanced, coefficients_of
from maxmargin.solvers.linear.class_equations import ClassEquations, ClassPasses, TimeIsUp, table_penalty
from maxmargin.solvers.linear.multiclass_descent import MulticlassSolver

_MAX_STEPS = 100
_LEAST_MOVED = 1e-12
_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
_NEGLIGIBLE = 1e-7  # shares below this, where the gap z is larger than they are, mean zero
_LOWEST = 1e-13  # relative gap below which rounding rules


@dataclass(frozen=True)
class MulticlassInterior(MulticlassSolver):
    """Primal-dual interior-point method on the weights of all classes."""

    name: ClassVar[str] = "interior"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve; `start` is of no use to an interior-point method."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        assert isinstance(problem.loss, CrammerSinger)
        present = np.unique(problem.targets)
        if problem.intercept.is_free and len(present) < problem.loss.count_classes(problem.targets):
            return _spread(problem, present, self.solve(_only(problem, present)))
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        with one_blas_thread():  # matrices this small gain nothing from a second thread
            path = _CentralPath(problem, end)
            best, status = path.candidate(), Status.BUDGET
            try:
                for _ in range(self.max_iter or _MAX_STEPS):
                    path.step()
                    if path.gap > self.tol:
                        continue
                    seen = path.candidate()
                    if seen.worst >= best.worst and path.gap < _LOWEST:
                        status = Status.STALLED
                        break
                    best = min(seen, best, key=lambda at: at.worst)
                    if best.worst <= self.tol:
                        status = Status.CONVERGED
                        break
            except TimeIsUp:
                pass
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            except (LinAlgError, ValueError):  # no factor, or infinite entries: rounding has taken over
                status = Status.STALLED
        return best.solution(status, path.history, self.name, path.passes.n_passes)


def _only(problem: LinearProblem, present: Vector) -> LinearProblem:
    """The problem without the classes that have no rows; with a free intercept they have no multipliers at all."""
    source = replace(problem.source, y=np.searchsorted(present, problem.targets).astype(np.float64))
    return replace(problem, source=source, loss=CrammerSinger(len(present)))


def _spread(problem: LinearProblem, present: Vector, solution: Solution) -> Solution:
    """The answer for all classes; those without rows get no weights, and an intercept below every other score."""
    assert isinstance(problem.loss, CrammerSinger)
    assert solution.weights is not None
    columns = present.astype(np.int64)
    n_classes = problem.loss.count_classes(problem.targets)
    alpha = np.zeros((problem.n_rows, n_classes))
    weights = np.zeros((problem.source.n_features, n_classes))
    alpha[:, columns], weights[:, columns] = solution.alpha, solution.weights
    f = problem.scores(solution.weights) + np.asarray(solution.bias)
    bias = np.full(n_classes, float(np.min(f)) - 1.0)
    bias[columns] = np.asarray(solution.bias)
    return replace(solution, alpha=alpha, weights=weights, bias=bias)


class _CentralPath:
    """The iterate: q and z of every row and class, and the table of W with b below it."""

    def __init__(self, problem: LinearProblem, end: float):
        assert isinstance(problem.loss, CrammerSinger)
        self.problem = problem
        self.y, self.C = problem.targets, problem.costs
        K = problem.loss.count_classes(self.y)
        self.own = unit_vectors(self.y, K)
        self.penalty = table_penalty(problem)
        self.has_intercept, self.is_free = problem.intercept.scale > 0.0, problem.intercept.is_free
        self.history = History()
        totals = np.maximum(self.C @ self.own, 1e-6 * np.sum(self.C))  # a class without rows gets a little
        self.q = np.outer(self.C, totals / np.sum(totals))
        f = problem.combination_scores(coefficients_of(self.q, self.y, self.C))
        # The rest of every row stays with its own class, so that the first scores are of the size of the margin.
        moved = min(1.0, max(_LEAST_MOVED, 1.0 / max(float(np.max(np.ptp(f, axis=1))), 1e-300)))
        self.q = moved * self.q + (1.0 - moved) * self.C[:, None] * self.own
        beta = coefficients_of(self.q, self.y, self.C)
        b = np.sum(beta, axis=0) / self.penalty[-1] if self.has_intercept and not self.is_free else np.zeros(K)
        self.table = np.vstack([problem.weights_from(beta), b])
        g = problem.scores(self.table[:-1]) + b + (1.0 - self.own)
        self.z = np.max(g, axis=1, keepdims=True) - g + max(1.0, float(np.std(g)))
        self.passes = ClassPasses(problem, K, end)

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return float(np.vdot(self.q, self.z)) / max(abs(self._primal()), 1e-300)

    def _primal(self) -> float:
        """Value with t_i in place of the largest g_ik, an upper bound."""
        penalty = 0.5 * float(np.sum(self.penalty * np.square(self.table)))
        return penalty + float(self.C @ np.sum(self.own * self.z, axis=1))

    def candidate(self) -> Candidate:
        """The iterate with negligible shares set to zero and, for free intercepts, balanced."""
        C = self.C[:, None]
        q = np.where((self.q < _NEGLIGIBLE * C) & (self.q < self.z * C), 0.0, self.q)
        q *= C / np.sum(q, axis=1, keepdims=True)
        beta = balanced(q, self.y, self.C) if self.is_free else coefficients_of(q, self.y, self.C)
        return Candidate.evaluated(self.problem, beta, self.table[:-1], self.table[-1])

    def step(self) -> None:
        """Predictor, then centred and corrected step, with one factorisation."""
        h = self.q / self.z
        solve = ClassEquations(self.passes, h).factored()
        mu = float(np.vdot(self.q, self.z)) / self.q.size
        _, dq, dz = self._direction(h, solve, -self.q * self.z)
        length = self._length(dq, dz, 1.0)
        affine = float(np.vdot(self.q + length * dq, self.z + length * dz)) / self.q.size
        centring = max(affine / mu, 0.0) ** 3
        change, dq, dz = self._direction(h, solve, centring * mu - self.q * self.z - dq * dz)
        length = self._length(dq, dz, _BOUNDARY)
        self.table = self.table + length * change
        self.q, self.z = self.q + length * dq, self.z + length * dz
        primal = self._primal()
        self.history.record(self.passes.n_passes, primal, primal - float(np.vdot(self.q, self.z)))

    def _length(self, dq: Matrix, dz: Matrix, share: float) -> float:
        """Largest step up to 1 that keeps q and z positive."""
        worst = max(float(np.max(-dq / self.q)), float(np.max(-dz / self.z)))
        return min(1.0, share / worst) if worst > 0.0 else 1.0

    def _direction(self, h: Matrix, solve: Callable[[Matrix], Matrix], target: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Changes of the table, q and z that bring z dq + q dz to `target`."""
        total = np.sum(h, axis=1, keepdims=True)
        top = class_column(np.argmax(h, axis=1))
        each = target / self.z
        rise = np.sum(each, axis=1, keepdims=True) / total
        a = _summing_to_zero(each - h * rise, top)
        beta = coefficients_of(self.q, self.y, self.C)
        right = self.passes.combination(beta - a) - self.penalty * self.table
        if not self.has_intercept:
            right[-1] = 0.0
        change = solve(right)
        df = self.passes.scores(change)
        mean = np.sum(h * df, axis=1, keepdims=True) / total
        return change, _summing_to_zero(a + h * (df - mean), top), rise + mean - df


def _summing_to_zero(change: Matrix, top: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Matrix:
    """Rows that sum to zero, the entry in column `top` set to minus the sum of the others."""
    np.put_along_axis(change, top, 0.0, axis=1)
    np.put_along_axis(change, top, -np.sum(change, axis=1, keepdims=True), axis=1)
    return change
