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
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.labels import LabelTable
from maxmargin.errors import DataError

SUFFIX = ".blocks"
MARK = b"maxmblk1"
ALIGNMENT = 64
ROW_BYTES = 20  # of a row beside its entries, in memory: 4 for its start, 8 for its label and 8 for its weight
COLUMN_BYTES = 4
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
            at = aligned(at + count * np.dtype(kind).itemsize)
        return found

    def end(self, index: BlockIndex) -> int:
        """First byte after the last section."""
        _, kind, count, at = self.sections(index)[-1]
        return aligned(at + count * np.dtype(kind).itemsize)


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


def aligned(offset: int) -> int:
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
    return _index_from(record, offset, path), text


def _index_from(record: dict[str, Any], end: int, path: Path) -> BlockIndex:
    labels = LabelTable(**record.pop("labels"))
    blocks = tuple(BlockEntry(*block) for block in record.pop("blocks"))
    skipped = tuple(record.pop("skipped"))
    index = BlockIndex(labels=labels, blocks=blocks, skipped=skipped, **record)
    if blocks and blocks[-1].end(index) != end:
        raise DataError(f"{path} is damaged: the blocks do not end where the index begins. {_AGAIN}")
    return index
