"""Pair steps on the whole kernel matrix, for a few hundred or thousand rows.

Everything is in double precision where the matrix is, so no slope needs a second look. A matrix that somebody stored
before (`KernelProblem.stored`) is taken as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.pair_steps import Box, pair_steps
from maxmargin.backends.threads import StopFlag
from maxmargin.problems import KernelProblem, Solution, Status
from maxmargin.solvers.ascent import Ascent
from maxmargin.solvers.solver import Solver

_STEPS = 50_000  # at a time: tens of milliseconds, so that Ctrl-C and budgets are heeded


class WholeAscent(Ascent):
    """Pair steps among all variables."""

    def __init__(self, problem: KernelProblem, settings: Solver, start: Solution | None):
        super().__init__(problem, settings, start)
        v = self.variables
        matrix: NDArray[Any] = problem.gram() if problem.stored is None else problem.stored
        if len(v.rows) != len(matrix) or v.constant != 0.0:
            matrix = matrix[np.ix_(v.rows, v.rows)] + matrix.dtype.type(v.constant)
            if v.rows[-1] < 0:
                matrix[-1], matrix[:, -1] = 0.0, 0.0
        self.matrix = np.ascontiguousarray(matrix)
        self.curvature = self.matrix.diagonal() + v.ridge
        self._form_slopes()

    def _form_slopes(self) -> None:
        v, whole = self.variables, self.all
        whole.F = v.ridge * whole.beta - v.target
        moved = np.flatnonzero(whole.beta)
        if len(moved):
            whole.F += self.matrix[:, moved].astype(np.float64, copy=False) @ whole.beta[moved]

    def run(self, stop: StopFlag) -> None:
        """Steps until the gap and the violation are within the tolerance."""
        whole, slots = self.all, np.arange(len(self.matrix))
        box = Box(whole.lower, whole.upper, whole.tube, whole.ridge, self.curvature, whole.group)
        sharper = 1.0
        while True:
            look = whole.look()
            relative, dual = self.gap(look)
            if self.is_optimal(look, relative):
                self.status = Status.CONVERGED
                return
            if self.is_over(stop):
                return
            if self.is_stalled(dual):
                self.status = Status.STALLED
                return
            before = self.steps
            # The gap may ask for more than the violation does; then steps go on to a smaller one.
            if look.violation <= self.tolerance(look):
                sharper *= 0.3
            goal = sharper * self.tolerance(look)
            limit = self.steps_left(_STEPS)
            self.steps += pair_steps(self.matrix, slots, whole.beta, whole.F, box, goal, limit, stop)[0]
            if self.steps == before:
                self.status = Status.STALLED
                return
            if sharper < 1.0:
                self._form_slopes()  # what rounding did to them on the way no longer counts
