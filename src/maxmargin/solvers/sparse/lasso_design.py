"""The columns of squared errors with row costs, as the lasso needs them; an intercept is taken out, never put in.

    minimise over w, b    1/2 sum_i C_i (y_i - <w, x_i> - b)^2 + penalty(w)
                        = 1/2 |t - Z w - b root|^2 + penalty(w)        root_i = sqrt(C_i), t = root y, Z = diag(root) X

A free intercept makes what is left orthogonal to `root`. So t and the columns of Z may be taken without their share of
that direction: for column j it is edge_j = <z_j, root> / |root|. Dense columns are centred when they are taken. Sparse
ones stay as they are, and edge_j is subtracted from what they give: nothing becomes dense.

`correlations` of what is left, rho, are z_j' rho. The multipliers of the dual are beta_i = root_i rho_i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse

from maxmargin._loops.passes import chosen_combination_loop, row_products_loop
from maxmargin._loops.rows import CSRRows
from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource, as_double, long_sum
from maxmargin.data.rows import ArrayRows
from maxmargin.errors import DataError

_EPSILON = float(np.finfo(np.float64).eps)


class Design(ABC):
    """Target and columns; the subclasses know how they are laid out."""

    sums: Vector
    """sum_i C_i x_ij of every column; zeros where there is no intercept to ask for them."""
    sizes: Vector
    """|z_j| of every column with its share of the intercept's direction."""
    lengths: Vector
    """|z_j| of every column without it."""
    n_passes: float = 0.0
    """Passes over the data so far."""

    def __init__(self, y: Vector, C: Vector, *, free: bool):
        self.y, self.C, self.free = y, C, free
        self.root = np.sqrt(C)
        self.mass = float(np.sum(C))
        self.target = self.without_intercept(self.root * y)

    def _measure(self, sums: Vector, squares: Vector) -> None:
        if not (np.all(np.isfinite(squares)) and np.isfinite(self.target @ self.target)):
            raise DataError("X or y holds numbers whose squares are too large for double precision. Scale them.")
        self.sums, self.sizes = sums, np.sqrt(squares)
        share = np.square(sums) / self.mass if self.free else 0.0
        # Where the intercept takes all of a column, rounding is left, and may be negative.
        self.lengths = np.sqrt(np.maximum(squares - share, _EPSILON * squares))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.sizes)

    @property
    def edges(self) -> Vector:
        """Share of every column in the direction of the intercept; zero where there is none."""
        return self.sums / np.sqrt(self.mass) if self.free else np.zeros_like(self.sums)

    def without_intercept(self, rho: Vector) -> Vector:
        """Rho without its share of the direction of a free intercept."""
        if not self.free:
            return rho
        shift = float(self.root @ rho) / self.mass
        return rho - shift * self.root

    def correlations(self, rho: Vector, chosen: RowIndex | None = None) -> Vector:
        """z_j' rho of the chosen columns, or of all; rho has no share of the intercept's direction."""
        self.n_passes += 1.0 if chosen is None else len(chosen) / max(1, self.n_features)
        beta = self.root * rho
        found = self._correlations(beta, chosen)
        if self.free:  # rounding leaves a share, which columns far from zero would see
            sums = self.sums if chosen is None or len(found) == self.n_features else self.sums[chosen]
            found -= (long_sum(beta) / self.mass) * sums
        return found

    @abstractmethod
    def _correlations(self, beta: Vector, chosen: RowIndex | None) -> Vector: ...

    @abstractmethod
    def left(self, chosen: RowIndex, u: Vector) -> Vector:
        """Target - sum_k u_k z_j over the chosen columns j, without the direction of a free intercept."""

    def bias(self, chosen: RowIndex, u: Vector) -> float:
        """The best intercept for these weights."""
        if not self.free:
            return 0.0
        return float(self.C @ self.y - u @ self.sums[chosen]) / self.mass


class DenseDesign(Design):
    """Columns of a matrix that is stored by rows: passes go over rows, and few columns are taken out."""

    def __init__(self, X: Rows, y: Vector, C: Vector, *, free: bool, n_jobs: int | None = None):
        super().__init__(y, C, free=free)
        self.passes = ArrayRows(ArraySource(X, y, C), n_jobs)
        sums = self.passes.combination(C) if free else np.zeros(self.passes.n_features)
        self._measure(sums, self.passes.squared_combination(C))

    def _correlations(self, beta: Vector, chosen: RowIndex | None) -> Vector:
        return self.passes.combination(beta)  # rows hold all columns: a part of them would not be cheaper

    def left(self, chosen: RowIndex, u: Vector) -> Vector:
        """In one pass over the rows."""
        w = np.zeros(self.n_features)
        w[chosen] = u
        self.n_passes += 1.0
        return self.without_intercept(self.target - self.root * self.passes.scores(w))

    def taken(self, chosen: RowIndex) -> Matrix:
        """Chosen columns of Z as rows, centred where there is an intercept."""
        values = self.passes.rows.values
        Z = np.ascontiguousarray(values[:, chosen].T, dtype=np.float64)
        if self.free:
            Z -= (Z @ self.C)[:, None] / self.mass
        Z *= self.root
        return Z

    def products(self) -> Matrix:
        """Z'Z of all columns in one pass."""
        self.n_passes += 1.0
        H = self.passes.products(self.C)
        return H - np.outer(self.edges, self.edges)


class SparseDesign(Design):
    """Columns of a sparse matrix, stored one after the other: passes go over columns, and may leave some out."""

    def __init__(self, X: Rows, y: Vector, C: Vector, *, free: bool, n_jobs: int | None = None):
        super().__init__(y, C, free=free)
        by_columns = sparse.csr_matrix(X.T)
        d = by_columns.shape[0]
        self.passes = ArrayRows(ArraySource(by_columns, np.zeros(d), np.ones(d)), n_jobs)
        rows = self.passes.rows
        assert isinstance(rows, CSRRows)
        self.columns = rows
        self.is_plain = bool(np.ptp(C) == 0.0)
        squares = C[0] * self.passes.squared_lengths() if self.is_plain else as_double(by_columns).power(2) @ C
        self._measure(self.passes.scores(C) if free else np.zeros(d), squares)

    @cached_property
    def weighted(self) -> CSRRows:
        """Columns of Z itself."""
        rows = self.columns
        return CSRRows(rows.values * self.root[rows.columns], rows.columns, rows.starts)

    def _correlations(self, beta: Vector, chosen: RowIndex | None) -> Vector:
        return self.passes.scores(beta) if chosen is None else self.passes.scores_of(chosen, beta)

    def left(self, chosen: RowIndex, u: Vector) -> Vector:
        """From the chosen columns alone."""
        scores = np.zeros(len(self.y))
        chosen_combination_loop(self.columns, u, chosen, 0, len(chosen), scores)
        return self.without_intercept(self.target - self.root * scores)

    def add_products(self, chosen: RowIndex, first: int, H: Matrix) -> None:
        """Write <z_j, z_k> of the chosen columns into H, from number `first` on."""
        row_products_loop(self.columns if self.is_plain else self.weighted, chosen, first, np.zeros(len(self.y)), H)
        m, edge = len(chosen), self.edges[chosen]
        factor = float(self.C[0]) if self.is_plain else 1.0
        H[first:m, :m] = factor * H[first:m, :m] - np.outer(edge[first:], edge)
        H[:first, first:m] = H[first:m, :first].T


def design_of(X: Rows, y: Vector, C: Vector, *, free: bool, n_jobs: int | None = None) -> DenseDesign | SparseDesign:
    """The design of these rows; row costs are positive."""
    kind = SparseDesign if sparse.issparse(X) else DenseDesign
    return kind(X, y, C, free=free, n_jobs=n_jobs)
