"""The passes over constraints of an interior-point step; `solvers.interior` has the mathematics.

Constraint r belongs to row r, or to row r - n for the second walls of a tube. `above` is C - alpha, kept as a number of
its own: near the upper bound the difference would have no digits left.
"""

from __future__ import annotations

from typing import Any

from maxmargin._loops.compiling import fast_loop


@fast_loop
def weights_loop(alpha: Any, g: Any, xi: Any, above: Any, first: int, last: int, theta: Any) -> Any:
    """theta_r = 1 / (g / alpha + xi / (C - alpha)); returns the sum of the products that are to vanish."""
    total = 0.0
    for r in range(first, last):
        u = above[r]
        theta[r] = alpha[r] * u / (g[r] * u + xi[r] * alpha[r])
        total += alpha[r] * g[r] + u * xi[r]
    return total


@fast_loop
def push_loop(
    middle: float,
    s: Any,
    alpha: Any,
    g: Any,
    xi: Any,
    above: Any,
    theta: Any,
    d_alpha: Any,
    d_g: Any,
    d_xi: Any,
    first: int,
    last: int,
    q: Any,
    pushed: Any,
) -> None:
    """q_r and s_r theta_r q_r for products that go to `middle`, less the curvature of an earlier direction."""
    for r in range(first, last):
        u = above[r]
        product = middle - alpha[r] * g[r] - d_alpha[r] * d_g[r]
        product_above = middle - u * xi[r] + d_alpha[r] * d_xi[r]
        q[r] = product / alpha[r] - product_above / u
        pushed[r] = s[r] * theta[r] * q[r]


@fast_loop
def direction_loop(
    middle: float,
    f: Any,
    b: float,
    s: Any,
    alpha: Any,
    g: Any,
    xi: Any,
    above: Any,
    theta: Any,
    q: Any,
    first: int,
    last: int,
    d_margin: Any,
    d_alpha: Any,
    d_g: Any,
    d_xi: Any,
) -> float:
    """Directions of margins, multipliers and slacks from that of the scores; returns the inverse of the longest step.

    On entry d_alpha, d_g and d_xi hold the direction whose curvature is taken out (zero for a predictor).
    """
    n = len(f)
    inverse = 0.0
    for r in range(first, last):
        u = above[r]
        product = middle - alpha[r] * g[r] - d_alpha[r] * d_g[r]
        product_above = middle - u * xi[r] + d_alpha[r] * d_xi[r]
        margin = s[r] * (f[r if r < n else r - n] + b)
        change = theta[r] * (q[r] - margin)
        change_g = (product - g[r] * change) / alpha[r]
        change_xi = (product_above + xi[r] * change) / u
        inverse = max(inverse, -change / alpha[r], change / u)
        inverse = max(inverse, -change_g / g[r], -change_xi / xi[r])
        d_margin[r], d_alpha[r], d_g[r], d_xi[r] = margin, change, change_g, change_xi
    return inverse


@fast_loop
def ahead_loop(
    step: float, alpha: Any, g: Any, xi: Any, above: Any, d_alpha: Any, d_g: Any, d_xi: Any, first: int, last: int
) -> float:
    """Sum of the products after a step."""
    total = 0.0
    for r in range(first, last):
        total += (alpha[r] + step * d_alpha[r]) * (g[r] + step * d_g[r])
        total += (above[r] - step * d_alpha[r]) * (xi[r] + step * d_xi[r])
    return total


@fast_loop
def move_loop(
    step: float,
    margin: Any,
    alpha: Any,
    g: Any,
    xi: Any,
    above: Any,
    C: Any,
    s: Any,
    t: Any,
    d_margin: Any,
    d_alpha: Any,
    d_g: Any,
    d_xi: Any,
    first: int,
    last: int,
    signed: Any,
) -> Any:
    """Take the step; returns the sums of C times what is short of the margin, of s alpha, and of t alpha."""
    loss, total, gained = 0.0, 0.0, 0.0
    for r in range(first, last):
        margin[r] += step * d_margin[r]
        alpha[r] += step * d_alpha[r]
        above[r] -= step * d_alpha[r]
        g[r] += step * d_g[r]
        xi[r] += step * d_xi[r]
        signed[r] = s[r] * alpha[r]
        loss += C[r] * max(-margin[r], 0.0)
        total += signed[r]
        gained += t[r] * alpha[r]
    return loss, total, gained
