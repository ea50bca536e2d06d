"""The engine for a few hundred or thousand rows: the whole kernel matrix, one row and column a variable.

Everything is in double precision where the matrix is, so no slope has to be formed again. A matrix that somebody stored
before (`KernelProblem.stored`) is taken as it is, in single precision.

The working set are all variables, or those that are not settled. Among many the first steps go only some of the way:
then most variables are settled at their bounds, and the others are few enough to be worth a matrix of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import add_rows, expel, pick
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.problems import KernelProblem
from maxmargin.solvers.kernel.dual import Extremes, Variables
from maxmargin.solvers.kernel.engine import ActiveSet, EngineAtHand, EnginePace
from maxmargin.solvers.kernel.host import PAD, HostEngine, SquareSet

_FEW = 600  # variables of which none are left out
_MOST = 0.7  # of the variables may be left in
_MARGIN = 0.5  # violations that a slope must be away from those that compete
_COARSE = 0.2  # of the violation is left before variables are left out
_MOST_FREE = 128  # variables between bounds whose equations are solved in a fraction of a millisecond
_NEVER = np.zeros(1, dtype=np.uint8)


class WholeMatrix(HostEngine, ActiveSet, EngineAtHand):
    """All variables, and their kernel matrix."""

    pace = EnginePace(steps=50_000)

    def __init__(self, problem: KernelProblem, variables: Variables, beta: Vector):
        v = variables
        matrix: NDArray[Any] = problem.gram() if problem.stored is None else problem.stored
        if len(v.rows) != len(matrix) or v.constant != 0.0:
            matrix = matrix[np.ix_(v.rows, v.rows)] + matrix.dtype.type(v.constant)
            if v.rows[-1] < 0:
                matrix[-1], matrix[:, -1] = 0.0, 0.0
        self.matrix = np.ascontiguousarray(matrix)
        self.is_double = problem.stored is None
        super().__init__(problem, variables, self.matrix.diagonal() + v.ridge)
        self.begin(beta)

    def begin(self, beta: Vector) -> None:
        """Slopes of these coefficients, from the matrix."""
        self.beta, self.F = beta, self.box.ridge * beta - self.variables.target
        self.is_exact = self.is_double
        moved = np.flatnonzero(beta)
        if len(moved):
            add_rows(self.matrix, moved, beta[moved], 0, self.size, _NEVER, self.F)  # the matrix is symmetric

    def refresh(self) -> None:
        """Slopes without what rounding did to them on the way, where the matrix is double."""
        if self.is_double:
            self.begin(self.beta)

    def active(self, at: Extremes) -> WholeMatrix:
        """All variables."""
        return self

    def working_set(self, at: Extremes) -> SquareSet:
        """All variables on the matrix itself, or those that are not settled on a copy of their part of it."""
        self.is_exact = self.is_double
        if self.size <= _FEW:
            return SquareSet(self, None, self.matrix)
        which = self.unsettled(at, _MARGIN * at.violation)
        few, dtype = len(which), self.matrix.dtype
        if not 0 < few <= _MOST * self.size:
            return SquareSet(self, None, self.matrix, _COARSE * at.violation)
        size = few * (few + PAD)
        square = (scratch("unsettled", size) if dtype == np.float32 else np.empty(size, dtype)).reshape(few, few + PAD)
        pick(self.matrix, which, which.astype(np.uint32), np.arange(few), square)
        return SquareSet(self, which, square)

    def update_gradient(self, moved: RowIndex, steps: Vector) -> None:
        """All slopes after the coefficients of some variables moved."""
        add_rows(self.matrix, moved, steps, 0, self.size, _NEVER, self.F)
        self.F[moved] += self.box.ridge[moved] * steps

    def newton_step(self) -> bool:
        """Where the variables between bounds all have the slope of their group, or as far as bounds allow."""
        free = np.flatnonzero(self.are_between())
        m, n_groups, box = len(free), self.n_groups, self.box
        if not 0 < m <= _MOST_FREE:
            return False
        system = np.zeros((m + n_groups, m + n_groups))
        system[:m, :m] = self.matrix[np.ix_(free, free)] + np.diag(box.ridge[free])
        system[np.arange(m), m + box.group[free]] = 1.0
        system[m:, :m] = system[:m, m:].T
        beta, tube = self.beta[free], box.tube[free]
        missing = -self.F[free] - tube * np.sign(beta)
        steps = np.linalg.lstsq(system, np.append(missing, np.zeros(n_groups)), rcond=1e-14)[0][:m]
        most = np.where((tube > 0.0) & (beta < 0.0), 0.0, box.upper[free])
        least = np.where((tube > 0.0) & (beta > 0.0), 0.0, box.lower[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(steps == 0.0, np.inf, (np.where(steps > 0.0, most, least) - beta) / steps)
        length = min(1.0, float(np.min(room)))
        self.beta[free] = np.clip(beta + length * steps, least, most)
        self.begin(self.beta)
        return True

    def copy(self) -> WholeMatrix:
        """The same matrix; coefficients and slopes of its own."""
        other = object.__new__(WholeMatrix)
        other.__dict__.update(self.__dict__)  # as `copy.copy` does, which takes as long as a small fit's steps
        other.beta, other.F = self.beta.copy(), self.F.copy()
        return other

    def without(self, k: int, goal: float, limit: int) -> WholeMatrix | None:
        """What beta_k was goes to other variables, where these have room; or all begin again."""
        rest, v = self.copy(), self.variables
        rest.rising, rest.falling = np.empty(self.size), np.empty(self.size)  # rows are left out side by side
        rest.box = self.box._replace(lower=self.box.lower.copy(), upper=self.box.upper.copy())
        if expel(self.matrix, rest.beta, rest.F, rest.box, k) < 0:
            rest.beta, rest.F = v.start.copy(), -v.target
        rest.box.lower[k] = rest.box.upper[k] = 0.0
        return rest if SquareSet(rest, None, self.matrix).pair_steps(goal, limit, _NEVER)[1] else None
