"""What a training from a source works with."""

from __future__ import annotations

from typing import Protocol

from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.streams.place import Place
from maxmargin.solvers.streams.point import StreamedPoint


class Keeper(Protocol):
    """Keeps checkpoints."""

    def restore(self, point: StreamedPoint, place: Place) -> bool:
        """Put point and place where a checkpoint has them; whether there is one."""

    def keep(self, point: StreamedPoint, place: Place, *, now: bool = False) -> None:
        """Save, if it is time to."""


class Worker(Protocol):
    """Does the rounds of one training."""

    def round(self, stop: StopFlag) -> None:
        """One pass over the blocks that `training.blocks()` gives, with all training that goes with it."""
