"""The state of Newton's method on a primal objective: weights, intercept and scores, with what follows from them.

    minimise over w, b    1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i)        f = X w + b

With v_i the slope of each row's loss at its score, the gradient is

    w + X' (C v),        sum_i C_i v_i + b / s^2

The slopes are multipliers too (beta = -C v), and sum_i beta_i x_i = w - gradient, so a duality gap costs no pass over
the data. It has two parts: that of the gradient, 1/2 |gradient in w|^2 + 1/2 (s gradient in b)^2, which Newton steps
bring to zero, and that of the rows, sum_i C_i (l_{y_i}(f_i) + l_{y_i}*(v_i) - v_i f_i), zero for a loss with a slope
everywhere.

A free intercept (s infinite) is first set to its exact best for the current scores, which needs no pass either.

Steps. Along a direction (p, t) the objective is a function of one number whose scores are f + step (X p + t): it is
minimised by a few Newton steps in that number that never touch the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Vector
from maxmargin.backends.threads import over_ranges
from maxmargin.certificates import assess
from maxmargin.data.passes import Passes
from maxmargin.problems import History, LinearProblem, Solution, Status
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.step_length import step_length
from maxmargin.solvers.linear.newton_directions import Directions

_BIAS_STEPS = 40
_REFINEMENTS = 3
_VECTORS = ("w", "f", "slope", "curvature", "combination", "gradient")
_OF_A_POINT = (*_VECTORS, "b", "bias_gradient", "primal", "dual", "apart", "violation")
_SERIAL_ROWS = 150_000  # rows below which a second thread costs more than it brings


class Descent:
    """Weights, intercept, scores, slopes, gradient and gap of the point reached."""

    def __init__(self, problem: LinearProblem, passes: Passes, curve: Curve):
        self.problem, self.passes, self.curve = problem, passes, curve
        self.y, self.C = problem.targets, problem.costs
        self.scale = problem.intercept.scale
        self.history = History()
        self.directions = Directions(passes, self.scale)
        self.slope, self.curvature = np.empty(passes.n_rows), np.empty(passes.n_rows)

    def begin(self, weights: Vector | None, b: float = 0.0) -> None:
        """Take the starting point; `look` comes next."""
        self.w = np.zeros(self.passes.n_features) if weights is None else np.array(weights, dtype=np.float64)
        self.b = b
        self.f = np.zeros(self.passes.n_rows) if weights is None else self.passes.scores(self.w)
        self.n_passes = 0.0 if weights is None else 1.0

    def _sums(self, work: Callable[[int, int], tuple[float, ...]]) -> list[tuple[float, ...]]:
        """What `work` returns for ranges of rows, one a thread."""
        n = self.passes.n_rows
        if n < _SERIAL_ROWS:
            return [work(0, n)]
        return over_ranges(lambda first, last, stop: work(first, last), n, self.passes.n_jobs, brief=True)

    def _added(self, work: Callable[[int, int], tuple[float, ...]]) -> list[float]:
        return [sum(column) for column in zip(*self._sums(work), strict=True)]

    def look(self) -> None:
        """Everything that follows from w and its scores: best intercept, slopes, gradient, primal and dual."""
        if np.isinf(self.scale):
            self._settle_intercept()
        numbers = tuple(self.curve)
        parts = self._sums(
            lambda first, last: evaluate_loop(
                numbers, self.f, self.b, self.y, self.C, first, last, self.slope, self.curvature
            )
        )
        loss, conjugate, total = (float(sum(part[k] for part in parts)) for k in range(3))
        self.violation = max(part[3] for part in parts)
        self.combination = self.passes.combination(self.slope)
        np.negative(self.combination, out=self.combination)
        self.n_passes += 1.0
        self.gradient = self.w - self.combination
        self.bias_gradient = total + (self.b / self.scale**2 if self.scale > 0.0 else 0.0)
        has_penalty = 0.0 < self.scale < np.inf
        penalty = 0.5 * float(self.w @ self.w) + (0.5 * (self.b / self.scale) ** 2 if has_penalty else 0.0)
        shift = self.scale * total if has_penalty else 0.0
        self.primal = penalty + loss
        self.dual = -0.5 * float(self.combination @ self.combination) - 0.5 * shift**2 - conjugate
        self.apart = 0.5 * float(self.gradient @ self.gradient)
        if has_penalty:
            self.apart += 0.5 * (self.scale * self.bias_gradient) ** 2
        self.history.record(self.n_passes, self.primal, self.dual)

    def point(self) -> dict[str, Any]:
        """All that is known of the point, to be taken up by `go_back`."""
        return {name: np.copy(vars(self)[name]) if name in _VECTORS else vars(self)[name] for name in _OF_A_POINT}

    def go_back(self, point: dict[str, Any]) -> None:
        """To a point that was left."""
        vars(self).update(point)

    @property
    def gap(self) -> float:
        """Relative duality gap at the current point."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)

    @property
    def smooth_gap(self) -> float:
        """The same where every row has the slope of its own score, as a smooth loss gives it.

        Such rows add nothing to the gap; what is left of it is the gradient. Taken so, it keeps its digits where primal
        and dual agree in all of theirs, or where the intercept times a trace of imbalance is large.
        """
        return self.apart / max(abs(self.primal), 1e-300)

    def _settle_intercept(self) -> None:
        """Newton steps on the intercept alone, kept inside a bracket: the loss is convex in it.

        Where no row has curvature there is a slope to follow but no step: ever longer ones until there is a bracket.
        """
        low, high, reach = -np.inf, np.inf, 1.0
        for _ in range(_BIAS_STEPS):
            slope, curvature = self._slopes_along(self.f, 0.0, 1.0, 0.0)
            step = slope / curvature if curvature > 0.0 else reach * np.sign(slope)
            if abs(step) <= 1e-15 * max(1.0, abs(self.b)):
                break
            low, high = (low, self.b) if slope > 0.0 else (self.b, high)
            reach *= 2.0
            following = self.b - step
            if not low < following < high:  # an end of the bracket was there before: from it the way leads back
                following = 0.5 * (low + high)
            self.b = float(following)

    def step(self, accuracy: float) -> float:
        """Go to the lowest point along Newton's direction, and look; returns the length of the way in directions."""
        p, shift = self.directions.solve(self.curvature, self.gradient, self.bias_gradient, accuracy)
        moved = self.passes.scores(p)
        t = self._best_step(p, shift, moved)
        self.n_passes += 3.0
        self.w += t * p
        self.f += t * moved
        if self.scale > 0.0:
            self.b += t * shift
        self.look()
        return t

    def _best_step(self, p: Vector, shift: float, moved: Vector) -> float:
        """Minimiser over t of the objective at w + t p, f + t moved; the intercept moves along."""
        linear, square = float(self.w @ p), float(p @ p)
        if 0.0 < self.scale < np.inf:
            linear += self.b * shift / self.scale**2
            square += (shift / self.scale) ** 2
        steep = abs(float(self.gradient @ p) + shift * self.bias_gradient)
        return step_length(linear, square, steep, lambda t: self._slopes_along(moved, 1.0, shift, t))

    def _slopes_along(self, along: Vector, factor: float, shift: float, t: float) -> list[float]:
        """Derivatives in t of the loss at scores f + b + t (factor along + shift)."""
        numbers = tuple(self.curve)
        return self._added(
            lambda first, last: line_loop(numbers, self.f, self.b, along, factor, shift, t, self.y, self.C, first, last)
        )

    def _multipliers(self, beta: Vector) -> Vector:
        """Feasible multipliers of coefficients that are feasible up to rounding."""
        loss = self.problem.loss
        box = loss.domain(self.C)
        alpha = np.clip(loss.multipliers(beta, self.y), box.lower, box.upper)
        return balanced(alpha, self.problem.coefficients(np.ones_like(alpha)), box) if np.isinf(self.scale) else alpha

    def _refined(self, weights: Vector, alpha: Vector) -> tuple[Vector, Vector]:
        """Weights and multipliers after Newton steps in which slopes change by curvature times step, while that helps.

        Slopes are differences of scores and targets: where rows are fitted almost perfectly they are little but
        rounding, and so is w - X' beta. With p and h the steps of w and b, w + p and beta - c (X p + h) fulfil
        w = X' beta by the Newton equations themselves, not by subtraction.
        """
        free = np.isinf(self.scale)
        beta, best = -self.slope, assess(self.problem, alpha, weights, None if free else self.b).difference
        for _ in range(_REFINEMENTS):
            p, shift = self.directions.solve(self.curvature, self.gradient, self.bias_gradient, 1e-8)
            beta = beta - self.curvature * (self.passes.scores(p) + shift)
            w, b = self.w + p, self.b + shift
            trial = self._multipliers(beta)
            seen = assess(self.problem, trial, w, None if free else b).difference
            self.n_passes += 3.0
            if not seen < best:
                break
            weights, alpha, best = w, trial, seen
            self.w, self.b = w, b
            self.gradient = w - self.passes.combination(beta)
            self.bias_gradient = (b / self.scale**2 if self.scale > 0.0 else 0.0) - float(np.sum(beta))
        return weights, alpha

    def solution(self, status: Status, name: str) -> Solution:
        """The point reached, with the multipliers of its slopes."""
        weights, alpha = self.w, self._multipliers(-self.slope)
        if status is Status.STALLED:
            weights, alpha = self._refined(weights, alpha)
        return Solution(
            alpha=alpha,
            weights=weights,
            bias=None if np.isinf(self.scale) else self.b,
            status=status,
            history=self.history,
            solver=name,
            passes=self.n_passes,
            seconds=self.history.elapsed,
        )
