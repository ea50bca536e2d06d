"""The block file: rows in the compact form in which they are read again and again.

    bytes 0 to 63       the mark, then zeros
    block 0             its sections one after the other, each begun at a multiple of 64
    block 1             ...
    index               JSON, in UTF-8: shape, types, labels, and a line for each block
    last 32 bytes       offset, length and CRC-32 of the index (8 bytes each), and the mark again

Sections of a block, numbers little-endian:

    starts              int32, one a row and one more, from 0: entries starts[i] to starts[i + 1] - 1 are row i's
    columns             uint16 where all columns of the block are below 65536, int32 otherwise
    values              float32 or float64
    labels              codes (int8, int16 or int32), or float64 where the rows have no codes
    weights             float64

A block has fewer than 2^31 entries, the file any number. Dense rows have no starts and no columns. Weights are there
only where some were given. Each block has two CRC-32: one of starts, columns and values, one of labels and weights, so
that labels can be read alone.

The file is written under another name and takes its own only when it is complete and on disk. The marks and the index
at the end make a file that was cut short recognisable.

A block is written whenever the bytes that it may have in memory are full. Its rows are collected in memory that is used
again for every block: arrays that were allocated for each would leave the process with holes that nothing fits into.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.formats.file_bytes import PIECE_BYTES
from maxmargin.data.formats.inputs import Input, ReadProgress, RowBatch
from maxmargin.data.labels import LabelTable, smallest_integer
from maxmargin.data.replacing import is_full, replacing
from maxmargin.errors import DataError

Progress: TypeAlias = Callable[[ReadProgress], object]

MARK = b"maxmblk1"
ALIGNMENT = 64
ROW_BYTES = 20  # of a row beside its entries, in memory: 4 for its start, 8 for its label and 8 for its weight
COLUMN_BYTES = 4
_MOST_ENTRIES = (1 << 31) - 1
_SMALL_COLUMNS = 1 << 16
_FIRST_BYTES = 64 << 20  # room to begin with, where a block may have more
_FOOTER = struct.Struct("<QQQ8s")
_FORMAT, _VERSION = "maxmargin blocks", 1
_AGAIN = "Copy it again from where it came, or delete it and read the data again."


class BlockEntry(NamedTuple):
    """Where a block lies in the file and what is in it."""

    offset: int
    rows: int
    entries: int
    column_type: str
    label_type: str
    crc_rows: int
    crc_labels: int

    def sections(self, index: BlockIndex) -> list[tuple[str, str, int, int]]:
        """Name, type, count and offset in the file of each section."""
        found, at = [], self.offset
        for name, kind, count in (
            ("starts", "<i4", self.rows + 1 if index.sparse else 0),
            ("columns", self.column_type, self.entries if index.sparse else 0),
            ("values", index.value_type, self.entries),
            ("labels", self.label_type, self.rows),
            ("weights", "<f8", self.rows if index.weighted else 0),
        ):
            found.append((name, kind, count, at))
            at = _aligned(at + count * np.dtype(kind).itemsize)
        return found

    def end(self, index: BlockIndex) -> int:
        """First byte after the last section."""
        _, kind, count, at = self.sections(index)[-1]
        return _aligned(at + count * np.dtype(kind).itemsize)


@dataclass(frozen=True)
class BlockIndex:
    """Everything about a block file but the rows."""

    sparse: bool
    weighted: bool
    value_type: str
    n_features: int
    column_shift: int
    labels: LabelTable
    skipped: tuple[str, ...]
    blocks: tuple[BlockEntry, ...]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each block, and the number of all rows."""
        return np.cumsum([0, *(block.rows for block in self.blocks)], dtype=np.int64)


def _aligned(offset: int) -> int:
    """The next multiple of the alignment."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def write_index(file: BinaryIO, offset: int, index: BlockIndex) -> None:
    """Write index and end of the file, at its end."""
    record = {"format": _FORMAT, "version": _VERSION, **asdict(index)}
    text = json.dumps(record, ensure_ascii=False).encode()
    file.write(text)
    file.write(_FOOTER.pack(offset, len(text), zlib.crc32(text), MARK))


def read_index(path: Path) -> tuple[BlockIndex, bytes]:
    """Index of a block file, as a record and as its bytes; an error where the file is foreign, cut short or damaged."""
    with open(path, "rb") as file:
        if file.read(len(MARK)) != MARK:
            raise DataError(f"{path} is not a block file of maxmargin. Name the format it has with format=.")
        size = file.seek(0, os.SEEK_END)
        if size < ALIGNMENT + _FOOTER.size:
            raise DataError(f"{path} is cut short: {size:,} bytes. {_AGAIN}")
        file.seek(size - _FOOTER.size)
        offset, length, crc, mark = _FOOTER.unpack(file.read(_FOOTER.size))
        if mark != MARK or offset + length + _FOOTER.size != size:
            raise DataError(f"{path} is cut short or damaged: its end is missing. {_AGAIN}")
        file.seek(offset)
        text = file.read(length)
    if zlib.crc32(text) != crc:
        raise DataError(f"{path}: the index is damaged, its checksum differs. {_AGAIN}")
    record = json.loads(text)
    if record.pop("format") != _FORMAT or record.pop("version") != _VERSION:
        raise DataError(f"{path} was written by a newer version of maxmargin. Update it, or read the data again.")
    labels = LabelTable(**record.pop("labels"))
    blocks = tuple(BlockEntry(*block) for block in record.pop("blocks"))
    skipped = tuple(record.pop("skipped"))
    index = BlockIndex(labels=labels, blocks=blocks, skipped=skipped, **record)
    if blocks and blocks[-1].end(index) != offset:
        raise DataError(f"{path} is damaged: the blocks do not end where the index begins. {_AGAIN}")
    return index, text


def write_blocks(path: Path, rows: Input, block_bytes: int, progress: Progress | None = None) -> int:
    """Write all rows of an input to a new block file, which has its name only when it is complete; return how many."""
    with replacing(path) as file:
        try:
            return BlockWriter(file, rows, block_bytes).write(progress)
        except OSError as error:
            if not is_full(error):
                raise
            raise OSError(error.errno, f"{error.strerror}. {_needed(file, rows)}", str(path)) from None


def _needed(file: BinaryIO, rows: Input) -> str:
    """What to do about a full disk. The input is read a little ahead of what is written, so the least is told."""
    about = "more space"
    if rows.bytes_total and rows.bytes_read:
        about = f"at least {os.fstat(file.fileno()).st_size * rows.bytes_total / rows.bytes_read / 1e6:,.1f} MB"
    return f"The block file needs {about}; nothing was left behind. Name a directory that has it by cache="


class BlockWriter:
    """Writes rows to an open file, as a block file: it collects those of a block until the next row does not fit."""

    def __init__(self, file: BinaryIO, rows: Input, block_bytes: int):
        self._file = file
        self._rows = rows
        self._dtype = rows.how.dtype
        self._block_bytes = min(block_bytes, _MOST_ENTRIES * self._dtype.itemsize)  # so that starts fit 32 bits
        self._at = file.write(MARK.ljust(ALIGNMENT, b"\0"))
        self._entries: list[BlockEntry] = []
        self._open = _OpenBlock(self._block_bytes, self._dtype)
        self._piece = np.empty(PIECE_BYTES, dtype=np.uint8)
        self._sparse: bool | None = None
        self._weighted: bool | None = None
        self._width = 0
        self._n_rows = 0

    def write(self, progress: Progress | None = None) -> int:
        """Write all rows, and the index; return how many rows there are."""
        for batch in self._rows.batches():
            self._add(batch)
            if progress is not None:
                progress(ReadProgress(self._rows.bytes_read, self._rows.bytes_total, self._n_rows))
        self._flush()
        write_index(self._file, self._at, self._index())
        return self._n_rows

    def _add(self, batch: RowBatch) -> None:
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
                if self._open.bytes:
                    self._flush()
                    continue
                last = first + 1  # a row that is larger than a block is a block
            self._open.add(batch.part(first, last), int(sizes[last] - sizes[first]))
            first = last
        self._n_rows += count

    def _sizes(self, batch: RowBatch) -> NDArray[np.int64]:
        """Bytes that the rows before each one take in memory."""
        rows = np.arange(len(batch.labels) + 1, dtype=np.int64)
        if batch.starts is None:
            return np.asarray(rows * (ROW_BYTES + batch.values.shape[1] * self._dtype.itemsize))
        entries = batch.starts - batch.starts[0]
        return np.asarray(rows * ROW_BYTES + entries * (COLUMN_BYTES + self._dtype.itemsize))

    def _flush(self) -> None:
        """Write the rows collected so far as a block."""
        block, offset = self._open, self._at
        labels, n_entries = block.labels.numbers, len(block.values.numbers)
        if len(labels) == 0:
            return
        label_type = np.dtype("<f8")
        if block.label_kind != "f":
            label_type = np.dtype(smallest_integer(int(labels.max()) + 1)).newbyteorder("<")
        column_type = np.dtype("<i4" if block.has_wide_columns else "<u2")
        crc_rows = self._write_section(block.starts, np.dtype("<i4"), 0)
        crc_rows = self._write_section(block.columns, column_type, crc_rows)
        crc_rows = self._write_section(block.values, self._dtype.newbyteorder("<"), crc_rows)
        crc_labels = self._write_section(block.labels, label_type, 0)
        crc_labels = self._write_section(block.weight, np.dtype("<f8"), crc_labels)
        types = column_type.str, label_type.str
        self._entries.append(BlockEntry(offset, len(labels), n_entries, *types, crc_rows, crc_labels))
        block.clear()

    def _write_section(self, section: _Section, kind: np.dtype[Any], crc: int) -> int:
        """Write a section, filled up to the alignment; return the checksum continued by what is in it."""
        end = self._at
        step = PIECE_BYTES // kind.itemsize
        for first in range(0, len(section.numbers), step):
            part = section.numbers[first : first + step]
            piece = self._piece[: len(part) * kind.itemsize]
            np.copyto(piece.view(kind), part, casting="unsafe")
            crc = zlib.crc32(piece.data, crc)
            self._file.write(piece.data)
            end += len(piece)
        self._at = _aligned(end)
        self._file.write(bytes(self._at - end))
        return crc

    def _index(self) -> BlockIndex:
        """What was written, and what the input tells of it at its end."""
        rows, n_features = self._rows, self._rows.how.n_features
        if self._n_rows == 0 and rows.skipped:
            raise DataError(f"{rows}: all {len(rows.skipped):,} rows are malformed. The first: {rows.skipped[0]}")
        if self._n_rows == 0:
            raise DataError(f"{rows}: there are no rows in it. Is it the right file, and is it complete?")
        width = self._width + rows.column_shift
        if n_features is not None and (width > n_features or (width < n_features and not self._sparse)):
            needed = f"{width} or more" if self._sparse else str(width)
            raise DataError(f"{rows}: found {width} columns, n_features={n_features}. Pass n_features={needed}.")
        return BlockIndex(
            sparse=bool(self._sparse),
            weighted=bool(self._weighted),
            value_type=self._dtype.newbyteorder("<").str,
            n_features=width if n_features is None else n_features,
            column_shift=rows.column_shift,
            labels=rows.label_table(),
            skipped=tuple(rows.skipped),
            blocks=tuple(self._entries),
        )


class _Section:
    """Numbers one after the other; pages of memory that none was written to take no space."""

    def __init__(self, room: int, dtype: Any):
        self._memory: NDArray[Any] = np.empty(room, dtype=dtype)
        self.numbers = self._memory[:0]

    def add(self, numbers: NDArray[Any]) -> None:
        """Append a copy; where there is no room, as for a row that is larger than a block, more is made."""
        begin, end = len(self.numbers), len(self.numbers) + numbers.size
        if end > len(self._memory):
            longer = np.empty(max(end, 2 * len(self._memory)), dtype=self._memory.dtype)
            longer[:begin] = self.numbers
            self._memory = longer
        self._memory[begin:end] = numbers.reshape(-1)
        self.numbers = self._memory[:end]

    def clear(self) -> None:
        """Forget all numbers, and keep the memory."""
        self.numbers = self._memory[:0]


class _OpenBlock:
    """Copies of rows, about `n_bytes` at most."""

    def __init__(self, n_bytes: int, dtype: np.dtype[Any]):
        n_bytes = min(n_bytes, _FIRST_BYTES)
        rows = 1 + n_bytes // ROW_BYTES
        self.starts = _Section(rows + 1, np.int32)
        self.columns = _Section(1 + n_bytes // (COLUMN_BYTES + dtype.itemsize), np.int32)
        self.values = _Section(1 + n_bytes // dtype.itemsize, dtype)
        self.weight = _Section(rows, np.float64)
        self.labels = _Section(rows, np.float64)  # or their codes, which double precision holds exactly
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        for section in (self.starts, self.columns, self.values, self.weight, self.labels):
            section.clear()
        self.has_wide_columns = False
        self.bytes = 0
        self.label_kind: str | None = None

    def add(self, part: RowBatch, size: int) -> None:
        """Copy rows that count for `size` bytes."""
        if part.columns is not None and part.starts is not None:
            begin = 1 if len(self.starts.numbers) else 0  # the first row of a block begins at 0
            self.starts.add(part.starts[begin:] - part.starts[0] + len(self.values.numbers))
            self.columns.add(part.columns)
            if len(part.columns) and not 0 <= part.columns.min() <= part.columns.max() < _SMALL_COLUMNS:
                self.has_wide_columns = True
        self.values.add(part.values)
        self.label_kind = part.labels.dtype.kind
        self.labels.add(part.labels)
        if part.weight is not None:
            self.weight.add(part.weight)
        self.bytes += size
