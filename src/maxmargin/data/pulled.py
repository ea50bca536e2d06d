"""What every source whose rows lie outside memory can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.first_rows import FirstRows
from maxmargin.data.source import Block
from maxmargin.errors import DataError, ParameterError

if TYPE_CHECKING:
    from typing import Self

    from maxmargin.data.mapped import MappedSource, Transformer
    from maxmargin.data.split import SplitSource


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
        buffers = self.buffers()
        try:
            for k in range(self.n_blocks):
                yield self.read(k, buffers)
        finally:
            buffers.close()

    def head(self, n: int = 5) -> tuple[Rows, Labels]:
        """The first n rows and their labels, from as many blocks as hold them."""
        if n < 1:
            raise ParameterError(f"n must be 1 or more, got n={n!r}.")
        rows, labels = FirstRows(min(n, self.n_rows), self.n_features), []
        for block in self:
            labels.append(block.y[: rows.missing])
            rows.add(block.X)
            if rows.missing == 0:
                break
        return rows.joined(), np.concatenate(labels)

    def map(self, feature_map: Transformer) -> MappedSource:
        """The same rows with their features expanded while they are read, and never stored.

        `feature_map` is anything with a method `transform(X)`.
        """
        from maxmargin.data.mapped import MappedSource  # it is a pulled source itself

        return MappedSource(self, feature_map)

    def split(self, test: float = 0.2, seed: int = 0) -> tuple[SplitSource, SplitSource]:
        """Two sources, of about 1 - test and test of the rows; a hash of its number decides for each row."""
        from maxmargin.data.split import split_source  # likewise

        return split_source(self, test, seed)
