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
from maxmargin.solvers.stream_solver import StreamSolver, Training

_SWEEPS = 10  # over a load, at most


@dataclass(frozen=True)
class BlockMinimisation(StreamSolver):
    """Loads of rows, one after the other."""

    name: ClassVar[str] = "block"

    def round(self, training: Training, stop: StopFlag) -> None:
        """Every row in one load."""
        cache = training.cache
        if training.holds_all:
            for known in cache.of_state(State.VISITED):
                known.train_on(known.size)
        else:
            cache.clear()
        segment: Segment | None = None
        for block in training.blocks():
            first = 0
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                free = cache.of_state(State.FREE)
                if segment is None and not free:
                    training.sweeps(_SWEEPS, stop)
                    cache.clear()
                    free = cache.of_state(State.FREE)
                segment = free[0] if segment is None else segment
                segment.state = State.FRESH
                first = cache.fill(segment, block, first)
                if first < len(block.cost):
                    segment = None
        training.sweeps(_SWEEPS, stop)
