"""Coordinate ascent on the dual of a kernel machine, with the scores of all rows kept.

One multiplier at a time, the others fixed, -D is a parabola plus absolute_i |alpha_i| on an interval (`DualBox`).
With signs s_i, targets t_i = linear_i + o_i and c the square of the scale of the constant feature, the slope and the
curvature of the parabola are

    G_i = s_i (f_i + c sum_j beta_j) - t_i + diagonal_i alpha_i
    q_i = k_ii + c + diagonal_i

and the best value is soft(alpha_i - G_i / q_i, absolute_i / q_i), clipped to the box. A change of alpha_i by delta is
a change of all scores, f += s_i delta K_i: a step that moves costs O(n), one that does not costs nothing.

L4's update of one coefficient at a time, for kernel regression, is a step of gradient descent on a row instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop
from maxmargin._types import Matrix, RowIndex, Vector


class DualTerms(NamedTuple):
    """What the dual has of each row beside the kernel matrix, in the letters above."""

    signs: Vector
    targets: Vector
    lower: Vector
    upper: Vector
    absolute: Vector
    diagonal: Vector
    curvature: Vector


@fast_loop
def _rise(slope: float, curvature: float, absolute: float, a: float, new: float) -> float:
    """How much -D rises from a to `new`."""
    step = new - a
    rise: float = (slope + 0.5 * curvature * step) * step + absolute * (abs(new) - abs(a))
    return rise


@fast_loop
def best_value(slope: float, curvature: float, absolute: float, lower: float, upper: float, a: float) -> float:
    """Where a multiplier that is at a should be."""
    if curvature > 0.0:
        heading = a - slope / curvature
        shrunk = max(abs(heading) - absolute / curvature, 0.0)
        return min(max(shrunk if heading > 0.0 else -shrunk, lower), upper)
    # An empty row, or an indefinite kernel: straight or bent the wrong way on either side of zero, so an end is best.
    best, lowest = a, 0.0
    for end in (lower, 0.0, upper):
        if np.isfinite(end):
            rise = _rise(slope, curvature, absolute, a, end)
            if rise < lowest:
                best, lowest = end, rise
    return best


@fast_loop
def descent_pass(
    K: Matrix,
    places: RowIndex,
    order: RowIndex,
    dual: DualTerms,
    constant: float,
    total: float,
    alpha: Vector,
    scores: Vector,
    stop: NDArray[np.uint8],
) -> tuple[int, float]:
    """Take the multipliers of `order` in turn to their best values; K[places[t]] is the kernel row of order[t].

    `constant` is c, `total` the sum of beta. Changes alpha and scores, the f_i, in place; returns how many multipliers
    moved, and the new total.
    """
    moved = 0
    for t in range(len(order)):
        if stop[0] != 0:
            break
        i = order[t]
        a, sign = alpha[i], dual.signs[i]
        slope = sign * (scores[i] + constant * total) - dual.targets[i] + dual.diagonal[i] * a
        new = best_value(slope, dual.curvature[i], dual.absolute[i], dual.lower[i], dual.upper[i], a)
        if new == a:
            continue
        change = sign * (new - a)
        row = K[places[t]]
        for j in range(len(scores)):
            scores[j] += change * row[j]
        total += change
        alpha[i] = new
        moved += 1
    return moved, total


@fast_loop
def update_one_at_a_time(
    K: Vector, right: Vector, diagonal: Vector, rates: Vector, order: RowIndex, beta: Vector
) -> None:
    """beta_i <- beta_i + rate_i (t_i - sum_j K_ij beta_j - diagonal_i beta_i) for the rows i of `order`, in place."""
    n = len(beta)
    for i in order:
        score = 0.0
        for j in range(n):
            score += K[i, j] * beta[j]
        beta[i] += rates[i] * (right[i] - score - diagonal[i] * beta[i])
