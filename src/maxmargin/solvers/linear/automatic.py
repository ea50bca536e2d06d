"""The default: the solver that suits the problem's shape, and another one when it turns out not to.

    hard margin, kernel        qp
    L1 penalty                 sparse; qp where the loss is not smooth
    squared loss               least-squares
    softmax loss               softmax-newton
    Crammer and Singer         dcd on all classes of a row at once; with few features then interior
    few rows, many features    dcd first, then qp on the products of the rows
    smooth loss                newton; for many features dcd first, which needs few passes while C is small
    hinge, tube                multipliers for many rows and few features, otherwise dcd first

What dcd needs depends on C and on the data in ways nobody can foresee, so it gets a budget of passes worth what the
second-order method will cost, and hands over what it has when that is spent, or as soon as its progress says that it
will be: at worst the answer takes about twice as long as the better of the two alone, as far as that cost is foreseen
from the shape. Where the second-order method does not end well from there, it begins once more on its own. The last
digits of a small problem, a few milliseconds, come on top.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

from maxmargin.certificates import assess
from maxmargin.data.rows import ArrayRows
from maxmargin.losses import CrammerSinger, Logistic, Softmax, Squared
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.polish import polish
from maxmargin.solvers.common.sampling import is_tall
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.linear.dcd import DualDescent
from maxmargin.solvers.linear.least_squares import LeastSquares
from maxmargin.solvers.linear.multiclass_descent import MulticlassDescent
from maxmargin.solvers.linear.multiclass_interior import MulticlassInterior
from maxmargin.solvers.linear.multipliers import Multipliers
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.softmax_newton import SoftmaxNewton
from maxmargin.solvers.reference.qp import QP
from maxmargin.solvers.sparse.sparse_newton import SparseNewton

_FEW_FEATURES = 1500
_FEW_UNKNOWNS = 1000  # weights of all classes together up to which their equations are factored
_FEW_UNKNOWNS_PASSES = 200
_MANY_PASSES = 100_000
_FEW_ROWS = 1500  # rows up to which their products make a small matrix, whatever the number of features
_FEW_ROWS_PASSES = 1000
_FINAL = (Status.CONVERGED, Status.INTERRUPTED)
_SMALL_ROWS, _SMALL_FEATURES = 2000, 300  # a problem whose last digits cost next to nothing gets them
_SMALL_TOL = 1e-10
_WORTH_OF_PASSES, _WORTH_OF_PRODUCTS = 80.0, 1.5  # of dcd, for the passes and the products of the steps of multipliers


@dataclass(frozen=True)
class Automatic(Solver):
    """Chooses by shape, and changes its mind in mid-fit when the other side is winning."""

    n_jobs: int | None = None
    random_state: int | None = 0
    name: ClassVar[str] = "auto"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether one of those takes it that it chooses from."""
        kinds = (SparseNewton, SoftmaxNewton, MulticlassDescent, LeastSquares, Newton, Multipliers, QP)
        return any(kind().takes(problem) for kind in kinds)

    def refusal(self, problem: ProblemKind) -> str:
        """What the last of these says."""
        return QP().refusal(problem)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve with what suits."""
        is_smooth, has_kinks = Newton().takes(problem), Multipliers().takes(problem)
        if not (is_smooth or has_kinks) or isinstance(problem.loss, Squared):
            return self._in_its_own_way(problem, start)
        assert isinstance(problem, LinearProblem)
        if problem.n_rows > _SMALL_ROWS or problem.source.n_features > _SMALL_FEATURES:
            return self._by_shape(problem, start)
        if is_smooth:
            return replace(self, tol=min(self.tol, _SMALL_TOL))._by_shape(problem, start)
        return _sharpened(problem, self._by_shape(problem, start))

    def _in_its_own_way(self, problem: Problem, start: Solution | None) -> Solution:
        """Another penalty, all classes at once, squared errors, a hard margin: each has a solver of its own."""
        if SparseNewton().takes(problem):
            small = problem.n_rows <= _SMALL_ROWS and problem.source.n_features <= _SMALL_FEATURES
            tol = min(self.tol, _SMALL_TOL) if small else self.tol
            return SparseNewton(tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs).solve(problem, start)
        if isinstance(problem.loss, Softmax):
            return SoftmaxNewton(self.tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs).solve(problem, start)
        if MulticlassDescent().takes(problem):
            return self._all_classes(problem, start)
        if LeastSquares().takes(problem):
            return LeastSquares(self.tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs).solve(problem, start)
        return QP(self.tol, self.max_iter, self.max_seconds).solve(problem)

    def _by_shape(self, problem: LinearProblem, start: Solution | None) -> Solution:
        few = problem.source.n_features <= _FEW_FEATURES
        if not few and problem.n_rows <= _FEW_ROWS and not isinstance(problem.loss, Logistic):
            first = self._descent(self.max_iter or _FEW_ROWS_PASSES).solve(problem, start)
            left = None if self.max_seconds is None else self.max_seconds - first.seconds
            if first.status in _FINAL or (left is not None and left <= 0.0):
                return first
            return _better(first, QP(self.tol, self.max_iter, left).solve(problem))
        smooth = Newton().takes(problem)
        second_order = Newton if smooth else Multipliers
        second = second_order(self.tol, self.max_iter, self.max_seconds, n_jobs=self.n_jobs)
        if few and (smooth or is_tall(problem)):
            return second.solve(problem, start)
        if self.max_iter is not None:  # counted in passes, of which a second solver has others
            return self._descent(self.max_iter).solve(problem, start)
        began = time.perf_counter()
        found = first = replace(self._descent(_MANY_PASSES), worth=_worth(problem, few)).solve(problem, start)
        for begin in (first, None):  # where C is huge, what dcd has come to can be a worse place to begin than none
            left = None if self.max_seconds is None else self.max_seconds - (time.perf_counter() - began)
            if found.status in _FINAL or (left is not None and left <= 0.0):
                break
            latest = replace(second, max_seconds=left).solve(problem, begin)
            found = _better(found, latest)
            if latest.status is Status.INTERRUPTED:
                return replace(found, status=Status.INTERRUPTED)
        return found

    def _all_classes(self, problem: Problem, start: Solution | None) -> Solution:
        """Descent, and interior points in its place where few unknowns make them cheap and it is slow."""
        assert isinstance(problem, LinearProblem)
        assert isinstance(problem.loss, CrammerSinger)
        began = time.perf_counter()
        unknowns = problem.loss.count_classes(problem.targets) * (problem.source.n_features + 1)
        worth = _FEW_UNKNOWNS_PASSES + unknowns
        is_last = unknowns > _FEW_UNKNOWNS or self.max_iter is not None
        descent = MulticlassDescent(
            self.tol,
            self.max_iter or (_MANY_PASSES if is_last else worth),
            self.max_seconds,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        first = descent.solve(problem, start)
        left = None if self.max_seconds is None else self.max_seconds - (time.perf_counter() - began)
        if is_last or first.status in _FINAL or (left is not None and left <= 0.0):
            return first
        second = MulticlassInterior(self.tol, None, left).solve(problem)
        if second.status in _FINAL:
            return second
        return min(first, second, key=lambda at: assess(problem, at.alpha, at.weights, at.bias).gap)

    def _descent(self, passes: int) -> DualDescent:
        return DualDescent(self.tol, passes, self.max_seconds, random_state=self.random_state, n_jobs=self.n_jobs)


def _sharpened(problem: LinearProblem, solution: Solution) -> Solution:
    """The free multipliers of a small problem solved for exactly, where that lowers the gap."""
    if solution.status is not Status.CONVERGED:
        return solution
    box = problem.loss.dual_box(problem.costs)
    assert box is not None
    alpha, sharp = polish(problem, solution.alpha, box, ArrayRows(problem.source, 1).squared_lengths())
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    if not (sharp.gap < seen.gap and sharp.kkt_violation <= max(seen.kkt_violation, 1e-9)):
        return solution
    weights = problem.weights_from(problem.coefficients(alpha))
    return replace(solution, alpha=alpha, weights=weights, bias=None if problem.intercept.is_free else sharp.bias)


def _worth(problem: LinearProblem, few_features: bool) -> float:
    """Passes of dcd that cost about as much as the second-order method would; measured, and rough.

    A step of it forms and factors a matrix of the features, from hardly more than twice as many rows near a kink.
    """
    if few_features:
        n, d, entries = problem.n_rows, problem.source.n_features, max(1, ArrayRows(problem.source, 1).n_entries)
        products = min(n, 2 * d) * (entries / n) ** 2 + d**3 / 3.0
        return _WORTH_OF_PASSES + _WORTH_OF_PRODUCTS * products / entries
    if isinstance(problem.loss, Logistic):
        return 40.0  # passes that take exponentials, against conjugate gradients on a well-rounded objective
    return 1000.0 if Newton().takes(problem) else 5000.0


def _better(first: Solution, second: Solution) -> Solution:
    """The second, unless it ended early with a larger gap than the first had."""
    if second.status is Status.CONVERGED or not len(first.history) or not len(second.history):
        return second
    return first if first.history.gap[-1] < second.history.gap[-1] else second
