"""Rows of the kernel matrix in double precision: all kept where they fit, else as many at a time as a tile holds.

Rows that are kept are computed when they are first asked for, not all at once: a fit begins at once, and can end before
the matrix is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.data import as_double
from maxmargin.data.source import blocks
from maxmargin.kernels.panels import Panels
from maxmargin.problems import KernelProblem

MATRIX_BYTES = 1 << 30
"""A matrix of at most this size is kept: one of 11,585 rows."""
_TILE_BYTES = 1 << 25  # which a loop goes through in milliseconds


class Tile(NamedTuple):
    """Kernel rows for a loop: K[places[t]] is that of the t-th row asked for."""

    K: Matrix
    places: RowIndex


class MatrixTiles:
    """k(x_i, x_j) for some i and every j."""

    def __init__(self, problem: KernelProblem, matrix_bytes: int):
        self.problem, self.n = problem, problem.n_rows
        self.tile_bytes = min(_TILE_BYTES, matrix_bytes)
        self.diagonal = problem.diagonal()
        self.kept = np.empty((self.n, self.n)) if 8 * self.n**2 <= matrix_bytes else None
        self.places = np.full(self.n, -1)  # of the rows that are kept, in the order in which they were asked for
        self.n_kept = 0

    def pieces(self, n_visits: int) -> Iterator[slice]:
        """Ranges of visits for which the rows come together, short enough to look at the clock between them."""
        length = max(1, self.tile_bytes // (8 * self.n))
        return (slice(top, min(top + length, n_visits)) for top in range(0, n_visits, length))

    def tile(self, rows: RowIndex) -> Tile:
        """The kernel rows of the given rows."""
        if self.kept is None:
            return Tile(self._formed(rows), np.arange(len(rows)))
        missing = np.unique(rows[self.places[rows] < 0])
        if len(missing):
            self.places[missing] = np.arange(self.n_kept, self.n_kept + len(missing))
            self.kept[self.n_kept : self.n_kept + len(missing)] = self._formed(missing)
            self.n_kept += len(missing)
        return Tile(self.kept, self.places[rows])

    def scores(self, beta: Vector) -> Vector:
        """K beta, formed afresh."""
        if self.kept is None or self.n_kept < self.n:
            return self.problem.scores(beta)
        scores: Vector = (self.kept @ beta)[self.places]
        return scores

    @cached_property
    def _panels(self) -> Panels | None:
        """All rows, ready to meet some of them; None where the kernel has no fast form."""
        problem, kernel = self.problem, self.problem.kernel
        if kernel.on != "vectors":
            return None
        return Panels.of(kernel, as_double(problem.source.take(slice(None))), single=False)

    def _formed(self, rows: RowIndex) -> Matrix:
        problem, kernel = self.problem, self.problem.kernel
        if self._panels is not None:
            K = np.empty((len(rows), self.n))
            self._panels.fill(self._panels.own.part(rows), K)
            return K
        X = as_double(problem.source.take(rows))
        if kernel.on == "matrix":
            return np.ascontiguousarray(kernel.columns(X, problem.source.X, problem.row_positions), dtype=np.float64)
        K = np.empty((len(rows), self.n))
        for block in blocks(problem.source):
            K[:, block.span] = kernel.block(X, as_double(block.X))
        return K
