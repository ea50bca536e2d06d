"""Steps on a few drawn rows at a time: Pegasos, SGD with an average, implicit updates.

    minimise over w, b    lambda/2 |w|^2 + sum_i p_i l_{y_i}(<w, x_i> + b)

with p_i = C_i / sum_j C_j and lambda = 1 / sum_j C_j, which is P(w, b) / sum_j C_j. Row i is drawn with probability
p_i, so every draw weighs the same. The weights are kept as

    w = scale * vector        beta = scale * visited        w = sum_i beta_i x_i

so shrinking w is one multiplication, a step costs no more than the entries of its row, and the coefficients beta, from
which a dual point is made, shrink along. An augmented intercept is the weight of a constant feature s: then
b = s^2 sum_i beta_i, and only the sum is kept. A free intercept takes the same steps as w and never shrinks; as nothing
would call it back from the first ones, which are 1 / lambda long, none of its steps is longer than the unit of scores.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.curves import shrunk, subgradient
from maxmargin._loops.loss_curve import Curve
from maxmargin._loops.rows import add_row, row_dot
from maxmargin._types import RowIndex, Vector

_SMALL = 1e-9  # a scale below this is multiplied into the vectors, long before it could underflow


class DrawnRows(NamedTuple):
    """Rows with targets and squared lengths, and the loss they meet."""

    rows: Any
    y: Vector
    squares: Vector
    curve: Curve


class StepSizes(NamedTuple):
    """Sizes of the steps."""

    strength: float
    """1 / lambda; step t has the size eta = strength / (t + delay)."""
    delay: float
    constant: float
    """s^2 for an augmented intercept, else 0."""
    free: float
    """Longest step of a free intercept; 0 for the other kinds."""


class Walk(NamedTuple):
    """Where the steps have led, besides the vectors that they change in place."""

    step: int = 0
    scale: float = 1.0
    total: float = 0.0
    """Sum of `visited`."""
    bias: float = 0.0
    """The free intercept."""


@fast_loop
def _fold(scale: float, vector: Vector, visited: Vector) -> None:
    """Multiply the scale into the vectors."""
    for j in range(len(vector)):
        vector[j] *= scale
    for i in range(len(visited)):
        visited[i] *= scale


@fast_loop
def pegasos_steps(
    drawn: DrawnRows,
    sizes: StepSizes,
    radius: float,
    batch: int,
    order: RowIndex,
    walk: Walk,
    slopes: Vector,
    vector: Vector,
    visited: Vector,
    stop: NDArray[np.uint8],
) -> Walk:
    """Pegasos: w <- (1 - eta lambda) w - eta * mean over a batch of v_i x_i, then onto the ball |w| <= radius.

    `slopes` is room for the v_i of one batch.
    """
    step, scale, total, bias = walk
    # The square of |w| / scale is carried along; each call begins it afresh, so that rounding cannot pile up.
    square = sizes.constant * total * total
    for j in range(len(vector)):
        square += vector[j] * vector[j]
    reach = 0.0
    for begin in range(0, len(order), batch):
        if stop[0] != 0:
            break
        if scale < _SMALL:
            _fold(scale, vector, visited)
            total, square, scale = total * scale, square * scale * scale, 1.0
        end = min(begin + batch, len(order))
        step += 1
        share = sizes.strength / ((step + sizes.delay) * (end - begin))
        for k in range(begin, end):
            i = order[k]
            reach = row_dot(drawn.rows, i, vector) + sizes.constant * total
            slopes[k - begin] = subgradient(drawn.curve, scale * reach + bias, drawn.y[i])
        if step + sizes.delay > 1.0:  # at the very first step w = 0, and so is 1 - eta lambda
            scale *= 1.0 - 1.0 / (step + sizes.delay)
        for k in range(begin, end):
            if slopes[k - begin] == 0.0:
                continue
            i = order[k]
            if batch > 1:  # rows of this batch have moved the vector since its slopes were taken
                reach = row_dot(drawn.rows, i, vector) + sizes.constant * total
            change = -share * slopes[k - begin] / scale
            square += change * (2.0 * reach + change * (drawn.squares[i] + sizes.constant))
            add_row(drawn.rows, i, change, vector)
            visited[i] += change
            total += change
            bias -= min(share, sizes.free / (end - begin)) * slopes[k - begin]
        if scale * scale * square > radius * radius:
            scale = radius / math.sqrt(square)
    return Walk(step, scale, total, bias)


@fast_loop
def averaged_steps(
    drawn: DrawnRows,
    sizes: StepSizes,
    order: RowIndex,
    walk: Walk,
    harmonic: float,
    theta: Vector,
    visited: Vector,
    late_theta: Vector,
    late_visited: Vector,
    stop: NDArray[np.uint8],
) -> tuple[Walk, float]:
    """SGD: theta <- theta - v_i x_i where w = eta theta; `late_theta` takes the same terms times H_t.

    `harmonic` is H_t = sum over s <= t of 1 / (s + delay); the scale of the walk is not used.
    """
    step, scale, total, bias = walk
    for k in range(len(order)):
        if stop[0] != 0:
            break
        i = order[k]
        step += 1
        eta = sizes.strength / (step + sizes.delay)
        harmonic += 1.0 / (step + sizes.delay)
        f = eta * (row_dot(drawn.rows, i, theta) + sizes.constant * total) + bias
        slope = subgradient(drawn.curve, f, drawn.y[i])
        if slope == 0.0:
            continue
        add_row(drawn.rows, i, -slope, theta)
        add_row(drawn.rows, i, -slope * harmonic, late_theta)
        visited[i] -= slope
        late_visited[i] -= slope * harmonic
        total -= slope
        bias -= min(eta, sizes.free) * slope
    return Walk(step, scale, total, bias), harmonic


@fast_loop
def implicit_steps(
    drawn: DrawnRows,
    sizes: StepSizes,
    order: RowIndex,
    walk: Walk,
    vector: Vector,
    visited: Vector,
    stop: NDArray[np.uint8],
) -> Walk:
    """Implicit updates: w <- (w + gamma eta y_i x_i) / (1 + eta lambda), and b <- b + gamma eta_b y_i where free."""
    step, scale, total, bias = walk
    curve = drawn.curve
    for k in range(len(order)):
        if stop[0] != 0:
            break
        i = order[k]
        step += 1
        eta = sizes.strength / (step + sizes.delay)
        eta_b = min(eta, sizes.free)
        shrink = 1.0 / (1.0 + 1.0 / (step + sizes.delay))
        reach = row_dot(drawn.rows, i, vector) + sizes.constant * total
        beyond = shrunk(drawn.y[i] * (shrink * scale * reach + bias) - curve.aim, curve.tube)
        # How far a whole step moves the margin: not at all from an empty row, which then asks for all of it.
        removed = eta * shrink * (drawn.squares[i] + sizes.constant) + eta_b
        gamma = -min(max(beyond / (curve.ridge + removed), curve.low), curve.high) if beyond != 0.0 else 0.0
        if gamma != 0.0:
            change = gamma * eta * drawn.y[i] / scale
            add_row(drawn.rows, i, change, vector)
            visited[i] += change
            total += change
            bias += gamma * eta_b * drawn.y[i]
        scale *= shrink
        if scale < _SMALL:
            _fold(scale, vector, visited)
            total, scale = total * scale, 1.0
    return Walk(step, scale, total, bias)
