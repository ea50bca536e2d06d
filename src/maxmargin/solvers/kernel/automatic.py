"""Who finds the answer of a kernel machine, and who takes over where that does not lead to the end.

    hard margin                                  qp: a problem of nearest points
    linear kernel, few features, many rows       "auto": as a linear machine; pair steps from there where that fails
    all others                                   pair steps (`solvers.kernel.driver`), on one of two engines
        few rows                                 the whole kernel matrix in double precision
        many rows                                slopes of all, working sets in single precision
    few rows, and pair steps crawl               linear kernel, few features: as a linear machine; others: qp

Pair steps crawl where C times the kernel is huge and its rank is small: after a million steps, or where they stall, the
reference solver finds the coefficients, and steps end the fit. An interior-point method does not mind. `Blocks` begins
with pair steps whatever the kernel is, and goes the same way from there. The solution names whoever found the
coefficients that it ended with.

The kernel matrix of d features has rank d at most. With many more rows than that, most pairs have next to no curvature
left by the others, and pair steps wander; the same problem in d weights is small. Multipliers of the one problem are
multipliers of the other, with a difference: a linear machine keeps its weights, a kernel machine has none but

    w = sum_i beta_i x_i,

so its multipliers must tell them. A duality gap of g leaves |w - sum_i beta_i x_i|^2 <= 2 g, which can be as large as
|w|^2 itself where C is large. So the linear problem is solved further than was asked for, and Newton steps on the free
multipliers (`polish`) end the fit.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from maxmargin.data.rows import ArrayRows
from maxmargin.kernels import Linear
from maxmargin.losses import HardMargin
from maxmargin.problems import KernelProblem, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.polish import polish
from maxmargin.solvers.common.solver import Solver, is_quadratic
from maxmargin.solvers.kernel.driver import KernelDriver
from maxmargin.solvers.kernel.dual import KernelSolver, Variables, is_soft
from maxmargin.solvers.kernel.engine import KernelEngine
from maxmargin.solvers.kernel.host import ManyRows
from maxmargin.solvers.kernel.values import with_shared_values
from maxmargin.solvers.kernel.whole_matrix import WholeMatrix
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.reference.qp import QP

_WHOLE = 1024
_WHOLE_STORED = 4096  # the same for a matrix that somebody stored
_BUDGET = 1 << 30
_FEW_ROWS = 1024  # on whose matrix pair steps are quick, and the reference takes a second
_MANY_STEPS, _MANY_STEPS_OF_LOW_RANK = 1_000_000, 30_000
_MOST_FEATURES = 1500  # whose equations are factored in a moment
_LINEAR_TOL = 1e-8


@dataclass(frozen=True)
class Blocks(KernelSolver):
    """Working sets with second-order pair steps; where they crawl on few rows, a reference solver ends the fit.

    memory
        Bytes for kernel values that are stored.
    active
        Variables that are active, at least.
    size
        Variables in a working set.
    whole
        Rows up to which the whole kernel matrix is formed, in double precision.
    """

    memory: int | None = None
    active: int = 8192
    size: int = 2048
    whole: int = _WHOLE
    name: ClassVar[str] = "blocks"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual is a quadratic program, and not that of a hard margin."""
        return is_soft(problem)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from beta = 0, or from the coefficients of `start`."""
        driver = self.driver(self.checked(problem), start)
        driver.patience = _patience(driver.problem, self.max_iter)
        driver.run_until_interrupted()
        if driver.status is not Status.STALLED or math.isinf(driver.patience):
            return driver.solution()
        try:
            found = self.reference(driver)
        except KeyboardInterrupt:
            found = driver.solution(Status.INTERRUPTED)
        if found.status is Status.INTERRUPTED:
            return driver.solution(Status.INTERRUPTED)
        is_taken = found.status is not Status.BUDGET  # cut off or not begun: steps take the time that is left
        if is_taken:
            driver.begin(found)
        driver.patience = math.inf
        driver.run_until_interrupted()
        return replace(driver.solution(), solver=found.solver if is_taken else self.name)

    def driver(self, problem: KernelProblem, start: Solution | None = None) -> KernelDriver:
        """The driver of a problem with the engine that suits, before its first step."""
        problem = with_shared_values(problem)
        variables = Variables.of(problem)
        beta = variables.beginning(problem, start)
        engine: KernelEngine
        if problem.n_rows <= (self.whole if problem.stored is None else max(self.whole, _WHOLE_STORED)):
            engine = WholeMatrix(problem, variables, beta)
        else:
            engine = ManyRows(problem, variables, beta, self.active, self.size, self.memory or _BUDGET)
        return KernelDriver(problem, engine, self)

    def reference(self, driver: KernelDriver) -> Solution:
        """Coefficients from another solver, in the time that is left."""
        left = None if math.isinf(driver.end) else max(driver.end - time.perf_counter(), 1e-3)
        if is_of_low_rank(driver.problem):
            return as_linear_machine(driver.problem, replace(self, max_seconds=left))
        return QP(tol=self.tol, max_seconds=left).solve(driver.problem)


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
        is_large = problem.n_rows > _FEW_ROWS and not counted
        if not (is_large and isinstance(problem, KernelProblem) and is_of_low_rank(problem)):
            return blocks.solve(problem, start)
        found = as_linear_machine(problem, self)
        if found.status is not Status.STALLED:
            return found
        left = None if self.max_seconds is None else max(self.max_seconds - found.seconds, 1e-3)
        return replace(blocks, max_seconds=left).solve(problem, found)


def _patience(problem: KernelProblem, max_iter: int | None) -> float:
    """Pair steps after which another solver is quicker, on few rows.

    The reference knows neither nu nor negative eigenvalues.
    """
    if problem.n_rows > _FEW_ROWS or problem.nu is not None or max_iter is not None or not problem.is_convex:
        return math.inf
    return _MANY_STEPS_OF_LOW_RANK if is_of_low_rank(problem) else _MANY_STEPS


def is_of_low_rank(problem: KernelProblem) -> bool:
    """Whether phi(x) = x, with fewer features than rows."""
    if not isinstance(problem.kernel, Linear) or problem.nu is not None or problem.stored is not None:
        return False
    return problem.source.n_features <= min(_MOST_FEATURES, problem.n_rows // 2)


def as_linear_machine(problem: KernelProblem, settings: Solver) -> Solution:
    """The answer in multipliers; CONVERGED where they are as good as was asked for."""
    linear = LinearProblem(problem.source, problem.loss, problem.C, problem.intercept)
    found = Automatic(min(settings.tol, _LINEAR_TOL), max_seconds=settings.max_seconds).solve(linear)
    box = linear.loss.dual_box(linear.costs)
    if box is None or found.status is Status.INTERRUPTED:
        return replace(found, weights=None, bias=None)
    alpha, seen = polish(linear, found.alpha, box, ArrayRows(linear.source, 1).squared_lengths())
    is_good = seen.gap <= settings.tol * abs(seen.primal) and seen.kkt_violation <= settings.tol
    status = Status.CONVERGED if is_good else found.status if found.status is not Status.CONVERGED else Status.STALLED
    found.history.record(found.history.passes[-1] if len(found.history) else 0, seen.primal, seen.dual)
    return replace(found, alpha=np.asarray(alpha), weights=None, bias=None, status=status)
