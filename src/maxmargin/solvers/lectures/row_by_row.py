"""What the solvers that visit one row after the other share: draws, dual points, the best so far, and the run.

    minimise over w, b   P(w, b) = 1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(<w, x_i> + b)

A duality gap needs a dual point beside w. Two are at hand at every check, and the better one counts:

    visits    w = sum_i beta_i x_i, and -beta_i / C_i is the slope that row i had at its visits, on average over time:
              such averages tend to the optimal multipliers
    slopes    beta_i = -C_i v_i, with v_i the slope of the loss at the score that row i has now

Both are brought into the domain of the dual: clipped to the box, balanced for a free intercept, and multiplied by the
best number. Visits suit the hinge, whose slope jumps just where the optimal multipliers lie between its two values;
slopes suit the smooth losses. The gap is true but loose: it falls with the distance of w from the optimum, while the
suboptimality falls with its square. Ten times the suboptimality is usual, and at large C the gap may be most of P.

A free intercept takes steps along with w, and at every check, where the best one is computed anyway, it is put there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._loops.lectures.stochastic import DrawnRows, StepSizes, Walk
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.certificates import assess
from maxmargin.data import squared_norms
from maxmargin.data.source import blocks
from maxmargin.errors import ParameterError
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status, best_intercept
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.solver import Solver, is_plain, losses_of

_EPOCHS = 100
_PIECE = 1 << 20  # entries of rows between two looks at the clock: some milliseconds
_VISIT = 32  # entries whose time a visit of the shortest row takes, with the choice of its partner


@dataclass(frozen=True)
class VisitingSolver(Solver):
    """A solver of linear problems with the penalty 1/2 |w|^2 that visits one row, or a few, after the other."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether slopes tell the way: those of a regression with no bound would throw w ever further out."""
        curve = problem.loss.curve
        return is_plain(problem) and curve is not None and (curve.is_margin or curve.is_bounded)

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit: kernel or penalty, or the loss."""
        if not is_plain(problem):
            what = f"linear problems with the penalty 1/2 |w|^2, not for: {problem.objective}."
            return f"solver={self.name!r} is for {what}"
        known = ", ".join(losses_of(self, problem))
        return f"solver={self.name!r} cannot do the {problem.loss.name} loss. It can do: {known}."

    def checked(self, problem: Problem) -> LinearProblem:
        """The problem, if the solver takes it."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        return problem


def row_squares(problem: LinearProblem) -> Vector:
    """|x_i|^2 of every row."""
    return np.concatenate([squared_norms(block.X) for block in blocks(problem.source)])


def generator(random_state: int | None) -> np.random.Generator:
    """Random numbers that are the same for the same `random_state`, and others each time for None."""
    if random_state is not None and (not isinstance(random_state, Integral) or random_state < 0):
        raise ParameterError(f"random_state must be None or a whole number from 0 on, got {random_state!r}.")
    return np.random.default_rng(random_state)


def draws(costs: Vector, rng: np.random.Generator) -> RowIndex:
    """Rows of one epoch in random order: n draws, of which row i gets n C_i / sum_j C_j.

    A share that is no whole number is rounded up or down at random and is right on average. Equal costs give every
    row once. (The alternative, even draws with steps times C_i, takes huge steps on the rare rows with large costs.)
    """
    n = len(costs)
    ends = np.cumsum(costs)
    marks = (np.arange(n) + rng.random()) * (ends[-1] / n)
    return rng.permutation(np.minimum(np.searchsorted(ends, marks, side="right"), n - 1))


def pieces(problem: LinearProblem, order: RowIndex, multiple: int = 1) -> Iterator[RowIndex]:
    """The order in pieces between which there is time to look at the clock, each a multiple of so many rows."""
    X = problem.source.X
    entries = X.nnz // max(1, X.shape[0]) if sparse.issparse(X) else X.shape[1]
    length = multiple * max(1, _PIECE // (multiple * max(_VISIT, entries)))
    return (order[top : top + length] for top in range(0, len(order), length))


class VisitedPoint(NamedTuple):
    """Weights, intercept (None asks for the best one) and the coefficients of the rows."""

    weights: Vector
    bias: float | None
    beta: Vector


def intercept_of(problem: LinearProblem, point: VisitedPoint, f: Vector) -> float:
    """The intercept of a point with scores f."""
    if point.bias is not None:
        return point.bias
    return float(np.asarray(best_intercept(problem.loss, f, problem.targets, problem.costs)))


def slopes_at(problem: LinearProblem, f: Vector, b: float) -> Vector:
    """Coefficients beta_i = -C_i v_i with v_i a slope of the loss at f_i + b.

    For a free intercept b must be the best one, and the coefficients are balanced: just left of the best b the slopes
    sum to at most zero, just right of it to at least zero, and a mixture of the two sums to zero.
    """
    if not problem.intercept.is_free:
        return -problem.costs * problem.loss.score_slope(f + b, problem.targets)
    hair = 1e-9 * (1.0 + abs(b) + float(np.max(np.abs(f))))
    left = -problem.costs * problem.loss.score_slope(f + b - hair, problem.targets)
    right = -problem.costs * problem.loss.score_slope(f + b + hair, problem.targets)
    above, below = max(0.0, math.fsum(left)), min(0.0, math.fsum(right))
    share = -below / (above - below) if above > below else 0.5
    return share * left + (1.0 - share) * right


def primal_value(problem: LinearProblem, weights: Vector, f: Vector, b: float) -> float:
    """P(w, b) for the scores f of w."""
    s = problem.intercept.scale
    penalty = problem.penalty.value(weights) + (0.5 * (b / s) ** 2 if 0.0 < s < np.inf else 0.0)
    return penalty + float(problem.costs @ problem.loss.score_value(f + b, problem.targets))


def into_domain(problem: LinearProblem, beta: Vector) -> Vector:
    """Multipliers of the coefficients, clipped to the box of the dual and balanced for a free intercept."""
    C = problem.costs
    box = problem.loss.domain(C)
    alpha = np.clip(problem.loss.multipliers(beta, problem.targets), box.lower, box.upper)
    return balanced(alpha, problem.coefficients(np.ones_like(alpha)), box) if problem.intercept.is_free else alpha


def best_multiple(problem: LinearProblem, alpha: Vector, combination: Vector) -> tuple[Vector, float]:
    """The c alpha with the largest D(c alpha), and that value; `combination` is sum_i beta_i x_i.

    Where the dual is a quadratic on a box, D(c alpha) = c linear - 1/2 c^2 quadratic, and c <= 1 keeps a bounded box.
    """
    beta = problem.coefficients(alpha)
    intercept = 0.0 if problem.intercept.is_free else problem.intercept.scale * math.fsum(beta)
    square = float(combination @ combination) + intercept**2
    conjugate = problem.loss.score_conjugate(-beta / problem.costs, problem.targets)
    dual = -0.5 * square - float(problem.costs @ conjugate)
    box = problem.loss.dual_box(problem.costs)
    if box is None:
        return alpha, dual
    quadratic = square + float(box.diagonal @ np.square(alpha))
    linear = dual + 0.5 * quadratic
    ends = np.concatenate([box.lower, box.upper])
    limit = 1.0 if np.any(np.isfinite(ends) & (ends != 0.0)) else np.inf
    c = min(max(linear / quadratic, 0.0), limit) if quadratic > 0.0 else 1.0
    return c * alpha, c * linear - 0.5 * c**2 * quadratic


class Best:
    """The best weights and the best multipliers seen so far; before any are seen, zeros."""

    def __init__(self, problem: LinearProblem):
        self.problem = problem
        self.weights = np.zeros(problem.source.n_features)
        self.bias: float | None = None if problem.intercept.is_free else 0.0
        self.alpha = np.zeros(problem.n_rows)
        self.primal, self.dual = np.inf, -np.inf

    def offer_weights(self, point: VisitedPoint, primal: float) -> None:
        """Keep the weights if they are better."""
        if primal < self.primal:
            self.weights, self.bias, self.primal = point.weights, point.bias, primal

    def offer_multipliers(self, alpha: Vector, combination: Vector | None = None) -> None:
        """Keep the best multiple of feasible multipliers if it is better; `combination` is their sum_i beta_i x_i."""
        if combination is None:
            combination = self.problem.weights_from(self.problem.coefficients(alpha))
        alpha, dual = best_multiple(self.problem, alpha, combination)
        if dual > self.dual:
            self.alpha, self.dual = alpha, dual

    def evaluate(self, point: VisitedPoint) -> float:
        """Evaluate weights and both dual points they give, in three passes; returns the intercept."""
        f = self.problem.scores(point.weights)
        b = intercept_of(self.problem, point, f)
        self.offer_weights(point, primal_value(self.problem, point.weights, f, b))
        self.offer_multipliers(into_domain(self.problem, point.beta))
        self.offer_multipliers(into_domain(self.problem, slopes_at(self.problem, f, b)))
        return b

    def is_within(self, tol: float) -> bool:
        """Whether the gap and, computed only then, the KKT violation are within the tolerance."""
        if self.primal - self.dual > tol * abs(self.primal):
            return False
        return assess(self.problem, self.alpha, self.weights, self.bias).kkt_violation <= tol

    def solution(self, solver: Solver, status: Status, history: History, passes: float) -> Solution:
        """What the solver hands back."""
        return Solution(self.alpha, self.weights, self.bias, status, history, solver.name, passes, history.elapsed)


class StochasticDescent(ABC):
    """A stochastic solver at work: w = scale * vector and beta = scale * visited, as in `stochastic`."""

    def __init__(self, problem: LinearProblem):
        squares, curve = row_squares(problem), problem.curve
        self.drawn = DrawnRows(problem.source.loop_rows, problem.targets, squares, curve)
        self.free = problem.intercept.is_free
        strength, delay = float(np.sum(problem.costs)), 0.0
        constant = 0.0 if self.free else problem.intercept.scale**2
        if not curve.is_bounded:
            # The slope of this loss has no bound: steps above 1 / curvature would throw w further out each time.
            delay = strength / curve.ridge * (float(np.max(squares)) + (1.0 if self.free else constant))
        self.sizes = StepSizes(strength, delay, constant, _unit_of_scores(problem) if self.free else 0.0)

        self.walk = Walk()
        self.vector = np.zeros(problem.source.n_features)
        self.visited = np.zeros(problem.n_rows)

    @abstractmethod
    def visit(self, order: RowIndex, stop: StopFlag) -> None:
        """Take the steps for these rows, until `stop` is raised."""

    def point(self) -> VisitedPoint:
        """What the solver would answer now."""
        scale = self.walk.scale
        return self._point(scale * self.vector, scale * self.visited)

    def _point(self, weights: Vector, beta: Vector) -> VisitedPoint:
        return VisitedPoint(weights, None if self.free else self.sizes.constant * math.fsum(beta), beta)

    def settle(self, b: float) -> None:
        """Put a free intercept where a check found it best; its steps go on from there."""
        if self.free:
            self.walk = self.walk._replace(bias=b)


def _unit_of_scores(problem: LinearProblem) -> float:
    """How far scores are apart: 1, the margin, for classes; the spread of the targets for regression."""
    return 1.0 if problem.curve.is_margin else float(np.std(problem.targets))


def run(
    solver: Solver, problem: LinearProblem, descent: StochasticDescent, random_state: int | None, batch: int = 1
) -> Solution:
    """Epoch after epoch, with checks after 1, 2, 3, 4, 6, 9, 13, ... of them, until the gap or a budget says stop."""
    history, best, rng = History(), Best(problem), generator(random_state)
    epochs = _EPOCHS if solver.max_iter is None else solver.max_iter
    limit = np.inf if solver.max_seconds is None else solver.max_seconds
    status, visits, due = Status.BUDGET, 0, 1

    def epoch(stop: StopFlag) -> None:
        nonlocal visits
        for piece in pieces(problem, draws(problem.costs, rng), batch):
            if stop[0] != 0 or history.elapsed > limit:
                break
            descent.visit(piece, stop)
            visits += len(piece)

    try:
        for k in range(1, epochs + 1):
            _, interrupted = run_until_interrupted(epoch)
            over = interrupted or k == epochs or history.elapsed > limit
            if not (over or k == due):
                continue
            due = k + max(1, k // 2)
            descent.settle(best.evaluate(descent.point()))
            history.record(visits / problem.n_rows, best.primal, best.dual)
            if best.is_within(solver.tol):
                status = Status.CONVERGED
            if interrupted:
                status = Status.INTERRUPTED
            if over or status is Status.CONVERGED:
                break
    except KeyboardInterrupt:  # during a check: what was found before it stays
        status = Status.INTERRUPTED
    return best.solution(solver, status, history, visits / problem.n_rows)
