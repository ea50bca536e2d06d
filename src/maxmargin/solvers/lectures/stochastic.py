"""Stochastic solvers of the lectures: Pegasos, SGD with an average, implicit updates.

    minimise over w   lambda/2 |w|^2 + 1/n sum_i max(0, 1 - y_i <w, x_i>)      lambda = 1 / (C n)

With costs C_i of their own, lambda = 1 / sum_j C_j, and row i is drawn with probability C_i / sum_j C_j: the listings
stay as they are, and so do their guarantees, in which the longest step counts. An epoch draws without putting back
(`row_by_row.draws`). Averages of the coefficients along the way are a dual point; see `row_by_row` for how loose its
gap is.

Pegasos: steps 1 / (lambda t) and a projection (L0, L1, L2)
-----------------------------------------------------------

    w <- 0
    for t = 1, 2, ...:
        draw a row i;  eta <- 1 / (lambda t)
        w <- (1 - eta lambda) w + eta y_i x_i    if y_i <w, x_i> < 1
        w <- (1 - eta lambda) w                  otherwise
        w <- min(1, 1 / (sqrt(lambda) |w|)) w

L2 prints the last line after the loop; it belongs inside. L2's "explicit update" leaves out the eta before y_i x_i.
With `batch` rows a step, the mean of their terms takes the place of the one.

The optimum lies in the ball, whose radius is that of the hinge. For any loss the optimum is w = sum_i beta_i x_i with
beta_i = -C_i v_i and v_i f_i = l(f_i) + l*(v_i), so that

    |w|^2 = sum_i beta_i f_i <= -sum_i C_i l*(v_i) <= sum_i C_i l(0),

because l is never negative and l(0) is the largest -l*(v). Losses of a margin with l(0) < 1 keep the ball of the hinge,
whose l(0) is 1. A free intercept drops out of the sum; an augmented one is
part of w here and in the ball.

Unwound, and without the projection, w after t steps is 1 / (lambda t) times the sum of y_i x_i over the draws that fell
short of the margin: alpha_i is C_i times the share of its visits at which row i did. This is the dual point. The
suboptimality after T steps is of the order |x|^2 log(T) / (lambda T) in the mean form (Shalev-Shwartz, Singer, Srebro,
ICML 2007), so about C |x|^2 over the number of epochs, relative to P: large C needs many epochs, or short rows.

SGD that returns the average of its iterates (L1)
-------------------------------------------------

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

Implicit updates: the subgradient is taken where the step lands (L2)
--------------------------------------------------------------------

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

Unwound, alpha_i is C_i times the mean gamma of the visits of row i: the dual point. (L2 sets this step beside that of
dual coordinate ascent, but prints that one without the old alpha_i.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from maxmargin._loops.lectures.stochastic import averaged_steps, implicit_steps, pegasos_steps
from maxmargin._loops.loss_curve import QUADRATIC
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import ParameterError, unknown_name
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution
from maxmargin.solvers.common.solver import is_plain
from maxmargin.solvers.lectures.row_by_row import StochasticDescent, VisitedPoint, VisitingSolver, run


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
    at_zero = problem.loss.score_value(np.zeros(problem.n_rows), problem.targets)
    return math.sqrt(problem.costs @ (np.maximum(at_zero, 1.0) if problem.curve.is_margin else at_zero))


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


@dataclass(frozen=True)
class AveragedSGD(VisitingSolver):
    """SGD with an averaged iterate, for hinge, squared hinge, logistic and epsilon-insensitive loss, any intercept.

    average
        "half" for the iterates of the second half or somewhat more, "all" for all of them.
    random_state
        Seed of the draws; None for other draws each time.

    max_iter is a number of epochs, 100 when None. The average of the coefficients along the way is a dual point; see
    `solvers.lectures.row_by_row` for how loose the gap is. The squared hinge begins with steps 1 / (lambda (t + delay))
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
