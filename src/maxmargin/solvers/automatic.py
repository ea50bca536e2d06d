"""The default: the solver that suits the problem's shape, and another one when it turns out not to.

    hard margin, kernel        qp
    few rows, many features    dcd first, then qp on the products of the rows
    smooth loss                newton; for many features dcd first, which needs few passes while C is small
    hinge, tube                dcd first; with few features interior as soon as dcd has cost as much as that would

What dcd needs depends on C and on the data in ways nobody can foresee, so it gets a budget of passes worth what the
second-order method will cost, and hands over when that is spent: at worst the answer takes twice as long as the better
of the two alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scipy import sparse

from maxmargin.certificates import assess
from maxmargin.data.passes import Passes
from maxmargin.problems import LinearProblem, Problem, Solution, Status
from maxmargin.solvers import dcd, interior, newton
from maxmargin.solvers.dcd import DualDescent
from maxmargin.solvers.interior import Interior
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.polish import polish
from maxmargin.solvers.qp import QP
from maxmargin.solvers.solver import Solver

_FEW_FEATURES = 1500
_INTERIOR_STEPS = 25
_SMOOTH_PASSES = 200  # passes of dcd on a smooth loss before conjugate gradients take over
_MANY_PASSES = 100_000
_FEW_ROWS = 1500  # rows up to which their products make a small matrix, whatever the number of features
_FEW_ROWS_PASSES = 1000
_FINAL = (Status.CONVERGED, Status.INTERRUPTED)
_SMALL_ROWS, _SMALL_FEATURES = 2000, 300  # a problem whose last digits cost next to nothing gets them
_SMALL_TOL = 1e-10


@dataclass(frozen=True)
class Automatic(Solver):
    """Chooses by shape, and changes its mind in mid-fit when the other side is winning."""

    n_jobs: int | None = None
    random_state: int | None = 0
    name: ClassVar[str] = "auto"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve with what suits."""
        if not isinstance(problem, LinearProblem) or not (newton.solves(problem) or interior.solves(problem)):
            return QP(self.tol, self.max_iter, self.max_seconds).solve(problem)
        if problem.n_rows > _SMALL_ROWS or problem.source.n_features > _SMALL_FEATURES:
            return self._by_shape(problem, start)
        if newton.solves(problem):
            return replace(self, tol=min(self.tol, _SMALL_TOL))._by_shape(problem, start)
        return _sharpened(problem, self._by_shape(problem, start))

    def _by_shape(self, problem: LinearProblem, start: Solution | None) -> Solution:
        few = problem.source.n_features <= _FEW_FEATURES
        if not few and problem.n_rows <= _FEW_ROWS and dcd.solves(problem):
            first = self._descent(self.max_iter or _FEW_ROWS_PASSES).solve(problem, start)
            return first if first.status in _FINAL else QP(self.tol, self.max_iter, self.max_seconds).solve(problem)
        second: Solver = Newton(self.tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs)
        if newton.solves(problem):
            if few or not dcd.solves(problem):
                return second.solve(problem, start)
            passes = _SMOOTH_PASSES
        elif few:
            second = Interior(self.tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs)
            passes = _worth_of_interior(problem)
        else:
            return self._descent(self.max_iter or _MANY_PASSES).solve(problem, start)
        first = replace(self._descent(self.max_iter or _MANY_PASSES), worth=passes).solve(problem, start)
        if first.status in _FINAL:
            return first
        return _better(first, second.solve(problem, first if newton.solves(problem) else None))

    def _descent(self, passes: int) -> DualDescent:
        return DualDescent(self.tol, passes, self.max_seconds, random_state=self.random_state, n_jobs=self.n_jobs)


def _sharpened(problem: LinearProblem, solution: Solution) -> Solution:
    """The free multipliers of a small problem solved for exactly, where that lowers the gap."""
    if solution.status is not Status.CONVERGED:
        return solution
    box = problem.loss.dual_box(problem.costs)
    assert box is not None
    alpha, sharp = polish(problem, solution.alpha, box, Passes(problem.source, 1).squared_lengths())
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    if not (sharp.gap < seen.gap and sharp.kkt_violation <= max(seen.kkt_violation, 1e-9)):
        return solution
    weights = problem.weights_from(problem.coefficients(alpha))
    return replace(solution, alpha=alpha, weights=weights, bias=None if problem.intercept.is_free else sharp.bias)


def _worth_of_interior(problem: LinearProblem) -> int:
    """Passes of dcd that cost about as much as an interior-point solve."""
    X = problem.source.X
    n, d = X.shape
    a_row = X.nnz / max(1, n) if sparse.issparse(X) else d
    one_pass = 2.0 * a_row + 20.0
    one_step = 4.0 * a_row + 0.5 * a_row * a_row + 100.0
    return max(10, int(_INTERIOR_STEPS * one_step / one_pass))


def _better(first: Solution, second: Solution) -> Solution:
    """The second, unless it ended early with a larger gap than the first had."""
    if second.status is Status.CONVERGED or not len(first.history) or not len(second.history):
        return second
    return first if first.history.gap[-1] < second.history.gap[-1] else second
