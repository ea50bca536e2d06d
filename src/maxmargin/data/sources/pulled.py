"""What every source whose rows lie outside memory can do, and sources that are made of other ones."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.arrays import take_rows
from maxmargin.data.source import Block
from maxmargin.errors import DataError, ParameterError

if TYPE_CHECKING:
    from typing import Self

    from maxmargin.data.sources.mapped import HasTransform, MappedSource
    from maxmargin.data.sources.split import SplitSource


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
        from maxmargin.data.sources.mapped import MappedSource  # it is a pulled source itself

        return MappedSource(self, feature_map)

    def split(self, test: float = 0.2, seed: int = 0) -> tuple[SplitSource, SplitSource]:
        """Two sources, of about 1 - test and test of the rows; a hash of its number decides for each row."""
        from maxmargin.data.sources.split import split_source  # likewise

        return split_source(self, test, seed)


def asked(path: str) -> Any:
    """An attribute that is asked of another object; `PulledSource` says what it means."""
    return property(attrgetter(path))


class DerivedSource(PulledSource):
    """A source that reads another one, and says of its rows what that one says."""

    def __init__(self, source: PulledSource):
        self.source = source

    n_rows = asked("source.n_rows")
    n_features = asked("source.n_features")
    n_blocks = asked("source.n_blocks")
    n_bytes = asked("source.n_bytes")
    has_labels = asked("source.has_labels")
    classes = asked("source.classes")
    codes = asked("source.codes")
    y = asked("source.y")
    weight = asked("source.weight")
    skipped = asked("source.skipped")
    rows_read = asked("source.rows_read")
    bytes_read = asked("source.bytes_read")
    span = asked("source.span")
    buffers = asked("source.buffers")
    close = asked("source.close")


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
