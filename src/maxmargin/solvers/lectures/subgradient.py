"""Subgradient descent on the whole objective (L0).

    minimise over w   F(w) = min over b of P(w, b)      P(w, b) = 1/2 |w|^2 + sum_i C_i l_{y_i}(<w, x_i> + b)

    w <- 0
    for t = 1, 2, ...:
        v_i <- a slope of l_{y_i} at <w, x_i> + b
        w <- w - eta (w + sum_i C_i v_i x_i)

A free intercept is not stepped but set to its best value. F is as strongly convex as 1/2 |w|^2, and its subgradients
are those of P in w at the best b for which sum_i C_i v_i = 0 (`row_by_row.slopes_at`). Costs stand where they stand in
P; in the mean form of the lecture lambda = 1 / sum_i C_i, and the step there is eta / lambda.

L0 leaves eta open; that of Pegasos, 1 / (lambda t), would be eta = 1 / t here. We take eta = 2 / (t + 1), which forgets
the first, wild steps sooner and rids the rate of its logarithm (Lacoste-Julien, Schmidt, Bach, arXiv:1212.2002). The
squared hinge needs steps below 1 / curvature: 2 / (t + 1 + delay). L0 then unrolls the sum into steps row by row; that
is Pegasos.

A step is a mixture: with beta_i = -C_i v_i,

    w <- (1 - eta) w + eta sum_i beta_i x_i,

so w is made of averaged beta_i, and averages of feasible multipliers are feasible: this is the Frank-Wolfe method on
the dual (Bach, SIAM J. Optim. 25, 2015). P at the best iterate minus D at the averages falls like 1 / t, so the gap is
tighter than that of the stochastic solvers. It is loose where C |x|^2 is large: the first steps are sum_i C_i long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.lectures.row_by_row import (
    Best,
    VisitedPoint,
    VisitingSolver,
    intercept_of,
    into_domain,
    primal_value,
    row_squares,
    slopes_at,
)

_STEPS = 1000


@dataclass(frozen=True)
class Subgradient(VisitingSolver):
    """Subgradient descent: hinge, squared hinge, logistic and epsilon-insensitive loss, any intercept.

    max_iter is a number of steps, 1000 when None; a step passes over the rows twice. The best iterate is kept, since a
    subgradient step may go up.
    """

    name: ClassVar[str] = "subgradient"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Descend from w = 0; a start is of no use, because the first step, with eta = 1, forgets it."""
        linear = self.checked(problem)
        history, best = History(), Best(linear)
        status, passes = Status.BUDGET, 0
        limit = np.inf if self.max_seconds is None else self.max_seconds
        delay = _delay(linear)
        w, beta = best.weights, np.zeros(linear.n_rows)
        try:
            for t in range(1, 1 + (_STEPS if self.max_iter is None else self.max_iter)):
                free = linear.intercept.is_free
                point = VisitedPoint(w, None if free else linear.intercept.scale**2 * math.fsum(beta), beta)
                f = linear.scores(w)
                b = intercept_of(linear, point, f)
                slopes = slopes_at(linear, f, b)
                target = linear.weights_from(slopes)
                best.offer_weights(point, primal_value(linear, w, f, b))
                best.offer_multipliers(into_domain(linear, beta), w)
                best.offer_multipliers(into_domain(linear, slopes), target)
                passes = t
                history.record(passes, best.primal, best.dual)
                if best.is_within(self.tol):
                    status = Status.CONVERGED
                if status is Status.CONVERGED or history.elapsed > limit:
                    break
                eta = 2.0 / (t + 1 + delay)
                w = w + eta * (target - w)
                beta = beta + eta * (slopes - beta)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return best.solution(self, status, history, passes)


def _delay(problem: LinearProblem) -> float:
    """How much later the steps begin for a loss whose slope has no bound: 2 / delay is 1 / curvature."""
    if problem.curve.is_bounded:
        return 0.0
    constant = 0.0 if problem.intercept.is_free else problem.intercept.scale**2
    return 2.0 * float(problem.costs @ (row_squares(problem) + constant)) / problem.curve.ridge
