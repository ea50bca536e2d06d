"""One pass of dual coordinate descent, for each of the two shapes that a row's dual can have.

    parabola on an interval, perhaps with a kink at 0      quadratic conjugates
    entropy on an interval                                 logistic loss

`_loops.linear.dual_descent` has the steps themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeAlias

import numpy as np

from maxmargin._loops.linear.dual_descent import logistic_epoch, quadratic_epoch
from maxmargin._loops.loss_curve import LOGISTIC
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.data.passes import Passes
from maxmargin.losses import DualBox
from maxmargin.problems import LinearProblem

_FIRST_SHARE = 1e-8  # of C: where the multipliers of a logistic problem begin, near the zero that they cannot have


Limits: TypeAlias = tuple[float, float]
"""Largest and smallest slope beyond which a row at a bound is left out."""
Slopes: TypeAlias = tuple[int, float, float]
"""How many rows stay active, and the largest and the smallest slope met."""


class Iterate(NamedTuple):
    """What a pass changes in place."""

    alpha: Vector
    w: Vector
    bias: Vector
    """Centre of the intercept, scale of the constant feature, its weight."""


class Steps(ABC):
    """A pass over rows that improves their multipliers, and the weights with them."""

    def __init__(self, problem: LinearProblem, passes: Passes, squares: Vector):
        self.rows, self.squares = passes.rows, squares
        self.curve, self.y, self.C = problem.curve, problem.targets, problem.costs
        self.signs = problem.coefficients(np.ones(passes.n_rows))
        self.box: DualBox = problem.loss.dual_box(self.C) or DualBox.interval(np.zeros_like(self.C), self.C)
        self.size = 1.0 if self.curve.is_margin else float(np.std(self.y)) or 1.0
        """Size of a slope at the start: 1 for margins, the spread of the targets for residuals."""

    @abstractmethod
    def begin(self, alpha: Vector) -> Vector:
        """The multipliers to begin with, near the given ones."""

    @abstractmethod
    def best_multiple(self, alpha: Vector, square: float) -> float:
        """The t in [0, 1] at which t alpha has the largest dual value; `square` is |w|^2 + (s sum_i beta_i)^2."""

    @abstractmethod
    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """One pass over the active rows; returns how many stay active, and the largest and smallest slope."""


class QuadraticSteps(Steps):
    """Every loss whose conjugate is a quadratic on an interval."""

    def begin(self, alpha: Vector) -> Vector:
        """Within their bounds."""
        return np.clip(alpha, self.box.lower, self.box.upper)

    def best_multiple(self, alpha: Vector, square: float) -> float:
        """The top of a parabola."""
        box = self.box
        aims = box.linear if self.curve.is_margin else box.linear + self.y
        gain = float(aims @ alpha) - float(box.absolute @ np.abs(alpha))
        price = square + float(box.diagonal @ np.square(alpha))
        return 1.0 if gain >= price else max(gain, 0.0) / price

    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """Slopes outside `limits` at a bound or at the kink are left out from now on.

        A residual can be on either side of its target: what is steep for it is the larger limit, whatever its sign.
        """
        high, low = limits if self.curve.is_margin else (limits[0], -limits[0])
        active, high, low = quadratic_epoch(
            self.rows, tuple(self.curve), self.y, self.C, self.squares, order, active, high, low, *at, stop
        )
        return (active, high, low) if self.curve.is_margin else (active, max(high, -low, 0.0), 0.0)


class LogisticSteps(Steps):
    """Logistic loss; the logit of each multiplier's share of C is kept beside it."""

    def begin(self, alpha: Vector) -> Vector:
        """Away from the ends of the interval, where the entropy is vertical."""
        share = np.clip(alpha / self.C, _FIRST_SHARE, 1.0 - _FIRST_SHARE)
        self.logit = np.log(share) - np.log1p(-share)
        return share * self.C

    def best_multiple(self, alpha: Vector, square: float) -> float:
        """1: the dual is no parabola."""
        return 1.0

    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """All rows: none is ever settled."""
        worst = logistic_epoch(
            self.rows, self.y, self.C, self.squares, order, at.alpha, self.logit, at.w, at.bias, stop
        )
        return active, worst, 0.0


def steps_for(problem: LinearProblem, passes: Passes, squares: Vector) -> Steps:
    """The steps that suit the loss."""
    kind = LogisticSteps if problem.curve.kind == LOGISTIC else QuadraticSteps
    return kind(problem, passes, squares)
