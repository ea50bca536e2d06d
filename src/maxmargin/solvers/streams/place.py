"""The blocks of one pass over a source, shared among the threads that read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.problems import SharedRows
from maxmargin.problems.shared import SharedBlock


@dataclass
class Place:
    """How far a training is: what a checkpoint stores beside the point."""

    round: int = 0
    position: int = 0
    """Blocks of this round that were taken."""
    passes: float = 0.0
    stiffness: tuple[float, ...] = ()
    """Of the smooth problem of each sub-problem, while Newton steps are made in place of rounds."""


class BlocksLeft:
    """The blocks of a round that nobody has taken yet."""

    def __init__(self, shared: SharedRows, numbers: Sequence[int], place: Place):
        self.shared, self.place = shared, place
        self._numbers = iter(numbers)
        self._before, self._began = place.passes, place.position
        self._lock = threading.Lock()

    def read(self, buffers: Any) -> SharedBlock | None:
        """The next block, valid until the next one is read into the same buffers; None when there are no more."""
        with self._lock:
            number = next(self._numbers, None)
            if number is None:
                return None
            self.place.position += 1
            taken = self.place.position - self._began
            self.place.passes = self._before + taken / self.shared.n_blocks
        return self.shared.read(number, buffers)
