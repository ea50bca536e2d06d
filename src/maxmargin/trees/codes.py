"""Columns of numbers as ranks: the form in which trees look for splits.

The codes take 2 bytes an entry, or 4 where a column has more than 65,535 distinct values; the rows themselves are never
copied whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._loops.trees.codes import code_sorted_numbers, code_whole_numbers
from maxmargin._loops.trees.records import Columns
from maxmargin._types import Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import DataError

_COLUMNS_AT_ONCE = 8
"""A cache line of doubles: rows that lie one after the other are read once for so many columns."""
_MOST_SPARSE_ENTRIES = 1 << 31
_MOST_SHORT_CODES = 2**16 - 1


def coded_columns(X: Rows, n_jobs: int | None) -> Columns:
    """Code the columns of X, dense or sparse; NaN is a missing value."""
    n, d = X.shape
    if sparse.issparse(X) and n * d > _MOST_SPARSE_ENTRIES:
        raise DataError(
            f"a tree codes every entry of a column, also those that are not stored: {n:,} x {d:,} of them would take "
            f"{2 * n * d / 1e9:.0f} GB. Select columns before, or train on fewer rows."
        )
    codes = np.empty((d, n), dtype=np.uint16)
    wide: dict[int, NDArray[np.uint32]] = {}
    values: list[Any] = [None] * d
    columns = X.tocsc() if sparse.issparse(X) else X
    n_groups = -(-d // _COLUMNS_AT_ONCE)

    def code_groups(first: int, last: int, stop: StopFlag) -> None:
        for j, column in _dense_columns(columns, first * _COLUMNS_AT_ONCE, min(d, last * _COLUMNS_AT_ONCE)):
            if stop[0]:
                return
            values[j], found = _code(column, codes[j])
            if found is not None:
                wide[j] = found

    over_ranges(code_groups, n_groups, n_jobs, brief=n * d < 1 << 16)
    if wide:
        codes = codes.astype(np.uint32)
        for j, found in wide.items():
            codes[j] = found
    sizes = np.array([len(known) for known in values], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    return Columns(codes, sizes, np.concatenate(values), offsets)


def _dense_columns(X: Rows, first: int, last: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Columns from `first` to `last` - 1 as doubles that lie one after the other; each is gone when the next comes."""
    room = np.empty((_COLUMNS_AT_ONCE, X.shape[0]))
    for top in range(first, last, _COLUMNS_AT_ONCE):
        group = X[:, top : min(last, top + _COLUMNS_AT_ONCE)]
        filled = room[: group.shape[1]]
        filled[:] = (group.toarray() if sparse.issparse(group) else group).T
        yield from enumerate(filled, start=top)


def _code(column: NDArray[np.float64], codes: NDArray[np.uint16]) -> tuple[Any, NDArray[np.uint32] | None]:
    """Distinct values of a column; its codes go to `codes`, or are returned where they do not fit."""
    n = len(column)
    low, high = float(np.fmin.reduce(column)), float(np.fmax.reduce(column))  # NaN only where nothing is known
    if low == np.floor(low) and high - low < min(4 * n + 64, _MOST_SHORT_CODES):
        span = int(high - low) + 1
        table, values = np.zeros(span + 1, dtype=np.int32), np.empty(span)
        size = code_whole_numbers(column, low, table, codes, values)
        if size >= 0:
            return values[:size].copy(), None
    order, values = np.argsort(column), np.empty(n)
    found = np.empty(n, dtype=np.uint32)
    size = code_sorted_numbers(column, order, found, values)
    if size > _MOST_SHORT_CODES:
        return values[:size].copy(), found
    codes[:] = found
    return values[:size].copy(), None
