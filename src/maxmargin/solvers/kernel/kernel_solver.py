"""What the solvers of kernel machines share: how they refuse a problem, and when its dual has a maximum."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from maxmargin.problems import KernelProblem, Problem, ProblemKind
from maxmargin.solvers.common.solver import (
    Solver,
    is_quadratic,
    losses_of,
    not_suited,
    takes_another_intercept,
    words_of,
)
from maxmargin.solvers.registry import KERNEL, takers

_MAX_EXAMINED = 4000  # rows up to which the eigenvalues of a kernel matrix are computed


@dataclass(frozen=True)
class KernelSolver(Solver):
    """A solver of the dual of a kernel machine, which is a quadratic program."""

    @abstractmethod
    def takes(self, problem: ProblemKind) -> bool:
        """Whether the solver is for problems of this kind."""

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit: no kernel, the loss, or the intercept; and the solvers that it suits."""
        from maxmargin.solvers.kernel.automatic import KernelAutomatic

        if problem.kernel is None:
            return f"this solver={self.name!r} is for kernel problems, not for: {problem.objective}."
        if not is_quadratic(problem.loss):
            known = ", ".join(sorted(losses_of(KernelAutomatic(), problem)))
            return f"the dual of the {problem.loss.name} loss is no quadratic program; kernel solvers know: {known}."
        what = words_of(problem.loss)
        if takes_another_intercept(self, problem):
            article = "an" if problem.intercept.scale > 0.0 else "a problem with"
            what = f"{article} {problem.intercept.words}"
        return not_suited(self.name, what, takers(KERNEL, problem))

    def checked(self, problem: Problem) -> KernelProblem:
        """The problem, if the solver takes it."""
        self.check(problem)
        assert isinstance(problem, KernelProblem)
        return problem


def is_soft(problem: ProblemKind) -> bool:
    """Whether it is a kernel machine with a finite cost, and its dual a quadratic program."""
    return problem.kernel is not None and problem.loss.curve is not None and is_quadratic(problem.loss)


def is_definite(problem: KernelProblem) -> bool:
    """Whether the kernel matrix has no negative eigenvalue: by the kernel, or else by the matrix where it is small."""
    return problem.is_convex or (problem.n_rows <= _MAX_EXAMINED and problem.is_convex_here())
