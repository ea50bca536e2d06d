"""The dual in one multiplier, the others fixed, and the step to its best value; for rows in memory and in a stream.

Quadratic conjugates (`_loops.loss_curve`). In the coefficient beta of a row the dual is, up to a constant, the minimum
of

    1/2 (|x|^2 + s^2 + D) (beta - a)^2 + g (beta - a) + tube |beta|        low <= beta <= high

around its present value a, with the slope g = f - t + D a:

    margin loss      t = aim y      y beta in [-C high_u, -C low_u]    D = ridge / C
    residual loss    t = y + aim      beta in [-C high_u, -C low_u]    D = ridge / C

so it is a soft threshold, clipped.

The logistic loss. With z = y beta, 0 < z < C, it is, up to a constant,

    1/2 q (z - a)^2 + g (z - a) + z log z + (C - z) log(C - z)

around its present value a, with q = |x|^2 + s^2 and the margin g = y f. Its minimum is found in the logit u, where
z = C p and p = 1 / (1 + exp(-u)): the slope

    h(u) = u + q (C p - a) + g

rises at least as fast as u, so its zero lies between u and u - h(u), wherever one begins. Newton steps kept between two
bounds that close in on the zero need few exponentials, because they may end early: what is left of the slope is for the
next visit of the row. From the logit of a, with a tenth of the slope left, most of the way to the minimum is done. From
any other logit a slope of a tenth says the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.loss_curve import Curve

_STEPS = 40
LEFT = 0.1
"""Slope that is enough, as a share of the first one or by itself."""
_BEYOND = 1.01  # of h(u), so that u - h(u) itself, where q is next to nothing the zero, is no bound yet


@fast_loop
def row_dual(curve: Curve, cost: float, y: float) -> Any:
    """Bounds of the coefficient of a row, its target t and its D."""
    diagonal = curve.ridge / cost
    if not curve.is_margin:
        return -cost * curve.high, -cost * curve.low, y + curve.aim, diagonal
    if y > 0.0:
        return -cost * curve.high, -cost * curve.low, curve.aim, diagonal
    return cost * curve.low, cost * curve.high, -curve.aim, diagonal


@fast_loop
def best_coefficient(a: float, g: float, curvature: float, tube: float, low: float, high: float) -> float:
    """Where the dual of a quadratic conjugate in one coefficient is best."""
    right, left = g + tube, g - tube  # slopes of its negative on both sides of zero, but for curvature
    if curvature <= 0.0:  # an empty row: the slope alone decides
        if right < 0.0:
            return high
        return low if left > 0.0 else min(max(0.0, low), high)
    if tube == 0.0:
        best = a - g / curvature
    elif right < curvature * a:
        best = a - right / curvature
    else:
        best = a - left / curvature if left > curvature * a else 0.0
    return min(max(best, low), high)


@fast_loop
def share(u: float) -> float:
    """The share p that the logit u stands for."""
    p: float = 1.0 / (1.0 + np.exp(-u))
    return p


@fast_loop
def logistic_step(u: float, p: float, h: float, enough: float, a: float, g: float, q: float, c: float) -> Any:
    """Logit and share near the minimum, where no more than `enough` of the slope is left.

    Given are a logit u, its share p and its slope h, which for the logit of a is u + g.
    """
    far = u - _BEYOND * h
    low, high = min(u, far), max(u, far)
    for _ in range(_STEPS):
        u -= h / (1.0 + q * c * p * (1.0 - p))
        if u <= low or u >= high:  # back at a bound, or past it: Newton steps may go to and fro
            u = 0.5 * (low + high)
        p = share(u)
        h = u + q * (c * p - a) + g
        if abs(h) <= enough:
            break
        if h > 0.0:
            high = u
        else:
            low = u
    return u, p
