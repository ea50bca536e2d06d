"""What every solver is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.losses import HardMargin, MulticlassLoss
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status


@dataclass(frozen=True)
class Solver(ABC):
    """Settings of an algorithm. Solvers never print, never warn, and never see an estimator.

    tol bounds the relative duality gap and the KKT violation at which the solver may stop.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_seconds: float | None = None

    name: ClassVar[str]

    @abstractmethod
    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve the problem, from `start` where the algorithm can use one."""


def untrained(problem: Problem, solver: str, status: Status) -> Solution:
    """The point alpha = 0, w = 0, feasible for every problem: what a fit has that was stopped before it began."""
    shape: tuple[int, ...] = (problem.n_rows,)
    if isinstance(problem.loss, MulticlassLoss):
        shape = (problem.n_rows, problem.loss.count_classes(problem.targets))
    alpha = np.zeros(shape)
    return Solution(
        alpha=alpha,
        weights=problem.weights_from(alpha) if isinstance(problem, LinearProblem) else None,
        bias=0.0 if isinstance(problem.loss, HardMargin) else None,
        status=status,
        history=History(),
        solver=solver,
        passes=0.0,
        seconds=0.0,
    )
