"""Dual coordinate steps over the rows of a segment, for several sub-problems that share the rows.

In the coefficient beta_i of a row the dual of every loss here is, up to a constant, the minimum of

    1/2 (|x_i|^2 + s^2 + D_i) (beta_i - a)^2 + g (beta_i - a) + e |beta_i|        low_i <= beta_i <= high_i

around its present value a, with the slope g = f_i - t_i + D_i a and the score f_i = <w, x_i> + b:

    hinge             t = y    e = 0          beta between 0 and y C_i    D_i = 0
    squared hinge     t = y    e = 0          y beta >= 0                 D_i = 1 / (2 C_i)
    tube              t = y    e = epsilon    |beta| <= C_i               D_i = 0
    squared tube      t = y    e = epsilon    no bounds                   D_i = 1 / (2 C_i)

The minimum is a soft threshold, clipped. A row is settled where no way is downhill, and every way that is open is
uphill by more than the limit: the largest slope downhill that the last sweep has met. The limit of a sweep and the
maximum of the next one are two numbers; the lecture has one name for both.

b = centre + scale * constant, the three numbers of a sub-problem in `bias`; constant = scale * sum_i beta_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.curves import HINGE, SQUARED_HINGE, SQUARED_TUBE, loss_value, violation
from maxmargin._loops.rows import add_row, row_dot
from maxmargin._loops.stream_rows import CachedRows

_POLL = 1024  # rows between looks at the stop flag


class Duals(NamedTuple):
    """What the sub-problems have in common, and the point they are at: one row of each matrix a sub-problem."""

    code: int
    """Which loss."""
    epsilon: float
    signs: Any
    """+1 or -1 for each class; without columns in regression."""
    beta: Any
    weights: Any
    bias: Any


class Sweep(NamedTuple):
    """What a sweep goes by and what it finds, one entry a sub-problem."""

    limit: Any
    """Slopes uphill beyond which a row is settled."""
    steepest: Any
    """Largest slope downhill so far."""
    seen: Any
    """One bit a row: whether it was measured in this pass over the data."""
    loss: Any
    """Sum of C_i l over the rows measured."""
    violation: Any
    """Largest KKT violation of those rows."""


@fast_loop
def _bounds(code: int, cost: float, y: float) -> Any:
    """Low, high and D of a row."""
    squared = code in (SQUARED_HINGE, SQUARED_TUBE)
    reach = np.inf if squared else cost
    diagonal = 0.5 / cost if squared else 0.0
    if code in (HINGE, SQUARED_HINGE):
        return (0.0, reach, diagonal) if y > 0.0 else (-reach, 0.0, diagonal)
    return -reach, reach, diagonal


@fast_loop
def _minimum(a: float, g: float, curvature: float, e: float, low: float, high: float) -> float:
    """Where the dual in one coefficient is best."""
    if curvature > 0.0:
        u = curvature * a - g
        size = max(abs(u) - e, 0.0) / curvature
        best = size if u > 0.0 else -size
        return min(max(best, low), high)
    if g + e < 0.0:  # an empty row: the slope alone decides
        return high
    return low if g - e > 0.0 else min(max(0.0, low), high)


@fast_loop
def visit_rows(
    segment: CachedRows, active: int, duals: Duals, sweep: Sweep, evict: bool, random: Any, stop: Any
) -> int:
    """One step for each of the rows order[:active] and each sub-problem, in random order; returns what stays active.

    A row that is not yet seen in this pass is measured before its steps.
    """
    order = segment.order
    x = random[0]
    for k in range(active - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = np.int64(x % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    random[0] = x
    code, epsilon, bias = duals.code, duals.epsilon, duals.bias
    e = 0.0 if code in (HINGE, SQUARED_HINGE) else epsilon
    is_class = duals.signs.shape[1] > 0
    k = 0
    steps = 0
    while k < active:
        steps += 1
        if steps % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        number, cost, settled = segment.number[i], segment.cost[i], True
        bit = np.uint8(1 << (number & 7))
        measure = sweep.seen[number >> 3] & bit == 0
        sweep.seen[number >> 3] |= bit
        for p in range(len(duals.beta)):
            y = duals.signs[p, np.int64(segment.target[i])] if is_class else segment.target[i]
            low, high, diagonal = _bounds(code, cost, y)
            scale = bias[p, 1]
            f = row_dot(segment.rows, i, duals.weights[p]) + bias[p, 0] + scale * bias[p, 2]
            a = duals.beta[p, number]
            g = f - y + diagonal * a
            if measure:
                sweep.loss[p] += cost * loss_value(code, epsilon, f, y)
                sweep.violation[p] = max(sweep.violation[p], violation(code, epsilon, -a / cost, f, y))
            right = g + e if a >= 0.0 else g - e
            left = g + e if a > 0.0 else g - e
            uphill = min(right if a < high else np.inf, -left if a > low else np.inf)
            if uphill <= sweep.limit[p]:
                settled = False
            if uphill < 0.0:
                sweep.steepest[p] = max(sweep.steepest[p], -uphill)
                new = _minimum(a, g, segment.square[i] + scale * scale + diagonal, e, low, high)
                if new != a:
                    add_row(segment.rows, i, new - a, duals.weights[p])
                    bias[p, 2] += scale * (new - a)
                    duals.beta[p, number] = new
        if settled and evict:
            active -= 1
            order[k], order[active] = order[active], order[k]
        else:
            k += 1
    return active


@fast_loop
def measure_slack(segment: CachedRows, active: int, duals: Duals, slack: Any) -> None:
    """How far uphill the nearest open way of each row order[:active] is, the smallest over the sub-problems.

    Zero for a row that is free or wants to move: the smaller the number, the more a row has to tell.
    """
    code, bias = duals.code, duals.bias
    e = 0.0 if code in (HINGE, SQUARED_HINGE) else duals.epsilon
    is_class = duals.signs.shape[1] > 0
    for k in range(active):
        i = segment.order[k]
        nearest = np.inf
        for p in range(len(duals.beta)):
            y = duals.signs[p, np.int64(segment.target[i])] if is_class else segment.target[i]
            low, high, diagonal = _bounds(code, segment.cost[i], y)
            f = row_dot(segment.rows, i, duals.weights[p]) + bias[p, 0] + bias[p, 1] * bias[p, 2]
            a = duals.beta[p, segment.number[i]]
            g = f - y + diagonal * a
            right = g + e if a >= 0.0 else g - e
            left = g + e if a > 0.0 else g - e
            nearest = min(nearest, right if a < high else np.inf, -left if a > low else np.inf)
        slack[k] = max(nearest, 0.0)
