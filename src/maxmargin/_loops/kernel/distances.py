"""Distances between rows, and between strings.

    |a - b|_1 = sum_k |a_k - b_k|        |a - b|^2 = sum_k (a_k - b_k)^2        (with `square`)

are added up entry by entry. Every term is non-negative, so no order of the sum can cancel, and its error stays below
d eps times the result. That is why these sums, formed in double precision, may be reordered for speed although
certificates are computed from them.

Levenshtein's distance between strings: with D[p, q] that between the first p characters of a and the first q of b,

    D[p, 0] = p,   D[0, q] = q
    D[p, q] = min(D[p - 1, q] + 1, D[p, q - 1] + 1, D[p - 1, q - 1] + (a_p != b_q))

Every loop fills columns start to end - 1 of a matrix of distances, and returns how far it came before it was stopped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop, loop
from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._types import Matrix, RowIndex


@fast_loop
def _distance(a: NDArray[Any], b: NDArray[Any], square: bool) -> float:
    """Distance of two dense rows; the compiler asks for `square` once, not at every entry."""
    total = 0.0
    for k in range(a.shape[0]):
        difference = np.float64(a[k]) - np.float64(b[k])
        total += difference * difference if square else abs(difference)
    return total


@fast_loop
def dense_distances(
    A: DenseRows, B: DenseRows, square: bool, limit: float, start: int, end: int, stop: Any, distances: NDArray[Any]
) -> int:
    """Measure the entries up to `limit`; returns the rows done."""
    a, b = A.values, B.values
    for i in range(len(a)):
        if stop[0] != 0:
            return i
        for j in range(start, end):
            if distances[i, j] <= limit:
                distances[i, j] = _distance(a[i], b[j], square)
    return len(a)


@fast_loop
def _merged(
    a_values: NDArray[Any], a_columns: NDArray[Any], b_values: NDArray[Any], b_columns: NDArray[Any], square: bool
) -> float:
    """Distance of two sparse rows with increasing columns, walking along both at once."""
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
    A: CSRRows, B: CSRRows, square: bool, limit: float, start: int, end: int, stop: Any, distances: NDArray[Any]
) -> int:
    """As `dense_distances`, of sparse rows."""
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


class Strings(NamedTuple):
    """Strings one after the other; string i is codes[starts[i]:starts[i + 1]]."""

    codes: NDArray[np.uint32]
    starts: RowIndex


@loop
def _edit_distance(a: NDArray[np.uint32], b: NDArray[np.uint32], row: RowIndex) -> int:
    """Distance of a and b; one row of D is kept at a time, in `row`, which has room for len(a) + 1 numbers."""
    for p in range(len(a) + 1):
        row[p] = p
    for q in range(len(b)):
        before = row[0]  # D[p - 1, q - 1] of the row that is being overwritten
        row[0] = q + 1
        for p in range(len(a)):
            replaced = before + (a[p] != b[q])
            before = row[p + 1]
            row[p + 1] = min(min(row[p], before) + 1, replaced)
    return int(row[len(a)])


@loop
def fill_edit_distances(
    A: Strings, B: Strings, start: int, end: int, stop: Any, row: RowIndex, distances: Matrix
) -> int:
    """Levenshtein's distances; `row` has room for the longest string of A and one more. Returns the pairs done."""
    done = 0
    for j in range(start, end):
        b = B.codes[B.starts[j] : B.starts[j + 1]]
        for i in range(len(A.starts) - 1):
            if stop[0] != 0:
                return done
            distances[i, j] = _edit_distance(A.codes[A.starts[i] : A.starts[i + 1]], b, row)
            done += 1
    return done
