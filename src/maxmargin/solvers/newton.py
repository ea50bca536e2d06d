"""Newton's method on the primal, for losses with a slope everywhere.

    minimise over w, b    1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i)        f = X w + b

With v_i the slope and c_i = C_i l'' the curvature of each row at its score,

    gradient    w + X' (C v),    sum_i C_i v_i + b / s^2
    Hessian     [ I + X' diag(c) X    X' c              ]
                [ c' X                sum_i c_i + 1/s^2 ]

A free intercept (s infinite) is first set to its exact best for the current scores, which needs no pass over the data.

Directions. With few features the Hessian is formed and factored, and kept while its steps shrink the gap tenfold. With
many features the Newton equations are solved by conjugate gradients, each product one pass forth and back, stopped
early while far from the solution. With far more rows than features the answer for a sample of the rows is the start.

Steps. Along a direction the objective is a function of one number whose scores are f + t Xp: it is minimised by a few
Newton steps in t that never touch the data.

Stopping. The slopes give multipliers (beta = -C v), and sum_i beta_i x_i = w - gradient, so the duality gap costs no
pass either. Squared hinge: Keerthi and DeCoste, JMLR 2005; conjugate gradients: Lin, Weng and Keerthi, JMLR 2008.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.curves import (
    LOGISTIC,
    SQUARED,
    SQUARED_HINGE,
    SQUARED_TUBE,
    bias_loop,
    line_loop,
    look_loop,
)
from maxmargin._types import Vector
from maxmargin.backends.threads import over_ranges
from maxmargin.data import ArraySource
from maxmargin.data.passes import Passes
from maxmargin.errors import ParameterError
from maxmargin.losses import DualBox, Logistic, Loss, Squared, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.penalties import L2
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.feasible import balanced
from maxmargin.solvers.positive_factor import PositiveFactor
from maxmargin.solvers.solver import Solver

_CODES: dict[type[Loss], int] = {
    Logistic: LOGISTIC,
    SquaredHinge: SQUARED_HINGE,
    Squared: SQUARED,
    SquaredEpsilonInsensitive: SQUARED_TUBE,
}
_MAX_FACTORED = 1500  # features up to which the Hessian is formed
_SAMPLE_PER_FEATURE = 200
_MIN_SAMPLE = 20_000
_REUSE = 0.1  # a step that shrinks the gap by this factor says that its Hessian serves once more
_LINE_STEPS = 60
_BIAS_STEPS = 20
_SERIAL_ROWS = 50_000  # rows below which a second thread costs more than it brings


def solves(problem: Problem) -> bool:
    """Whether `Newton` is for this problem."""
    return isinstance(problem, LinearProblem) and type(problem.loss) in _CODES and problem.penalty == L2()


@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method with exact, sampled or implicit Hessians, by the shape of the data."""

    n_jobs: int | None = None
    name: ClassVar[str] = "newton"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the weights of `start`, or from those of a sample of the rows where there are very many."""
        if not solves(problem):
            raise ParameterError(
                "solver='newton' is for linear problems with a smooth loss (squared hinge, logistic, squared or "
                f"squared epsilon-insensitive) and an L2 penalty, not: {problem.objective}."
            )
        assert isinstance(problem, LinearProblem)
        descent = _Descent(problem, Passes(problem.source, self.n_jobs), self.tol)
        weights = start.weights if start is not None else self._weights_of_sample(problem)
        descent.begin(weights)
        status = descent.run(self.max_iter or 200, self.max_seconds)
        return descent.solution(status, self.name)

    def _weights_of_sample(self, problem: LinearProblem) -> Vector | None:
        """The answer for every k-th row with C times k: near the answer for all rows, at a fraction of the cost."""
        every = problem.n_rows // max(_MIN_SAMPLE, _SAMPLE_PER_FEATURE * problem.source.n_features)
        if every < 8:
            return None
        chosen = np.arange(0, problem.n_rows, every)
        source = ArraySource(problem.source.take(chosen), problem.targets[chosen], problem.costs[chosen])
        sample = LinearProblem(source, problem.loss, float(every), problem.intercept)
        return Newton(tol=1e-2, max_seconds=self.max_seconds, n_jobs=self.n_jobs).solve(sample).weights


class _Descent:
    """The state of one descent: weights, intercept and scores, with what follows from them."""

    def __init__(self, problem: LinearProblem, passes: Passes, tol: float):
        self.problem, self.passes, self.tol = problem, passes, tol
        self.code, self.epsilon = _CODES[type(problem.loss)], float(getattr(problem.loss, "epsilon", 0.0))
        self.y, self.C = problem.targets, problem.costs
        self.scale = problem.intercept.scale
        self.history = History()
        self.n_passes = 0.0
        self.factor: PositiveFactor | None = None
        self.fresh = True
        self.slope, self.curvature = np.empty(passes.n_rows), np.empty(passes.n_rows)

    def begin(self, weights: Vector | None) -> None:
        """Take the starting point."""
        self.w = np.zeros(self.passes.n_features) if weights is None else np.array(weights, dtype=np.float64)
        self.b = 0.0
        self.f = np.zeros(self.passes.n_rows) if weights is None else self.passes.scores(self.w)
        self._look()

    def _sums(self, work: Callable[[int, int], tuple[float, ...]]) -> list[float]:
        """Sums over all rows of what `work` returns for a range of them."""
        jobs = 1 if self.passes.n_rows < _SERIAL_ROWS else self.passes.n_jobs
        parts = over_ranges(lambda first, last, stop: work(first, last), self.passes.n_rows, jobs)
        return [float(np.sum(column)) for column in zip(*parts, strict=True)]

    def _look(self) -> None:
        """Everything that follows from w and its scores: best intercept, slopes, gradient, primal and dual."""
        if np.isinf(self.scale):
            self._settle_intercept()
        loss, total, product = self._sums(
            lambda first, last: look_loop(
                self.code, self.epsilon, self.f, self.b, self.y, self.C, first, last, self.slope, self.curvature
            )
        )
        self.combination = -self.passes.combination(self.slope)
        self.n_passes += 1.0
        self.gradient = self.w - self.combination
        self.bias_gradient = total + (self.b / self.scale**2 if self.scale > 0.0 else 0.0)
        penalty = 0.5 * float(self.w @ self.w) + (0.5 * (self.b / self.scale) ** 2 if self.scale > 0.0 else 0.0)
        self.primal = penalty + loss
        # At the slope v of a loss l*(v) = v f - l(f), so its conjugate needs no formula of its own.
        shift = 0.0 if np.isinf(self.scale) else self.scale * total
        self.dual = -0.5 * float(self.combination @ self.combination) - 0.5 * shift**2 - (product - loss)
        self.history.record(self.n_passes, self.primal, self.dual)

    def _settle_intercept(self) -> None:
        """Newton steps on the intercept alone, kept inside a bracket: the loss is convex in it."""
        low, high = -np.inf, np.inf
        for _ in range(_BIAS_STEPS):
            slope, curvature = self._sums(
                lambda first, last: bias_loop(self.code, self.epsilon, self.f, self.b, self.y, self.C, first, last)
            )
            step = slope / curvature if curvature > 0.0 else np.sign(slope)
            if abs(step) <= 1e-15 * max(1.0, abs(self.b)):
                break
            low, high = (low, self.b) if slope > 0.0 else (self.b, high)
            following = self.b - step
            if not low <= following <= high:
                following = 0.5 * (low + high)
            self.b = float(following)

    @property
    def gap(self) -> float:
        """Relative duality gap at the current point."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)

    def run(self, max_iter: int, max_seconds: float | None) -> Status:
        """Step until the gap is within the tolerance, nothing moves, or the budget is spent."""
        end = np.inf if max_seconds is None else time.perf_counter() + max_seconds
        for _ in range(max_iter):
            if self.gap <= self.tol:
                return Status.CONVERGED
            if time.perf_counter() > end:
                return Status.BUDGET
            before_primal, before_gap = self.primal, self.gap
            try:
                self._step()
            except KeyboardInterrupt:
                return Status.INTERRUPTED
            was_fresh, self.fresh = self.fresh, self.gap > _REUSE * before_gap
            if self.fresh:
                self.factor = None
                if was_fresh and self.primal >= before_primal and self.gap >= before_gap:
                    return Status.STALLED
        return Status.BUDGET

    def _step(self) -> None:
        c = self.curvature
        p, shift = self._factored(c) if self._is_narrow() else self._conjugate_gradients(c)
        moved = self.passes.scores(p)
        self.n_passes += 1.0
        t = self._best_step(p, shift, moved)
        self.w = self.w + t * p
        self.f += t * moved
        if self.scale > 0.0:
            self.b += t * shift
        self._look()

    def _is_narrow(self) -> bool:
        return self.passes.n_features <= _MAX_FACTORED

    def _factored(self, c: Vector) -> tuple[Vector, float]:
        """Newton direction from a factored Hessian, with the intercept eliminated; an older one while it serves."""
        if self.factor is None:
            H = self.passes.products(c)
            self.n_passes += 1.0
            H[np.diag_indices(len(H))] += 1.0
            if self.scale > 0.0:
                self.edge = self.passes.combination(c)
                self.corner = max(float(np.sum(c)) + self._bias_ridge(), 1e-300)
                H -= np.outer(self.edge, self.edge / self.corner)
            self.factor = PositiveFactor(H)
        if self.scale == 0.0:
            return self.factor.solve(-self.gradient), 0.0
        p = self.factor.solve(self.edge * (self.bias_gradient / self.corner) - self.gradient)
        return p, -(self.bias_gradient + float(self.edge @ p)) / self.corner

    def _bias_ridge(self) -> float:
        """Curvature that the penalty gives to the intercept."""
        return 1.0 / self.scale**2  # zero for a free intercept, whose scale is infinite

    def _conjugate_gradients(self, c: Vector) -> tuple[Vector, float]:
        """Newton direction by preconditioned conjugate gradients, loosely while far from the solution."""
        has_intercept = self.scale > 0.0
        corner = max(float(np.sum(c)) + self._bias_ridge(), 1e-300) if has_intercept else 1.0

        def product(p: Vector) -> tuple[Vector, float]:
            """Schur complement of the intercept times p, and the intercept's own step."""
            moved = self.passes.scores(p)
            shift = -float(c @ moved) / corner if has_intercept else 0.0
            self.n_passes += 2.0
            return p + self.passes.combination(c * (moved + shift)), shift

        base = -self.bias_gradient / corner if has_intercept else 0.0
        right = -self.gradient - (self.passes.combination(c * base) if base != 0.0 else 0.0)
        scale = 1.0 / (1.0 + self._diagonal(c))
        p, residual = np.zeros_like(right), right.copy()
        z = scale * residual
        q, rho = z.copy(), float(residual @ z)
        goal = min(0.01, max(self.gap, 1e-8)) * rho
        for _ in range(250):
            Hq, _ = product(q)
            step = rho / float(q @ Hq)
            p += step * q
            residual -= step * Hq
            z = scale * residual
            rho, before = float(residual @ z), rho
            if rho <= goal:
                break
            q = z + (rho / before) * q
        shift = base - float(c @ self.passes.scores(p)) / corner if has_intercept else 0.0
        return p, shift

    def _diagonal(self, c: Vector) -> Vector:
        """Diagonal of X' diag(c) X."""
        return self.passes.squared_combination(c)

    def _best_step(self, p: Vector, shift: float, moved: Vector) -> float:
        """Minimiser over t of the objective at w + t p, f + t moved; the intercept moves along."""
        linear, square = float(self.w @ p), float(p @ p)
        if 0.0 < self.scale < np.inf:
            linear += self.b * shift / self.scale**2
            square += (shift / self.scale) ** 2
        begin = linear + float(self.slope @ moved) + shift * float(np.sum(self.slope))
        low, high, t = 0.0, np.inf, 1.0
        for _ in range(_LINE_STEPS):
            first, second = self._slopes_along(moved, shift, t)
            slope, curvature = linear + t * square + first, square + second
            if -0.1 * abs(begin) <= slope <= 0.01 * abs(begin):
                return t  # near enough to the minimum, and rather before it than behind
            low, high = (low, t) if slope > 0.0 else (t, high)
            following = t - slope / curvature if curvature > 0.0 else 2.0 * t
            if not low < following < high:
                following = 0.5 * (low + high) if np.isfinite(high) else 2.0 * t
            t = following
        return low

    def _slopes_along(self, moved: Vector, shift: float, t: float) -> list[float]:
        return self._sums(
            lambda first, last: line_loop(
                self.code, self.epsilon, self.f, self.b, moved, shift, t, self.y, self.C, first, last
            )
        )

    def solution(self, status: Status, name: str) -> Solution:
        """The point reached, with the multipliers of its slopes."""
        loss = self.problem.loss
        alpha = loss.multipliers(-self.slope, self.y)
        if np.isinf(self.scale):
            box = loss.dual_box(self.C) or DualBox.interval(0.0 * self.C, self.C)
            alpha = balanced(alpha, self.problem.coefficients(np.ones_like(alpha)), box)
        return Solution(
            alpha=alpha,
            weights=self.w,
            bias=None if np.isinf(self.scale) else self.b,
            status=status,
            history=self.history,
            solver=name,
            passes=self.n_passes,
            seconds=self.history.elapsed,
        )
