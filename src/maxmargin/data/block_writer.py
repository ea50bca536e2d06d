"""Rows into a block file, a block whenever the bytes that it may have in memory are full."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.batches import Batch, Input, ReadProgress
from maxmargin.data.block_format import ALIGNMENT, MARK, BlockEntry, BlockIndex, aligned, write_index
from maxmargin.data.labels import smallest_integer
from maxmargin.data.replacing import is_full, replacing
from maxmargin.errors import DataError

ROW_BYTES = 20  # of a row beside its entries: 4 for its start, 8 for its label and 8 for its weight
_COLUMN_BYTES = 4
_SMALL_COLUMNS = 1 << 16
_MOST_ENTRIES = (1 << 31) - 1


def write_blocks(
    path: Path,
    rows: Input,
    block_bytes: int,
    dtype: np.dtype[Any],
    n_features: int | None,
    progress: Callable[[ReadProgress], object] | None = None,
) -> None:
    """Write all rows of an input to a new block file, which appears under its name only when it is complete."""
    with replacing(path) as file:
        try:
            write_blocks_to(file, rows, block_bytes, dtype, n_features, progress)
        except OSError as error:
            if not is_full(error):
                raise
            raise OSError(error.errno, f"{error.strerror}. {_needed(file, rows)}", str(path)) from None


def write_blocks_to(
    file: BinaryIO,
    rows: Input,
    block_bytes: int,
    dtype: np.dtype[Any],
    n_features: int | None,
    progress: Callable[[ReadProgress], object] | None = None,
) -> None:
    """Write all rows of an input to an open file, as a block file."""
    writer = _Writer(file, block_bytes, dtype)
    for batch in rows.batches():
        writer.add(batch)
        if progress is not None:
            progress(ReadProgress(rows.bytes_read, rows.bytes_total, writer.n_rows))
    writer.end(rows, n_features)


def _needed(file: BinaryIO, rows: Input) -> str:
    """What to do about a full disk. The input is read a little ahead of what is written, so the least is told."""
    about = "more space"
    if rows.bytes_total and rows.bytes_read:
        about = f"at least {os.fstat(file.fileno()).st_size * rows.bytes_total / rows.bytes_read / 1e6:,.1f} MB"
    return f"The block file needs {about}; nothing was left behind. Name a directory that has it by cache="


class _Writer:
    """Collects the rows of one block, and writes it when the next row does not fit."""

    def __init__(self, file: BinaryIO, block_bytes: int, dtype: np.dtype[Any]):
        self._file = file
        self._block_bytes = min(block_bytes, _MOST_ENTRIES * dtype.itemsize)  # so that starts fit 32 bits
        self._dtype = dtype
        self._at = file.write(MARK.ljust(ALIGNMENT, b"\0"))
        self._entries: list[BlockEntry] = []
        self._open = _OpenBlock()
        self._sparse: bool | None = None
        self._weighted: bool | None = None
        self._width = 0
        self.n_rows = 0

    def add(self, batch: Batch) -> None:
        """Take rows, into this block and as many more as they need."""
        count = len(batch.labels)
        if count == 0:
            return
        sparse, weighted = batch.columns is not None, batch.weight is not None
        if self._weighted not in (None, weighted):
            raise DataError("Some batches have weights and some have not. Give all of them weights, or none.")
        self._sparse, self._weighted = sparse, weighted
        self._width = max(self._width, batch.n_columns)
        if batch.columns is not None and len(batch.columns):
            self._width = max(self._width, int(batch.columns.max()) + 1)
        sizes = self._sizes(batch)
        first = 0
        while first < count:
            if self._open.label_kind not in (None, batch.labels.dtype.kind):
                self._flush()  # a block has codes or numbers, not both
            room = self._block_bytes - self._open.bytes
            last = int(np.searchsorted(sizes, sizes[first] + room, side="right")) - 1
            if last <= first:
                if self._open.rows:
                    self._flush()
                    continue
                last = first + 1  # a row that is larger than a block is a block
            self._open.add(batch.part(first, last), int(sizes[last] - sizes[first]))
            first = last
        self.n_rows += count

    def _sizes(self, batch: Batch) -> NDArray[np.int64]:
        """Bytes that the rows before each one take in memory."""
        rows = np.arange(len(batch.labels) + 1, dtype=np.int64)
        if batch.starts is None:
            return np.asarray(rows * (ROW_BYTES + batch.values.shape[1] * self._dtype.itemsize))
        entries = batch.starts - batch.starts[0]
        return np.asarray(rows * ROW_BYTES + entries * (_COLUMN_BYTES + self._dtype.itemsize))

    def _flush(self) -> None:
        parts = self._open.parts
        if not parts:
            return
        offset = self._at
        column_type, label_type = self._open.column_type(), self._open.label_type()
        value_type = _little_endian(self._dtype)
        crc_rows = 0
        if self._sparse:
            crc_rows = self._write(self._open.starts(), "<i4", crc_rows)
            crc_rows = self._write([part.columns for part in parts], column_type, crc_rows)
        crc_rows = self._write([part.values for part in parts], value_type, crc_rows)
        crc_labels = self._write([part.labels for part in parts], label_type, 0)
        if self._weighted:
            crc_labels = self._write([part.weight for part in parts], "<f8", crc_labels)
        entries = sum(part.values.size for part in parts)
        self._entries.append(
            BlockEntry(offset, self._open.rows, entries, column_type, label_type, crc_rows, crc_labels)
        )
        self._open = _OpenBlock()

    def _write(self, arrays: Iterable[NDArray[Any] | None], kind: str, crc: int) -> int:
        """Write arrays as one section, filled up to the alignment; return the checksum continued by what is in them."""
        end = self._at
        for array in arrays:
            data = np.ascontiguousarray(array, dtype=kind).reshape(-1).view(np.uint8).data
            crc = zlib.crc32(data, crc)
            self._file.write(data)
            end += len(data)
        self._at = aligned(end)
        self._file.write(bytes(self._at - end))
        return crc

    def end(self, rows: Input, n_features: int | None) -> None:
        """Write the last block and the index."""
        self._flush()
        if self.n_rows == 0:
            raise DataError(f"{rows}: there are no rows in it. Is it the right file, and is it complete?")
        found = rows.found()
        width = self._width + found.column_shift
        if n_features is not None and (width > n_features or (width < n_features and not self._sparse)):
            needed = f"{width} or more" if self._sparse else str(width)
            raise DataError(f"{rows}: found {width} columns, n_features={n_features}. Pass n_features={needed}.")
        index = BlockIndex(
            sparse=bool(self._sparse),
            weighted=bool(self._weighted),
            value_type=_little_endian(self._dtype),
            n_features=width if n_features is None else n_features,
            column_shift=found.column_shift,
            labels=found.labels,
            skipped=found.skipped,
            blocks=tuple(self._entries),
        )
        write_index(self._file, self._at, index)


class _OpenBlock:
    """Copies of the rows that make up the next block."""

    def __init__(self) -> None:
        self.parts: list[Batch] = []
        self.bytes = 0
        self.rows = 0
        self.label_kind: str | None = None

    def add(self, part: Batch, size: int) -> None:
        """Copy rows, because the memory they lie in is used again."""
        self.parts.append(
            Batch(part.values.copy(), _copy(part.columns), _copy(part.starts), part.labels.copy(), _copy(part.weight))
        )
        self.bytes += size
        self.rows += len(part.labels)
        self.label_kind = part.labels.dtype.kind

    def starts(self) -> Iterator[NDArray[np.int64]]:
        """Where each row starts, and where the last ends, counted through all parts."""
        yield np.zeros(1, dtype=np.int64)
        entries = 0
        for part in self.parts:
            if part.starts is not None:
                yield part.starts[1:] - part.starts[0] + entries
            entries += part.values.size

    def column_type(self) -> str:
        """Smallest type that holds all columns."""
        used = [part.columns for part in self.parts if part.columns is not None and len(part.columns)]
        narrow = all(columns.min() >= 0 and columns.max() < _SMALL_COLUMNS for columns in used)
        return "<u2" if narrow else "<i4"

    def label_type(self) -> str:
        """Smallest type that holds all codes, or double precision where the labels are numbers."""
        if self.label_kind == "f":
            return "<f8"
        most = max(int(part.labels.max()) for part in self.parts)
        return _little_endian(np.dtype(smallest_integer(most + 1)))


def _copy(array: Any) -> Any:
    return None if array is None else array.copy()


def _little_endian(kind: np.dtype[Any]) -> str:
    return kind.newbyteorder("<").str
