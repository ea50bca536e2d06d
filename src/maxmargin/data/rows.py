"""The rows of a linear problem as an operator: passes over them, shared among threads.

The result is the same for the same number of threads. Rows become those of compiled loops without a copy where the
layout allows it. Copied are: Fortran-ordered matrices (a loop over rows would stride through memory), rows that were
selected from the user's data, integers and halves, and 64-bit column numbers that fit 32 bits (only the numbers, not
the values).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from maxmargin._loops.curves import gap_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._loops.passes import (
    careful_combination_loop,
    careful_scores_loop,
    chosen_combination_loop,
    chosen_scores_loop,
    combination_loop,
    scores_loop,
    sparse_products_loop,
    squared_combination_loop,
    squares_loop,
)
from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import one_blas_thread, over_ranges
from maxmargin.data.arrays import ArraySource

_BLOCK_ROWS = 2048
_SMALL = 2_000_000  # entries that one thread passes in the time it takes to wake another few
_LONG = 200_000_000  # entries whose pass would keep Ctrl-C waiting


def loop_rows(X: Rows) -> DenseRows | CSRRows:
    """Rows for compiled loops, in float32 or float64 as the user has them."""
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if not sparse.issparse(X):
        return DenseRows(np.ascontiguousarray(X, dtype=dtype))
    columns = X.indices if X.shape[1] > np.iinfo(np.int32).max else X.indices.astype(np.int32, copy=False)
    return CSRRows(X.data.astype(dtype, copy=False), columns, X.indptr.astype(np.int64, copy=False))


class RowOperator(Protocol):
    """What a linear solver may ask of rows, wherever they lie: numbers and vectors with one entry a feature.

    Vectors with one entry a row stay where the rows are: they go from one operation to the next, and what a solver gets
    to see are their sums. Sums over parts of the rows are added up in a fixed order.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row."""

    def combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i."""

    def squared_lengths(self) -> Vector:
        """|x_i|^2 of every row."""

    def products(self, weight: Vector) -> Matrix:
        """sum_i weight_i x_i x_i': a symmetric d x d matrix."""

    def row_gaps(self, curve: Curve, w: Vector, b: float, C: Vector, beta: Vector) -> tuple[float, float, float]:
        """Sums of loss and conjugate at weights w, intercept b and coefficients beta, and the worst row's violation."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory (`RowOperator`), and what solvers of arrays ask besides: chosen rows, columns, careful sums."""

    source: ArraySource
    n_jobs: int | None = None

    @property
    def rows(self) -> DenseRows | CSRRows:
        """Rows as loops take them."""
        return self.source.loop_rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    @cached_property
    def n_entries(self) -> int:
        """Stored entries."""
        return int(self.rows.values.size)

    def _over(self, work: Callable[[int, int], Any], n_rows: int, n_entries: float) -> list[Any]:
        """Results of `work` on ranges of rows, one a thread; on few entries at once, where threads would cost more."""
        if n_entries < _SMALL:
            return [work(0, n_rows)]
        return over_ranges(lambda first, last, stop: work(first, last), n_rows, self.n_jobs, brief=n_entries < _LONG)

    def scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row."""
        out = np.empty(self.n_rows)
        rows = self.rows
        self._over(lambda first, last: scores_loop(rows, w, first, last, out), self.n_rows, self.n_entries)
        return out

    def scores_of(self, chosen: RowIndex, w: Vector) -> Vector:
        """<w, x_i> of the chosen rows."""
        out = np.empty(len(chosen))
        rows = self.rows
        self._over(
            lambda first, last: chosen_scores_loop(rows, w, chosen, first, last, out),
            len(chosen),
            self._entries_of(chosen),
        )
        return out

    def combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i."""
        return self._summed(lambda *span: combination_loop(self.rows, beta, *span), self.n_rows, self.n_entries)

    def careful_scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row, as a certificate reports it."""
        out = np.empty(self.n_rows)
        rows = self.rows
        self._over(lambda first, last: careful_scores_loop(rows, w, first, last, out), self.n_rows, self.n_entries)
        return out

    def careful_combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i, as a certificate reports it: as good as summed in twice the precision."""

        def add(first: int, last: int, part: Vector) -> None:
            missed = np.zeros_like(part)
            careful_combination_loop(self.rows, beta, first, last, part, missed)
            part += missed

        return self._summed(add, self.n_rows, self.n_entries)

    def combination_of(self, chosen: RowIndex, beta: Vector) -> Vector:
        """sum_k beta_k x_i over the chosen rows i."""
        return self._summed(
            lambda *span: chosen_combination_loop(self.rows, beta, chosen, *span),
            len(chosen),
            self._entries_of(chosen),
        )

    def squared_combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i^2, squares taken column by column."""
        return self._summed(lambda *span: squared_combination_loop(self.rows, beta, *span), self.n_rows, self.n_entries)

    def _entries_of(self, chosen: RowIndex) -> float:
        """About how many entries the chosen rows have."""
        return self.n_entries * (len(chosen) / max(1, self.n_rows))

    def _summed(self, loop: Callable[[int, int, Vector], None], n_rows: int, n_entries: float) -> Vector:
        """A sum over rows of vectors with one entry a column: each thread has its own, added in order."""

        def work(first: int, last: int) -> Vector:
            part = np.zeros(self.n_features)
            loop(first, last, part)
            return part

        parts = self._over(work, n_rows, n_entries)
        for part in parts[1:]:
            parts[0] += part
        total: Vector = parts[0]
        return total

    def squared_lengths(self) -> Vector:
        """|x_i|^2 of every row; computed once for a source, and not to be changed."""
        kept = self.source.kept
        if "squares" not in kept:
            out = np.empty(self.n_rows)
            rows = self.rows
            self._over(lambda first, last: squares_loop(rows, first, last, out), self.n_rows, self.n_entries)
            out.flags.writeable = False
            kept["squares"] = out
        return kept["squares"]

    def row_gaps(self, curve: Curve, w: Vector, b: float, C: Vector, beta: Vector) -> tuple[float, float, float]:
        """Sums of loss and conjugate at weights w, intercept b and coefficients beta, and the worst row's violation."""
        rows, y, numbers = self.rows, self.source.y, tuple(curve)
        parts = self._over(
            lambda first, last: gap_loop(rows, numbers, w, b, y, C, beta, first, last),
            self.n_rows,
            self.n_entries,
        )
        loss, conjugate, worst = zip(*parts, strict=True)
        return sum(loss), sum(conjugate), max(worst)

    def products(self, weight: Vector) -> Matrix:
        """sum_i weight_i x_i x_i': a symmetric d x d matrix."""
        chosen = np.flatnonzero(weight)
        return self.products_of(chosen, weight[chosen])

    def products_of(self, chosen: RowIndex, weight: Vector) -> Matrix:
        """sum_k weight_k x_i x_i' over the chosen rows i."""
        rows, d = self._sorted_rows, self.n_features

        def dense(first: int, last: int) -> Matrix:
            """Scaled rows in blocks that stay in the cache, multiplied by BLAS."""
            H = np.zeros((d, d))
            for top in range(first, last, _BLOCK_ROWS):
                block = slice(top, min(top + _BLOCK_ROWS, last))
                scaled = rows.values[chosen[block]] * np.sqrt(weight[block])[:, None]
                H += scaled.T @ scaled
            return H

        def scattered(first: int, last: int) -> Matrix:
            H = np.zeros((d, d))
            assert isinstance(rows, CSRRows)
            sparse_products_loop(rows.values, rows.columns, rows.starts, weight[first:last], chosen[first:last], H)
            return H

        with one_blas_thread():
            steps = 0.5 * self._entries_of(chosen) * (self.n_entries / max(1, self.n_rows))
            parts = self._over(dense if isinstance(rows, DenseRows) else scattered, len(chosen), steps)
        H: Matrix = sum(parts[1:], parts[0])
        return H if isinstance(rows, DenseRows) else H + np.triu(H, 1).T

    @cached_property
    def _sorted_rows(self) -> DenseRows | CSRRows:
        """Rows whose columns increase, which makes an upper triangle of their products."""
        rows = self.rows
        if isinstance(rows, DenseRows):
            return rows
        X = sparse.csr_matrix(
            (rows.values, rows.columns, rows.starts), shape=(self.n_rows, self.n_features), copy=False
        )
        if X.has_sorted_indices:
            return rows
        X = X.sorted_indices()
        return CSRRows(X.data, X.indices.astype(rows.columns.dtype, copy=False), rows.starts)
