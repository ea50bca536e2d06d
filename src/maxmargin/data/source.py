"""What a solver or a certificate may ask of data, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeGuard

from maxmargin._types import Rows, Vector


class Block(NamedTuple):
    """Consecutive rows of a source: rows `start` to `start + len(y) - 1`."""

    X: Rows
    y: Vector
    weight: Vector
    start: int

    @property
    def span(self) -> slice:
        """Where the block's rows stand among all rows."""
        return slice(self.start, self.start + len(self.y))


class Source(Protocol):
    """Rows in blocks of bounded size, to be passed over as often as needed."""

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks together."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""

    @property
    def y(self) -> Vector:
        """Targets of all rows."""

    @property
    def weight(self) -> Vector:
        """Weights of all rows."""

    def block(self, k: int) -> Block:
        """Block k; asking twice gives the same rows."""


def blocks(source: Source) -> Iterator[Block]:
    """One pass over the data, in order."""
    return (source.block(k) for k in range(source.n_blocks))


def is_source(data: Any) -> TypeGuard[Any]:
    """Whether data come in blocks, and not as an array. Their number is not asked for: a file would be read to tell."""
    return hasattr(type(data), "block") and (hasattr(type(data), "n_blocks") or hasattr(data, "n_blocks"))
