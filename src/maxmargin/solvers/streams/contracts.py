"""What a training from a source works with, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.certificates import Assessment
from maxmargin.problems import History, Status
from maxmargin.solvers.streams.place import Place
from maxmargin.solvers.streams.point import StreamedPoint


class Keeper(Protocol):
    """Keeps checkpoints."""

    def restore(self, point: StreamedPoint, place: Place) -> bool:
        """Put point and place where a checkpoint has them; whether there is one."""

    def keep(self, point: StreamedPoint, place: Place, *, now: bool = False) -> None:
        """Save, if it is time to."""


@dataclass(frozen=True)
class StreamedSolution:
    """The point reached by a trainer, with what is exactly known of it."""

    beta: Matrix
    weights: Matrix
    intercepts: Vector
    assessments: list[Assessment]
    status: Status
    histories: list[History]
    solver: str
    passes: float
    seconds: float


class Worker(Protocol):
    """Does the rounds of one training."""

    def round(self, stop: StopFlag) -> None:
        """One pass over the blocks that `training.blocks()` gives, with all training that goes with it."""
