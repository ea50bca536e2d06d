"""Working-set training (Osuna, Freund and Girosi 1997; L0): a small quadratic program again and again.

    maximise over alpha   D(alpha), the dual of the problem (`problems.problem`)

    S <- no rows
    repeat
        alpha <- the best multipliers with alpha_i = 0 for all i outside S
        rows of S with alpha_i = 0 leave S
        rows outside S whose alpha_i = 0 is not optimal join S
    until none joins

With alpha_i = 0 outside S the small program is the same machine trained on the rows of S alone, so any solver of kernel
problems serves as the inner one. Every S holds all rows with alpha_i != 0 of the one before: the dual never falls.

Which rows join. Let up_i and down_i be the slopes of D in beta_i to the right and to the left, minus and plus infinity
where a bound is in the way. Alpha is optimal if and only if some number b has

    up_i <= b <= down_j    for all rows i and j

with b = 0 unless the intercept is free (the slopes then hold the intercept's share). The rows of S are optimal among
themselves, which leaves an interval for b; of it the number nearest to the best intercept is taken. A row outside S
whose slopes do not hold it between them joins. L0 takes all of these, which from alpha = 0 is every row; here the worst
few hundred join at a time, as many that want to rise as to fall where the intercept is free.

Rows leave only after a round that raised the dual. Otherwise S grows, so the method cannot go in circles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import RowIndex, Vector
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError
from maxmargin.losses import DualBox, Squared
from maxmargin.problems import History, KernelProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.feasible import feasible
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.kernel.dual import KernelSolver, is_definite, is_soft
from maxmargin.solvers.lectures.kernel_ascent import KernelPoint, own_terms
from maxmargin.solvers.registry import solver_named

_INNER_TOL = 0.1  # of the tolerance, for an inner solver that has one
_ROUNDING = 1e-10  # of the largest slope: what is off by less is not off


@dataclass(frozen=True)
class Osuna(KernelSolver):
    """Working-set training: hinge and epsilon-insensitive loss, also squared, with any intercept.

    inner
        Solver of the small problems, by name or as a `Solver`.
    joining
        At most so many rows join in one round; None for all that violate their conditions, as in the lecture.

    max_iter is a number of rounds; no limit when None.
    """

    inner: str | Solver = "qp"
    joining: int | None = 400
    name: ClassVar[str] = "osuna"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual has multipliers that come to rest: those of squared errors never do."""
        return is_soft(problem) and problem.nu is None and not isinstance(problem.loss, Squared)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Begin with the rows that have multipliers in `start`, or with none."""
        problem = self.checked(problem)
        if self.joining is not None and (not isinstance(self.joining, Integral) or self.joining < 2):
            raise ParameterError(
                f"joining must be None or a number of rows, at least 2, got {self.joining!r}. Try 400."
            )
        inner = solver_named(self.inner, linear=False, tol=_INNER_TOL * self.tol)
        if inner.name == "qp" and not is_definite(problem):
            raise ParameterError(
                "solver='osuna' with inner='qp' needs a kernel matrix without negative eigenvalues, not: "
                f"{problem.objective}. Use solver='smo-simple' or another inner solver. See "
                "`maxmargin.kernels.mercer_check`."
            )
        box = problem.loss.dual_box(problem.costs)
        assert box is not None
        return WorkingSetTraining(self, inner, problem, box, start).train()


class Slopes(NamedTuple):
    """Slopes of the dual in beta_i to the right and to the left; infinite where a bound is in the way."""

    up: Vector
    down: Vector


def slopes_of(problem: KernelProblem, box: DualBox, at: KernelPoint) -> Slopes:
    """Slopes at a point; an intercept that is not free has its share in them."""
    signs = problem.coefficients(np.ones_like(at.alpha))
    f = at.scores if problem.intercept.is_free else at.scores + at.bias
    smooth = box.linear + own_terms(problem) - signs * f - box.diagonal * at.alpha
    right = smooth - np.where(at.alpha >= 0.0, box.absolute, -box.absolute)
    left = smooth - np.where(at.alpha > 0.0, box.absolute, -box.absolute)
    right = np.where(at.alpha < box.upper, right, -np.inf)
    left = np.where(at.alpha > box.lower, left, np.inf)
    rises = signs > 0.0  # beta_i = -alpha_i turns right into left
    return Slopes(up=np.where(rises, right, -left), down=np.where(rises, left, -right))


def joining_rows(slopes: Slopes, inside: NDArray[np.bool_], best: float | None, most: int | None) -> RowIndex:
    """The worst of the rows outside S that are not optimal; `best` is the best free intercept, None for others."""
    b = 0.0
    if best is not None:
        low = np.max(slopes.up[inside], initial=-np.inf)
        high = np.min(slopes.down[inside], initial=np.inf)
        b = float(min(max(best, low), max(low, high)))
    too_low, too_high = slopes.up - b, b - slopes.down
    noticed = _ROUNDING * max(abs(b), *(np.max(np.abs(side[np.isfinite(side)]), initial=0.0) for side in slopes))
    if best is None:
        return _worst(np.maximum(too_low, too_high), inside, noticed)[:most]
    sides = [_worst(off, inside, noticed) for off in (too_low, too_high)]
    half = None if most is None else max(most // 2, most - min(len(side) for side in sides))
    return np.concatenate([side[:half] for side in sides])


def _worst(off: Vector, inside: NDArray[np.bool_], noticed: float) -> RowIndex:
    """Rows outside S that are off by more than what counts, the worst first."""
    rows = np.flatnonzero(~inside & (off > noticed))
    return rows[np.argsort(-off[rows], kind="stable")]


class WorkingSetTraining:
    """Rounds of working-set training: a point, and the rows inside S."""

    def __init__(self, solver: Osuna, inner: Solver, problem: KernelProblem, box: DualBox, start: Solution | None):
        self.history = History()
        self.solver, self.inner, self.problem, self.box = solver, inner, problem, box
        self.max_rounds = math.inf if solver.max_iter is None else solver.max_iter
        self.max_seconds = math.inf if solver.max_seconds is None else solver.max_seconds
        self.rounds = 0
        self.at = self._evaluated(np.zeros(problem.n_rows))
        if start is not None and np.any(start.alpha):
            self.at = self._evaluated(feasible(problem, start.alpha, box))
        self.inside = self.at.alpha != 0.0

    def train(self) -> Solution:
        """Rounds until the tolerance is reached or something else ends them."""
        status: Status | None = None
        try:
            while status is None:
                self.history.record(self.rounds, self.at.primal, self.at.bound)
                if self.at.is_within(self.solver.tol):
                    status = Status.CONVERGED
                elif self.rounds >= self.max_rounds or self.history.elapsed > self.max_seconds:
                    status = Status.BUDGET
                else:
                    status = self._round()
        except KeyboardInterrupt:  # outside the inner solver, which knows how to stop: the point before stays
            status = Status.INTERRUPTED
        name, elapsed = self.solver.name, self.history.elapsed
        return Solution(self.at.alpha, None, None, status, self.history, name, float(self.rounds), elapsed)

    def _round(self) -> Status | None:
        """Let rows join, solve for them, let rows leave; the status tells where this is the end."""
        best = self.at.bias if self.problem.intercept.is_free else None
        joined = joining_rows(slopes_of(self.problem, self.box, self.at), self.inside, best, self.solver.joining)
        self.inside[joined] = True
        if not np.any(self.inside):  # alpha = 0 is as good as rounding lets it be
            return Status.STALLED
        found, ended = self._solve(np.flatnonzero(self.inside))
        self.rounds += 1
        is_better = found.dual > self.at.dual
        if is_better:
            self.at, self.inside = found, found.alpha != 0.0
        is_last = ended is not None or (not is_better and len(joined) == 0)
        if is_last and (ended is Status.INTERRUPTED or not self.at.is_within(self.solver.tol)):
            self.history.record(self.rounds, self.at.primal, self.at.bound)
            return ended or Status.STALLED
        return None

    def _solve(self, working: RowIndex) -> tuple[KernelPoint, Status | None]:
        """The best multipliers of the working set, and how the fit ends if it ends here."""
        problem, source = self.problem, self.problem.source
        rows = problem.row_positions[working]
        part = replace(problem, source=ArraySource(source.X, source.y[working], source.weight[working], rows))
        left = self.max_seconds - self.history.elapsed
        inner = self.inner if math.isinf(left) else replace(self.inner, max_seconds=max(left, 1e-3))
        with listening(None):  # what the inner solver records is not about the whole problem
            solution = inner.solve(part)
        alpha = np.zeros(problem.n_rows)
        alpha[working] = solution.alpha
        ended = solution.status if solution.status in (Status.INTERRUPTED, Status.BUDGET) else None
        return self._evaluated(alpha), ended

    def _evaluated(self, alpha: Vector) -> KernelPoint:
        return KernelPoint.of(self.problem, alpha, self.problem.scores(self.problem.coefficients(alpha)))
