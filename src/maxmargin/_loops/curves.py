"""Losses inside compiled loops: value, slope and curvature at a score, and their sums over rows.

`_loops.loss_curve` has the record that tells a loss and what its numbers mean. Slopes here are those in the score f:
v = y u for a margin loss and v = u for a residual loss, with u the slope of the curve.

A loss without a ridge, such as hinge and tube, has kinks. Where a slope and a curvature are asked for it stands for its
smooth neighbour in the method of multipliers (`solvers.linear.multipliers`): with a centre u_i a row and a stiffness
sigma,

    max over u of    u (z - aim) - tube |u| - 1/(2 sigma) (u - u_i)^2

whose slope is the maximising u, the subgradient step u_i + sigma (z - aim) shrunk by the tube and put back into the
domain of the conjugate. So is that of a loss with a ridge, with 1 / ridge for sigma and 0 for u_i. The curvature is
sigma (or 1 / ridge) where u is inside, 0 where it is at an end or at the zero of a tube.

Loops that a small fit calls many times take the `numbers` of a curve, `tuple(curve)`: Numba takes over a plain tuple
four times faster than a NamedTuple.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.loss_curve import LOGISTIC, Curve
from maxmargin._loops.rows import row_dot


@fast_loop
def shrunk(v: float, by: float) -> float:
    """A number nearer to zero by so much, and zero within it."""
    return max(v - by, 0.0) + min(v + by, 0.0)


@fast_loop
def _has_kinks(curve: Curve) -> bool:
    return curve.kind != LOGISTIC and curve.ridge == 0.0


@fast_loop
def slopes(curve: Curve, centre: float, f: float, y: float) -> Any:
    """Slope and curvature of the loss, or of its neighbour, of a row with score f, target y and that centre."""
    sign, z = (y, y * f) if curve.is_margin else (1.0, f - y)
    if curve.kind == LOGISTIC:
        e = np.exp(-abs(z))
        p = e / (1.0 + e) if z > 0.0 else 1.0 / (1.0 + e)  # probability of the other class
        return -sign * p, e / ((1.0 + e) * (1.0 + e))
    if curve.ridge > 0.0:
        start, stiffness = 0.0, 1.0 / curve.ridge
    else:
        start, stiffness = sign * centre, curve.sigma
    edge = stiffness * curve.tube
    u = shrunk(start + stiffness * (z - curve.aim), edge)
    is_inside = curve.low < u < curve.high and (u != 0.0 or edge == 0.0)
    return sign * min(max(u, curve.low), curve.high), stiffness if is_inside else 0.0


@fast_loop
def subgradient(curve: Curve, f: float, y: float) -> float:
    """One slope of the loss of a row with score f and target y; 0 at a kink."""
    if curve.kind == LOGISTIC or curve.ridge > 0.0:
        slope: float = slopes(curve, 0.0, f, y)[0]
        return slope
    sign, z = (y, y * f) if curve.is_margin else (1.0, f - y)
    if z - curve.aim > curve.tube:
        return sign * curve.high
    return sign * curve.low if z - curve.aim < -curve.tube else 0.0


@fast_loop
def loss_value(curve: Curve, f: float, y: float) -> Any:
    """Loss of a row with score f and target y."""
    z = y * f if curve.is_margin else f - y
    if curve.kind == LOGISTIC:
        return np.log1p(np.exp(-abs(z))) - min(z, 0.0)
    beyond = shrunk(z - curve.aim, curve.tube)
    if curve.ridge > 0.0:
        u = min(max(beyond / curve.ridge, curve.low), curve.high)
        return (beyond - 0.5 * curve.ridge * u) * u
    return beyond * (curve.high if beyond > 0.0 else curve.low)


@fast_loop
def conjugate_value(curve: Curve, v: float, y: float) -> Any:
    """Conjugate of the loss at the slope v, which must be in its domain."""
    u, own = (y * v, 0.0) if curve.is_margin else (v, y * v)
    if curve.kind == LOGISTIC:
        p = min(max(-u, 0.0), 1.0)
        is_inside = 0.0 < p < 1.0
        return p * np.log(p) + (1.0 - p) * np.log1p(-p) if is_inside else 0.0
    return own + curve.aim * u + curve.tube * abs(u) + 0.5 * curve.ridge * u * u


@fast_loop
def violation(curve: Curve, v: float, f: float, y: float) -> Any:
    """How far slope v and score f of a row are from belonging together: the nearer of moving one or the other."""
    u, z = (y * v, y * f) if curve.is_margin else (v, f - y)
    if curve.kind == LOGISTIC:
        e = np.exp(-abs(z))
        off = abs((e if z > 0.0 else 1.0) / (1.0 + e) + u)
        return min(off, abs(z - np.log1p(u) + np.log(-u))) if -1.0 < u < 0.0 else off
    low, high, tube, t = curve.low, curve.high, curve.tube, z - curve.aim
    if curve.ridge > 0.0:
        least = most = min(max(shrunk(t, tube) / curve.ridge, low), high)
    else:  # a kink has all slopes between those on its sides
        least = high if t > tube else 0.0 if t > -tube else low
        most = high if t >= tube else 0.0 if t >= -tube else low
    nearest = curve.ridge * min(max(u, low), high)
    first = -np.inf if u <= low else nearest + (tube if u > 0.0 else -tube)
    last = np.inf if u >= high else nearest - (tube if u < 0.0 else -tube)
    return max(min(max(least - u, u - most), max(first - t, t - last)), 0.0)


@fast_loop
def evaluate_loop(
    numbers: Any, f: Any, b: float, y: Any, C: Any, first: int, last: int, slope: Any, curvature: Any
) -> Any:
    """Slopes and curvatures times C of rows first to last - 1; returns sums of loss, conjugate and slope.

    The fourth number is the worst violation of a row.
    """
    loss, conjugate, total, worst = 0.0, 0.0, 0.0, 0.0
    curve = Curve(*numbers)
    has_kinks, centre = _has_kinks(curve), curve.centre
    for i in range(first, last):
        score = f[i] + b
        s, c = slopes(curve, centre[i] if has_kinks else 0.0, score, y[i])
        value = loss_value(curve, score, y[i])
        slope[i] = C[i] * s
        curvature[i] = C[i] * c
        loss += C[i] * value
        total += slope[i]
        if has_kinks:
            conjugate += C[i] * conjugate_value(curve, s, y[i])
            worst = max(worst, violation(curve, s, score, y[i]))
        else:
            conjugate += slope[i] * score - C[i] * value  # the slope at f itself
    return loss, conjugate, total, worst


@fast_loop
def gap_loop(rows: Any, numbers: Any, w: Any, b: float, y: Any, C: Any, beta: Any, first: int, last: int) -> Any:
    """Sums of loss and conjugate over rows first to last - 1 for any coefficients beta, and the worst violation."""
    loss, conjugate, worst = 0.0, 0.0, 0.0
    curve = Curve(*numbers)
    for i in range(first, last):
        f = row_dot(rows, i, w) + b
        v = -beta[i] / C[i]
        loss += C[i] * loss_value(curve, f, y[i])
        conjugate += C[i] * conjugate_value(curve, v, y[i])
        worst = max(worst, violation(curve, v, f, y[i]))
    return loss, conjugate, worst


@fast_loop
def line_loop(
    numbers: Any,
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
    curve = Curve(*numbers)
    has_kinks, centre = _has_kinks(curve), curve.centre
    for i in range(first, last):
        a = factor * along[i] + shift
        s, c = slopes(curve, centre[i] if has_kinks else 0.0, f[i] + b + t * a, y[i])
        first_sum += C[i] * s * a
        second_sum += C[i] * c * a * a
    return first_sum, second_sum
