"""NumPy files whose rows can be read from where they lie, as a source: nothing is written.

A block is some rows of one file. Its checksum is noted when it is first read, and its values are looked through for
what is not finite; later reads must find the same bytes.
"""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, Vector
from maxmargin.data.array_files import ArrayFileInput
from maxmargin.data.block_writer import BlockWriter
from maxmargin.data.counted import CountedSource
from maxmargin.data.derived import combined
from maxmargin.data.labels import NO_LABELS, ArrayLabels, LabelTable, too_many_labels
from maxmargin.data.open_block import ROW_BYTES
from maxmargin.data.pieces import PIECE_BYTES, read_numbers
from maxmargin.data.plain_matrix import PlainMatrix
from maxmargin.data.source import Block
from maxmargin.errors import DataError

_LABELS_AT_A_TIME = 1 << 20


class _Place(NamedTuple):
    """Rows of a block: `n_rows` of them from row `first` of a matrix on."""

    matrix: PlainMatrix
    first: int
    n_rows: int


class _Targets(NamedTuple):
    """Labels of all rows: the number of the class of each, or the labels themselves where they are too many."""

    table: LabelTable
    codes: NDArray[Any] | None
    numbers: Vector | None


class ArrayBuffers:
    """Memory for one block, and the files it may be read from; for one thread at a time."""

    def __init__(self, paths: set[Path], n_rows: int, n_columns: int, dtype: np.dtype[Any]):
        with ExitStack() as opened:
            self.files = {path: opened.enter_context(open(path, "rb", buffering=0)) for path in paths}
            self._files = opened.pop_all()
        weakref.finalize(self, self._files.close)
        self.values = np.empty(n_rows * n_columns, dtype=dtype)
        self.weight = np.ones(n_rows)
        self.piece = np.empty(PIECE_BYTES, dtype=np.uint8)

    @property
    def n_bytes(self) -> int:
        """Bytes of memory for a block."""
        return int(self.values.nbytes + self.weight.nbytes)

    def close(self) -> None:
        """Close the files."""
        self._files.close()


class ArrayFileSource(CountedSource):
    """The rows of matrices in files, with the labels that an input knows of."""

    def __init__(self, rows: ArrayFileInput, matrices: list[PlainMatrix], block_bytes: int, dtype: np.dtype[Any]):
        super().__init__()
        self._input = rows
        self._matrices = matrices
        self._block_bytes = block_bytes
        self._dtype = dtype
        step = max(1, block_bytes // (matrices[0].n_columns * dtype.itemsize + ROW_BYTES))
        self._places = [
            _Place(matrix, first, min(step, matrix.n_rows - first))
            for matrix in matrices
            for first in range(0, matrix.n_rows, step)
        ]
        self._starts = np.concatenate([[0], np.cumsum([place.n_rows for place in self._places])]).astype(np.int64)
        self._checksums: dict[int, int] = {}
        self._closed = False

    def __repr__(self) -> str:
        shape = f"{self.n_rows:,} rows, {self.n_features:,} features, dense, {self.n_blocks:,} blocks"
        return f"{type(self).__name__}({self._input}: {shape})"

    @property
    def n_rows(self) -> int:
        """Number of rows in all files."""
        return int(self._starts[-1])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._matrices[0].n_columns

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return len(self._places)

    @property
    def n_bytes(self) -> int:
        """About how many bytes all rows would take in memory."""
        return self.n_rows * (self.n_features * self._dtype.itemsize + 1)

    @property
    def has_labels(self) -> bool:
        """Whether labels were given, or are in the files."""
        return self._input.has_labels

    @cached_property
    def _targets(self) -> _Targets:
        """Labels of all rows, looked through once."""
        if not self.has_labels:
            return _Targets(NO_LABELS, None, None)
        given = self._given_labels()
        labels, codes = ArrayLabels(), np.empty(self.n_rows, dtype=np.int32)
        for first in range(0, self.n_rows, _LABELS_AT_A_TIME):
            last = min(first + _LABELS_AT_A_TIME, self.n_rows)
            found = labels.encode(given[first:last], f"{self._input}, labels {first} to {last - 1}")
            if found.dtype.kind == "f":
                return _Targets(labels.table(), None, given.astype(np.float64))
            codes[first:last] = found
        table = labels.table()
        return _Targets(table, table.class_of_code[codes], None)

    def _given_labels(self) -> Labels:
        """Labels of all files, one after the other."""
        parts, row = [], 0
        for number, matrix in enumerate(self._matrices):
            with ExitStack() as opened:
                is_archive = matrix.path.suffix.lower() != ".npy"
                arrays = opened.enter_context(np.load(matrix.path)) if is_archive else {}
                parts.append(np.asarray(self._input.labels_of(number, row, matrix.n_rows, arrays)))
            row += matrix.n_rows
        self._input.check_all_used(row)
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _coded(self) -> _Targets:
        """The labels, or an error where there are none or too many to be classes."""
        self.require_labels()
        targets = self._targets
        if targets.codes is None:
            raise too_many_labels(self, targets.table)
        return targets

    @property
    def classes(self) -> Labels:
        """The different labels, sorted."""
        return self._coded().table.classes

    @property
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row: `classes[codes]` are the labels. One byte a row up to 127 classes."""
        codes = self._coded().codes
        assert codes is not None  # else an error said so
        return codes

    @property
    def y(self) -> Labels:
        """Labels of all rows, in the user's kind; made anew at each call where they are classes."""
        self.require_labels()
        return self._labels_between(0, self.n_rows)

    def _labels_between(self, first: int, last: int) -> Labels:
        targets = self._targets
        if targets.codes is not None:
            return np.asarray(targets.table.classes[targets.codes[first:last]])
        return np.full(last - first, np.nan) if targets.numbers is None else targets.numbers[first:last]

    @property
    def weight(self) -> Vector:
        """Ones."""
        return np.broadcast_to(np.float64(1.0), self.n_rows)

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        return int(self._starts[k]), int(self._starts[k + 1])

    def buffers(self) -> ArrayBuffers:
        """Memory for any one block, to be read into again and again; for one thread at a time."""
        most = max(place.n_rows for place in self._places)
        return ArrayBuffers({matrix.path for matrix in self._matrices}, most, self.n_features, self._dtype)

    def read(self, k: int, buffers: ArrayBuffers) -> Block:
        """Block k; valid until the next read into the same buffers."""
        if self._closed:
            raise DataError(f"{self!r}: the source was closed. Open it again.")
        matrix, first, n_rows = self._places[k]
        values = buffers.values[: n_rows * matrix.n_columns]
        file = buffers.files[matrix.path]
        file.seek(matrix.place(first))
        try:
            with np.errstate(over="ignore"):  # what becomes infinite is found and named below
                crc = read_numbers(file, values, matrix.dtype, buffers.piece)
        except EOFError:
            raise DataError(f"{matrix.path} became shorter while it was read. Open it again.") from None
        if k not in self._checksums:
            self._check_finite(values, matrix, first)
        if crc != self._checksums.setdefault(k, crc):
            raise DataError(f"{matrix.path}: rows {first} to {first + n_rows - 1} changed while they were in use.")
        self._count(n_rows * matrix.n_columns * matrix.dtype.itemsize, n_rows)
        begin, end = self.span(k)
        return Block(values.reshape(n_rows, -1), self._labels_between(begin, end), buffers.weight[:n_rows], begin)

    def _check_finite(self, values: NDArray[Any], matrix: PlainMatrix, first: int) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            row, column = divmod(int(np.argmin(finite)), matrix.n_columns)
            raise DataError(
                f"{matrix.path}: row {first + row}, column {column}: found {matrix.value(first + row, column)}; values "
                f"must be finite numbers within {self._dtype}. Fill it in or leave the row out."
            )

    def block(self, k: int) -> Block:
        """Block k in memory of its own."""
        place = self._places[k]
        buffers = ArrayBuffers({place.matrix.path}, place.n_rows, self.n_features, self._dtype)
        try:
            return self.read(k, buffers)
        finally:
            buffers.close()

    def fingerprint(self) -> str:
        """Hash of the checksums of all blocks, and of the labels; blocks that were not read yet are read for it."""
        buffers = self.buffers()
        for k in range(self.n_blocks):
            if k not in self._checksums:
                self.read(k, buffers)
        buffers.close()
        spans = [(place.n_rows, self._checksums[k]) for k, place in enumerate(self._places)]
        table, codes, numbers = self._targets
        labels = [array.tobytes() for array in (codes, numbers) if array is not None]
        return combined(str(self._dtype), self.n_features, spans, table.classes.tolist(), *labels)

    def write_blocks(self, file: BinaryIO) -> None:
        """Write the rows to an open file, as a block file."""
        BlockWriter(file, self._block_bytes, self._dtype).write(self._input)

    def close(self) -> None:
        """The source cannot be read any more."""
        self._closed = True
