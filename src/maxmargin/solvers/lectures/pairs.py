"""Two multipliers at a time, for the free intercept (L2).

    minimise over alpha   1/2 |w|^2 + 1/2 sum_i D_i alpha_i^2 - sum_i alpha_i      w = sum_i alpha_i y_i x_i
    subject to            0 <= alpha_i <= U_i,   sum_i alpha_i y_i = 0

    hinge:          U_i = C_i,       D_i = 0
    squared hinge:  U_i = infinity,  D_i = 1 / (2 C_i)

The free intercept brings the sum constraint, under which no multiplier can move alone. Moving two of them, alpha_i by
y_i delta and alpha_j by -y_j delta, keeps the sum and changes the objective by

    delta (y_i g_i - y_j g_j) + 1/2 delta^2 (|x_i - x_j|^2 + D_i + D_j)      g_i = y_i <w, x_i> - 1 + D_i alpha_i

L2 writes the linear terms without labels, as sum_j alpha_j <x_j, x_i>; right is y_i sum_j alpha_j y_j <x_j, x_i>, which
is y_i <w, x_i>. (Its alpha is lambda times ours.) The best delta, clipped to the two boxes, is the step: the dual never
falls, the multipliers stay feasible, and because w is kept a step costs the entries of two rows.

L2 leaves the choice of pairs open. With pull_i = -y_i g_i, a pair can improve the dual if and only if y_i alpha_i can
rise, y_j alpha_j can fall, and pull_i > pull_j. So:

    a round    forms all scores afresh, checks the gap, and calls active the rows that are part of such a pair
    a sweep    takes the active rows in random order and pairs each with the one of the next sixteen whose pull, as last
               seen, differs most from its own

The multipliers are feasible after every step and w is made of them, so the gap is as tight as that of any dual method.
Like all of them it is slow where C |x|^2 is large: scale the features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin._loops.lectures.dual_steps import DualRows, pair_sweep
from maxmargin._loops.loss_curve import QUADRATIC
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.losses import DualBox
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status, best_intercept
from maxmargin.solvers.common.feasible import balanced, feasible
from maxmargin.solvers.common.solver import is_plain, takes_another_intercept
from maxmargin.solvers.lectures.row_by_row import VisitingSolver, generator, pieces, primal_value, row_squares

_PASSES = 1000
_FEWEST, _MOST = 5, 50  # sweeps a round


@dataclass(frozen=True)
class Pairs(VisitingSolver):
    """Pairs of multipliers for linear problems with a free intercept: hinge and squared hinge.

    random_state
        Seed of the orders; None for other orders each time.

    max_iter is a number of passes, counted in visits of rows; 1000 when None.
    """

    random_state: int | None = 0
    name: ClassVar[str] = "pairs"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the multipliers of margins, from 0 on, are tied by a free intercept."""
        curve = problem.loss.curve
        if not is_plain(problem) or curve is None or not problem.intercept.is_free:
            return False
        return curve.is_margin and curve.kind == QUADRATIC and curve.high == curve.tube == 0.0

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit; where it is the intercept, what would help."""
        if not takes_another_intercept(self, problem):
            return super().refusal(problem)
        return (
            f"solver='pairs' is for the free intercept, not for: {problem.objective}. "
            "Without it the multipliers can move one at a time; use solver='dcd'."
        )

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Ascend from the multipliers of `start`, made feasible, or from zero."""
        linear = self.checked(problem)
        box = linear.loss.dual_box(linear.costs)
        assert box is not None
        history = History()
        ascent = _PairSweeps(self, linear, box, history)
        at = _evaluate(linear, box, np.zeros(linear.n_rows) if start is None else feasible(linear, start.alpha, box))
        status = Status.BUDGET
        try:
            while True:
                history.record(ascent.visits / linear.n_rows, at.primal, at.dual)
                if status is not Status.INTERRUPTED and at.is_within(self.tol):
                    status = Status.CONVERGED
                if status is not Status.BUDGET or ascent.is_over():
                    break
                _, interrupted = run_until_interrupted(partial(ascent.climb, at))
                before, at = at, _evaluate(linear, box, ascent.alpha)
                if interrupted:
                    status = Status.INTERRUPTED
                elif not ascent.is_over() and at.dual <= before.dual and at.violation >= before.violation:
                    status = Status.STALLED
        except KeyboardInterrupt:  # during an evaluation: the point before it stays
            status = Status.INTERRUPTED
        passes = ascent.visits / linear.n_rows
        return Solution(at.alpha, at.weights, None, status, history, self.name, passes, history.elapsed)


class _Round(NamedTuple):
    """A point with all that fresh scores tell of it."""

    alpha: Vector
    weights: Vector
    pull: Vector
    active: RowIndex
    primal: float
    dual: float
    violation: float

    def is_within(self, tol: float) -> bool:
        """Whether the gap and the KKT violation are within the tolerance."""
        return self.primal - self.dual <= tol * abs(self.primal) and self.violation <= tol


def _evaluate(problem: LinearProblem, box: DualBox, alpha: Vector) -> _Round:
    """Form w and the scores afresh, in two passes; the sum of alpha_i y_i loses the rounding of many steps."""
    y = problem.targets
    alpha = balanced(alpha, y, box)
    w = problem.weights_from(y * alpha)
    f = problem.scores(w)
    b = float(np.asarray(best_intercept(problem.loss, f, y, problem.costs)))
    pull = y * (box.linear - box.diagonal * alpha) - f
    rises = np.where(y > 0.0, alpha < box.upper, alpha > 0.0)
    falls = np.where(y > 0.0, alpha > 0.0, alpha < box.upper)
    highest, lowest = np.max(pull[rises], initial=-np.inf), np.min(pull[falls], initial=np.inf)
    return _Round(
        alpha=alpha,
        weights=w,
        pull=pull,
        active=np.flatnonzero((rises & (pull > lowest)) | (falls & (pull < highest))),
        primal=primal_value(problem, w, f, b),
        dual=float(box.linear @ alpha - 0.5 * (w @ w) - 0.5 * box.diagonal @ np.square(alpha)),
        violation=float(np.max(problem.loss.score_violation(f + b, -y * alpha / problem.costs, y))),
    )


class _PairSweeps:
    """Sweeps of compiled steps, and the vectors they change."""

    alpha: Vector

    def __init__(self, solver: Pairs, problem: LinearProblem, box: DualBox, history: History):
        rows, squares = problem.source.loop_rows, row_squares(problem)
        self.dual = DualRows(rows, problem.targets, squares, box.upper, box.diagonal, problem.curve.aim)
        self.room_for_row = np.zeros(problem.source.n_features)
        self.problem, self.history, self.visits = problem, history, 0
        self.rng = generator(solver.random_state)
        self.max_visits = problem.n_rows * (_PASSES if solver.max_iter is None else solver.max_iter)
        self.max_seconds = math.inf if solver.max_seconds is None else solver.max_seconds

    def is_over(self) -> bool:
        """Whether a budget is spent."""
        return self.visits >= self.max_visits or self.history.elapsed > self.max_seconds

    def climb(self, at: _Round, stop: StopFlag) -> None:
        """From the given point, as many sweeps as cost about what an evaluation costs: the visits of two passes."""
        self.alpha, w, pull = at.alpha.copy(), at.weights.copy(), at.pull.copy()
        sweeps = 2 * self.problem.n_rows // max(1, len(at.active))
        for _ in range(min(max(sweeps, _FEWEST), _MOST)):
            for piece in pieces(self.problem, self.rng.permutation(at.active)):
                if stop[0] != 0 or self.is_over():
                    return
                pair_sweep(self.dual, piece, self.alpha, w, pull, self.room_for_row, stop)
                self.visits += len(piece)
