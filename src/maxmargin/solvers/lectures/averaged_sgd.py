"""Stochastic gradient descent that returns the average of its iterates (L1).

    minimise over w   lambda/2 |w|^2 + 1/n sum_i max(0, 1 - y_i <w, x_i>)      lambda = 1 / (C n)

    theta_1 <- 0
    for t = 1, ..., T:
        eta_t <- 1 / (lambda t);  w_t <- eta_t theta_t
        draw a row i
        theta_t+1 <- theta_t + y_i x_i   if y_i <w_t, x_i> < 1,   else theta_t
    return 1/T sum_t w_t

This is L1's listing. Its w_t+1 = theta_t+1 / (lambda (t + 1)) is a gradient step of size 1 / (lambda (t + 1)), not of
the eta_t it names: the listing is one count ahead of its derivation, which does no harm. L1 states the problem with
lambda |w|^2 first; the listing is for lambda/2 |w|^2.

The average costs no more a step than the row has entries. With g_s the term that step s adds to theta, and
H_t = 1 + 1/2 + ... + 1/t,

    sum over t <= T of w_t  =  1/lambda sum over s < t <= T of g_s / t  =  1/lambda (H_T theta_T+1 - sum_s H_s g_s),

so all it takes is a second vector, in which each term is multiplied by its H_s. The difference of two such sums is the
sum over the steps between them.

The first iterates are far off, |w_2| = |x_i| / (2 lambda), and their share of an average of all falls only like
log(T) / T. `average="half"` leaves out the first quarter to half of the steps, which gives the rate 1 / T (Rakhlin,
Shamir, Sridharan, ICML 2012); `average="all"` is the lecture's.

Costs C_i of their own are honoured by drawing row i with probability C_i / sum_j C_j, where lambda = 1 / sum_j C_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from maxmargin._loops.lectures.stochastic import averaged_steps
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import unknown_name
from maxmargin.problems import LinearProblem, Problem, Solution
from maxmargin.solvers.lectures.visited import StochasticDescent, VisitedPoint, VisitingSolver, run


@dataclass(frozen=True)
class AveragedSGD(VisitingSolver):
    """SGD with an averaged iterate, for hinge, squared hinge, logistic and epsilon-insensitive loss, any intercept.

    average
        "half" for the iterates of the second half or somewhat more, "all" for all of them.
    random_state
        Seed of the draws; None for other draws each time.

    max_iter is a number of epochs, 100 when None. The average of the coefficients along the way is a dual point; see
    `solvers.lectures.visited` for how loose the gap is. The squared hinge begins with steps 1 / (lambda (t + delay))
    small enough for its curvature.
    """

    average: Literal["half", "all"] = "half"
    random_state: int | None = 0
    name: ClassVar[str] = "asgd"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Descend from w = 0; a start is of no use, because the first step forgets it."""
        linear = self.checked(problem)
        if self.average not in ("half", "all"):
            raise unknown_name("average", self.average, ("half", "all"))
        return run(self, linear, _Averaging(linear, whole=self.average == "all"), self.random_state)


class _Sums(NamedTuple):
    """Sums of the iterates and of their coefficients over the steps so far."""

    steps: int
    weights: Vector
    beta: Vector


class _Averaging(StochasticDescent):
    """SGD at work; here `vector` is theta."""

    def __init__(self, problem: LinearProblem, whole: bool):
        super().__init__(problem)
        self.harmonic = 0.0
        self.late_vector = np.zeros_like(self.vector)
        self.late_visited = np.zeros_like(self.visited)
        self.marks = [self._sums()]
        self.next_mark = np.inf if whole else problem.n_rows  # then after 2, 4, 8, ... epochs

    def _sums(self) -> _Sums:
        return _Sums(
            self.walk.step,
            self.sizes.strength * (self.harmonic * self.vector - self.late_vector),
            self.sizes.strength * (self.harmonic * self.visited - self.late_visited),
        )

    def visit(self, order: RowIndex, stop: StopFlag) -> None:
        """One step a row."""
        if self.walk.step >= self.next_mark:
            self.marks = [self.marks[-1], self._sums()]
            self.next_mark *= 2
        self.walk, self.harmonic = averaged_steps(
            self.drawn,
            self.sizes,
            order,
            self.walk,
            self.harmonic,
            self.vector,
            self.visited,
            self.late_vector,
            self.late_visited,
            stop,
        )

    def point(self) -> VisitedPoint:
        """The average since the older of the last two marks."""
        now, since = self._sums(), self.marks[0]
        steps = max(1, now.steps - since.steps)
        return self._point((now.weights - since.weights) / steps, (now.beta - since.beta) / steps)
