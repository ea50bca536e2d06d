"""The row cache: as many rows of a source as a budget of bytes holds, in segments of equal size.

All memory is allocated once. A segment is filled with rows of the source one after the other, is then trained on as a
whole, and is given back as a whole. Rows that left the training set before are dead weight; so segments with few rows
left are merged into an empty one, which is kept for that. Nothing is ever moved inside a segment, and no
memory is lost between rows but the end of each segment.

    free       nothing in it
    fresh      filled, and not trained on since
    visited    trained on at least once; may be emptied
    busy       somebody works in it

Two threads may use the cache: one fills and empties, one trains. They hold the lock only to change the states above,
never while they work on rows.
"""

from __future__ import annotations

import threading
from enum import Enum
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._loops.stream_rows import CachedRows, count_entries, fill_segment, forget_rows, move_rows
from maxmargin._types import Rows
from maxmargin.errors import ParameterError
from maxmargin.problems.streamed import StreamedRows, rows_of

_MOST_SEGMENTS, _FEW_SEGMENTS, _FEWEST_SEGMENTS = 32, 8, 4
_LEAST_ROWS = 2  # of the longest kind, in a segment
_GOOD_ROWS = 256  # in a segment, where there are more than a few of them
_BESIDE = 4 * 8 + 8  # bytes a row besides its entries: number, target, cost, square; order
_SHORT = 1.25  # room for that many more rows than the average length would give


class State(Enum):
    """What a segment is good for."""

    FREE = 0
    FRESH = 1
    VISITED = 2
    BUSY = 3


class Segment:
    """A stretch of the cache."""

    def __init__(self, cached: CachedRows):
        self.cached = cached
        self.size = self.active = self.load = 0
        """Rows in it, rows still trained on, and the entries (or dense rows) of the latter."""
        self.state = State.FREE
        self.is_clean = False
        """Whether the rows that could leave have left, as far as it is known."""

    @property
    def capacity(self) -> int:
        """Entries, or dense rows, that it holds."""
        return len(self.cached.rows.values)

    def train_on(self, active: int) -> None:
        """Leave all but the first rows of the order out of the training."""
        self.active = active
        dense = isinstance(self.cached.rows, DenseRows)
        self.load = active if dense else int(count_entries(self.cached, active))


class RowCache:
    """Segments within `memory` bytes for rows like those of the first block."""

    def __init__(self, memory: int, first: Rows, n_rows: int):
        X = rows_of(first)
        lengths = np.diff(X.indptr) if sparse.issparse(X) else np.full(X.shape[0], X.shape[1])
        entry = X.dtype.itemsize + (X.indices.dtype.itemsize if sparse.issparse(X) else 0)
        average, longest = float(np.mean(lengths)), int(np.max(lengths))
        beside = _BESIDE + (8 if sparse.issparse(X) else 0)
        needed = _FEWEST_SEGMENTS * _LEAST_ROWS * (longest * entry + beside)
        if memory < needed:
            raise ParameterError(
                f"memory={memory} bytes are too few for rows of {longest} entries; at least {needed} are needed."
            )
        n_segments = int(np.clip(memory // (_GOOD_ROWS * (average * entry + beside)), _FEW_SEGMENTS, _MOST_SEGMENTS))
        n_segments = min(n_segments, memory // (_LEAST_ROWS * (longest * entry + beside)))
        segment = memory // n_segments
        if sparse.issparse(X):
            rows = max(_LEAST_ROWS, int(_SHORT * segment / (average * entry + beside)))
            rows = min(rows, max(_LEAST_ROWS, int(0.5 * segment / beside)), n_rows)
            entries = max(_LEAST_ROWS * longest, (segment - rows * beside - 8) // entry)
        else:
            rows = min(max(_LEAST_ROWS, segment // (longest * entry + beside)), n_rows)
            entries = rows
        self.segments = [Segment(_arrays(X, rows, entries)) for _ in range(n_segments)]
        self.present = np.zeros(n_rows // 8 + 1, dtype=np.uint8)
        self.changed = threading.Condition()

    def of_state(self, *states: State) -> list[Segment]:
        """Segments in one of the states."""
        return [segment for segment in self.segments if segment.state in states]

    @property
    def n_present(self) -> int:
        """Rows that lie in some segment."""
        return sum(segment.size for segment in self.segments)

    def fill(self, segment: Segment, block: StreamedRows, first: int) -> int:
        """Append rows of a block; returns the first row that had no room."""
        rows = loop_rows_like(block.X, self.segments[0].cached.rows)
        i, segment.size = fill_segment(
            rows, block.target, block.cost, block.start, first, segment.cached, segment.size, self.present
        )
        segment.train_on(segment.size)
        if i == first and segment.size == 0 and i < len(block.cost):
            length = int(block.X.indptr[i + 1] - block.X.indptr[i])
            raise ParameterError(
                f"row {block.start + i} has {length} entries, and a segment of the row cache holds "
                f"{segment.capacity}. Give about {1 + length // segment.capacity} times as much memory."
            )
        return int(i)

    def empty(self, segment: Segment) -> None:
        """Forget every row of a segment."""
        forget_rows(segment.cached, 0, segment.size, self.present)
        segment.size = segment.active = segment.load = 0

    def clear(self) -> None:
        """Forget all rows."""
        self.present[:] = 0
        for segment in self.segments:
            segment.size = segment.active = segment.load = 0
            segment.state = State.FREE

    def merge(self, segments: list[Segment], into: Segment) -> list[Segment]:
        """Move the active rows of segments to the empty one `into`; returns those that could be emptied."""
        emptied = []
        for segment in segments:
            before = into.size
            done, into.size = move_rows(segment.cached, 0, segment.active, into.cached, into.size)
            if done < segment.active:  # no room for all: those moved are taken back
                into.size = before
                break
            forget_rows(segment.cached, segment.active, segment.size, self.present)
            segment.size = segment.active = segment.load = 0
            emptied.append(segment)
        into.train_on(into.size)
        return emptied

    def pack(self) -> None:
        """Move all active rows together, so that as many segments as possible are free."""
        into: Segment | None = None
        for segment in self.of_state(State.VISITED, State.FRESH):
            forget_rows(segment.cached, segment.active, segment.size, self.present)
            done = 0
            while done < segment.active:
                if into is None:
                    into = self.of_state(State.FREE)[0]
                    into.size = 0
                    into.state = State.VISITED
                done, into.size = move_rows(segment.cached, done, segment.active, into.cached, into.size)
                into.train_on(into.size)
                if done < segment.active:
                    into = None
            segment.size = segment.active = segment.load = 0
            segment.state = State.FREE


def loop_rows_like(X: Rows, like: DenseRows | CSRRows) -> DenseRows | CSRRows:
    """Rows of a block as the cache has them, so that one compiled loop serves all blocks."""
    X = rows_of(X)
    if isinstance(like, DenseRows):
        return DenseRows(np.ascontiguousarray(X, dtype=like.values.dtype))
    return CSRRows(
        X.data.astype(like.values.dtype, copy=False),
        X.indices.astype(like.columns.dtype, copy=False),
        X.indptr.astype(np.int64, copy=False),
    )


def _arrays(X: Any, rows: int, entries: int) -> CachedRows:
    """The memory of one segment."""
    if sparse.issparse(X):
        table: DenseRows | CSRRows = CSRRows(
            np.empty(entries, X.dtype), np.empty(entries, X.indices.dtype), np.zeros(rows + 1, dtype=np.int64)
        )
    else:
        table = DenseRows(np.empty((entries, X.shape[1]), X.dtype))
    return CachedRows(
        rows=table,
        number=np.empty(rows, dtype=np.int64),
        target=np.empty(rows),
        cost=np.empty(rows),
        square=np.empty(rows),
        order=np.empty(rows, dtype=np.int64),
    )
