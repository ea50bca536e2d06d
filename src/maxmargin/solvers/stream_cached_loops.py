"""Dual cached loops: one thread reads rows into the cache while another trains on the rows that are there.

    reader     fills a segment, hands it over, and takes the next free one. When none is free it merges segments that
               have few rows left. Where that is not enough it asks the trainer to go through those that it has not
               cleaned lately, and as the last resort drops one at random.
    trainer    goes through the segments: those just filled, and in between those it knows. A row whose multiplier is
               held at its bound by more than the limit has nothing to tell and leaves the training set until it is read
               again. The limit is the largest slope met in the last sweep over the cache, kept apart from the maximum
               of the present one. To clean a segment for the reader the limit is zero, so that only rows stay whose
               multipliers are free or want to move. (The lecture shrinks it by a tenth with every row while the
               cache is full.)

The multipliers of all rows are kept, so a row that comes back goes on from where it was. Who is quicker does not
matter: a slow reader leaves the trainer time for more sweeps over the cache, a slow trainer holds the reader up.
Both run at once because compiled loops and the reading of blocks release the interpreter's lock.

The lecture drops single rows at random; here a dropped segment is some consecutive rows of a randomly chosen block.

Matsushima, Vishwanathan and Smola, KDD 2012 (L2).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.stream_cache import Segment, State
from maxmargin.solvers.stream_point import end_sweep
from maxmargin.solvers.stream_solver import StreamSolver, Training

_AGAIN = 4.0  # rows known that are visited for each row just read, where both are there
_CALL = 64  # rows that are visited in the time that it takes to begin with a segment
_WAIT = 0.05  # seconds between looks at the stop flag


@dataclass(frozen=True)
class CachedLoops(StreamSolver):
    """A reader and a trainer at the same time."""

    name: ClassVar[str] = "cached-loops"

    def round(self, training: Training, stop: StopFlag) -> None:
        """One pass of the reader; the trainer ends when it has been through all rows."""
        for segment in training.cache.of_state(State.VISITED, State.FRESH):
            segment.train_on(segment.size)  # what left the training set and is still there need not be read again
            segment.state = State.FRESH
        reader = _Reader(training, stop)
        reader.start()
        try:
            _Trainer(training, reader, stop).train()
        finally:
            reader.end()
        if reader.error is not None:
            raise reader.error


class _Reader(threading.Thread):
    """Fills segments with the rows of one pass."""

    def __init__(self, training: Training, stop: StopFlag):
        super().__init__(name="maxmargin-reader", daemon=True)
        self.training, self.cache, self.stop = training, training.cache, stop
        self.rng = np.random.default_rng([training.place.round, int(training.point.random[0])])
        self.is_done = self.is_asked_to_end = False
        self.wants_room = False
        self.n_filled = 0
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
        for block in self.training.blocks():
            first = 0
            while first < len(block.cost):
                if segment is None:
                    segment = self._room()
                if segment is None or self._is_over():
                    return
                first = self.cache.fill(segment, block, first)
                if first < len(block.cost):
                    self._hand_over(segment)
                    segment = None
        if segment is not None:
            self._hand_over(segment)

    def _is_over(self) -> bool:
        return self.is_asked_to_end or self.training.is_over(self.stop)

    def _hand_over(self, segment: Segment) -> None:
        with self.cache.changed:
            segment.state = State.FRESH if segment.size else State.FREE
            segment.is_clean = False
            self.n_filled += 1
            if self.n_filled % len(self.cache.segments) == 0:  # the weights have moved on
                for one in self.cache.segments:
                    one.is_clean = False
            self.cache.changed.notify_all()

    def _room(self) -> Segment | None:
        """An empty segment, if need be after others were emptied; None when the training is over."""
        cache = self.cache
        with cache.changed:
            while not self._is_over():
                free = cache.of_state(State.FREE)
                if len(free) >= 2:  # one stays free, to merge others into
                    free[0].state = State.BUSY
                    self.wants_room = False
                    return free[0]
                if self._merge(free) or self._drop():
                    continue
                self.wants_room = True
                cache.changed.notify_all()
                cache.changed.wait(_WAIT)
        return None

    def _merge(self, free: list[Segment]) -> bool:
        """Move the rows of segments that fit into one; False where no two of them do."""
        chosen, load, rows = [], 0, 0
        for segment in sorted(self.cache.of_state(State.VISITED), key=lambda one: one.load) if free else ():
            load, rows = load + segment.load, rows + segment.active
            if load > segment.capacity or rows > len(segment.cached.number):
                break
            chosen.append(segment)
        if len(chosen) < 2:
            return False
        free[0].is_clean = all(segment.is_clean for segment in chosen)
        self.cache.merge(chosen, free[0])
        free[0].state = State.VISITED
        for segment in chosen:
            segment.state = State.FREE
        return True

    def _drop(self) -> bool:
        """Empty a segment at random; False where the trainer has still to go through or to clean some."""
        known = self.cache.of_state(State.VISITED)
        dirty = self.cache.of_state(State.FRESH) + [one for one in known if not one.is_clean]
        if not known or (self.training.solver.eviction and dirty):
            return False
        segment = known[int(self.rng.integers(len(known)))]
        self.cache.empty(segment)
        segment.state = State.FREE
        return True


class _Trainer:
    """Goes through segments until the reader is done and every row was visited."""

    def __init__(self, training: Training, reader: _Reader, stop: StopFlag):
        self.training, self.cache, self.reader, self.stop = training, training.cache, reader, stop
        self.credit = 0.0  # rows known that may still be visited before one just read
        self.visited = 0  # rows since the sweep began
        self.is_settled = False  # whether the last sweep over what is known found nothing to do
        self.turn: list[Segment] = []
        self.rng = np.random.default_rng([1, training.place.round, int(training.point.random[0])])

    def train(self) -> None:
        """Steps on one segment after the other."""
        training, sweep = self.training, self.training.sweep
        while not training.is_over(self.stop):
            with self.cache.changed:
                segment = self._next()
                if segment is None and self.reader.is_done:
                    break
                if segment is None:
                    self.cache.changed.wait(_WAIT)
                    continue
                segment.state = State.BUSY
            self.visited += segment.active
            limit = sweep.limit.copy()
            if segment.is_clean:
                sweep.limit[:] = 0.0
            training.visit(segment, self.stop)
            sweep.limit[:] = limit
            with self.cache.changed:
                segment.state = State.VISITED
                self.cache.changed.notify_all()
            if self.visited >= sum(one.active for one in self.cache.segments):
                self.is_settled = bool(np.max(sweep.steepest) <= 0.1 * training.solver.tol)
                end_sweep(sweep)
                self.visited = 0
            training.keep()

    def _next(self) -> Segment | None:
        """One that may give room, one just filled, or, as long as there is credit or nothing else to do, one known."""
        fresh = self.cache.of_state(State.FRESH)
        if self.reader.wants_room and self.training.solver.eviction:
            dirty = [segment for segment in self.cache.of_state(State.VISITED) if not segment.is_clean]
            if dirty:
                dirty[0].is_clean = True
                return dirty[0]
        known = [segment for segment in self.turn if segment.state is State.VISITED and segment.active]
        if not known:
            self.turn = [one for one in self.cache.of_state(State.VISITED) if one.active]
            self.rng.shuffle(self.turn)
            known = list(self.turn)
        if fresh and (self.credit <= 0.0 or not known):
            self.credit = _AGAIN * fresh[0].active
            self.is_settled = False
            return fresh[0]
        is_waiting_for_reader = not fresh and not self.reader.is_done
        if known and (self.credit > 0.0 or (is_waiting_for_reader and not self.is_settled)):
            segment = known[0]
            self.turn.remove(segment)
            self.credit -= segment.active + _CALL
            return segment
        return None
