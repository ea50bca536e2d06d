"""Dual coordinate descent on the rows of a linear problem, with shrinking.

One multiplier at a time, the others fixed, the dual is a parabola on an interval; its minimum is taken exactly. The
slope of -D in alpha_i, with signs s_i, targets t_i and the diagonal of `DualBox`, is

    G_i = s_i (<w, x_i> + b) - t_i + diagonal_i alpha_i

A multiplier at a bound whose slope points out of the interval by more than the worst slope seen in the pass before is
taken out of the active set; the driver brings all of them back before it believes anything.

Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3; for the tube Ho and Lin, JMLR 2012; for the
logistic loss, whose dual is no parabola, Yu, Huang and Lin, Machine Learning 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.linear.logistic_step import LEFT, logistic_step, share
from maxmargin._loops.rows import add_row, row_dot

_POLL = 2048  # steps between looks at the stop flag


@fast_loop
def shuffle_loop(order: Any, active: int, state: Any) -> None:
    """Shuffle the first `active` entries; `state` is the xorshift generator's one uint64, kept by the caller."""
    x = state[0]
    for k in range(active - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = np.int64(x % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    state[0] = x


@fast_loop
def hinge_epoch(
    rows: Any,
    signs: Any,
    targets: Any,
    upper: Any,
    diagonal: Any,
    squares: Any,
    order: Any,
    active: int,
    high: float,
    low: float,
    alpha: Any,
    w: Any,
    bias: Any,
    stop: Any,
) -> Any:
    """One pass over order[:active] for 0 <= alpha <= upper; returns what is still active and the extreme slopes.

    `bias` holds the fixed part of the intercept, the scale of the constant feature and its weight.
    """
    new_high, new_low = -np.inf, np.inf
    fixed, scale, constant = bias[0], bias[1], bias[2]
    k = 0
    steps = 0
    while k < active:
        steps += 1
        if steps % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        a = alpha[i]
        slope = signs[i] * (row_dot(rows, i, w) + fixed + scale * constant) - targets[i] + diagonal[i] * a
        violation = slope
        if a <= 0.0:
            if slope > high:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
            violation = min(slope, 0.0)
        elif a >= upper[i]:
            if slope < low:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
            violation = max(slope, 0.0)
        new_high, new_low = max(new_high, violation), min(new_low, violation)
        if abs(violation) > 1e-13:
            curvature = squares[i] + diagonal[i]
            if curvature > 0.0:
                new = min(max(a - slope / curvature, 0.0), upper[i])
            else:  # an empty row: the slope alone decides
                new = upper[i] if slope < 0.0 else 0.0
            if new != a:
                change = (new - a) * signs[i]
                add_row(rows, i, change, w)
                constant += scale * change
                alpha[i] = new
        k += 1
    bias[2] = constant
    return active, new_high, new_low


@fast_loop
def tube_epoch(
    rows: Any,
    targets: Any,
    upper: Any,
    diagonal: Any,
    absolute: Any,
    squares: Any,
    order: Any,
    active: int,
    worst: float,
    alpha: Any,
    w: Any,
    bias: Any,
    stop: Any,
) -> Any:
    """One pass over order[:active] for |alpha| <= upper with the term absolute |alpha|; returns active and worst."""
    new_worst = 0.0
    fixed, scale, constant = bias[0], bias[1], bias[2]
    k = 0
    steps = 0
    while k < active:
        steps += 1
        if steps % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        a, e, u = alpha[i], absolute[i], upper[i]
        slope = row_dot(rows, i, w) + fixed + scale * constant - targets[i] + diagonal[i] * a
        right, left = slope + e, slope - e  # slopes of -D to the right and to the left of the kink at zero
        violation = 0.0
        if a == 0.0:
            if right < 0.0:
                violation = -right
            elif left > 0.0:
                violation = left
            elif right > worst and left < -worst:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
        elif a >= u:
            if right > 0.0:
                violation = right
            elif right < -worst:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
        elif a <= -u:
            if left < 0.0:
                violation = -left
            elif left > worst:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
        else:
            violation = abs(right) if a > 0.0 else abs(left)
        new_worst = max(new_worst, violation)
        if violation > 1e-13:
            curvature = squares[i] + diagonal[i]
            if curvature > 0.0:
                if right < curvature * a:
                    new = a - right / curvature
                elif left > curvature * a:
                    new = a - left / curvature
                else:
                    new = 0.0
                new = min(max(new, -u), u)
            else:
                new = u if right < 0.0 else (-u if left > 0.0 else 0.0)
            if new != a:
                add_row(rows, i, new - a, w)
                constant += scale * (new - a)
                alpha[i] = new
        k += 1
    bias[2] = constant
    return active, new_worst


@fast_loop
def logistic_epoch(
    rows: Any,
    signs: Any,
    upper: Any,
    squares: Any,
    order: Any,
    alpha: Any,
    logit: Any,
    w: Any,
    bias: Any,
    stop: Any,
) -> float:
    """One pass for the logistic loss, 0 < alpha < C; returns the largest distance of a multiplier's share.

    The logits of the multipliers are kept beside them: `_loops.linear.logistic_step` has what they are for.
    """
    worst = 0.0
    fixed, scale, constant = bias[0], bias[1], bias[2]
    for k in range(len(order)):
        if k % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        a, s, c, q = alpha[i], logit[i], upper[i], squares[i]
        g = signs[i] * (row_dot(rows, i, w) + fixed + scale * constant)
        p = a / c
        off = abs(share(-g) - p)
        worst = max(worst, off)
        if off < 1e-14 and abs(s + g) < 1e-10:
            continue
        s, p = logistic_step(s, p, s + g, LEFT * abs(s + g), a, g, q, c)
        change = (c * p - a) * signs[i]
        add_row(rows, i, change, w)
        constant += scale * change
        alpha[i] = c * p
        logit[i] = s
    bias[2] = constant
    return worst
