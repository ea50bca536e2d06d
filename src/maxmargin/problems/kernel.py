"""The kernel problem: phi is known only through k(x, z) = <phi(x), phi(z)>.

w = sum_i beta_i phi(x_i) is never written down; |w|^2 = beta' K beta and f = K beta, formed in tiles so that the
kernel matrix never exists as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource, as_double
from maxmargin.data.source import blocks
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.panels import Panels
from maxmargin.problems.problem import Pieces, Problem

_FEW_VALUES = 1 << 15  # of a kernel, which are there before panels are cut
_TILE_ROWS = 1024
_TILE_COLUMNS = 4096
_MAX_EXAMINED = 2000  # rows up to which the eigenvalues of an unknown kernel are computed


def combine_columns(kernel: Kernel, A: Rows, train: Rows, columns: RowIndex, beta: Vector) -> Vector:
    """sum_j beta_j k(a, train[columns_j]) for every row a of A, in tiles and in double precision."""
    if kernel.on == "vectors" and len(columns) * A.shape[0] > _FEW_VALUES:
        panels = Panels.of(kernel, train[columns], single=False)
        if panels is not None and panels.suits(A):
            return panels.combine_all(A, beta.reshape(len(beta), -1)).reshape(A.shape[0], *beta.shape[1:])
    total = np.zeros((A.shape[0] if hasattr(A, "shape") else len(A), *beta.shape[1:]))
    for left in range(0, len(columns), _TILE_COLUMNS):
        part = slice(left, left + _TILE_COLUMNS)
        support = columns[part]
        vectors = train if kernel.on == "matrix" else as_double(train[support])
        place = support if kernel.on == "matrix" else np.arange(len(support))
        for top in range(0, len(total), _TILE_ROWS):
            rows = slice(top, top + _TILE_ROWS)
            tile = kernel.columns(as_double(A[rows]), vectors, place)
            total[rows] += np.asarray(tile, dtype=np.float64) @ beta[part]
    return total


@dataclass(frozen=True)
class KernelProblem(Problem):
    """Minimise 1/2 |w|^2 + sum_i C_i l_{y_i}(<w, phi(x_i)> + b) for a kernel k."""

    source: ArraySource
    kernel: Kernel = Linear()  # noqa: RUF009 - a frozen value
    nu: float | None = None
    """Share of rows that may be margin errors, where that is given in place of C (or of epsilon)."""
    stored: NDArray[np.float32] | None = field(default=None, repr=False, compare=False)
    """Kernel values of the used rows among each other, where somebody has them: to search, not to certify."""

    @cached_property
    def is_convex(self) -> bool:
        """Whether the kernel is positive semidefinite: known, or else looked up on these rows where they are few.

        Of a kernel that nobody knows, such as a precomputed matrix, only small matrices can be examined; a larger one
        is taken at its word.
        """
        known = self.kernel.positive_semidefinite
        return self.is_convex_here() if known is None and self.n_rows <= _MAX_EXAMINED else known is not False

    def is_convex_here(self) -> bool:
        """Whether the kernel matrix of these rows has no negative eigenvalue that matters.

        With a free intercept the multipliers are balanced, so what counts is the centred matrix.
        """
        K = self.gram()
        if self.intercept.is_free:
            mean = K.mean(axis=0)
            K = K - mean[:, None] - mean[None, :] + mean.mean()
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        rounding = 64.0 * len(K) * float(np.finfo(float).eps) * float(np.max(np.abs(values)))
        return bool(values[0] >= -rounding)

    @property
    def row_positions(self) -> RowIndex:
        """Where the used rows stand in the user's data."""
        rows = self.source.rows
        return np.arange(self.n_rows) if rows is None else rows

    def gram(self, rows: RowIndex | None = None) -> Matrix:
        """k(x_i, x_j) over the given rows."""
        which = slice(None) if rows is None else rows
        X = as_double(self.source.take(which))
        if self.kernel.on == "matrix":
            return np.array(self.kernel.columns(X, self.source.X, self.row_positions[which]), dtype=np.float64)
        worth = self.kernel.on == "vectors" and X.shape[0] ** 2 > _FEW_VALUES
        panels = Panels.of(self.kernel, X, single=False) if worth else None
        if panels is None:
            return np.asarray(self.kernel.block(X, X), dtype=np.float64)
        matrix = np.empty((len(panels.halves), len(panels.halves)))
        panels.fill_own(matrix)
        return matrix

    def kernel_rows(self, rows: RowIndex) -> Matrix:
        """k(x_i, x_j) of some rows against all."""
        X = self.source.take(slice(None))
        if self.kernel.on == "matrix":
            return np.asarray(self.kernel.columns(self.source.take(rows), self.source.X, self.row_positions))
        return np.asarray(self.kernel.block(self.source.take(rows), X))

    def diagonal(self) -> Vector:
        """k(x_i, x_i) of every row."""
        if self.kernel.on == "matrix":
            return np.asarray(self.kernel.diag(self.source.X), dtype=np.float64)[self.row_positions]
        return np.concatenate(
            [np.asarray(self.kernel.diag(as_double(b.X)), dtype=np.float64) for b in blocks(self.source)]
        )

    def scores(self, beta: Vector) -> Vector:
        """K beta in tiles; only columns with beta_j != 0 are formed."""
        active = np.flatnonzero(beta if beta.ndim == 1 else np.any(beta != 0.0, axis=1))
        columns = self.row_positions[active]
        if self.kernel.on == "vectors":
            return combine_columns(self.kernel, self.source.take(slice(None)), self.source.X, columns, beta[active])
        return np.concatenate(
            [combine_columns(self.kernel, b.X, self.source.X, columns, beta[active]) for b in blocks(self.source)]
        )

    def scores_at(self, rows: RowIndex, beta: Vector) -> Vector:
        """Scores of some rows."""
        active = np.flatnonzero(beta)
        return combine_columns(
            self.kernel, self.source.take(rows), self.source.X, self.row_positions[active], beta[active]
        )

    def combination_scores(self, beta: Vector) -> Vector:
        """K beta."""
        return self.scores(beta)

    def pieces(self, weights: Vector | None, beta: Vector) -> Pieces:
        """One pass of tiles; w is sum_i beta_i phi(x_i) by construction, so there are no weights to give."""
        scores = self.scores(beta)
        square = float(np.vdot(beta, scores))
        lengths = np.sqrt(np.abs(self.diagonal()))
        size = np.abs(beta) if beta.ndim == 1 else np.sum(np.abs(beta), axis=1)
        combined = float(size @ lengths)
        return Pieces(
            scores=scores,
            penalty=0.5 * square,
            conjugate_penalty=0.5 * square,
            apart=0.0,
            lengths=lengths,
            score_size=combined,
            penalty_size=combined**2,
        )
