"""Coordinate descent on a quadratic with the penalty l1 |u|_1 + l2/2 |u|^2, over a working set of columns.

One step takes u_j to its best value while the others stay. With v_j minus the slope of the quadratic in u_j (for
squared errors the correlation of column j with what is left of the target), h_j = H_jj its curvature and
a = (h_j + l2) u_j + v_j - l2 u_j,

    u_j = sign(a) max(0, |a| - l1) / (h_j + l2)

which is exactly zero where |a| <= l1; where weights must not be negative, also where a < 0. A coordinate is off by its
distance to optimality: |v_j - l2 u_j| - l1 at u_j = 0, |v_j - l2 u_j - l1 sign(u_j)| elsewhere.

Two forms. With H at hand a step costs one row of H, and nothing where u_j stays. With H = Z'Z - edge edge' given by the
columns of Z a step costs twice the entries of one column: rho = -Z (change of u), to which a caller may add what was
left before, is kept up to date, and so is tilt = -edge' (change of u). The second term of H is an intercept that always
takes its best value.

Sweeps over the coordinates that are not zero alternate with sweeps over all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import add_row, row_dot


class Shrinkage(NamedTuple):
    """What weights cost, l1 |u|_1 + l2/2 |u|^2, and whether they must not be negative."""

    l1: float
    l2: float = 0.0
    positive: bool = False


class SweptColumns(NamedTuple):
    """Columns of Z as rows, of which some are chosen, with v = base + Z rho - edge tilt and squared lengths."""

    Z: Any
    chosen: Any
    base: Any
    squares: Any
    edge: Any


@fast_loop
def _step(u: float, v: float, h: float, cost: Shrinkage) -> Any:
    """Best value of one coordinate, and how far it was from optimal."""
    l1, l2, positive = cost
    slope = v - l2 * u
    if u > 0.0:
        off = abs(slope - l1)
    elif u < 0.0:
        off = abs(slope + l1)
    elif positive:
        off = max(slope - l1, 0.0)
    else:
        off = max(abs(slope) - l1, 0.0)
    a = h * u + v
    if abs(a) <= l1 or (positive and a < 0.0):
        return 0.0, off
    return (a - l1 if a > 0.0 else a + l1) / (h + l2), off


@fast_loop
def product_sweeps(H: Any, v: Any, u: Any, cost: Shrinkage, goal: float, sweeps: int, stop: Any) -> bool:
    """Sweeps until every coordinate is within `goal` of optimal; changes u and v; says whether it got there.

    H may be larger than the working set: its first rows and columns count.
    """
    support_only = False
    size = len(u)
    while sweeps > 0 and stop[0] == 0:
        worst = 0.0
        for j in range(size):
            if support_only and u[j] == 0.0:
                continue
            new, off = _step(u[j], v[j], H[j, j], cost)
            worst = max(worst, off)
            step = new - u[j]
            if step != 0.0:
                row = H[j]
                for k in range(np.uintp(size)):
                    v[k] -= step * row[k]
                u[j] = new
        sweeps -= 1
        if worst <= goal and not support_only:
            return True
        support_only = worst > goal
    return False


@fast_loop
def column_sweeps(
    columns: SweptColumns, u: Any, rho: Any, cost: Shrinkage, goal: float, sweeps: int, stop: Any
) -> bool:
    """The same from the columns; changes u and rho."""
    Z, chosen, base, squares, edge = columns
    support_only = False
    tilt = 0.0
    while sweeps > 0 and stop[0] == 0:
        worst = 0.0
        for k in range(len(chosen)):
            if support_only and u[k] == 0.0:
                continue
            v = base[k] + row_dot(Z, chosen[k], rho) - edge[k] * tilt
            new, off = _step(u[k], v, squares[k], cost)
            worst = max(worst, off)
            step = new - u[k]
            if step != 0.0:
                add_row(Z, chosen[k], -step, rho)
                tilt -= step * edge[k]
                u[k] = new
        sweeps -= 1
        if worst <= goal and not support_only:
            return True
        support_only = worst > goal
    return False


@fast_loop
def chosen_products_loop(
    values: Any, columns: Any, starts: Any, weight: Any, chosen: Any, place: Any, at: Any, entry: Any, H: Any
) -> None:
    """H += sum of weight_i x_i x_i' over the chosen rows and the columns j with place_j >= 0.

    Every pair of columns is added once, on one side of the diagonal: above it where the columns of a row increase.
    `at` and `entry` are room for the columns of one row.
    """
    for i in chosen:
        n = 0
        for k in range(np.uintp(starts[i]), np.uintp(starts[i + 1])):
            j = place[np.uint32(columns[k])]
            if j >= 0:
                at[n] = j
                entry[n] = values[k]
                n += 1
        for p in range(np.uintp(n)):
            scaled = weight[i] * entry[p]
            row = H[np.uint32(at[p])]
            for q in range(p, np.uintp(n)):
                row[np.uint32(at[q])] += scaled * entry[q]
