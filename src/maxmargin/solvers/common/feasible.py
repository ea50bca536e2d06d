"""From almost feasible multipliers to feasible ones, changing as little and as few as possible.

An interior-point method, or any method that works in float32, ends near the box 0 <= alpha_i <= C_i and the balance
sum_i beta_i = 0, not in them. A certificate needs a point that is in them: outside, the dual bounds nothing.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Vector
from maxmargin.data import long_sum
from maxmargin.losses import DualBox
from maxmargin.problems import Problem

_NEGLIGIBLE = 1e-9  # share of the box below which an interior point means zero, or its complement the bound


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
