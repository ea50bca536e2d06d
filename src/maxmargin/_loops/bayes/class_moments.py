"""Mean and squared deviations of every class, column by column, and the distances of rows from those means.

Dense rows come in tiles that stay in the processor's cache. A tile is passed over twice, for the means of its classes
and then for the deviations from them, so that a large offset of the data does not cancel their digits. The rule of
Chan, Golub and LeVeque then joins it to what came before. With W the weight, m the mean and S the squared deviations:

    W = W_a + W_b
    m = m_a + (m_b - m_a) W_b / W
    S = S_a + S_b + (m_b - m_a)^2 W_a W_b / W
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop, loop


class Moments(NamedTuple):
    """W, m and S: one weight a class, and a row of means and of squared deviations a class."""

    weight: Any
    mean: Any
    square: Any


@loop
def join_moments(moments: Moments, other: Moments) -> None:
    """Add `other` to `moments`, in place."""
    for k in range(len(moments.weight)):
        if other.weight[k] == 0.0:
            continue
        before, new = moments.weight[k], other.weight[k]
        share = new / (before + new)
        mean, square, other_mean, other_square = moments.mean[k], moments.square[k], other.mean[k], other.square[k]
        for j in range(len(mean)):
            step = other_mean[j] - mean[j]
            mean[j] += step * share
            square[j] += other_square[j] + step * step * share * before
        moments.weight[k] = before + new


@loop
def add_moments(
    values: Any, code: Any, weight: Any, start: int, end: int, moments: Moments, tile: Moments, lost: Any, stop: Any
) -> None:
    """Add rows start to end - 1, of class code[i], to `moments`; `tile` and `lost` are room to work in."""
    n_features = values.shape[1]
    rows_in_tile = max(16, 32768 // max(1, n_features))
    for top in range(start, end, rows_in_tile):
        if stop[0] != 0:
            return
        bottom = min(top + rows_in_tile, end)
        tile.weight[:] = 0.0
        for i in range(top, bottom):
            k = code[i]
            if tile.weight[k] == 0.0 and weight[i] > 0.0:
                tile.mean[k] = 0.0
                tile.square[k] = 0.0
                lost[k] = 0.0
            tile.weight[k] += weight[i]
            if weight[i] > 0.0:
                _add_scaled(values[i], weight[i], tile.mean[k])
        for k in range(len(tile.weight)):
            if tile.weight[k] > 0.0:
                tile.mean[k] /= tile.weight[k]
        for i in range(top, bottom):
            if weight[i] > 0.0:
                _add_deviations(values[i], weight[i], tile.mean[code[i]], tile.square[code[i]], lost[code[i]])
        for k in range(len(tile.weight)):
            if tile.weight[k] > 0.0:
                _correct(tile.mean[k], tile.square[k], lost[k], tile.weight[k])
        join_moments(moments, tile)


@loop
def _add_scaled(x: Any, factor: float, total: Any) -> None:
    for j in range(np.uintp(len(x))):
        total[j] += factor * x[j]


@loop
def _add_deviations(x: Any, factor: float, mean: Any, square: Any, lost: Any) -> None:
    """Add the deviations of a row to `square`, and to `lost` what rounding left out of the mean."""
    for j in range(np.uintp(len(x))):
        step = x[j] - mean[j]
        lost[j] += factor * step
        square[j] += factor * step * step


@loop
def _correct(mean: Any, square: Any, lost: Any, weight: float) -> None:
    """Move the mean to where its deviations add up to zero."""
    for j in range(np.uintp(len(mean))):
        mean[j] += lost[j] / weight
        square[j] = max(0.0, square[j] - lost[j] * lost[j] / weight)


@fast_loop
def squared_distances(values: Any, mean: Any, precision: Any, out: Any) -> None:
    """out[i, k] = sum_j precision[k, j] (x_ij - mean[k, j])^2."""
    for i in range(len(values)):
        x = values[i]
        for k in range(len(mean)):
            m, p = mean[k], precision[k]
            total = 0.0
            for j in range(np.uintp(len(x))):
                step = x[j] - m[j]
                total += p[j] * step * step
            out[i, k] = total
