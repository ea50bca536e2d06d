"""Two listings of the lectures that ascend in passes over the multipliers of a kernel machine.

`_loops.lectures.dual_steps` has their steps, `kernel_ascent` what they share.

Dual coordinate ascent (L0): one multiplier at a time, O(n) a step
------------------------------------------------------------------

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

Simplified sequential minimal optimisation, as L4 prints it
-----------------------------------------------------------

    maximise over alpha   D(alpha) = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j k(x_i, x_j)
    subject to            0 <= alpha_i <= C_i,   sum_i alpha_i y_i = 0

    alpha <- 0, b <- 0, passes <- 0
    while passes < max_passes_without_change:
        for i = 1, ..., n:
            E_i <- f(x_i) - y_i
            if (alpha_i < C_i and y_i E_i < -tol) or (alpha_i > 0 and y_i E_i > tol):
                choose j other than i at random
                update alpha_i, alpha_j and b
        passes <- passes + 1 if no multiplier was changed, else 0

The update moves alpha_i and alpha_j along the line that keeps sum_i alpha_i y_i = 0 to the point where the dual is
largest, cut to 0 <= alpha_i <= C_i and 0 <= alpha_j <= C_j, so the dual never falls. The
scores sum_j alpha_j y_j k(x_j, x_i) are kept, and an update adds two rows of the kernel matrix to them. (L4 lets i and
j run to D, the number of features; they are rows.)

Three things are added so that the listing ends with a certificate:

    gap      the listing is satisfied when every row is within tol; the duality gap is evaluated as well, and where it
             is not within the tolerance yet, the listing goes on with a tenth of its tol
    b        is put at its best value at each evaluation: the step does not depend on it, but who violates does
    change   means that a multiplier moved; an unlucky j, with which i cannot move, is no change

A random j is seldom the right one. `solver="smo"` chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from maxmargin._loops.lectures.dual_steps import DualTerms, PairRows, descent_pass, simple_pass
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import ParameterError
from maxmargin.losses import DualBox, Hinge
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution
from maxmargin.solvers.kernel.dual import KernelSolver, box_with_maximum, is_soft
from maxmargin.solvers.lectures.kernel_ascent import MATRIX_BYTES, KernelAscent, KernelPoint, own_terms
from maxmargin.solvers.lectures.row_by_row import generator

_TIGHTEN = 0.1
_TIGHTEST = 1e-15  # margins are near 1, and their rounding is above this


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


@dataclass(frozen=True)
class SimpleSMO(KernelSolver):
    """Pairs with a random partner: the hinge with a free intercept.

    max_passes_without_change
        The listing's rule: so many passes in a row in which rows violate their conditions but none finds a partner
        with which it can move end the search.
    random_state
        Seed of the partners; None for others each time.
    matrix_bytes
        A kernel matrix up to this size is kept whole; the rows of a larger one are computed anew in every pass.

    max_iter is a number of passes; 10,000 when None.
    """

    max_passes_without_change: int = 1000
    random_state: int | None = 0
    matrix_bytes: int = MATRIX_BYTES
    name: ClassVar[str] = "smo-simple"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether it is the machine of the listing."""
        is_machine = problem.kernel is not None and problem.nu is None and problem.intercept.is_free
        return is_machine and isinstance(problem.loss, Hinge)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Ascend from the multipliers of `start`, made feasible, or from zero."""
        most = self.max_passes_without_change
        if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
            raise ParameterError(
                f"max_passes_without_change must be a number of passes, at least 1, got {most!r}. Try 1000."
            )
        problem = self.checked(problem)
        box = problem.loss.dual_box(problem.costs)
        assert box is not None
        return PairListing(self, problem, box, start).climb()


class PairListing(KernelAscent):
    """The listing at work."""

    def __init__(self, solver: SimpleSMO, problem: KernelProblem, box: DualBox, start: Solution | None):
        super().__init__(solver, problem, box, start, solver.matrix_bytes)
        self.examples = PairRows(problem.targets, box.upper, self.rows.diagonal)
        self.rng = generator(solver.random_state)
        self.max_quiet = solver.max_passes_without_change
        self.order = np.arange(self.n)
        self.partners = self.order
        self.bias, self.margin_tol = 0.0, solver.tol
        self.violators = 0

    def visit(self, rows: slice, stop: StopFlag) -> int:
        """The rows of a piece, in their own order."""
        if rows.start == 0:
            drawn = self.rng.integers(0, max(1, self.n - 1), size=self.n)
            self.partners = drawn + (drawn >= self.order) if self.n > 1 else self.order  # any other, all alike
            self.violators = 0
        order, partners = self.order[rows], self.partners[rows]
        first, second = self.rows.tile(order), self.rows.tile(partners)
        violators, moved, self.bias = simple_pass(
            *first, *second, order, partners, self.examples, self.margin_tol, self.bias, self.alpha, self.scores, stop
        )
        self.violators += violators
        return moved

    def end_pass(self) -> bool:
        """Count the passes without change; evaluate at once where no row violates, or the count is full."""
        if self.violators == 0:
            self.margin_tol *= _TIGHTEN
            self.quiet_passes = 0
        return self.violators == 0 or self.quiet_passes >= self.max_quiet

    def settle(self, at: KernelPoint) -> None:
        """Go on from the best intercept."""
        self.bias = at.bias

    def is_stuck(self) -> bool:
        """Whether the listing would end."""
        return self.quiet_passes >= self.max_quiet or self.margin_tol < _TIGHTEST
