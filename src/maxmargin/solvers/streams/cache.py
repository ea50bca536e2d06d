"""The row cache: as many rows of a source as a budget of bytes holds, in segments of equal size.

All memory is allocated at once. A segment is filled with rows of the source one after the other. Room for other rows is
made by rows that leave:

    first      those that are held at their bounds, the ones with the most slack before the others
    then       segments as a whole, drawn at random, where all that is left is free or wants to move

Segments that have few rows left are poured together.

    free       nothing in it
    fresh      filled, and not trained on since
    visited    trained on at least once; its rows may leave
    busy       somebody works in it, or it is the empty one that is kept to pour others into

Two threads may use the cache: one fills free segments, one trains and makes room. They hold the lock only to change the
states above, never while they work on rows.
"""

from __future__ import annotations

import threading
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._loops.streams import CacheArrays, Room, fill_places, move_rows
from maxmargin._types import Rows
from maxmargin.backends.scratch import give_back_memory
from maxmargin.errors import ParameterError
from maxmargin.problems.shared import SharedBlock, rows_of

_MOST_SEGMENTS, _FEW_SEGMENTS, _FEWEST_SEGMENTS = 32, 8, 5
_LEAST_ROWS = 2  # of the longest kind, in a segment
_GOOD_BYTES = 1 << 20  # of a segment, where there are more than a few of them
_BESIDE = 7 * 8 + 1  # bytes a row besides its entries: number, target, cost, square, slack, two orders; rests
_SAMPLE = 10_000  # rows that tell which slack is much
_FILLED = 0.95  # of the room of segments, what pouring can fill
_SHORT = 1.25  # room for that many more rows than the average length would give

Places: TypeAlias = NDArray[np.int64]
Wanted: TypeAlias = NDArray[np.uint8]


class State(Enum):
    """What a segment is good for."""

    FREE = 0
    FRESH = 1
    VISITED = 2
    BUSY = 3


class Segment:
    """A stretch of the cache."""

    def __init__(self, first: int, room: Room):
        self.first, self.room = first, room
        self.state = State.FREE
        self.places: Places = np.empty(0, dtype=np.int64)
        """Where its rows are."""
        self.load = 0
        """Entries, or dense rows, of its rows."""


class RowCache:
    """Segments within `memory` bytes for rows like those of the first block."""

    def __init__(self, memory: int, first: Rows, n_rows: int):
        X = rows_of(first)
        self.is_sparse = bool(sparse.issparse(X))
        lengths = np.diff(X.indptr) if self.is_sparse else np.full(X.shape[0], X.shape[1])
        entry = X.dtype.itemsize + (X.indices.dtype.itemsize if self.is_sparse else 0)
        average, longest = float(np.mean(lengths)), int(np.max(lengths))
        beside = _BESIDE + (8 if self.is_sparse else 0)
        self.row_bytes = average * entry + beside
        """Of a row, on average."""
        needed = _FEWEST_SEGMENTS * _LEAST_ROWS * (longest * entry + beside)
        if memory < needed:
            raise ParameterError(
                f"memory leaves {memory} bytes to keep rows in, and rows of {longest} entries need {needed} at least. "
                f"Give about {1 + needed // max(1, memory)} times as much memory."
            )
        n_segments = int(np.clip(memory // _GOOD_BYTES, _FEW_SEGMENTS, _MOST_SEGMENTS))
        n_segments = min(n_segments, memory // (_LEAST_ROWS * (longest * entry + beside)))
        segment = memory // n_segments
        if self.is_sparse:
            rows = max(_LEAST_ROWS, int(_SHORT * segment / (average * entry + beside)))
            rows = min(rows, max(_LEAST_ROWS, int(0.5 * segment / beside)), n_rows)
            entries = max(_LEAST_ROWS * longest, (segment - rows * beside - 8) // entry)
        else:
            rows = entries = min(max(_LEAST_ROWS, segment // (longest * entry + beside)), n_rows)
        self.capacity = int(entries)
        """Entries, or dense rows, that a segment holds."""
        pitch = rows + 1 if self.is_sparse else rows  # a sparse row ends where the next one begins
        self._allocate = partial(_arrays, X[:1].copy(), n_segments, pitch, self.capacity)
        self._cached: CacheArrays | None = None
        self.segments = [
            Segment(k * pitch, Room(k * pitch, k * pitch + rows, (k + 1) * self.capacity)) for k in range(n_segments)
        ]
        self.present = np.zeros(n_rows, dtype=np.uint8)
        self.changed = threading.Condition()

    @property
    def cached(self) -> CacheArrays:
        """The arrays; allocated by the first thread that asks, which must be alone."""
        if self._cached is None:
            self._cached = self._allocate()
        return self._cached

    def give_back(self) -> None:
        """Forget all rows, and the memory they lie in until it is asked for again."""
        self.clear()
        self._cached = None
        give_back_memory()

    def of_state(self, *states: State) -> list[Segment]:
        """Segments in one of the states."""
        return [segment for segment in self.segments if segment.state in states]

    @property
    def n_present(self) -> int:
        """Rows that are in the cache."""
        return sum(len(segment.places) for segment in self.segments)

    def places(self, *states: State) -> Places:
        """Places of the rows that do not rest, in segments of the states."""
        found = [segment.places for segment in self.of_state(*states)]
        places = np.concatenate([np.empty(0, dtype=np.int64), *found])
        awake: Places = places[self.cached.rests[places] == 0]
        return awake

    def wake(self) -> None:
        """No row rests any more."""
        self.cached.rests[:] = 0

    def wanted(self, block: SharedBlock) -> Wanted:
        """1 for the rows of a block that count and are not in the cache."""
        wanted: Wanted = ((block.cost > 0.0) & (self.present[block.span] == 0)).astype(np.uint8)
        return wanted

    def fill(self, segment: Segment, block: SharedBlock, first: int, wanted: Wanted) -> int:
        """Append rows of a block; returns the first row that had no room."""
        rows = loop_rows_like(block.X, self.cached.rows)
        i, at = fill_places(
            rows, block.target, block.cost, block.start, first, wanted, self.cached, segment.room, self.present
        )
        self._hold(segment, int(at))
        if i == first and len(segment.places) == 0 and i < len(block.cost):
            length = int(block.X.indptr[i + 1] - block.X.indptr[i])
            raise ParameterError(
                f"row {block.start + i} has {length} entries, and a segment of the row cache holds "
                f"{self.capacity}. Give about {1 + length // self.capacity} times as much memory."
            )
        return int(i)

    def _hold(self, segment: Segment, at: int) -> None:
        """A segment has rows at all its places before `at`."""
        segment.room = segment.room._replace(at=at)
        segment.places = np.arange(segment.first, at)
        segment.load = self._load(segment.places)

    def _load(self, places: Places) -> int:
        if not self.is_sparse:
            return len(places)
        starts = self.cached.rows.starts
        return int(np.sum(starts[places + 1] - starts[places]))

    def empty(self, segment: Segment, state: State = State.FREE) -> None:
        """Forget every row of a segment."""
        self.present[self.cached.number[segment.places]] = 0
        self._hold(segment, segment.first)
        segment.state = state

    def clear(self) -> None:
        """Forget all rows; a segment that somebody keeps stays with him."""
        for segment in self.segments:
            self.empty(segment, State.BUSY if segment.state is State.BUSY else State.FREE)

    def keep_spare(self) -> Segment:
        """Take a free segment, to pour others into."""
        spare = self.of_state(State.FREE)[0]
        spare.state = State.BUSY
        return spare

    def make_room(self, most: int, spare: Segment, rng: np.random.Generator) -> Segment:
        """Rows leave until no more than `most` segments are in the state visited; returns which one is spare then."""
        room = most * self.capacity
        self._leave(_FILLED * room)
        segments = self.of_state(State.VISITED)
        load = sum(segment.load for segment in segments)
        for k in rng.permutation(len(segments)):
            if load <= room:
                break
            load -= segments[k].load
            self.empty(segments[k])
        spare = self._pack(most, spare)
        for segment in self.of_state(State.VISITED)[most:]:  # rows of uneven length may leave holes
            self.empty(segment)
        return spare

    def _leave(self, room: float) -> None:
        """Forget the rows with the most slack, until the others have room; none that has no slack."""
        segments, slack, number = self.of_state(State.VISITED), self.cached.slack, self.cached.number
        load = sum(segment.load for segment in segments)
        if load <= room:
            return
        step = max(1, sum(len(segment.places) for segment in segments) // _SAMPLE)
        sample = np.concatenate([slack[segment.places[::step]] for segment in segments])
        place = int(len(sample) * room / load)
        most = float(np.partition(sample, place)[place])
        for segment in segments:
            stays = slack[segment.places] <= most
            self.present[number[segment.places[~stays]]] = 0
            segment.places = segment.places[stays]
            segment.load = self._load(segment.places)
            if len(segment.places) == 0:
                self.empty(segment)

    def _pack(self, most: int, spare: Segment) -> Segment:
        """Pour the emptiest segments together until `most` hold all rows, or all are full; returns the spare one then.

        A segment has the room of any other, so whenever one is full another has been poured out.
        """
        queue = sorted(self.of_state(State.VISITED), key=lambda one: one.load)
        into, full, empty = spare, 0, list[Segment]()
        while queue and len(queue) + full + (len(into.places) > 0) > most:
            segment = queue.pop(0)
            if not self._pour(segment, into):
                full += 1
                into = empty.pop()
                self._pour(segment, into)
            self._hold(segment, segment.first)
            segment.state = State.BUSY
            empty.append(segment)
        for segment in empty[1:]:
            segment.state = State.FREE
        return empty[0] if empty else spare

    def _pour(self, segment: Segment, into: Segment) -> bool:
        """Move rows to another segment until it is full; whether there was room for all."""
        count, at = move_rows(self.cached, segment.places, into.room)
        segment.places = segment.places[int(count) :]
        self._hold(into, int(at))
        into.state = State.VISITED
        return len(segment.places) == 0


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


def _arrays(X: Any, n_segments: int, pitch: int, capacity: int) -> CacheArrays:
    """The memory of the cache."""
    places = n_segments * pitch
    if sparse.issparse(X):
        starts = np.zeros(places + 1, dtype=np.int64)
        starts[:-1:pitch] = capacity * np.arange(n_segments)
        entries = n_segments * capacity
        table: DenseRows | CSRRows = CSRRows(np.empty(entries, X.dtype), np.empty(entries, X.indices.dtype), starts)
    else:
        table = DenseRows(np.empty((places, X.shape[1]), X.dtype))
    return CacheArrays(
        rows=table,
        number=np.empty(places, dtype=np.int64),
        target=np.empty(places),
        cost=np.empty(places),
        square=np.empty(places),
        slack=np.empty(places),
        rests=np.zeros(places, dtype=np.uint8),
    )
