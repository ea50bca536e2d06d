"""Sources whose rows lie in a block file: one that was written before, or one that the first pass writes.

That pass reads the input once and writes it to a block file: into the directory that the user names, where it is found
again next time, or into a temporary one that is removed with the source. Every later pass reads the block file. Nothing
is read before something is asked for that only the rows can tell.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.formats.block_format import BlockIndex, Progress, read_index, write_blocks
from maxmargin.data.formats.file_bytes import ReadBuffers
from maxmargin.data.formats.inputs import BLOCK_SUFFIX, Input
from maxmargin.data.replacing import TemporaryFolder
from maxmargin.data.source import Block
from maxmargin.data.sources.pulled import StoredSource, asked
from maxmargin.errors import DataError, ParameterError


@dataclass(frozen=True)
class _OpenedFile:
    """A block file whose index was read."""

    path: Path
    index: BlockIndex
    digest: str


class BlockFileSource(StoredSource):
    """The rows of a block file that was written before."""

    def __init__(self, path: str | os.PathLike[str], title: str = ""):
        super().__init__(title or os.fspath(path))
        self._path = Path(path)
        self._file: _OpenedFile | None = None
        self._building = threading.Lock()

    def __repr__(self) -> str:
        if self._file is None:
            return f"{type(self).__name__}({self._title}, {'closed' if self._closed else 'not read yet'})"
        return super().__repr__()

    def _made(self) -> Path:
        """Path of the block file, made first where it is not there yet."""
        return self._path

    @property
    def _opened(self) -> _OpenedFile:
        """The block file, made first where it is not there yet."""
        with self._building:
            self._refuse_closed()
            if self._file is None:
                path = self._made()
                index, text = read_index(path)
                self._file = _OpenedFile(path, index, hashlib.sha256(text).hexdigest())
            return self._file

    path = asked("_opened.path")

    @property
    def _index(self) -> BlockIndex:
        return self._opened.index

    n_features = asked("_index.n_features")
    is_sparse = asked("_index.sparse")
    skipped = asked("_index.skipped")
    _starts = asked("_index.starts")
    _table = asked("_index.labels")

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels."""
        return self._index.labels.kind != "none"

    @property
    def n_bytes(self) -> int:
        """Bytes of the block file, which is about what all rows would take in memory."""
        return int(self.path.stat().st_size)

    def write_blocks(self, file: BinaryIO) -> None:
        """Copy the block file to an open file."""
        with self.path.open("rb") as blocks:
            shutil.copyfileobj(blocks, file, 1 << 20)

    def fingerprint(self) -> str:
        """Hash of the index, which has the checksums of all blocks: it tells other rows, not other names of files."""
        return self._opened.digest

    def close(self) -> None:
        """Give the file back."""
        with self._building:
            self._closed = True
            self._file = None

    def _buffers(self, blocks: Sequence[int]) -> ReadBuffers:
        index = self._index
        rows = max(index.blocks[k].rows for k in blocks)
        entries = max(index.blocks[k].entries for k in blocks)
        return ReadBuffers(
            [self.path],
            values=np.empty(entries, dtype=np.dtype(index.value_type)),
            starts=np.empty(rows + 1 if index.sparse else 0, dtype=np.int32),
            columns=np.empty(entries if index.sparse else 0, dtype=np.int32),
            labels=np.empty(8 * rows, dtype=np.uint8),
            y=np.empty(rows),
            weights=np.ones(rows),
        )

    def _read(self, k: int, buffers: ReadBuffers) -> tuple[Block, int]:
        index = self._index
        block = index.blocks[k]
        starts, columns, values = self._sections(k, buffers, slice(3), block.crc_rows)
        rows: Rows = values if index.sparse else values.reshape(block.rows, index.n_features)
        if index.sparse:
            if index.column_shift:
                np.add(columns, np.int32(index.column_shift), out=columns)
            rows = sparse.csr_matrix((block.rows, index.n_features), dtype=values.dtype)
            rows.data, rows.indices, rows.indptr = values, columns, starts  # the constructor would look through them
            rows.has_sorted_indices = rows.has_canonical_format = True
        codes, weight = self._read_labels(k, buffers)
        y: Labels
        if codes.dtype == np.float64:
            y = codes
        elif index.labels.kind in ("number", "none"):
            y = np.take(index.labels.labels, codes, out=buffers.memory["y"][: block.rows])
        else:
            y = index.labels.labels[codes]
        return Block(rows, y, weight, self.span(k)[0]), block.end(index) - block.offset

    def _read_labels(self, k: int, buffers: ReadBuffers) -> tuple[NDArray[Any], Vector]:
        """Codes, or numbers where there are no codes, and weights of block k; the rows are not read."""
        block = self._index.blocks[k]
        codes, _ = self._sections(k, buffers, slice(3, 5), block.crc_labels)
        return codes, buffers.memory["weights"][: block.rows]  # ones, where none are in the file

    def _sections(self, k: int, buffers: ReadBuffers, wanted: slice, known_crc: int) -> list[NDArray[Any]]:
        """Read sections of block k; an error where the file ends, or the checksum is not the known one."""
        path, index, crc, read = self.path, self._index, 0, []
        for name, kind, count, offset in index.blocks[k].sections(index)[wanted]:
            memory = buffers.memory[name]
            read.append(memory[: count * np.dtype(kind).itemsize].view(kind) if name == "labels" else memory[:count])
            try:
                crc = buffers.fill(read[-1], path, offset, np.dtype(kind), crc)
            except EOFError:
                raise self._damaged(k) from None
        if crc != known_crc:
            raise self._damaged(k)
        return read

    def _damaged(self, k: int) -> DataError:
        first, last = self.span(k)
        return DataError(
            f"{self.path}: block {k} (rows {first} to {last - 1}) is damaged, its checksum differs. "
            "Copy the file again from where it came, or delete it and read the data again."
        )

    def _collected(self, dtype: Any, wanted: Callable[[NDArray[Any], Vector], NDArray[Any]]) -> NDArray[Any]:
        """What is wanted of the labels, as they are stored, and weights of all blocks."""
        found = np.empty(self.n_rows, dtype=dtype)
        with closing(self.buffers()) as buffers:
            for k in range(self.n_blocks):
                found[slice(*self.span(k))] = wanted(*self._read_labels(k, buffers))
        return found

    @cached_property
    def _codes(self) -> NDArray[Any]:
        class_of_code = self._index.labels.class_of_code
        return self._collected(class_of_code.dtype, lambda codes, _: class_of_code[codes])

    def _numbers(self) -> Labels:
        labels = self._index.labels.labels
        return self._collected(np.float64, lambda y, _: y if y.dtype == np.float64 else labels[y])

    @property
    def weight(self) -> Vector:
        """Weights of all rows; read-only, and no memory where none were given."""
        if not self._index.weighted:
            return np.broadcast_to(np.float64(1.0), self.n_rows)
        return self._collected(np.float64, lambda _, weight: weight)


class FileSource(BlockFileSource):
    """The rows of an input, read through a block file that the first pass writes."""

    def __init__(
        self,
        rows: Input,
        block_bytes: int,
        cache: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ):
        super().__init__("", title=str(rows))  # the path is known when the file is made
        self._input = rows
        self._block_bytes = block_bytes
        self._cache = None if cache is None else Path(cache)
        self._progress = progress
        self._remove: Callable[[], object] = lambda: None
        if self._cache is not None and not self._cache.is_dir():
            raise ParameterError(f"cache={os.fspath(self._cache)!r} is not a directory. Make it first.")

    has_labels = asked("_input.has_labels")  # nothing is read to tell

    def _made(self) -> Path:
        """Find the block file in the cache, or write it."""
        if self._cache is None:
            folder = TemporaryFolder()
            self._remove = weakref.finalize(self, folder.remove)
            path = folder.path / f"rows{BLOCK_SUFFIX}"
        else:
            key = self._input.key()
            name = f"batches-{secrets.token_hex(8)}" if key is None else f"{key[:16]}-{self._block_bytes}"
            path = self._cache / f"{name}{BLOCK_SUFFIX}"
            if path.is_file():
                return path
        try:
            n_rows = write_blocks(path, self._input, self._block_bytes, self._progress)
        except BaseException:  # Ctrl-C, too: the temporary directory must not outlive what it was made for
            self._remove()
            raise
        self._count(self._input.bytes_read, n_rows)
        return path

    def close(self) -> None:
        """Remove the block file where it was temporary. The source cannot be read any more."""
        super().close()
        self._remove()
