"""Block minimisation: the rows that fit in memory are trained on until they are settled, then come the next.

    for every load of rows that fills the memory    sweeps of dual coordinate steps over these rows, the others fixed

Every load improves the dual over the coefficients of its rows, with w that of all rows; so the method converges as
block coordinate ascent does. Reading and training take turns.

Yu, Hsieh, Chang and Lin, KDD 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.stream_cache import Segment, State
from maxmargin.solvers.stream_solver import StreamSolver, Training, Worker

_SWEEPS = 10  # over a load, at most


@dataclass(frozen=True)
class BlockMinimisation(StreamSolver):
    """Loads of rows, one after the other."""

    name: ClassVar[str] = "block"

    def worker(self, training: Training) -> Worker:
        """Reads and trains in turns."""
        return _Turns(training)


@dataclass(frozen=True)
class _Turns:
    """Fills the cache, trains on all that is in it, and empties it."""

    training: Training

    def round(self, stop: StopFlag) -> None:
        """Every row in one load."""
        training, cache = self.training, self.training.cache
        rng = training.generator(1)
        if not training.holds_all:
            cache.clear()
        segment: Segment | None = None
        for block in training.blocks():
            first, wanted = 0, cache.wanted(block)
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                free = cache.of_state(State.FREE)
                if segment is None and not free:
                    training.sweeps(_SWEEPS, rng, stop)
                    cache.clear()
                    free = cache.of_state(State.FREE)
                segment = free[0] if segment is None else segment
                segment.state = State.FRESH
                first = cache.fill(segment, block, first, wanted)
                if first < len(block.cost):
                    segment = None
        training.sweeps(_SWEEPS, rng, stop)
