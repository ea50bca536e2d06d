"""Distances between rows, added up entry by entry.

    square = False    |a - b|_1 = sum_k |a_k - b_k|
    square = True     |a - b|^2 = sum_k (a_k - b_k)^2

Every term is non-negative, so no order of the sum can cancel, and its error stays below d eps times the
result. That is why these sums, formed in double precision, may be reordered for speed although certificates
are computed from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop
from maxmargin._types import RowIndex


class SparseRows(NamedTuple):
    """Rows of a CSR matrix, columns increasing within a row."""

    values: NDArray[Any]
    columns: NDArray[Any]  # int32, or int64 where there are more than 2**31 columns
    starts: RowIndex


@fast_loop
def _absolute(a: NDArray[Any], b: NDArray[Any]) -> float:
    total = 0.0
    for k in range(a.shape[0]):
        total += abs(np.float64(a[k]) - np.float64(b[k]))
    return total


@fast_loop
def _squared(a: NDArray[Any], b: NDArray[Any]) -> float:
    total = 0.0
    for k in range(a.shape[0]):
        difference = np.float64(a[k]) - np.float64(b[k])
        total += difference * difference
    return total


@fast_loop
def dense_distances(
    A: NDArray[Any],
    B: NDArray[Any],
    square: bool,
    limit: float,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
    distances: NDArray[Any],
) -> int:
    """Measure entries up to `limit` in columns start to end - 1; returns the rows done, fewer if stopped."""
    for i in range(len(A)):
        if stop[0] != 0:
            return i
        for j in range(start, end):
            if distances[i, j] <= limit:
                distances[i, j] = _squared(A[i], B[j]) if square else _absolute(A[i], B[j])
    return len(A)


@fast_loop
def _merged(
    a_values: NDArray[Any],
    a_columns: NDArray[Any],
    b_values: NDArray[Any],
    b_columns: NDArray[Any],
    square: bool,
) -> float:
    """Distance of two sparse rows, walking along both at once."""
    total = 0.0
    i, j = 0, 0
    while i < a_columns.shape[0] or j < b_columns.shape[0]:
        if j == b_columns.shape[0] or (i < a_columns.shape[0] and a_columns[i] < b_columns[j]):
            difference = np.float64(a_values[i])
            i += 1
        elif i == a_columns.shape[0] or b_columns[j] < a_columns[i]:
            difference = np.float64(b_values[j])
            j += 1
        else:
            difference = np.float64(a_values[i]) - np.float64(b_values[j])
            i += 1
            j += 1
        total += difference * difference if square else abs(difference)
    return total


@fast_loop
def sparse_distances(
    A: SparseRows,
    B: SparseRows,
    square: bool,
    limit: float,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
    distances: NDArray[Any],
) -> int:
    """Measure entries up to `limit` in columns start to end - 1; returns the rows done, fewer if stopped."""
    n_rows = len(A.starts) - 1
    for i in range(n_rows):
        if stop[0] != 0:
            return i
        a_values = A.values[A.starts[i] : A.starts[i + 1]]
        a_columns = A.columns[A.starts[i] : A.starts[i + 1]]
        for j in range(start, end):
            if distances[i, j] <= limit:
                b_values = B.values[B.starts[j] : B.starts[j + 1]]
                b_columns = B.columns[B.starts[j] : B.starts[j + 1]]
                distances[i, j] = _merged(a_values, a_columns, b_values, b_columns, square)
    return n_rows
