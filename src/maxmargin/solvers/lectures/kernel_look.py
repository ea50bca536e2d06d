"""What the scores of a kernel machine tell: both objectives, the intercept, and the worst violation.

    P = 1/2 beta' f + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i + b)            f = K beta
    D = -1/2 beta' f - 1/2 (s sum_i beta_i)^2 - sum_i C_i l_{y_i}*(-beta_i / C_i)

The certificate at the end of a fit trusts none of this and forms it anew; a solver decides by it when to stop. For a
kernel that is not positive semidefinite D bounds nothing, and the conditions of optimality alone decide.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from maxmargin._types import Vector
from maxmargin.problems import KernelProblem, best_intercept


class Look(NamedTuple):
    """A point with what its scores tell of it."""

    alpha: Vector
    scores: Vector
    """f_i, without the intercept."""
    bias: float
    primal: float
    dual: float
    violation: float
    is_convex: bool

    @property
    def bound(self) -> float:
        """The dual value as a bound for the primal one: not a number where it is none."""
        return self.dual if self.is_convex else math.nan

    def is_within(self, tol: float) -> bool:
        """Whether the gap, where there is one, and the KKT violation are within the tolerance."""
        is_close = not self.is_convex or self.primal - self.dual <= tol * abs(self.primal)
        return is_close and self.violation <= tol


def look_at(problem: KernelProblem, alpha: Vector, scores: Vector) -> Look:
    """Look at feasible multipliers, whose scores are given, with the best intercept where it is free."""
    loss, y, C, s = problem.loss, problem.targets, problem.costs, problem.intercept.scale
    beta = problem.coefficients(alpha)
    if problem.intercept.is_free:
        b, constant = float(np.asarray(best_intercept(loss, scores, y, C))), 0.0
    else:
        total = float(np.sum(beta))
        b, constant = s**2 * total, 0.5 * (s * total) ** 2
    half = 0.5 * float(beta @ scores) + constant
    slopes = -beta / C
    return Look(
        alpha=alpha,
        scores=scores,
        bias=b,
        primal=half + float(C @ loss.score_value(scores + b, y)),
        dual=-half - float(C @ loss.score_conjugate(slopes, y)),
        violation=float(np.max(loss.score_violation(scores + b, slopes, y))),
        is_convex=problem.is_convex,
    )
