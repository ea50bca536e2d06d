"""What every source whose rows lie outside memory can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data.arrays import take_rows
from maxmargin.data.source import Block
from maxmargin.errors import ParameterError

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

    def head(self, n: int = 5) -> tuple[Rows, Labels]:
        """The first n rows and their labels, from as many blocks as hold them."""
        if n < 1:
            raise ParameterError(f"n must be 1 or more, got n={n!r}.")
        rows: list[Rows] = []
        labels: list[Labels] = []
        left = n
        for block in self:
            rows.append(take_rows(block.X, slice(0, left)))
            labels.append(block.y[:left])
            left -= len(labels[-1])
            if left == 0:
                break
        return joined_rows(rows), np.concatenate(labels)

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


def joined_rows(parts: list[Rows]) -> Rows:
    """Rows of several blocks as one matrix."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy import sparse

    return sparse.vstack(parts, format="csr")
