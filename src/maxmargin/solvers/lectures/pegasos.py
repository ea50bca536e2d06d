"""Pegasos: stochastic subgradient descent with steps 1 / (lambda t) and a projection (L0, L1, L2).

    minimise over w   lambda/2 |w|^2 + 1/n sum_i max(0, 1 - y_i <w, x_i>)      lambda = 1 / (C n)

    w <- 0
    for t = 1, 2, ...:
        draw a row i;  eta <- 1 / (lambda t)
        w <- (1 - eta lambda) w + eta y_i x_i    if y_i <w, x_i> < 1
        w <- (1 - eta lambda) w                  otherwise
        w <- min(1, 1 / (sqrt(lambda) |w|)) w

L2 prints the last line after the loop; it belongs inside. L2's "explicit update" leaves out the eta before y_i x_i.

With costs C_i of their own, lambda = 1 / sum_i C_i, and row i is drawn with probability C_i / sum_j C_j: the listing
stays as it is, and so does its guarantee, in which the longest step counts. An epoch draws without putting back
(`visited.draws`). With `batch` rows a step, the mean of their terms takes the place of the one.

The optimum lies in the ball, whose radius is that of the hinge. For any loss w = sum_i beta_i x_i there, with
beta_i = -C_i v_i and v_i f_i = l(f_i) + l*(v_i), so that

    |w|^2 = sum_i beta_i f_i <= -sum_i C_i l*(v_i) <= sum_i C_i l(0),

because l is never negative and l(0) is the largest -l*(v). A free intercept drops out of the sum; an augmented one is
part of w here and in the ball.

Unwound, and without the projection, w after t steps is 1 / (lambda t) times the sum of y_i x_i over the draws that fell
short of the margin: alpha_i is C_i times the share of its visits at which row i did. This is the dual point; see
`solvers.lectures.visited` for how loose the gap is. The suboptimality after T steps is of the order |x|^2 log(T) /
(lambda T) in the mean form (Shalev-Shwartz, Singer, Srebro, ICML 2007), so about C |x|^2 over the number of epochs,
relative to P: large C needs many epochs, or short rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from maxmargin._loops.lectures.stochastic import pegasos_steps
from maxmargin._types import RowIndex
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import ParameterError
from maxmargin.problems import LinearProblem, Problem, Solution
from maxmargin.solvers.lectures.visited import StochasticDescent, VisitingSolver, run


@dataclass(frozen=True)
class Pegasos(VisitingSolver):
    """Pegasos for linear problems: hinge, squared hinge, logistic and epsilon-insensitive loss, any intercept.

    projection
        Whether w is kept in the ball in which the optimum lies.
    batch
        Rows a step.
    random_state
        Seed of the draws; None for other draws each time.

    max_iter is a number of epochs, 100 when None. The squared hinge, whose slope has no bound, begins with steps small
    enough for its curvature: 1 / (lambda (t + delay)).
    """

    projection: bool = True
    batch: int = 1
    random_state: int | None = 0
    name: ClassVar[str] = "pegasos"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Descend from w = 0; a start is of no use, because the first step multiplies it by 1 - eta lambda = 0."""
        linear = self.checked(problem)
        if not isinstance(self.batch, Integral) or self.batch < 1:
            raise ParameterError(f"batch must be a number of rows, at least 1, got batch={self.batch!r}.")
        batch = min(int(self.batch), linear.n_rows)
        radius = _radius(linear) if self.projection else math.inf
        return run(self, linear, _Pegasos(linear, radius, batch), self.random_state, batch)


def _radius(problem: LinearProblem) -> float:
    """Of a ball in which the optimum lies."""
    return math.sqrt(problem.costs @ problem.loss.score_value(np.zeros(problem.n_rows), problem.targets))


class _Pegasos(StochasticDescent):
    """Pegasos at work."""

    def __init__(self, problem: LinearProblem, radius: float, batch: int):
        super().__init__(problem)
        self.radius, self.batch = radius, batch
        self.slopes = np.zeros(batch)

    def visit(self, order: RowIndex, stop: StopFlag) -> None:
        """One step a batch."""
        self.walk = pegasos_steps(
            self.drawn,
            self.sizes,
            self.radius,
            self.batch,
            order,
            self.walk,
            self.slopes,
            self.vector,
            self.visited,
            stop,
        )
