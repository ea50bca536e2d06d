"""Rows of the kernel matrix in double precision: all kept where they fit, else as many at a time as a tile holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.data import as_double
from maxmargin.data.source import blocks
from maxmargin.problems import KernelProblem

MATRIX_BYTES = 1 << 30
"""A matrix of at most this size is kept: one of 11,585 rows."""
_TILE_BYTES = 1 << 25
_PIECE = 1 << 22  # numbers that a loop goes through in milliseconds


class Tile(NamedTuple):
    """Kernel rows for a loop: K[places[t]] is that of the t-th row asked for."""

    K: Matrix
    places: RowIndex


class MatrixTiles:
    """k(x_i, x_j) for some i and every j."""

    def __init__(self, problem: KernelProblem, matrix_bytes: int):
        self.problem, self.n = problem, problem.n_rows
        self.tile_bytes = min(_TILE_BYTES, matrix_bytes)
        fits = 8 * self.n**2 <= matrix_bytes
        self.whole = np.ascontiguousarray(problem.gram()) if fits else None
        self.diagonal = problem.diagonal() if self.whole is None else np.ascontiguousarray(np.diag(self.whole))

    def pieces(self, n_visits: int) -> Iterator[slice]:
        """Ranges of visits for which the rows come together, short enough to look at the clock between them."""
        length = max(1, _PIECE // self.n if self.whole is not None else self.tile_bytes // (8 * self.n))
        return (slice(top, min(top + length, n_visits)) for top in range(0, n_visits, length))

    def tile(self, rows: RowIndex) -> Tile:
        """The kernel rows of the given rows."""
        if self.whole is not None:
            return Tile(self.whole, rows)
        problem, kernel = self.problem, self.problem.kernel
        X = as_double(problem.source.take(rows))
        if kernel.on == "matrix":
            K = np.ascontiguousarray(kernel.columns(X, problem.source.X, problem.row_positions), dtype=np.float64)
        else:
            K = np.empty((len(rows), self.n))
            for block in blocks(problem.source):
                K[:, block.span] = kernel.block(X, as_double(block.X))
        return Tile(K, np.arange(len(rows)))

    def scores(self, beta: Vector) -> Vector:
        """K beta, formed afresh."""
        return self.problem.scores(beta) if self.whole is None else self.whole @ beta
