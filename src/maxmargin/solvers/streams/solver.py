"""What the three trainers of data larger than memory share: their settings, and how they are called."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from maxmargin.backends.threads import run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution, Status, TaskRows
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.streams.contracts import Keeper, Worker
from maxmargin.solvers.streams.training import Training


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
        training = Training(self, problems[0].source.shared, self.keeper)
        _, interrupted = run_until_interrupted(training.run)
        return training.solutions(Status.INTERRUPTED if interrupted else training.status)

    def n_readers(self, n_trainers: int) -> int:
        """Threads that read, where there are so many that train."""
        return 1

    @abstractmethod
    def worker(self, training: Training) -> Worker:
        """Who does the rounds of one training."""
