"""Newton's method and the method of multipliers on the primal of a linear problem, as questions to its rows.

    minimise over w, b    1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(<w, x_i> + b)

With v_i the slope of each row's loss at its score, g = w + X' (C v) the gradient in w and h that in b, the slopes are
multipliers too (beta = -C v), and the duality gap at the point is a sum of two parts, neither of which is negative:

    apart    1/2 |g|^2 + 1/2 (s h)^2                                        which Newton steps bring to zero
    rows     sum_i C_i (l_{y_i}(f_i) + l_{y_i}*(v_i) - v_i f_i)             zero for a loss with a slope everywhere

so the gap keeps its digits where primal and dual agree in all of theirs. A free intercept has no s; where the rows do
not settle it themselves, its share is what a Newton step in it would bring, h^2 over twice the curvature.

Losses with kinks. Hinge and tube have no curvature, so Newton's method has nothing to hold on to. Their conjugates are
strongly convex as soon as 1/(2 sigma) (v - u)^2 is added, and with centres u_i the loss of a row becomes

    max over v of    v f - l_y*(v) - 1/(2 sigma) (v - u_i)^2        slope v_i, curvature sigma or 0

    hinge    -y v_i = clip(-y u_i + sigma (1 - y f_i), 0, 1)
    tube        v_i = clip(shrink(u_i + sigma (f_i - y_i), sigma epsilon), -1, 1)

A proximal step moves the centres to the slopes found, u <- v: this is the proximal-point method on the dual. Its fixed
point is the optimum whatever sigma is, and a larger sigma needs fewer steps. Each smooth problem has slopes that are
feasible multipliers of the original one. Of the two parts of the gap the larger one is worked on: that of the gradient
by a Newton step, that of the rows by a proximal step, with sigma growing. Where Newton steps become short, because a
stiff row stops each of them, sigma falls instead; the centres then stay where they are if the slopes at hand are much
worse, as those of a point far from the minimum are. Only rows within about 1/sigma of a kink have curvature, at the end
hardly more rows than features: the Newton equations are small however many rows there are.

Losses without kinks. Where C is very large, rows that meet their margin with nothing to spare are walls that stop one
step after the other at once. Answers for smaller costs have violated rows, and with them the curvature that shows the
way between these walls: then the method goes by way of them.

Questions. The method keeps w, b and a few numbers. Whatever takes the rows it asks of somebody who has them, in memory
(`solvers.linear.newton`), block by block (`solvers.streams.newton`), or elsewhere: `NewtonMethod.run` is a
generator of questions, to which it is sent the answers. Who has rows in several places adds up the sums of all; who
has several problems on the same rows may answer all of them in the same passes.

Squared hinge: Keerthi and DeCoste, JMLR 2005; conjugate gradients: Lin, Weng and Keerthi, JMLR 2008; multipliers:
Rockafellar, Math. Oper. Res. 1976; semismooth Newton inside: Li, Sun and Toh, SIAM J. Optim. 2018, for the lasso.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maxmargin._types import Vector
from maxmargin.problems import Status

GROWTH = 3.0
"""The factor on sigma at a proximal step."""
_SOFTENED = 0.03  # the factor on sigma where kinks stop step after step
_SHORT, _PATIENCE = 0.001, 15  # so many steps that are so short lead nowhere, where there are kinks
_MUCH = 10.0  # times the gap: multipliers are not given up for such worse ones
_RANGE = 1e12  # of sigma, either way from the first
_SMALLER = 0.1 ** np.arange(6.0, 0.0, -1.0)  # costs to come from, as parts of those given
_ON_THE_WAY = 1e-2  # tolerance for smaller costs
_NEAR = 0.7  # of the tolerance: a violation that will be within it when it is computed again
_MOST_STEPS, _MOST_WITH_KINKS = 200, 1000
_LINE_STEPS = 60
_BEFORE, _BEHIND = 0.01, 0.1
"""Parts of the slope at the beginning between which a step may end: rather behind the minimum, because rows whose kinks
stopped the step then have curvature."""


class Evaluation(NamedTuple):
    """What the rows say of a point, summed over all of them."""

    w: Vector
    b: float
    """The point; who settles the intercept gives the best one."""
    loss: float
    conjugate: float
    """sum_i C_i l*(v_i) at the slopes v_i."""
    surplus: float
    """sum_i beta_i."""
    violation: float
    combination: Vector
    """sum_i beta_i x_i."""
    corner: float = np.inf
    """Curvature of the objective in a free intercept; infinite where b is the best one."""


class Begin(NamedTuple):
    """Evaluate a point to begin with: this one, or a better one on the way to it."""

    w: Vector
    b: float


class At(NamedTuple):
    """Evaluate this point."""

    w: Vector
    b: float


class Proximal(NamedTuple):
    """Move the centres to the slopes at the present point, unless they are to stay; evaluate it with this sigma."""

    sigma: float
    moves: bool


class AtCost(NamedTuple):
    """Evaluate the present point with all costs times this factor."""

    cost: float


class Direction(NamedTuple):
    """Newton's direction in w and b at the present point, and whether it is from the matrix of just this point."""

    gradient: Vector
    bias_gradient: float
    accuracy: float
    """Relative accuracy that is enough."""
    length: float
    left: float
    """Length of the last step, and the share of the gap that it left: whether its matrix will do once more. Infinite
    where the last thing was no step."""


class Along(NamedTuple):
    """Go along a direction to where the objective is lowest, nearly; evaluate there and tell the length of the way."""

    p: Vector
    shift: float
    slope: float
    """Of the objective along it at first."""


Question: TypeAlias = Begin | At | Proximal | AtCost | Direction | Along
"""`Direction` is answered by (p, shift, is_exact), `Along` by (evaluation, length), the others by an evaluation."""
Asking: TypeAlias = Generator[Question, Any, Status]


class Pace(NamedTuple):
    """When steps without kinks are jammed: so many in a row that are so short."""

    short: float
    patience: int


class NewtonMethod:
    """Where one problem is, and what is asked next.

    `scale` is s, `height` the size of a score, `pace` what suits those who answer. With kinks `sigma` is the stiffness
    that the rows begin with, and `centre_dual` the dual value at their centres, as far as it is known. `listener` is
    told of every point that was evaluated.
    """

    def __init__(
        self,
        w: Vector,
        b: float,
        *,
        scale: float,
        has_kinks: bool,
        pace: Pace,
        sigma: float = 1.0,
        centre_dual: float = -np.inf,
        listener: Callable[[], None] | None = None,
    ):
        self.w, self.b, self.scale, self.has_kinks, self.pace, self.sigma = w, b, scale, has_kinks, pace, sigma
        self.cost, self._listener = 1.0, listener
        self.primal, self.dual, self.centre_dual = np.inf, -np.inf, centre_dual
        self.gap, self.violation = np.inf, np.inf
        self.is_begun = self.is_close = False
        self._before: tuple[Vector, float, float, float, float, float] | None = None

    def run(self, tol: float, max_steps: int | None = None) -> Asking:
        """Steps until gap and violation are within the tolerance or nothing helps; returns how it ended."""
        self.is_close = False
        seen = yield At(self.w, self.b) if self.is_begun else Begin(self.w, self.b)
        self.is_begun = True
        # Steps that are counted may not be spent on other costs.
        status = yield from self._steps(seen, tol, max_steps, may_jam=not self.has_kinks and max_steps is None)
        if status is None:
            status = yield from self._by_way_of_smaller_costs(tol)
        self.is_close = status is Status.CONVERGED
        return status

    def _by_way_of_smaller_costs(self, tol: float) -> Asking:
        before = self._before = (self.w, self.b, self.primal, self.dual, self.gap, self.violation)
        for cost in _SMALLER:
            seen = yield AtCost(float(cost))
            self.cost = float(cost)
            yield from self._steps(seen, max(tol, _ON_THE_WAY), None, may_jam=False)
        seen = yield AtCost(1.0)
        self.cost, self._before = 1.0, None
        status = yield from self._steps(seen, tol, None, may_jam=False)
        if self.primal > before[2]:
            self._take((yield At(before[0], before[1])))
        return status or Status.STALLED

    def leave(self) -> None:
        """End where it is; on the way from smaller costs, where it jammed."""
        if self._before is not None:
            self.w, self.b, self.primal, self.dual, self.gap, self.violation = self._before
            self.cost, self._before = 1.0, None

    def is_worse(self, times: float) -> bool:
        """Whether the slopes at the point, as multipliers, leave a gap so many times that of the centres.

        Where a free intercept is not settled D is no bound, and can be above P.
        """
        return self.centre_dual <= self.primal and self.primal - self.dual > times * (self.primal - self.centre_dual)

    def _steps(
        self, seen: Evaluation, tol: float, max_steps: int | None, *, may_jam: bool
    ) -> Generator[Question, Any, Status | None]:
        """From a point that was evaluated; None where one row after the other stops the steps, if that may end them."""
        self._take(seen)
        least, largest = self.sigma / _RANGE, self.sigma * _RANGE
        short, length, left = 0, 0.0, np.inf
        for _ in range(max_steps or (_MOST_WITH_KINKS if self.has_kinks else _MOST_STEPS)):
            if self._is_within(tol):
                return Status.CONVERGED
            if self.has_kinks and (self.apart <= self.rows or short >= _PATIENCE):
                sigma = self.sigma * (GROWTH if self.apart <= self.rows else _SOFTENED)
                if not least <= sigma <= largest:
                    return Status.STALLED
                yield from self._proximal_step(sigma)
                short, length, left = 0, 0.0, np.inf
                continue
            before, primal = self.gap, self.primal
            accuracy = min(0.01, max(before, 1e-8))
            p, shift, is_exact = yield Direction(self.gradient, self.bias_gradient, accuracy, length, left)
            slope = float(self.gradient @ p) + self.bias_gradient * shift
            if slope >= 0.0 and self.has_kinks:  # nothing but rounding
                short = _PATIENCE
                continue
            seen, length = yield Along(p, shift, slope)
            self._take(seen)
            left = self.gap / max(before, 1e-300)
            if self.has_kinks:
                short = 0 if length >= _SHORT else short + 1 if length > 0.0 else _PATIENCE
                continue
            short = short + 1 if length < self.pace.short else 0
            if may_jam and (short >= self.pace.patience or (length == 0.0 and is_exact)):
                return None
            if is_exact and self.primal >= primal and self.gap >= before:
                return Status.STALLED
        return Status.CONVERGED if self._is_within(tol) else Status.BUDGET

    def _proximal_step(self, sigma: float) -> Generator[Question, Any, None]:
        moves = self.apart <= self.rows or not self.is_worse(_MUCH)
        dual = self.dual
        seen = yield Proximal(sigma, moves)
        self.sigma, self.centre_dual = sigma, dual if moves else self.centre_dual
        self._take(seen)

    def _take(self, seen: Evaluation) -> None:
        """Stand at a point that was evaluated: gradient, primal, dual and the two parts of the gap."""
        w, b, s = seen.w, seen.b, self.scale
        is_penalised = 0.0 < s < np.inf
        self.w, self.b, self.violation = w, b, seen.violation
        self.gradient = w - seen.combination
        self.bias_gradient = -seen.surplus + b / s**2 if s > 0.0 else 0.0
        self.apart = 0.5 * float(self.gradient @ self.gradient)
        if is_penalised:
            self.apart += 0.5 * (s * self.bias_gradient) ** 2
        elif s > 0.0 and seen.corner > 0.0:
            self.apart += 0.5 * self.bias_gradient**2 / seen.corner
        self.primal = 0.5 * float(w @ w) + seen.loss + (0.5 * (b / s) ** 2 if is_penalised else 0.0)
        self.rows = 0.0
        if self.has_kinks:
            self.rows = max(0.0, seen.loss + seen.conjugate + float(w @ seen.combination) + b * seen.surplus)
        self.gap = (self.apart + self.rows) / max(abs(self.primal), 1e-300)
        self.dual = self.primal - self.apart - self.rows
        if self._listener is not None:
            self._listener()

    def _is_within(self, tol: float) -> bool:
        return self.gap <= tol and self.violation <= _NEAR * tol


def step_length(
    linear: float,
    square: float,
    steep: float,
    losses: Callable[[float], Sequence[float]],
    *,
    shorter: float = 0.5,
) -> float:
    """The length t of a step at which the slope linear + t square + that of the losses vanishes, or nearly.

    `losses` gives slope and curvature at a length, `steep` is how steep it goes down at first. `shorter` is the factor
    on the length as long as every length was too long and curvatures led nowhere.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(_LINE_STEPS):
        first, second = losses(t)
        slope, curvature = linear + t * square + first, square + second
        if -_BEFORE * steep <= slope <= _BEHIND * steep:
            return t
        low, high = (low, t) if slope > 0.0 else (t, high)
        following = t - slope / curvature if curvature > 0.0 else 2.0 * t
        if not low < following < high:
            following = 2.0 * t if np.isinf(high) else 0.5 * (low + high) if low > 0.0 else shorter * high
        t = following
    return low
