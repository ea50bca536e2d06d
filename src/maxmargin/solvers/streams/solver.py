"""What the three trainers of data larger than memory share: their settings, and how they are called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from maxmargin.backends.threads import run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.problems import ProblemKind, Status, StreamedProblem
from maxmargin.solvers.common.solver import is_plain
from maxmargin.solvers.streams.contracts import Keeper, StreamedSolution, Worker
from maxmargin.solvers.streams.training import Training


@dataclass(frozen=True)
class StreamSolver(ABC):
    """Settings of a trainer; like every solver it never prints, never warns, and never sees an estimator.

    memory
        Bytes for rows: those kept, the blocks being read, and what is computed in passing.
    random_state
        Seed of the orders of blocks and rows.
    eviction
        Whether settled rows are left out until they are read again.
    n_jobs
        Threads that train, at most one a sub-problem, and that read; at least one of each. None means all cores.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_seconds: float | None = None
    memory: int | None = None
    random_state: int | None = 0
    eviction: bool = True
    n_jobs: int | None = None

    name: ClassVar[str]
    has_newton: ClassVar[bool] = False
    """Whether Newton steps take over where rounds get nowhere."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether rows have one multiplier each that comes to rest: those of squared errors never do."""
        return is_plain(problem) and problem.loss.curve is not None and not isinstance(problem.loss, Squared)

    def solve(self, problem: StreamedProblem, keeper: Keeper | None = None) -> StreamedSolution:
        """Train all sub-problems together, from zero or from the checkpoint of `keeper`."""
        if not self.takes(problem.first):
            raise ParameterError(
                f"stream={self.name!r} trains hinge and epsilon-insensitive losses, their squares and the logistic "
                f"loss, not: {problem.objective}. Load the data as arrays for this one."
            )
        training = Training(self, problem, keeper)
        _, interrupted = run_until_interrupted(training.run)
        return training.solution(Status.INTERRUPTED if interrupted else training.status)

    def n_readers(self, n_trainers: int) -> int:
        """Threads that read, where there are so many that train."""
        return 1

    @abstractmethod
    def worker(self, training: Training) -> Worker:
        """Who does the rounds of one training."""
