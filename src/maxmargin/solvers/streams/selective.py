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

import numpy as np

from maxmargin.solvers.streams.contracts import Worker
from maxmargin.solvers.streams.solver import StreamSolver
from maxmargin.solvers.streams.training import Training
from maxmargin.solvers.streams.turns import Turns


@dataclass(frozen=True)
class SelectiveBlockMinimisation(StreamSolver):
    """Loads of rows, each together with the informative rows of those before."""

    name: ClassVar[str] = "selective-block"

    def worker(self, training: Training) -> Worker:
        """Reads and trains in turns."""
        return _SelectiveLoads(training)


class _SelectiveLoads(Turns):
    """Keeps the rows with the least slack in one half of the memory."""

    def __init__(self, training: Training):
        super().__init__(training)
        self.spare = self.cache.keep_spare()

    def begin(self) -> None:
        """What was kept serves the next round, too."""

    def make_room(self, rng: np.random.Generator) -> None:
        """Free the other half."""
        self.spare = self.cache.make_room(len(self.cache.segments) // 2, self.spare, rng)
