"""Implicit updates: stochastic steps that take the subgradient where they land (L2).

    minimise over w   lambda/2 |w|^2 + 1/n sum_i max(0, 1 - y_i <w, x_i>)      lambda = 1 / (C n)

A gradient step minimises 1/2 |w - w_t|^2 + eta J(w), with J, the objective of the one row drawn, replaced by its
tangent. The implicit step does not replace it:

    w_t+1 = argmin over w  1/2 |w - w_t|^2 + eta (lambda/2 |w|^2 + max(0, 1 - y_i <w, x_i>))
          = (w_t + gamma eta y_i x_i) / (1 + eta lambda)
    gamma = (1 + eta lambda - y_i <w_t, x_i>) / (eta |x_i|^2),  clipped to [0, 1]

The slope of the squared hinge is twice the slack that is left, so its gamma is not clipped:

    gamma = 2 slack / (1 + 2 removed)

with slack the 1 - y_i f_i before the step and removed what a step of gamma = 1 takes from it.

The step never overshoots the margin of its row, so long rows and long first steps do little harm. L2 leaves eta open;
here eta = 1 / (lambda t). A row with |x_i| = 0 takes gamma = 1, because no step changes its slack.

An augmented intercept is the weight of a constant feature. A free one is part of the same minimisation, which then
also has 1/2 (b - b_t)^2 eta / eta_b with eta_b = min(eta, 1). So b_t+1 = b_t + gamma eta_b y_i and, with
a = 1 / (1 + eta lambda),

    gamma = (1 - y_i (a <w_t, x_i> + b_t)) / (a eta |x_i|^2 + eta_b),  clipped to [0, 1].

Costs C_i of their own are honoured by drawing row i with probability C_i / sum_j C_j, where lambda = 1 / sum_j C_j.
Unwound, alpha_i is C_i times the mean gamma of the visits of row i: the dual point. See `solvers.lectures.visited` for
how loose the gap is. (L2 sets this step beside that of dual coordinate ascent, but prints that one without the old
alpha_i.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from maxmargin._loops.lectures.stochastic import implicit_steps
from maxmargin._loops.loss_curve import QUADRATIC
from maxmargin._types import RowIndex
from maxmargin.backends.threads import StopFlag
from maxmargin.problems import Problem, ProblemKind, Solution
from maxmargin.solvers.common.solver import is_plain
from maxmargin.solvers.lectures.visited import StochasticDescent, VisitingSolver, run


@dataclass(frozen=True)
class Implicit(VisitingSolver):
    """Implicit updates for linear problems with the hinge loss or its square, any intercept.

    random_state
        Seed of the draws; None for other draws each time.

    max_iter is a number of epochs, 100 when None.
    """

    random_state: int | None = 0
    name: ClassVar[str] = "implicit"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the implicit step on a margin has a closed form."""
        curve = problem.loss.curve
        return is_plain(problem) and curve is not None and curve.is_margin and curve.kind == QUADRATIC

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Descend from w = 0; a start is of no use, because the first steps are long enough to leave any."""
        linear = self.checked(problem)
        return run(self, linear, _Implicit(linear), self.random_state)


class _Implicit(StochasticDescent):
    """Implicit updates at work."""

    def visit(self, order: RowIndex, stop: StopFlag) -> None:
        """One step a row."""
        self.walk = implicit_steps(self.drawn, self.sizes, order, self.walk, self.vector, self.visited, stop)
