"""From almost feasible multipliers to feasible ones, changing as little and as few as possible.

An interior-point method, or any method that works in float32, ends near the box 0 <= alpha_i <= C_i and the balance
sum_i beta_i = 0, not in them. A certificate needs a point that is in them: outside, the dual bounds nothing.

The dual of the L1 penalty strength |w|_1 is finite only where |sum_i beta_i x_ij| <= strength for every column j.
Multipliers taken from the slopes of the losses are near that cube. Scaling them by one number below 1 takes them into
it: the domain of every conjugate holds 0 and is convex, and a balance sum_i beta_i = 0 survives. At the optimum the
number is 1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Vector
from maxmargin.data import as_double, long_sum
from maxmargin.data.source import blocks
from maxmargin.losses import DualBox
from maxmargin.penalties import L1
from maxmargin.problems import LinearProblem, Problem

_NEGLIGIBLE = 1e-9  # share of the box below which an interior point means zero, or its complement the bound
_ROUNDINGS = 4.0


def feasible(problem: Problem, alpha: Vector, box: DualBox) -> Vector:
    """Nearest-in-spirit feasible point: into the box, onto bounds that are meant, then balanced."""
    alpha = snapped(np.clip(alpha, box.lower, box.upper), box)
    if problem.intercept.is_free:
        alpha = balanced(alpha, problem.coefficients(np.ones_like(alpha)), box)
    return alpha


def snapped(alpha: Vector, box: DualBox) -> Vector:
    """Multipliers within a hair of zero or of their bound are put there."""
    size = np.where(np.isfinite(box.upper), box.upper, np.max(np.abs(alpha), initial=0.0))
    hair = _NEGLIGIBLE * size
    alpha = np.where(np.abs(alpha) <= hair, 0.0, alpha)
    alpha = np.where(box.upper - alpha <= hair, box.upper, alpha)
    return np.where(alpha - box.lower <= hair, box.lower, alpha)


def carried_over(alpha: Vector, weight: Vector, before: float, C: float) -> Vector:
    """Multipliers of a machine with the cost `before` as a start for C: those at their bound go to the new one.

    The others stay, clipped. A kernel machine has no weights that could correct a scaling of all of them.
    """
    bound, grown = before * weight, C / before
    at_bound = np.abs(alpha) >= (1.0 - _NEGLIGIBLE) * bound
    return np.where(at_bound, alpha * grown, np.clip(alpha, -grown * bound, grown * bound))


def balanced(alpha: Vector, signs: Vector, box: DualBox) -> Vector:
    """Make sum_i signs_i alpha_i zero up to rounding, moving free multipliers first and zeros never."""
    alpha = alpha.copy()
    for _ in range(8):
        surplus = long_sum(signs * alpha)
        largest = np.max(np.abs(alpha), initial=0.0)
        if abs(surplus) <= np.finfo(float).eps * largest:
            break
        # To lower the sum, multipliers with a positive sign go down and those with a negative one go up.
        direction = -np.sign(surplus) * signs
        bound = np.where(direction > 0.0, box.upper, box.lower)
        room = np.minimum(np.abs(bound - alpha), np.abs(alpha))
        free = (alpha > box.lower) & (alpha < box.upper)
        if np.sum(room[free]) >= abs(surplus):
            room = np.where(free, room, 0.0)
        else:  # not enough between the bounds: shrink the heavier side as a whole, which every box allows
            room = np.where(signs * alpha * surplus > 0.0, np.abs(alpha), 0.0)
            direction = -np.sign(alpha)
        alpha += direction * room * (abs(surplus) / np.sum(room))
        alpha = np.clip(alpha, box.lower, box.upper)
    return alpha


def scale_into_domain(largest: float, strength: float) -> float:
    """Factor on the multipliers of a point with that largest |sum_i beta_i x_ij|."""
    return 1.0 if largest <= strength else strength / largest


def into_domain(problem: LinearProblem, alpha: Vector) -> Vector:
    """Alpha scaled so that its sums over columns are in the cube whoever adds them, and in whatever order.

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
