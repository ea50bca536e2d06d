"""Block minimisation: the rows that fit in memory are trained on until they are settled, then come the next.

    for every load of rows that fills the memory    sweeps of dual coordinate steps over these rows, the others fixed

Every load improves the dual over the coefficients of its rows, with w that of all rows; so the method converges as
block coordinate ascent does. Reading and training take turns.

Yu, Hsieh, Chang and Lin, KDD 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.solvers.streams.contracts import Worker
from maxmargin.solvers.streams.solver import StreamSolver
from maxmargin.solvers.streams.training import Training
from maxmargin.solvers.streams.turns import Turns


@dataclass(frozen=True)
class BlockMinimisation(StreamSolver):
    """Loads of rows, one after the other."""

    name: ClassVar[str] = "block"

    def worker(self, training: Training) -> Worker:
        """Reads and trains in turns."""
        return _Loads(training)


class _Loads(Turns):
    """Keeps nothing of a load, unless the memory has room for all rows."""

    def begin(self) -> None:
        """Forget the last load of the round before."""
        if not self.training.holds_all:
            self.cache.clear()

    def make_room(self, rng: np.random.Generator) -> None:
        """Empty the cache."""
        self.cache.clear()
