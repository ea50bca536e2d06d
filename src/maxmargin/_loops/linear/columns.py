"""Coordinate descent on a quadratic plus strength |u|_1, over few columns at a time.

    minimise over u    1/2 (u - w)' H (u - w) + g' (u - w) + strength |u|_1

One step takes u_j to its best value while the others stay. With G = g + H (u - w) the slope of the quadratic at u and
a = H_jj u_j - G_j,

    u_j = sign(a) max(0, |a| - strength) / H_jj

which is exactly zero where |a| <= strength. A coordinate is off by its distance to optimality: |G_j| - strength at
u_j = 0, |G_j + strength sign(u_j)| elsewhere.

Two forms. With H at hand a step costs one row of H, and nothing where u_j stays. With H = Z'Z - edge edge' / corner
given by the columns of Z, r = Z (u - w) is kept up to date and a step costs twice the entries of one column; the
second term of H is an intercept that always takes its best value.

Sweeps over the coordinates that are not zero alternate with sweeps over all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import add_row, row_dot


@fast_loop
def _step(u: float, G: float, H: float, strength: float) -> Any:
    """Best value of one coordinate, and how far it was from optimal."""
    if u > 0.0:
        off = abs(G + strength)
    elif u < 0.0:
        off = abs(G - strength)
    else:
        off = max(abs(G) - strength, 0.0)
    a = H * u - G
    if abs(a) <= strength:
        return 0.0, off
    return (a - strength if a > 0.0 else a + strength) / H, off


@fast_loop
def gram_descent(H: Any, G: Any, u: Any, strength: float, goal: float, sweeps: int, stop: Any) -> int:
    """Sweeps until every coordinate is within `goal` of optimal; changes u and its slope G; returns the sweeps left."""
    support_only = False
    size = len(u)
    while sweeps > 0 and stop[0] == 0:
        worst = 0.0
        for j in range(size):
            if support_only and u[j] == 0.0:
                continue
            new, off = _step(u[j], G[j], H[j, j], strength)
            worst = max(worst, off)
            step = new - u[j]
            if step != 0.0:
                row = H[j]
                for k in range(np.uintp(size)):
                    G[k] += step * row[k]
                u[j] = new
        sweeps -= 1
        if worst <= goal and not support_only:
            break
        support_only = worst > goal
    return sweeps


@fast_loop
def column_descent(
    columns: Any,
    g: Any,
    diagonal: Any,
    edge: Any,
    corner: float,
    w: Any,
    u: Any,
    r: Any,
    strength: float,
    goal: float,
    sweeps: int,
    stop: Any,
) -> int:
    """The same from the columns of Z; changes u and r = Z (u - w); returns the sweeps left."""
    support_only = False
    tilt = 0.0  # edge' (u - w) / corner
    for j in range(len(u)):
        tilt += edge[j] * (u[j] - w[j]) / corner
    while sweeps > 0 and stop[0] == 0:
        worst = 0.0
        for j in range(len(u)):
            if support_only and u[j] == 0.0:
                continue
            G = g[j] + row_dot(columns, j, r) - edge[j] * tilt
            new, off = _step(u[j], G, diagonal[j], strength)
            worst = max(worst, off)
            step = new - u[j]
            if step != 0.0:
                add_row(columns, j, step, r)
                tilt += edge[j] * step / corner
                u[j] = new
        sweeps -= 1
        if worst <= goal and not support_only:
            break
        support_only = worst > goal
    return sweeps


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
