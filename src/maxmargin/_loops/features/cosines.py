"""Cosines and sines of angles given in turns, in plain arithmetic, so that a loop over them uses vector instructions.

An angle of t turns is 2 pi t. Whole turns are taken away without rounding, t - floor(t + 1/2), so large angles cost no
digits beyond those that t itself has lost. With r in [-1/2, 1/2] left,

    cos(2 pi r) = sin(2 pi (1/4 - |r|))
    sin(2 pi r) = sin(2 pi s),    s = r folded at +-1/4

and the sine of less than a quarter turn is its Taylor series, cut off below the rounding error.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop

_TAYLOR = [(-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(11)]
_SINGLE = tuple(np.float32(c) for c in _TAYLOR[:7])
_DOUBLE = tuple(_TAYLOR)


@loop
def sine_single(s: Any) -> Any:
    """sin(2 pi s) of a float32 s between -1/4 and 1/4."""
    u = s * s
    p = _SINGLE[6]
    p = p * u + _SINGLE[5]
    p = p * u + _SINGLE[4]
    p = p * u + _SINGLE[3]
    p = p * u + _SINGLE[2]
    p = p * u + _SINGLE[1]
    p = p * u + _SINGLE[0]
    return p * s


@loop
def sine_double(s: Any) -> Any:
    """sin(2 pi s) of a float64 s between -1/4 and 1/4."""
    u = s * s
    p = _DOUBLE[10]
    p = p * u + _DOUBLE[9]
    p = p * u + _DOUBLE[8]
    p = p * u + _DOUBLE[7]
    p = p * u + _DOUBLE[6]
    p = p * u + _DOUBLE[5]
    p = p * u + _DOUBLE[4]
    p = p * u + _DOUBLE[3]
    p = p * u + _DOUBLE[2]
    p = p * u + _DOUBLE[1]
    p = p * u + _DOUBLE[0]
    return p * s


@loop
def waves_single(turns: Any, factor: Any, features: Any, start: int, end: int, stop: Any) -> None:
    """Rows start to end - 1 of `features`: factor times the cosines of `turns`, then the sines; float32."""
    half, quarter = np.float32(0.5), np.float32(0.25)
    n = turns.shape[1]
    for i in range(start, end):
        if stop[0] != 0:
            return
        for j in range(n):
            r = turns[i, j] - np.floor(turns[i, j] + half)
            features[i, j] = factor * sine_single(quarter - abs(r))
        for j in range(n):
            r = turns[i, j] - np.floor(turns[i, j] + half)
            folded = half - r if r > quarter else (-half - r if r < -quarter else r)
            features[i, n + j] = factor * sine_single(folded)


@loop
def waves_double(turns: Any, factor: Any, features: Any, start: int, end: int, stop: Any) -> None:
    """Rows start to end - 1 of `features`: factor times the cosines of `turns`, then the sines; float64."""
    n = turns.shape[1]
    for i in range(start, end):
        if stop[0] != 0:
            return
        for j in range(n):
            r = turns[i, j] - np.floor(turns[i, j] + 0.5)
            features[i, j] = factor * sine_double(0.25 - abs(r))
        for j in range(n):
            r = turns[i, j] - np.floor(turns[i, j] + 0.5)
            folded = 0.5 - r if r > 0.25 else (-0.5 - r if r < -0.25 else r)
            features[i, n + j] = factor * sine_double(folded)


@loop
def turns_of_sparse_rows(rows: Any, frequencies: Any, top: int, turns: Any, start: int, end: int, stop: Any) -> None:
    """Rows start to end - 1 of `turns`: those of the sparse rows from `top` on, times the frequencies."""
    n = turns.shape[1]
    for i in range(start, end):
        if stop[0] != 0:
            return
        for j in range(n):
            turns[i, j] = 0.0
        for k in range(np.uintp(rows.starts[top + i]), np.uintp(rows.starts[top + i + 1])):
            value = rows.values[k]
            column = np.uintp(rows.columns[k])
            for j in range(n):
                turns[i, j] += value * frequencies[column, j]
