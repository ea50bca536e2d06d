"""Sums over the rows of each class, for dense and sparse blocks alike: one addition an entry, however many classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import as_double, count_rows

_BLOCK_ENTRIES = 1 << 20


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
