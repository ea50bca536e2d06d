"""The dual of the logistic loss in one multiplier, and the step to its minimum.

With the others fixed, -D in the multiplier z of a row, 0 < z < C, is, up to a constant,

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

_STEPS = 40
LEFT = 0.1
"""Slope that is enough, as a share of the first one or by itself."""
_BEYOND = 1.01  # of h(u), so that u - h(u) itself, where q is next to nothing the zero, is no bound yet


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
