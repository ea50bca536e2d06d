"""Reading and training in turns: what is read fills the memory, all that is in it is trained on, and room is made.

    for every block of the round    into the memory, as long as there is room
                                    no room: sweeps of dual coordinate steps over all rows in memory; room is made
    at the end                      sweeps over what is there

What is left in memory when room is made is what the trainers that take turns differ in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.streams.cache import Segment, State
from maxmargin.solvers.streams.training import SWEEPS, Training


class Turns(ABC):
    """The rounds of one training."""

    def __init__(self, training: Training):
        self.training, self.cache = training, training.cache

    @abstractmethod
    def begin(self) -> None:
        """A round begins."""

    @abstractmethod
    def make_room(self, rng: np.random.Generator) -> None:
        """Free segments of the cache, whose rows have been trained on."""

    def round(self, stop: StopFlag) -> None:
        """Every row of the blocks in one load, or kept from one before."""
        training, cache = self.training, self.cache
        rng = training.generator(1)
        self.begin()
        filling: Segment | None = None
        for block in training.blocks():
            first, wanted = 0, cache.wanted(block)
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                if filling is None and not cache.of_state(State.FREE):
                    training.sweeps(SWEEPS, rng, stop)
                    if training.is_over(stop):
                        return
                    self.make_room(rng)
                filling = cache.of_state(State.FREE)[0] if filling is None else filling
                filling.state = State.FRESH
                first = cache.fill(filling, block, first, wanted)
                if first < len(block.cost):
                    filling = None
        training.sweeps(SWEEPS, rng, stop)
