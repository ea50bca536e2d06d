"""What rows are read from, once, to be written to a block file: files of any format, or batches that somebody makes.

Rows are on their way some at a time, in a `RowBatch`.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import as_rows, place_of_entry
from maxmargin.data.formats.file_bytes import ENDINGS
from maxmargin.data.labels import NO_LABELS, ArrayLabels, LabelTable
from maxmargin.errors import DataError, DataTypeError

if TYPE_CHECKING:
    from maxmargin.data.formats.text_input import TextLabels

_HASHED_BYTES = 4096  # at each end of a file
BLOCK_SUFFIX = ".blocks"
_ENDINGS_OF_FORMATS = {
    "libsvm": (),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "numpy": (".npy", ".npz"),
    "blocks": (BLOCK_SUFFIX,),
}
FORMATS = tuple(_ENDINGS_OF_FORMATS)


def format_by_ending(path: Path) -> str:
    """The format that the ending of a name promises, in front of that of a compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in ENDINGS:
        endings.pop()
    return next((name for name, known in _ENDINGS_OF_FORMATS.items() if endings and endings[-1] in known), "libsvm")


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


class ReadProgress(NamedTuple):
    """How far the first pass is: bytes of the input read and there (None where nobody knows), and rows."""

    bytes_read: int
    bytes_total: int | None
    rows: int


@dataclass(frozen=True)
class Reading:
    """How rows are to be read; `maxmargin.open` says what each part means."""

    dtype: np.dtype[Any]
    label: str | int | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    skip_bad_rows: int = 0
    n_jobs: int | None = None


class Input(ABC):
    """Rows that are gone through once.

    Whether they have labels is known before. What the labels are, what was wrong with rows that are left out, and
    `column_shift`, to be added to the columns as they were handed out, is known after the last.
    """

    _labels: ArrayLabels | TextLabels

    def __init__(self, how: Reading, has_labels: bool):
        self.how = how
        self.has_labels = has_labels
        self.bytes_read = 0
        self.bytes_total: int | None = None
        self.column_shift = 0
        self.skipped: list[str] = []

    @abstractmethod
    def __str__(self) -> str:
        """Its name, for a person."""

    @abstractmethod
    def batches(self) -> Iterator[RowBatch]:
        """All rows, in order; a batch may be overwritten by the next."""

    def label_table(self) -> LabelTable:
        """What the codes of the labels stand for."""
        return self._labels.table() if self.has_labels else NO_LABELS

    def key(self) -> str | None:
        """A text that changes when the rows may have; None where nothing can be told before they are read."""
        return None


class InputFiles(Input):
    """Rows of files, one file after the other, some of which may be left out.

    `settings` tells apart what else the rows depend on; `beside` are files that tell more of the same rows.
    """

    _new_labels: ClassVar[type[ArrayLabels] | type[TextLabels]] = ArrayLabels

    def __init__(
        self, paths: Sequence[Path], how: Reading, settings: str, has_labels: bool, beside: Sequence[Path] = ()
    ):
        super().__init__(how, has_labels)
        self.paths = list(paths)
        self._all_paths = [*paths, *beside]
        self._settings = settings
        self._sizes = [path.stat().st_size for path in self._all_paths]
        self._bytes_done = 0
        self.bytes_total = sum(self._sizes)

    def __str__(self) -> str:
        first, *others = self._all_paths
        return f"{len(self._all_paths)} files, {first} the first" if others else str(first)

    @abstractmethod
    def _rows_of(self, number: int) -> Iterator[RowBatch]:
        """Rows of one of the files."""

    def batches(self) -> Iterator[RowBatch]:
        """All rows, one file after the other; a batch may be overwritten by the next."""
        self.bytes_read = self._bytes_done = self.column_shift = 0
        self.skipped, self._labels = [], self._new_labels()
        for number in range(len(self.paths)):
            yield from self._rows_of(number)
            self._bytes_done += self._sizes[number]
            self.bytes_read = self._bytes_done

    def _at(self, position: int) -> None:
        """Note how far the current file was read."""
        self.bytes_read = self._bytes_done + position

    def _leave_out(self, message: str) -> None:
        """Leave out one more row, or raise what is wrong with it."""
        if self.how.skip_bad_rows == 0:
            raise DataError(message)
        if len(self.skipped) == self.how.skip_bad_rows:
            raise DataError(f"More than skip_bad_rows={self.how.skip_bad_rows} rows are bad. The next one: {message}")
        self.skipped.append(message)

    def key(self) -> str | None:
        """Hash of how the files are to be read, and of their names, sizes, times, first and last bytes."""
        digest = hashlib.sha256(self._settings.encode())
        for path in self._all_paths:
            seen = path.stat()
            digest.update(f"\0{path.resolve()}\0{seen.st_size}\0{seen.st_mtime_ns}\0".encode())
            with open(path, "rb") as file:
                digest.update(file.read(_HASHED_BYTES))
                file.seek(max(0, seen.st_size - _HASHED_BYTES), os.SEEK_SET)
                digest.update(file.read())
        return digest.hexdigest()


def column_called(label: str | int | None, names: Sequence[str], where: str) -> int:
    """Place of the column with the label, which is given by name or place; -1 where there is none."""
    if label is None:
        return -1
    if isinstance(label, str):
        if label not in names:
            raise DataError(f"{where}: no column is called {label!r}. Found: {', '.join(map(repr, names))}.")
        if names.count(label) > 1:
            raise DataError(
                f"{where}: {names.count(label)} columns are called {label!r}. Say which is the label "
                "by its position from 0, and mind that the others become features."
            )
        return names.index(label)
    if not -len(names) <= label < len(names):
        raise DataError(f"{where}: label={label}, but there are {len(names)} columns, counted from 0.")
    return label % len(names)


class IterableInput(Input):
    """Rows from an iterable of (X, y) or (X, y, weight); where X is texts, each row is the bytes of one.

    The room for the bytes of a text is `n_features`; where that is None, as the longest in the first batch has.
    """

    _labels: ArrayLabels

    def __init__(self, iterable: Iterable[Any], how: Reading):
        super().__init__(how, has_labels=True)
        self._iterable = iterable
        self._room = how.n_features

    def __str__(self) -> str:
        return "batches"

    def batches(self) -> Iterator[RowBatch]:
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
                words = f"{'sparse' if sparse.issparse(X) else 'dense'} with {X.shape[1]} columns"
                raise DataError(f"{where}: X is {words}, the batches before were not. All must have one layout.")
            shape = (sparse.issparse(X), X.shape[1])
            weight = None if len(item) == 2 else np.asarray(item[2], dtype=np.float64)
            for given, what in ((np.asarray(y), "labels"), (weight, "weights")):
                if given is not None and given.shape != (X.shape[0],):
                    raise DataError(
                        f"{where}: {X.shape[0]} rows, but {what} of shape {given.shape}; one a row is needed."
                    )
            if weight is not None and not (np.isfinite(weight) & (weight >= 0.0)).all():
                raise DataError(f"{where}: weights must be finite and not negative.")
            batch = make_batch(X, self._labels.encode(y, where), self.how.dtype, where)
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
