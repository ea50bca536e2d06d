"""Sources whose rows lie in a block file."""

from __future__ import annotations

import os
import shutil
import threading
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, Vector
from maxmargin.data.block_file import BlockBuffers, BlockFile
from maxmargin.data.counted import CountedSource
from maxmargin.data.labels import too_many_labels
from maxmargin.data.source import Block
from maxmargin.errors import DataError


class StoredSource(CountedSource):
    """The rows of a block file; what it is called, and how it comes about, is for the kinds below to say."""

    def __init__(self) -> None:
        super().__init__()
        self._file: BlockFile | None = None
        self._closed = False
        self._codes: NDArray[Any] | None = None
        self._building = threading.Lock()

    def __repr__(self) -> str:
        if self._file is None:
            return f"{type(self).__name__}({self._title()}, {'closed' if self._closed else 'not read yet'})"
        index = self._file.index
        kind = "sparse" if index.sparse else "dense"
        shape = f"{index.n_rows:,} rows, {index.n_features:,} features, {kind}, {len(index.blocks):,} blocks"
        return f"{type(self).__name__}({self._title()}: {shape})"

    @abstractmethod
    def _title(self) -> str:
        """What the rows come from, for a person."""

    @abstractmethod
    def _made(self) -> Path:
        """Path of the block file, made first where it is not there yet."""

    @property
    def _opened(self) -> BlockFile:
        """The block file, made first where it is not there yet."""
        with self._building:
            if self._closed:
                raise DataError(f"{self!r}: the source was closed. Open it again.")
            if self._file is None:
                self._file = BlockFile(self._made())
            return self._file

    @property
    def path(self) -> Path:
        """Where the block file lies."""
        return self._opened.path

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks together."""
        return self._opened.index.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._opened.index.n_features

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return len(self._opened.index.blocks)

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are CSR matrices."""
        return self._opened.index.sparse

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels."""
        return self._opened.labels.kind != "none"

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was wrong with each row that was left out."""
        return self._opened.index.skipped

    @property
    def n_bytes(self) -> int:
        """Bytes of the block file, which is about what all rows would take in memory."""
        return self.path.stat().st_size

    def write_blocks(self, file: BinaryIO) -> None:
        """Copy the block file to an open file."""
        with self.path.open("rb") as blocks:
            shutil.copyfileobj(blocks, file, 1 << 20)

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        return self._opened.span(k)

    def buffers(self) -> BlockBuffers:
        """Memory for any one block, to be read into again and again; for one thread at a time."""
        return self._opened.buffers()

    def read(self, k: int, buffers: BlockBuffers) -> Block:
        """Block k; valid until the next read into the same buffers."""
        file = self._opened
        block = file.read(k, buffers)
        self._count(file.size(k), len(block.y))
        return block

    def block(self, k: int) -> Block:
        """Block k in memory of its own."""
        buffers = self._opened.buffers(k)
        try:
            return self.read(k, buffers)
        finally:
            buffers.close()

    @property
    def classes(self) -> Labels:
        """The different labels, sorted."""
        return self._coded().labels.classes

    @property
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row: `classes[codes]` are the labels. One byte a row up to 127 classes."""
        file = self._coded()
        if self._codes is None:
            codes = np.empty(file.index.n_rows, dtype=file.labels.class_of_code.dtype)
            for first, last, given, _ in self._all_labels(file):
                np.take(file.labels.class_of_code, given, out=codes[first:last])
            self._codes = codes
        return self._codes

    def _coded(self) -> BlockFile:
        """The block file, or an error where the labels are too many to be classes."""
        file = self._labelled()
        if not file.labels.complete:
            raise too_many_labels(self, file.labels)
        return file

    def _labelled(self) -> BlockFile:
        """The block file, or an error where the rows have no labels."""
        self.require_labels()
        return self._opened

    def _all_labels(self, file: BlockFile) -> Iterator[tuple[int, int, NDArray[Any], Vector]]:
        """Rows, labels as they are stored and weights of one block after the other."""
        buffers = file.buffers()
        try:
            for k in range(len(file.index.blocks)):
                yield (*file.span(k), *file.read_labels(k, buffers))
        finally:
            buffers.close()

    @property
    def y(self) -> Labels:
        """Labels of all rows, in the user's kind; made anew at each call."""
        file = self._labelled()
        if file.labels.complete:
            return np.asarray(self.classes[self.codes])
        y = np.empty(file.index.n_rows)
        for first, last, given, _ in self._all_labels(file):
            y[first:last] = given if given.dtype == np.float64 else file.labels.labels[given]
        return y

    @property
    def weight(self) -> Vector:
        """Weights of all rows; read-only, and no memory where none were given."""
        file = self._opened
        if not file.index.weighted:
            return np.broadcast_to(np.float64(1.0), file.index.n_rows)
        weight = np.empty(file.index.n_rows)
        for first, last, _, given in self._all_labels(file):
            weight[first:last] = given
        return weight

    def fingerprint(self) -> str:
        """Hash of the index, which has the checksums of all blocks: it tells other rows, not other names of files."""
        return self._opened.digest

    def close(self) -> None:
        """Give the file back."""
        with self._building:
            self._closed = True
            self._file = None


class BlockFileSource(StoredSource):
    """The rows of a block file that was written before."""

    def __init__(self, path: str | os.PathLike[str]):
        super().__init__()
        self._path = Path(path)

    def _title(self) -> str:
        return str(self._path)

    def _made(self) -> Path:
        return self._path
