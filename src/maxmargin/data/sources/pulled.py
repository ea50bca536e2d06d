"""Sources whose rows lie outside memory: what all of them can do, and what those of rows in files have in common."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from operator import attrgetter
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.arrays import take_rows
from maxmargin.data.source import Block
from maxmargin.errors import DataError, ParameterError

if TYPE_CHECKING:
    from typing import Self

    from maxmargin.data.formats.file_bytes import ReadBuffers
    from maxmargin.data.labels import LabelTable
    from maxmargin.data.sources.derived import HasTransform, MappedSource, SplitSource


class PulledSource(ABC):
    """Blocks that are read when they are asked for; a pass over the data is a `for` loop over the source."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows in all blocks together."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are CSR matrices."""
        return not isinstance(self.block(0).X, np.ndarray)

    @property
    @abstractmethod
    def has_labels(self) -> bool:
        """Whether the rows have labels; without them `y`, `classes` and `codes` are errors, and a block's y is NaN."""

    @property
    @abstractmethod
    def classes(self) -> Labels:
        """The different labels, sorted."""

    @property
    @abstractmethod
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row: `classes[codes]` are the labels. One byte a row up to 127 classes."""

    @property
    @abstractmethod
    def y(self) -> Labels:
        """Labels of all rows, in the user's kind; made anew at each call."""

    @property
    @abstractmethod
    def weight(self) -> Vector:
        """Weights of all rows; read-only."""

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes read from files so far."""

    @property
    @abstractmethod
    def rows_read(self) -> int:
        """Rows handed out so far."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """About how many bytes all rows would take in memory."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was wrong with each row that was left out."""
        return ()

    @abstractmethod
    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""

    @abstractmethod
    def buffers(self) -> Any:
        """Memory for any one block, to be read into again and again; for one thread at a time."""

    @abstractmethod
    def read(self, k: int, buffers: Any) -> Block:
        """Block k; valid until the next read into the same buffers. Several threads may read at the same time."""

    @abstractmethod
    def block(self, k: int) -> Block:
        """Block k in memory of its own; asking twice gives the same rows."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is the same for the same rows in the same blocks, and else differs."""

    @abstractmethod
    def close(self) -> None:
        """Give back files, and remove those that were temporary. The source cannot be read any more."""

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[Block]:
        return (self.block(k) for k in range(self.n_blocks))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def require_labels(self) -> None:
        """Raise an error that says what to do where the rows have no labels."""
        if not self.has_labels:
            raise DataError(
                f"{self!r} has no labels. Open it with label='name', or label=-1 for the last column, of CSV, Parquet "
                "and Arrow files; with labels= for NumPy files."
            )

    def scan(self) -> Iterator[Block]:
        """One pass in order through the same memory: a block is valid until the next is asked for."""
        with closing(self.buffers()) as buffers:
            for k in range(self.n_blocks):
                yield self.read(k, buffers)

    def head(self, n: int = 5) -> tuple[Rows, Labels]:
        """The first n rows and their labels, from as many blocks as hold them."""
        if n < 1:
            raise ParameterError(f"n must be 1 or more, got n={n!r}.")
        return _first_rows(self, (min(n, self.n_rows), self.n_features))

    def map(self, feature_map: HasTransform) -> MappedSource:
        """The same rows with their features expanded while they are read, and never stored.

        `feature_map` is anything with a method `transform(X)`.
        """
        from maxmargin.data.sources.derived import MappedSource  # it is a pulled source itself

        return MappedSource(self, feature_map)

    def split(self, test: float = 0.2, seed: int = 0) -> tuple[SplitSource, SplitSource]:
        """Two sources, of about 1 - test and test of the rows; a hash of its number decides for each row."""
        from maxmargin.data.sources.derived import split_source  # likewise

        return split_source(self, test, seed)


def asked(path: str) -> Any:
    """An attribute that is asked of another object; `PulledSource` says what it means."""
    return property(attrgetter(path))


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


def combined(*parts: object) -> str:
    """One fingerprint of several."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _first_rows(blocks: Iterable[Block], shape: tuple[int, int]) -> tuple[Rows, Labels]:
    """The first rows of blocks and their labels; each array is given back as soon as it is part of a longer one."""
    labels, at = [], 0
    dense: NDArray[Any] | None = None
    parts: tuple[list[NDArray[Any]], ...] = [], [], []
    for block in blocks:
        count = min(shape[0] - at, len(block.y))
        X = block.X if count == len(block.y) else take_rows(block.X, slice(0, count))
        labels.append(block.y[:count])
        if sparse.issparse(X):
            for part, array in zip(parts, (X.data, X.indices, np.diff(X.indptr)), strict=True):
                part.append(array)
        else:
            dense = np.empty(shape, dtype=X.dtype) if dense is None else dense
            dense[at : at + count] = X
        at += count
        if at == shape[0]:
            break
    if dense is not None:
        return dense, np.concatenate(labels)
    values, columns, lengths = map(_together, parts)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    rows = sparse.csr_matrix((values, columns, starts), shape=shape)
    rows.has_canonical_format = True  # as that of every block is
    return rows, np.concatenate(labels)


def _together(parts: list[NDArray[Any]]) -> NDArray[Any]:
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return joined
