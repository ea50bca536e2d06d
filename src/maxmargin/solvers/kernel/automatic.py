"""The choice for kernel machines: working sets, with two exceptions.

hard margin                                        qp: a problem of nearest points
linear kernel, many rows and fewer features        as a linear machine (`flat`); working sets where that fails
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from maxmargin.losses import HardMargin
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.solver import is_quadratic
from maxmargin.solvers.kernel.blocks import Blocks
from maxmargin.solvers.kernel.flat import is_flat, solve_flat
from maxmargin.solvers.kernel.kernel_solver import KernelSolver
from maxmargin.solvers.reference.qp import QP

_MANY_ROWS = 1024  # a smaller matrix is there as a whole, and pair steps on it are quick


@dataclass(frozen=True)
class KernelAutomatic(KernelSolver):
    """The best solver for a kernel problem.

    memory
        Bytes for kernel rows that are kept; None for the solver's own default.
    """

    memory: int | None = None
    name: ClassVar[str] = "auto"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual is a quadratic program."""
        return problem.kernel is not None and is_quadratic(problem.loss)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve with the solver that suits."""
        if isinstance(problem.loss, HardMargin):
            return QP(self.tol, self.max_iter, self.max_seconds).solve(problem, start)
        blocks = Blocks(self.tol, self.max_iter, self.max_seconds, self.memory)
        counted = self.max_iter is not None  # as pair steps, which a linear machine does not make
        if counted or not (isinstance(problem, KernelProblem) and problem.n_rows > _MANY_ROWS and is_flat(problem)):
            return blocks.solve(problem, start)
        found = solve_flat(problem, self)
        if found.status is not Status.STALLED:
            return found
        left = None if self.max_seconds is None else max(self.max_seconds - found.seconds, 1e-3)
        return replace(blocks, max_seconds=left).solve(problem, found)
