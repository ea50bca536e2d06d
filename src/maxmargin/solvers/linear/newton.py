"""Newton's method on rows in memory: what it asks of them (`newton_method`), and the solver for smooth losses.

Scores f = X w, slopes and curvatures of all rows are kept. So an evaluation costs one pass over the data, for the sum
of beta_i x_i; a free intercept is first set to its exact best for the scores at hand, which needs no pass; and the
length of a step is found by a few Newton steps in one number that never touch the data: along (p, t) the scores are
f + step (X p + t).

How long a matrix serves is decided here, too: as long as a step with it leaves little of the gap. And where to begin:
with far more rows than features, at the answer for a sample of the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Vector
from maxmargin.backends.threads import over_ranges, undisturbed
from maxmargin.certificates import assess
from maxmargin.data.rows import ArrayRows
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.sampling import sample_of
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.newton_directions import Directions
from maxmargin.solvers.linear.newton_method import (
    Along,
    At,
    AtCost,
    Begin,
    Direction,
    Evaluation,
    NewtonMethod,
    Pace,
    Proximal,
    Question,
    step_length,
)

SAMPLE_TOL = 1e-2
_BIAS_STEPS = 40
_REFINEMENTS = 3
_REUSE = 0.1  # a step that leaves no more of the gap says that its matrix serves once more
_SLOW = 0.3  # a whole step that leaves more says that its matrix was too rough
_SERIAL_ROWS = 150_000  # rows below which a second thread costs more than it brings


class RowsInMemory:
    """Rows with targets, costs and losses, and the point they were last evaluated at."""

    pace = Pace(short=0.01, patience=10)

    def __init__(self, problem: LinearProblem, curve: Curve, n_jobs: int | None):
        self.problem, self.curve = problem, curve
        self.passes = ArrayRows(problem.source, n_jobs)
        self.y, self.C = problem.targets, problem.costs
        self.scale = problem.intercept.scale
        self.directions = Directions(self.passes, self.scale)
        self.slope, self.curvature = np.empty(self.passes.n_rows), np.empty(self.passes.n_rows)
        self.n_passes, self._was_fresh = 0.0, True

    def answer(self, question: Question) -> Any:
        """The answer, as `newton_method.Question` says."""
        match question:
            case Direction():
                return self._direction(question)
            case Along(p, shift, _):
                return self._go(p, shift)
            case Begin(w, b) | At(w, b):
                self._stand_at(w, b)
            case Proximal(sigma, moves):
                centre = self.slope / self.C if moves else self.curve.centre
                self.curve = self.curve._replace(sigma=sigma, centre=centre)
            case AtCost(cost):
                self.C = cost * self.problem.costs
                self.directions.forget()
        return self.evaluate()

    def go_back(self, w: Vector, b: float) -> None:
        """To a point that was left, at the costs that were given."""
        self.C = self.problem.costs
        self._stand_at(w, b)
        self.evaluate()

    def _stand_at(self, w: Vector, b: float) -> None:
        self.w, self.b = np.array(w, dtype=np.float64), b
        is_zero = not np.any(self.w)
        self.f = np.zeros(self.passes.n_rows) if is_zero else self.passes.scores(self.w)
        self.n_passes += 0.0 if is_zero else 1.0

    def evaluate(self) -> Evaluation:
        """Everything that follows from the scores: best intercept, slopes, and their sums."""
        if np.isinf(self.scale):
            self._settle_intercept()
        numbers = tuple(self.curve)
        parts = self._sums(
            lambda first, last: evaluate_loop(
                numbers, self.f, self.b, self.y, self.C, first, last, self.slope, self.curvature
            )
        )
        loss, conjugate, total = (float(sum(part[k] for part in parts)) for k in range(3))
        combination = self.passes.combination(self.slope)
        np.negative(combination, out=combination)
        self.n_passes += 1.0
        self.gradient = self.w - combination
        self.bias_gradient = total + (self.b / self.scale**2 if self.scale > 0.0 else 0.0)
        violation = max(part[3] for part in parts)
        return Evaluation(self.w, self.b, loss, conjugate, -total, violation, combination)

    def _sums(self, work: Callable[[int, int], tuple[float, ...]]) -> list[tuple[float, ...]]:
        """What `work` returns for ranges of rows, one a thread."""
        n = self.passes.n_rows
        if n < _SERIAL_ROWS:
            return [work(0, n)]
        return over_ranges(lambda first, last, stop: work(first, last), n, self.passes.n_jobs, brief=True)

    def slopes_along(self, along: Vector, factor: float, shift: float, t: float) -> list[float]:
        """Derivatives in t of the loss at scores f + b + t (factor along + shift)."""
        numbers = tuple(self.curve)
        parts = self._sums(
            lambda first, last: line_loop(numbers, self.f, self.b, along, factor, shift, t, self.y, self.C, first, last)
        )
        return [sum(column) for column in zip(*parts, strict=True)]

    def _settle_intercept(self) -> None:
        """Newton steps on the intercept alone, kept inside a bracket: the loss is convex in it.

        Where no row has curvature there is a slope to follow but no step: ever longer ones until there is a bracket.
        """
        low, high, reach = -np.inf, np.inf, 1.0
        for _ in range(_BIAS_STEPS):
            slope, curvature = self.slopes_along(self.f, 0.0, 1.0, 0.0)
            step = slope / curvature if curvature > 0.0 else reach * np.sign(slope)
            if abs(step) <= 1e-15 * max(1.0, abs(self.b)):
                break
            low, high = (low, self.b) if slope > 0.0 else (self.b, high)
            reach *= 2.0
            following = self.b - step
            if not low < following < high:  # an end of the bracket was there before: from it the way leads back
                following = 0.5 * (low + high)
            self.b = float(following)

    def _direction(self, asked: Direction) -> tuple[Vector, float, bool]:
        if self.curve.has_kinks or asked.left > _REUSE:
            is_rough = asked.length > 0.5 and asked.left > _SLOW
            self.directions.forget(disappointed=self._was_fresh and is_rough and not self.curve.has_kinks)
            self._was_fresh = True
        else:
            self._was_fresh = False
        p, shift = self.directions.solve(self.curvature, asked.gradient, asked.bias_gradient, asked.accuracy)
        return p, shift, self._was_fresh

    def _go(self, p: Vector, shift: float) -> tuple[Evaluation, float]:
        """To the lowest point along a direction; the intercept moves along."""
        moved = self.passes.scores(p)
        linear, square = float(self.w @ p), float(p @ p)
        if 0.0 < self.scale < np.inf:
            linear += self.b * shift / self.scale**2
            square += (shift / self.scale) ** 2
        steep = abs(float(self.gradient @ p) + shift * self.bias_gradient)
        t = step_length(linear, square, steep, lambda t: self.slopes_along(moved, 1.0, shift, t))
        self.n_passes += 2.0
        return self.move(self.w + t * p, t * moved, t * shift), t

    def move(self, w: Vector, moved: Vector, shift: float) -> Evaluation:
        """To other weights, with which the scores change by `moved`, and an intercept larger by `shift`."""
        self.w = w
        self.f += moved
        if self.scale > 0.0:
            self.b += shift
        return self.evaluate()

    def multipliers(self, beta: Vector) -> Vector:
        """Feasible multipliers of coefficients that are feasible up to rounding."""
        loss, C = self.problem.loss, self.problem.costs
        box = loss.domain(C)
        alpha = np.clip(loss.multipliers(beta, self.y), box.lower, box.upper)
        return balanced(alpha, self.problem.coefficients(np.ones_like(alpha)), box) if np.isinf(self.scale) else alpha

    def refined(self, weights: Vector, alpha: Vector) -> tuple[Vector, Vector]:
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
            trial = self.multipliers(beta)
            seen = assess(self.problem, trial, w, None if free else b).difference
            self.n_passes += 3.0
            if not seen < best:
                break
            weights, alpha, best = w, trial, seen
            self.w, self.b = w, b
            self.gradient = w - self.passes.combination(beta)
            self.bias_gradient = (b / self.scale**2 if self.scale > 0.0 else 0.0) - float(np.sum(beta))
        return weights, alpha


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
