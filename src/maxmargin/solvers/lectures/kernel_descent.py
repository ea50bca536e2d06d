"""Dual coordinate ascent with a kernel (L0): one multiplier at a time, O(n) a step.

    maximise over alpha   D(alpha) = -1/2 sum_ij beta_i beta_j (k(x_i, x_j) + s^2) + sum_i (linear_i + o_i) alpha_i
                                     - sum_i absolute_i |alpha_i| - 1/2 sum_i diagonal_i alpha_i^2
    subject to            lower_i <= alpha_i <= upper_i

(the letters are those of `DualBox`; o_i = y_i for residual losses, else 0). For the hinge that is L0's

    alpha_i <- clip(alpha_i + (1 - y_i sum_j alpha_j y_j k(x_i, x_j)) / k(x_i, x_i), 0, C_i)

The intercept is the lecture's: k + 1 in place of k (s = 1), which penalises it, or none (s = 0). A free one brings the
sum constraint sum_i beta_i = 0, under which no multiplier can move alone.

The sum is not formed at each step: the scores f = K beta are kept, and a step adds its change of beta_i times row i of
the kernel matrix. L0 adds the unclipped step to w; what counts is the change after clipping. The rows are taken in
random order, all of them in every pass. Each step takes its multiplier to the best value, so the dual never falls.

`_loops.lectures.kernel_descent` has the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.lectures.kernel_descent import DualTerms, descent_pass
from maxmargin.backends.threads import StopFlag
from maxmargin.losses import DualBox
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution
from maxmargin.solvers.kernel.dual_variables import box_with_maximum
from maxmargin.solvers.kernel.kernel_solver import KernelSolver, is_soft
from maxmargin.solvers.lectures.kernel_ascent import MATRIX_BYTES, KernelAscent, KernelPoint, own_terms
from maxmargin.solvers.lectures.visited import generator


@dataclass(frozen=True)
class KernelDescent(KernelSolver):
    """Coordinate ascent on the dual of a kernel machine with a penalised intercept or none.

    random_state
        Seed of the orders; None for other orders each time.
    matrix_bytes
        A kernel matrix up to this size is kept whole; the rows of a larger one are computed anew in every pass.

    max_iter is a number of passes; 10,000 when None.
    """

    random_state: int | None = 0
    matrix_bytes: int = MATRIX_BYTES
    name: ClassVar[str] = "dcd"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether multipliers can move one at a time."""
        return is_soft(problem) and problem.nu is None and not problem.intercept.is_free

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit."""
        if problem.kernel is None or not problem.intercept.is_free:
            return super().refusal(problem)
        return (
            "solver='dcd' moves one multiplier at a time, which a free intercept forbids: it asks for "
            "sum_i alpha_i y_i = 0. Use intercept='augmented', which is the kernel k + 1, or solver='smo'."
        )

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Ascend from the multipliers of `start`, clipped to their bounds, or from zero."""
        problem = self.checked(problem)
        box = box_with_maximum(self.name, problem)
        return CoordinateAscent(self, problem, box, start).climb()


class CoordinateAscent(KernelAscent):
    """Coordinate ascent at work."""

    def __init__(self, solver: KernelDescent, problem: KernelProblem, box: DualBox, start: Solution | None):
        super().__init__(solver, problem, box, start, solver.matrix_bytes)
        self.rng = generator(solver.random_state)
        self.constant = problem.intercept.scale**2
        self.terms = DualTerms(
            signs=self.signs,
            targets=box.linear + own_terms(problem),
            lower=box.lower,
            upper=box.upper,
            absolute=box.absolute,
            diagonal=box.diagonal,
            curvature=self.rows.diagonal + self.constant + box.diagonal,
        )
        self.order = self.rng.permutation(self.n)
        self.total = 0.0

    def visit(self, rows: slice, stop: StopFlag) -> int:
        """Steps on the rows of a piece of the order."""
        if rows.start == 0:
            self.order = self.rng.permutation(self.n)
        order = self.order[rows]
        K, places = self.rows.tile(order)
        moved, self.total = descent_pass(
            K, places, order, self.terms, self.constant, self.total, self.alpha, self.scores, stop
        )
        return moved

    def end_pass(self) -> bool:
        """A pass in which nothing moved is the last, or else the scores are off."""
        return self.quiet_passes > 0

    def settle(self, at: KernelPoint) -> None:
        """Take the sum of beta afresh; the scores are."""
        self.total = float(np.sum(self.signs * at.alpha))

    def is_stuck(self) -> bool:
        """Whether nothing moved even with fresh scores."""
        return self.quiet_passes > 1
