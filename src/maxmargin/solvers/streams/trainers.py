"""Trainers of linear machines on data larger than memory: their settings, and the two that read and train in turns.

    for every block of the round    into the memory, as long as there is room
                                    no room: sweeps of dual coordinate steps over all rows in memory; room is made
    at the end                      sweeps over what is there

Block minimisation empties the memory, unless it has room for all rows. Every load improves the dual over the
coefficients of its rows, the others fixed, with w that of all rows; so the method converges as block coordinate ascent
does. Selective block minimisation keeps, in one half of the memory, the rows with the least slack. The slack of a row
is how far its multiplier is held at its bound: zero for free ones, and for those that want to move.

The third trainer, which reads while it trains, is in `cached_loops`.

Yu, Hsieh, Chang and Lin, KDD 2010; selective: Chang and Roth, KDD 2011.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution, Status, TaskRows
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.streams.cache import Segment, State
from maxmargin.solvers.streams.state import Keeper
from maxmargin.solvers.streams.training import SWEEPS, StreamTraining, Worker


@dataclass(frozen=True)
class StreamSolver(Solver):
    """Settings of a trainer.

    memory
        Bytes for rows: those kept, the blocks being read, and what is computed in passing.
    random_state
        Seed of the orders of blocks and rows.
    eviction
        Whether settled rows are left out until they are read again.
    n_jobs
        Threads that train, at most one a sub-problem, and that read; at least one of each. None means all cores.
    keeper
        Who keeps checkpoints, from which a training goes on.
    """

    memory: int | None = None
    random_state: int | None = 0
    eviction: bool = True
    n_jobs: int | None = None
    keeper: Keeper | None = field(default=None, repr=False, compare=False)

    has_newton: ClassVar[bool] = False
    """Whether Newton steps take over where rounds get nowhere."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether rows have one multiplier each that comes to rest: those of squared errors never do."""
        return is_plain(problem) and problem.loss.curve is not None and not isinstance(problem.loss, Squared)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Train from zero, or from the checkpoint of `keeper`."""
        assert isinstance(problem, LinearProblem)
        return self.solve_together([problem])[0]

    def solve_together(self, problems: Sequence[LinearProblem]) -> list[Solution]:
        """Train problems that share their rows in the same passes, likewise."""
        if not self.takes(problems[0]):
            raise ParameterError(
                f"stream={self.name!r} trains hinge and epsilon-insensitive losses, their squares and the logistic "
                f"loss, not: {problems[0].objective}. Load the data as arrays for this one."
            )
        assert isinstance(problems[0].source, TaskRows)
        training = StreamTraining(self, problems[0].source.shared, self.keeper)
        _, interrupted = run_until_interrupted(training.run)
        return training.solutions(Status.INTERRUPTED if interrupted else training.status)

    def n_readers(self, n_trainers: int) -> int:
        """Threads that read, where there are so many that train."""
        return 1

    @abstractmethod
    def worker(self, training: StreamTraining) -> Worker:
        """Who does the rounds of one training."""


@dataclass(frozen=True)
class BlockMinimisation(StreamSolver):
    """Loads of rows, one after the other: those that fit in memory are trained on until they are settled."""

    name: ClassVar[str] = "block"

    def worker(self, training: StreamTraining) -> Worker:
        """Keeps nothing of a load."""
        return _LoadsInTurn(training, selective=False)


@dataclass(frozen=True)
class SelectiveBlockMinimisation(StreamSolver):
    """Loads of rows, each together with the informative rows of those before."""

    name: ClassVar[str] = "selective-block"

    def worker(self, training: StreamTraining) -> Worker:
        """Keeps the rows with the least slack in one half of the memory."""
        return _LoadsInTurn(training, selective=True)


class _LoadsInTurn:
    """Reads and trains in turns."""

    def __init__(self, training: StreamTraining, *, selective: bool):
        self.training, self.cache = training, training.cache
        self.spare = self.cache.keep_spare() if selective else None

    def round(self, stop: StopFlag) -> None:
        """Every row of the blocks in one load, or kept from one before."""
        training, cache = self.training, self.cache
        rng = training.generator(1)
        if self.spare is None and not training.holds_all:
            cache.clear()
        filling: Segment | None = None
        blocks = training.blocks_left()
        while (block := blocks.read(training.buffers[0])) is not None:
            first, wanted = 0, cache.wanted(block)
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                if filling is None:
                    if not cache.of_state(State.FREE):
                        training.sweeps(SWEEPS, rng, stop)
                        if training.is_over(stop):
                            return
                        self._make_room(rng)
                    filling = cache.of_state(State.FREE)[0]
                    filling.state = State.FRESH
                first = cache.fill(filling, block, first, wanted)
                if first < len(block.cost):
                    filling = None
        training.sweeps(SWEEPS, rng, stop)

    def _make_room(self, rng: np.random.Generator) -> None:
        if self.spare is None:
            self.cache.clear()
        else:
            self.spare = self.cache.make_room(len(self.cache.segments) // 2, self.spare, rng)
