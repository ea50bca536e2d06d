"""Passes over all rows: scores, combinations of rows, lengths, and weighted products of sparse columns.

Sums run in double precision whatever the data are. Each loop works on rows `first` to `last - 1`, so that threads can
share a pass; `solvers.passes` drives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.rows import add_row, add_squared_row, row_dot, row_square


@loop
def scores_loop(rows: Any, w: Any, first: int, last: int, out: Any) -> None:
    """out_i = <w, x_i>."""
    for i in range(first, last):
        out[i] = row_dot(rows, i, w)


@loop
def combination_loop(rows: Any, beta: Any, first: int, last: int, out: Any) -> None:
    """Out += sum_i beta_i x_i."""
    for i in range(first, last):
        if beta[i] != 0.0:
            add_row(rows, i, beta[i], out)


@loop
def squared_combination_loop(rows: Any, beta: Any, first: int, last: int, out: Any) -> None:
    """Out += sum_i beta_i x_i^2, squares taken column by column."""
    for i in range(first, last):
        if beta[i] != 0.0:
            add_squared_row(rows, i, beta[i], out)


@loop
def squares_loop(rows: Any, first: int, last: int, out: Any) -> None:
    """out_i = |x_i|^2."""
    for i in range(first, last):
        out[i] = row_square(rows, i)


@loop
def sparse_products_loop(values: Any, columns: Any, starts: Any, weight: Any, chosen: Any, H: Any) -> None:
    """Upper triangle of H += sum of weight_i x_i x_i' over the chosen rows, CSR with sorted columns."""
    for i in chosen:
        end = np.uintp(starts[i + 1])
        for p in range(np.uintp(starts[i]), end):
            scaled = weight[i] * values[p]
            row = H[np.uint32(columns[p])]
            for q in range(p, end):
                row[np.uint32(columns[q])] += scaled * values[q]
