"""Cosines and sines of angles given in turns, in plain arithmetic, so that a loop over them uses vector instructions.

An angle of t turns is 2 pi t. Whole turns are taken away without rounding, t - floor(t + 1/2), so large angles cost no
digits beyond those that t itself has lost. With r in [-1/2, 1/2] left,

    cos(2 pi r) = sin(2 pi (1/4 - |r|))
    sin(2 pi r) = sin(2 pi s),    s = r folded at +-1/4

and the sine of less than a quarter turn is its Taylor series, cut off below the rounding error. Its coefficients come
as a tuple, whose length is part of its type: so the compiler writes the series out in full for either precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop

SINE_DOUBLE = tuple((-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10, -1, -1))
"""Coefficients of sin(2 pi s) as a series in s, that of the highest power first."""
SINE_SINGLE = tuple(np.float32(c) for c in SINE_DOUBLE[-7:])


@loop
def _sine(s: Any, coefficients: Any) -> Any:
    """sin(2 pi s) of s between -1/4 and 1/4."""
    u = s * s
    p = coefficients[0]
    for c in coefficients[1:]:
        p = p * u + c
    return p * s


@loop
def cosines_and_sines(
    angles: Any, factor: Any, coefficients: Any, features: Any, start: int, end: int, stop: Any
) -> None:
    """Rows start to end - 1 of `features`: factor times the cosines of the angles, then the sines; all of one type."""
    half, quarter = angles.dtype.type(0.5), angles.dtype.type(0.25)
    n = angles.shape[1]
    for i in range(start, end):
        if stop[0] != 0:
            return
        for j in range(n):
            r = angles[i, j] - np.floor(angles[i, j] + half)
            features[i, j] = factor * _sine(quarter - abs(r), coefficients)
        for j in range(n):
            r = angles[i, j] - np.floor(angles[i, j] + half)
            folded = half - r if r > quarter else (-half - r if r < -quarter else r)
            features[i, n + j] = factor * _sine(folded, coefficients)


@loop
def angles_of_sparse_rows(rows: Any, frequencies: Any, top: int, angles: Any, start: int, end: int, stop: Any) -> None:
    """Rows start to end - 1 of `angles`: those of the sparse rows from `top` on, times the frequencies."""
    n = angles.shape[1]
    for i in range(start, end):
        if stop[0] != 0:
            return
        for j in range(n):
            angles[i, j] = 0.0
        for k in range(np.uintp(rows.starts[top + i]), np.uintp(rows.starts[top + i + 1])):
            value = rows.values[k]
            column = np.uintp(rows.columns[k])
            for j in range(n):
                angles[i, j] += value * frequencies[column, j]
