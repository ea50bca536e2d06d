"""Dual cached loops: threads read rows into the cache while another trains on the rows that are there.

    readers    fill free segments and hand them over. They wait where none is free, or where too many wait for the
               trainer. One that is ahead of the trainer uses the time to evaluate the rows first: those that are
               settled at the present w are measured and left out.
    trainer    visits the rows just read together with as many of those it knows, in random order; while it waits for
               the readers, only those it knows. It makes room for the readers in time.

A row whose multiplier is held at its bound by more than the limit has nothing to tell and rests until it is read again.
The limit is the largest slope met in the last sweep over the cache, kept apart from the maximum of the present one.
Room is made by the rows with the most slack; where those left are all free or want to move, by segments at random.
(The lecture shrinks the limit by a tenth with every row while the cache is full, and drops single rows at random.)

The multipliers of all rows are kept, so a row that comes back goes on from where it was. Who is quicker does not
matter: slow readers leave the trainer time for more sweeps over the cache, a slow trainer leaves the readers time to
choose, and in the end holds them up. All run at once because compiled loops and the reading of blocks release the
interpreter's lock. What a reader evaluates while the trainer changes w may be wrong in either way: a row that is left
out for that is read again in the next pass.

Matsushima, Vishwanathan and Smola, KDD 2012 (L2).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._loops.streams import screen_rows
from maxmargin.backends.threads import StopFlag, thread_count
from maxmargin.problems.shared import SharedBlock
from maxmargin.solvers.streams.cache import Places, Segment, State, Wanted, loop_rows_like
from maxmargin.solvers.streams.state import BlocksLeft, end_sweep, new_sums
from maxmargin.solvers.streams.trainers import StreamSolver
from maxmargin.solvers.streams.training import PIECE, SWEEPS, StreamTraining, Worker

_AGAIN = 1  # rows known that are visited with each row just read
_WAIT = 0.05  # seconds between two readings of the stop flag
_AHEAD = 4  # the readers may be ahead of the trainer by this part of the cache
_MOST_READERS = 4  # each has memory for a block


@dataclass(frozen=True)
class CachedLoops(StreamSolver):
    """Readers and a trainer at the same time."""

    name: ClassVar[str] = "cached-loops"
    has_newton: ClassVar[bool] = True

    def worker(self, training: StreamTraining) -> Worker:
        """A trainer, with readers for each round."""
        return _Trainer(training)

    def n_readers(self, n_trainers: int) -> int:
        """The threads that do not train, but one at least."""
        return int(np.clip(thread_count(self.n_jobs) - n_trainers, 1, _MOST_READERS))


class _Reader(threading.Thread):
    """Fills segments with the rows of one pass, alone or with others of its kind."""

    def __init__(self, training: StreamTraining, buffers: Any, left: BlocksLeft, stop: StopFlag):
        super().__init__(name="maxmargin-reader", daemon=True)
        self.training, self.cache, self.left, self.stop = training, training.cache, left, stop
        self.buffers = buffers
        self.measured = new_sums(training.sweep)
        self.scores = np.empty(training.point.n_parts)
        self.is_done = self.is_asked_to_end = False
        self.error: BaseException | None = None

    def run(self) -> None:
        """One pass; whatever goes wrong is told to the trainer's thread."""
        try:
            self._read()
        except BaseException as error:  # raised again by the thread that waits for this one
            self.error = error
        finally:
            with self.cache.changed:
                self.is_done = True
                self.cache.changed.notify_all()

    def end(self) -> None:
        """Wait until the thread is through, which is soon."""
        with self.cache.changed:
            self.is_asked_to_end = True
            self.cache.changed.notify_all()
        self.join()

    def _read(self) -> None:
        segment: Segment | None = None
        while not self._is_over() and (block := self.left.read(self.buffers)) is not None:
            first, wanted = 0, self._wanted(block)
            while first < len(block.cost):
                if segment is None:
                    segment = self._room()
                if segment is None:
                    return
                first = self.cache.fill(segment, block, first, wanted)
                if first < len(block.cost):
                    self._hand_over(segment)
                    segment = None
        if segment is not None:
            self._hand_over(segment)

    def _is_over(self) -> bool:
        return self.is_asked_to_end or self.training.is_over(self.stop)

    def _wanted(self, block: SharedBlock) -> Wanted:
        """The rows to be trained on; settled ones are left out where the trainer has enough to do."""
        training, wanted = self.training, self.cache.wanted(block)
        if training.solver.eviction and self.cache.of_state(State.FRESH):
            rows = loop_rows_like(block.X, self.cache.cached.rows)
            target, cost, start = block.target, block.cost, block.start
            screen_rows(rows, target, cost, start, training.duals, self.measured, self.scores, wanted)
        return wanted

    def _hand_over(self, segment: Segment) -> None:
        with self.cache.changed:
            segment.state = State.FRESH if len(segment.places) else State.FREE
            self.cache.changed.notify_all()

    def _room(self) -> Segment | None:
        """An empty segment; None when the training is over."""
        cache = self.cache
        most_ahead = max(1, len(cache.segments) // _AHEAD)
        with cache.changed:
            while not self._is_over():
                free = cache.of_state(State.FREE)
                if free and len(cache.of_state(State.FRESH)) < most_ahead:
                    free[0].state = State.BUSY
                    return free[0]
                cache.changed.wait(_WAIT)
        return None


class _Trainer:
    """Visits rows until the readers are done and every row was visited."""

    def __init__(self, training: StreamTraining):
        self.training, self.cache = training, training.cache
        self.spare = self.cache.keep_spare()
        n = len(self.cache.segments)
        self.n_readers = max(1, n // _AHEAD - 1)  # at most: each has a segment in hand
        self.most = n - 1 - max(2, n // _AHEAD)  # segments of rows known
        self.at_a_time = max(1, n // 8)  # segments that are emptied together

    def round(self, stop: StopFlag) -> None:
        """One pass of the readers; the trainer ends when it has been through all rows."""
        self.rng = self.training.generator(1)
        self.sweep_left: Places = np.empty(0, dtype=np.int64)
        self.is_settled = False
        left = self.training.blocks_left()
        if self.training.holds_all:
            self.training.sweeps(SWEEPS, self.rng, stop)
            return
        buffers = self.training.buffers[: self.n_readers]
        self.readers = [_Reader(self.training, memory, left, stop) for memory in buffers]
        for reader in self.readers:
            reader.start()
        try:
            self._train(stop)
        finally:
            for reader in self.readers:
                reader.end()
        for reader in self.readers:
            if reader.error is not None:
                raise reader.error
            self.training.take_over(reader.measured)

    def _train(self, stop: StopFlag) -> None:
        """First the rows that the last round has left, none of which may leave unseen; then all, as they come."""
        training, cache = self.training, self.cache
        self._visit(self.rng.permutation(cache.places(State.VISITED)), stop)
        while not training.is_over(stop):
            are_done = all(reader.is_done for reader in self.readers)
            if len(cache.of_state(State.VISITED)) > self.most and not are_done:
                self._make_room()
            fresh = cache.of_state(State.FRESH)[:1]
            if fresh:
                known = self._known(_AGAIN * len(fresh[0].places))
                self._visit(self.rng.permutation(np.concatenate([fresh[0].places, known])), stop)
                self.is_settled = False
                with cache.changed:
                    fresh[0].state = State.VISITED
                    cache.changed.notify_all()
            elif are_done:
                return
            elif len(known := self._known(PIECE)):
                self._visit(known, stop)
            else:
                with cache.changed:
                    cache.changed.wait(_WAIT)
            training.keep()

    def _make_room(self) -> None:
        self.spare = self.cache.make_room(self.most - self.at_a_time, self.spare, self.rng)
        self.sweep_left = self.sweep_left[:0]  # rows have moved
        with self.cache.changed:
            self.cache.changed.notify_all()

    def _visit(self, places: Places, stop: StopFlag) -> None:
        for piece in np.array_split(places, 1 + len(places) // PIECE):
            if not self.training.is_over(stop):
                self.training.visit(piece, stop)

    def _known(self, count: int) -> Places:
        """The next rows of the sweep over those known; none where the last one found nothing to do."""
        if len(self.sweep_left) == 0 and not self.is_settled:
            steepest = float(np.max(self.training.sweep.steepest))
            self.is_settled = 0.0 < steepest <= self.training.settled
            end_sweep(self.training.sweep)
            self.sweep_left = self.rng.permutation(self.cache.places(State.VISITED))
        taken, self.sweep_left = self.sweep_left[:count], self.sweep_left[count:]
        return taken
