"""What sources of rows in files have in common: how much was read, and what their labels are."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels
from maxmargin.data.formats.read_buffers import ReadBuffers
from maxmargin.data.labels import LabelTable
from maxmargin.data.source import Block
from maxmargin.data.sources.pulled import PulledSource, asked
from maxmargin.errors import DataError


class StoredSource(PulledSource):
    """Rows that are read from files each time anew; several threads may read at the same time.

    `title` says what they come from, for a person.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._counting = threading.Lock()
        self._bytes_read = self._rows_read = 0
        self._closed = False

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        shape = f"{self.n_rows:,} rows, {self.n_features:,} features, {kind}, {self.n_blocks:,} blocks"
        return f"{type(self).__name__}({self._title}: {shape})"

    _starts: NDArray[np.int64]
    """First row of each block, and the number of all rows."""

    @abstractmethod
    def _buffers(self, blocks: Sequence[int]) -> ReadBuffers:
        """Memory for any one of these blocks."""

    @abstractmethod
    def _read(self, k: int, buffers: ReadBuffers) -> tuple[Block, int]:
        """Block k, and how many bytes of files it takes."""

    @property
    @abstractmethod
    def _table(self) -> LabelTable:
        """What the codes of the labels stand for."""

    @property
    @abstractmethod
    def _codes(self) -> NDArray[Any]:
        """Number of the class of every row, where all labels are in the table."""

    @abstractmethod
    def _numbers(self) -> Labels:
        """Labels of all rows, where they are too many for the table."""

    @abstractmethod
    def write_blocks(self, file: BinaryIO) -> None:
        """Write the rows to an open file, as a block file."""

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks together."""
        return int(self._starts[-1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return len(self._starts) - 1

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        return int(self._starts[k]), int(self._starts[k + 1])

    bytes_read = asked("_bytes_read")
    rows_read = asked("_rows_read")

    def _count(self, bytes_read: int, rows: int) -> None:
        with self._counting:
            self._bytes_read += bytes_read
            self._rows_read += rows

    def buffers(self) -> ReadBuffers:
        """Memory for any one block, to be read into again and again; for one thread at a time."""
        return self._buffers(range(self.n_blocks))

    def read(self, k: int, buffers: ReadBuffers) -> Block:
        """Block k; valid until the next read into the same buffers."""
        block, n_bytes = self._read(k, buffers)
        self._count(n_bytes, len(block.y))
        return block

    def block(self, k: int) -> Block:
        """Block k in memory of its own."""
        with closing(self._buffers([k])) as buffers:
            return self.read(k, buffers)

    def _coded(self) -> LabelTable:
        """The table of the labels, or an error where there are none or too many to be classes."""
        self.require_labels()
        table = self._table
        if not table.complete:
            raise DataError(
                f"{self!r} has more than {len(table.values):,} different labels, too many for classes. Train a "
                "regressor, or look whether the labels are the right ones."
            )
        return table

    @property
    def classes(self) -> Labels:
        """The different labels, sorted."""
        return self._coded().classes

    @property
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row: `classes[codes]` are the labels. One byte a row up to 127 classes."""
        self._coded()
        return self._codes

    @property
    def y(self) -> Labels:
        """Labels of all rows, in the user's kind; made anew at each call where they are classes."""
        self.require_labels()
        return np.asarray(self._table.classes[self._codes]) if self._table.complete else self._numbers()

    def _refuse_closed(self) -> None:
        """Raise an error where the source was closed."""
        if self._closed:
            raise DataError(f"{self!r}: the source was closed. Open it again.")

    def close(self) -> None:
        """Give back files. The source cannot be read any more."""
        self._closed = True
