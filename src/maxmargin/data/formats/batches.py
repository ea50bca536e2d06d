"""Rows on their way into a block file, some at a time, whatever they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import place_of_entry
from maxmargin.errors import DataError, DataTypeError


class RowBatch(NamedTuple):
    """Some rows: a matrix of values, or CSR with `columns` and `starts`; a code or a number, and maybe a weight, each.

    Row i has the entries from starts[i] on, up to starts[i + 1], both counted from starts[0]. There are at least
    `n_columns` columns, and as many as the entries need. The arrays are valid until the next batch is asked for.
    """

    values: NDArray[Any]
    columns: NDArray[np.int32] | None
    starts: NDArray[np.int64] | None
    labels: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    n_columns: int = 0

    def part(self, first: int, last: int) -> RowBatch:
        """Rows first to last - 1."""
        weight = None if self.weight is None else self.weight[first:last]
        labels = self.labels[first:last]
        if self.starts is None or self.columns is None:
            return RowBatch(self.values[first:last], None, None, labels, weight, self.n_columns)
        starts = self.starts[first : last + 1]
        origin = self.starts[0]  # this may be a part itself
        span = slice(int(starts[0] - origin), int(starts[-1] - origin))
        return RowBatch(self.values[span], self.columns[span], starts, labels, weight, self.n_columns)

    def without(self, rows: Sequence[int]) -> Iterator[RowBatch]:
        """The rows between the given ones, which increase."""
        for before, row in zip([-1, *rows], [*rows, len(self.labels)], strict=True):
            if row > before + 1:
                yield self.part(before + 1, row)

    def labelled(self, parts: Sequence[NDArray[Any]]) -> Iterator[RowBatch]:
        """The rows in as many batches as there are arrays of labels, which belong to them in order."""
        first = 0
        for labels in parts:
            yield self.part(first, first + len(labels))._replace(labels=labels)
            first += len(labels)


def make_batch(X: Rows, labels: NDArray[Any], dtype: np.dtype[Any], where: str) -> RowBatch:
    """Dense or CSR rows as a batch of finite numbers of the given type."""
    entries = X.data if sparse.issparse(X) else X
    if entries.dtype.kind not in "fiub":
        raise DataTypeError(f"{where}: X must hold real numbers, got values of type {entries.dtype}.")
    check_bytes(dtype, entries.dtype, where)
    with np.errstate(over="ignore"):  # what becomes infinite is found and named below
        values = np.ascontiguousarray(entries, dtype=dtype)
    finite = np.isfinite(values)
    if not finite.all():
        entry = int(np.argmin(finite))
        row, column = place_of_entry(X, entry)
        raise not_finite(f"{where}: row {row}, column {column}", entries[np.unravel_index(entry, values.shape)], dtype)
    if not sparse.issparse(X):
        return RowBatch(values, None, None, labels, n_columns=X.shape[1])
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        raise DataError(f"{where}: X has {X.shape[1]} columns, but an entry outside them. Is it damaged?")
    if X.shape[1] > np.iinfo(np.int32).max:
        raise DataError(f"{where}: {X.shape[1]:,} columns; at most {np.iinfo(np.int32).max:,} can be used.")
    columns, starts = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
    return RowBatch(values, columns, starts, labels, n_columns=X.shape[1])


def not_finite(where: str, value: Any, dtype: np.dtype[Any]) -> DataError:
    """What to say of a value that is no finite number, or becomes none in the type that is asked for."""
    return DataError(
        f"{where}: found {value}; values must be finite numbers within {dtype}. Fill it in or leave the row out."
    )


def check_bytes(dtype: np.dtype[Any], given: np.dtype[Any], where: str) -> None:
    """Refuse numbers that are to be kept as bytes and are none."""
    if dtype == np.uint8 and given != np.uint8:
        raise DataTypeError(f"{where}: found {given}; dtype='uint8' takes arrays of bytes only. Leave it out.")
