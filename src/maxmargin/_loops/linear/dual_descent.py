"""Dual coordinate descent on the rows of a linear problem, with shrinking.

One multiplier at a time, the others fixed, the dual is a parabola on an interval, with a kink at zero where the loss
has a tube; its maximum is taken exactly. The slope of -D in alpha_i, with the numbers of `_loops.loss_curve`, is

    margin loss      G_i = y_i (<w, x_i> + b) - aim + D_i alpha_i             D_i = ridge / C_i
    residual loss    G_i = <w, x_i> + b - y_i - aim + D_i alpha_i

and tube more or less to the right or the left of zero. A multiplier at a bound or at its kink, whose slopes point back
to it by more than the steepest slopes seen in the pass before, is taken out of the active set; the driver brings all of
them back before it believes anything.

Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3; for the tube Ho and Lin, JMLR 2012; for the
logistic loss, whose dual is no parabola, Yu, Huang and Lin, Machine Learning 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.coordinate_steps import LEFT, best_coefficient, logistic_step, share
from maxmargin._loops.loss_curve import Curve
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
def quadratic_epoch(
    rows: Any,
    numbers: Any,
    y: Any,
    C: Any,
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
    """One pass over order[:active] for a quadratic conjugate; returns what is still active and the extreme slopes.

    `numbers` are those of the curve, in a plain tuple; `bias` holds the fixed part of the intercept, the scale of the
    constant feature and its weight.
    """
    new_high, new_low = -np.inf, np.inf
    fixed, scale, constant = bias[0], bias[1], bias[2]
    curve = Curve(*numbers)
    aim, tube, ridge = curve.aim, curve.tube, curve.ridge
    k = 0
    steps = 0
    while k < active:
        steps += 1
        if steps % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        a, cost = alpha[i], C[i]
        sign, target = (y[i], aim) if curve.is_margin else (1.0, y[i] + aim)
        lower, upper, diagonal = -cost * curve.high, -cost * curve.low, ridge / cost
        slope = sign * (row_dot(rows, i, w) + fixed + scale * constant) - target + diagonal * a
        right = slope + tube if a >= 0.0 else slope - tube
        left = slope + tube if a > 0.0 else slope - tube
        violation = 0.0
        if right < 0.0 and a < upper:
            violation = right
        elif left > 0.0 and a > lower:
            violation = left
        elif (a >= upper or right > high) and (a <= lower or left < low):
            active -= 1
            order[k], order[active] = order[active], order[k]
            continue
        new_high, new_low = max(new_high, violation), min(new_low, violation)
        if abs(violation) > 1e-13:
            new = best_coefficient(a, slope, squares[i] + diagonal, tube, lower, upper)
            if new != a:
                change = (new - a) * sign
                add_row(rows, i, change, w)
                constant += scale * change
                alpha[i] = new
        k += 1
    bias[2] = constant
    return active, new_high, new_low


@fast_loop
def logistic_epoch(
    rows: Any,
    y: Any,
    C: Any,
    squares: Any,
    order: Any,
    alpha: Any,
    logit: Any,
    w: Any,
    bias: Any,
    stop: Any,
) -> float:
    """One pass for the logistic loss, 0 < alpha < C; returns the largest distance of a multiplier's share.

    The logits of the multipliers are kept beside them: `_loops.coordinate_steps` has what they are for.
    """
    worst = 0.0
    fixed, scale, constant = bias[0], bias[1], bias[2]
    for k in range(len(order)):
        if k % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        a, s, c, q = alpha[i], logit[i], C[i], squares[i]
        g = y[i] * (row_dot(rows, i, w) + fixed + scale * constant)
        p = a / c
        off = abs(share(-g) - p)
        worst = max(worst, off)
        if off < 1e-14 and abs(s + g) < 1e-10:
            continue
        s, p = logistic_step(s, p, s + g, LEFT * abs(s + g), a, g, q, c)
        change = (c * p - a) * y[i]
        add_row(rows, i, change, w)
        constant += scale * change
        alpha[i] = c * p
        logit[i] = s
    bias[2] = constant
    return worst
