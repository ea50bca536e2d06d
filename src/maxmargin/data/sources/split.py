"""The rows of a source in two parts, without storing which row is where.

Row i belongs to the test part when hash(seed, i) / 2^64 < test. The hash is two rounds of multiply and shift, so that
neighbouring rows fall independently; it depends on nothing but the seed and i.
"""

from __future__ import annotations

from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.data.arrays import take_rows
from maxmargin.data.source import Block
from maxmargin.data.sources.pulled import DerivedSource, PulledSource, combined
from maxmargin.errors import DataError, ParameterError

_FIRST, _SECOND, _STEP = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_PIECE_ROWS = 1 << 20


def is_test_row(first: int, last: int, test: float, seed: int) -> NDArray[np.bool_]:
    """Whether each of rows first to last - 1 belongs to the test part."""
    mixed = (np.arange(first, last, dtype=np.uint64) + np.uint64(1)) * _STEP
    mixed ^= _hash(np.full(1, seed, dtype=np.uint64))
    uniform = (_hash(mixed) >> _11) * 2.0**-53
    return np.asarray(uniform < test)


def _hash(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (numbers ^ (numbers >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    return np.asarray(mixed ^ (mixed >> _31))


def split_source(source: PulledSource, test: float, seed: int) -> tuple[SplitSource, SplitSource]:
    """The rows outside the test part, and the test part."""
    if isinstance(test, bool) or not isinstance(test, Real) or not 0.0 < float(test) < 1.0:
        raise ParameterError(f"test must be a part of the rows, between 0 and 1, got test={test!r}.")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ParameterError(f"seed must be an integer, 0 or more, got seed={seed!r}.")
    return SplitSource(source, float(test), int(seed), False), SplitSource(source, float(test), int(seed), True)


class SplitSource(DerivedSource):
    """One part of the rows of a source, in their order; blocks of which it has no row are left out."""

    def __init__(self, source: PulledSource, test: float, seed: int, is_test: bool):
        super().__init__(source)
        self._test = test
        self._seed = seed
        self._is_test = is_test

    def __repr__(self) -> str:
        return f"{self.source!r}.split(test={self._test:g}, seed={self._seed})[{int(self._is_test)}]"

    def _chosen(self, first: int, last: int) -> NDArray[np.bool_]:
        return np.asarray(is_test_row(first, last, self._test, self._seed) == self._is_test)

    @cached_property
    def _blocks(self) -> tuple[RowIndex, RowIndex]:
        """Blocks of the source underneath that have rows of this part, and how many such rows lie before each."""
        counts = np.zeros(self.source.n_blocks, dtype=np.int64)
        for k in range(self.source.n_blocks):
            first, last = self.source.span(k)
            for begin in range(first, last, _PIECE_ROWS):
                counts[k] += np.count_nonzero(self._chosen(begin, min(begin + _PIECE_ROWS, last)))
        used = np.flatnonzero(counts)
        if len(used) == 0:
            raise DataError(f"{self!r} has no rows: there are only {self.source.n_rows} to split.")
        return used, np.concatenate([[0], np.cumsum(counts[used])])

    @property
    def n_rows(self) -> int:
        """Number of rows in this part."""
        return int(self._blocks[1][-1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks with rows of this part."""
        return len(self._blocks[0])

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it, among the rows of this part."""
        return int(self._blocks[1][k]), int(self._blocks[1][k + 1])

    def block(self, k: int) -> Block:
        """Rows of this part from one block of the source underneath."""
        return self._part(k, self.source.block(int(self._blocks[0][k])))

    def read(self, k: int, buffers: Any) -> Block:
        """As `block`, read into `buffers` first."""
        return self._part(k, self.source.read(int(self._blocks[0][k]), buffers))

    def _part(self, k: int, block: Block) -> Block:
        rows = np.flatnonzero(self._chosen(*self.source.span(int(self._blocks[0][k]))))
        return Block(take_rows(block.X, rows), block.y[rows], block.weight[rows], self.span(k)[0])

    def _of_all(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values that belong to rows of this part."""
        pieces = range(0, len(values), _PIECE_ROWS)
        spans = [(first, min(first + _PIECE_ROWS, len(values))) for first in pieces]
        return np.concatenate([values[first:last][self._chosen(first, last)] for first, last in spans])

    @cached_property
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row of this part, among the classes of all rows."""
        return self._of_all(self.source.codes)

    @property
    def y(self) -> Labels:
        """Labels of the rows of this part."""
        return self._of_all(self.source.y)

    @property
    def weight(self) -> Vector:
        """Weights of the rows of this part."""
        return self._of_all(self.source.weight)

    def fingerprint(self) -> str:
        """That of all rows, and how they are split."""
        return combined(self.source.fingerprint(), self._test, self._seed, self._is_test)
