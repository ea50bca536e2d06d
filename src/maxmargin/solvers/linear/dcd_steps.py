"""One pass of dual coordinate descent, for each of the three shapes that a row's dual can have.

    parabola on an interval      hinge, squared hinge       0 <= alpha <= upper
    parabola with a kink at 0    tube, squared tube, squared loss      |alpha| <= upper
    entropy on an interval       logistic                   0 < alpha < C

`_loops.linear.dual_descent` has the steps themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeAlias

import numpy as np

from maxmargin._loops.linear.dual_descent import hinge_epoch, logistic_epoch, tube_epoch
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.data.passes import Passes
from maxmargin.losses import DualBox, Logistic, ResidualLoss
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

    size = 1.0
    """Size of a slope at the start: 1 for margins, the spread of the targets for residuals."""

    def __init__(self, problem: LinearProblem, passes: Passes, squares: Vector):
        self.rows, self.squares = passes.rows, squares
        self.signs = problem.coefficients(np.ones(passes.n_rows))
        self.box: DualBox = problem.loss.dual_box(problem.costs) or DualBox.interval(
            np.zeros_like(problem.costs), problem.costs
        )

    def begin(self, alpha: Vector) -> Vector:
        """The multipliers to begin with, near the given ones."""
        return np.clip(alpha, self.box.lower, self.box.upper)

    @abstractmethod
    def best_multiple(self, alpha: Vector, square: float) -> float:
        """The t in [0, 1] at which t alpha has the largest dual value; `square` is |w|^2 + (s sum_i beta_i)^2."""

    @abstractmethod
    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """One pass over the active rows; returns how many stay active, and the largest and smallest slope."""


class _Quadratic(Steps):
    aims: Vector

    def best_multiple(self, alpha: Vector, square: float) -> float:
        box = self.box
        gain = float(self.aims @ alpha) - float(box.absolute @ np.abs(alpha))
        price = square + float(box.diagonal @ np.square(alpha))
        return 1.0 if gain >= price else max(gain, 0.0) / price


class MarginSteps(_Quadratic):
    """Hinge and squared hinge."""

    def __init__(self, problem: LinearProblem, passes: Passes, squares: Vector):
        super().__init__(problem, passes, squares)
        self.aims = self.box.linear

    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """Slopes outside `limits` at a bound are left out from now on."""
        box = self.box
        result: Slopes = hinge_epoch(
            self.rows,
            self.signs,
            self.aims,
            box.upper,
            box.diagonal,
            self.squares,
            order,
            active,
            *limits,
            *at,
            stop,
        )
        return result


class TubeSteps(_Quadratic):
    """Epsilon-insensitive loss, its square, and the squared loss."""

    def __init__(self, problem: LinearProblem, passes: Passes, squares: Vector):
        super().__init__(problem, passes, squares)
        self.aims = self.box.linear + problem.targets
        self.size = float(np.std(problem.targets)) or 1.0

    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """Slopes beyond the larger limit at a bound or at the kink are left out from now on."""
        box = self.box
        active, worst = tube_epoch(
            self.rows,
            self.aims,
            box.upper,
            box.diagonal,
            box.absolute,
            self.squares,
            order,
            active,
            limits[0],
            *at,
            stop,
        )
        return active, worst, 0.0


class LogisticSteps(Steps):
    """Logistic loss; the logit of each multiplier's share of C is kept beside it."""

    def begin(self, alpha: Vector) -> Vector:
        """Away from the ends of the interval, where the entropy is vertical."""
        C = self.box.upper
        share = np.clip(alpha / C, _FIRST_SHARE, 1.0 - _FIRST_SHARE)
        self.logit = np.log(share) - np.log1p(-share)
        return share * C

    def best_multiple(self, alpha: Vector, square: float) -> float:
        """1: the dual is no parabola."""
        return 1.0

    def epoch(self, order: RowIndex, active: int, limits: Limits, at: Iterate, stop: StopFlag) -> Slopes:
        """All rows: none is ever settled."""
        worst = logistic_epoch(
            self.rows, self.signs, self.box.upper, self.squares, order, at.alpha, self.logit, at.w, at.bias, stop
        )
        return active, worst, 0.0


def steps_for(problem: LinearProblem, passes: Passes, squares: Vector) -> Steps:
    """The steps that suit the loss."""
    if isinstance(problem.loss, Logistic):
        return LogisticSteps(problem, passes, squares)
    kind = TubeSteps if isinstance(problem.loss, ResidualLoss) else MarginSteps
    return kind(problem, passes, squares)
