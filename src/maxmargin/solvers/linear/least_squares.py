"""Least squares with and without an L2 penalty, to the last digits.

    minimise over w, b    delta/2 |w|^2 + 1/2 (b / s)^2 + 1/2 sum_i C_i (<w, x_i> + b - y_i)^2

delta = 1 is ridge regression, delta = 0 ordinary least squares. The conditions of optimality are linear equations in
w, b and the multipliers beta (`least_squares_equations`). A few rounds of refinement, each with what is missing taken
afresh from the data and mapped to corrections by an approximate inverse, make all of them hold to rounding (Björck, BIT
1967; Higham, Accuracy and Stability, chapter 20).

Without a penalty the answer is certified within a box that holds it well inside (`box_around`);
`least_squares_equations` says why, and what follows for points outside the box.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from maxmargin._types import Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.data.rows import ArrayRows
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.penalties import L2, Box
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.linear.least_squares_equations import (
    Correct,
    Equations,
    GradientInverse,
    Unknowns,
    cholesky_inverse,
    gram_inverse,
    triangle_inverse,
)

Method: TypeAlias = Literal["auto", "cholesky", "svd", "gram", "cg"]

_MAX_FACTORED = 2000  # features or rows up to which S or M is formed
_ROUNDS = 8
_SETTLED = 1e-8  # relative change of w at which corrections may stop shrinking
_EPSILON = float(np.finfo(np.float64).eps)


def box_around(problem: LinearProblem, weights: Vector) -> Box:
    """The box of the certificate of ordinary least squares: `Equations.box`."""
    return Equations(problem, ArrayRows(problem.source)).box(weights)


@dataclass(frozen=True)
class LeastSquares(Solver):
    """Normal equations, refined until rounding stops them; `max_iter` bounds the conjugate gradients of a round."""

    method: Method = "auto"
    n_jobs: int | None = None
    name: ClassVar[str] = "least-squares"
    suits: ClassVar[str] = "linear problems with the squared loss and an L2 penalty or none"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether optimality is a system of linear equations."""
        penalty = problem.penalty
        has_none = isinstance(penalty, Box) and bool(np.all(np.isinf(penalty.radius)))
        return problem.kernel is None and isinstance(problem.loss, Squared) and (isinstance(penalty, L2) or has_none)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve to the last digits; a closed form has no use for a start."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        if self.method not in get_args(Method):
            known = ", ".join(map(repr, get_args(Method)))
            raise ParameterError(f"method must be one of {known}, got method={self.method!r}.")
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        rounds = _Refinement(Equations(problem, ArrayRows(problem.source, self.n_jobs)), end)
        try:
            with one_blas_thread():  # passes have threads of their own, and small factorisations lose by them
                status = self._run(rounds)
                rounds.consider_silence()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        w, b, beta = rounds.best
        solver, n_passes = f"{self.name} ({rounds.method})", rounds.equations.n_passes
        return Solution(beta, w, b, status, rounds.history, solver, n_passes, rounds.history.elapsed)

    def _run(self, rounds: _Refinement) -> Status:
        equations = rounds.equations
        method = self._method(equations)
        if method == "cg":
            gradients = GradientInverse(equations, self.max_iter, rounds.end)
            finished = rounds.run("cg", equations.by_features(gradients)) and not gradients.is_exhausted
            return Status.CONVERGED if finished else Status.BUDGET
        finished = False
        if method == "gram":
            finished = rounds.run("gram", equations.by_rows(gram_inverse(equations)))
        else:
            inverse = None if method == "svd" else cholesky_inverse(equations)
            finished = inverse is not None and rounds.run("cholesky", equations.by_features(inverse))
            if not finished and time.perf_counter() <= rounds.end:
                finished = rounds.run("svd", equations.by_features(triangle_inverse(equations)))
        if finished:
            return Status.CONVERGED
        return Status.BUDGET if time.perf_counter() > rounds.end else Status.STALLED

    def _method(self, equations: Equations) -> Method:
        """The way asked for, or the one that suits; products of rows are of use only with a penalty."""
        has_penalty, n, d = equations.delta > 0.0, equations.n, equations.d
        if self.method not in ("auto", "gram") or (self.method == "gram" and has_penalty):
            return self.method
        if has_penalty and n < d and n <= _MAX_FACTORED:
            return "gram"
        return "cholesky" if d <= _MAX_FACTORED else "cg"


class _Refinement:
    """Rounds of corrections; the best point seen is kept, whatever interrupts them."""

    def __init__(self, equations: Equations, end: float):
        self.equations, self.end = equations, end
        self.best = Unknowns(np.zeros(equations.d), 0.0, np.zeros(equations.n))
        self.best_gap = math.inf
        self.history = History()
        self.method = "none"

    def run(self, method: str, correct: Correct) -> bool:
        """Correct until it no longer helps; False where time ran out or the corrections did not vanish."""
        self.method = method
        at, before = Unknowns(np.zeros_like(self.best.w), 0.0, np.zeros_like(self.best.beta)), math.inf
        for _ in range(_ROUNDS):
            if time.perf_counter() > self.end:
                return False
            step = correct(self.equations.missing(at))
            at = self.equations.balanced(Unknowns(at.w + step.w, at.b + step.b, at.beta + step.beta))
            seen = self.equations.assess(at)
            self.history.record(self.equations.n_passes, seen.primal, seen.dual)
            improved = seen.difference < self.best_gap
            if improved:
                self.best, self.best_gap = at, seen.difference
            change = float(np.linalg.norm(step.w)) / max(float(np.linalg.norm(at.w)), 1e-300)
            if change <= 4.0 * _EPSILON or (change > 0.1 * before and not improved):
                return change <= _SETTLED
            before = change
        return before <= _SETTLED

    def consider_silence(self) -> None:
        """Try multipliers zero, where those found are nothing but rounding: at rows that are fitted perfectly."""
        equations, best = self.equations, self.best
        silent = np.zeros_like(best.beta)
        if math.isinf(equations.scale) and np.ptp(equations.y) == 0.0:  # a free intercept alone fits constant targets
            fits = Unknowns(np.zeros_like(best.w), float(equations.y[0]), silent)
        elif equations.delta == 0.0:
            fits = best._replace(beta=silent)
        else:
            return
        if equations.assess(fits).difference <= max(0.0, self.best_gap):
            self.best = fits
