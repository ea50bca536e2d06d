"""Kernel least squares in closed form, or by conjugate gradients where the kernel matrix does not fit.

    M beta = t,    M = K~ + diag(1 / C_i)          (`solvers.kernel.equations`)

closed-form            L L' = M, then beta = L'^-1 L^-1 t; 8 n^2 bytes and n^3 / 3 steps
conjugate-gradients    each step one product K~ p by tiles; preconditioned by a factor of some rows

Both end with the same rounds, given products with M and an approximate inverse G of it:

    rho = t - M beta        p = G rho + (a multiple of the last p)        beta <- beta + p (rho' p) / (p' M p)

These are conjugate gradients, preconditioned by G. With G from the factor of M itself one round is the closed form, and
the next ones are iterative refinement: `refine` goes on until rounding stops it. With G from some rows only, and
products that cost a pass over the kernel matrix, `descend` stops at the tolerance. Where alpha is so small that
rounding leaves M without a factor, what is missing is added to its diagonal, and the rounds make good for it.

With alpha = 0 and a free intercept, H' K H has the null vector c, the weights of the rows. A multiple of c c' is added
to it: since c' t = 0, c' beta is then zero at the solution, and nothing else has changed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from maxmargin._types import Vector
from maxmargin.backends.threads import one_blas_thread, thread_count
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.problems import History, KernelProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.kernel.equations import (
    KernelEquations,
    KernelFactor,
    NotPositiveError,
    NystroemFactor,
    TimeIsUpError,
    Values,
)

Method: TypeAlias = Literal["auto", "closed-form", "conjugate-gradients"]
LinearMap: TypeAlias = Callable[[Vector], Vector]

DEFAULT_MEMORY = 2_000_000_000  # bytes
_FEW_ROWS = 1000
_MAX_CHOSEN = 1000  # rows of the preconditioner
_HOPELESS = 1e-3  # relative gap of a closed form that has nothing to do with the answer
_EPSILON = float(np.finfo(np.float64).eps)
_REFINEMENTS = 12
_CHECK_EVERY = 50  # steps after which what is missing is computed afresh
_SAFE = 0.5  # share of the tolerance at which to stop, because the certificate computes it all again
_HAIR = 1e-12  # relative difference of primal values that says nothing


class KernelSquaresSolver(Solver):
    """A solver of least squares with a kernel."""

    interpolate: bool
    """Whether the function goes through all targets, where the loss does not matter."""

    def takes(self, problem: ProblemKind) -> bool:
        """Whether it is least squares with a kernel."""
        return problem.kernel is not None and (self.interpolate or isinstance(problem.loss, Squared))

    def refusal(self, problem: ProblemKind) -> str:
        """What it says to a problem that it does not take."""
        return f"solver={self.name!r} is for the squared loss with a kernel, not for: {problem.objective}."

    def checked(self, problem: Problem) -> KernelProblem:
        """The problem, if the solver takes it."""
        self.check(problem)
        assert isinstance(problem, KernelProblem)
        return problem


def check_fits(n_rows: int, memory: int | None, name: str) -> None:
    """Refuse a kernel matrix that is larger than the memory for it."""
    budget = DEFAULT_MEMORY if memory is None else memory
    if 8 * n_rows**2 > budget:
        raise ParameterError(
            f"solver={name!r} keeps the kernel matrix of {n_rows} rows, {8 * n_rows**2:.3g} bytes, and memory is "
            f"{budget:.3g}. Give more memory, or use solver='conjugate-gradients', which needs no matrix."
        )


def blas_threads(n_rows: int, n_jobs: int | None) -> AbstractContextManager[None]:
    """One thread of BLAS where no more are wanted, or where waking them takes longer than the work."""
    alone = thread_count(n_jobs) == 1 or n_rows <= _FEW_ROWS
    return one_blas_thread() if alone else nullcontext()


def solution_at(beta: Vector, equations: KernelEquations, status: Status, history: History, solver: str) -> Solution:
    """What a solver of the equations hands back at beta."""
    alpha, bias = equations.multipliers(beta), equations.bias(beta)
    return Solution(alpha, None, bias, status, history, solver, equations.n_products, history.elapsed)


@dataclass(frozen=True)
class KernelLeastSquares(KernelSquaresSolver):
    """The equations of kernel least squares, solved until rounding stops it; `max_iter` bounds conjugate gradients.

    interpolate puts alpha = 0: the flattest function through all targets. memory, in bytes, is for the kernel matrix or
    for the preconditioner; None means 2 GB. "auto" is the closed form where the matrix fits.
    """

    method: Method = "auto"
    interpolate: bool = False
    memory: int | None = None
    n_jobs: int | None = None
    random_state: int | None = 0
    name: ClassVar[str] = "closed-form"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve; a closed form has no use for a start."""
        if self.method not in get_args(Method):
            known = ", ".join(map(repr, get_args(Method)))
            raise ParameterError(f"method must be one of {known}, got method={self.method!r}.")
        kernel_problem = self.checked(problem)
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        method = self._method(problem.n_rows)
        rounds = Rounds(KernelEquations(kernel_problem, interpolate=self.interpolate), end)
        try:
            with blas_threads(problem.n_rows, self.n_jobs):
                status = self._closed_form(rounds) if method == "closed-form" else self._gradients(rounds)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return solution_at(rounds.best, rounds.equations, status, rounds.history, method)

    def _method(self, n_rows: int) -> str:
        if self.method == "closed-form":
            check_fits(n_rows, self.memory, self.method)
        if self.method != "auto":
            return self.method
        fits = 8 * n_rows**2 <= (DEFAULT_MEMORY if self.memory is None else self.memory)
        return "closed-form" if fits else "conjugate-gradients"

    def _closed_form(self, rounds: Rounds) -> Status:
        equations = rounds.equations
        K = equations.matrix()
        if self.interpolate and equations.is_free:
            size = float(np.max(np.diagonal(K))) or 1.0
            weight = equations.weight / np.max(equations.weight)
            for row, own in zip(K, weight, strict=True):
                row += size * own * weight
        factor = KernelFactor(K)
        try:
            if self.interpolate:
                _factor_or_refuse(factor, equations, rounds.end)
            else:
                _factor_with_help(factor, equations, rounds.end)
        except (TimeIsUpError, KeyboardInterrupt) as stopped:
            rounds.take(factor.solve(equations.right), factor.product)  # the answer to the leading rows
            return Status.BUDGET if isinstance(stopped, TimeIsUpError) else Status.INTERRUPTED
        status = rounds.refine(factor.solve, factor.product)
        if rounds.relative_gap > _HOPELESS and status is Status.CONVERGED and not self.interpolate:
            self._smooth_instead(factor, rounds)
        return status

    def _smooth_instead(self, factor: KernelFactor, rounds: Rounds) -> None:
        """Try larger penalties, where alpha is so far below the rounding of K that its multipliers say nothing.

        Their models are no worse than rounding makes them, and often far better under alpha itself, which decides.
        """
        equations = rounds.equations
        for times in (1.0, 1e2, 1e4):
            penalty = times * len(equations.right) * _EPSILON * equations.largest
            try:
                factor.factor(equations.diagonal + penalty, rounds.end)
            except (NotPositiveError, TimeIsUpError):
                continue
            rounds.take(factor.solve(equations.right), factor.product)

    def _gradients(self, rounds: Rounds) -> Status:
        if self.interpolate:
            raise ParameterError(
                "alpha=0 is for a kernel matrix that fits into memory: without a penalty conjugate gradients need as "
                "many steps as there are rows. Give more memory, or a positive alpha."
            )
        n = rounds.equations.problem.n_rows
        budget = DEFAULT_MEMORY if self.memory is None else self.memory
        n_chosen = max(1, min(_MAX_CHOSEN, n // 4, budget // (24 * n)))  # F, F scaled, and what made F
        try:
            inverse = NystroemFactor(rounds.equations, n_chosen, np.random.default_rng(self.random_state)).solve
        except NotPositiveError:
            raise _not_a_kernel(rounds.equations) from None
        return rounds.descend(inverse, self.tol, self.max_iter)


class Rounds:
    """Rounds of corrections; the best point seen is kept, whatever interrupts them."""

    def __init__(self, equations: KernelEquations, end: float):
        self.equations, self.end = equations, end
        self.history = History()
        self.best = np.zeros_like(equations.right)
        self._best_primal = self._best_violation = self.relative_gap = math.inf

    def take(self, beta: Vector, product: LinearMap) -> Vector:
        """What is missing at beta, computed afresh; the point is recorded."""
        missing = self.equations.right - product(beta) - self.equations.diagonal * beta
        self._keep(beta, missing)
        return missing

    def _keep(self, beta: Vector, missing: Vector) -> Values:
        values = self.equations.values(beta, missing)
        self.history.record(self.equations.n_products, values.primal, values.dual)
        if self._is_better(values):
            self.best, self._best_primal, self._best_violation = beta.copy(), values.primal, values.violation
            self.relative_gap = values.relative_gap
        return values

    def _is_better(self, values: Values) -> bool:
        """The better model first; among models that are equal up to rounding, the one with the better multipliers."""
        hair = _HAIR * abs(values.primal)
        # Without a penalty each point has a primal value of its own, with its own cost of missing a target.
        same = self.equations.alpha == 0.0 or abs(values.primal - self._best_primal) <= hair
        return values.violation < self._best_violation if same else values.primal < self._best_primal

    def refine(self, inverse: LinearMap, product: LinearMap) -> Status:
        """Correct, with what is missing computed afresh in each round, until that no longer helps."""
        beta, direction = np.zeros_like(self.best), None
        missing = self.take(beta, product)
        for _ in range(_REFINEMENTS):
            before = self._best_violation
            step = _step(missing, inverse(missing), direction, lambda p: product(p) + self.equations.diagonal * p)
            if step is None:
                break
            direction = step
            beta = beta + step.length * step.along
            missing = self.take(beta, product)
            if time.perf_counter() > self.end:
                return Status.BUDGET
            if not self._best_violation <= 0.5 * before:
                break
        return Status.CONVERGED

    def descend(self, inverse: LinearMap, tol: float, max_iter: int | None) -> Status:
        """Conjugate gradients to the tolerance, with products by tiles."""
        equations, direction = self.equations, None
        beta, missing = np.zeros_like(self.best), self.equations.right
        n_steps, last_fresh, stalls = 0, math.inf, 0
        while max_iter is None or n_steps < max_iter:
            if time.perf_counter() > self.end:
                return Status.BUDGET
            step = _step(missing, inverse(missing), direction, lambda p: equations.product(p) + equations.diagonal * p)
            if step is None:
                return Status.CONVERGED
            direction = step
            beta = beta + step.length * step.along
            missing = missing - step.length * step.image
            n_steps += 1
            values = self._keep(beta, missing)
            if values.within(_SAFE * tol) or n_steps % _CHECK_EVERY == 0:
                self._best_primal = self._best_violation = math.inf  # what is computed afresh counts
                missing = self.take(beta, equations.product)
                if equations.values(beta, missing).within(_SAFE * tol):
                    return Status.CONVERGED
                stalls = stalls + 1 if self._best_violation > 0.9 * last_fresh else 0
                if stalls >= 3:
                    return Status.STALLED
                last_fresh = min(last_fresh, self._best_violation)
        return Status.BUDGET


class _Step(NamedTuple):
    """One step of conjugate gradients."""

    along: Vector
    image: Vector
    """M times the direction."""
    length: float


def _step(missing: Vector, corrected: Vector, last: _Step | None, product: LinearMap) -> _Step | None:
    """The next step, or None where nothing is left to correct."""
    if not float(missing @ corrected) > 0.0:
        return None
    along = corrected
    if last is not None:
        # The direction is made conjugate to the last one by what M does to it: this stands rounding in the inverse.
        along = corrected - (float(corrected @ last.image) / float(last.along @ last.image)) * last.along
    image = product(along)
    curvature = float(along @ image)
    if not curvature > 0.0:
        return None
    return _Step(along, image, float(missing @ along) / curvature)


def _factor_with_help(factor: KernelFactor, equations: KernelEquations, end: float) -> None:
    """Factor M, with more on its diagonal where rounding makes it indefinite."""
    extra = 0.0
    while True:
        try:
            return factor.factor(equations.diagonal + extra * equations.largest, end)
        except NotPositiveError:
            if extra > 1e-6 or not equations.problem.is_convex:
                raise _not_a_kernel(equations) from None
            extra = max(100.0 * extra, len(equations.right) * _EPSILON)


def _factor_or_refuse(factor: KernelFactor, equations: KernelEquations, end: float) -> None:
    """Factor K~ itself, which alpha = 0 leaves without help."""
    n = len(equations.right)
    try:
        factor.factor(np.zeros(n), end, least=n * _EPSILON * equations.largest)
    except NotPositiveError:
        raise ParameterError(
            f"alpha=0 asks for a function through all {n} targets, and the kernel matrix is singular up to rounding "
            f"(row {factor.n_done} or one soon after it follows from the rows before): there is no such function, or "
            "there are many coefficients for it. Give a positive alpha, such as 1e-6, or use solver='full-gradient', "
            "which stops at max_iter."
        ) from None


def _not_a_kernel(equations: KernelEquations) -> ParameterError:
    return ParameterError(
        f"the kernel matrix plus alpha={equations.alpha:g} on its diagonal has a negative eigenvalue, so that nothing "
        f"has a minimum: {equations.problem.objective}. Use a kernel that is positive semidefinite (see "
        "`maxmargin.kernels.mercer_check`), or raise alpha."
    )
