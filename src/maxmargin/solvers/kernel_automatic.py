"""The choice for kernel machines: working sets, except for a hard margin, which is a problem of nearest points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from maxmargin.losses import HardMargin
from maxmargin.problems import Problem, Solution
from maxmargin.solvers.blocks import Blocks
from maxmargin.solvers.qp import QP
from maxmargin.solvers.solver import Solver


@dataclass(frozen=True)
class KernelAutomatic(Solver):
    """The best solver for a kernel problem.

    memory
        Bytes for kernel rows that are kept; None for the solver's own default.
    """

    memory: int | None = None
    name: ClassVar[str] = "auto"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve with the solver that suits."""
        if isinstance(problem.loss, HardMargin):
            return QP(self.tol, self.max_iter, self.max_seconds).solve(problem, start)
        return Blocks(self.tol, self.max_iter, self.max_seconds, self.memory).solve(problem, start)
