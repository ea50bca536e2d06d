"""Rows on their way into a block file, whatever they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import as_rows
from maxmargin.data.labels import ArrayLabels, LabelTable
from maxmargin.errors import DataError, DataTypeError


class Batch(NamedTuple):
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

    def part(self, first: int, last: int) -> Batch:
        """Rows first to last - 1."""
        weight = None if self.weight is None else self.weight[first:last]
        labels = self.labels[first:last]
        if self.starts is None or self.columns is None:
            return Batch(self.values[first:last], None, None, labels, weight, self.n_columns)
        starts = self.starts[first : last + 1]
        origin = self.starts[0]  # this may be a part itself
        span = slice(int(starts[0] - origin), int(starts[-1] - origin))
        return Batch(self.values[span], self.columns[span], starts, labels, weight, self.n_columns)

    def without(self, rows: Sequence[int]) -> Iterator[Batch]:
        """The rows between the given ones, which increase."""
        for before, row in zip([-1, *rows], [*rows, len(self.labels)], strict=True):
            if row > before + 1:
                yield self.part(before + 1, row)

    def labelled(self, parts: Sequence[NDArray[Any]]) -> Iterator[Batch]:
        """The rows in as many batches as there are arrays of labels, which belong to them in order."""
        first = 0
        for labels in parts:
            yield self.part(first, first + len(labels))._replace(labels=labels)
            first += len(labels)


class ReadProgress(NamedTuple):
    """How far the first pass is: bytes of the input read and there (None where nobody knows), and rows."""

    bytes_read: int
    bytes_total: int | None
    rows: int


class Found(NamedTuple):
    """What only the end of the first pass can tell."""

    labels: LabelTable
    column_shift: int = 0
    """To be added to the columns as they were handed out."""
    skipped: tuple[str, ...] = ()
    """What was wrong with each row that was left out."""


class Input(Protocol):
    """Something that rows are read from, once, to be written to a block file."""

    @property
    def bytes_read(self) -> int:
        """Bytes of the input taken so far."""

    @property
    def bytes_total(self) -> int | None:
        """Bytes of the whole input."""

    def batches(self) -> Iterator[Batch]:
        """All rows, in order."""

    def found(self) -> Found:
        """What the rows had in common; to be asked after the last."""

    def key(self) -> str | None:
        """A text that changes when the rows may have; None where nothing can be told before they are read."""

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels; known before they are read."""

    def __str__(self) -> str:
        """Its name, for a person."""


class IterableInput:
    """Rows from an iterable of (X, y) or (X, y, weight); where X is texts, each row is the bytes of one.

    `n_features` is the room for the bytes of a text; None makes it that of the longest in the first batch.
    """

    def __init__(self, iterable: Iterable[Any], dtype: np.dtype[Any], n_features: int | None = None):
        self._iterable = iterable
        self._dtype = dtype
        self._room = n_features
        self.bytes_read = 0
        self.bytes_total: int | None = None
        self.has_labels = True

    def __str__(self) -> str:
        return "batches"

    def key(self) -> str | None:
        """None: only the rows themselves can tell."""
        return None

    def found(self) -> Found:
        """The labels met."""
        return Found(self._labels.table())

    def batches(self) -> Iterator[Batch]:
        """One batch for each item; all dense or all sparse, with the same number of columns."""
        shape: tuple[bool, int] | None = None
        self._labels = ArrayLabels()
        for number, item in enumerate(self._iterable):
            where = f"batch {number}"
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise DataTypeError(
                    f"{where}: expected (X, y) or (X, y, weight), got {type(item).__name__}. All rows in one batch are "
                    "[(X, y)]."
                )
            X, y = self._rows(item[0], where), item[1]
            if X.ndim != 2:
                raise DataError(f"{where}: X must be a matrix with one row a vector, got an array of shape {X.shape}.")
            if shape not in (None, (sparse.issparse(X), X.shape[1])):
                raise DataError(f"{where}: X is {_words(X)}, the batches before were not. All must have one layout.")
            shape = (sparse.issparse(X), X.shape[1])
            weight = None if len(item) == 2 else np.asarray(item[2], dtype=np.float64)
            for given, what in ((np.asarray(y), "labels"), (weight, "weights")):
                if given is not None and given.shape != (X.shape[0],):
                    raise DataError(
                        f"{where}: {X.shape[0]} rows, but {what} of shape {given.shape}; one a row is needed."
                    )
            if weight is not None and not (np.isfinite(weight) & (weight >= 0.0)).all():
                raise DataError(f"{where}: weights must be finite and not negative.")
            batch = make_batch(X, self._labels.encode(y, where), self._dtype, where)
            self.bytes_read += batch.values.nbytes
            yield batch._replace(weight=weight)

    def _rows(self, X: Any, where: str) -> Rows:
        if not _are_texts(X):
            return as_rows(X)
        texts = np.array([text.encode() if isinstance(text, str) else bytes(text) for text in X])
        self._room = texts.itemsize if self._room is None else self._room
        if texts.itemsize > self._room:
            raise DataError(
                f"{where}: found a text of {texts.itemsize} bytes, and there is room for {self._room}. Pass the "
                "length of the longest text as n_features."
            )
        return texts.astype(f"S{self._room}").view(np.uint8).reshape(len(texts), self._room)


def _are_texts(X: Any) -> bool:
    """Whether X is a list or array of str or bytes."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        return X.ndim == 1
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(text, (str, bytes)) for text in X)


def _words(X: Rows) -> str:
    return f"{'sparse' if sparse.issparse(X) else 'dense'} with {X.shape[1]} columns"


def make_batch(
    X: Rows, labels: NDArray[Any], dtype: np.dtype[Any], where: str, name: Callable[[int], str] = str
) -> Batch:
    """Dense or CSR rows as a batch of finite numbers of the given type; `name` names a column in an error."""
    entries = X.data if sparse.issparse(X) else X
    if entries.dtype.kind not in "fiub":
        raise DataTypeError(f"{where}: X must hold real numbers, got values of type {entries.dtype}.")
    check_bytes(dtype, entries.dtype, where)
    with np.errstate(over="ignore"):  # what becomes infinite is found and named below
        values = np.ascontiguousarray(entries, dtype=dtype)
    if not np.isfinite(values).all():
        place = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
        column = X.indices[place[0]] if sparse.issparse(X) else place[1]
        row = np.searchsorted(X.indptr, place[0], side="right") - 1 if sparse.issparse(X) else place[0]
        raise DataError(
            f"{where}: row {row}, column {name(int(column))}: found {entries[place]}; values must be finite numbers "
            f"within {dtype}. Fill it in or leave the row out."
        )
    if not sparse.issparse(X):
        return Batch(values, None, None, labels, n_columns=X.shape[1])
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        raise DataError(f"{where}: X has {X.shape[1]} columns, but an entry outside them. Is it damaged?")
    if X.shape[1] > np.iinfo(np.int32).max:
        raise DataError(f"{where}: {X.shape[1]:,} columns; at most {np.iinfo(np.int32).max:,} can be used.")
    columns, starts = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
    return Batch(values, columns, starts, labels, n_columns=X.shape[1])


def check_bytes(dtype: np.dtype[Any], given: np.dtype[Any], where: str) -> None:
    """Refuse numbers that are to be kept as bytes and are none."""
    if dtype == np.uint8 and given != np.uint8:
        raise DataTypeError(f"{where}: found {given}; dtype='uint8' takes arrays of bytes only. Leave it out.")
