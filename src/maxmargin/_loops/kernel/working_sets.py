"""What surrounds the pair steps of a working set: the look at all variables, its matrix, and the change of slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop, loop
from maxmargin._loops.kernel.pair_steps import fall_of, rise_of


@loop
def look(
    F: NDArray[np.float64],
    beta: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    tube: NDArray[np.float64],
    rising: NDArray[np.float64],
    falling: NDArray[np.float64],
) -> tuple[float, float]:
    """Slopes of raising and of lowering each variable; returns the smallest of the first, the largest of the second."""
    low, high = np.inf, -np.inf
    for k in range(len(F)):
        up = F[k] + rise_of(beta[k], upper[k], tube[k])
        down = F[k] + fall_of(beta[k], lower[k], tube[k])
        rising[k], falling[k] = up, down
        low, high = min(low, up), max(high, down)
    return low, high


@loop
def gap_terms(
    F: NDArray[np.float64],
    beta: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    tube: NDArray[np.float64],
    ridge: NDArray[np.float64],
    b: float,
) -> tuple[float, float]:
    """Sums over rows of the loss and of the gap, at the intercept b.

    With g = f + b - t the loss is the largest of -g c - tube |c| - 1/2 ridge c^2 over lower <= c <= upper, and the gap
    is what beta falls short of it. Every term of the gap is non-negative, so nothing cancels.
    """
    losses, gap = 0.0, 0.0
    for k in range(len(F)):
        g = F[k] - ridge[k] * beta[k] + b
        beyond = max(-g - tube[k], 0.0) - max(g - tube[k], 0.0)
        if beyond == 0.0:
            loss = 0.0
        elif ridge[k] > 0.0:
            best = min(max(beyond / ridge[k], lower[k]), upper[k])
            loss = best * (beyond - 0.5 * ridge[k] * best)
        else:
            loss = beyond * (upper[k] if beyond > 0.0 else lower[k])
        losses += loss
        gap += loss + g * beta[k] + tube[k] * abs(beta[k]) + 0.5 * ridge[k] * beta[k] * beta[k]
    return losses, gap


@loop
def gather(
    kept: NDArray[Any],
    slots: NDArray[np.int64],
    columns: NDArray[np.int64],
    order: NDArray[np.int64],
    targets: NDArray[np.int64],
    start: int,
    end: int,
    stop: NDArray[np.uint8],
    Q: NDArray[Any],
) -> None:
    """Row `targets[k]` of Q from kept row `slots[k]`, in the given columns of it, for k from start to end - 1.

    `order` sorts the columns, so that memory is read forwards.
    """
    for k in range(start, end):
        row, out = kept[slots[k]], Q[targets[k]]
        for q in order:
            out[q] = row[columns[q]]


@loop
def pick(
    matrix: NDArray[Any],
    rows: NDArray[np.int64],
    columns: NDArray[np.uint32],
    places: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Some rows and columns of a matrix, row k into row `places[k]` of `out`."""
    for k in range(len(rows)):
        row, line = matrix[rows[k]], out[places[k]]
        for q in range(len(columns)):
            line[q] = row[columns[q]]


@loop
def mirror(Q: NDArray[Any], fresh: NDArray[np.int64], start: int, end: int, stop: NDArray[np.uint8]) -> None:
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
def add_rows(
    values: NDArray[Any],
    slots: NDArray[np.int64],
    steps: NDArray[np.float64],
    start: int,
    end: int,
    stop: NDArray[np.uint8],
    change: NDArray[np.float64],
) -> None:
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
