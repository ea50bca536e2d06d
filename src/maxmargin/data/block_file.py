"""Blocks out of a block file, into memory that is used again."""

from __future__ import annotations

import hashlib
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.block_format import BlockEntry, BlockIndex, read_index
from maxmargin.data.labels import LabelTable
from maxmargin.data.pieces import PIECE_BYTES, read_numbers
from maxmargin.data.source import Block
from maxmargin.errors import DataError


class BlockBuffers:
    """Memory for any one block of a block file, and an open file to read it from; for one thread at a time."""

    def __init__(self, path: Path, index: BlockIndex, most: BlockEntry):
        self.file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed in the next line, or by close()
        weakref.finalize(self, self.file.close)
        value_type = np.dtype(index.value_type)
        self.values = np.empty(most.entries, dtype=value_type)
        self.starts = np.empty(most.rows + 1 if index.sparse else 0, dtype=np.int32)
        self.columns = np.empty(most.entries if index.sparse else 0, dtype=np.int32)
        self.labels = np.empty(8 * most.rows, dtype=np.uint8)
        self.y = np.empty(most.rows)
        self.weight = np.ones(most.rows)
        self.piece = np.empty(PIECE_BYTES, dtype=np.uint8)

    @property
    def n_bytes(self) -> int:
        """Bytes of memory for a block."""
        return sum(part.nbytes for part in (self.values, self.starts, self.columns, self.labels, self.y, self.weight))

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class BlockFile:
    """An open block file."""

    def __init__(self, path: Path):
        self.path = path
        self.index, text = read_index(path)
        self.digest = hashlib.sha256(text).hexdigest()
        self._starts = np.concatenate([[0], np.cumsum([block.rows for block in self.index.blocks])]).astype(np.int64)

    @property
    def labels(self) -> LabelTable:
        """What the codes stand for."""
        return self.index.labels

    def buffers(self, k: int | None = None) -> BlockBuffers:
        """Memory for block k, or for the largest of each section."""
        blocks = self.index.blocks if k is None else (self.index.blocks[k],)
        rows, entries = max(block.rows for block in blocks), max(block.entries for block in blocks)
        return BlockBuffers(self.path, self.index, blocks[0]._replace(rows=rows, entries=entries))

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        return int(self._starts[k]), int(self._starts[k + 1])

    def size(self, k: int) -> int:
        """Bytes of block k on disk."""
        block = self.index.blocks[k]
        return block.end(self.index) - block.offset

    def read(self, k: int, into: BlockBuffers) -> Block:
        """Block k; valid until the next read into the same buffers."""
        block = self.index.blocks[k]
        crc = 0
        for name, kind, count, offset in block.sections(self.index)[:3]:
            into.file.seek(offset)
            target = getattr(into, name)[:count]
            crc = self._read(into, target, np.dtype(kind), crc, k)
        if crc != block.crc_rows:
            raise self._damaged(k)
        if self.index.column_shift:
            columns = into.columns[: block.entries]
            np.add(columns, np.int32(self.index.column_shift), out=columns)
        codes, weight = self.read_labels(k, into)
        y: Labels
        if codes.dtype == np.float64:
            y = codes
        elif self.labels.kind in ("number", "none"):
            y = np.take(self.labels.labels, codes, out=into.y[: block.rows])
        else:
            y = self.labels.labels[codes]
        return Block(self._rows(block, into), y, weight, self.span(k)[0])

    def _rows(self, block: BlockEntry, into: BlockBuffers) -> Rows:
        values = into.values[: block.entries]
        if not self.index.sparse:
            return values.reshape(block.rows, self.index.n_features)
        arrays = (values, into.columns[: block.entries], into.starts[: block.rows + 1])
        rows = sparse.csr_matrix((block.rows, self.index.n_features), dtype=values.dtype)
        rows.data, rows.indices, rows.indptr = arrays  # given to the constructor, they would be looked through
        rows.has_sorted_indices = rows.has_canonical_format = True
        return rows

    def read_labels(self, k: int, into: BlockBuffers) -> tuple[NDArray[Any], Vector]:
        """Codes, or numbers where there are no codes, and weights of block k; the rows are not read."""
        block = self.index.blocks[k]
        (_, kind, count, offset), (_, _, weights, weight_offset) = block.sections(self.index)[3:]
        codes = into.labels[: count * np.dtype(kind).itemsize]
        into.file.seek(offset)
        crc = self._read(into, codes, codes.dtype, 0, k)
        weight = into.weight[: block.rows]
        if weights:
            into.file.seek(weight_offset)
            crc = self._read(into, weight, weight.dtype, crc, k)
        if crc != block.crc_labels:
            raise self._damaged(k)
        return codes.view(kind), weight

    def _read(self, into: BlockBuffers, target: NDArray[Any], kind: np.dtype[Any], crc: int, k: int) -> int:
        """Read numbers of block k from where the file stands; return the checksum continued."""
        try:
            return read_numbers(into.file, target, kind, into.piece, crc)
        except EOFError:
            raise self._damaged(k) from None

    def _damaged(self, k: int) -> DataError:
        first, last = self.span(k)
        return DataError(
            f"{self.path}: block {k} (rows {first} to {last - 1}) is damaged, its checksum differs. "
            "Copy the file again from where it came, or delete it and read the data again."
        )
