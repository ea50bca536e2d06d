"""Multipliers that the L1 penalty allows.

The dual of strength |w|_1 + sum_i C_i l_i(f_i) is finite only where |sum_i beta_i x_ij| <= strength for every column j.
Multipliers taken from the slopes of the losses are near that cube. Scaling them by one number below 1 takes them into
it: the domain of every conjugate holds 0 and is convex, and a balance sum_i beta_i = 0 survives. At the optimum the
number is 1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Vector
from maxmargin.data import as_double
from maxmargin.data.source import blocks
from maxmargin.penalties import L1
from maxmargin.problems import LinearProblem

_ROUNDINGS = 4.0


def scale_into_domain(largest: float, strength: float) -> float:
    """Factor on the multipliers of a point with that largest |sum_i beta_i x_ij|."""
    return 1.0 if largest <= strength else strength / largest


def into_domain(problem: LinearProblem, alpha: Vector) -> Vector:
    """Alpha scaled so that its sums are in the cube whoever adds them, and in whatever order.

    The sums are taken as the certificate takes them, and a few roundings of the numbers that went into them are left
    as a margin: another machine that adds in another order must find them in the cube too.
    """
    assert isinstance(problem.penalty, L1)
    beta = problem.coefficients(alpha)
    size = np.zeros(problem.source.n_features)
    for block in blocks(problem.source):
        size += abs(as_double(block.X)).T @ np.abs(beta[block.span])
    margin = _ROUNDINGS * np.finfo(float).eps * size
    largest = float(np.max(np.abs(problem.weights_from(beta)) + margin, initial=0.0))
    return alpha * scale_into_domain(largest, problem.penalty.strength)
