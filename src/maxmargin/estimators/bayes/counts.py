"""Counts: sums over the rows of each class, smoothed shares of them, and scores that follow.

Sums are made of dense and sparse blocks alike, with one addition an entry, however many classes there are.

    P(cell | class) = (count + alpha) / (total + alpha * cells)

With alpha = 0 a cell without counts has the share 0. A row with such a cell in every class has the product 0 in every
class, and 0 / 0 is no posterior. Its limit for alpha to 0 is one. A product with z zero factors goes to 0 like

    alpha^z * product of (the other factors) * product of (1 / total) over the zero factors

so the classes with the fewest zero factors share the posterior, in proportion to the rest of that expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import as_double, count_rows

_BLOCK_ENTRIES = 1 << 20
_SAME_COUNT = 1e-9


def add_class_sums(X: Rows, code: RowIndex, weight: Vector, sums: Matrix) -> None:
    """Add to sums[k] every row of X of which code[i] is k, times its weight."""
    n_rows, (n_classes, n_features) = len(code), sums.shape
    if sparse.issparse(X):
        lengths = np.diff(X.indptr)
        places = np.repeat(code * n_features, lengths) + X.indices
        np.add.at(sums.reshape(-1), places, np.repeat(weight, lengths) * X.data)
        return
    # Row c(i) of this matrix has the weight of row i in column i.
    member = sparse.csc_array((weight, code, np.arange(n_rows + 1)), shape=(n_classes, n_rows)).tocsr()
    sums += member @ as_double(X)


def row_blocks(X: Rows) -> Iterator[tuple[slice, Rows]]:
    """Rows a block of bounded size at a time, as views, so that what is made from a block stays small."""
    n_rows = count_rows(X)
    width = (X.nnz / max(1, n_rows)) if sparse.issparse(X) else X.shape[1]
    step = max(1, int(_BLOCK_ENTRIES / max(1.0, width)))
    if step >= n_rows:
        yield slice(0, n_rows), X
        return
    for start in range(0, n_rows, step):
        span = slice(start, min(start + step, n_rows))
        yield span, _view(X, span) if sparse.issparse(X) else X[span]


def _view(X: Rows, span: slice) -> Rows:
    """Some rows of a CSR matrix, without a copy of their entries."""
    starts = X.indptr[span.start : span.stop + 1]
    entries = slice(starts[0], starts[-1])
    return _csr(X.data[entries], X.indices[entries], starts - starts[0], X.shape[1])


def in_double(X: Rows) -> Rows:
    """Rows in double precision; those of a sparse matrix stay in their order, which `astype` would sort."""
    return with_values(X, X.data.astype(np.float64, copy=False)) if sparse.issparse(X) else as_double(X)


def with_values(X: Rows, values: Vector) -> Rows:
    """A CSR matrix with other values in the places of X."""
    return _csr(values, X.indices, X.indptr, X.shape[1])


def _csr(values: Vector, columns: RowIndex, starts: RowIndex, n_features: int) -> Rows:
    """A CSR matrix of these very arrays; the constructor would copy those that are small parts of others."""
    rows = sparse.csr_array((len(starts) - 1, n_features))
    rows.data, rows.indices, rows.indptr = values, columns, starts
    return rows


def without_repeated_columns(X: Rows) -> Rows:
    """Rows in which every column is stored once; a sparse matrix may hold an entry as a sum of several."""
    if not sparse.issparse(X) or X.has_canonical_format or not _has_repeated_columns(X):
        return X
    rows = X.copy()
    rows.sum_duplicates()
    return rows


def _has_repeated_columns(X: Rows) -> bool:
    """Whether a row stores a column twice; going by columns is faster than sorting every row."""
    columns = with_values(X, np.zeros(X.nnz, dtype=np.int8)).tocsc()
    same = columns.indices[1:] == columns.indices[:-1]
    edges = columns.indptr[1:-1] - 1
    # The next column may begin with the row that this one ends with.
    same[edges[(edges >= 0) & (edges < len(same))]] = False
    return bool(np.any(same))


def spread(array: Matrix | Vector, places: RowIndex, size: int, axis: int = 0) -> Matrix:
    """The array with zeros put in along an axis, so that what was at position i is at places[i] of `size`."""
    shape = (*array.shape[:axis], size, *array.shape[axis + 1 :])
    wider = np.zeros(shape, dtype=array.dtype)
    wider[(slice(None),) * axis + (places,)] = array
    return wider


class Shares(NamedTuple):
    """Logarithms of shares, minus infinity where a share is 0, and of the totals that the counts were divided by."""

    log_share: Matrix
    log_total: Matrix

    @property
    def any_zero(self) -> bool:
        """Whether a share is 0."""
        return bool(np.isneginf(self.log_share.min()))

    def finite(self) -> Matrix:
        """The logarithms, with 1 / total for a share of 0."""
        return np.where(np.isneginf(self.log_share), -self.log_total, self.log_share)


def shares(smoothed: Matrix, total: Matrix, cells: int) -> Shares:
    """Smoothed counts divided by their totals; where nothing was counted at all, every cell has the same share.

    The array of counts is used up: new memory for a large one costs more than its logarithms.
    """
    empty = total == 0.0
    with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity, and meant
        log_total = np.where(empty, np.log(cells), np.log(total))
        log_share = np.log(smoothed, out=smoothed)
    if np.any(empty):
        log_share[np.broadcast_to(empty, log_share.shape)] = 0.0
    log_share -= log_total
    return Shares(log_share, log_total)


class Scores(NamedTuple):
    """Logarithm of P(class) P(x | class) for rows and classes, and how many zero factors were replaced in it.

    `zeros` is None where there are none; otherwise `log_joint` has 1 / total in place of each zero factor.
    """

    log_joint: Matrix
    zeros: Matrix | None = None

    def exact(self) -> Matrix:
        """Logarithm of the joint probability, minus infinity for what cannot be."""
        return self.log_joint if self.zeros is None else np.where(self.zeros > 0.0, -np.inf, self.log_joint)

    def limit(self) -> Matrix:
        """What the posterior is proportional to, in logarithms: the limit for alpha to 0, so that no row has none."""
        if self.zeros is None:
            return self.log_joint
        possible = np.where(np.isneginf(self.log_joint), np.inf, self.zeros)  # a class of prior 0 stays out
        fewest = possible.min(axis=1, keepdims=True)
        return np.where(possible <= fewest * (1.0 + _SAME_COUNT), self.log_joint, -np.inf)

    def log_posterior(self) -> Matrix:
        """The limit, normalised over the classes."""
        limit = self.limit()
        below_best = limit - limit.max(axis=1, keepdims=True)  # so that the digits of the differences are kept
        posterior: Matrix = below_best - logsumexp(below_best, axis=1, keepdims=True)
        return posterior


def linear_scores(
    X: Rows, weights: Matrix, offset: Vector, zeros: Matrix | None = None, zeros_offset: Vector | float = 0.0
) -> Scores:
    """Scores that are linear in the features: log_joint = X weights + offset, zeros = X zeros + zeros_offset."""
    rows = in_double(X)
    log_joint = rows @ weights + offset
    return Scores(log_joint, None if zeros is None else rows @ zeros + zeros_offset)
