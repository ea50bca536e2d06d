"""Losses inside compiled loops: value, slope and curvature at a score, and their sums over rows.

A loss is told by its code and, for a tube, its epsilon; `losses` says what the formulas are. Hinge and tube have kinks;
here each stands for its smooth neighbour in the method of multipliers (`solvers.linear.multipliers`): with a centre u_i
a row and a stiffness sigma,

    max over v of    v f - l_y*(v) - 1/(2 sigma) (v - u_i)^2

whose slope is the maximising v: the subgradient step u_i + sigma (...) put back into the domain of the conjugate. Its
curvature is sigma where v is inside, 0 where it is at an end. Centres are slopes of the curve, signs included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import row_dot

LOGISTIC, SQUARED_HINGE, SQUARED, SQUARED_TUBE, HINGE, TUBE = 0, 1, 2, 3, 4, 5


@fast_loop
def slopes(code: int, epsilon: float, sigma: float, u: float, f: float, y: float) -> Any:
    """Slope and curvature in f of the loss of a row with score f, target y and centre u."""
    if code == HINGE:
        v = y * u - sigma * (1.0 - y * f)
        if v <= -1.0:
            return -y, 0.0
        if v >= 0.0:
            return 0.0, 0.0
        return y * v, sigma
    if code == SQUARED_HINGE:
        short = 1.0 - y * f
        if short <= 0.0:
            return 0.0, 0.0
        return -2.0 * y * short, 2.0
    if code == LOGISTIC:
        e = np.exp(-abs(y * f))
        p = e / (1.0 + e) if y * f > 0.0 else 1.0 / (1.0 + e)  # probability of the other class
        return -y * p, e / ((1.0 + e) * (1.0 + e))
    r = f - y
    if code == TUBE:
        v = u + sigma * r
        v = v - sigma * epsilon if v > 0.0 else v + sigma * epsilon
        if (v > 0.0) != (u + sigma * r > 0.0):
            return 0.0, 0.0
        if abs(v) >= 1.0:
            return (1.0 if v > 0.0 else -1.0), 0.0
        return v, sigma
    if code == SQUARED:
        return r, 1.0
    beyond = abs(r) - epsilon
    if beyond <= 0.0:
        return 0.0, 0.0
    return 2.0 * beyond if r > 0.0 else -2.0 * beyond, 2.0


@fast_loop
def loss_value(code: int, epsilon: float, f: float, y: float) -> Any:
    """Loss of a row with score f and target y."""
    if code == HINGE:
        return max(0.0, 1.0 - y * f)
    if code == SQUARED_HINGE:
        short = max(0.0, 1.0 - y * f)
        return short * short
    if code == LOGISTIC:
        return np.log1p(np.exp(-abs(y * f))) - min(y * f, 0.0)
    if code == SQUARED:
        return 0.5 * (f - y) * (f - y)
    beyond = max(0.0, abs(f - y) - epsilon)
    return beyond if code == TUBE else beyond * beyond


@fast_loop
def conjugate_value(code: int, epsilon: float, v: float, y: float) -> Any:
    """Conjugate of the loss at the slope v, which must be in its domain."""
    if code == HINGE:
        return y * v
    if code == SQUARED_HINGE:
        return y * v + 0.25 * v * v
    if code == LOGISTIC:
        p = min(max(-y * v, 0.0), 1.0)
        inside = 0.0 < p < 1.0
        return p * np.log(p) + (1.0 - p) * np.log1p(-p) if inside else 0.0
    if code == SQUARED:
        return y * v + 0.5 * v * v
    if code == TUBE:
        return y * v + epsilon * abs(v)
    return y * v + epsilon * abs(v) + 0.25 * v * v


@fast_loop
def violation(code: int, epsilon: float, v: float, f: float, y: float) -> Any:
    """How far slope v and score f of a row are from belonging together: the nearer of moving one or the other."""
    if code == HINGE:
        z, share = y * f, -y * v
        return min(abs(1.0 - z), 1.0 - share if z < 1.0 else share)
    if code == SQUARED_HINGE:
        z, u = y * f, y * v
        return min(abs(2.0 * max(0.0, 1.0 - z) + u), abs(z - 1.0 - 0.5 * u) if u < 0.0 else max(0.0, 1.0 - z))
    if code == LOGISTIC:
        z, p = y * f, -y * v
        e = np.exp(-abs(z))
        off = abs((e if z > 0.0 else 1.0) / (1.0 + e) - p)
        return min(off, abs(z - np.log1p(-p) + np.log(p))) if 0.0 < p < 1.0 else off
    r = f - y
    if code == SQUARED:
        return abs(r - v)
    beyond = abs(r) - epsilon
    share = v if r > 0.0 else -v
    if code == TUBE:
        off = 1.0 - share if beyond > 0.0 else abs(share)
        return min(abs(beyond) if share >= 0.0 else beyond + 2.0 * epsilon, off)
    if share == 0.0:
        return max(0.0, beyond)
    inside = abs(beyond - 0.5 * share) if share > 0.0 else beyond + 2.0 * epsilon - 0.5 * share
    return min(abs(2.0 * max(0.0, beyond) - share), inside)


@fast_loop
def look_loop(
    code: int,
    epsilon: float,
    sigma: float,
    centre: Any,
    f: Any,
    b: float,
    y: Any,
    C: Any,
    first: int,
    last: int,
    slope: Any,
    curvature: Any,
) -> Any:
    """Slopes and curvatures times C of rows first to last - 1; returns sums of loss, conjugate and slope.

    The fourth number is the worst violation of a row.
    """
    loss, conjugate, total, worst = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        score = f[i] + b
        s, c = slopes(code, epsilon, sigma, centre[i] if code >= HINGE else 0.0, score, y[i])
        value = loss_value(code, epsilon, score, y[i])
        slope[i] = C[i] * s
        curvature[i] = C[i] * c
        loss += C[i] * value
        total += slope[i]
        if code >= HINGE:
            conjugate += C[i] * conjugate_value(code, epsilon, s, y[i])
            worst = max(worst, violation(code, epsilon, s, score, y[i]))
        else:
            conjugate += slope[i] * score - C[i] * value  # the slope at f itself
    return loss, conjugate, total, worst


@fast_loop
def gap_loop(
    rows: Any, code: int, epsilon: float, w: Any, b: float, y: Any, C: Any, beta: Any, first: int, last: int
) -> Any:
    """Sums of loss and conjugate over rows first to last - 1 for any coefficients beta, and the worst violation."""
    loss, conjugate, worst = 0.0, 0.0, 0.0
    for i in range(first, last):
        f = row_dot(rows, i, w) + b
        v = -beta[i] / C[i]
        loss += C[i] * loss_value(code, epsilon, f, y[i])
        conjugate += C[i] * conjugate_value(code, epsilon, v, y[i])
        worst = max(worst, violation(code, epsilon, v, f, y[i]))
    return loss, conjugate, worst


@fast_loop
def line_loop(
    code: int,
    epsilon: float,
    sigma: float,
    centre: Any,
    f: Any,
    b: float,
    along: Any,
    factor: float,
    shift: float,
    t: float,
    y: Any,
    C: Any,
    first: int,
    last: int,
) -> Any:
    """First and second derivative in t of the loss at scores f + b + t (factor along + shift)."""
    first_sum, second_sum = 0.0, 0.0
    for i in range(first, last):
        a = factor * along[i] + shift
        s, c = slopes(code, epsilon, sigma, centre[i] if code >= HINGE else 0.0, f[i] + b + t * a, y[i])
        first_sum += C[i] * s * a
        second_sum += C[i] * c * a * a
    return first_sum, second_sum
