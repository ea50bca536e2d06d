"""What a solver promises: it says which problems it takes, and to the others why it does not.

A solver's own file is the only place where this is told. Names of solvers, error messages, tests and the tables of the
documentation ask it, with a `Problem` or with a `Specification` that has no data yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.losses import HardMargin, Loss, MulticlassLoss
from maxmargin.losses.base import kinds_of_losses
from maxmargin.penalties import L2
from maxmargin.problems import History, Intercept, LinearProblem, Problem, ProblemKind, Solution, Status


@dataclass(frozen=True)
class Solver(ABC):
    """Settings of an algorithm. Solvers never print, never warn, and never see an estimator.

    tol bounds the relative duality gap and the KKT violation at which the solver may stop.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_seconds: float | None = None

    name: ClassVar[str]
    suits: ClassVar[str] = "other problems"
    """The problems it takes, in words."""

    @abstractmethod
    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve the problem, from `start` where the algorithm can use one."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the solver is for problems of this kind; what the data forbid is found when they are seen."""
        return True

    def refusal(self, problem: ProblemKind) -> str:
        """What it says to a problem that it does not take."""
        return f"solver={self.name!r} is for {self.suits}, not: {problem.objective}."

    def check(self, problem: ProblemKind) -> None:
        """Refuse a problem that the solver does not take."""
        if not self.takes(problem):
            raise ParameterError(self.refusal(problem))


def is_plain(problem: ProblemKind) -> bool:
    """Whether it is a linear problem with the penalty 1/2 |w|^2."""
    return problem.kernel is None and problem.penalty == L2()


def is_quadratic(loss: Loss) -> bool:
    """Whether the dual of the loss is a quadratic program."""
    return loss.dual_box(np.ones(1)) is not None


def takes_another_intercept(solver: Solver, problem: ProblemKind) -> bool:
    """Whether the solver would take the problem with another kind of intercept."""
    kinds = (Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE)
    return any(solver.takes(_changed(problem, intercept=kind)) for kind in kinds)


def losses_of(solver: Solver, problem: ProblemKind) -> list[str]:
    """Names of the losses of the library with which the solver takes the problem, some intercept given."""
    ours = [kind for kind in kinds_of_losses() if kind.__module__.startswith("maxmargin.")]
    own = [kind for kind in ours if kind.__base__ not in ours]  # a special case has a name of its own, and no more
    return [kind.name for kind in own if takes_another_intercept(solver, _changed(problem, loss=kind()))]


def _changed(problem: ProblemKind, **change: object) -> ProblemKind:
    changed: ProblemKind = replace(problem, **change)  # type: ignore[type-var]  # all of them are dataclasses
    return changed


def not_suited(name: str, problem: str, known: Iterable[str]) -> str:
    """Words for a solver that exists but cannot do the problem, with those that can."""
    names = ", ".join(map(repr, sorted(known)))
    return f"solver={name!r} does not do {problem}; those that do: {names}."


def words_of(loss: Loss) -> str:
    """A loss, as an error names it."""
    return "a hard margin" if isinstance(loss, HardMargin) else f"the {loss.name} loss"


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
