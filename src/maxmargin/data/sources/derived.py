"""Sources made of another one: its rows with features that a map makes of them, or its rows in two parts.

Features are expanded while they are read, and which row is in which part is not stored: row i belongs to the test part
when hash(seed, i) / 2^64 < test. The hash is two rounds of multiply and shift, so that neighbouring rows fall
independently; it depends on nothing but the seed and i.
"""

from __future__ import annotations

import hashlib
import itertools
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.data.arrays import as_rows, count_rows, first_not_finite, take_rows
from maxmargin.data.source import Block
from maxmargin.data.sources.pulled import PulledSource, asked, combined
from maxmargin.errors import DataError, ParameterError

_TRACED_ROWS = 16
_SMALL_BYTES = 4 << 20  # of a block, below which there is nothing to be gained by parts
_FIRST, _SECOND, _STEP = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_PIECE_ROWS = 1 << 20


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


class HasTransform(Protocol):
    """A feature map, of whatever kind."""

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X."""


_Part: TypeAlias = tuple[int, int, int]
"""The number of a block of the source underneath, and of its first row, and of the first behind its last."""


class MappedBuffers:
    """Memory for a block of the source underneath, with the one that was read last; for one thread at a time."""

    def __init__(self, below: Any, expanded: int):
        self.below = below
        self.number: int | None = None
        self.block: Block | None = None
        self.n_bytes = int(below.n_bytes) + expanded

    def close(self) -> None:
        """Close the files."""
        self.below.close()


class MappedSource(DerivedSource):
    """The rows of `source` as `feature_map` makes them; each block is expanded when it is read."""

    def __init__(self, source: PulledSource, feature_map: HasTransform):
        if not callable(getattr(feature_map, "transform", None)):
            raise ParameterError(f"feature_map must have a method transform(X), got {type(feature_map).__name__}.")
        super().__init__(source)
        self.feature_map = feature_map

    def __repr__(self) -> str:
        return f"{self.source!r}.map({self.feature_map!r})"

    @cached_property
    def _parts(self) -> list[_Part]:
        """The blocks: those of the source underneath, in parts that expanded are no larger than a whole one was."""
        given = _n_bytes(self.source.block(0).X[:_TRACED_ROWS])
        made, n_rows = _n_bytes(self._trace), count_rows(self._trace)
        parts: list[_Part] = []
        for number in range(self.source.n_blocks):
            first, last = self.source.span(number)
            most = max(_SMALL_BYTES, (last - first) * given // n_rows)
            n_parts = min(last - first, -(-(last - first) * made // (n_rows * most)))
            edges = np.linspace(0, last - first, max(1, n_parts) + 1).astype(int).tolist()
            parts += [(number, begin, end) for begin, end in itertools.pairwise(edges)]
        return parts

    @property
    def n_bytes(self) -> int:
        """About how many bytes all rows would take in memory when they are expanded."""
        return int(self.n_rows) * _n_bytes(self._trace) // count_rows(self._trace)

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return len(self._parts)

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        number, first, last = self._parts[k]
        begin = self.source.span(number)[0]
        return begin + first, begin + last

    def shuffled(self, rng: np.random.Generator) -> RowIndex:
        """All blocks in random order, the parts of one block underneath next to each other, so that it is read once."""
        underneath = np.array([number for number, _, _ in self._parts])
        order: RowIndex = np.lexsort((rng.random(self.n_blocks), rng.permutation(self.source.n_blocks)[underneath]))
        return order

    def block(self, k: int) -> Block:
        """Block k, expanded."""
        return self._expanded(self._parts[k], self.source.block(self._parts[k][0]))

    def buffers(self) -> MappedBuffers:
        """Memory for a block of the source underneath."""
        most = max(last - first for _, first, last in self._parts)
        return MappedBuffers(self.source.buffers(), most * _n_bytes(self._trace) // count_rows(self._trace))

    def read(self, k: int, buffers: MappedBuffers) -> Block:
        """Block k, expanded; valid until the next read into the same buffers."""
        number, *_ = part = self._parts[k]
        if buffers.number != number or buffers.block is None:
            buffers.number = None  # for whoever goes on after an error
            buffers.block = self.source.read(number, buffers.below)
            buffers.number = number
        return self._expanded(part, buffers.block)

    def _expanded(self, part: _Part, block: Block) -> Block:
        _, first, last = part
        rows, start = slice(first, last), block.start + first
        return Block(self._features(block.X[rows], start), block.y[rows], block.weight[rows], start)

    def _features(self, rows: Rows, start: int) -> Rows:
        """Features of rows, the first of which has the number `start` in the source."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
                X = as_rows(self.feature_map.transform(rows))
        except DataError as error:
            raise type(error)(f"{error} (Rows are counted from row {start:,} of the source.)") from error
        if X.ndim != 2 or count_rows(X) != count_rows(rows):
            raise DataError(f"the feature map must make one row of each, got shape {X.shape} from {rows.shape}.")
        if not getattr(self.feature_map, "takes_letters", False):  # which are counted
            _check_finite(X, start)
        return X

    @cached_property
    def _trace(self) -> Rows:
        """Features of the first rows: their number is known from them, and one map from another."""
        return self._features(self.source.block(0).X[:_TRACED_ROWS], 0)

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are CSR matrices, as the first rows are."""
        return bool(sparse.issparse(self._trace))

    @property
    def n_features(self) -> int:
        """Number of columns, as the first rows have them."""
        return int(self._trace.shape[1])

    def fingerprint(self) -> str:
        """That of the rows, and of what the map makes of the first of them."""
        digest = hashlib.sha256()
        for array in _arrays(self._trace):
            digest.update(np.ascontiguousarray(array).data)
        return combined(self.source.fingerprint(), self.n_features, digest.hexdigest())


def _check_finite(X: Rows, start: int) -> None:
    """Refuse features that are no numbers: values that were read are finite, but what is made of them need not be."""
    bad = first_not_finite(X) if X.dtype.kind == "f" else None
    if bad is not None:
        raise DataError(
            f"the feature map makes {bad.value} of row {start + bad.row:,} of the source, in column {bad.column} of "
            "the features; rows and columns count from 0. Divide the columns by their size before they are mapped, or "
            "choose another map."
        )


def _arrays(X: Rows) -> list[NDArray[Any]]:
    """The arrays that rows consist of."""
    return [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]


def _n_bytes(X: Rows) -> int:
    return sum(int(array.nbytes) for array in _arrays(X))


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
