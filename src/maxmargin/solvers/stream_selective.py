"""Selective block minimisation: half of the memory is for the rows that had most to tell so far.

    for every load of rows that fills one half    sweeps over the load and the rows kept
                                                  keep, of both, the rows with the least slack, as many as fill the half

The slack of a row is how far its multiplier is held at its bound: zero for free ones, and for those that want to move.
Reading and training take turns.

Chang and Roth, KDD 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.stream_cache import Segment, State
from maxmargin.solvers.stream_solver import StreamSolver, Training, Worker

_SWEEPS = 10  # over a load and the rows kept, at most


@dataclass(frozen=True)
class SelectiveBlockMinimisation(StreamSolver):
    """Loads of rows, each together with the informative rows of those before."""

    name: ClassVar[str] = "selective-block"

    def worker(self, training: Training) -> Worker:
        """Reads and trains in turns."""
        return _Turns(training)


class _Turns:
    """Fills the cache, trains on all that is in it, and keeps half."""

    def __init__(self, training: Training):
        self.training, self.cache = training, training.cache
        self.spare = self.cache.keep_spare()

    def round(self, stop: StopFlag) -> None:
        """Every row in one load, or kept from one before."""
        training, cache = self.training, self.cache
        rng = training.generator(1)
        filling: Segment | None = None
        for block in training.blocks():
            first, wanted = 0, cache.wanted(block)
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                free = cache.of_state(State.FREE)
                if filling is None and not free:
                    training.sweeps(_SWEEPS, rng, stop)
                    if training.is_over(stop):
                        return
                    self.spare = cache.make_room(len(cache.segments) // 2, self.spare, rng)
                    free = cache.of_state(State.FREE)
                filling = free[0] if filling is None else filling
                filling.state = State.FRESH
                first = cache.fill(filling, block, first, wanted)
                if first < len(block.cost):
                    filling = None
        training.sweeps(_SWEEPS, rng, stop)
