"""The equations of least squares: what is missing from them at a point, and how a correction follows from it.

    rows         beta_i / C_i + <w, x_i> + b = y_i
    features     sum_i beta_i x_i = delta w
    intercept    sum_i beta_i = b / s^2              (zero for a free intercept, s infinite; b = 0 for none, s = 0)

Eliminating beta and b leaves the normal equations S w = ..., with t = sum_i C_i, m = sum_i C_i x_i / t and
q = 1 / (t + 1 / s^2):

    S = sum_i C_i x_i x_i' - t^2 q m m' + delta I
      = sum_i C_i (x_i - m)(x_i - m)' + (t - t^2 q) m m' + delta I

With a penalty and few rows, w is eliminated instead, which leaves one equation a row:

    M beta + b = y,    M = diag(1 / C_i) + X X' / delta

S and M have the square of the condition number of X, so their solutions alone would lose twice the digits. They only
ever map what is missing in the three equations, taken afresh from the data, to corrections of w, b and beta.

Ordinary least squares has no penalty, and its dual is finite only where sum_i beta_i x_i is exactly zero, which
rounding never gives. Its answer is therefore certified within a box that holds it well inside (`Equations.box`): the
dual then pays radius_j |sum_i beta_i x_ij| for what is left of each equation, in the right units for every column. A
better point outside the box would show inside it: by convexity, no point at k times the distance from the answer to
the edge of the box is better than the answer by more than k times the gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from maxmargin._types import Vector
from maxmargin.certificates import Assessment, assess
from maxmargin.data.passes import Passes
from maxmargin.penalties import L2, Box
from maxmargin.problems import LinearProblem

Inverse: TypeAlias = Callable[[Vector], Vector]
"""A right side to the solution of a linear system."""


@dataclass(frozen=True)
class Point:
    """Weights, intercept and multipliers."""

    w: Vector
    b: float
    beta: Vector


class Missing(NamedTuple):
    """Right side minus left side of each equation."""

    rows: Vector
    features: Vector
    intercept: float


Correct: TypeAlias = Callable[[Missing], Point]
"""What is missing to the correction that supplies it."""


class Equations:
    """The three equations of a problem, with the letters of this file."""

    def __init__(self, problem: LinearProblem, passes: Passes):
        self.problem, self.passes = problem, passes
        self.y, self.C = problem.targets, problem.costs
        self.delta = problem.penalty.strength if isinstance(problem.penalty, L2) else 0.0
        self.scale = problem.intercept.scale
        self.n_passes = 0.0

    @cached_property
    def t(self) -> float:
        """Sum of the costs."""
        return math.fsum(self.C)

    @cached_property
    def q(self) -> float:
        """1 / (t + 1 / s^2)."""
        return 0.0 if self.scale == 0.0 else 1.0 / (self.t + self.scale**-2.0)

    @cached_property
    def m(self) -> Vector:
        """Weighted mean of the rows."""
        return self.combination(self.C) / self.t

    def scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row."""
        self.n_passes += 1.0
        return self.passes.scores(w)

    def combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i."""
        self.n_passes += 1.0
        return self.passes.combination(beta)

    def missing(self, at: Point) -> Missing:
        """What is left of the three equations."""
        return Missing(
            rows=self.y - at.beta / self.C - self.scores(at.w) - at.b,
            features=self.delta * at.w - self.combination(at.beta),
            intercept=(at.b * self.scale**-2.0 if self.scale > 0.0 else 0.0) - math.fsum(at.beta),
        )

    def by_features(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of S."""

        def correct(missing: Missing) -> Point:
            right = self.combination(self.C * missing.rows) - missing.features
            right_b = math.fsum(self.C * missing.rows) - missing.intercept
            w = inverse(right - (self.t * self.q * right_b) * self.m)
            b = self.q * (right_b - self.t * float(self.m @ w))
            return Point(w, b, self.C * (missing.rows - self.scores(w) - b))

        return correct

    def by_rows(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of M."""
        ones = inverse(np.ones_like(self.C))

        def correct(missing: Missing) -> Point:
            beta = inverse(missing.rows + self.scores(missing.features) / self.delta)
            b = 0.0
            if self.scale > 0.0:
                b = (math.fsum(beta) - missing.intercept) / (math.fsum(ones) + self.scale**-2.0)
            beta = beta - b * ones
            return Point((self.combination(beta) - missing.features) / self.delta, b, beta)

        return correct

    def balanced(self, at: Point) -> Point:
        """The point with sum_i beta_i exactly zero where the intercept is free."""
        if not math.isinf(self.scale):
            return at
        return replace(at, beta=at.beta - self.C * (math.fsum(at.beta) / self.t))

    @cached_property
    def reach(self) -> Vector:
        """Weight with which each column alone would be as long as y; 0 for an empty column."""
        length = np.sqrt(self.passes.squared_combination(self.C))
        target = math.sqrt(float(self.C @ np.square(self.y)))
        self.n_passes += 1.0
        return np.divide(target, length, out=np.zeros_like(length), where=length > 0.0)

    def box(self, weights: Vector) -> Box:
        """A box that holds the weights well inside, whatever the units of the columns.

        To twice the weight of a column is added the one with which the column alone would be as long as y.
        """
        return Box(2.0 * np.abs(weights) + self.reach)

    def assess(self, at: Point) -> Assessment:
        """What the certificate will say of the point."""
        self.n_passes += 2.0
        problem = self.problem
        if isinstance(problem.penalty, Box):
            problem = replace(problem, penalty=self.box(at.w))
        return assess(problem, at.beta, at.w, at.b)
