"""Passes over all rows: scores, combinations of rows, lengths, and weighted products of sparse columns.

Sums run in double precision whatever the data are. Each loop works on rows `first` to `last - 1`, so that threads can
share a pass; `data.rows` drives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.rows import (
    add_row,
    add_squared_row,
    careful_add_row,
    careful_row_dot,
    row_dot,
    row_square,
)


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
def chosen_scores_loop(rows: Any, w: Any, chosen: Any, first: int, last: int, out: Any) -> None:
    """out_k = <w, x_i> for i = chosen_k."""
    for k in range(first, last):
        out[k] = row_dot(rows, chosen[k], w)


@loop
def chosen_combination_loop(rows: Any, beta: Any, chosen: Any, first: int, last: int, out: Any) -> None:
    """Out += sum_k beta_k x_i with i = chosen_k."""
    for k in range(first, last):
        if beta[k] != 0.0:
            add_row(rows, chosen[k], beta[k], out)


@loop
def row_products_loop(rows: Any, chosen: Any, first: int, dense: Any, table: Any) -> None:
    """table_kl = table_lk = <x_i, x_j> for i = chosen_k, j = chosen_l, k >= first and all l <= k.

    `dense` is a vector of zeros, one a column, and is left so.
    """
    for k in range(first, len(chosen)):
        add_row(rows, chosen[k], 1.0, dense)
        for m in range(k + 1):
            table[k, m] = row_dot(rows, chosen[m], dense)
            table[m, k] = table[k, m]
        add_row(rows, chosen[k], -1.0, dense)


@loop
def careful_scores_loop(rows: Any, w: Any, first: int, last: int, out: Any) -> None:
    """out_i = <w, x_i>, for a certificate."""
    for i in range(first, last):
        out[i] = careful_row_dot(rows, i, w)


@loop
def careful_combination_loop(rows: Any, beta: Any, first: int, last: int, out: Any, missed: Any) -> None:
    """Out + missed += sum_i beta_i x_i, for a certificate: large terms may cancel."""
    for i in range(first, last):
        if beta[i] != 0.0:
            careful_add_row(rows, i, beta[i], out, missed)


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
    """Upper triangle of H += sum_k weight_k x_i x_i' over i = chosen_k, CSR with sorted columns."""
    for k in range(len(chosen)):
        end = np.uintp(starts[chosen[k] + 1])
        for p in range(np.uintp(starts[chosen[k]]), end):
            scaled = weight[k] * values[p]
            row = H[np.uint32(columns[p])]
            for q in range(p, end):
                row[np.uint32(columns[q])] += scaled * values[q]
