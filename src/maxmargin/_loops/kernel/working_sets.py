"""What surrounds the pair steps of a working set: sums over all variables, its matrix, and the change of slopes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop, loop
from maxmargin._loops.kernel.pair_steps import Flag, PairBox, Values, fall_of, rise_of
from maxmargin._types import RowIndex, Vector


@loop
def extremes(F: Vector, beta: Vector, box: PairBox, rising: Vector, falling: Vector, low: Vector, high: Vector) -> None:
    """Slopes of raising and of lowering each variable, and of each group the lowest rise and the highest fall."""
    for group in range(len(low)):
        smallest, largest = np.inf, -np.inf
        for k in range(len(F)):
            if box.group[k] == group:
                up = F[k] + rise_of(beta[k], box.upper[k], box.tube[k])
                down = F[k] + fall_of(beta[k], box.lower[k], box.tube[k])
                rising[k], falling[k] = up, down
                smallest, largest = min(smallest, up), max(largest, down)
        low[group], high[group] = smallest, largest


@loop
def terms(
    F: Vector, beta: Vector, box: PairBox, target: Vector, b: Vector
) -> tuple[float, float, float, float, float, float, float, float]:
    """The sums of `solvers.kernel.engine.Terms`. Every term of the gap is non-negative, so nothing cancels."""
    losses, gap, square, gain, size, squares, steepness, largest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(F)):
        c, lower, upper, tube, ridge = beta[k], box.lower[k], box.upper[k], box.tube[k], box.ridge[k]
        slope = F[k] - ridge * c
        g, length = slope + b[box.group[k]], abs(c)
        beyond = max(-g - tube, 0.0) - max(g - tube, 0.0)
        if beyond == 0.0:
            loss = 0.0
        elif ridge > 0.0:
            best = min(max(beyond / ridge, lower), upper)
            loss = best * (beyond - 0.5 * ridge * best)
        else:
            loss = beyond * (upper if beyond > 0.0 else lower)
        own = tube * length + 0.5 * ridge * c * c
        losses += loss
        gap += loss + g * c + own
        square += c * (slope + target[k])
        gain += target[k] * c - own
        size += length
        squares += c * c
        if c != 0.0:
            bound = max(-lower, upper)
            steepness += bound if np.isfinite(bound) else length
        largest = max(largest, abs(F[k]))
    return losses, gap, square, gain, size, squares, steepness, largest


@loop
def gather(
    kept: Values,
    slots: RowIndex,
    columns: RowIndex,
    order: RowIndex,
    targets: RowIndex,
    start: int,
    end: int,
    stop: Flag,
    Q: Values,
) -> None:
    """Row `targets[k]` of Q from kept row `slots[k]`, in the given columns of it, for k from start to end - 1.

    `order` sorts the columns, so that memory is read forwards.
    """
    for k in range(start, end):
        row, out = kept[slots[k]], Q[targets[k]]
        for q in order:
            out[q] = row[columns[q]]


@loop
def pick(matrix: Values, rows: RowIndex, columns: NDArray[np.uint32], places: RowIndex, out: Values) -> None:
    """Some rows and columns of a matrix, row k into row `places[k]` of `out`."""
    for k in range(len(rows)):
        row, line = matrix[rows[k]], out[places[k]]
        for q in range(len(columns)):
            line[q] = row[columns[q]]


@loop
def mirror(Q: Values, fresh: RowIndex, start: int, end: int, stop: Flag) -> None:
    """Columns `fresh` of a symmetric matrix from its rows `fresh`, in rows start to end - 1; a small tile at a time."""
    for top in range(start, end, 32):
        bottom = min(top + 32, end)
        for first in range(0, len(fresh), 32):
            part = fresh[first : first + 32]
            for q in range(top, bottom):
                out = Q[q]
                for p in part:
                    out[p] = Q[p, q]


@fast_loop
def add_rows(values: Values, slots: RowIndex, steps: Vector, start: int, end: int, stop: Flag, change: Vector) -> None:
    """change_j += sum_p steps_p values[slots_p, j] for columns start to end - 1, four rows at a time."""
    n = len(slots)
    for first in range(start, end, 1024):
        last = min(first + 1024, end)
        out = change[first:last]
        if stop[0] != 0:
            return
        p = 0
        while p + 4 <= n:
            s0, s1, s2, s3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
            r0, r1 = values[slots[p], first:last], values[slots[p + 1], first:last]
            r2, r3 = values[slots[p + 2], first:last], values[slots[p + 3], first:last]
            for j in range(out.shape[0]):
                out[j] += (s0 * np.float64(r0[j]) + s1 * np.float64(r1[j])) + (
                    s2 * np.float64(r2[j]) + s3 * np.float64(r3[j])
                )
            p += 4
        while p < n:
            s0, r0 = steps[p], values[slots[p], first:last]
            for j in range(out.shape[0]):
                out[j] += s0 * np.float64(r0[j])
            p += 1
