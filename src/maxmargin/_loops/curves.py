"""Smooth losses inside compiled loops: value, slope and curvature at a score, and their sums over rows.

A loss is told by its code and, for the tube, its epsilon; `losses` says what the formulas are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop

LOGISTIC, SQUARED_HINGE, SQUARED, SQUARED_TUBE = 0, 1, 2, 3


@fast_loop
def curve(code: int, epsilon: float, f: float, y: float) -> Any:
    """Value, slope and curvature in f of the loss of a row with score f and target y."""
    if code == SQUARED_HINGE:
        short = 1.0 - y * f
        if short <= 0.0:
            return 0.0, 0.0, 0.0
        return short * short, -2.0 * y * short, 2.0
    if code == LOGISTIC:
        z = y * f
        e = np.exp(-abs(z))
        p = e / (1.0 + e) if z > 0.0 else 1.0 / (1.0 + e)  # probability of the other class
        return np.log1p(e) - min(z, 0.0), -y * p, e / ((1.0 + e) * (1.0 + e))
    r = f - y
    if code == SQUARED:
        return 0.5 * r * r, r, 1.0
    beyond = abs(r) - epsilon
    if beyond <= 0.0:
        return 0.0, 0.0, 0.0
    return beyond * beyond, 2.0 * beyond if r > 0.0 else -2.0 * beyond, 2.0


@fast_loop
def look_loop(
    code: int, epsilon: float, f: Any, b: float, y: Any, C: Any, first: int, last: int, slope: Any, curvature: Any
) -> Any:
    """Slopes and curvatures times C of rows first to last - 1; returns sums of loss, slope, and slope times score."""
    loss, total, product = 0.0, 0.0, 0.0
    for i in range(first, last):
        score = f[i] + b
        value, s, c = curve(code, epsilon, score, y[i])
        slope[i] = C[i] * s
        curvature[i] = C[i] * c
        loss += C[i] * value
        total += slope[i]
        product += slope[i] * score
    return loss, total, product


@fast_loop
def line_loop(
    code: int,
    epsilon: float,
    f: Any,
    b: float,
    along: Any,
    shift: float,
    t: float,
    y: Any,
    C: Any,
    first: int,
    last: int,
) -> Any:
    """First and second derivative in t of the loss at scores f + b + t (along + shift)."""
    first_sum, second_sum = 0.0, 0.0
    for i in range(first, last):
        a = along[i] + shift
        _, s, c = curve(code, epsilon, f[i] + b + t * a, y[i])
        first_sum += C[i] * s * a
        second_sum += C[i] * c * a * a
    return first_sum, second_sum


@fast_loop
def bias_loop(code: int, epsilon: float, f: Any, b: float, y: Any, C: Any, first: int, last: int) -> Any:
    """First and second derivative in b of the loss at scores f + b."""
    first_sum, second_sum = 0.0, 0.0
    for i in range(first, last):
        _, s, c = curve(code, epsilon, f[i] + b, y[i])
        first_sum += C[i] * s
        second_sum += C[i] * c
    return first_sum, second_sum
