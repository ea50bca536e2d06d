"""Passes over the rows of a linear problem, shared among threads; the same result for the same number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxmargin._loops.passes import (
    combination_loop,
    scores_loop,
    sparse_products_loop,
    squared_combination_loop,
    squares_loop,
)
from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import StopFlag, one_blas_thread, over_ranges
from maxmargin.data.arrays import ArraySource
from maxmargin.data.loop_rows import loop_rows

_BLOCK_ROWS = 2048
_SMALL = 200_000  # entries below which a second thread costs more than it brings


@dataclass(frozen=True)
class Passes:
    """The rows of a source, ready for compiled loops."""

    source: ArraySource
    n_jobs: int | None = None

    @cached_property
    def rows(self) -> DenseRows | CSRRows:
        """Rows as loops take them."""
        return loop_rows(self.source)

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

    @property
    def _jobs(self) -> int | None:
        return 1 if self.n_entries < _SMALL else self.n_jobs

    def scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row."""
        out = np.empty(self.n_rows)
        rows = self.rows
        over_ranges(lambda first, last, stop: scores_loop(rows, w, first, last, out), self.n_rows, self._jobs)
        return out

    def combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i."""
        return self._summed(combination_loop, beta)

    def squared_combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i^2, squares taken column by column."""
        return self._summed(squared_combination_loop, beta)

    def _summed(self, loop: Callable[..., None], beta: Vector) -> Vector:
        """A sum over rows of vectors with one entry a column: each thread has its own, added in order."""
        rows, d = self.rows, self.n_features

        def work(first: int, last: int, stop: StopFlag) -> Vector:
            part = np.zeros(d)
            loop(rows, beta, first, last, part)
            return part

        return np.asarray(sum(over_ranges(work, self.n_rows, self._jobs)))

    def squared_lengths(self) -> Vector:
        """|x_i|^2 of every row."""
        out = np.empty(self.n_rows)
        rows = self.rows
        over_ranges(lambda first, last, stop: squares_loop(rows, first, last, out), self.n_rows, self._jobs)
        return out

    def products(self, weight: Vector, every: int = 1) -> Matrix:
        """sum_i weight_i x_i x_i' over every k-th row: a symmetric d x d matrix."""
        chosen = np.arange(0, self.n_rows, every)
        chosen = chosen[weight[chosen] != 0.0]
        rows, d = self._sorted_rows, self.n_features

        def dense(first: int, last: int, stop: StopFlag) -> Matrix:
            """Scaled rows in blocks that stay in the cache, multiplied by BLAS."""
            H = np.zeros((d, d))
            for top in range(first, last, _BLOCK_ROWS):
                block = chosen[top : min(top + _BLOCK_ROWS, last)]
                scaled = rows.values[block] * np.sqrt(weight[block])[:, None]
                H += scaled.T @ scaled
            return H

        def scattered(first: int, last: int, stop: StopFlag) -> Matrix:
            H = np.zeros((d, d))
            assert isinstance(rows, CSRRows)
            sparse_products_loop(rows.values, rows.columns, rows.starts, weight, chosen[first:last], H)
            return H

        jobs = 1 if len(chosen) * self.n_entries < _SMALL * self.n_rows else self.n_jobs
        with one_blas_thread():
            parts = over_ranges(dense if isinstance(rows, DenseRows) else scattered, len(chosen), jobs)
        H = np.asarray(sum(parts, np.zeros((d, d))))
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
